"""How an epoch begins: what folds, what stands for it, and the head that is frozen from then on."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace

from memory.context.assembly import TokenSizes, sendable
from memory.context.budget import Budget, Limits
from memory.context.entities import Epoch, NewEpoch, WholeDocument
from memory.context.folding import Folder, Room
from memory.context.head import make_head
from memory.entities import Message, Session
from memory.knowledge.profile import Profile
from memory.ports import SessionStore

_ANY_NUMBER = 1_000_000


@dataclass(frozen=True, slots=True)
class Compaction:
    """A new epoch: tokens of the prompt before and after it."""

    session_id: str
    epoch: Epoch
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where an epoch is to begin: the session with its system prompt, and the newest message of a branch."""

    session: Session
    system: str
    newest: Message


class Beginnings:
    """Begins the epochs of a room's sessions."""

    def __init__(
        self,
        store: SessionStore,
        folder: Folder,
        page: Callable[[Session, Budget], Awaitable[Profile]],
        documents: Callable[[str, Budget], Awaitable[list[WholeDocument]]],
    ) -> None:
        """`page` makes the profile that a session's next epoch begins with, `documents` tells which
        attachments (by the session's id) are whole in it."""
        self._store = store
        self._folder = folder
        self._page = page
        self._documents = documents

    async def planned(
        self, place: Place, sizes: TokenSizes, limits: Limits, budget: Budget, before: int, *, force: bool
    ) -> Compaction:
        """The oldest turns fold until what stays fits the target; with `force` all but the newest do."""
        room = Room(-1 if force else _recent(budget), budget.most("summary"), budget.most("pinned"))
        return await self._begun(place, sizes, limits, room, budget, before, quick=False)

    async def at_once(
        self,
        place: Place,
        sizes: TokenSizes,
        limits: Limits,
        budget: Budget,
        before: int,
        branch: Sequence[Message] | None = None,
    ) -> Compaction:
        """As `planned`, without a model and so that the newest message, which did not fit, does.

        `branch` are all messages of the branch, when they have been read already.
        """
        summary, pinned = budget.most("summary"), budget.most("pinned")
        (newest,) = await sizes.of([place.newest])
        most = budget.limit - budget.system - summary - pinned - budget.most("profile")
        room = Room(max(0, min(_recent(budget) + newest, most)), summary, pinned)
        return await self._begun(
            place, sizes, replace(limits, recent_messages_min=1), room, budget, before, branch, quick=True
        )

    async def from_summaries(
        self, place: Place, sizes: TokenSizes, limits: Limits, budget: Budget
    ) -> Epoch | None:
        """An epoch of the summaries that stand already, when one of them was changed, or the model or the
        system prompt was; nothing more folds than must. None when the session has no summaries."""
        if not await self._store.context.summaries(place.session.id):
            return None
        summary, pinned = budget.most("summary"), budget.most("pinned")
        left = budget.limit - budget.system - summary - pinned - budget.most("profile")
        room = Room(max(0, left), summary, pinned)
        wide = replace(limits, immediate_turns=_ANY_NUMBER, recent_messages_min=1)
        begun = await self._begun(place, sizes, wide, room, budget, 0, quick=True)
        return begun.epoch

    async def _begun(
        self,
        place: Place,
        sizes: TokenSizes,
        limits: Limits,
        room: Room,
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
        taken = sum(await sizes.counter.count([f"{one.block}\n" for one in documents])) if documents else 0
        if taken and room.recent >= 0:
            room = replace(room, recent=max(0, room.recent - taken))
        folded = await self._folder.fold(session.id, branch, each, room, limits, quick=quick)
        head = await make_head(
            place.system,
            profile=await self._page(session, budget),
            summaries=folded.summaries,
            pinned=folded.pinned,
            documents=documents,
            counter=sizes.counter,
            shape=sizes.info.shape,
        )
        epoch = await self._store.context.add_epoch(
            NewEpoch(session.id, sizes.info.fingerprint, head.text, head.parts, branch[folded.start].id)
        )
        return Compaction(session.id, epoch, before, head.tokens + sum(each[folded.start :]))


def _recent(budget: Budget) -> int:
    """What the verbatim messages may take when an epoch begins."""
    return budget.divide({tier: budget.most(tier) for tier in ("profile", "summary", "pinned")})["recent"]
