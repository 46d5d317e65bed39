"""The sync store of one room: the changes of this device, and those of other devices."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from memory.clock import Clock, micros
from memory.errors import AlreadySynced, NotSynced
from memory.storage import changes as sync_capture
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import sync_apply, sync_log
from memory.sync.entities import (
    Change,
    Device,
    HybridClock,
    KeySet,
    Mark,
    Outgoing,
    OwnFile,
    SyncState,
    SyncStatus,
)


class SyncStore:
    """Sync of one room. Raises the errors of `Store`. A call that has returned is durable."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._ticking: HybridClock | None = None

    async def state(self) -> SyncState | None:
        """Returns the state of this device; None if the room is not synced."""
        return await self._database.read(sync_log.state)

    async def begin(
        self,
        folder: str,
        name: str,
        place: str,
        keys: KeySet,
        signing: tuple[bytes, bytes],
        sealing: tuple[bytes, bytes],
        *,
        device_id: str,
    ) -> int:
        """Makes the room a device of a folder and marks everything in it to be sent; returns how many rows
        that is.

        `signing` and `sealing` are pairs of private and public keys. Raises `AlreadySynced`.
        """

        def work(conn: Connection) -> int:
            if sync_log.state(conn) is not None:
                raise AlreadySynced
            sync_log.begin(conn, folder, device_id, name, place, keys, signing, sealing)
            sync_capture.define(conn, HybridClock(self._clock), keys.naming)
            return sync_log.stamp_everything(conn, self._clock.now())

        found = await self._database.write(work)
        await self.listen()
        return found

    async def listen(self) -> None:
        """Records changes from now on, if the room is synced."""
        await self._database.prepare(self._install)

    def _install(self, conn: Connection) -> None:
        self._ticking = sync_capture.install(conn, self._clock)

    async def end(self) -> None:
        """Ends the sync of the room; nothing else in it changes."""

        def work(conn: Connection) -> None:
            sync_log.end(conn)

        await self._database.erase(work)
        await self._database.forget_prepared(self._install)
        await self._database.connected(sync_capture.uninstall)

    async def renew(
        self, device_id: str, place: str, signing: tuple[bytes, bytes], sealing: tuple[bytes, bytes]
    ) -> None:
        """Makes the room a new device, because the old one has continued elsewhere."""
        await self._database.write(lambda conn: sync_log.renew(conn, device_id, place, signing, sealing))

    async def set_state(self, **changes: object) -> None:
        await self._database.write(lambda conn: sync_log.set_state(conn, **changes))

    async def set_keys(self, keys: KeySet) -> None:
        """Replaces the keys; this device's files are written again with the newest."""
        await self._database.write(lambda conn: sync_log.set_keys(conn, keys))

    # --- devices ---------------------------------------------------------------------------------

    async def devices(self) -> list[Device]:
        """Returns all devices that this one knows, itself included."""
        return await self._database.read(sync_log.devices)

    async def know(self, device_id: str, name: str = "") -> Device:
        """Returns a device, adding it first if it is unknown."""

        def work(conn: Connection) -> Device:
            return sync_log.device(conn, sync_log.new_device(conn, device_id, name))

        return await self._database.write(work)

    async def set_device(self, number: int, **changes: object) -> None:
        await self._database.write(lambda conn: sync_log.set_device(conn, number, **changes))

    async def remove_device(self, number: int, until: int, keys: KeySet) -> None:
        """Stops reading a device, and takes over its changes; new keys keep it from reading later ones, and a
        code that was made before, which it may know, becomes invalid."""

        def work(conn: Connection) -> None:
            sync_log.remove_device(conn, number, until, self._clock.now())
            sync_log.set_keys(conn, keys)
            sync_log.set_state(conn, invitation="", invited_until=0)

        await self._database.write(work)

    # --- sending ---------------------------------------------------------------------------------

    async def outgoing(self, limit: int) -> Outgoing:
        """Returns changes that no file carries yet, oldest first, of about `limit` bytes."""
        return await self._database.read(lambda conn: sync_log.outgoing(conn, limit))

    async def skip(self, marks: Sequence[Mark]) -> None:
        """Records that nothing is to be sent for these stamps: their rows are gone."""
        await self._database.write(lambda conn: sync_log.sent(conn, marks, 0))

    async def begin_file(self, digest: bytes) -> None:
        """Records which file is about to be written, so that its owner is known even after a crash."""
        await self.set_state(writing=digest)

    async def end_file(
        self,
        file: OwnFile,
        marks: Sequence[Mark],
        blobs: Collection[tuple[str, str, str, bytes, str]],
    ) -> None:
        """Records that a file was written, its stamps, and the long values that belong to it."""

        def work(conn: Connection) -> None:
            sync_log.sent(conn, marks, file.number)
            sync_log.keep_blobs(conn, blobs)
            sync_log.add_file(conn, file)

        await self._database.write(work)

    async def files(self) -> list[OwnFile]:
        return await self._database.read(sync_log.files)

    async def mark_stale(self, numbers: Iterable[int]) -> None:
        """Marks these files of this device, so that they are written again."""
        found = list(numbers)
        await self._database.write(lambda conn: sync_log.mark_stale(conn, found))

    async def take_up_stale(self) -> list[int]:
        """Marks the current changes in stale files as unsent; returns the numbers of these files."""
        return await self._database.write(sync_log.take_up_stale)

    async def drop_files(self, numbers: Iterable[int]) -> None:
        found = list(numbers)
        await self._database.write(lambda conn: sync_log.drop_files(conn, found))

    async def blob_names(self) -> set[str]:
        """Returns the names of this device's files of long values that are still in use."""
        return await self._database.write(sync_log.blob_names)

    async def files_with_blobs(self, names: Collection[str]) -> list[int]:
        """Returns the numbers of this device's files whose long values are in these files."""
        found = list(names)
        return await self._database.read(lambda conn: sync_log.files_with_blobs(conn, found))

    # --- receiving -------------------------------------------------------------------------------

    async def apply(
        self, changes: Sequence[Change], devices: Sequence[int], **read: Any
    ) -> sync_apply.Applied:
        """Applies changes of other devices in one transaction. `read` are the columns to update of the device
        that wrote the file, with its `number`.
        """

        def work(conn: Connection) -> sync_apply.Applied:
            done = sync_apply.apply(conn, changes, devices)
            if read:
                number = read["number"]
                sync_log.set_device(
                    conn, number, **{key: one for key, one in read.items() if key != "number"}
                )
            return done

        # Forgotten content must not stay in the log of the database.
        forgets = any(change.forgotten is not None or change.gone is not None for change in changes)
        done = await (self._database.erase if forgets else self._database.write)(work)
        if self._ticking is not None:
            self._ticking.seen(done.latest)
        return done

    async def retry(self) -> sync_apply.Applied:
        """Applies the changes that waited for rows that have arrived, or for a newer program."""
        if not await self._database.read(sync_log.waiting):
            return sync_apply.Applied()
        return await self._database.write(sync_apply.retry)

    # --- settings --------------------------------------------------------------------------------

    async def settings(self) -> dict[str, str]:
        """Returns the settings that are the same on all devices, as JSON values by name."""
        return await self._database.read(sync_log.settings)

    async def put_settings(self, values: dict[str, str]) -> None:
        """Records settings that were changed on this device."""
        await self._database.write(lambda conn: sync_log.put_settings(conn, values))

    # --- looking ---------------------------------------------------------------------------------

    async def status(self) -> SyncStatus:
        """Raises `NotSynced`."""

        def work(conn: Connection) -> SyncStatus:
            state = sync_log.state(conn)
            if state is None:
                raise NotSynced
            others = [one for one in sync_log.devices(conn) if one.number != state.own.number and one.signing]
            return SyncStatus(
                folder=state.folder,
                device=state.own,
                devices=tuple(others),
                pending_out=sync_log.pending(conn),
                waiting=sync_log.waiting(conn),
                last_sync=state.synced_at,
                paused=state.paused,
                invited_until=state.invited_until,
                not_forgotten={
                    one.id: sync_log.unheard_forgettings(conn, one.number)
                    for one in others
                    if one.removed_at is None
                },
            )

        return await self._database.read(work)

    async def synced(self) -> None:
        """Records that a sync has ended now."""
        await self.set_state(synced_at=micros(self._clock.now()))
