"""A backup is one file, made while the rooms are in use, verified before it has its name."""

import os
import stat
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest

from atlas_desktop.services.backup import by_room
from memory.entities import NewMessage, NewSession, RoomKind
from memory.errors import BackupDamaged, FutureBackup, NotABackup, OutputRefused, RoomDamaged
from memory.storage.archive import KNOWN_PARTS, MANIFEST
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
