"""Order with the installed program, and no model: what is marked in one run is so in the next."""

import json
from pathlib import Path

from tests.e2e.conftest import Program


def brought_along(program: Program, folder: Path) -> None:
    lines = [
        {
            "id": f"s{n}",
            "title": f"About {word}",
            "created_at": f"2026-0{n}-01T10:00:00Z",
            "messages": [{"id": f"m{n}", "role": "user", "content": f"I like {word}."}],
        }
        for n, word in enumerate(("peas", "rain", "trains"), start=1)
    ]
    file = folder / "talks.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert program.json("import", str(file))["sessions"] == 3


def test_conversations_are_kept_in_order(program: Program, tmp_path: Path) -> None:
    brought_along(program, tmp_path)
    ids = {one["title"]: one["id"] for one in program.json("sessions", "list")}
    peas, rain, trains = (ids[f"About {word}"] for word in ("peas", "rain", "trains"))
    assert program.json("project", "create", "Garden")["name"] == "Garden"
    moved = program.json("sessions", "project", f"{peas},{rain}", "garden")
    assert [one["project"] for one in moved["sessions"]] == ["Garden", "Garden"]
    assert len(moved["changed"]) == 2
    assert len(program.json("sessions", "undo")["changed"]) == 2
    assert program.json("sessions", "tag", peas, "green", "#food")["tags"] == ["food", "green"]
    assert program.json("sessions", "archive", trains)["archived"]
    assert [one["id"] for one in program.json("sessions", "list", "--archived")] == [trains]
    merged = program.json("sessions", "merge", peas, rain)
    assert (merged["message_count"], merged["merged"]["sources"]) == (2, [rain])
    found = program.json("insights")
    assert found["totals"]["sessions"] == 2
    assert {one["name"] for one in found["topics"]} == {"green", "food"}
    restored = program.json("sessions", "restore", rain)
    assert (restored["message_count"], restored["archived"]) == (1, False)
