"""Creates, verifies and unpacks backups of rooms, from copies made while the rooms may be in use."""

import glob
import hashlib
import hmac
import os
import secrets
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import IO

import msgspec

from memory.clock import Clock
from memory.entities import RoomKind
from memory.errors import (
    BackupDamaged,
    FutureBackup,
    FutureSchema,
    KeyslotsDamaged,
    KeyslotsMissing,
    NotABackup,
    NotARoom,
    OutputRefused,
    RoomDamaged,
    RoomMissing,
    StorageBusy,
    StorageFull,
)
from memory.storage import connection, verification
from memory.storage.connection import Connection, translated
from memory.storage.migrations import LATEST
from memory.vault.files import make_private_folder, sync_folder, translated_os
from memory.vault.keys import RoomKey
from memory.vault.keyslots import KeyslotFile
from memory.vault.status import private_missing
from memory.vault.upkeep import SUFFIX, BackupFacts, BackupMade, RoomContents, Unpacked
from models.confinement import child_environment

LIMIT_S = 600.0
_TRIES = 20
_LOG = "-wal"
_SIDE_FILES = ("-wal", "-shm", "-journal")


def log_of(path: Path) -> Path:
    return path.with_name(path.name + _LOG)


def remove_room_file(path: Path) -> None:
    """Removes a database file and its side files."""
    for suffix in ("", *_SIDE_FILES):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def copy_room(path: Path, key: RoomKey, target: Path) -> None:
    """Writes the current state of the room to one file at `target`. Writers do not wait.

    Raises `RoomMissing`, `NotARoom`, `StorageBusy`, `StorageFull`; then there is no file.
    """
    connection.probe(path, key)
    try:
        with _reading(path, key):
            _copy_files((path, target), (log_of(path), log_of(target)))
        _fold(target, key)
    except BaseException:
        remove_room_file(target)
        raise


def copy_closed_room(path: Path, target: Path) -> None:
    """Copies the room's file, and its log if there is one; does not need the key.

    Without the key writers cannot be blocked, so the copy is repeated if the files changed meanwhile. Raises
    `StorageBusy` when they keep changing, `StorageFull`.
    """
    for _ in range(_TRIES):
        before = _marks(path)
        _copy_files((path, target), (log_of(path), log_of(target)))
        if _marks(path) == before:
            return
        remove_room_file(target)
    raise StorageBusy("the room kept changing while it was copied")


class _reading:  # noqa: N801 - used like a function
    """Keeps one state of a room readable while inside."""

    def __init__(self, path: Path, key: RoomKey) -> None:
        self._path = path
        self._conn: Connection = connection.open_file(path, key)

    def __enter__(self) -> Connection:
        with translated(self._path):
            self._conn.execute("BEGIN")
            self._conn.execute("SELECT count(*) FROM sqlite_master").fetchone()
        return self._conn

    def __exit__(self, *_: object) -> None:
        with translated(self._path):
            self._conn.execute("ROLLBACK")
            self._conn.close()


def _fold(target: Path, key: RoomKey) -> None:
    """Moves the copied log into the copied file, so that one file contains everything."""
    conn = connection.open_file(target, key, journal="DELETE")
    with translated(target):
        conn.close()
    left = log_of(target)
    if left.exists() and left.stat().st_size:
        raise NotARoom(target, "its log cannot be read")
    with target.open("rb") as file:
        os.fsync(file.fileno())


def _marks(path: Path) -> list[tuple[int, int, int] | None]:
    found: list[tuple[int, int, int] | None] = []
    for file in (path, log_of(path)):
        state = None
        with suppress(FileNotFoundError):
            state = file.stat()
        found.append(None if state is None else (state.st_ino, state.st_size, state.st_mtime_ns))
    return found


def _copy_files(*pairs: tuple[Path, Path]) -> None:
    try:
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "memory.storage.file_copier",
                *(str(path.absolute()) for pair in pairs for path in pair),
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=LIMIT_S,
            check=False,
            text=True,
            env=child_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StorageFull(type(error).__name__) from error
    if done.returncode:
        number = int(done.stdout) if done.stdout.isdigit() else 0
        raise StorageFull(os.strerror(number) if number else "the files could not be copied")


