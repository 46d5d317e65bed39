"""The protocol for compacting older messages, and the rules between summaries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memory.context.budget import Limits
from memory.context.entities import NewSummary, Summary, SummaryState
from memory.entities import Message


@dataclass(frozen=True, slots=True)
class TokenAllowance:
    """The tokens that the parts of a new epoch may take."""

    recent: int
    summary: int
    pinned: int


@dataclass(frozen=True, slots=True)
class CompactedHistory:
    """A history after compaction.

    Messages from index `start` on stay verbatim. `summaries` (oldest first) replace those before it, of which
    `pinned` stay verbatim as well.
    """

    start: int
    summaries: tuple[Summary, ...] = ()
    pinned: tuple[Message, ...] = ()


class HistoryCompactor(Protocol):
    """Makes and merges summaries (see `memory.summaries.compaction`)."""

    async def fold(
        self,
        session_id: str,
        branch: Sequence[Message],
        sizes: Sequence[int],
        room: TokenAllowance,
        limits: Limits,
        *,
        quick: bool,
    ) -> CompactedHistory:
        """Folds the oldest messages of a branch until the rest fits into `room.recent`.

        `sizes` are tokens, one for each message (0 for one that is not sent). With `quick` no model is asked.
        Stored summaries are reused; new ones are stored at once.
        """
        ...


def require_wider(new: NewSummary, replaced: Sequence[Summary]) -> None:
    """Raises `ValueError` when a summary covers nothing, or does not supersede all that it replaces.

    A summary must have a higher level than those it replaces, and cover all their messages, each once.
    """
    covered = set(new.covers)
    if not covered or len(covered) < len(new.covers):
        raise ValueError("a summary covers messages, each of them once")
    for one in replaced:
        if one.level >= new.level or not covered.issuperset(one.covers):
            raise ValueError("a summary is of a higher level than those it replaces and covers all of theirs")


def state_of_new(replaced: Sequence[Summary]) -> SummaryState:
    """Returns the state of a new summary: stale when one that it replaces has become stale meanwhile."""
    stale = any(one.state is SummaryState.STALE for one in replaced)
    return SummaryState.STALE if stale else SummaryState.CURRENT
