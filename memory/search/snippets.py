"""Chooses the piece of a text that best shows why it was found. Pure."""

from collections.abc import Sequence

from memory.search.entities import Snippet

WIDTH = 160
_LEAD = 30
_CUT = "…"

Ranges = Sequence[tuple[int, int]]


def snippet(text: str, marks: Ranges, width: int = WIDTH) -> Snippet:
    """Returns about `width` characters of `text` at most, on one line, around the densest group of marks.

    `marks` are in order and disjoint.
    """
    begin = _begin(text, marks, width)
    end = _word_end(text, min(len(text), begin + width))
    line, places = _one_line(text, begin, end)
    kept = [(places[a - begin], places[min(b, end) - begin]) for a, b in marks if begin <= a < end]
    lead = _CUT if begin > 0 else ""
    shift = len(lead)
    return Snippet(
        lead + line + (_CUT if end < len(text) else ""),
        tuple((a + shift, b + shift) for a, b in kept if b > a),
    )


def merged(ranges: Ranges) -> tuple[tuple[int, int], ...]:
    """Returns the ranges in order, with those that touch or overlap merged."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif end > begin:
            found.append((begin, end))
    return tuple(found)


def _begin(text: str, marks: Ranges, width: int) -> int:
    """Returns where the piece with the most marks begins, the first of several."""
    if not marks or len(text) <= width:
        return 0
    best, most = marks[0][0], 0
    last = 0
    for at, (begin, _) in enumerate(marks):
        last = max(last, at)
        while last < len(marks) and marks[last][1] <= begin + width - _LEAD:
            last += 1
        if last - at > most:
            best, most = begin, last - at
    begin = max(best - _LEAD, 0)
    if begin == 0:
        return 0
    space = next((at for at in range(begin, best) if text[at].isspace()), begin - 1)
    return space + 1


def _word_end(text: str, end: int) -> int:
    if end >= len(text):
        return len(text)
    back = next((at for at in range(end, max(end - _LEAD, 0), -1) if text[at].isspace()), end)
    return back or end


def _one_line(text: str, begin: int, end: int) -> tuple[str, list[int]]:
    """Returns the piece with each run of white space as one space, and the new position of each character."""
    line: list[str] = []
    places: list[int] = []
    for char in text[begin:end]:
        places.append(len(line))
        if not char.isspace():
            line.append(char)
        elif line and line[-1] != " ":
            line.append(" ")
    places.append(len(line))
    joined = "".join(line)
    stripped = joined.rstrip()
    return stripped, [min(place, len(stripped)) for place in places]
