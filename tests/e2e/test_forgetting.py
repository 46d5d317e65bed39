"""Forgetting with the installed program: what would go, the receipt, and nothing left to be found."""

import json
from pathlib import Path

from tests.e2e.conftest import Program
from tests.e2e.test_memory import line


def test_all_that_speaks_of_something_is_forgotten_with_a_receipt(program: Program, tmp_path: Path) -> None:
    file = tmp_path / "talk.jsonl"
    lines = [
        line("boats", ("user", "My zeppelin leaks."), ("assistant", "Mend the zeppelin.")),
        line("food", ("user", "Soup for dinner."), ("assistant", "Good."), ("user", "Then the zeppelin.")),
    ]
    file.write_text("\n".join(lines), encoding="utf-8")
    program.json("import", str(file))
    kept = program.json("memory", "add", "Likes soup")
    program.json("memory", "add", "Has a zeppelin")

    tried = program.json("memory", "forget", "--about", "zeppelins", "--dry-run")
    assert (tried["forgotten"]["messages"], tried["forgotten"]["memories"]) == (3, 1)
    assert [one["title"] for one in tried["sessions"]] == ["boats"]
    refused = program.run("memory", "forget", "--about", "zeppelins", "--json", input="")
    assert (refused.returncode, json.loads(refused.stdout)["error"]["code"]) == (2, "usage")

    receipt = program.json("memory", "forget", "--about", "zeppelins", "--yes")
    assert receipt.keys() == {"forgotten", "rewritten", "cleared", "copies", "verified"}
    assert receipt["forgotten"].keys() == {
        "messages",
        "summaries",
        "memories",
        "vectors",
        "fulltext",
        "snapshots",
        "jobs",
        "documents",
        "chunks",
        "notes",
    }
    assert (receipt["forgotten"]["messages"], receipt["forgotten"]["memories"]) == (3, 1)
    assert receipt["verified"] is True
    assert program.json("memory", "search", "zeppelin")["hits"] == []
    assert [one["id"] for one in program.json("memory", "list")] == [kept["id"]]
    (kept_receipt,) = program.json("memory", "receipts")
    assert kept_receipt["chosen_by"] == "words"
    assert kept_receipt["forgotten"]["messages"] == 3
    assert kept_receipt["verified"] is True
    assert "zeppelin" not in program.run("memory", "receipts").stdout
