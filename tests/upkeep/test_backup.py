"""A backup is one file, made while the rooms are in use, verified before it has its name."""

import json
import os
import stat
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from atlas_desktop.services.backup import by_room
from memory.entities import NewMessage, NewSession, RoomKind
from memory.errors import (
    BackupDamaged,
    FutureBackup,
    KeyslotsMissing,
    NotABackup,
    OutputRefused,
    RoomDamaged,
)
from memory.storage.backup import KNOWN_PARTS, MANIFEST
from models.messages import Role
from tests.unit.vault.conftest import PASSPHRASE
from tests.upkeep.conftest import Home


async def test_it_holds_what_was_acknowledged_while_the_room_is_written_to(made: Home) -> None:
    store = await made.open()
    session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "before"))
    for n in range(50):
        await store.append_message(session.id, NewMessage(Role.USER, f"message {n}"))
    backup = await made.backups().make(by_room(made.keys))
    await store.append_message(session.id, NewMessage(Role.USER, "after"))
    await store.close()

    assert (backup.rooms, backup.checked) == ((RoomKind.OPEN, RoomKind.PRIVATE),) * 2
    assert stat.S_IMODE(backup.path.stat().st_mode) == 0o600
    assert [file.name for file in backup.path.parent.iterdir()] == [backup.path.name]
    with zipfile.ZipFile(backup.path) as archive:
        assert set(archive.namelist()) <= KNOWN_PARTS | {MANIFEST}
    assert not any(word in backup.path.read_bytes() for word in (b"message", b"tomatoes", b"secret"))

    async with made.backups().restoring(backup.path, lambda vaults: vaults.unlock_both(PASSPHRASE)) as found:
        await found.put_in_place()
    said = await made.said()
    assert len(said) == 53
    assert "after" not in said
    assert await made.said(RoomKind.PRIVATE) == ["a secret"]


async def test_a_closed_room_is_copied_with_its_log(made: Home) -> None:
    """The private room is open in another process, whose words are in its log alone."""
    store = await made.open(RoomKind.PRIVATE)
    await store.create_session(NewSession("t"), NewMessage(Role.USER, "in the log"))
    backup = await made.backups().make({RoomKind.OPEN: made.key()})
    await store.close()
    assert backup.checked == (RoomKind.OPEN,)
    with zipfile.ZipFile(backup.path) as archive:
        assert "private.db-wal" in archive.namelist()
    async with made.backups().restoring(backup.path, lambda vaults: vaults.unlock_both(PASSPHRASE)) as found:
        await found.put_in_place()
    assert await made.said(RoomKind.PRIVATE) == ["a secret", "in the log"]


async def test_a_damaged_room_makes_no_backup_and_drops_no_older_one(made: Home) -> None:
    await made.say(*(f"{n} " + "words " * 200 for n in range(40)))
    keys = by_room(made.keys)
    for _ in range(3):
        await made.backups().make_in_turn(keys, keep=2)
        made.clock.advance(timedelta(days=1))
    kept = made.backups().kept()
    assert len(kept) == 2
    data = bytearray((made.rooms / "open.db").read_bytes())
    for at in range(len(data) - 10 * 4096 + 99, len(data), 4096):
        data[at] ^= 1
    (made.rooms / "open.db").write_bytes(data)
    with pytest.raises(RoomDamaged):
        await made.backups().make_in_turn(keys, keep=1)
    assert made.backups().kept() == kept
    assert not list((made.folder / "backups").glob(".*"))


async def test_the_newest_checked_copy_of_the_private_room_outlives_those_that_nobody_could_check(
    made: Home,
) -> None:
    everything, opened = by_room(made.keys), {RoomKind.OPEN: made.key()}
    files = []
    for keys in (everything, everything, opened, opened, opened):
        files.append((await made.backups().make_in_turn(keys, keep=2)).path)
        made.clock.advance(timedelta(days=1))
    assert made.backups().kept() == [files[1], *files[3:]]
    files.append((await made.backups().make_in_turn(everything, keep=2)).path)
    assert made.backups().kept() == files[4:]


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the administrator may write everywhere")
async def test_a_folder_that_may_not_be_written_to_is_named(made: Home) -> None:
    folder = made.folder / "closed"
    folder.mkdir(mode=0o500)
    with pytest.raises(OutputRefused):
        await made.backups().make(by_room(made.keys), folder / "b.atlas-backup")


async def test_a_place_that_is_no_folder_is_refused(made: Home) -> None:
    (made.folder / "file").write_text("x")
    with pytest.raises(OutputRefused):
        await made.backups().make(by_room(made.keys), made.folder / "file" / "b.atlas-backup")


