"""The lock of the installed program, in a real terminal with the real model."""

import os
import re
import signal
import sys
import time
from functools import cache
from pathlib import Path

import psutil
import pytest

from memory.entities import RoomKind
from memory.vault.keys import RoomKey
from memory.vault.vault import Vault
from tests.e2e.conftest import PASSPHRASE, Program
from tests.e2e.terminal import atlas, ctrl

pytestmark = [
    pytest.mark.real_model,
    pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc"),
]

CANARY = "heliotropium"
DRAFT = "quoxilbrandt is half"


def memory_of(pid: int) -> bytes:
    """All that a process holds in memory and may be read, in one piece."""
    found = []
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if "r" not in line.split()[1] or line.endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                continue
            memory.seek(begin)
            try:
                found.append(memory.read(end - begin))
            except OSError:
                continue  # a page behind a device, or one that went meanwhile
    return b"\n".join(found)


def forms(text: str) -> list[bytes]:
    return [text.encode(), text.encode("utf-16-le"), text.encode("utf-32-le")]


def drafts_in(program: Program) -> list[str]:
    """What is kept of what is being typed, read while the program runs."""
    from memory.storage import connection

    conn = connection.open_to_read(program.paths.rooms / "open.db", key_of(program))
    try:
        return [text for (text,) in conn.execute("SELECT text FROM drafts")]
    finally:
        conn.close()


@cache
def key_of(program: Program) -> RoomKey:
    return Vault(program.paths.rooms, RoomKind.OPEN).unlock(PASSPHRASE)


def workers_of(pid: int) -> list[psutil.Process]:
    return [p for p in psutil.Process(pid).children(recursive=True) if "models.worker.main" in p.cmdline()]


@pytest.mark.skipif(os.name == "posix" and os.geteuid() != 0, reason="only root may read that memory")
def test_after_a_lock_no_process_holds_a_word_or_a_key(program: Program) -> None:
    key = key_of(program)
    secret = str(program.passphrase_file)
    with atlas(program.paths.home, "--passphrase-file", secret, columns=100, rows=30) as terminal:
        terminal.see("What is on your mind")
        terminal.write(f"The code word is {CANARY}.")
        terminal.press("enter")
        terminal.see(r"\d+ tok/s")
        terminal.write(DRAFT)
        terminal.see(DRAFT.split()[-1])
        before = memory_of(terminal.pid)
        assert any(form in before for form in forms(CANARY))
        assert key.data in before
        (worker,) = workers_of(terminal.pid)
        terminal.press(ctrl("l"))
        terminal.see("Locked", timeout=30)
        terminal.see("Enter unlocks")
        psutil.wait_procs([worker], timeout=2)
        assert not worker.is_running()
        # From where the old program gave the screen back.
        assert CANARY not in terminal.raw[terminal.raw.rindex("\x1b[?1049l") :]

        after = memory_of(terminal.pid)
        held = [form for text in (CANARY, DRAFT, PASSPHRASE) for form in forms(text) if form in after]
        held += [
            form
            for form in (key.data, key.data.hex().encode(), key.sqlcipher_hex().encode())
            if form in after
        ]
        assert held == []
        process = psutil.Process(terminal.pid)
        assert process.cmdline()[-3:] == ["--home", str(program.paths.home), "--locked"]
        assert CANARY not in repr(process.environ())
        assert secret not in process.cmdline()

        terminal.write(PASSPHRASE)
        terminal.press("enter")
        terminal.see(f"code word is {CANARY}")
        terminal.see(DRAFT)
        terminal.press(ctrl("q"))
        assert terminal.wait_for_end() == 0
    hits = [p for p in program.paths.home.rglob("*") if p.is_file() and DRAFT.encode() in p.read_bytes()]
    assert hits == []


def test_a_terminal_that_goes_away_costs_no_word(program: Program) -> None:
    secret = str(program.passphrase_file)
    with atlas(program.paths.home, "--passphrase-file", secret) as terminal:
        terminal.see("What is on your mind")
        terminal.write(DRAFT)
        terminal.see(DRAFT.split()[-1])
        terminal.hang_up()
    assert list(program.paths.temporary.iterdir()) == []
    assert not program.paths.rooms.joinpath("open.db-wal").exists()
    with atlas(program.paths.home, "--passphrase-file", secret) as terminal:
        terminal.see(DRAFT)
        terminal.press(ctrl("q"))
        assert terminal.wait_for_end() == 0


def test_a_crash_leaves_no_picture_of_memory_behind(program: Program, tmp_path: Path) -> None:
    """A draft that was kept survives even this."""
    secret = str(program.passphrase_file)
    with atlas(program.paths.home, "--passphrase-file", secret) as terminal:
        terminal.see("What is on your mind")
        terminal.write(DRAFT)
        terminal.see(DRAFT.split()[-1])
        limit = time.monotonic() + 30
        while not drafts_in(program):
            assert time.monotonic() < limit, "the draft was not kept"
            terminal.drain(0.1)
        limits = Path(f"/proc/{terminal.pid}/limits").read_text()
        assert re.search(r"Max core file size\s+0\s+0", limits)
        os.kill(terminal.pid, signal.SIGSEGV)
        terminal.wait_for_end()
    # Where a system keeps such pictures beside the program: its folder, or the home.
    found = [*Path.cwd().glob("core*"), *tmp_path.rglob("core*")]
    found = [path for path in found if path.is_file()]
    assert found == []
    with atlas(program.paths.home, "--passphrase-file", secret) as terminal:
        terminal.see(DRAFT)
        terminal.press(ctrl("q"))
        assert terminal.wait_for_end() == 0
