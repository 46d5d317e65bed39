"""Long texts as passages that an embedding model reads whole."""

import re

PASSAGE_CHARS = 500
"""Some 125 tokens. Small embedding models read 256, and have learned from sentences of 128."""

_UNIT = re.compile(r".+?(?:[.!?。！？]+(?=\s|$)|\n+|$)\s*", re.DOTALL)


def passages(text: str, size: int = PASSAGE_CHARS) -> list[str]:
    """`text` in pieces of at most `size` characters, cut between sentences or lines where there are any, else
    between words. Together they hold all words in their order; at least one is returned."""
    text = text.strip()
    if len(text) <= size:
        return [text]
    found: list[str] = []
    current = ""
    for unit in _UNIT.findall(text):
        rest = unit
        while len(rest) > size:
            found.append(current)
            cut = rest.rfind(" ", size // 2, size)
            cut = size if cut < 0 else cut
            current, rest = rest[:cut], rest[cut:]
        if len(current) + len(rest) > size:
            found.append(current)
            current = ""
        current += rest
    found.append(current)
    return [stripped for piece in found if (stripped := piece.strip())]
