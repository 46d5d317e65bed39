"""Sync of the open rooms with a folder, which any file-copying tool carries to other computers."""

import asyncio
import json
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from atlas_desktop.settings.file import SettingsError, SettingsFile, UnknownSetting
from atlas_desktop.settings.schema import Settings
from memory.clock import Clock, micros
from memory.errors import (
    AlreadySynced,
    AmbiguousId,
    InvitationExpired,
    InvitationNotFound,
    InvitationWithoutPrivate,
    NotSynced,
    RoomClosed,
    SyncDeviceIsOwn,
    SyncDeviceNotFound,
    SyncFolderInHome,
    SyncPaused,
)
from memory.kinds import RoomKind
from memory.sync import folder as sync_folder
from memory.sync.entities import Device, Invitation, KeySet, Rotation, SyncReport, SyncState, SyncStatus
from memory.sync.exchange import Exchange, Progress, rotation_name, this_computer
from memory.sync.folder import Kind, Opened, SyncFolder

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices


CODE_VALID = timedelta(hours=1)
_SECTIONS = ("chat", "sessions", "memory")
_OF_THIS_COMPUTER = frozenset({"memory.vector_index"})


def shared_settings() -> list[str]:
    """Returns the settings that are the same on all devices, as `section.name`."""
    return [
        f"{section}.{name}"
        for section in _SECTIONS
        for name in type(getattr(Settings(), section)).__struct_fields__
        if f"{section}.{name}" not in _OF_THIS_COMPUTER
    ]


@dataclass(frozen=True, slots=True)
class Begun:
    """This device, and the code with which others join."""

    device: str
    code: str


