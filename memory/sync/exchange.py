"""One sync of a room with its folder: reads the changes of other devices, and writes those of this one.

A device only writes files below its own place. `Exchange.run` may be killed at any moment: it applies what it
reads and stores its position in one transaction, and records each file before and after writing it.
"""

import asyncio
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import msgspec

from memory.clock import Clock, micros
from memory.errors import NotSynced, SyncDeviceRemoved, SyncFolderMissing
from memory.storage.sync import SyncStore
from memory.sync import folder as sync_folder
from memory.sync.entities import (
    LONG_VALUE,
    Change,
    Device,
    FileProblem,
    Head,
    KeySet,
    Mark,
    OwnFile,
    Peer,
    Problem,
    Rotation,
    Segment,
    SyncReport,
    SyncState,
)
from memory.sync.folder import Fault, Kind, Listing, Opened, SyncFolder

FILE_BYTES = 1024 * 1024
"""Of values in a file of changes, about."""
SLICE = 500
"""Changes that are applied in one transaction. Other work of the room runs between two transactions."""
_TIER = 16
"""The number of files of about one size at which they are written again as one."""
_WHY = {
    Fault.FOREIGN: FileProblem.FOREIGN,
    Fault.INCOMPLETE: FileProblem.INCOMPLETE,
    Fault.NEWER: FileProblem.NEWER,
    Fault.KEY_UNKNOWN: FileProblem.KEY_UNKNOWN,
    Fault.DAMAGED: FileProblem.DAMAGED,
}

Progress = Callable[[int, int], None]
"""Called with the number of files that have been read, and the number of files to read."""


def head_name(key: bytes, place: str) -> str:
    return sync_folder.name_of(key, "head", place)


def segment_name(key: bytes, place: str, number: int) -> str:
    return sync_folder.name_of(key, "segment", place, number)


def rotation_name(key: bytes, place: str) -> str:
    return sync_folder.name_of(key, "rotation", place)


def blob_name(key: bytes, digest: bytes) -> str:
    return sync_folder.name_of(key, "blob", digest.hex())


@dataclass(frozen=True, slots=True)
class _Place:
    """The place of another device, and the contents of its head if that could be read."""

    name: str
    files: Mapping[str, int]
    head: Head | None
    device: Device
    raw: bytes


