"""What is remembered, put right and looked after with the installed program and the real embedding model."""

import json
import subprocess

import pytest

from tests.e2e.conftest import Program

pytestmark = pytest.mark.real_model


def test_memories_are_added_merged_collected_and_taken_back(program: Program) -> None:
    tea = program.json("memory", "add", "I love green tea", "--kind", "preference")
    assert (tea["state"], tea["tier"], tea["origin"]) == ("kept", "long_term", "person")
    more = program.json("memory", "add", "I love green tea in the morning", "--kind", "preference")
    parcel = program.json(
        "memory", "add", "The parcel comes", "--tier", "short_term", "--expires", "2026-01-01"
    )
    listed = program.json("memory", "list", "--kind", "preference")
    assert {one["id"] for one in listed} == {tea["id"], more["id"]}
    assert listed[0]["half_life_days"] > 20

    merged = program.json("memory", "consolidate")["merged"]
    assert [{part["id"] for part in one["parts"]} for one in merged] == [{tea["id"], more["id"]}]
    made = program.json("memory", "show", merged[0]["memory"]["id"])
    assert made["origin"] == "consolidation"
    assert {part["state"] for part in made["parts"]} == {"archived"}
    assert [one["text"] for one in program.json("memory", "list", "--kind", "preference")] == [
        "I love green tea in the morning"
    ]

    would = program.json("memory", "gc", "--dry-run")
    assert [(one["id"], one["why"]) for one in would["archive"]] == [(parcel["id"], "expired")]
    assert program.json("memory", "undo")["action"] == "consolidate"
    assert {one["id"] for one in program.json("memory", "list", "--kind", "preference")} == {
        tea["id"],
        more["id"],
    }


def test_what_cannot_be_found_or_read_is_told(vault: Program) -> None:
    missing = vault.run("memory", "show", "ffff", "--json")
    assert (missing.returncode, json.loads(missing.stdout)["error"]["code"]) == (1, "memory_not_found")
    closed = subprocess.run(
        [vault.executable, "memory", "list", "--json"],
        env=vault.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (closed.returncode, json.loads(closed.stdout)["error"]["code"]) == (3, "locked")