FORMAT = 1
MANIFEST = "manifest.json"
KEPT_ROOMS = (RoomKind.OPEN, RoomKind.PRIVATE)
KNOWN_PARTS = frozenset(f"{room}.{part}" for room in KEPT_ROOMS for part in ("keys", "db", "db-wal"))
_MOST_MANIFEST = 65_536
_MOST_KEYS = 65_536
_MOST_ROOM = 1 << 40
_STEP = 4 * 1024 * 1024
_SEAL = b"atlas backup manifest 1"
_DRAFT = "[0-9a-f]" * 16 + ".tmp"


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One file in a backup. `bytes` is its size, `sha256` is in hexadecimal."""

    name: str
    bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The list of a backup's parts. `seals` maps rooms to authentication codes of the other fields, made with
    the rooms' keys. `checked` names the rooms that have a seal: those whose key was available, so their
    copies were also checked.

    `sequence` increases with every backup in a folder, regardless of the clock.
    """

    atlas_backup: int
    made_at: datetime
    program: str
    parts: tuple[Part, ...]
    sequence: int = 0
    checked: tuple[RoomKind, ...] = ()
    seals: dict[str, str] = {}

    @property
    def rooms(self) -> tuple[RoomKind, ...]:
        names = {part.name for part in self.parts}
        return tuple(room for room in KEPT_ROOMS if f"{room}.db" in names)

    def bytes_of(self, room: RoomKind) -> int:
        """Returns the size of a room's parts."""
        return sum(part.bytes for part in self.parts if part.name.startswith(f"{room}."))

    def seal(self, key: RoomKey) -> str:
        """Returns the authentication code of this list: HMAC-SHA256 with a key derived from the room's."""
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        text = msgspec.json.encode(msgspec.structs.replace(self, seals={}))
        return hmac.new(HKDF(SHA256(), 32, key.salt, _SEAL).derive(key.data), text, "sha256").hexdigest()

    def sealed(self, keys: Mapping[RoomKind, RoomKey]) -> "Manifest":
        """Returns the list with a seal for each of these rooms, the open one among them."""
        whole = msgspec.structs.replace(self, checked=tuple(room for room in self.rooms if room in keys))
        seals = {str(room): whole.seal(keys[room]) for room in whole.checked}
        return msgspec.structs.replace(whole, seals=seals)

    def check_seals(self, keys: Mapping[RoomKind, RoomKey]) -> None:
        """Raises `BackupDamaged` when the list was not made with these rooms' keys.

        A missing seal counts as a broken one. Only a room whose key was not available when the backup was
        made has no seal; which rooms these are is sealed with the open room's key.
        """
        if set(self.seals) != {str(room) for room in self.checked} or RoomKind.OPEN not in self.checked:
            raise BackupDamaged("a seal of its list of parts is missing")
        for room in self.checked:
            key = keys.get(room)
            if key is not None and not hmac.compare_digest(self.seals[room], self.seal(key)):
                raise BackupDamaged("the list of parts was changed")


class _Format(msgspec.Struct):
    atlas_backup: int


@contextmanager
def new_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Yields a new zip that gets its name only when it is complete and durable, with mode 0600.

    An error inside leaves no file. Raises `OutputRefused` when nothing can be written there, `StorageFull`.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        if not path.parent.exists():
            make_private_folder(path.parent)
        remove_drafts(path.parent, path.name)
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise OutputRefused(error.strerror or type(error).__name__) from error
    except StorageFull as error:
        raise OutputRefused(error.detail) from error
    try:
        with translated_os(), os.fdopen(descriptor, "w+b") as file:
            with suppress(OSError):
                # Not every file system supports locks; where it does not, a draft left behind stays.
                _hold(descriptor)
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
                yield archive
            file.flush()
            os.fsync(file.fileno())
            _check_written(file)
        with translated_os():
            draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def remove_drafts(folder: Path, name: str | None = None) -> None:
    """Removes the drafts of killed backups from a folder: those with a backup's usual ending, and those of
    this name. A draft that another process is writing is locked by it, and stays."""
    patterns = [f".*{SUFFIX}.{_DRAFT}"]
    if name is not None:
        patterns.append(f".{glob.escape(name)}.{_DRAFT}")
    for stale in {found for pattern in patterns for found in folder.glob(pattern)}:
        with suppress(OSError):
            descriptor = os.open(stale, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
            try:
                _hold(descriptor)
                stale.unlink()
            finally:
                os.close(descriptor)


def _hold(descriptor: int) -> None:
    """Locks a file until it is closed. Raises OSError when another process has locked it. (Windows does not
    remove open files.)
    """
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _check_written(file: IO[bytes]) -> None:
    """Reads everything back. Raises `BackupDamaged`."""
    with zipfile.ZipFile(file) as archive:
        for part in read_manifest(archive).parts:
            for _ in _checked_bytes(archive, part):
                pass


def add_part(archive: zipfile.ZipFile, name: str, source: Path) -> Part:
    """Adds a file's bytes to the archive unchanged."""
    digest = hashlib.sha256()
    size = 0
    with source.open("rb") as reader, archive.open(_entry(name), "w", force_zip64=True) as writer:
        while step := reader.read(_STEP):
            digest.update(step)
            writer.write(step)
            size += len(step)
    return Part(name, size, digest.hexdigest())


def add_manifest(archive: zipfile.ZipFile, manifest: Manifest) -> None:
    archive.writestr(_entry(MANIFEST), msgspec.json.encode(manifest))


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFREG | 0o600) << 16
    return info


