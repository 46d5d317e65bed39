"""Epochs: how one begins, what its frozen head contains, and which one serves the next turn."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from memory.context.assembly import Head, Prompt, TokenSizes, made_for, make_head, sendable
from memory.context.entities import (
    Budget,
    Epoch,
    HistoryCompactor,
    Limits,
    NewEpoch,
    RecallDecision,
    TierUse,
    TokenAllowance,
    WholeDocument,
)
from memory.context.library import DocumentUse
from memory.documents.entities import StoredPassage
from memory.entities import Message, Session
from memory.memories.profile import Profile
from memory.recall.entities import Hit
from memory.skills.entities import UsedSkill
from memory.storage.store import Store
from models.messages import ChatMessage, ModelInfo


def usable(epochs: Sequence[Epoch], system: str) -> list[Epoch]:
    """Returns the epochs made with this system prompt, newest first."""
    return [epoch for epoch in reversed(epochs) if made_for(epoch.head, system)]


def on_branch(epochs: Sequence[Epoch], branch: Sequence[Message]) -> list[Epoch]:
    """Returns the epochs whose first verbatim message is on the branch.

    That is sufficient: a message's ancestors are the same on every branch it is on, and a head covers only
    ancestors.
    """
    ids = {message.id for message in branch}
    return [epoch for epoch in epochs if epoch.start_id in ids]


class EpochSelector:
    """Tracks, for this run of the program, which epochs have served and which are still to be read."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._served: dict[str, str] = {}
        self._waiting: dict[str, str] = {}

    def served(self, epoch: Epoch) -> None:
        self._served[epoch.session_id] = epoch.id

    def wait_for(self, epoch: Epoch) -> None:
        """Withholds this epoch until `ready` is called for its session."""
        self._waiting[epoch.session_id] = epoch.id

    def ready(self, session_id: str) -> None:
        self._waiting.pop(session_id, None)

    def waiting(self, session_id: str) -> bool:
        return session_id in self._waiting

    async def newest(
        self, session_id: str, leaf_id: str, model: str, system: str, first: Callable[[], Awaitable[Head]]
    ) -> tuple[Epoch | NewEpoch, list[Message]]:
        """Returns the newest epoch on the branch of `leaf_id`, and the branch from the epoch's start on.

        `first` makes the head of a session that has no epoch yet. `model` is a fingerprint, `system` the
        system prompt.
        """
        known = usable(await self._store.context.epochs(session_id, model), system)
        branch = await self._store.branch(session_id, leaf_id, since=[epoch.start_id for epoch in known])
        found = on_branch(known, branch)
        if found:
            return found[0], branch
        head = await first()
        return NewEpoch(session_id, model, head.text, head.parts, branch[0].id), branch

    async def for_turn(
        self, session_id: str, leaf_id: str, model: str, system: str, first: Callable[[], Awaitable[Head]]
    ) -> tuple[Epoch | NewEpoch, list[Message]]:
        """Like `newest`, but the epoch that served last continues until the newest has been read."""
        epoch, branch = await self.newest(session_id, leaf_id, model, system, first)
        served = self._served.get(session_id)
        if not isinstance(epoch, Epoch) or self._waiting.get(session_id) != epoch.id or served is None:
            return epoch, branch
        older = [e for e in await self._store.context.epochs(session_id, model) if e.id == served]
        longer = await self._store.branch(session_id, leaf_id, since=[e.start_id for e in older])
        still = on_branch(usable(older, system), longer)
        return (still[0], longer) if still else (epoch, branch)


_ANY_NUMBER = 1_000_000


@dataclass(frozen=True, slots=True)
class Compaction:
    """A new epoch, with the tokens of the prompt before and after it."""

    session_id: str
    epoch: Epoch
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class EpochPlace:
    """Where an epoch is to begin: the session, its system prompt, and the newest message of a branch."""

    session: Session
    system: str
    newest: Message


