"""Everything an interface needs, in one object: settings, vault, models, and the open rooms."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from atlas_desktop.interrupts import run_to_completion
from atlas_desktop.paths import Paths
from atlas_desktop.services.vault import VaultService
from atlas_desktop.settings.file import SettingsFile
from atlas_desktop.settings.schema import Settings
from memory.clock import SystemClock
from memory.errors import (
    AmbiguousId,
    DocumentNotFound,
    ParcelUnreadable,
    RoomClosed,
    SessionNotFound,
    StorageBusy,
    StorageFull,
)
from memory.jobs.foreground_gate import ForegroundGate, Power
from memory.kinds import Freshness, MemoryMode, MovedKind, RoomKind
from memory.vault.keys import RoomKey
from models.errors import NoModel

if TYPE_CHECKING:
    from atlas_desktop.services.backup import BackupService, ScheduledBackups
    from atlas_desktop.services.doctor import Doctor
    from atlas_desktop.services.engines import EngineService
    from atlas_desktop.services.forgetting_in_rooms import RoomsForgetting
    from atlas_desktop.services.models import Model, ModelService
    from atlas_desktop.services.retention import HeldBack
    from atlas_desktop.services.room import RoomFactory, RoomServices
    from atlas_desktop.services.sync import SyncService
    from atlas_desktop.services.tuning import TuningService
    from atlas_desktop.services.turns import TurnOptions
    from memory.clock import Clock
    from memory.context.stateless import StatelessContext
    from memory.documents.entities import Document
    from memory.entities import Session
    from memory.storage.snapshots import SnapshotStore
    from memory.storage.store import Store
    from memory.transfer import Losses, Sealer
    from memory.vectors.entities import VectorIndex


_LAST = "last"


async def _in_mode(store: "Store", session_id: str, mode: MemoryMode) -> "Session":
    """Changes the memory mode of a session and returns the session."""
    # Imported late: the first screen does not need it.
    from memory.entities import SessionPatch

    return await store.update_session(session_id, SessionPatch(memory_mode=mode))


class RoomsService:
    """The private room, sessions off the record, and moves between the rooms of one desk.

    A closed private room is treated as absent. `busy` returns whether the private room is at work.
    `on_closing` is awaited before it closes, on request or because it was idle. `now` returns seconds.
    """

    def __init__(self, desk: "AppContext", now: Callable[[], float] = time.monotonic) -> None:
        self.busy: Callable[[], bool] = lambda: desk.gate.busy
        self.on_closing: Callable[[], Awaitable[None]] = _nothing
        self.stuck = 0
        """Parcels in transit that `complete` could not open because their key is lost. They stay there."""
        self._desk = desk
        self._now = now
        self._used_at = 0.0
        self._watching: asyncio.Task[None] | None = None
        self._at_the_door = asyncio.Lock()

    @property
    def forgetting(self) -> "RoomsForgetting":
        """Forgetting in all open rooms."""
        from atlas_desktop.services.forgetting_in_rooms import RoomsForgetting

        return RoomsForgetting(lambda: self._desk.open_rooms, self.backups_made)

    def backups_made(self) -> int:
        """Returns how many backups are in their folder; 0 if that cannot be read. Reads their heads."""
        if self._desk.make_backups is None:
            return 0
        try:
            return self._desk.backups.held(())[0]
        except OSError:
            # Forgetting must not depend on a disk that is away.
            return 0

    # --- the private room -------------------------------------------------------------------------

    @property
    def private(self) -> "RoomServices | None":
        """The private room; None while it is closed."""
        return self._find(RoomKind.PRIVATE)

    async def enter_both(self, passphrase: str) -> "RoomServices":
        """Opens the open room and the private one with one passphrase; returns the private one.

        Raises `WrongPassphrase`, also when the passphrase opens the open room alone; `KeyslotsMissing` or
        `KeyslotsDamaged` when the private room's key file fails.
        """
        keys = await self._desk.vault.unlock_both(passphrase)
        private = keys.private or await self._desk.vault.unlock_private(passphrase)
        if self._find(RoomKind.OPEN) is None:
            await self._desk.enter(keys.open)
        return await self.enter_private_with(private)

    async def enter_private(self, passphrase: str) -> "RoomServices":
        """Opens the private room in addition to the open ones. Raises `WrongPassphrase`."""
        if (opened := self.private) is not None:
            return opened
        return await self.enter_private_with(await self._desk.vault.unlock_private(passphrase))

    async def enter_private_with(self, key: "RoomKey") -> "RoomServices":
        """Like `enter_private`, with the key that the passphrase has unlocked."""
        async with self._at_the_door:
            room = self.private or await self._desk.enter(key, RoomKind.PRIVATE)
            self.used()
            await self.complete()
        return room

    async def leave_private(self) -> None:
        """Closes the private room, if it is open. It is closed even after an error or a cancellation."""
        self.stop_watching()
        await run_to_completion(self._leave_private())

    async def _leave_private(self) -> None:
        async with self._at_the_door:
            if (room := self.private) is None:
                return
            try:
                await self.on_closing()
            finally:
                await self._desk.leave(room)

    def used(self) -> None:
        """Records activity: the private room stays open for another idle period."""
        self._used_at = self._now()

    def watch(self, failed: Callable[[BaseException], None] | None = None) -> None:
        """Watches the private room and closes it after the idle time in the settings.

        `failed` is called with the error if that closing fails.
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
        """Returns the seconds until the idle private room closes."""
        return self._used_at + 60 * self._desk.settings.sessions.private_idle_minutes - self._now()

    # --- finding ----------------------------------------------------------------------------------

    async def losses(self, session_ids: Collection[str], destination: RoomKind) -> "Losses":
        """Returns what sessions would lose by a move."""
        from memory.transfer import Losses

        rooms = [room for room in self._desk.open_rooms if room.store.room is not destination]
        return sum([await room.store.moves.losses(session_ids) for room in rooms], Losses())

    async def find(self, ref: str) -> "tuple[RoomServices, Session]":
        """Returns a session (by id, a prefix of one, or `last`) and the open room that contains it.

        Raises `SessionNotFound`, `AmbiguousId`.
        """
        found: list[tuple[RoomServices, Session]] = []
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

    async def move(self, ref: str, destination: RoomKind) -> "Session":
        """Moves a session to an open room, with everything that was made from it alone.

        If the process is killed at any point, the session is complete in one of the rooms, or in transit and
        hidden until `complete`. No reply may be in progress in it. Raises `RoomClosed` and what the store
        raises; then nothing has moved.
        """
        return await run_to_completion(self._move(ref, destination))

    async def _move(self, ref: str, destination: RoomKind) -> "Session":
        source, session = await self.find(ref)
        if source.store.room is destination:
            return session
        target = self._desk.at(destination)
        if session.memory_mode is MemoryMode.OFF:
            await _in_mode(source.store, session.id, MemoryMode.NORMAL)
        sealer = await self._sealer(source, target)
        moves = source.store.moves
        # A running job could store the moved data again.
        async with source.background.stopped():
            await source.epochs.forget([session.id])
            departure = await moves.depart(session.id, destination, sealer)
            try:
                await self._deliver(source, target, session.id, sealer)
            except Exception:
                await moves.take_back(session.id, sealer)
                raise
            # The model may also have read its text in the prompts of other sessions.
            await source.epochs.forget([session.id, *departure.recalled_in])
        await target.recall.remember(session.id)
        return await target.store.get_session(session.id)

    async def move_document(self, ref: str, destination: RoomKind) -> "Document":
        """Moves a document (by id, a prefix of one, or path) to an open room, with everything made from it.

        Sessions stay where they are, without its passages and citations. If the process is killed, the
        document is complete in one of the rooms or in transit; if an error is raised, nothing has moved.
        Raises what `move` raises, and `DocumentNotFound`.
        """
        return await run_to_completion(self._move_document(ref, destination))

    async def _move_document(self, ref: str, destination: RoomKind) -> "Document":
        source, document = await self.find_document(ref)
        if source.store.room is destination:
            return document
        target = self._desk.at(destination)
        sealer = await self._sealer(source, target)
        moves = source.store.moves
        async with source.background.stopped():
            await source.epochs.forget(await source.store.documents.told_in([document.id]))
            departure = await moves.depart_document(document.id, destination, sealer)
            try:
                await self._deliver(source, target, document.id, sealer)
            except Exception:
                await moves.take_back(document.id, sealer)
                raise
            await source.epochs.forget(departure.recalled_in)
        await target.documents.remember()
        await target.learning.notes_changed()
        return await target.store.documents.get(document.id)

    async def find_document(self, ref: str) -> "tuple[RoomServices, Document]":
        """Returns a document (by id, a prefix of one, or path) and the open room that contains it.

        Raises `DocumentNotFound`, `AmbiguousId`.
        """
        found: list[tuple[RoomServices, Document]] = []
        for room in self._desk.open_rooms:
            with suppress(DocumentNotFound):
                found.append((room, await room.documents.get(ref)))
        if not found:
            raise DocumentNotFound(ref)
        if len(found) > 1:
            raise AmbiguousId(ref, len(found))
        return found[0]

    async def keep(self, ref: str, mode: MemoryMode = MemoryMode.NORMAL) -> "Session":
        """Saves an off-the-record session to the open room; a saved session stays as it is."""
        room, session = await self.find(ref)
        if room.store.room is not RoomKind.OFF_RECORD:
            return session
        self._desk.at(RoomKind.OPEN)
        await _in_mode(room.store, session.id, mode)
        return await self.move(session.id, RoomKind.OPEN)

    async def complete(self) -> int:
        """Completes interrupted moves between rooms that are open now; returns how many."""
        done = self.stuck = 0
        for source in self._desk.open_rooms:
            for move in await source.store.moves.waiting():
                target = self._find(move.destination)
                if target is None or (source.store.room is RoomKind.OPEN and self.private is None):
                    continue
                try:
                    await self._deliver(source, target, move.item_id, await self._sealer(source, target))
                except ParcelUnreadable:
                    # Its key was lost with a damaged room. The user must still be able to use the sound room.
                    self.stuck += 1
                    continue
                if move.kind is MovedKind.DOCUMENT:
                    await target.documents.remember()
                    await target.learning.notes_changed()
                else:
                    await target.recall.remember(move.item_id)
                done += 1
        return done

    async def _deliver(
        self, source: "RoomServices", target: "RoomServices", item_id: str, sealer: "Sealer"
    ) -> None:
        parcel = sealer.unseal(await source.store.moves.parcel(item_id), item_id)
        await target.store.moves.arrive(parcel)
        await source.store.moves.delivered(item_id)

    async def _sealer(self, source: "RoomServices", target: "RoomServices") -> "Sealer":
        """Returns the private room's sealer if it is one of the two rooms, otherwise the source's.

        Data in transit is as private as data in the room.
        """
        private = target if target.store.room is RoomKind.PRIVATE else source
        return await private.store.moves.sealer()

    def _find(self, kind: RoomKind) -> "RoomServices | None":
        return next((room for room in self._desk.open_rooms if room.store.room is kind), None)

    # --- off the record ---------------------------------------------------------------------------

    async def off_record(self) -> "RoomServices":
        """Returns the room in memory, which is made on first use."""
        return self._find(RoomKind.OFF_RECORD) or await self._desk.enter(None, RoomKind.OFF_RECORD)

    async def off_the_record(self, ref: str) -> "Session":
        """Copies a session into the room in memory, to continue there; the session itself does not change."""
        return await run_to_completion(self._off_the_record(ref))

    async def _off_the_record(self, ref: str) -> "Session":
        # Imported late: the first screen does not need it.
        from memory.attachments import NewAttachment

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
        # The copy has its own ids: if it is saved later, it can coexist with the original.
        fork = await room.store.fork_session(taken.id, taken.head_id)
        await room.store.erase_session(taken.id)
        return await _in_mode(room.store, fork.id, MemoryMode.OFF)

    async def set_mode(self, ref: str, mode: MemoryMode) -> "Session":
        """Sets the memory mode of a session from now on.

        `phrases.rooms.of_mode` describes the effect on existing content. Off the record, the session
        continues as a copy in memory; from there, any other mode saves it to the open room.
        """
        room, session = await self.find(ref)
        off = room.store.room is RoomKind.OFF_RECORD
        if mode is MemoryMode.OFF:
            return session if off else await self.off_the_record(session.id)
        if off:
            return await self.keep(session.id, mode)
        changed = await _in_mode(room.store, session.id, mode)
        if mode is MemoryMode.NORMAL and session.memory_mode is not MemoryMode.NORMAL:
            # Messages sent while learning was off for this session are skipped.
            for one in await room.store.memories.unlearned(session=session.id):
                await room.store.memories.mark_learned(one.session_id, one.seq)
        return changed


