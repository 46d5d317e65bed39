"""The installed program in odd surroundings: streams that are closed, too little memory, files of others."""

import json
import subprocess
import sys

import pytest

from atlas_desktop.error_table import explain
from atlas_desktop.start import NO_MEMORY
from tests.e2e.conftest import Program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a POSIX shell is needed")


def in_shell(program: Program, *arguments: str, before: str = "", after: str = "") -> tuple[int, str, str]:
    command = " ".join(f"'{part}'" for part in program.command(*arguments))
    done = subprocess.run(
        ["sh", "-c", f"{before}{command}{after}"],
        env=program.environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["sessions list --json", "export --all", "chat --jsonl"])
def test_closed_streams_are_empty_ones(vault: Program, command: str, closed: str) -> None:

    status, out, told = in_shell(vault, *command.split(), after=f" {closed}")
    assert status == 0, out + told
    assert "unexpected" not in out + told
    if command.startswith("sessions") and ">&-" not in closed.replace("2>&-", ""):
        assert json.loads(out) == []
    assert vault.json("vault", "verify")["sound"] is True


@pytest.mark.parametrize("kib", [30_000, 60_000, 420_000, 900_000])
def test_too_little_memory_is_said(empty_program: Program, kib: int) -> None:
    if kib < 60_000 and sys.platform != "linux":
        pytest.skip("Python itself needs more")
    status, out, told = in_shell(empty_program, "sessions", "list", before=f"ulimit -v {kib}; ")
    assert (status, out, told) == (1, "", NO_MEMORY)


def test_the_words_are_those_of_the_error() -> None:
    words = explain(MemoryError())
    assert f"{words.title}: {words.message}\n{words.next_step}\n" == NO_MEMORY


@pytest.mark.parametrize("content", [b"", b"{", b"\0" * 40])
def test_a_note_that_is_none_keeps_nobody_out(vault: Program, content: bytes) -> None:
    note = vault.paths.home / "rooms.exchange"
    note.write_bytes(content)
    assert vault.json("sessions", "list") == []
    assert not note.exists()
