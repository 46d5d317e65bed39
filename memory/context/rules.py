"""What holds between summaries, whatever keeps them."""

from collections.abc import Sequence

from memory.context.entities import NewSummary, Summary, SummaryState


def require_wider(new: NewSummary, replaced: Sequence[Summary]) -> None:
    """Raises `ValueError` when a summary covers nothing, or does not stand above all that it replaces."""
    covered = set(new.covers)
    if not covered or len(covered) < len(new.covers):
        raise ValueError("a summary covers messages, each of them once")
    for one in replaced:
        if one.level >= new.level or not covered.issuperset(one.covers):
            raise ValueError("a summary is of a higher level than those it replaces and covers all of theirs")


def state_of_new(replaced: Sequence[Summary]) -> SummaryState:
    """Stale from the start when a source of what it was made from has changed while it was being made."""
    stale = any(one.state is SummaryState.STALE for one in replaced)
    return SummaryState.STALE if stale else SummaryState.CURRENT