@contextmanager
def opened_archive(path: Path) -> Iterator[tuple[zipfile.ZipFile, Manifest]]:
    """Yields a backup's archive and its list of parts. Raises `NotABackup`, `BackupDamaged`,
    `FutureBackup`."""
    try:
        if not path.is_file() and path.exists():
            raise NotABackup("it is not a file")
        archive = zipfile.ZipFile(path)
    except zipfile.BadZipFile:
        raise _refusal(path) from None
    except OSError as error:
        raise NotABackup(error.strerror or type(error).__name__) from error
    with archive:
        yield archive, read_manifest(archive)


def _refusal(path: Path) -> NotABackup | BackupDamaged:
    """Chooses the error. A zip has its directory at the end: a file that begins like a backup and has none
    was cut short.
    """
    with path.open("rb") as file:
        begun = file.read(64)
    names = tuple(name.encode() for name in KNOWN_PARTS)
    if begun.startswith(b"PK\x03\x04") and begun[30:].startswith(names):
        return BackupDamaged("it is cut short")
    return NotABackup("it is no zip file")


def read_manifest(archive: zipfile.ZipFile) -> Manifest:
    """Returns the list of parts, after checking that the archive contains what it names and nothing else."""
    entries = archive.infolist()
    if MANIFEST not in archive.namelist():
        raise NotABackup("it has no list of parts")
    _check_entries(entries)
    data = _read_small(archive, MANIFEST, _MOST_MANIFEST)
    try:
        found = msgspec.json.decode(data, type=_Format).atlas_backup
        if found > FORMAT:
            raise FutureBackup(found, FORMAT)
        manifest = msgspec.json.decode(data, type=Manifest)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise NotABackup("its list of parts cannot be read") from None
    sizes = {entry.filename: entry.file_size for entry in entries if entry.filename != MANIFEST}
    if sizes != {part.name: part.bytes for part in manifest.parts}:
        raise BackupDamaged("its contents do not match its list of parts")
    for room in (RoomKind.OPEN, *manifest.rooms):
        if not {f"{room}.db", f"{room}.keys"} <= sizes.keys():
            raise BackupDamaged("a room or its key file is missing")
    return manifest


def _check_entries(entries: list[zipfile.ZipInfo]) -> None:
    names = [entry.filename for entry in entries]
    if len(set(names)) != len(names) or not set(names) <= KNOWN_PARTS | {MANIFEST}:
        raise NotABackup("it contains entries that do not belong in a backup")
    for entry in entries:
        kind = stat.S_IFMT(entry.external_attr >> 16)
        if kind not in (0, stat.S_IFREG) or entry.compress_type != zipfile.ZIP_STORED:
            raise NotABackup("an entry is not a plain file")
        most = _MOST_ROOM if ".db" in entry.filename else _MOST_KEYS
        if entry.file_size > most or entry.file_size != entry.compress_size:
            raise NotABackup("an entry has an impossible size")


def extract(archive: zipfile.ZipFile, part: Part, target: Path) -> None:
    """Writes a part to a new file of mode 0600, durably. Raises `BackupDamaged`, `StorageFull`."""
    with translated_os():
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as writer:
            for step in _checked_bytes(archive, part):
                writer.write(step)
            writer.flush()
            os.fsync(writer.fileno())


