"""Two homes, the installed program, one folder: they come to the same, whatever is killed."""

import json
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.paths import Paths
from tests.e2e.conftest import Program, written
from tests.security.scanner import scan, text_needles

CANARY = "Quillfish-7"


def _talk(program: Program, folder: Path, number: int) -> None:
    """Imports a talk with a canary in its title, project and messages."""
    file = folder / f"{number}.jsonl"
    at = "2025-02-03T04:05:06Z"
    said = [f"{CANARY} {number} {place}" for place in range(6)]
    messages = [{"id": text, "role": "user", "content": text, "created_at": at} for text in said]
    line = {
        "id": f"talk{number}",
        "title": f"{CANARY} talk {number}",
        "project": CANARY,
        "created_at": at,
        "messages": messages,
    }
    file.write_text(json.dumps(line) + "\n")
    program.json("import", str(file), "--format", "jsonl")


def _exported(program: Program) -> list[str]:
    return sorted(program.run("export", "--all", "--format", "jsonl").stdout.splitlines())


@pytest.fixture
def programs(tmp_path: Path, made_rooms: Path) -> Callable[[str], Program]:
    """Makes programs with a home, a vault and no models."""

    def make(name: str) -> Program:
        paths = Paths(tmp_path / name)
        paths.ensure()
        shutil.copytree(made_rooms, paths.rooms, dirs_exist_ok=True)
        return Program(paths, written(tmp_path / f"{name}-passphrase"))

    return make


@pytest.fixture
def pair(programs: Callable[[str], Program], tmp_path: Path) -> tuple[Program, Program, Path]:
    """Two programs, and the folder between them."""
    folder = tmp_path / "between"
    folder.mkdir()
    one, two = programs("one"), programs("two")
    begun = one.json("sync", "init", str(folder), "--name", "first")
    code = tmp_path / "code"
    code.write_text(begun["code"] + "\n")
    _talk(one, tmp_path, 1)
    one.json("sync", "now")
    two.json("sync", "join", str(folder), "--code-file", str(code), "--name", "second")
    return one, two, folder


def _settle(*programs: Program) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(2):
        for program in programs:
            found = program.json("sync", "now")
    return found


def test_a_removed_device_says_so_once_it_knows(pair: tuple[Program, Program, Path]) -> None:
    one, two, _folder = pair
    _settle(one, two)
    before = two.json("sync", "status")
    assert before["removed"] is False
    one.json("sync", "remove-device", "second", "--yes")
    assert json.loads(two.run("sync", "now", "--json").stdout)["error"]["code"] == "sync_device_removed"
    found = two.json("sync", "status")
    assert found["removed"] is True
    assert found.keys() == before.keys()
    said = two.run("sync", "status").stdout
    assert "This device was removed by another one" in said
    assert "To be sent" not in said
    assert "second  this device, removed by another one" in two.run("sync", "devices").stdout
    assert one.json("sync", "status")["removed"] is False


def test_a_talk_that_one_device_forgets_is_gone_from_both(pair: tuple[Program, Program, Path]) -> None:
    one, two, _folder = pair
    assert _exported(one) == _exported(two)
    assert CANARY in "".join(_exported(two))
    (talk,) = two.json("sessions", "list")
    two.json("memory", "forget", "--session", talk["id"], "--yes")
    one.json("sessions", "rename", talk["id"], "Edited meanwhile")
    _settle(one, two)
    assert _exported(one) == _exported(two) == []
    assert {device["name"] for device in one.json("sync", "devices")} == {"first", "second"}


@pytest.mark.parametrize("times", [6, pytest.param(60, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])])
def test_killed_while_it_syncs_it_loses_nothing(
    pair: tuple[Program, Program, Path], tmp_path: Path, times: int
) -> None:
    one, two, folder = pair
    rnd = random.Random(7)
    for number in range(2, 2 + times):
        _talk(one, tmp_path, number)
        process = subprocess.Popen(
            one.command("sync", "now"),
            env=one.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(rnd.uniform(0.2, 1.5))
        process.send_signal(signal.SIGKILL)
        process.wait()
    last = _settle(one, two)
    assert last["problems"] == []
    assert len(_exported(one)) == 1 + times
    assert _exported(one) == _exported(two)
    assert [file.name for file in folder.rglob("*") if file.name.endswith(".tmp")] == []


def test_the_folder_holds_no_word_and_no_telling_name(pair: tuple[Program, Program, Path]) -> None:
    _one, _two, folder = pair
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert files
    assert scan([folder], text_needles("canary", CANARY)).hits == ()
    assert not [file for file in files if CANARY in file.name]


def test_a_wrong_code_and_a_missing_folder_are_explained(
    programs: Callable[[str], Program], tmp_path: Path
) -> None:
    program = programs("alone")
    folder = tmp_path / "between"
    folder.mkdir()
    code = tmp_path / "wrong"
    code.write_text("ABCD-EFGH\n")
    done = program.run("sync", "join", str(folder), "--code-file", str(code), "--json")
    assert json.loads(done.stdout)["error"]["code"] == "sync_code_mistyped"
    done = program.run("sync", "init", str(tmp_path / "absent"), "--json")
    assert json.loads(done.stdout)["error"]["code"] == "sync_folder_missing"
    done = program.run("sync", "now", "--json")
    assert json.loads(done.stdout)["error"]["code"] == "not_synced"
