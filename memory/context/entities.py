"""The value types of prompt making: what a tier takes, summaries with their sources, epochs, turns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from memory.context.budget import Limits
from memory.entities import Message

TOLD = frozenset({"recall", "document", "skill"})
"""Tiers placed before the user's text, in a message's preface."""


@dataclass(frozen=True, slots=True)
class TierUse:
    """How much of the prompt one tier takes: its tokens, and the ids of what it contains.

    Tiers: system, profile, skill, pinned, summary, recent, recall, document, user.
    """

    tier: str
    tokens: int
    ids: tuple[str, ...] = ()


class SummaryState(StrEnum):
    """current: may be in a prompt; merged: a wider one replaces it; stale: a source has changed."""

    CURRENT = "current"
    MERGED = "merged"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary that replaces older messages in a prompt.

    `covers` are message ids, oldest first, without gaps on their branch. `level` 0 was made from messages, n
    + 1 from summaries of level n or less. `fallback` says that no model's text passed the checks, so it
    consists of sentences of the source; it is improved later.
    """

    id: str
    session_id: str
    level: int
    text: str
    covers: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    state: SummaryState = SummaryState.CURRENT
    topics: tuple[str, ...] = ()
    fallback: bool = False
    edited: bool = False
    model: str | None = None
    merged_into: str | None = None


@dataclass(frozen=True, slots=True)
class NewSummary:
    """A summary before it is stored. `replaces` are the summaries merged into it; they become merged."""

    text: str
    covers: tuple[str, ...]
    level: int = 0
    topics: tuple[str, ...] = ()
    fallback: bool = False
    model: str | None = None
    replaces: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Epoch:
    """A stretch of a session in which the prompt is only appended to.

    `head` is the whole system message, frozen; `parts` lists its tiers. Messages from `start_id` on follow
    verbatim. `model` is the fingerprint of the model it was measured for.
    """

    id: str
    session_id: str
    model: str
    head: str
    parts: tuple[TierUse, ...]
    start_id: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NewEpoch:
    """An epoch before it is stored."""

    session_id: str
    model: str
    head: str
    parts: tuple[TierUse, ...]
    start_id: str


@dataclass(frozen=True, slots=True)
class WholeDocument:
    """An attachment as it appears in a prompt that contains it whole."""

    id: str
    block: str


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """What a reply's prompt was made of.

    `prompt_hash` is the hex SHA-256 over its token ids, each as four little-endian bytes. `epoch_id` is None
    when the epoch was deleted.
    """

    reply_id: str
    session_id: str
    epoch_id: str | None
    model: str
    prompt_hash: str
    prompt_tokens: int
    parts: tuple[TierUse, ...]


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """A stored snapshot of a session: for which model, and which tokens it has read.

    `model` is the model's fingerprint, `prefix_hash` the `models.messages.hash_tokens` of the tokens, `size`
    the size of the snapshot in bytes.
    """

    session_id: str
    model: str
    prefix_hash: str
    token_count: int
    size: int
    tokens: tuple[int, ...] = field(repr=False)


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
