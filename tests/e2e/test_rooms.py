"""Rooms with the installed program and the real model: one talk that goes through all of them."""

import json
from typing import Any

import pytest

from tests.e2e.conftest import Program

pytestmark = pytest.mark.real_model

SECRET, UNSAVED, COPIED = "Quillfish-7", "Zorblax-9", "Vexnor-3"
LINES = (
    f"My boat is called {SECRET}.",
    "/private",
    "/close",
    "/sessions",
    "/off",
    f"Nobody knows {UNSAVED}.",
    "/new",
    f"I say {COPIED}.",
    "/keep",
)


def talked(program: Program, *lines: str) -> list[dict[str, Any]]:
    done = program.run("chat", "--jsonl", "--max-tokens", "4", input="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_one_talk_through_every_room(program: Program) -> None:
    events = talked(program, *LINES)
    assert [event for event in events if event["type"] == "error"] == []
    assert [event["memory_mode"] for event in events if event["type"] == "reply"] == ["normal", "off", "off"]
    (sessions,) = (event["text"] for event in events if event.get("code") == "sessions")
    assert SECRET not in sessions

    both = program.json("sessions", "list", "--private")
    assert {one["room"]: one["message_count"] for one in both} == {"open": 2, "private": 2}
    closed, opened = (program.run("export", "--all", *more).stdout for more in ((), ("--include-private",)))
    assert [word in closed for word in (SECRET, UNSAVED, COPIED)] == [False, False, True]
    assert [word in opened for word in (SECRET, UNSAVED, COPIED)] == [True, False, True]
