"""Several processes at one room, and what a process leaves behind when it crashes."""

import asyncio
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import psutil
import pytest

from atlas_desktop.errors import AlreadyRunning
from atlas_desktop.paths import Paths
from atlas_desktop.process import InstanceLock
from memory.entities import NewMessage, NewSession
from memory.errors import StorageBusy
from memory.vault.keys import RoomKey
from models.confinement import child_environment
from models.messages import Role
from models.worker.client import HostSpec
from tests.e2e.conftest import spec  # noqa: F401 - a fixture
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


CHILDREN = {
    "models": ("models.worker.main",),
    "trying out models": ("models.tuning.worker", "/nowhere/model.gguf"),
    "documents": ("atlas_desktop.parsing.child",),
    "keyring": ("memory.vault.system_keyring",),
    "copies": ("memory.storage.file_copier",),
}
linux = pytest.mark.skipif(sys.platform != "linux", reason="as Linux does")


@linux
@pytest.mark.parametrize("child", CHILDREN.values(), ids=CHILDREN)
def test_a_child_whose_parent_is_gone_already_does_nothing(child: tuple[str, ...]) -> None:
    """Nobody reads its answers, and what it reads does not end: it would wait for ever."""
    answers, pipe = os.pipe()
    os.close(answers)
    try:
        started = subprocess.Popen(
            [sys.executable, "-m", *child],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=pipe,
            env=child_environment(),
        )
        assert started.wait(60) == 0
        assert started.stdin is not None
        started.stdin.close()
    finally:
        os.close(pipe)


def test_who_tries_out_models_ends_when_it_understands_nothing() -> None:
    """Otherwise it would wait for ever for requests that nobody reads any more."""
    with subprocess.Popen(
        [sys.executable, "-m", *CHILDREN["trying out models"]],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=child_environment(),
    ) as started:
        assert started.stdin is not None
        started.stdin.write(b"nonsense\n")
        started.stdin.flush()
        assert started.wait(60) == 0


PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
sys.stdin.read()
"""
HOLDS_THE_LOCK = "from models.confinement import begin_child; begin_child(); print(flush=True); 3 ** 10**9"


@linux
def test_a_child_ends_with_a_killed_parent_whatever_it_does() -> None:
    """One operation on large numbers holds the interpreter's lock: no thread of it can hear of the end."""
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, HOLDS_THE_LOCK],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with parent:
        assert parent.stdout is not None
        child = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
    child.wait(10)


@linux
@pytest.mark.real_model
def test_the_model_s_process_ends_with_a_killed_program(spec: HostSpec) -> None:  # noqa: F811
    """It is stopped, so it is the kernel that ends it."""
    code = (
        "import asyncio, sys\n"
        "from pathlib import Path\n"
        "from models.host import ModelHost\n"
        "from models.worker.client import HostSpec\n"
        "async def main():\n"
        "    host = ModelHost(HostSpec(chat=lambda: ('small', Path(sys.argv[1])), context_length=512))\n"
        "    await host.info()\n"
        "    print(host.pid, flush=True)\n"
        "    await asyncio.Event().wait()\n"
        "asyncio.run(main())\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(spec.chat()[1])], cwd=ROOT, stdout=subprocess.PIPE
    ) as parent:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        worker.suspend()
        parent.kill()
    worker.wait(10)


CRASH = """
import os, resource, signal, sys
sys.path.insert(0, sys.argv[1])
resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
if sys.argv[2] == "application":
    from atlas_desktop.process import harden
    harden()
if sys.argv[2] == "child":
    from models.confinement import begin_child
    begin_child()
os.kill(os.getpid(), signal.SIGSEGV)
"""


def crashed(child: "subprocess.Popen[bytes]", folder: Path) -> tuple[bool, list[str]]:
    """Whether the system tells of a core dump, and the files that are there afterwards."""
    _, status = os.waitpid(child.pid, 0)
    child.returncode = status
    assert os.WTERMSIG(status) == signal.SIGSEGV
    left = list(folder.iterdir())
    for file in left:
        file.unlink()
    return os.WCOREDUMP(status), [file.name for file in left]


@linux
def test_a_crash_leaves_no_picture_of_memory(tmp_path: Path, figures: Figures) -> None:
    def crash(how: str) -> tuple[bool, list[str]]:
        return crashed(
            subprocess.Popen([sys.executable, "-c", CRASH, str(ROOT), how], cwd=tmp_path), tmp_path
        )

    # Without its hardening the same process would leave one, where the system allows that at all.
    dumped, _ = crash("bare")
    assert crash("application") == (False, [])
    assert crash("child") == (False, [])
    figures.add("core dump on SIGSEGV (files)", attempts=2, hits=0, control=int(dumped))


@linux
@pytest.mark.parametrize("child", list(CHILDREN.values())[:-1], ids=list(CHILDREN)[:-1])
def test_a_child_that_crashes_leaves_no_picture_of_memory(child: tuple[str, ...], tmp_path: Path) -> None:
    """Killed where it waits for its input, behind all that it gives up (the copier does not wait)."""
    started = subprocess.Popen(
        [sys.executable, "-m", *child],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=child_environment(),
        preexec_fn=lambda: resource.setrlimit(
            resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2
        ),
    )
    status = Path(f"/proc/{started.pid}/status")
    while "\nNoNewPrivs:\t1\n" not in status.read_text():
        assert started.poll() is None
        os.sched_yield()
    assert started.stdin is not None
    assert started.stdout is not None
    with started.stdin, started.stdout:
        started.send_signal(signal.SIGSEGV)
        assert crashed(started, tmp_path) == (False, [])