class Exchange:
    """One sync of one room. `settings` are those that other devices have changed.

    A folder that had files and is now empty may belong to a drive that is not mounted: it is filled again
    only with `refill`.
    """

    def __init__(
        self,
        store: SyncStore,
        folder: SyncFolder,
        clock: Clock,
        *,
        progress: Progress | None = None,
        refill: bool = True,
    ) -> None:
        self._refill = refill
        self._store = store
        self._folder = folder
        self._clock = clock
        self._progress = progress or (lambda _done, _all: None)
        self._report = SyncReport()
        self._settings: dict[str, str] = {}
        self._places: Mapping[str, Mapping[str, int]] = {}
        self._done = 0
        self._all = 0

    @property
    def settings(self) -> dict[str, str]:
        """Settings that other devices have changed, as JSON values by name."""
        return self._settings

    async def run(self) -> SyncReport:
        """Raises `NotSynced`, `SyncFolderMissing`, `SyncFolderUnusable`, `SyncDeviceRemoved`."""
        await self._store.listen()
        state = await self._state()
        listing = await asyncio.to_thread(self._folder.look)
        if not (self._refill or listing.places or state.revision == 0):
            raise SyncFolderMissing(self._folder.path)
        self._places = listing.places
        self._tell_foreign(listing)
        # A room from a backup may lack the keys with which its device has gone on.
        try:
            state = await self._rotate(state, listing.places)
        except SyncDeviceRemoved:
            # Known from now on, so that the status tells it too. Only leaving the folder ends it.
            await self._store.set_device(state.own.number, removed_at=micros(self._clock.now()))
            raise
        state = await self._recover(state, listing)
        self._settings |= (await self._store.retry()).settings
        # First, because the consequences of other devices' changes must not hide changes made here.
        await self._send()
        await self._receive(await self._state(), listing)
        await self._send()
        await self._tidy()
        return self._report

    async def _state(self) -> SyncState:
        state = await self._store.state()
        if state is None:
            raise NotSynced
        return state

    def _problem(self, place: str, name: str, why: FileProblem) -> None:
        problem = Problem(f"{place}/{name}" if place else name, why)
        if problem not in self._report.problems:
            self._report.problems.append(problem)

    def _tell_foreign(self, listing: Listing) -> None:
        for name in listing.foreign:
            self._problem("", name, FileProblem.FOREIGN)

    # --- this device's own files -------------------------------------------------------------------

    async def _recover(self, state: SyncState, listing: Listing) -> SyncState:
        """Finishes what a crash interrupted; becomes a new device if a copy of this one has continued
        elsewhere."""
        place = state.own.place
        await asyncio.to_thread(self._folder.remove_drafts, place)
        key = state.keys.keys[-1]
        mine = listing.places.get(place, {})
        following = segment_name(key, place, state.last + 1)
        data = await asyncio.to_thread(self._folder.read, place, following) if following in mine else None
        if data is not None and state.writing == sync_folder.digest(data):
            opened = sync_folder.read(data, state.keys.keys)
            if isinstance(opened, Opened):
                await self._note_written(state, following, data, opened)
                return await self._state()
        raw = await asyncio.to_thread(self._folder.read, place, head_name(key, place))
        head = self._read_head(raw, state.keys.keys, place) if raw is not None else Fault.INCOMPLETE
        gone_on = isinstance(head, Head) and head.device == state.own.id and head.revision > state.revision
        if gone_on or (data is not None and self._is_own_segment(data, state)):
            new = await asyncio.to_thread(self._folder.make_place)
            await self._store.renew(
                sync_folder.new_device_id(), new, sync_folder.signing_pair(), sync_folder.sealing_pair()
            )
            self._report.new_identity = True
            return await self._state()
        if state.writing is not None:
            # The file that a crash interrupted is not there, or damaged, but another device may have read it
            # already: its number is not used for other contents.
            await self._store.set_state(last=state.last + 1, digest=b"", writing=None)
            state = await self._state()
        await self._look_at_own(state, mine)
        return state

    def _is_own_segment(self, data: bytes, state: SyncState) -> bool:
        opened = sync_folder.read(data, state.keys.keys)
        return (
            isinstance(opened, Opened) and opened.kind == Kind.SEGMENT and opened.signed_by(state.own.signing)
        )

    async def _note_written(self, state: SyncState, name: str, data: bytes, opened: Opened) -> None:
        """Notes a file that was written just before a crash."""
        segment = msgspec.msgpack.decode(opened.content, type=Segment)
        marks = [mark for change in segment.changes for mark in _marks_of(change)]
        blobs = [
            (change.table, change.key, column, value[1], blob_name(state.keys.keys[-1], value[1]))
            for change in segment.changes
            for column, value in _long_values(change)
        ]
        file = _own_file(state.last + 1, name, data, segment, opened.content)
        await self._store.end_file(file, marks, blobs)

    async def _look_at_own(self, state: SyncState, mine: Mapping[str, int]) -> None:
        """Has files of this device that are missing, or that another device found damaged, written again."""
        files = await self._store.files()
        missing = [one.number for one in files if mine.get(one.name) != one.size]
        wanted = {one.wanted for one in await self._store.devices() if one.wanted}
        for one in files:
            if one.number in wanted and one.number not in missing:
                data = await asyncio.to_thread(self._folder.read, state.own.place, one.name)
                whole = data is not None and sync_folder.digest(data) == one.digest
                if not whole or not await asyncio.to_thread(self._has_long_values, state, one, mine):
                    missing.append(one.number)
        lost = await self._store.blob_names() - mine.keys()
        if lost:
            missing += await self._store.files_with_blobs(lost)
        if missing:
            await self._store.mark_stale(missing)

    def _has_long_values(self, state: SyncState, file: OwnFile, mine: Mapping[str, int]) -> bool:
        """Whether the long values that a file of this device names are there. Those that are not what their
        names say are removed, so that they are written again."""
        whole = True
        for name, digest in self._named_in(state, file).items():
            if name in mine and _content(self._folder, state, state.own.place, name, digest) is not None:
                continue
            if name in mine:
                self._folder.remove(state.own.place, name)
            whole = False
        return whole

    def _naming(self, state: SyncState, files: Sequence[OwnFile], names: Collection[str]) -> list[int]:
        """Returns the numbers of the files that name long values among files that no longer count: a device
        that has not read them yet would wait for these values for ever."""
        values = {name for name in names if self._is_long_value(state, name)}
        if not values:
            return []
        return [one.number for one in files if not values.isdisjoint(self._named_in(state, one).keys())]

    def _is_long_value(self, state: SyncState, name: str) -> bool:
        data = self._folder.read(state.own.place, name)
        opened = sync_folder.read(data, state.keys.keys) if data is not None else Fault.INCOMPLETE
        return isinstance(opened, Opened) and opened.kind == Kind.BLOB

    def _named_in(self, state: SyncState, file: OwnFile) -> dict[str, bytes]:
        """Returns the files of long values that a file of this device names, with their digests."""
        data = self._folder.read(state.own.place, file.name)
        opened = sync_folder.read(data, state.keys.keys) if data is not None else Fault.INCOMPLETE
        # A program that copies may have put another file of this device in its place.
        if not isinstance(opened, Opened) or opened.kind != Kind.SEGMENT:
            return {}
        segment = msgspec.msgpack.decode(opened.content, type=Segment)
        return {
            blob_name(state.keys.keys[-1], bytes(value[1])): bytes(value[1])
            for change in segment.changes
            for _, value in _long_values(change)
        }

    # --- receiving ---------------------------------------------------------------------------------

    def _read_head(self, raw: bytes, known: list[bytes], place: str) -> Head | Fault:
        opened = sync_folder.read(raw, known)
        if not isinstance(opened, Opened):
            return opened
        try:
            head = msgspec.msgpack.decode(opened.content, type=Head)
        except msgspec.MsgspecError:
            return Fault.DAMAGED
        # A head that was copied to another device's place must not be taken for that device's.
        if opened.kind != Kind.HEAD or head.place != place or not opened.signed_by(head.signing):
            return Fault.DAMAGED
        return head

    async def _receive(self, state: SyncState, listing: Listing) -> None:
        others = {name: files for name, files in listing.places.items() if name != state.own.place}
        places = await self._places_in(state, others)
        self._all = sum(max((one.head.last if one.head else 0) - one.device.position, 0) for one in places)
        for place in places:
            await self._read_place(state, place)

    async def _rotate(self, state: SyncState, others: Mapping[str, Mapping[str, int]]) -> SyncState:
        """Takes over new keys that other devices have made to keep a removed one out."""
        known = {one.place: one for one in await self._store.devices()}
        for place, files in others.items():
            for key in state.keys.keys:
                name = rotation_name(key, place)
                device = known.get(place)
                if name not in files or (device is not None and device.removed_at is not None):
                    continue
                raw = await asyncio.to_thread(self._folder.read, place, name)
                opened = sync_folder.read(raw, state.keys.keys) if raw is not None else Fault.INCOMPLETE
                if isinstance(opened, Opened) and device is None:
                    # This device has just joined, with keys that were changed before it could be met.
                    self._require_keys(state, key, msgspec.msgpack.decode(opened.content, type=Rotation))
                    continue
                if not isinstance(opened, Opened) or device is None or not opened.signed_by(device.signing):
                    self._problem(
                        place, name, FileProblem.NOT_SIGNED if isinstance(opened, Opened) else _WHY[opened]
                    )
                    continue
                rotation = msgspec.msgpack.decode(opened.content, type=Rotation)
                self._require_keys(state, key, rotation)
                state = await self._take_rotation(state, rotation)
        return state

    def _require_keys(self, state: SyncState, key: bytes, rotation: Rotation) -> None:
        """Raises `SyncDeviceRemoved` if the newest key of this device was replaced, and not for it."""
        if key == state.keys.keys[-1] and state.own.id not in rotation.sealed:
            raise SyncDeviceRemoved

    async def _take_rotation(self, state: SyncState, rotation: Rotation) -> SyncState:
        if rotation.removed == state.own.id:
            raise SyncDeviceRemoved
        sealed = rotation.sealed.get(state.own.id)
        new = sync_folder.unseal(state.sealing, sealed) if sealed is not None else None
        if new is None or new in state.keys.keys:
            return state
        removed = await self._store.know(rotation.removed)
        await self._store.remove_device(
            removed.number,
            max(rotation.position, removed.position),
            KeySet(state.keys.naming, [*state.keys.keys, new]),
        )
        return await self._state()

    async def _places_in(self, state: SyncState, others: Mapping[str, Mapping[str, int]]) -> list[_Place]:
        """Returns the places of other devices. One that is not known and has only keys that were replaced
        counts if a device that counts names it: it has been away since. A removed device knows these keys,
        too, and could come back as another one with them."""
        replaced = {
            key
            for place, files in self._places.items()
            for key in state.keys.keys
            if rotation_name(key, place) in files
        }
        found: dict[str, _Place] = {}
        named: dict[str, bytes] = {}
        before = -1
        while before < len(found):
            before = len(found)
            for name, files in others.items():
                if name not in found:
                    place = await self._place(state, name, files, replaced, named)
                    found.update({} if place is None else {name: place})
            peers = [
                peer for one in found.values() if one.head is not None for peer in one.head.peers.items()
            ]
            removed = {device for device, peer in peers if peer.removed}
            named = {device: peer.signing for device, peer in peers if device not in removed}
        return list(found.values())

    async def _place(
        self,
        state: SyncState,
        name: str,
        files: Mapping[str, int],
        replaced: Collection[bytes],
        named: Mapping[str, bytes],
    ) -> _Place | None:
        """Returns another device's place, or None if nothing there can be read, or if the device is unknown,
        has only keys that were `replaced`, and is not `named`, by id with its signing key."""
        known = {one.place: one for one in await self._store.devices() if one.place}
        raw, file = None, ""
        head: Head | Fault = Fault.INCOMPLETE
        key = b""
        for key in reversed(state.keys.keys):
            file = head_name(key, name)
            if file in files:
                raw = await asyncio.to_thread(self._folder.read, name, file)
                head = self._read_head(raw, state.keys.keys, name) if raw is not None else Fault.INCOMPLETE
                if not isinstance(head, Head):
                    self._problem(name, file, _WHY[head])
                break
        device = known.get(name)
        if not isinstance(head, Head):
            if device is None or device.removed_at is not None:
                return None
            return _Place(name, files, None, device, b"")
        if device is None and key in replaced and named.get(head.device) != head.signing:
            return None
        if device is None:
            device = await self._meet(head, name)
        if device.removed_at is not None:
            return None
        if head.device != device.id or head.signing != device.signing:
            self._problem(name, file, FileProblem.NOT_SIGNED)
            return _Place(name, files, None, device, b"")
        if head.revision < device.revision:
            self._problem(name, file, FileProblem.ROLLED_BACK)
            return _Place(name, files, None, device, b"")
        return _Place(name, files, head, device, raw or b"")

    async def _meet(self, head: Head, place: str) -> Device:
        """Notes a device that has joined."""
        device = await self._store.know(head.device, head.name)
        if device.signing and device.signing != head.signing:
            return device
        if not device.signing:
            await self._store.set_device(
                device.number, name=head.name, place=place, signing=head.signing, sealing=head.sealing
            )
            self._report.joined.append(head.name)
        found = {one.number: one for one in await self._store.devices()}
        return found[device.number]

    async def _read_place(self, state: SyncState, place: _Place) -> None:
        """Reads the files of a device that have not been read, in order, up to the first missing one."""
        device, head = place.device, place.head
        position, digest, wanted = device.position, device.digest, 0
        dropped = _numbers(head.dropped) if head is not None else frozenset()
        last = head.last if head is not None else None
        while last is None or position < last:
            number = position + 1
            if number in dropped:
                position, digest = number, b""
                continue
            name = next(
                (
                    one
                    for key in reversed(state.keys.keys)
                    if (one := segment_name(key, place.name, number)) in place.files
                ),
                None,
            )
            if name is None:
                if last is not None:
                    wanted = number
                    self._problem(
                        place.name, segment_name(state.keys.keys[-1], place.name, number), FileProblem.MISSING
                    )
                break
            raw = await asyncio.to_thread(self._folder.read, place.name, name)
            segment = await asyncio.to_thread(self._open_segment, state, place, number, digest, raw)
            if isinstance(segment, FileProblem):
                self._problem(place.name, name, segment)
                wanted = 0 if segment in (FileProblem.NEWER, FileProblem.KEY_UNKNOWN) else number
                break
            if not await self._fill_in(state, segment):
                self._problem(place.name, name, FileProblem.INCOMPLETE)
                wanted = number
                break
            position, digest = number, sync_folder.digest(raw or b"")
            await self._apply(device, segment, position, digest)
            self._report.received_changes += len(segment.changes)
            self._report.received_bytes += len(raw or b"")
            self._done += 1
            self._progress(self._done, self._all)
        await self._keep_place(state, place, position, digest, wanted)

    async def _keep_place(
        self, state: SyncState, place: _Place, position: int, digest: bytes, wanted: int
    ) -> None:
        device, head = place.device, place.head
        changes: dict[str, Any] = {}
        if position != device.position:
            changes |= {"position": position, "digest": digest}
        if head is not None and head.revision > device.revision:
            me = head.peers.get(state.own.id)
            changes |= {
                "revision": head.revision,
                "name": head.name,
                "sealing": head.sealing,
                "seen_at": head.at,
                "heard": me.position if me is not None else 0,
                "wanted": me.wanted if me is not None else 0,
            }
        if wanted != device.missing:
            changes["missing"] = wanted
        if changes:
            await self._store.set_device(device.number, **changes)

    def _open_segment(
        self, state: SyncState, place: _Place, number: int, previous: bytes, raw: bytes | None
    ) -> Segment | FileProblem:
        if raw is None:
            return FileProblem.INCOMPLETE
        opened = sync_folder.read(raw, state.keys.keys)
        if not isinstance(opened, Opened):
            return _WHY[opened]
        if opened.kind != Kind.SEGMENT or not opened.signed_by(place.device.signing):
            return FileProblem.NOT_SIGNED
        try:
            segment = msgspec.msgpack.decode(opened.content, type=Segment)
        except msgspec.MsgspecError:
            return FileProblem.DAMAGED
        if segment.device != place.device.id or segment.number != number:
            return FileProblem.NOT_SIGNED
        # After a file that was removed there is nothing to compare with; each file is signed by itself.
        if previous and segment.previous and segment.previous != previous:
            return FileProblem.ROLLED_BACK
        return segment

    async def _fill_in(self, state: SyncState, segment: Segment) -> bool:
        """Puts long values in their places. Returns False if one is not there, or not whole."""
        for change in segment.changes:
            for column, value in _long_values(change):
                found = await asyncio.to_thread(self._find_blob, state, bytes(value[1]))
                if found is None:
                    return False
                whole: str | bytes = found.decode("utf-8", "surrogatepass") if value[2] else found
                if column in change.base and change.base[column] is value:
                    change.base[column] = whole
                if column in change.fields and change.fields[column][2] is value:
                    at, by, _ = change.fields[column]
                    change.fields[column] = (at, by, whole)
        return True

    def _find_blob(self, state: SyncState, digest: bytes) -> bytes | None:
        for place, files in self._places.items():
            for key in state.keys.keys:
                name = blob_name(key, digest)
                found = _content(self._folder, state, place, name, digest) if name in files else None
                if found is not None:
                    return found
        return None

    async def _apply(self, device: Device, segment: Segment, position: int, digest: bytes) -> None:
        numbers = [(await self._store.know(one)).number for one in segment.devices]
        parts = [segment.changes[at : at + SLICE] for at in range(0, len(segment.changes), SLICE)] or [[]]
        for part in parts[:-1]:
            self._count(await self._store.apply(part, numbers))
        self._count(
            await self._store.apply(
                parts[-1], numbers, number=device.number, position=position, digest=digest
            )
        )

    def _count(self, done: Any) -> None:
        self._report.forgotten += done.forgotten
        self._settings |= done.settings

    # --- sending -----------------------------------------------------------------------------------

    async def _send(self) -> None:
        """Writes what no file carries yet; then removes files whose contents were written again."""
        state = await self._state()
        stale = await self._store.take_up_stale()
        while True:
            out = await self._store.outgoing(FILE_BYTES)
            if out.changes:
                state = await self._write_segment(state, out.changes, out.marks, out.devices)
            elif out.marks:
                await self._store.skip(out.marks)
            if not out.more:
                break
        if stale:
            await self._store.drop_files(stale)

    async def _write_segment(
        self, state: SyncState, changes: list[Change], marks: Sequence[Mark], devices: list[str]
    ) -> SyncState:
        key, place = state.keys.keys[-1], state.own.place
        number = state.last + 1
        blobs = []
        for change in changes:
            for column, value in [*change.base.items(), *((n, v[2]) for n, v in change.fields.items())]:
                data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
                if not isinstance(data, bytes) or len(data) < LONG_VALUE:
                    continue
                digest = sync_folder.address_of(state.keys.naming, data)
                await asyncio.to_thread(self._write_blob, state, digest, data)
                blobs.append((change.table, change.key, column, digest, blob_name(key, digest)))
                stands = ["blob", digest, isinstance(value, str)]
                if column in change.base:
                    change.base[column] = stands
                if column in change.fields:
                    at, by, _ = change.fields[column]
                    change.fields[column] = (at, by, stands)
        segment = Segment(state.own.id, number, state.digest, devices, changes)
        name = segment_name(key, place, number)
        content = msgspec.msgpack.encode(segment)
        data = await asyncio.to_thread(sync_folder.write, Kind.SEGMENT, key, content, state.signing)
        await self._store.begin_file(sync_folder.digest(data))
        await asyncio.to_thread(self._folder.write, place, name, data)
        file = _own_file(number, name, data, segment, content)
        await self._store.end_file(file, marks, blobs)
        self._report.sent_changes += len(changes)
        self._report.sent_bytes += len(data)
        return await self._state()

    def _write_blob(self, state: SyncState, digest: bytes, data: bytes) -> None:
        key, place = state.keys.keys[-1], state.own.place
        name = blob_name(key, digest)
        if self._folder.has(place, name):
            return
        file = sync_folder.write(Kind.BLOB, key, data, state.signing)
        self._folder.write(place, name, file)
        self._report.sent_bytes += len(file)

    # --- head and tidying --------------------------------------------------------------------------

    async def _tidy(self) -> None:
        """Writes the head if it has changed, removes this device's files that no longer count, and has many
        small files written again as one."""
        state = await self._state()
        listing = await asyncio.to_thread(self._folder.look)
        mine = listing.places.get(state.own.place, {})
        files = await self._store.files()
        many = _of_one_size(files)
        old = mine.keys() - await self._needed(state)
        naming = await asyncio.to_thread(self._naming, state, files, old)
        if many or naming:
            await self._store.mark_stale([*many, *naming])
            await self._send()
            state = await self._state()
        await self._write_head(state)
        for name in sorted(mine.keys() - await self._needed(await self._state())):
            await asyncio.to_thread(self._folder.remove, state.own.place, name)
        await self._store.synced()

    async def _write_head(self, state: SyncState) -> None:
        key, place = state.keys.keys[-1], state.own.place
        there = {one.number for one in await self._store.files()}
        peers = {
            one.id: Peer(one.position, one.missing, removed=one.removed_at is not None, signing=one.signing)
            for one in await self._store.devices()
            if one.number != state.own.number and one.signing
        }
        head = Head(
            device=state.own.id,
            place=place,
            name=state.own.name,
            revision=0,
            last=state.last,
            dropped=_ranges(number for number in range(1, state.last + 1) if number not in there),
            digest=state.digest,
            signing=state.own.signing,
            sealing=state.own.sealing,
            peers=peers,
            at=0,
        )
        said = sync_folder.digest(msgspec.msgpack.encode(head) + key)
        name = head_name(key, place)
        raw = await asyncio.to_thread(self._folder.read, place, name)
        if raw is not None and state.head == said + sync_folder.digest(raw):
            return
        head.revision = state.revision + 1
        head.at = micros(self._clock.now())
        data = sync_folder.write(Kind.HEAD, key, msgspec.msgpack.encode(head), state.signing)
        # The room knows of it first: a head in the folder that the room does not know is another device's.
        await self._store.set_state(revision=head.revision, head=said + sync_folder.digest(data))
        await asyncio.to_thread(self._folder.write, place, name, data)
        self._report.sent_bytes += len(data)

    async def _needed(self, state: SyncState) -> set[str]:
        """Returns the names of the files of this device that still count."""
        place = state.own.place
        files = {one.name for one in await self._store.files()}
        needed = files | await self._store.blob_names() | {head_name(state.keys.keys[-1], place)}
        needed |= {rotation_name(key, place) for key in state.keys.keys}
        if state.invitation and state.invited_until is not None and state.invited_until > self._clock.now():
            needed.add(state.invitation)
        return needed


