"""Finds words in the text of a document."""

import re
from bisect import bisect_left
from collections.abc import Sequence

from memory.jobs.foreground_gate import Gently

MOST = 20_000
"""Matches that are counted and marked."""
_PIECE = 32_768
"""Characters that are searched at a time: a search holds the interpreter, and keys wait for it."""
_OVERLAP = 1_000


def matches(text: str, words: str, position: int = 0) -> list[tuple[int, int]]:
    """Returns the ranges of the words in the text, in order: at most `MOST`, those after a position first.

    Capital letters and the kind of space do not matter.
    """
    parts = words.split()
    if not parts:
        return []
    pattern = re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE)
    after = _matches(pattern, text, position, len(text), MOST)
    return _matches(pattern, text, 0, position, MOST - len(after)) + after


def _matches(pattern: "re.Pattern[str]", text: str, begin: int, end: int, most: int) -> list[tuple[int, int]]:
    """Returns the first matches that begin in a range."""
    found: list[tuple[int, int]] = []
    after = begin
    for at in Gently(range(begin, end, _PIECE)):
        stop = min(at + _PIECE, end)
        for match in pattern.finditer(text, max(at, after), stop + _OVERLAP):
            if match.start() >= stop or len(found) == most:
                break
            found.append(match.span())
            after = match.end()
    return found


def next_match(found: Sequence[tuple[int, int]], position: int, step: int) -> int:
    """Returns the index of the first match after (`step` 1) or the last one before (-1) a position; wraps."""
    at = bisect_left(found, (position, position)) if step < 0 else bisect_left(found, (position + 1, 0))
    return (at if step > 0 else at - 1) % len(found)
