"""Several processes at one room, and what a process leaves behind when it crashes."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from atlas_desktop.explain import AlreadyRunning
from atlas_desktop.instance import InstanceLock
from atlas_desktop.paths import Paths
from memory.entities import NewMessage, NewSession
from memory.errors import StorageBusy
from memory.vault.keys import RoomKey
from models.messages import Role
from tests.security.crash import CONTEXT
from tests.security.figures import Figures
from tests.storage.conftest import Place

PROCESSES = 4
ROOT = Path(__file__).parents[2]


def write_beside_others(where: str, secret: str, session: str, writes: int, pipe: Connection) -> None:
    """Stores messages in a room that others write to as well, queueing for it, and tells their ids."""
    raw = bytes.fromhex(secret)
    place = Place(Path(where), RoomKey(raw[:32], raw[32:]))

    async def main() -> list[str]:
        store = await place.open()
        stored: list[str] = []
        while len(stored) < writes:
            try:
                message = await store.append_message(session, NewMessage(Role.USER, f"{len(stored)}"))
            except StorageBusy:
                continue
            stored.append(message.id)
        await store.close()
        return stored

    pipe.send(asyncio.run(main()))


def try_to_hold(home: str, pipe: Connection) -> None:
    """Tells whether it got hold of a home, and holds it until it is told to go on."""
    try:
        with InstanceLock(Paths(Path(home)), wait_s=0.2):
            pipe.send("held")
            pipe.recv()
    except AlreadyRunning as refusal:
        pipe.send(refusal.holder)


def in_processes(target: Callable[..., None], *args: object) -> list[Connection]:
    pipes = []
    for _ in range(PROCESSES):
        here, there = CONTEXT.Pipe()
        CONTEXT.Process(target=target, args=(*args, there), daemon=True).start()
        there.close()
        pipes.append(here)
    return pipes


async def assert_nothing_is_lost(place: Place, figures: Figures, writes: int) -> None:
    store = await place.open(create=True)
    session, first = await store.create_session(NewSession("t"), NewMessage(Role.USER, "x"))
    await store.close()
    pipes = in_processes(write_beside_others, str(place.path), place.key.sqlcipher_hex(), session.id, writes)
    acknowledged = [ref for pipe in pipes for ref in pipe.recv()]
    assert len(set(acknowledged)) == PROCESSES * writes
    store = await place.open()
    stored = {message.id for message in await store.branch(session.id)}
    report = await store.verify()
    await store.close()
    # They follow one upon another: nobody wrote over what another had said.
    assert stored == {first.id, *acknowledged}
    assert report.problems == ()
    figures.add("4 processes write at once", attempts=len(acknowledged), lost=0)


async def test_four_writers_lose_nothing_and_never_fail(place: Place, figures: Figures) -> None:
    await assert_nothing_is_lost(place, figures, 50)


@pytest.mark.soak
async def test_four_writers_in_a_long_run(place: Place, figures: Figures) -> None:
    await assert_nothing_is_lost(place, figures, 1000)


def test_one_program_holds_a_home_and_the_others_are_told_which(home: Paths, figures: Figures) -> None:
    pipes = in_processes(try_to_hold, str(home.home))
    answers = [pipe.recv() for pipe in pipes]
    assert answers.count("held") == 1
    (holder,) = {answer for answer in answers if answer != "held"}
    assert int(holder) > 0
    pipes[answers.index("held")].send("go on")
    figures.add("second programs at one home, refused", attempts=PROCESSES - 1)


CRASH = """
import ctypes, os, resource, sys
sys.path.insert(0, sys.argv[1])
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
if sys.argv[2] == "hardened":
    from atlas_desktop.hardening import harden
    harden()
ctypes.string_at(0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="crashes as Linux does")
def test_a_crash_leaves_no_picture_of_memory(tmp_path: Path, figures: Figures) -> None:
    def crash(how: str) -> tuple[bool, list[str]]:
        """Whether the system tells of a core dump, and the files that are there afterwards."""
        folder = tmp_path / how
        folder.mkdir()
        child = subprocess.Popen([sys.executable, "-c", CRASH, str(ROOT), how], cwd=folder)
        _, status = os.waitpid(child.pid, 0)
        child.returncode = status
        assert os.WTERMSIG(status) == signal.SIGSEGV
        left = list(folder.iterdir())
        for file in left:
            file.unlink()
        return os.WCOREDUMP(status), [file.name for file in left]

    # Without its hardening the same process would leave one, where the system allows that at all.
    dumped, _ = crash("bare")
    assert crash("hardened") == (False, [])
    figures.add("core dump on SIGSEGV (files)", attempts=1, hits=0, control=int(dumped))
