"""Tasks with the installed program and the real models: run, interrupted, killed, revised, forgotten."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Program
from tests.e2e.test_document_traces import canary
from tests.security.scanner import needles_of, scan

pytestmark = pytest.mark.real_model
BRIEF = "Compare the weight, price and boiling time of the three stoves, and say which one suits me."
STOVES = {"Alpine": (310, 45, 4), "Brook": (190, 28, 9), "Cinder": (420, 60, 7)}


@pytest.fixture
def stoves(program: Program, tmp_path: Path) -> Path:
    """Three documents in the library, and a limit in the memory."""
    folder = tmp_path / "stoves"
    folder.mkdir()
    for name, (weight, price, minutes) in STOVES.items():
        text = f"The {name} stove weighs {weight} g and costs {price} euros."
        more = f"It boils a litre in {minutes} minutes."
        (folder / f"{name}.md").write_text(f"# {name} stove\n\n{text} {more}\n", encoding="utf-8")
    program.json("docs", "add", str(folder))
    program.json("memory", "add", "I never carry more than 250 g of stove.")
    return folder


def started(program: Program, *args: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        program.command(*args), env=program.environment, stdout=subprocess.PIPE, text=True
    )


def until(process: "subprocess.Popen[str]", kind: str) -> list[dict[str, Any]]:
    """The events of a task up to one of a kind."""
    assert process.stdout is not None
    seen: list[dict[str, Any]] = []
    for line in process.stdout:
        seen.append(json.loads(line))
        if seen[-1]["type"] == kind:
            break
    return seen


def test_a_task_ends_with_a_report_whose_citations_are_true(program: Program, stoves: Path) -> None:
    task = program.json("task", "run", BRIEF, "--baseline")
    assert task["state"] == "done"
    result = task["result"]
    assert all(str(figure) in result["text"] for figures in STOVES.values() for figure in figures)
    assert "Brook stove is the one that keeps to every limit" in result["text"]
    for one in result["citations"]:
        assert one["verified"]
        if "document" in one:
            text = program.run("docs", "text", one["document"]).stdout
            assert text[one["chars"][0] : one["chars"][1]] == one["quote"]
    assert {step["team"] for step in task["steps"]} == {"research", "analysis", "writing", "rating"}
    assert all(0 < step["context_tokens"] <= 8000 for step in task["steps"])
    assert task["baseline"]["text"]
    assert result["document"] in {one["id"] for one in program.json("docs", "list")}
    assert program.json("task", "show", task["id"])["result"] == result


def test_a_killed_task_goes_on_where_it_was(program: Program, stoves: Path) -> None:
    with started(program, "task", "run", BRIEF, "--jsonl") as process:
        seen = until(process, "returned")
        process.kill()
    task_id = seen[0]["task"]
    before = program.json("task", "show", task_id)
    assert before["state"] == "running"
    ended = program.json("task", "resume", task_id)
    assert ended["state"] == "done"
    assert ended["steps"][0] == before["steps"][0]


def test_an_interrupted_task_is_paused(program: Program, stoves: Path) -> None:
    with started(program, "task", "run", BRIEF, "--jsonl") as process:
        seen = until(process, "assigned")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    assert program.json("task", "show", seen[0]["task"])["state"] == "paused"
    assert program.json("task", "resume", seen[0]["task"])["state"] == "done"


def test_a_task_that_asks_is_answered_and_approved(program: Program, stoves: Path) -> None:
    asked = program.json("task", "run", "Compare the weight and the warranty of the three stoves.")
    assert (asked["state"], asked["asked"], asked["rounds"]) == ("waiting", "parts_missing", 1)
    again = program.json("task", "revise", asked["id"], "Leave out the warranty.")
    assert again["state"] == "done"
    other = program.json(
        "task", "run", "Compare the weight and the colour of the three stoves.", "--rounds", "0"
    )
    assert other["state"] == "waiting"
    assert program.json("task", "approve", other["id"])["state"] == "done"
    assert [one["state"] for one in program.json("task", "list")] == ["done", "done"]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (("run", " "), "brief_missing"),
        (("run", "Plan the trip.", "--teams", "magic"), "usage"),
        (("run", "Plan the trip.", "--project", "nowhere"), "project_not_found"),
        (("run", "Plan the trip.", "--doc", "0000"), "document_not_found"),
        (("show", "0000"), "task_not_found"),
    ],
)
def test_mistakes_are_explained(program: Program, given: tuple[str, ...], code: str) -> None:
    done = program.run("task", *given, "--json")
    assert done.returncode != 0
    error = json.loads(done.stdout)["error"]
    assert error["code"] == code
    assert all(error[name] for name in ("title", "message", "next_step"))


def test_no_word_of_a_task_is_on_the_disk(program: Program, tmp_path: Path) -> None:
    texts = {"brief": canary("Kestrel"), "text": canary("Osprey"), "guidance": canary("Merlin")}
    paper = tmp_path / "paper.md"
    paper.write_text(f"# Boats\n\nThe boat of {texts['text']} has two masts.\n", encoding="utf-8")
    program.json("docs", "add", str(paper))
    paper.unlink()
    task = program.json("task", "run", f"What is said about the boat? {texts['brief']}")
    program.json("task", "revise", task["id"], f"Look for {texts['guidance']}, too.")
    found = scan([program.paths.home], needles_of(texts))
    assert found.files > 3
    assert list(map(str, found.hits)) == []


def test_a_task_is_forgotten_by_its_words(program: Program, stoves: Path) -> None:
    task = program.json("task", "run", BRIEF)
    receipt = program.json("memory", "forget", "--about", "Cinder", "--yes")
    assert receipt["verified"]
    assert task["id"] not in {one["id"] for one in program.json("task", "list")}
