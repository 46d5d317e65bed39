"""Operations on many sessions at once, in any of the open rooms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.entities import RoomKind
from memory.errors import CannotMerge
from memory.organising import MarksPatch, Merged, Organised

if TYPE_CHECKING:
    from atlas_desktop.services.desk import AppContext
    from atlas_desktop.services.room import RoomServices
    from memory.entities import Session


@dataclass(frozen=True, slots=True)
class Done:
    """What was changed, by room; `Bulk.put_back` undoes it."""

    by_room: tuple[tuple[RoomKind, tuple[Organised, ...]], ...]

    @property
    def changed(self) -> tuple[Organised, ...]:
        return tuple(one for _, made in self.by_room for one in made if one.changed)

    @property
    def all(self) -> tuple[Organised, ...]:
        return tuple(one for _, made in self.by_room for one in made)


class Bulk:
    """Bulk operations of one desk. The sessions of one room are changed in one step.

    A `ref` is an id, a unique prefix of one, or `last`. Raises `SessionNotFound`, `AmbiguousId` before
    anything is changed.
    """

    def __init__(self, desk: "AppContext") -> None:
        self._desk = desk

    async def apply(self, refs: Sequence[str], patch: MarksPatch) -> Done:
        """Applies a patch. Raises ValueError for a tag, category or project that is empty or too long."""
        return await self._apply(await self.grouped(refs), patch)

    async def apply_to(self, sessions: "Sequence[Session]", patch: MarksPatch) -> Done:
        """Like `apply`, for sessions of open rooms that were just read, so they are not looked up again."""
        ids: dict[RoomKind, list[str]] = {}
        for session in sessions:
            ids.setdefault(session.room, []).append(session.id)
        return await self._apply([(self._desk.at(room), own) for room, own in ids.items()], patch)

    async def _apply(self, groups: "Sequence[tuple[RoomServices, list[str]]]", patch: MarksPatch) -> Done:
        now = self._desk.clock.now()
        made = [
            (room.store.room, tuple(await room.organising.apply(ids, patch, at=now))) for room, ids in groups
        ]
        return Done(tuple(made))

    async def put_back(self, done: Done) -> Done:
        """Undoes the changes, in the rooms that are still open."""
        kept = dict(done.by_room)
        return Done(
            tuple(
                [
                    (room.store.room, tuple(await room.organising.put_back(kept[room.store.room])))
                    for room in self._desk.open_rooms
                    if room.store.room in kept
                ]
            )
        )

    async def undo_last(self) -> Done:
        """Undoes the last change not undone yet, in all open rooms in which it was made."""
        while times := [
            (at, room)
            for room in self._desk.open_rooms
            if (at := await room.organising.last_changed()) is not None
        ]:
            latest = max(at for at, _ in times)
            made = [
                (room.store.room, tuple(await room.organising.undo_last()))
                for at, room in times
                if at == latest
            ]
            done = Done(tuple(made))
            if done.changed:
                return done
        return Done(())

    async def merge(self, ref: str, others: Sequence[str]) -> "tuple[Session, Merged]":
        """Like `OrganisingService.merge`; all must be in one room."""
        groups = await self.grouped([ref, *others])
        if len(groups) != 1:
            raise CannotMerge("room")
        ((room, ids),) = groups
        # A session that was named twice is not silently merged with itself.
        if len(ids) != len(others) + 1:
            raise CannotMerge("same")
        return await room.organising.merge(ids[0], ids[1:])

    async def grouped(self, refs: Sequence[str]) -> "list[tuple[RoomServices, list[str]]]":
        """Returns full ids by room, each once, in the order given."""
        found: dict[RoomKind, tuple[RoomServices, list[str]]] = {}
        for ref in refs:
            room, session = await self._desk.rooms.find(ref)
            ids = found.setdefault(room.store.room, (room, []))[1]
            if session.id not in ids:
                ids.append(session.id)
        return list(found.values())