def _checked_bytes(archive: zipfile.ZipFile, part: Part) -> Iterator[bytes]:
    digest = hashlib.sha256()
    try:
        with archive.open(part.name) as reader:
            while step := reader.read(_STEP):
                digest.update(step)
                yield step
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise BackupDamaged("a part cannot be read") from error
    if digest.hexdigest() != part.sha256:
        raise BackupDamaged("a part is not as it was written")


def _read_small(archive: zipfile.ZipFile, name: str, most: int) -> bytes:
    try:
        with archive.open(name) as reader:
            return reader.read(most)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise BackupDamaged("its list of parts cannot be read") from error


_TABLES = ("sessions", "messages", "memories", "documents", "receipts")
_SMALLER = ("skills", "tasks", "projects", "personas", "templates", "saved_searches", "clients")
"""The tables of what else a user makes."""


def back_up(
    rooms: Path,
    keys: Mapping[RoomKind, RoomKey],
    target: Path,
    *,
    program: str,
    sequence: int = 1,
    clock: Clock,
) -> BackupMade:
    """See `memory.vault.upkeep.RoomFiles.back_up`.

    One thread checks the copies while another writes them into the backup.
    """
    if not (rooms / f"{RoomKind.OPEN}.db").exists():
        raise RoomMissing(rooms / f"{RoomKind.OPEN}.db")
    missing = (RoomKind.PRIVATE,) if private_missing(rooms) else ()
    kinds = [room for room in KEPT_ROOMS if (rooms / f"{room}.db").exists() and room not in missing]
    made_at = clock.now()
    with (
        tempfile.TemporaryDirectory(prefix="backup-") as work,
        ThreadPoolExecutor(max_workers=1, thread_name_prefix="check") as checker,
        new_archive(target) as out,
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
            parts += [add_part(out, file.name, file) for file in files if file.exists()]
        for done in checks:
            done.result()
        manifest = Manifest(
            atlas_backup=FORMAT, made_at=made_at, program=program, sequence=sequence, parts=tuple(parts)
        ).sealed(keys)
        add_manifest(out, manifest)
    found = _facts(manifest)
    return BackupMade(target, made_at, found.rooms, found.checked, found.sizes, missing)


def _keyslots(rooms: Path, room: RoomKind, key: RoomKey | None, work: Path) -> Path:
    """Copies a sound keyslot file, which must belong to `key` if that is given; returns the copy."""
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
    """Makes SQLite read every page of a file, each of which SQLCipher authenticates; changes nothing.

    Raises `NotARoom`, `RoomDamaged`.
    """
    conn = connection.open_to_read(path, key)
    with translated():
        try:
            problems = verification.structure(conn)
        finally:
            conn.close()
    if problems:
        raise RoomDamaged(problems[0])


def unpack(file: Path, folder: Path) -> Unpacked:
    """See `memory.vault.upkeep.RoomFiles.unpack`. Writes both copies of each keyslot file."""
    with opened_archive(file) as (source, manifest):
        for part in manifest.parts:
            extract(source, part, folder / part.name)
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
    """See `memory.vault.upkeep.RoomFiles.facts`."""
    with opened_archive(file) as (_, manifest):
        return _facts(manifest)


def _facts(manifest: Manifest) -> BackupFacts:
    sizes = {room: manifest.bytes_of(room) for room in manifest.rooms}
    return BackupFacts(manifest.sequence, manifest.made_at, manifest.rooms, manifest.checked, sizes)


def check_seals(file: Path, keys: Mapping[RoomKind, RoomKey]) -> None:
    """See `memory.vault.upkeep.RoomFiles.check_seals`."""
    with opened_archive(file) as (_, manifest):
        manifest.check_seals(keys)


def contents(path: Path, key: RoomKey) -> RoomContents:
    """See `memory.vault.upkeep.RoomFiles.contents`."""
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
                for table in _TABLES + _SMALLER
            ]
        finally:
            conn.close()
    sessions, messages, memories, documents, receipts, *others = found
    return RoomContents(
        version, sessions, messages, memories, documents, receipts, dict(zip(_SMALLER, others, strict=True))
    )
