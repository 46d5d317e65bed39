"""Conversations in, found again by what they mean, and out, with the installed program and the real model."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Program

pytestmark = pytest.mark.real_model


def line(name: str, *said: tuple[str, str]) -> str:
    messages = [
        {
            "id": f"{name}.{n}",
            "role": role,
            "speaker": role,
            "content": text,
            "created_at": f"2024-02-03T04:0{n}:00+00:00",
        }
        for n, (role, text) in enumerate(said)
    ]
    return json.dumps(
        {
            "id": name,
            "title": name,
            "project": "P",
            "created_at": "2024-02-03T04:00:00+00:00",
            "tags": ["a"],
            "messages": messages,
        }
    )


def test_what_was_imported_is_found_by_its_meaning_and_goes_out_again(
    program: Program, tmp_path: Path
) -> None:
    thanks = ("assistant", "Thanks for telling me, I will keep that in mind.")
    file = tmp_path / "talk.jsonl"
    lines = [
        line("school", ("user", "I dislike online learning and want to sit in a classroom."), thanks),
        line("food", ("user", "Spicy meals are bad for my stomach."), thanks),
        line("travel", ("user", "I am afraid of flying and take the train."), thanks),
        "{broken",
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    report = program.json("import", str(file))
    assert (report["sessions"], report["messages"], report["already_there"]) == (3, 6, 0)
    assert [one["where"] for one in report["skipped"]] == ["talk.jsonl:4"]
    assert program.json("import", str(file), "--format", "jsonl")["already_there"] == 6

    assert program.json("jobs", "run")["failed"] == 0

    asked = ["recommend a course", json.dumps({"query": "which dish should I order", "project": "P", "k": 1})]
    done = program.run("memory", "recall", "--stdin", "--jsonl", "-k", "2", input="\n".join(asked) + "\n")
    assert done.returncode == 0, done.stderr
    course, dish = map(json.loads, done.stdout.splitlines())
    assert course["query"] == "recommend a course"
    assert len(course["hits"]) == 2
    assert course["hits"][0]["source"]["external_id"] == "school.0"
    assert course["hits"][0]["parts"]["semantic"] == 1.0
    assert [hit["source"]["external_id"] for hit in dish["hits"]] == ["food.0"]
    assert dish["took_ms"] > 0

    program.json("memory", "add", "The person is afraid of flying.")
    both = program.json("memory", "search", "flying")["hits"]
    assert {hit["kind"] for hit in both} == {"message", "memory"}
    (found,) = program.json("memory", "search", "flying", "--kinds", "message")["hits"]
    assert found["source"]["external_id"] == "travel.0"

    written = tmp_path / "out.jsonl"
    assert program.json("export", "--all", "--output", str(written))["sessions"] == 3
    assert written.stat().st_mode & 0o777 == 0o600
    given = {json.loads(text)["id"]: json.loads(text)["messages"] for text in lines[:3]}
    out = [json.loads(text) for text in written.read_text(encoding="utf-8").splitlines()]
    assert {one["id"]: one["messages"] for one in out} == given
