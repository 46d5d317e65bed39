"""Conversations into the installed program, from the archive as it was downloaded."""

import json
import zipfile
from pathlib import Path

from tests.e2e.conftest import Program
from tests.unit.importing.exports import chatgpt, node


def test_an_archive_comes_in_once_and_is_found_by_its_words(vault: Program, tmp_path: Path) -> None:
    program = vault
    talks = [
        chatgpt(
            node(f"{n}-u", "root", "user", f"Where to in {year}?"),
            node(f"{n}-a", f"{n}-u", "assistant", "To the Lofoten islands."),
            conversation_id=f"c{n}",
        )
        for n, year in enumerate((2024, 2025))
    ]
    archive = tmp_path / "export.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("conversations.json", json.dumps([*talks, {"mapping": 7}]))
        out.writestr("user.json", '{"id": "me"}')

    tried = program.json("import", str(archive), "--dry-run")
    assert (tried["sessions"], tried["messages"], tried["dry_run"]) == (2, 4, True)
    first = program.json("import", str(archive), "--project", "Past", "--memory", "blank")
    assert (first["sessions"], first["messages"], first["already_there"]) == (2, 4, 0)
    assert first["skipped"] == [
        {
            "where": "export.zip/conversations.json:3",
            "why": "not a conversation: no `mapping`, where ChatGPT stores messages",
        }
    ]
    assert first["passed_over"] == ["export.zip/user.json"]
    again = program.run("import", str(archive)).stdout
    assert "0 messages imported, 0 new conversations; 4 already there." in again
    listed = program.json("sessions", "list")
    assert {(one["project"], one["memory_mode"]) for one in listed} == {("Past", "blank")}
    found = program.json("sessions", "search", "lofoten")
    assert found
    (tmp_path / "notes.txt").write_text("milk, bread")
    refused = program.run("import", str(tmp_path / "notes.txt"), "--json")
    assert refused.returncode == 1
    assert json.loads(refused.stdout)["error"]["code"] == "unknown_export"
    (tmp_path / "broken.json").write_text(json.dumps([{"mapping": 7, "current_node": "a"}] * 2))
    broken = program.run("import", str(tmp_path / "broken.json"))
    assert broken.returncode == 1
    assert "broken.json:2: not a conversation" in broken.stderr
