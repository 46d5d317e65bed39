"""What the context asks of whoever compacts older messages, and the rules between summaries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from memory.context.budget import Limits
from memory.context.entities import NewSummary, Summary, SummaryState
from memory.entities import Message


@dataclass(frozen=True, slots=True)
class TokenAllowance:
    """Tokens that the parts of a new epoch may take."""

    recent: int
    summary: int
    pinned: int


@dataclass(frozen=True, slots=True)
class CompactedHistory:
    """Messages from index `start` on stay verbatim; `summaries` (oldest first) stand for those before it,
    and `pinned` are those of them that stay word for word all the same."""

    start: int
    summaries: tuple[Summary, ...] = ()
    pinned: tuple[Message, ...] = ()


class HistoryCompactor(Protocol):
    """Makes and merges summaries (see `memory.lifecycle`)."""

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

        `sizes` are tokens, one for each message (0 for one that is not sent). With `quick` no model is
        asked. What was stored before is used again; what is made is stored at once.
        """
        ...


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
