"""Conversations out of the installed program: the way from the command line to other people's readers."""

import csv
import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pyrage  # type: ignore[import-untyped]

from tests.e2e.conftest import Program


def fill(program: Program, folder: Path, sessions: int = 2, messages: int = 2) -> Path:
    """Takes conversations in; returns the file that they came from."""
    lines = []
    for number in range(sessions):
        said = [
            {
                "id": f"s{number}.{at}",
                "role": "assistant" if at % 2 else "user",
                "speaker": "",
                "content": f"=1+{at} from dana@example.org",
                "created_at": "2024-02-03T04:05:00+00:00",
            }
            for at in range(messages)
        ]
        line = {
            "id": f"s{number}",
            "title": f"Trip {number}",
            "project": None,
            "created_at": "2024-02-03T04:00:00+00:00",
            "updated_at": "2024-02-03T04:05:00+00:00",
            "tags": ["a"] if number else [],
            "messages": said,
        }
        lines.append(json.dumps(line) + "\n")
    file = folder / "in.jsonl"
    file.write_text("".join(lines), encoding="utf-8")
    assert program.json("import", str(file))["sessions"] == sessions
    return file


def test_conversations_leave_in_the_way_that_was_asked_for(vault: Program, tmp_path: Path) -> None:
    program = vault
    given = fill(program, tmp_path)
    out = program.run("export", "--all")
    assert out.stdout == given.read_text(encoding="utf-8")
    assert "unencrypted" in out.stderr

    preview = program.json("export", "--query", "tag:a", "--preview", "--redact", "--format", "md")
    assert (preview["sessions"], preview["redacted"]) == (1, {"emails": 2})
    assert preview["replacements"] == [
        {"kind": "emails", "text": "dana@example.org", "replacement": "[email 1]", "count": 2}
    ]

    table = tmp_path / "out.csv"
    assert (
        program.json("export", "--all", "--redact", "emails", "--output", str(table))["redacted"]["emails"]
        == 4
    )
    with table.open(encoding="utf-8", newline="") as file:
        assert {row["content"] for row in csv.DictReader(file)} == {
            "'=1+0 from [email 1]",
            "'=1+1 from [email 1]",
        }

    unknown = tmp_path / "out.docx"
    refused = program.run("export", "--all", "--output", str(unknown))
    assert refused.returncode == 2
    assert ".docx" in refused.stderr
    assert not unknown.exists()

    sealed = tmp_path / "out.md.age"
    secret = str(program.passphrase_file)
    program.json("export", "--all", "--output", str(sealed), "--encrypt-passphrase-file", secret)
    text = pyrage.passphrase.decrypt(sealed.read_bytes(), Path(secret).read_text().strip()).decode()
    assert text.count("\n# Trip") == 2
    assert {path.stat().st_mode & 0o777 for path in (table, sealed)} == {0o600}


def test_at_a_terminal_it_asks_and_who_interrupts_finds_nothing(vault: Program, tmp_path: Path) -> None:
    fill(vault, tmp_path, sessions=1500, messages=1)
    folder = tmp_path / "out"
    folder.mkdir()
    command = vault.command("export", "--all", "--format", "html", "--output", str(folder / "a.html"))

    leader, terminal = pty.openpty()
    os.write(leader, b"n\n")
    asked = subprocess.run(
        command,
        env=vault.environment,
        stdin=terminal,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    os.close(leader)
    os.close(terminal)
    assert "1,500 conversations will be written" in asked.stderr
    assert asked.returncode == 1
    assert list(folder.iterdir()) == []

    work = subprocess.Popen(command, env=vault.environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    until = time.monotonic() + 30
    while not list(folder.iterdir()) and time.monotonic() < until:
        os.sched_yield()
    work.send_signal(signal.SIGINT)
    work.communicate(timeout=60)
    assert work.returncode == 130
    assert list(folder.iterdir()) == []