class SyncService:
    """Sync of the rooms that are open; `rooms` returns them. Only one sync runs at a time.

    `home` is the folder of this program; the sync folder must not be inside it.
    """

    def __init__(
        self,
        rooms: "Callable[[], Sequence[RoomServices]]",
        settings: SettingsFile,
        home: Path,
        clock: Clock,
    ) -> None:
        self._rooms = rooms
        self._settings = settings
        self._home = home
        self._clock = clock
        self._running = asyncio.Lock()

    @property
    def running(self) -> bool:
        return self._running.locked()

    # --- setting up ------------------------------------------------------------------------------

    async def init(self, path: Path, *, name: str = "", private: bool = False) -> Begun:
        """Begins to sync the open room (and the private one, which must be open) through a folder.

        If it is already synced with the folder, this only makes a new code. Raises `AlreadySynced`,
        `SyncFolderMissing`, `SyncFolderUnusable`, `SyncFolderInHome`, `RoomClosed`.
        """
        folder = self._folder(path)
        async with self._running:
            room = self._private() if private else None
            state = await self._open_state()
            if state is not None and Path(state.folder) != folder.path:
                raise AlreadySynced
            device, called = _identity(state, name)
            if state is None:
                await self._begin(self._open, folder, sync_folder.new_keys(), called, device)
            if room is not None and await room.store.sync.state() is None:
                await self._begin(room, folder, sync_folder.new_keys(), called, device)
            return Begun(device, await self._invite())

    def check_code(self, code: str) -> None:
        """Checks the letters of a code. Raises `SyncCodeMistyped`."""
        sync_folder.secret_of(code)

    async def join(self, path: Path, code: str, *, name: str = "", private: bool = False) -> str:
        """Joins the devices of a folder with a code from one of them; returns the id of this device.

        If the open room is synced with the folder already, only the private one joins. Raises
        `SyncCodeMistyped`, `InvitationNotFound`, `InvitationExpired`, `InvitationWithoutPrivate`, and the
        errors of `init`.
        """
        folder = self._folder(path)
        secret = sync_folder.secret_of(code)
        async with self._running:
            room = self._private() if private else None
            state = await self._open_state()
            if state is not None:
                joined = room is None or await room.store.sync.state() is not None
                if joined or Path(state.folder) != folder.path:
                    raise AlreadySynced
            invitation = await asyncio.to_thread(self._find_invitation, folder, secret)
            streams = invitation.streams
            if state is not None and streams[RoomKind.OPEN].naming != state.keys.naming:
                raise InvitationNotFound
            if room is not None and RoomKind.PRIVATE not in streams:
                raise InvitationWithoutPrivate
            device, called = _identity(state, name)
            if state is None:
                await self._begin(self._open, folder, streams[RoomKind.OPEN], called, device)
            if room is not None:
                await self._begin(room, folder, streams[RoomKind.PRIVATE], called, device)
        return device

    async def invite(self) -> str:
        """Returns a new code, valid for an hour; the previous code becomes invalid. Raises `NotSynced`."""
        async with self._running:
            return await self._invite()

    async def _begin(
        self, room: "RoomServices", folder: SyncFolder, stream: KeySet, name: str, device: str
    ) -> None:
        place = await asyncio.to_thread(folder.make_place)
        called = name or this_computer()
        pairs = sync_folder.signing_pair(), sync_folder.sealing_pair()
        await room.store.sync.begin(str(folder.path), called, place, stream, *pairs, device_id=device)

    async def _invite(self) -> str:
        synced = await self._synced()
        state = next(state for room, state in synced if room.store.room is RoomKind.OPEN)
        until = self._clock.now() + CODE_VALID
        code = sync_folder.new_code()
        key = sync_folder.invitation_key(sync_folder.secret_of(code))
        invitation = Invitation(
            state.own.id,
            state.own.signing,
            micros(until),
            {room.store.room.value: found.keys for room, found in synced},
        )
        name = _invitation_name(key)
        data = sync_folder.write(Kind.INVITATION, key, msgspec.msgpack.encode(invitation), state.signing)
        folder = SyncFolder(Path(state.folder))
        if state.invitation:
            await asyncio.to_thread(folder.remove, state.own.place, state.invitation)
        await self._open.store.sync.set_state(invitation=name, invited_until=micros(until))
        await asyncio.to_thread(folder.write, state.own.place, name, data)
        return code

    def _find_invitation(self, folder: SyncFolder, secret: bytes) -> Invitation:
        key = sync_folder.invitation_key(secret)
        name = _invitation_name(key)
        for place, files in folder.look().places.items():
            raw = folder.read(place, name) if name in files else None
            opened = sync_folder.read(raw, [key]) if raw is not None else None
            if not isinstance(opened, Opened) or opened.kind != Kind.INVITATION:
                continue
            invitation = msgspec.msgpack.decode(opened.content, type=Invitation)
            if not opened.signed_by(invitation.signing):
                continue
            if invitation.expires_at < micros(self._clock.now()):
                raise InvitationExpired
            return invitation
        raise InvitationNotFound

    async def leave(self) -> None:
        """Ends sync on this device, after a last sync if the folder exists. Nothing else changes.

        The files of this device stay in the folder, because others may not have read them yet.
        """
        async with self._running:
            for room, _ in await self._synced():
                await room.store.sync.end()

    async def pause(self, *, paused: bool) -> None:
        for room, _ in await self._synced():
            await room.store.sync.set_state(paused=int(paused))

    # --- syncing ---------------------------------------------------------------------------------

    async def now(self, progress: Progress | None = None, *, asked: bool = True) -> SyncReport:
        """Syncs the open rooms. Raises the errors of `Exchange.run`, and `SyncPaused` unless `asked`.

        An emptied folder is filled again if `asked`; otherwise it raises `SyncFolderMissing`.
        """
        report = SyncReport()
        async with self._running:
            for room, state in await self._synced():
                if room.store.room is not RoomKind.PRIVATE:
                    if state.paused and not asked:
                        raise SyncPaused
                    report.add(await self._sync(room, state, progress, refill=asked))
                    continue
                # The private room closes by itself; what is left is synced when it is open again.
                with suppress(RoomClosed):
                    await self._remove_removed(room, state)
                    report.add(await self._sync(room, state, progress, refill=asked))
        return report

    async def _sync(
        self, room: "RoomServices", state: SyncState, progress: Progress | None, *, refill: bool
    ) -> SyncReport:
        is_open = room.store.room is RoomKind.OPEN
        # A device that has just joined takes over the settings of the others.
        if is_open and state.synced_at is not None:
            await self._offer_settings(room)
        folder = SyncFolder(Path(state.folder))
        exchange = Exchange(room.store.sync, folder, self._clock, progress=progress, refill=refill)
        report = await exchange.run()
        if report.forgotten:
            # Carrying it out on this device emptied titles, which would also empty them on the other devices.
            await room.forgetting.title_again()
            report.add(await Exchange(room.store.sync, folder, self._clock).run())
        if is_open:
            self._take_settings(exchange.settings)
        if report.received_changes:
            await room.remember()
            await room.documents.remember()
        return report

    async def _offer_settings(self, room: "RoomServices") -> None:
        known = await room.store.sync.settings()
        given = self._settings.given - self._settings.given_by_environment
        here = {
            key: json.dumps(self._settings.get(key) if key in given else None) for key in shared_settings()
        }
        changed = {
            key: value
            for key, value in here.items()
            if value != known.get(key, "null") and key not in self._settings.given_by_environment
        }
        if changed:
            await room.store.sync.put_settings(changed)

    def _take_settings(self, found: dict[str, str]) -> None:
        shared = set(shared_settings())
        for key, value in sorted(found.items()):
            # A newer version may have settings and values unknown to this one.
            if key in shared:
                with suppress(SettingsError, UnknownSetting):
                    self._settings.set(key, json.loads(value))

    async def status(self) -> SyncStatus:
        """Returns the open room's sync state. Raises `NotSynced`."""
        return await self._open.store.sync.status()

    async def private_status(self) -> SyncStatus:
        """Returns the private room's sync state. Raises `RoomClosed`, `NotSynced`."""
        return await self._private().store.sync.status()

    # --- devices ---------------------------------------------------------------------------------

    async def remove_device(self, ref: str) -> Device:
        """Removes a device, by its id, a prefix of one, or its name, from the folder; new keys keep it from
        reading later changes. Its earlier changes stay. Raises `SyncDeviceNotFound`, `SyncDeviceIsOwn`,
        `AmbiguousId`.
        """
        async with self._running:
            device = await self.find_device(ref)
            for room, state in await self._synced():
                await self._remove(room, state, device.id)
        return device

    async def find_device(self, ref: str) -> Device:
        status = await self.status()
        wanted = ref.strip().lower()
        if wanted and (status.device.id.startswith(wanted) or status.device.name.lower() == wanted):
            raise SyncDeviceIsOwn
        found = [
            one
            for one in status.devices
            if one.removed_at is None and wanted and (one.id.startswith(wanted) or one.name.lower() == wanted)
        ]
        if len(found) > 1:
            raise AmbiguousId(ref, len(found))
        if not found:
            raise SyncDeviceNotFound(ref)
        return found[0]

    async def _remove_removed(self, room: "RoomServices", state: SyncState) -> None:
        """Removes devices from the private room that were removed while it was closed."""
        removed = {one.id for one in (await self.status()).devices if one.removed_at is not None}
        for device in await room.store.sync.devices():
            if device.id in removed and device.removed_at is None:
                await self._remove(room, state, device.id)
                state = await room.store.sync.state() or state

    async def _remove(self, room: "RoomServices", state: SyncState, device_id: str) -> None:
        store = room.store.sync
        devices = await store.devices()
        removed = next((one for one in devices if one.id == device_id and one.removed_at is None), None)
        if removed is None:
            return
        new = secrets.token_bytes(sync_folder.KEY_BYTES)
        staying = [one for one in devices if one.sealing and one.removed_at is None and one.id != device_id]
        rotation = Rotation(
            state.own.id,
            removed.id,
            removed.position,
            micros(self._clock.now()),
            {one.id: sync_folder.seal(one.sealing, new) for one in staying},
            state.own.signing,
        )
        key, place = state.keys.keys[-1], state.own.place
        data = sync_folder.write(Kind.ROTATION, key, msgspec.msgpack.encode(rotation), state.signing)
        folder = SyncFolder(Path(state.folder))
        await asyncio.to_thread(folder.write, place, rotation_name(key, place), data)
        ring = KeySet(state.keys.naming, [*state.keys.keys, new])
        await store.remove_device(removed.number, removed.position, ring)
        await Exchange(store, folder, self._clock).run()

    # --- rooms -----------------------------------------------------------------------------------

    @property
    def _open(self) -> "RoomServices":
        found = next((room for room in self._rooms() if room.store.room is RoomKind.OPEN), None)
        if found is None:
            raise RoomClosed
        return found

    def _private(self) -> "RoomServices":
        found = next((room for room in self._rooms() if room.store.room is RoomKind.PRIVATE), None)
        if found is None:
            raise RoomClosed
        return found

    async def _open_state(self) -> SyncState | None:
        """Returns the state of the open room; ends sync of a private room that was closed when this device
        left the folder."""
        state = await self._open.store.sync.state()
        with suppress(RoomClosed):
            room = self._private()
            private = await room.store.sync.state()
            if private is not None and (state is None or state.folder != private.folder):
                await room.store.sync.end()
        return state

    def _kept(self) -> "list[RoomServices]":
        return [room for room in self._rooms() if room.store.room is not RoomKind.OFF_RECORD]

    async def _synced(self) -> "list[tuple[RoomServices, SyncState]]":
        """Returns the open rooms that are synced, with their states. Raises `NotSynced`."""
        await self._open_state()
        found = []
        for room in self._kept():
            # The private room may close at any time.
            with suppress(RoomClosed):
                state = await room.store.sync.state()
                if state is not None:
                    found.append((room, state))
        if not found:
            raise NotSynced
        return found

    def _folder(self, path: Path) -> SyncFolder:
        whole = path.expanduser().absolute()
        folder = SyncFolder(whole)
        folder.check()
        real, home = whole.resolve(), self._home.resolve()
        if real == home or real.is_relative_to(home) or home.is_relative_to(real):
            raise SyncFolderInHome
        return folder


def _identity(state: SyncState | None, name: str) -> tuple[str, str]:
    """Returns the id and the name of this device: those of the open room, if it is synced already."""
    return (sync_folder.new_device_id(), name) if state is None else (state.own.id, name or state.own.name)


def _invitation_name(key: bytes) -> str:
    return sync_folder.name_of(key, "invitation")


class SyncFolderWatch:
    """Calls `changed`, in a thread of its own, after something below the folder has changed."""

    def __init__(self, folder: Path, changed: Callable[[], None]) -> None:
        # Imported late: it is slow, and few rooms are synced.
        from watchdog import events
        from watchdog.observers import Observer

        class Handler(events.FileSystemEventHandler):
            def on_any_event(self, event: events.FileSystemEvent) -> None:
                if event.event_type not in ("opened", "closed_no_write"):
                    changed()

        self._observer = Observer()
        self._observer.schedule(Handler(), str(folder), recursive=True)

    def start(self) -> None:
        """Raises OSError if the system cannot watch the folder."""
        self._observer.start()

    def stop(self) -> None:
        self._observer.stop()
        self._observer.join()
