"""Backup, restore, new keys and the end, through the installed program."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import Program

SESSION = {
    "id": "s1",
    "title": "Garden",
    "created_at": "2026-01-05T10:00:00Z",
    "messages": [
        {
            "id": "m1",
            "role": "user",
            "speaker": "user",
            "content": "tomatoes",
            "created_at": "2026-01-05T10:00:00Z",
        }
    ],
}


@pytest.fixture
def written(empty_program: Program, made_rooms: Path) -> Program:
    """A home with one conversation."""
    for file in made_rooms.iterdir():
        (empty_program.paths.rooms / file.name).write_bytes(file.read_bytes())
    add(empty_program, "s1")
    return empty_program


def add(program: Program, name: str) -> None:
    file = program.paths.home / "import.jsonl"
    file.write_text(json.dumps({**SESSION, "id": name}) + "\n")
    program.json("import", str(file), "--format", "jsonl")


def holding(program: Program) -> "subprocess.Popen[str]":
    """The program, open in line mode: it holds the home and its room."""
    return subprocess.Popen(
        program.command("chat", "--jsonl"),
        env=program.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_a_backup_makes_no_folder_for_a_stick_that_is_not_there(written: Program, tmp_path: Path) -> None:
    missing = tmp_path / "stick"
    refused = written.run("vault", "backup", "--output", str(missing / "atlas.backup"), "--json")
    assert json.loads(refused.stdout)["error"]["code"] == "output_refused"
    assert not missing.exists()
    missing.mkdir()
    made = written.json("vault", "backup", "--output", str(missing / "atlas.backup"))
    assert made["path"] == str(missing / "atlas.backup")
    assert written.json("vault", "backup", "--output", str(missing))["verified"]


def test_backup_beside_an_open_program_restore_rekey_and_destroy(written: Program) -> None:
    with holding(written) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdin.write('{"command": "/context"}\n')
        other.stdin.flush()
        other.stdout.readline()
        backup = written.json("vault", "backup")
        other.stdin.close()
    assert (backup["verified"], backup["checked"]) == (True, ["open", "private"])

    add(written, "s2")
    refused = written.run("vault", "restore", backup["path"])
    assert (refused.returncode, "1 message and 1 whole conversation from" in refused.stderr) == (2, True)
    restored = written.json("vault", "restore", backup["path"], "--yes")
    assert (restored["restored"], restored["lost"]["messages"]) == (True, 1)

    recovery_key = written.json("vault", "rekey")["recovery_key"]
    assert len(recovery_key) == 44
    report = written.json("vault", "verify")
    assert (report["sound"], report["sessions"], report["freshness"]) == (True, 1, "current")
    assert [room["room"] for room in report["rooms"]] == ["open", "private"]

    assert written.json("vault", "destroy", "--yes")["destroyed"]["key_files"] == 4
    assert written.run("vault", "status").returncode == 3


def test_an_older_room_is_told_of(written: Program) -> None:
    database = written.paths.rooms / "open.db"
    old = database.read_bytes()
    add(written, "s2")
    database.write_bytes(old)
    told = written.run("sessions", "retention", "--json")
    assert json.loads(told.stdout)["would_remove"] == []
    assert "older than when you last used it" in told.stderr
    status = written.run("vault", "status", "--json")
    assert json.loads(status.stdout)["rollback_noticed_at"]
    assert status.stderr == ""
