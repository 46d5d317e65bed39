"""A room that there is no space for is not made, and not half made either."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from memory.errors import StorageFull
from memory.storage import connection
from memory.storage.connection import Connection
from memory.vault.keys import RoomKey
from tests.storage.conftest import Place

ROOT = Path(__file__).parents[2]
OWN_MOUNTS = ["unshare", "--map-root-user", "--mount"]


def outcomes(kind: str, place: Place, *before: str) -> list[list[str]]:
    child = subprocess.run(
        [*before, sys.executable, "-m", "tests.storage.cramped"],
        cwd=ROOT,
        input=f"{kind}\n{place.path.parent.parent}\n{place.key.sqlcipher_hex()}\n",
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.split() for line in child.stdout.splitlines()]


def assert_outcomes(found: list[list[str]]) -> None:
    assert {first for first, _, _ in found} == {"StorageFull", "sound"}
    assert ["StorageFull", "nothing", "sound"] in found
    # Whole from the moment it has its name, even if there is no space to work in it.
    assert {left.partition(",")[0] for _, left, _ in found} == {"nothing", "open.db"}
    assert not any(".new" in left for _, left, _ in found)
    assert {second for _, _, second in found} == {"sound"}


@pytest.mark.skipif(sys.platform == "win32", reason="the size of files cannot be limited")
def test_files_that_cannot_grow(place: Place) -> None:
    assert_outcomes(outcomes("file", place))


def test_disks_of_every_size(place: Place) -> None:
    if shutil.which("unshare") is None or subprocess.run([*OWN_MOUNTS, "true"], check=False).returncode:
        pytest.skip("no small disk can be mounted")
    assert_outcomes(outcomes("disk", place, *OWN_MOUNTS))


@pytest.mark.parametrize(
    ("kind", "left"), [("read-only", 0), ("tmpfs", 0), ("ext4", 0), ("ext4", 12_288), ("ext4", 24_576)]
)
def test_a_room_can_be_read_where_nothing_can_be_written(place: Place, kind: str, left: int) -> None:
    """The blocks of that ext4 are of 1 KiB: a mapped file has holes there, and a process that writes to one
    on a full disk is killed."""
    own_mounts = ["unshare", "--mount"] if kind == "ext4" else OWN_MOUNTS
    if kind == "ext4" and (os.geteuid() != 0 or shutil.which("mkfs.ext4") is None):
        pytest.skip("no disk with small blocks can be made")
    if shutil.which("unshare") is None or subprocess.run([*own_mounts, "true"], check=False).returncode:
        pytest.skip("no small disk can be mounted")
    place.path.parent.parent.mkdir(exist_ok=True)
    child = subprocess.run(
        [*own_mounts, sys.executable, "-m", "tests.storage.small_disk"],
        cwd=ROOT,
        input=f"{kind}\n{place.path.parent.parent}\n{place.key.sqlcipher_hex()}\n{left}\n",
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    found = json.loads(child.stdout)
    assert found["seen"] == [1, 2, 2, "read_only"]
    assert (found["refused"], found["unchanged"]) == ("StorageFull", True)
    assert (found["after"], found["again"]) == ("written", [2, 1, 2])
    assert found["at last"] == ([2, 1, 2, "current"] if kind == "read-only" else [1, 2, "filled"])
    assert found["problems"] == []


async def test_a_draft_whose_log_was_not_taken_over_is_not_put_in_place(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = connection.create_file
    readers: list[Connection] = []

    def with_log(path: Path, key: RoomKey) -> Connection:
        conn = made(path, key)
        conn.execute("PRAGMA journal_mode = WAL")
        # Only the last connection that closes moves the log into the file.
        readers.append(connection.open_file(path, key))
        return conn

    monkeypatch.setattr(connection, "create_file", with_log)
    with pytest.raises(StorageFull):
        await place.open(create=True)
    readers.pop().close()
    assert not any(place.path.parent.iterdir())

    monkeypatch.undo()
    store = await place.open(create=True)
    assert await store.list_sessions() == []
    await store.close()


async def test_a_draft_that_lost_its_schema_is_not_put_in_place(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.storage.room.migrations.migrate", lambda _conn, _now: [])
    with pytest.raises(StorageFull):
        await place.open(create=True)
    assert not any(place.path.parent.iterdir())
