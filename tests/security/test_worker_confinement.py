"""The processes that run models reach nothing but the files they were given."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from memory.vault.system_keyring import SystemKeyring
from models.confinement import Confinement, available, can_filter, child_environment, landlock_version
from models.host import ModelHost
from tests.e2e.conftest import host, spec  # noqa: F401 - fixtures

ROOT = Path(__file__).resolve().parents[2]

needs_landlock = pytest.mark.skipif(landlock_version() < 4, reason="this kernel has no Landlock for TCP")
needs_filters = pytest.mark.skipif(not can_filter(), reason="this kernel filters no system calls")

LAWFUL = {"read the model", "start threads", "know its own limits", "signal itself"}
READING = {
    "read beside the model",
    "read outside",
    "list outside",
    "read through /proc",
    "read the parent's environment",
    "look up a name",  # that of this computer stands in a file
}
WRITING = {
    "write the model",
    "write in the folder",
    "make a nameless file",
    "cut the model",
    "remove what is beside",
}


def done_by_a_confined_process(tmp_path: Path, *writable: Path, lacking: str = "") -> set[str]:
    """What a process that settled in as a worker does could do of `tests.security.confined`."""
    model = tmp_path / "models" / "model.gguf"
    outside = tmp_path / "home" / "rooms.db"
    for path in (model, model.with_name("other"), model.with_name("beside"), outside):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"content")
    older = [sys.executable, "-m", "tests.security.older_kernel", lacking] if lacking else []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        # The listener answers, so it is not for want of one that nobody connects.
        socket.create_connection(("127.0.0.1", port)).close()
        done = subprocess.run(
            [*older, sys.executable, "-m", "tests.security.confined"]
            + [str(given) for given in (model, outside, port, *writable)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    could = dict(json.loads(done.stdout))
    assert len(could) > 45
    return {name for name, outcome in could.items() if outcome == "done"}


@needs_landlock
@needs_filters
def test_a_worker_reads_the_model_and_nothing_else_and_reaches_no_network(tmp_path: Path) -> None:
    assert done_by_a_confined_process(tmp_path) == LAWFUL


@needs_filters
def test_without_landlock_a_worker_can_read_other_files_and_no_more(tmp_path: Path) -> None:
    assert done_by_a_confined_process(tmp_path, lacking="landlock") == LAWFUL | READING


@needs_landlock
def test_who_tries_out_layouts_writes_in_their_folder_only(tmp_path: Path) -> None:
    allowed = LAWFUL | WRITING | {"read beside the model"}
    assert done_by_a_confined_process(tmp_path, tmp_path / "models") == allowed


TRY = """
import json, os, socket, sys, tempfile
from pathlib import Path
def could(*_):
    attempts = {
        "read a folder of its own": lambda: list(Path(sys.argv[1], "given").iterdir()),
        "write there": lambda: Path(sys.argv[1], "given", "new").touch(),
        "read outside": lambda: Path(sys.argv[1], "secret").read_bytes(),
        "write outside": lambda: Path(sys.argv[1], "new").touch(),
        "change modes": lambda: Path(sys.argv[1], "given").chmod(0o700),
        "use a local socket": lambda: socket.socket(socket.AF_UNIX),
        "use the network": lambda: socket.socket(socket.AF_INET),
        "start a program": lambda: os.posix_spawn("/bin/true", ["true"], {}),
        "signal the parent": lambda: os.kill(os.getppid(), 0),
    }
    done = []
    for name, attempt in attempts.items():
        try:
            attempt()
        except OSError:
            continue
        done.append(name)
    print(json.dumps(done), file=sys.stderr)
"""


@needs_landlock
@needs_filters
@pytest.mark.parametrize(
    ("run", "lawful"),
    [
        ("from atlas_desktop.parsing import child as c; c.settle_in(); could()", set()),
        (
            "from memory.vault import system_keyring as c; c.answer = could; c.main()",
            {"use a local socket"},
        ),
        (
            "from memory.storage import file_copier as c; c.copy = could; c.main(sys.argv[2:])",
            {"read a folder of its own", "write there"},
        ),
    ],
    ids=["documents", "keyring", "copies"],
)
def test_every_child_is_confined(run: str, lawful: set[str], tmp_path: Path) -> None:
    (tmp_path / "given").mkdir()
    (tmp_path / "secret").write_text("words")
    done = subprocess.run(
        [
            *(sys.executable, "-c", TRY + run, str(tmp_path)),
            *(str(tmp_path / "given" / name) for name in ("from", "to")),
        ],
        cwd=ROOT,
        env=child_environment(),
        input='{"op":"backend"}',
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(json.loads(done.stderr.splitlines()[-1])) == lawful


def test_children_are_told_nothing_of_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATLAS_HOME", "words")
    monkeypatch.setenv("HOME", "words")
    monkeypatch.setenv("DBUS_SESSION_BUS_ADDRESS", "words")
    assert "words" not in child_environment().values()
    asked = SystemKeyring(
        command=(
            sys.executable,
            "-c",
            "import os, json; print(json.dumps({'backend': ' '.join(os.environ)}))",
        )
    )
    names = set(asked.backend().split())
    assert {"HOME", "DBUS_SESSION_BUS_ADDRESS"} <= names
    assert "ATLAS_HOME" not in names


@pytest.mark.real_model
@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
async def test_the_worker_that_answers_is_confined(host: ModelHost) -> None:  # noqa: F811
    await host.embed(["one"])
    assert host.pid is not None
    process = Path(f"/proc/{host.pid}")
    status = dict(
        line.split(":\t", 1) for line in (process / "status").read_text().splitlines() if ":\t" in line
    )
    assert status["NoNewPrivs"] == "1"
    threads = [(thread / "status").read_text() for thread in (process / "task").iterdir()]
    assert len(threads) > 1
    if available().calls:
        assert all("\nSeccomp:\t2\n" in thread for thread in threads)
    assert any(line.split()[4:6] == ["0", "0"] for line in _limits(process, "Max core file size"))
    environment = (process / "environ").read_bytes().split(b"\0")
    assert not any(entry.startswith((b"ATLAS_", b"HOME=", b"USER=")) for entry in environment)
    assert {str((process / "fd" / str(n)).readlink()) for n in (0, 1, 2)} == {"/dev/null"}


def _limits(process: Path, name: str) -> list[str]:
    return [line for line in (process / "limits").read_text().splitlines() if line.startswith(name)]


def test_what_counts_as_complete() -> None:
    assert Confinement(files=True, tcp=False, calls=True).complete
    assert not Confinement(files=False, tcp=False, calls=True).complete
    assert not Confinement(files=True, tcp=True, calls=False).complete


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_thread_that_would_stay_free_is_noticed() -> None:
    """Landlock confines the calling thread and those that it starts, not those of a library beside it."""
    code = (
        "import threading; from models.confinement import confine\n"
        "threading.Thread(target=threading.Event().wait, daemon=True).start()\n"
        "confine([])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "RuntimeError: a thread" in done.stderr