def _tell(task: "asyncio.Task[None]", failed: Callable[[BaseException], None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        failed(error)


async def _nothing() -> None:
    """Does nothing."""


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Used:
    """A chosen model and its roles."""

    id: str
    roles: tuple[str, ...]


@dataclass(slots=True)
class AppContext:
    """The program without a user interface. The composition root supplies the functions that open, start and
    watch.

    `chosen_model` names a model other than the default: the id of an installed one, or `NAME:MODEL` of an
    engine. `watch_models` takes a callback, which it calls in a
    separate thread with each model file put into the models folder, and returns a function that stops the
    watching. `on_stale` is called with a room that is missing, or that is or may be older than at its last
    use. `on_held_back` is called with data that is due for deletion but kept, because the clock may have been
    set ahead. `gate` makes the background work of every room yield to turns; `power` reports whether the
    computer is on battery.
    """

    paths: Paths
    settings_file: SettingsFile
    vault: VaultService
    make_models: Callable[[], "ModelService"]
    open_store: Callable[[RoomKey | None, RoomKind], Awaitable["Store"]]
    start_model: Callable[[Settings, str | None], "Model"]
    watch_models: Callable[[Callable[[Path], None]], Callable[[], None]]
    open_snapshots: Callable[[RoomKey, RoomKind], Awaitable["SnapshotStore | None"]]
    vector_index: Callable[[int], "VectorIndex"]
    room: "RoomServices | None" = None
    chosen_model: str | None = None
    clock: "Clock" = field(default_factory=SystemClock)
    gate: ForegroundGate = field(default_factory=ForegroundGate)
    power: Power | None = None
    tuning: Callable[[Settings], "TuningService"] | None = None
    make_backups: Callable[[], "BackupService"] | None = None
    make_engines: "Callable[[], EngineService] | None" = None
    make_doctor: "Callable[[], Doctor] | None" = None
    on_stale: Callable[[RoomKind, Freshness], None] = lambda _room, _freshness: None
    on_held_back: "Callable[[RoomKind, HeldBack], None]" = lambda _room, _held: None
    scheduled_backups: "ScheduledBackups | None" = field(default=None, repr=False)
    """The backups of the vault that is open; None while none is."""
    _models: "ModelService | None" = field(default=None, repr=False)
    _engines: "EngineService | None" = field(default=None, repr=False)
    _model: "Model | None" = field(default=None, repr=False)
    _rooms_service: "RoomsService | None" = field(default=None, repr=False)
    _sync: "SyncService | None" = field(default=None, repr=False)
    _rooms: list["RoomServices"] = field(default_factory=list, repr=False)

    @property
    def settings(self) -> Settings:
        return self.settings_file.settings

    @property
    def models(self) -> "ModelService":
        """The models of the home. Made on first use: the first screen does not need their catalogue."""
        if self._models is None:
            self._models = self.make_models()
        return self._models

    @property
    def engines(self) -> "EngineService":
        """The other model servers that may answer. Made on first use."""
        if self._engines is None:
            if self.make_engines is None:
                raise RuntimeError("this desk was built without engines")
            self._engines = self.make_engines()
        return self._engines

    def leaves(self, room: RoomKind) -> bool:
        """Returns whether text of a room is sent to another computer by the model in use."""
        model = self._model
        if model is None or room is RoomKind.PRIVATE:
            return False
        return bool(model.remote_chat or model.remote_embed)

    def check_model(self, ref: str) -> str:
        """Returns the whole name of a model that can be used: an installed one, or `NAME:MODEL` of an engine.

        Raises `UnknownModel`, `ModelNotInstalled`, or the errors of `EngineService.check`.
        """
        if ":" not in ref:
            return self.models.installed_model(ref).id
        engine, model = self.engines.check(ref)
        return f"{engine.name}:{model}"

    def use_model(self, ref: str, role: str | None = None) -> "Used":
        """Chooses a model for a role, by default for all that it is made for (an engine's: for chat).

        The next model that is started is this one. Raises what `check_model` raises, and `NoModel`.
        """
        if ":" in ref:
            name = self.check_model(ref)
            self.engines.choose(name, role or "chat")
            return Used(name, (role or "chat",))
        model = self.models.use(ref, role)
        roles = (role,) if role else tuple(map(str, model.roles))
        for one in roles:
            if self.settings_file.get(f"models.{one}_engine"):
                self.engines.choose("", one)
        return Used(model.id, roles)

    def chat_model_id(self) -> str:
        """Returns the name of the model that answers. Raises `NoModel`."""
        return self.chosen_model or self.settings.models.chat_engine or self.models.default("chat").id

    def embed_model_id(self) -> str:
        """Returns the name of the model that makes vectors. Raises `NoModel`."""
        return self.settings.models.embed_engine or self.models.default("embed").id

    @property
    def backups(self) -> "BackupService":
        if self.make_backups is None:
            raise RuntimeError("this desk was built without backups")
        return self.make_backups()

    @property
    def model(self) -> "Model":
        """The model. Its process is started by its first use, not by this property."""
        if self._model is None:
            self._model = self.start_model(self.settings, self.chosen_model)
        return self._model

    async def enter(self, key: RoomKey | None, room: RoomKind = RoomKind.OPEN) -> "RoomServices":
        """Opens a room with its key (None for the room in memory). The first one becomes `room`."""
        store = await self.open_store(key, room)
        try:
            snapshots = None if key is None else await self.open_snapshots(key, room)
            opened = self._parts(room).room(store, snapshots)
        except BaseException:
            await store.close()
            raise
        if room is RoomKind.OPEN and key is not None and self.make_backups is not None:
            from atlas_desktop.services.backup import ScheduledBackups

            self.scheduled_backups = ScheduledBackups(
                opened.background,
                self.make_backups,
                key,
                lambda: self.settings.backup,
                lambda missing: self.on_stale(missing, Freshness.MISSING),
            )
            await asyncio.to_thread(self.backups.remove_drafts)
        if room is RoomKind.OPEN and key is not None and await self.vault.private_missing():
            self.on_stale(RoomKind.PRIVATE, Freshness.MISSING)
        if store.freshness is not Freshness.CURRENT:
            self.on_stale(room, store.freshness)
        if key is not None:
            await self._look_at_clock(opened)
        self._rooms.append(opened)
        if self.room is None:
            self.room = opened
        return opened

    async def _look_at_clock(self, room: "RoomServices") -> None:
        room.retention.on_held_back = lambda held: self.on_held_back(room.store.room, held)
        # The user must get in even if the disk cannot be written to.
        with suppress(StorageFull, StorageBusy):
            await room.retention.tell_held_back()

    async def leave(self, room: "RoomServices") -> None:
        """Closes one of several rooms and drops the model's states."""
        self._rooms.remove(room)
        if self.room is room:
            self.room = self._rooms[0] if self._rooms else None
        try:
            await room.close()
        finally:
            if self._model is not None and self._model.prefixes is not None:
                await self._model.prefixes.drop_states()

    @property
    def open_rooms(self) -> "tuple[RoomServices, ...]":
        """The open rooms, in the order in which they were opened."""
        return tuple(self._rooms)

    async def of_each(self, ask: "Callable[[RoomServices], Awaitable[T]]", nothing: T) -> list[T]:
        """Returns the answers of all open rooms, in their order; `nothing` for a room that closes
        meanwhile."""
        return [await self._answer(room, ask, nothing) for room in self.open_rooms]

    async def _answer(
        self, room: "RoomServices", ask: "Callable[[RoomServices], Awaitable[T]]", nothing: T
    ) -> T:
        try:
            return await ask(room)
        except RoomClosed:
            if room in self._rooms:
                raise
            return nothing

    def at(self, kind: RoomKind) -> "RoomServices":
        """Returns the open room of this kind. Raises `RoomClosed`."""
        for room in self._rooms:
            if room.store.room is kind:
                return room
        raise RoomClosed

    @property
    def rooms(self) -> "RoomsService":
        """The private room, sessions off the record, and moves between rooms."""
        if self._rooms_service is None:
            self._rooms_service = RoomsService(self)
        return self._rooms_service

    async def is_synced(self) -> bool:
        """Returns whether an open room is synchronised with a folder; does not load the sync service."""
        kept = [room for room in self.open_rooms if room.store.room is not RoomKind.OFF_RECORD]
        return any([await room.store.sync.state() is not None for room in kept])

    @property
    def sync(self) -> "SyncService":
        """Sync of the open rooms with a folder. Made on first use."""
        if self._sync is None:
            from atlas_desktop.services.sync import SyncService

            self._sync = SyncService(lambda: self.open_rooms, self.settings_file, self.paths.home, self.clock)
        return self._sync

    def _parts(self, room: RoomKind) -> "RoomFactory":
        # Imported late: the parts of a room load slowly, and the first screen does not need them.
        from atlas_desktop.services.room import RoomFactory

        def model() -> "Model":
            found = self.model
            if room is not RoomKind.PRIVATE or not (found.remote_chat or found.remote_embed):
                return found
            from atlas_desktop.services.engines import for_private_room

            return for_private_room(found)

        tuning = self.tuning
        return RoomFactory(
            clock=self.clock,
            gate=self.gate,
            power=self.power,
            model=model,
            settings=lambda: self.settings,
            vector_index=self.vector_index,
            tuning=None if tuning is None else lambda: tuning(self.settings),
        )

    def stateless(self, room: "RoomServices") -> "StatelessContext":
        """Returns the service that makes prompts for other programs, from a room and the model in use."""
        return self._parts(room.store.room).stateless(room.store, room.recall, room.documents.search)

    async def system(self, room: "RoomServices", project: str | None) -> str:
        """Returns the instructions for a session that has none of its own: the default and the project's."""
        added = "" if project is None else await room.store.projects.instructions(project)
        return "\n\n".join(part for part in (self.settings.chat.system_prompt, added) if part)

    def turn_options(self) -> "TurnOptions":
        """Returns the options of a turn from the settings and the recommendations of the model's makers."""
        from atlas_desktop.services.turns import TurnOptions
        from models.messages import GenerationParams

        model_id = self._model_in_use()
        makers = self.models.sampling(model_id)
        given = self.settings_file.given
        recommended = {name: value for name, value in makers.items() if f"chat.{name}" not in given}
        chat = self.settings.chat_for(model_id, recommended)
        params = GenerationParams(
            max_tokens=chat.max_tokens,
            temperature=chat.temperature,
            top_k=chat.top_k,
            top_p=chat.top_p,
            min_p=chat.min_p,
            repeat_penalty=chat.repeat_penalty,
            seed=chat.seed,
            stop=tuple(chat.stop),
        )
        return TurnOptions(params=params)

    def _model_in_use(self) -> str:
        try:
            return self.chat_model_id()
        except NoModel:
            # The turn reports this, after it has saved the user's message.
            return ""

    async def switch_model(self) -> None:
        """Closes the running model; the next turn starts the model chosen by then."""
        async with AsyncExitStack() as stack:
            for room in self._rooms:
                await stack.enter_async_context(room.background.stopped())
            if self._model is not None:
                old, self._model = self._model, None
                await old.close()
            for room in self._rooms:
                room.chat = self._parts(room.store.room).chat(
                    room.store,
                    room.background,
                    room.recall,
                    room.continuity,
                    room.epochs,
                    room.documents.search,
                )
                # A better model may succeed at summaries that an older one failed at.
                await room.summaries.improve()

    async def close(self) -> None:
        """Ends background work, closes every room, and ends the model's process."""
        if self._rooms_service is not None:
            self._rooms_service.stop_watching()
        while self._rooms:
            await self._rooms.pop().close()
        if self._model is not None:
            # Cleared only once closed: after a cancellation, the next call closes the rest.
            await self._model.close()
            self._model = None
        self.room = None
