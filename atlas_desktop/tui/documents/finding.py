"""Finds words in the text of a document."""

import re
from bisect import bisect_left

MOST = 10_000
"""Matches that are counted and marked."""
_PIECE = 262_144
"""Characters that are searched at a time: a search holds the interpreter, and keys wait for it."""
_OVERLAP = 1_000


def matches(text: str, words: str) -> list[tuple[int, int]]:
    """Returns the ranges of the words in the text, at most `MOST`, in order.

    Capital letters and the kind of space do not matter.
    """
    parts = words.split()
    if not parts:
        return []
    pattern = re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE)
    found: list[tuple[int, int]] = []
    after = 0
    for begin in range(0, len(text), _PIECE):
        for match in pattern.finditer(text, max(begin, after), begin + _PIECE + _OVERLAP):
            if match.start() >= begin + _PIECE:
                break
            found.append(match.span())
            after = match.end()
            if len(found) == MOST:
                return found
    return found


def next_match(found: list[tuple[int, int]], position: int, step: int) -> int:
    """Returns the index of the first match after (`step` 1) or the last one before (-1) a position; wraps."""
    at = bisect_left(found, (position, position)) if step < 0 else bisect_left(found, (position + 1, 0))
    return (at if step > 0 else at - 1) % len(found)
