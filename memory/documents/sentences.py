"""Where the sentences of a text begin and end."""

import re
from collections.abc import Sequence

from memory.summaries.languages import lexicon

# A run of marks is examined once, from its first one: that keeps it linear.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_]*+(?=\s|\Z)|[。！？]++[”’」』）]*+|\n")
_MARKERS = re.compile(r"(?:[^\S\n]{0,3}\[\d{1,3}(?:[,;] ?\d{1,3}){0,20}\])++[.]?(?=\s|\Z)")
_NEW_LINE = re.compile(r"[^\S\n]*+(?:[-*+•|#>]|\d{1,2}[.)]\s|\n|\Z)")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\[])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Nr|No|Nos|vs|etc|approx|ca|cf|Fig|Sec|p|pp|Art|bzw|usw|z\.\s?B"
    r"|d\.\s?h|[Ee]\.g|[Ii]\.e|al|Mio|Mrd|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|Inc|Ltd|Co|Jr|Sr)\.$"
)
_ORDINAL = re.compile(r"(?:^|\D)\d{1,2}\.$")
_WORD = re.compile(r"\s*+(\w*)")
_LOOKED_BACK = 16
_WRAPPED = 60
"""A line of at least this many characters without a mark at its end goes on in the next line."""


def sentences(text: str, whole: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int]]:
    """Returns the ranges of the sentences, without white space around them.

    Items of lists, rows and headings are sentences, too. Sentences go on over line breaks in paragraphs that
    are wrapped. Markers such as [1] behind a sentence belong to it. No sentence ends inside the ranges of
    `whole` (in order).
    """
    found: list[tuple[int, int]] = []
    begin = line = number = 0
    for match in _END.finditer(text):
        at = match.end()
        while number < len(whole) and whole[number][1] <= match.start():
            number += 1
        inside = number < len(whole) and whole[number][0] < at < whole[number][1]
        newline = match[0] == "\n"
        ends = not inside and (
            _line_ends(text, line, match.start()) if newline else _sentence_ends(text, begin, match)
        )
        if newline:
            line = at
        if not ends:
            continue
        markers = None if newline else _MARKERS.match(text, at)
        at = at if markers is None else markers.end()
        _add(found, text, begin, at)
        begin = max(begin, at)
    _add(found, text, begin, len(text))
    return found


def _add(found: list[tuple[int, int]], text: str, begin: int, end: int) -> None:
    stripped = text[begin:end].strip()
    if stripped:
        begin = text.index(stripped[0], begin)
        found.append((begin, begin + len(stripped)))


def _sentence_ends(text: str, begin: int, match: re.Match[str]) -> bool:
    if match[0][0] != ".":
        return True
    at = match.start() + 1
    back = text[max(begin, at - _LOOKED_BACK) : at]
    word = _WORD.match(text, match.end())
    following = word[1] if word is not None else ""
    alone = at - begin <= _LOOKED_BACK and back.strip(" .\n").isdigit()
    if _ORDINAL.search(back) and (alone or following.casefold() in lexicon().calendar):
        return False
    return not following[:1].islower() and (not following or not _ABBREVIATED.search(back))


def _line_ends(text: str, line: int, at: int) -> bool:
    if _NEW_LINE.match(text, at + 1) or text[line : line + 1] in ("|", "#") or "\t" in text[line:at]:
        return True
    following = text[at + 1 : at + 40].lstrip()
    return not (following[:1].islower() or at - line >= _WRAPPED)
