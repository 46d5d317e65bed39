"""Long texts as passages that an embedding model reads whole."""

import re

PASSAGE_CHARS = 500
"""Some 125 tokens. Small embedding models read 256, and have learned from sentences of 128."""

# Where a sentence or a line ends. A run of marks is looked at once, from its first one: that keeps it linear.
_END = re.compile(r"(?:(?<![.!?。！？])[.!?。！？]++(?=\s|\Z)|\n++)\s*+")


def passages(text: str, size: int = PASSAGE_CHARS) -> list[str]:
    """`text` in pieces of at most `size` characters, cut between sentences or lines where there are any, else
    between words. Together they hold all words in their order; at least one is returned."""
    text = text.strip()
    if len(text) <= size:
        return [text]
    found: list[str] = []
    current = ""
    begin = 0
    while begin < len(text):
        end = _end(text, begin)
        while end - begin > size:
            found.append(current)
            cut = text.rfind(" ", begin + size // 2, begin + size)
            cut = begin + size if cut < 0 else cut
            current, begin = text[begin:cut], cut
        if len(current) + end - begin > size:
            found.append(current)
            current = ""
        current += text[begin:end]
        begin = end
    found.append(current)
    return [stripped for piece in found if (stripped := piece.strip())]


def _end(text: str, begin: int) -> int:
    """Where the sentence or line that begins here ends. A mark by itself at its beginning ends nothing."""
    match = _END.search(text, begin)
    if match is not None and match.start() == begin and not match[0][1:2].strip():
        match = _END.search(text, begin + 1)
    return len(text) if match is None else match.end()
