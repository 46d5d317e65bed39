"""The background queue, driven from outside as a script would."""

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from atlas_desktop.bootstrap import build_desk
from memory.jobs.queue import Job
from memory.storage.jobs import JobStore
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from tests.e2e.conftest import PASSPHRASE, Program

T = TypeVar("T")


def in_room(program: Program, work: Callable[[Store], Awaitable[T]]) -> T:
    """What `work(store)` returns; nothing of the program runs meanwhile."""

    async def main() -> T:
        desk = build_desk(program.paths)
        key: RoomKey = await desk.vault.unlock(PASSPHRASE)
        room = await desk.enter(key)
        try:
            return await work(room.store)
        finally:
            await desk.close()

    return asyncio.run(main())


def queue(program: Program, kind: str, key: str) -> None:
    in_room(program, lambda store: store.jobs.add(kind, key))


def titles(program: Program) -> list[dict[str, Any]]:
    """The jobs that name conversations."""
    return [job for job in program.json("jobs", "list")["jobs"] if job["kind"] == "title"]


def chat_model_of(program: Program) -> Path:
    return next(file for file in program.paths.models.glob("*.gguf") if "smollm2" in file.name)


def test_a_job_of_an_unknown_kind_waits_and_is_told_of(vault: Program) -> None:
    queue(vault, "from-the-future", "k")
    listed = vault.json("jobs", "list")
    assert listed["paused"] is False
    assert all(set(duty) == {"name", "every_hours", "done_at", "due"} for duty in listed["duties"])
    (job,) = listed["jobs"]
    assert set(job) == {
        "id",
        "kind",
        "session",
        "state",
        "attempts",
        "not_before",
        "error",
        "created_at",
    }
    assert (job["kind"], job["session"], job["state"], job["attempts"], job["error"]) == (
        "from-the-future",
        None,
        "queued",
        0,
        None,
    )
    assert datetime.fromisoformat(job["not_before"]).utcoffset() is not None
    assert "from-the-future" in vault.run("jobs", "list").stdout
    report = vault.json("jobs", "run")
    assert (report["failed"], report["remaining"]) == (0, 1)


def test_a_pause_outlives_the_program(vault: Program) -> None:
    assert vault.json("jobs", "pause") == {"paused": True}
    assert vault.json("jobs", "list")["paused"] is True
    assert vault.json("jobs", "run") == {"done": 0, "failed": 0, "remaining": 0, "held": "paused"}
    assert "atlas jobs resume" in vault.run("jobs", "list").stdout
    assert vault.json("jobs", "resume") == {"paused": False}
    assert vault.json("jobs", "run")["held"] is None


@pytest.mark.real_model
def test_titles_are_made_by_the_queue_and_a_missing_model_is_told_of(program: Program) -> None:
    said = program.json(
        "ask", "Why are there two high tides a day, and not one?", "--max-tokens", "12", "--temperature", "0"
    )
    (job,) = titles(program)
    assert (job["session"], job["state"]) == (said["session"], "queued")

    model = chat_model_of(program)
    hidden = model.rename(program.paths.home / "elsewhere")
    failed = program.run("jobs", "run", "--json")
    assert failed.returncode == 1
    report = json.loads(failed.stdout)
    assert set(report) == {"done", "failed", "remaining", "held"}
    assert (report["failed"], report["remaining"], report["held"]) == (1, 1, None)
    (waiting,) = titles(program)
    assert (waiting["state"], waiting["attempts"]) == ("queued", 1)
    assert waiting["error"].split()[0] in ("NoModel", "ModelFileMissing")
    hidden.rename(model)

    async def due_now(store: Store) -> None:
        jobs: JobStore = store.jobs
        (found,) = await jobs.list()
        claimed = await jobs.claim(found.not_before)
        assert isinstance(claimed, Job)
        await jobs.put_back(claimed, found.created_at)

    in_room(program, due_now)
    report = program.json("jobs", "run")
    assert (report["done"], report["failed"], report["remaining"]) == (1, 0, 0)
    session = program.json("sessions", "list")[0]
    # A model this small may have no idea that can be used; then the first words stay, and nothing waits.
    assert session["title_source"] in ("model", "first_words")
    assert program.json("jobs", "list")["jobs"] == []
    assert program.json("jobs", "run")["done"] == 0


@pytest.mark.real_model
@pytest.mark.skipif(os.name == "nt", reason="signals of a terminal")
def test_ctrl_c_queues_the_job_again(program: Program) -> None:
    program.json("ask", "Name a river.", "--max-tokens", "4")
    running = subprocess.Popen(
        program.command("jobs", "run"), env=program.environment, stderr=subprocess.PIPE, text=True
    )
    with running:
        assert running.stderr is not None
        # The model is loaded for the job, so it cannot be over yet.
        while not running.stderr.readline().startswith("title "):
            assert running.poll() is None
        running.send_signal(signal.SIGINT)
        rest = running.stderr.read()
    assert running.returncode == 130
    assert "Traceback" not in rest
    (job,) = titles(program)
    assert (job["state"], job["attempts"], job["error"]) == ("queued", 0, None)