def _content(folder: SyncFolder, state: SyncState, place: str, name: str, digest: bytes) -> bytes | None:
    """Returns the long value in a file; None if the file is not there, or not the one with this digest."""
    raw = folder.read(place, name)
    opened = sync_folder.read(raw, state.keys.keys) if raw is not None else Fault.INCOMPLETE
    if not isinstance(opened, Opened):
        return None
    whole = sync_folder.address_of(state.keys.naming, opened.content) == digest
    return opened.content if whole else None


def _marks_of(change: Change) -> list[Mark]:
    times = {"": change.born, "-": change.gone, "!": change.forgotten}
    found = [
        Mark(change.table, change.key, name, time[0]) for name, time in times.items() if time is not None
    ]
    return found + [Mark(change.table, change.key, name, at) for name, (at, _, _) in change.fields.items()]


def _long_values(change: Change) -> list[tuple[str, Any]]:
    """Returns the columns whose values are in files of their own."""
    found = [(name, value) for name, value in change.base.items() if isinstance(value, list)]
    return found + [(name, value) for name, (_, _, value) in change.fields.items() if isinstance(value, list)]


def _own_file(number: int, name: str, data: bytes, segment: Segment, content: bytes) -> OwnFile:
    digest = sync_folder.digest(data)
    return OwnFile(number, name, len(data), digest, len(segment.changes), len(content), stale=False)


def _of_one_size(files: Sequence[OwnFile]) -> list[int]:
    """Returns the numbers of files of about one size if there are many of them, to be written again as one:
    the work for each change then grows with the logarithm of the amount of data."""
    tiers = groupby(sorted(files, key=_tier), key=_tier)
    many = [[one.number for one in group] for _, group in tiers]
    return [number for group in many if len(group) >= _TIER for number in group]


def _tier(file: OwnFile) -> int:
    """Returns what files of about one size have in common; a full file has it for itself."""
    return file.weight.bit_length() // 2 if file.weight < FILE_BYTES // 2 else -file.number


def _numbers(ranges: Sequence[tuple[int, int]]) -> frozenset[int]:
    return frozenset(number for first, last in ranges for number in range(first, last + 1))


def _ranges(numbers: Any) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def this_computer() -> str:
    """Returns what this device is called if the user gives it no name."""
    return socket.gethostname().split(".", 1)[0] or "computer"
