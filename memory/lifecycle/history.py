"""A session's messages by tier: what is sent verbatim, what summaries stand for, what is archived."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.context.entities import Summary
from memory.entities import Message
from memory.lifecycle.standing import standing

MAX_ARCHIVED_IN_VIEW = 50


@dataclass(frozen=True, slots=True)
class TieredHistory:
    """`active` are verbatim, `archived` are stood for by `summaries`; all oldest first.

    Of the archived at most so many as were asked for are given, the newest; `archived_total` counts all.
    """

    active: tuple[Message, ...]
    summaries: tuple[Summary, ...]
    archived: tuple[Message, ...]
    archived_total: int


def tiers(
    branch: Sequence[Message],
    summaries: Sequence[Summary],
    *,
    recent_messages_min: int = 4,
    max_archived_in_view: int = MAX_ARCHIVED_IN_VIEW,
) -> TieredHistory:
    """The history of a branch (root to leaf) with all summaries of its session."""
    found = standing([m.id for m in branch], summaries, keep=recent_messages_min)
    # What no summary stands for is still verbatim: a summary after it does not hide it.
    archived = [m for stretch in found if stretch.summary for m in branch[stretch.start : stretch.end]]
    hidden = {m.id for m in archived}
    return TieredHistory(
        active=tuple(m for m in branch if m.id not in hidden),
        summaries=tuple(stretch.summary for stretch in found if stretch.summary),
        archived=tuple(archived[max(0, len(archived) - max_archived_in_view) :]),
        archived_total=len(archived),
    )
