"""What a process denies itself, and what it leaves behind."""

import argparse
import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from atlas_desktop.__main__ import build_parser
from atlas_desktop.paths import Paths
from atlas_desktop.process import remove_private_temporary_folder, use_private_temporary_folder
from atlas_desktop.tui.base import report_of
from memory.entities import RoomKind
from memory.errors import MemoryFault
from memory.vault.keys import KdfParams
from memory.vault.vault import Vault
from models.worker.client import environment

ROOT = Path(__file__).resolve().parents[2]
PASSPHRASE = "vermilion ladder of the north"
CHEAP = KdfParams(memory_kib=64 * 1024, iterations=1, lanes=1)


@pytest.mark.skipif(sys.platform != "linux", reason="as Linux tells it")
@pytest.mark.parametrize(
    "how",
    [
        "from atlas_desktop.process import harden; harden()",
        "from models.confinement import begin_child; begin_child()",
    ],
    ids=["application", "child"],
)
def test_nobody_else_reads_its_memory_and_its_files_are_its_owners(how: str) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); {how}\n"
        "import ctypes, os, resource\n"
        "print(ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), resource.getrlimit(resource.RLIMIT_CORE), os.umask(0))"
    )
    # The worker writes no files: it has the mask of the application that starts it.
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, umask=0o077
    )
    assert done.stdout.split("\n")[0] == f"0 (0, 0) {0o077}"


def test_temporary_files_stay_in_the_home_and_end_with_their_program(
    home: Paths, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, "/somewhere/else")
    monkeypatch.setattr("tempfile.tempdir", None)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    left, running = home.temporary / str(dead.pid), home.temporary / str(os.getppid())
    for folder in (left, running):
        folder.mkdir(parents=True)
        (folder / "words").write_text("what was being written")
    use_private_temporary_folder(home)
    mine = home.temporary / str(os.getpid())
    assert {os.environ[name] for name in ("TMPDIR", "TEMP", "TMP")} == {str(mine)}
    assert mine.stat().st_mode & 0o777 == 0o700
    assert (left.exists(), running.exists()) == (False, True)
    remove_private_temporary_folder(home)
    assert not mine.exists()


def test_a_worker_is_told_nothing_of_the_person(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "USER", "ATLAS_HOME", "ATLAS_CHAT_SYSTEM_PROMPT", "SSH_AUTH_SOCK", "MY_API_KEY"):
        monkeypatch.setenv(name, "a secret of somebody")
    assert "a secret of somebody" not in environment().values()


def test_no_option_takes_a_secret_itself() -> None:
    """What stands on a command line is seen by every program of the computer."""

    def options(parser: argparse.ArgumentParser) -> list[argparse.Action]:
        found = list(parser._actions)
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                found += [inner for child in action.choices.values() for inner in options(child)]
        return found

    named = {
        name
        for action in options(build_parser())
        for name in action.option_strings
        if action.nargs != 0 and any(word in name for word in ("pass", "secret", "key"))
    }
    assert "--passphrase-file" in named
    assert all(name.endswith(("-file", "-fd")) for name in named), named


def test_neither_traceback_nor_report_nor_error_holds_a_secret(tmp_path: Path) -> None:
    vault = Vault(tmp_path, RoomKind.OPEN, CHEAP)
    key, recovery = vault.create(PASSPHRASE)
    wrong = PASSPHRASE[::-1]
    told = [repr(key), str(key), repr(vault), repr(vault.status())]

    def fails() -> None:
        vault.unlock(wrong)

    def fails_too() -> None:
        vault.unlock_with_recovery("-".join(["AAAA"] * 9))

    for attempt in (fails, fails_too):
        with pytest.raises(MemoryFault) as caught:
            attempt()
        told += [report_of(caught.value), repr(caught.value), str(caught.value)]
        told.append("".join(traceback.format_exception(caught.value)))
    everything = "\n".join(told)
    secrets = (PASSPHRASE, wrong, recovery, recovery.replace("-", ""), key.data.hex(), key.salt.hex())
    assert [secret for secret in secrets if secret in everything] == []
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert [secret for secret in secrets[:5] if secret.encode() in files] == []
    assert key.data not in files


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_secret_from_a_file_is_on_no_command_line_and_in_no_environment(tmp_path: Path) -> None:
    """The process looks at itself while it holds the passphrase."""
    secret = tmp_path / "passphrase"
    secret.write_text(PASSPHRASE)
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from pathlib import Path\n"
        "from atlas_desktop.cli.context import read_secret\n"
        "held = read_secret(sys.argv[1])\n"
        "told = [Path('/proc/self', name).read_text() for name in ('cmdline', 'environ')]\n"
        "print(*(held in text for text in told), len(held))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(secret)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False", str(len(PASSPHRASE))]