class EpochBuilder:
    """Begins the epochs of a room's sessions."""

    def __init__(
        self,
        store: Store,
        compactor: HistoryCompactor,
        page: Callable[[Session, Budget], Awaitable[Profile]],
        documents: Callable[[str, Budget], Awaitable[list[WholeDocument]]],
        skills: Callable[[Session, Budget], Awaitable[list[WholeDocument]]],
    ) -> None:
        """`page` makes the profile with which a session's next epoch begins.

        `documents` returns the attachments (by session id) that are whole in it, `skills` its text about
        skills.
        """
        self._store = store
        self._compactor = compactor
        self._page = page
        self._documents = documents
        self._skills = skills

    async def planned(
        self,
        place: EpochPlace,
        sizes: TokenSizes,
        limits: Limits,
        budget: Budget,
        before: int,
        *,
        force: bool,
    ) -> Compaction:
        """Folds the oldest turns until the rest fits the target; with `force` all but the newest."""
        room = TokenAllowance(-1 if force else _recent(budget), budget.most("summary"), budget.most("pinned"))
        return await self._begun(place, sizes, limits, room, budget, before, quick=False)

    async def at_once(
        self,
        place: EpochPlace,
        sizes: TokenSizes,
        limits: Limits,
        budget: Budget,
        before: int,
        branch: Sequence[Message] | None = None,
    ) -> Compaction:
        """Like `planned`, but without a model, and so that the newest message, which did not fit, fits.

        `branch` are all messages of the branch, if already read.
        """
        summary, pinned = budget.most("summary"), budget.most("pinned")
        (newest,) = await sizes.of([place.newest])
        most = budget.limit - budget.system - summary - pinned - budget.most("profile")
        room = TokenAllowance(max(0, min(_recent(budget) + newest, most)), summary, pinned)
        return await self._begun(
            place, sizes, replace(limits, recent_messages_min=1), room, budget, before, branch, quick=True
        )

    async def from_summaries(
        self, place: EpochPlace, sizes: TokenSizes, limits: Limits, budget: Budget
    ) -> Epoch | None:
        """Begins an epoch from existing summaries, after one of them, the model or the system prompt changed.

        Folds no more than necessary. Returns None when the session has no summaries.
        """
        if not await self._store.context.summaries(place.session.id):
            return None
        summary, pinned = budget.most("summary"), budget.most("pinned")
        left = budget.limit - budget.system - summary - pinned - budget.most("profile")
        room = TokenAllowance(max(0, left), summary, pinned)
        wide = replace(limits, immediate_turns=_ANY_NUMBER, recent_messages_min=1)
        begun = await self._begun(place, sizes, wide, room, budget, 0, quick=True)
        return begun.epoch

    async def _begun(
        self,
        place: EpochPlace,
        sizes: TokenSizes,
        limits: Limits,
        room: TokenAllowance,
        budget: Budget,
        before: int,
        branch: Sequence[Message] | None = None,
        *,
        quick: bool,
    ) -> Compaction:
        session = place.session
        if branch is None:
            branch = await self._store.branch(session.id, place.newest.id)
        sent = sendable(branch)
        counted = dict(zip((m.id for m in sent), await sizes.of(sent), strict=True))
        each = [counted.get(m.id, 0) for m in branch]
        documents = await self._documents(session.id, budget)
        skills = await self._skills(session, budget)
        blocks = [f"{one.block}\n" for one in (*documents, *skills)]
        taken = sum(await sizes.counter.count(blocks)) if blocks else 0
        if taken and room.recent >= 0:
            room = replace(room, recent=max(0, room.recent - taken))
        compacted = await self._compactor.fold(session.id, branch, each, room, limits, quick=quick)
        head = await make_head(
            place.system,
            profile=await self._page(session, budget),
            summaries=compacted.summaries,
            pinned=compacted.pinned,
            documents=documents,
            skills=skills,
            counter=sizes.counter,
            shape=sizes.info.shape,
        )
        epoch = await self._store.context.add_epoch(
            NewEpoch(session.id, sizes.info.fingerprint, head.text, head.parts, branch[compacted.start].id)
        )
        return Compaction(session.id, epoch, before, head.tokens + sum(each[compacted.start :]))


def _recent(budget: Budget) -> int:
    """Returns the tokens that the verbatim messages may take when an epoch begins."""
    return budget.divide({tier: budget.most(tier) for tier in ("profile", "summary", "pinned")})["recent"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A turn's prompt and its parts. `said` is the user's message with its preface.

    `compacted` is the new epoch that had to begin at once because the old one was full. `passages` are those
    of documents that the prompt contains, and that the reply can cite. `skills` are those that the
    reply uses; `too_long` is the name of one that fits the message, but not into the prompt.
    """

    prompt: Prompt
    info: ModelInfo
    budget: Budget
    session: Session
    said: Message
    epoch: Epoch | NewEpoch
    recalled: tuple[Hit, ...]
    considered: tuple[RecallDecision, ...] = ()
    compacted: Compaction | None = None
    documents: tuple[DocumentUse, ...] = ()
    passages: tuple[StoredPassage, ...] = ()
    skills: tuple[UsedSkill, ...] = ()
    too_long: str = ""


@dataclass(frozen=True, slots=True)
class ContextView:
    """The beginning of a session's next prompt: its tiers (all but the newest turn's) and the messages."""

    session: Session
    info: ModelInfo
    budget: Budget
    tiers: tuple[TierUse, ...]
    messages: tuple[ChatMessage, ...]

    @property
    def tokens(self) -> int:
        return sum(tier.tokens for tier in self.tiers)
