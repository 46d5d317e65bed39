"""The processes that run models reach nothing but the files they were given."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from models.confinement import Confinement, available
from models.host import ModelHost
from models.linux import landlock_version
from tests.e2e.conftest import host, spec  # noqa: F401 - fixtures

ROOT = Path(__file__).resolve().parents[2]

needs_landlock = pytest.mark.skipif(landlock_version() < 4, reason="this kernel has no Landlock for TCP")


def attempts_of_a_confined_process(tmp_path: Path, *writable: Path) -> dict[str, str]:
    """What a process that settled in as a worker does could still do."""
    model = tmp_path / "models" / "model.gguf"
    outside = tmp_path / "home" / "rooms.db"
    for path in (model, model.with_name("other"), outside):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"content")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        # The listener answers, so it is not for want of one that nobody connects.
        socket.create_connection(("127.0.0.1", int(port))).close()
        done = subprocess.run(
            [sys.executable, "-m", "tests.security.confined"]
            + [str(given) for given in (model, outside, model.parent, port, *writable)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
    return dict(json.loads(done.stdout))


@needs_landlock
def test_a_worker_reads_the_model_and_nothing_else_and_reaches_no_network(tmp_path: Path) -> None:
    could = attempts_of_a_confined_process(tmp_path)
    assert [name for name, outcome in could.items() if outcome == "done"] == ["read the model"]


@needs_landlock
def test_who_tries_out_layouts_writes_in_their_folder_only(tmp_path: Path) -> None:
    could = attempts_of_a_confined_process(tmp_path, tmp_path / "models")
    allowed = {"read the model", "read beside the model", "write the model", "write in the folder"}
    assert {name for name, outcome in could.items() if outcome == "done"} == allowed


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
    if available().sockets:
        assert status["Seccomp"] == "2"
    assert any(line.split()[4:6] == ["0", "0"] for line in _limits(process, "Max core file size"))
    environment = (process / "environ").read_bytes().split(b"\0")
    assert not any(entry.startswith((b"ATLAS_", b"HOME=", b"USER=")) for entry in environment)
    assert {str((process / "fd" / str(n)).readlink()) for n in (0, 1, 2)} == {"/dev/null"}


def _limits(process: Path, name: str) -> list[str]:
    return [line for line in (process / "limits").read_text().splitlines() if line.startswith(name)]


def test_what_counts_as_complete() -> None:
    assert Confinement(files=True, tcp=False, sockets=True).complete
    assert not Confinement(files=False, tcp=False, sockets=True).complete
    assert not Confinement(files=True, tcp=False, sockets=False).complete
