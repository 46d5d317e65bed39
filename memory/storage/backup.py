"""Backups of rooms: made while the program runs, verified before they have their name, and unpacked."""

import shutil
import tempfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from memory.entities import RoomKind
from memory.errors import (
    BackupDamaged,
    FutureSchema,
    KeyslotsDamaged,
    KeyslotsMissing,
    RoomDamaged,
    RoomMissing,
)
from memory.ports import Clock
from memory.storage import archive, connection
from memory.storage.archive import FORMAT, KEPT_ROOMS, Manifest
from memory.storage.copying import copy_closed_room, copy_room, log_of
from memory.storage.faults import translated
from memory.storage.migrations import LATEST
from memory.storage.queries import check
from memory.vault.files import translated_os
from memory.vault.keys import RoomKey
from memory.vault.keyslots import KeyslotFile
from memory.vault.status import private_missing
from memory.vault.upkeep import BackupFacts, BackupMade, RoomContents, Unpacked

_TABLES = ("sessions", "messages", "memories")


def back_up(
    rooms: Path,
    keys: Mapping[RoomKind, RoomKey],
    target: Path,
    *,
    program: str,
    sequence: int = 1,
    clock: Clock,
) -> BackupMade:
    """As `memory.vault.upkeep.RoomFiles.back_up`.

    The copies are checked by one thread while another writes them into the backup.
    """
    if not (rooms / f"{RoomKind.OPEN}.db").exists():
        raise RoomMissing(rooms / f"{RoomKind.OPEN}.db")
    missing = (RoomKind.PRIVATE,) if private_missing(rooms) else ()
    kinds = [room for room in KEPT_ROOMS if (rooms / f"{room}.db").exists() and room not in missing]
    made_at = clock.now()
    with (
        tempfile.TemporaryDirectory(prefix="backup-") as work,
        ThreadPoolExecutor(max_workers=1, thread_name_prefix="check") as checker,
        archive.new_archive(target) as out,
    ):
        parts = []
        checks = []
        for room in kinds:
            copied = Path(work) / f"{room}.db"
            slots = _keyslots(rooms, room, keys.get(room), Path(work))
            if room in keys:
                copy_room(rooms / copied.name, keys[room], copied)
                checks.append(checker.submit(check_copy, copied, keys[room]))
            else:
                copy_closed_room(rooms / copied.name, copied)
            files = [slots, copied, log_of(copied)]
            parts += [archive.add_part(out, file.name, file) for file in files if file.exists()]
        for done in checks:
            done.result()
        manifest = Manifest(
            atlas_backup=FORMAT, made_at=made_at, program=program, sequence=sequence, parts=tuple(parts)
        ).sealed(keys)
        archive.add_manifest(out, manifest)
    found = _facts(manifest)
    return BackupMade(target, made_at, found.rooms, found.checked, found.sizes, missing)


def _keyslots(rooms: Path, room: RoomKind, key: RoomKey | None, work: Path) -> Path:
    """A copy of a sound keyslot file; it is the one that belongs to `key`."""
    file = KeyslotFile(rooms / f"{room}.keys")
    if not file.exists():
        raise KeyslotsMissing(room)
    keyslots, _ = file.read()
    if key is not None and keyslots.salt != key.salt:
        raise KeyslotsDamaged("they belong to another key")
    copied = KeyslotFile(work / f"{room}.keys")
    copied.write(keyslots)
    copied.paths[1].unlink()
    return copied.paths[0]


def check_copy(path: Path, key: RoomKey) -> None:
    """Has SQLite read every page of a file, each of which SQLCipher authenticates; changes nothing.

    Raises `NotARoom`, `RoomDamaged`.
    """
    conn = connection.open_to_read(path, key)
    with translated():
        try:
            problems = check.structure(conn)
        finally:
            conn.close()
    if problems:
        raise RoomDamaged(problems[0])


def unpack(file: Path, folder: Path) -> Unpacked:
    """As `memory.vault.upkeep.RoomFiles.unpack`; both copies of each keyslot file are written."""
    with archive.opened_archive(file) as (source, manifest):
        for part in manifest.parts:
            archive.extract(source, part, folder / part.name)
    for room in manifest.rooms:
        keys = folder / f"{room}.keys"
        with translated_os():
            shutil.copyfile(keys, keys.with_name(keys.name + ".2"))
            keys.with_name(keys.name + ".2").chmod(0o600)
        try:
            found, _ = KeyslotFile(keys).read()
        except KeyslotsDamaged as error:
            raise BackupDamaged("a key file cannot be read") from error
        if found.room != room:
            raise BackupDamaged("a key file belongs to another room")
    return Unpacked(manifest.made_at, manifest.program, manifest.rooms)


def facts(file: Path) -> BackupFacts:
    """As `memory.vault.upkeep.RoomFiles.facts`."""
    with archive.opened_archive(file) as (_, manifest):
        return _facts(manifest)


def _facts(manifest: Manifest) -> BackupFacts:
    sizes = {room: manifest.bytes_of(room) for room in manifest.rooms}
    return BackupFacts(manifest.sequence, manifest.made_at, manifest.rooms, manifest.checked, sizes)


def check_seals(file: Path, keys: Mapping[RoomKind, RoomKey]) -> None:
    """As `memory.vault.upkeep.RoomFiles.check_seals`."""
    with archive.opened_archive(file) as (_, manifest):
        manifest.check_seals(keys)


def contents(path: Path, key: RoomKey) -> RoomContents:
    """As `memory.vault.upkeep.RoomFiles.contents`."""
    version = connection.probe(path, key)
    if version > LATEST:
        raise FutureSchema(version, LATEST)
    conn = connection.open_to_read(path, key)
    with translated():
        try:
            there = {row[0] for row in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            found = [
                frozenset(str(row[0]) for row in conn.execute(f"SELECT id FROM {table}"))  # noqa: S608
                if table in there
                else frozenset[str]()
                for table in _TABLES
            ]
        finally:
            conn.close()
    return RoomContents(version, *found)
