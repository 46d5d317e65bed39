"""The values of prompt making: tiers and their tokens, summaries with sources, and decisions of recall."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from memory.entities import Message
from memory.recall.entities import Hit

PRESETS = ((600_000_000, 2_560), (2_000_000_000, 6_144), (5_000_000_000, 12_288))
"""Pairs (parameters, tokens): a model of at most that many parameters has at most that working memory.

Reading one token costs one pass over the weights plus a little for every token in the context. With a small
model the tokens soon cost more than the weights. With these limits the first word of a reply in a long
session takes at most 1.5 times as long as in a new one.
"""

SHARES = {"pinned": 15, "profile": 10, "skill": 5, "summary": 35, "document": 15}
"""The largest share of a head's tier, in per cent of the target minus the system prompt."""

_LEAST_BESIDE_SYSTEM = 512


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that the user sets. Names and defaults are those of the settings."""

    max_tokens: int = 30_000
    summary_target: int = 20_000
    immediate_turns: int = 10
    recent_messages_min: int = 4
    summary_turns: int = 5
    max_summaries: int = 3
    max_archived_in_view: int = 50
    relevance_decay: float = 0.9
    recall: bool = True
    recall_tokens: int = 400
    date_and_time: bool = True


@dataclass(frozen=True, slots=True)
class Budget:
    """Sizes in tokens. No prompt is ever longer than `limit`; `limit + reply` is the whole context.

    Above `working` the next epoch is prepared; it begins with at most `target`, of which the system prompt
    takes `system`. `recall` is the most that is recalled for one turn.
    """

    limit: int
    reply: int
    working: int
    target: int
    system: int
    recall: int

    @property
    def free(self) -> int:
        """The target minus the system prompt."""
        return max(0, self.target - self.system)

    def most(self, tier: str) -> int:
        """Returns the most that a tier of the head may take (see `SHARES`)."""
        return self.free * SHARES[tier] // 100

    def divide(self, wanted: Mapping[str, int]) -> dict[str, int]:
        """Returns how much of its request each tier of the head gets; `recent` gets the rest."""
        given = {tier: min(want, self.most(tier)) for tier, want in wanted.items()}
        return {**given, "recent": self.free - sum(given.values())}


def preset(parameters: int) -> int | None:
    """Returns the working memory that suits a model of that size, or None when only its context bounds it.

    An unknown size (0) is bounded by the context alone.
    """
    return next((tokens for most, tokens in PRESETS if 0 < parameters <= most), None)


def prompt_limit(context_length: int, reply: int) -> int:
    """Returns the most tokens of a prompt: a reply may claim at most half of the context."""
    return context_length - min(reply, context_length // 2)


def allocate(limits: Limits, *, context_length: int, reply: int, system: int, parameters: int = 0) -> Budget:
    """Returns the budget of one session with one model; sizes in tokens.

    `reply` is the longest reply requested; it may claim at most half of the context. A long system prompt
    widens the working memory up to what the context allows.
    """
    limit = prompt_limit(context_length, reply)
    reserve = context_length - limit
    # A reply may claim half of the context. A sixteenth is reserved for the turns before the next epoch is
    # ready. This bound ignores the actual `reply`, so that every turn leads to the same epoch.
    most = context_length * 7 // 16
    working = min(limits.max_tokens, preset(parameters) or limits.max_tokens, most)
    working = max(working, min(system + _LEAST_BESIDE_SYSTEM, most))
    # With a target not below the working memory every turn would summarise; then two thirds are used.
    share = limits.summary_target if limits.summary_target < limits.max_tokens else limits.max_tokens * 2 // 3
    target = working * share // limits.max_tokens
    target = max(target, min(system + _LEAST_BESIDE_SYSTEM // 2, working))
    recall = min(limits.recall_tokens, working // 6) if limits.recall else 0
    return Budget(limit, reserve, working, target, min(system, limit), recall)


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
    + 1 from summaries of level n or less. `fallback`: no model's text passed the checks, so it consists of
    sentences of the source; it is improved later.
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
    """The parts of a reply's prompt.

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


class Outcome(StrEnum):
    """told: it is in the prompt; repeats: what it was learned from is in the prompt, or is recalled; echo: it
    adds nothing to what was just asked; too_far: not close enough to what was asked; no_room: the tokens for
    recall were used up."""

    TOLD = "told"
    REPEATS = "repeats"
    ECHO = "echo"
    TOO_FAR = "too_far"
    NO_ROOM = "no_room"


@dataclass(frozen=True, slots=True)
class RecallDecision:
    """Something that recall found for a turn, without its text. `score` and `parts` are those of the hit."""

    kind: str
    id: str
    outcome: Outcome
    score: float
    parts: Mapping[str, float]


def unrepeated(hits: Sequence[Hit], shown: Collection[str]) -> list[Hit]:
    """Drops memories whose source messages are shown: the messages contain more."""
    said = frozenset(shown)
    return [hit for hit in hits if said.isdisjoint(hit.sources)]


def considered(
    found: Sequence[Hit], new: Sequence[Hit], fresh: Sequence[Hit], worthy: Sequence[Hit], told: Sequence[Hit]
) -> tuple[RecallDecision, ...]:
    """Returns the outcome of every hit in `found`, in order.

    `new` adds something to what was asked, `fresh` repeats nothing, `worthy` was also close enough, and
    `told` fitted.
    """
    ids = [{hit.id for hit in hits} for hits in (new, fresh, worthy, told)]
    return tuple(RecallDecision(hit.kind, hit.id, _outcome(hit, *ids), hit.score, hit.parts) for hit in found)


def _outcome(hit: Hit, new: set[str], fresh: set[str], worthy: set[str], told: set[str]) -> Outcome:
    if hit.id in told:
        return Outcome.TOLD
    if hit.id in worthy:
        return Outcome.NO_ROOM
    if hit.id not in new:
        return Outcome.ECHO
    return Outcome.TOO_FAR if hit.id in fresh else Outcome.REPEATS
