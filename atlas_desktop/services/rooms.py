"""The rooms of a program: the private one on demand, sessions that move, and what is off the record."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_desktop.services.unbroken import unbroken
from memory.attachments.entities import NewAttachment
from memory.entities import MemoryMode, RoomKind, Session, SessionPatch
from memory.errors import AmbiguousId, ParcelUnreadable, SessionNotFound

if TYPE_CHECKING:
    from atlas_desktop.services.desk import Desk
    from atlas_desktop.services.forgetting_rooms import RoomsForgetting
    from atlas_desktop.services.room import OpenRoom
    from memory.rooms.ports import Sealer
    from memory.vault.keys import RoomKey

_LAST = "last"


class RoomsService:
    """Of one desk. While the private room is closed it is as if it were not there.

    `busy` says whether somebody is at work in the private room; `on_closing` is awaited before it closes, by
    itself or because somebody wants it to. `now` counts seconds.
    """

    def __init__(self, desk: "Desk", now: Callable[[], float] = time.monotonic) -> None:
        self.busy: Callable[[], bool] = lambda: desk.gate.busy
        self.on_closing: Callable[[], Awaitable[None]] = _nothing
        self.stuck = 0
        """How many sessions on their way `complete` found that nothing opens any more; they stay there."""
        self._desk = desk
        self._now = now
        self._used_at = 0.0
        self._watching: asyncio.Task[None] | None = None
        self._at_the_door = asyncio.Lock()

    @property
    def forgetting(self) -> "RoomsForgetting":
        """Forgetting in all rooms that are open."""
        from atlas_desktop.services.forgetting_rooms import RoomsForgetting

        return RoomsForgetting(lambda: self._desk.open_rooms)

    # --- the private room -------------------------------------------------------------------------

    @property
    def private(self) -> "OpenRoom | None":
        """The private room, while it is open."""
        return self._find(RoomKind.PRIVATE)

    async def enter_both(self, passphrase: str) -> "OpenRoom":
        """Opens the open room and the private one with one passphrase; returns the private one.

        Raises `WrongPassphrase`, also when the passphrase opens the open room alone; `KeyslotsMissing` or
        `KeyslotsDamaged` when it is the private room's key file that fails.
        """
        keys = await self._desk.vault.unlock_both(passphrase)
        private = keys.private or await self._desk.vault.unlock_private(passphrase)
        if self._find(RoomKind.OPEN) is None:
            await self._desk.enter(keys.open)
        return await self.enter_private_with(private)

    async def enter_private(self, passphrase: str) -> "OpenRoom":
        """Opens the private room beside the ones that are open. Raises `WrongPassphrase`."""
        if (opened := self.private) is not None:
            return opened
        return await self.enter_private_with(await self._desk.vault.unlock_private(passphrase))

    async def enter_private_with(self, key: "RoomKey") -> "OpenRoom":
        """As `enter_private`, with the key that its passphrase has given."""
        async with self._at_the_door:
            room = self.private or await self._desk.enter(key, RoomKind.PRIVATE)
            self.used()
            await self.complete()
        return room

    async def leave_private(self) -> None:
        """Closes the private room, if it is open. What fails, or is cancelled, does not leave it open."""
        self.stop_watching()
        await unbroken(self._leave_private())

    async def _leave_private(self) -> None:
        async with self._at_the_door:
            if (room := self.private) is None:
                return
            try:
                await self.on_closing()
            finally:
                await self._desk.leave(room)

    def used(self) -> None:
        """Somebody is there: the private room stays open for another while."""
        self._used_at = self._now()

    def watch(self, failed: Callable[[BaseException], None] | None = None) -> None:
        """From now on closes the private room when it has not been used for as long as the settings say.

        `failed` is told of what did not work when it closed by itself.
        """
        if self._watching is None or self._watching.done():
            self.used()
            self._watching = asyncio.create_task(self._close_when_idle(), name="private room")
            if failed is not None:
                self._watching.add_done_callback(lambda task: _tell(task, failed))

    def stop_watching(self) -> None:
        task, self._watching = self._watching, None
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    async def _close_when_idle(self) -> None:
        while (left := self._left()) > 0:
            await asyncio.sleep(left)
            if self.busy():
                self.used()
        await self.leave_private()

    def _left(self) -> float:
        """Seconds until the private room closes by itself."""
        return self._used_at + 60 * self._desk.settings.sessions.private_idle_minutes - self._now()

    # --- finding ----------------------------------------------------------------------------------

    async def find(self, ref: str) -> "tuple[OpenRoom, Session]":
        """The session of an id, a prefix of one, or `last`, and the open room that it is in.

        Raises `SessionNotFound`, `AmbiguousId`.
        """
        found: list[tuple[OpenRoom, Session]] = []
        for room in self._desk.open_rooms:
            try:
                found.append((room, await room.store.get_session(ref)))
            except SessionNotFound:
                continue
        if not found:
            raise SessionNotFound(ref)
        if ref.strip().lower() == _LAST:
            return max(found, key=lambda pair: pair[1].updated_at)
        if len(found) > 1:
            raise AmbiguousId(ref, len(found))
        return found[0]

    # --- moving -----------------------------------------------------------------------------------

    async def move(self, ref: str, destination: RoomKind) -> Session:
        """Moves a session to a room that is open, with all that was made from it and from nothing else.

        Killed at any moment it is whole in one of the rooms, or on its way, where nobody sees it, until
        `complete`. No reply may be under way in it. Raises `RoomClosed`, and what the store raises; then
        nothing has moved.
        """
        return await unbroken(self._move(ref, destination))

    async def _move(self, ref: str, destination: RoomKind) -> Session:
        source, session = await self.find(ref)
        if source.store.room is destination:
            return session
        target = self._desk.at(destination)
        if session.memory_mode is MemoryMode.OFF:
            await source.store.update_session(session.id, SessionPatch(memory_mode=MemoryMode.NORMAL))
        sealer = await self._sealer(source, target)
        moves = source.store.moves
        # A job in mid-work could write down once more what has just gone.
        async with source.background.stopped():
            await source.epochs.forget([session.id])
            departure = await moves.depart(session.id, destination, sealer)
            try:
                await self._deliver(source, target, session.id, sealer)
            except Exception:
                await moves.take_back(session.id, sealer)
                raise
            # The model has read its words in the prompts of other sessions, too.
            await source.epochs.forget([session.id, *departure.recalled_in])
        await target.recall.remember(session.id)
        return await target.store.get_session(session.id)

    async def keep(self, ref: str, mode: MemoryMode = MemoryMode.NORMAL) -> Session:
        """Saves a session that is off the record to the open room; one that is saved stays as it is."""
        room, session = await self.find(ref)
        if room.store.room is not RoomKind.OFF_RECORD:
            return session
        self._desk.at(RoomKind.OPEN)
        await room.store.update_session(session.id, SessionPatch(memory_mode=mode))
        return await self.move(session.id, RoomKind.OPEN)

    async def complete(self) -> int:
        """Ends the moves that were cut short between rooms that are open now; returns how many."""
        done = self.stuck = 0
        for source in self._desk.open_rooms:
            for move in await source.store.moves.waiting():
                target = self._find(move.destination)
                if target is None or (source.store.room is RoomKind.OPEN and self.private is None):
                    continue
                try:
                    await self._deliver(source, target, move.session_id, await self._sealer(source, target))
                except ParcelUnreadable:
                    # The key to it was lost with a damaged room: nobody is kept out of what is sound.
                    self.stuck += 1
                    continue
                await target.recall.remember(move.session_id)
                done += 1
        return done

    async def _deliver(
        self, source: "OpenRoom", target: "OpenRoom", session_id: str, sealer: "Sealer"
    ) -> None:
        parcel = sealer.unseal(await source.store.moves.parcel(session_id), session_id)
        await target.store.moves.arrive(parcel)
        await source.store.moves.delivered(session_id)

    async def _sealer(self, source: "OpenRoom", target: "OpenRoom") -> "Sealer":
        """The private room's, if it is one of them: what waits is as private as what is inside."""
        private = target if target.store.room is RoomKind.PRIVATE else source
        return await private.store.moves.sealer()

    def _find(self, kind: RoomKind) -> "OpenRoom | None":
        return next((room for room in self._desk.open_rooms if room.store.room is kind), None)

    # --- off the record ---------------------------------------------------------------------------

    async def off_record(self) -> "OpenRoom":
        """The room in memory, made when first asked for."""
        return self._find(RoomKind.OFF_RECORD) or await self._desk.enter(None, RoomKind.OFF_RECORD)

    async def off_the_record(self, ref: str) -> Session:
        """A copy of a session in the room in memory, to go on in; the session itself stays as it is."""
        return await unbroken(self._off_the_record(ref))

    async def _off_the_record(self, ref: str) -> Session:
        source, session = await self.find(ref)
        room = await self.off_record()
        if source is room or session.head_id is None:
            return session
        copy = await room.store.transfer.take(await source.store.transfer.give(session.id))
        taken = await room.store.get_session(copy.session_id)
        assert taken.head_id is not None
        for one in await source.store.attachments.attached(session.id):
            file = NewAttachment(one.name, one.media_type, one.size, one.text)
            await room.store.attachments.attach(taken.id, file)
        # The copy has ids of its own: kept one day, it lies beside the session that it was made from.
        fork = await room.store.fork_session(taken.id, taken.head_id)
        await room.store.erase_session(taken.id)
        return await room.store.update_session(fork.id, SessionPatch(memory_mode=MemoryMode.OFF))

    async def set_mode(self, ref: str, mode: MemoryMode) -> Session:
        """The memory mode of a session from now on; what that does to what is there: `modes.consequence`.

        Off the record it goes on as a copy in memory; from there any other mode saves it to the open room.
        """
        room, session = await self.find(ref)
        off = room.store.room is RoomKind.OFF_RECORD
        if mode is MemoryMode.OFF:
            return session if off else await self.off_the_record(session.id)
        if off:
            return await self.keep(session.id, mode)
        changed = await room.store.update_session(session.id, SessionPatch(memory_mode=mode))
        if mode is MemoryMode.NORMAL and session.memory_mode is not MemoryMode.NORMAL:
            # What was said while nothing was to be learned is passed over.
            for one in await room.store.memories.unlearned(session=session.id):
                await room.store.memories.mark_learned(one.session_id, one.seq)
        return changed


def _tell(task: "asyncio.Task[None]", failed: Callable[[BaseException], None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        failed(error)


async def _nothing() -> None:
    """Nobody is concerned."""
