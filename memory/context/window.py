"""Which messages of a branch are sent verbatim, as a pure function of their sizes."""

from collections.abc import Sequence


def window_start(sizes: Sequence[int], budget: int, *, keep: float = 0.5) -> int:
    """Index of the first message to send so that `sum(sizes[start:]) <= budget`.

    The start only moves when the budget is exceeded, and then so far that at most `keep * budget` tokens
    remain: between two moves a prompt is only appended to, so a model evaluates nothing but the new tokens.
    It follows from the sizes alone (the history is replayed), so nothing has to be stored, and the same
    conversation always yields the same prompt. The last message is always kept, even when it alone is larger
    than the budget: the caller decides what to do then.

    `sizes` are tokens, each including what the template adds.
    """
    start = 0
    total = 0
    floor = int(budget * keep)
    for end, size in enumerate(sizes):
        total += size
        if total > budget:
            while start < end and total > floor:
                total -= sizes[start]
                start += 1
    return start