async def refused(made: Home, file: Path) -> type[BaseException]:
    before = {path: path.read_bytes() for path in made.rooms.iterdir()}
    with pytest.raises((NotABackup, BackupDamaged, FutureBackup)) as caught:
        async with made.backups().restoring(file, lambda vaults: vaults.unlock_both(PASSPHRASE)):
            raise AssertionError("it was taken")
    assert {path: path.read_bytes() for path in made.rooms.iterdir()} == before
    assert not list(made.folder.glob("rooms.next*"))
    return type(caught.value)


async def test_what_is_not_a_sound_backup_is_refused(made: Home) -> None:
    backup = (await made.backups().make(by_room(made.keys))).path
    whole = backup.read_bytes()
    file = made.folder / "file"
    file.write_text("no zip")
    assert await refused(made, file) is NotABackup
    assert await refused(made, made.folder / "nothing") is NotABackup
    file.write_bytes(whole[: len(whole) // 2])
    assert await refused(made, file) is BackupDamaged
    for at in (200, len(whole) // 2, len(whole) * 3 // 4):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        assert await refused(made, file) is BackupDamaged


def rewritten(backup: Path, target: Path, change: dict[str, bytes], *, kind: int = stat.S_IFREG) -> Path:
    """A copy of a backup in which some entries are others."""
    with zipfile.ZipFile(backup) as source, zipfile.ZipFile(target, "w") as out:
        entries = {name: source.read(name) for name in source.namelist()} | change
        for name, data in entries.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (kind if name in change else stat.S_IFREG) << 16
            out.writestr(info, data)
    return target


async def test_an_archive_that_is_made_to_deceive_is_refused(made: Home) -> None:
    backup = (await made.backups().make(by_room(made.keys))).path
    file = made.folder / "file"
    with zipfile.ZipFile(backup) as archive:
        manifest = archive.read(MANIFEST)
    assert await refused(made, rewritten(backup, file, {"../evil": b"x"})) is NotABackup
    assert await refused(made, rewritten(backup, file, {"config.toml": b"x"})) is NotABackup
    link = rewritten(backup, file, {"open.keys": b"/etc/passwd"}, kind=stat.S_IFLNK)
    assert await refused(made, link) is NotABackup
    newer = manifest.replace(b'"atlas_backup":1', b'"atlas_backup":2')
    assert await refused(made, rewritten(backup, file, {MANIFEST: newer})) is FutureBackup
    other_time = manifest.replace(b'"made_at":"20', b'"made_at":"19')
    assert await refused(made, rewritten(backup, file, {MANIFEST: other_time})) is BackupDamaged
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, manifest)
        archive.writestr("open.db", b"\0" * 1_000_000)
    assert await refused(made, file) is NotABackup


def with_manifest(backup: Path, target: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """A copy of a backup whose list of parts was changed."""
    with zipfile.ZipFile(backup) as archive:
        manifest = json.loads(archive.read(MANIFEST))
    change(manifest)
    return rewritten(backup, target, {MANIFEST: json.dumps(manifest).encode()})


async def test_a_seal_that_is_missing_is_a_broken_one(made: Home) -> None:
    backup = (await made.backups().make(by_room(made.keys))).path
    file = made.folder / "file"
    changes: list[Callable[[dict[str, Any]], object]] = [
        lambda manifest: manifest.update(seals={}),
        lambda manifest: manifest.pop("seals"),
        lambda manifest: manifest["seals"].pop("open"),
        lambda manifest: manifest["seals"].pop("private"),
        lambda manifest: manifest.update(seals={}, checked=[]),
        lambda manifest: manifest.update(checked=["open"], seals={"open": manifest["seals"]["open"]}),
        lambda manifest: manifest.update(sequence=99),
    ]
    for change in changes:
        assert await refused(made, with_manifest(backup, file, change)) is BackupDamaged


@pytest.mark.parametrize("private_known", [True, False])
async def test_rooms_of_different_backups_do_not_go_together(made: Home, private_known: bool) -> None:
    """An old private room with a new open one: with the list of either backup, or with a new list."""
    keys = by_room(made.keys) if private_known else {RoomKind.OPEN: made.key()}
    old = (await made.backups().make(keys)).path
    await made.say("newer")
    await made.say("a newer secret", room=RoomKind.PRIVATE)
    made.clock.advance(timedelta(days=1))
    new = (await made.backups().make(keys)).path
    with zipfile.ZipFile(old) as archive, zipfile.ZipFile(new) as other:
        older, newer = json.loads(archive.read(MANIFEST)), json.loads(other.read(MANIFEST))
        names = [name for name in archive.namelist() if name.startswith("private.")]
        parts = {name: archive.read(name) for name in names}
    newer["parts"] = [part for part in newer["parts"] if not part["name"].startswith("private.")]
    newer["parts"] += [part for part in older["parts"] if part["name"] in parts]
    file = made.folder / "file"
    lists: tuple[dict[str, str], ...] = (newer["seals"], older["seals"], {})
    for seals in lists:
        spliced = {MANIFEST: json.dumps(newer | {"seals": seals}).encode(), **parts}
        assert await refused(made, rewritten(new, file, spliced)) is BackupDamaged


# --- rooms that are missing -------------------------------------------------------------------------


@pytest.mark.parametrize("gone", ["private.db", "private.keys*", "private*"])
async def test_a_backup_without_a_room_that_there_was_is_not_verified_and_no_copy_of_it_goes(
    made: Home, gone: str
) -> None:
    keys = made.keys
    whole = (await made.backups().make_in_turn(by_room(keys), keep=1)).path
    for file in made.rooms.glob(gone):
        file.unlink()
    for _ in range(3):
        made.clock.advance(timedelta(days=1))
        backup = await made.backups().make_in_turn({RoomKind.OPEN: keys.open}, keep=1)
        assert (backup.verified, backup.missing) == (False, (RoomKind.PRIVATE,))
        assert backup.rooms == (RoomKind.OPEN,)
        assert made.backups().kept() == [whole, backup.path]
        assert made.backups().lacking() == (RoomKind.PRIVATE,)
    async with made.backups().restoring(whole, lambda vaults: vaults.unlock_both(PASSPHRASE)) as found:
        await found.put_in_place()
    made.known = None
    assert await made.said(RoomKind.PRIVATE) == ["a secret"]
    assert (await made.backups().make_in_turn(by_room(made.keys), keep=1)).verified
    assert len(made.backups().kept()) == 1


async def test_a_private_room_that_is_lost_is_not_made_anew_in_silence(made: Home) -> None:
    for file in made.rooms.glob("private*"):
        file.unlink()
    vaults = made.vaults()
    assert vaults.unlock_both(PASSPHRASE).private is None
    assert vaults.private_missing()
    with pytest.raises(KeyslotsMissing) as caught:
        vaults.unlock_private(PASSPHRASE)
    assert caught.value.room == "private"
    assert not list(made.rooms.glob("private*"))


async def test_a_backup_that_lacks_what_the_last_one_had_says_so(made: Home) -> None:
    """Also where nothing in the home tells of the room any more."""
    await made.backups().make(by_room(made.keys))
    made.vaults().open.rewrite(lambda found: msgspec.structs.replace(found, private_made=False))
    for file in made.rooms.glob("private*"):
        file.unlink()
    made.clock.advance(timedelta(days=1))
    assert (await made.backups().make({RoomKind.OPEN: made.key()})).missing == (RoomKind.PRIVATE,)


# --- their order ------------------------------------------------------------------------------------


async def test_a_clock_that_was_ahead_costs_no_newer_backup(made: Home) -> None:
    keys = by_room(made.keys)
    made.clock.advance(timedelta(days=3650))
    ahead = [(await made.backups().make_in_turn(keys, keep=2)).path for _ in range(2)]
    made.clock.advance(-timedelta(days=3650))
    now = (await made.backups().make_in_turn(keys, keep=2)).path
    assert made.backups().kept() == [ahead[1], now]
    made.clock.advance(timedelta(days=1))
    assert made.backups().kept() == [ahead[1], now]
    newest = (await made.backups().make_in_turn(keys, keep=2)).path
    assert made.backups().kept() == [now, newest]


async def test_an_hour_that_comes_twice_replaces_no_backup(made: Home) -> None:
    first, second = [(await made.backups().make(by_room(made.keys))).path for _ in range(2)]
    assert first != second
    assert made.backups().kept() == [first, second]


async def test_a_file_that_cannot_be_read_is_neither_counted_nor_removed(made: Home) -> None:
    folder = made.folder / "backups"
    folder.mkdir()
    (folder / "atlas-2020-01-01-000000.atlas-backup").write_bytes(b"of a newer Atlas, perhaps")
    for _ in range(2):
        await made.backups().make_in_turn(by_room(made.keys), keep=1)
    assert len(made.backups().kept()) == 2


# --- what a killed one leaves -----------------------------------------------------------------------


@pytest.mark.skipif(os.name == "nt", reason="an open file cannot be removed there anyway")
async def test_drafts_of_a_killed_backup_go_with_the_next_and_one_at_work_stays(made: Home) -> None:
    folder = made.folder / "backups"
    folder.mkdir()
    left = [
        folder / f".atlas-2020-01-01-000000.atlas-backup.{'0a' * 8}.tmp",
        folder / f".mine.{'0b' * 8}.tmp",
    ]
    at_work = folder / f".atlas-2020-01-02-000000.atlas-backup.{'0c' * 8}.tmp"
    another = folder / f".letter.{'0d' * 8}.tmp"
    for file in (*left, at_work, another):
        file.write_bytes(b"x")
    import fcntl

    with at_work.open("r+b") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        backup = await made.backups().make(by_room(made.keys), folder / "mine")
    assert set(folder.iterdir()) == {at_work, another, backup.path}
    made.backups().remove_drafts()
    assert set(folder.iterdir()) == {another, backup.path}
