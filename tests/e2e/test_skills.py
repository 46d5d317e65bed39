"""Skills with the installed program and the real models: imported, approved, used, rolled back, exported."""

import json
from pathlib import Path
from secrets import token_hex

import pytest

from tests.e2e.conftest import Program
from tests.e2e.test_document_traces import canary
from tests.security.scanner import needles_of, scan

pytestmark = pytest.mark.real_model
BODY = "1. Read the forecast.\n2. Pack Zephyrcoat-4411 and two ropes.\n3. Tell the harbour.\n"
ASKED = "How do I pack for a weekend of sailing?"


def ask(program: Program, text: str, *more: str) -> list[str]:
    reply = program.json("ask", text, "--max-tokens", "8", *more)
    return [f"{one['name']} {one['version']}" for one in reply.get("skills", [])]


def test_a_skill_is_used_only_when_it_is_approved_and_fits(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "pack-for-sailing"
    folder.mkdir(parents=True)
    file = folder / "SKILL.md"
    text = f"---\nname: pack-for-sailing\ndescription: How to pack for a weekend of sailing.\n---\n\n{BODY}"
    file.write_text(text, encoding="utf-8")
    (skill,) = program.json("skills", "import", str(folder.parent))["skills"]
    (listed,) = program.json("skills", "list")
    assert (listed["id"], listed["state"], listed["approved_at"]) == (skill, "draft", None)
    assert ask(program, ASKED) == []
    assert program.json("skills", "approve", skill, "--yes")["state"] == "approved"
    assert ask(program, ASKED) == ["pack-for-sailing 1"]
    assert ask(program, "What should I take along on the boat next weekend?") == ["pack-for-sailing 1"]
    assert ask(program, "What is the capital of France?") == []
    assert ask(program, ASKED, "--memory", "blank") == []
    assert ask(program, ASKED, "--memory", "off") == []

    new = tmp_path / "new.md"
    new.write_text(BODY.replace("two ropes", "three ropes"), encoding="utf-8")
    assert program.json("skills", "edit", skill, "--file", str(new))["version"] == 2
    assert ask(program, ASKED) == ["pack-for-sailing 2"]
    assert "two ropes" in program.json("skills", "rollback", skill, "--to", "1", "--yes")["body"]
    assert program.json("skills", "show", skill)["uses"] == 3
    out = tmp_path / "out"
    assert program.run("skills", "export", str(out)).returncode == 0
    assert (out / "pack-for-sailing" / "SKILL.md").read_text(encoding="utf-8") == text
    assert program.json("skills", "remove", skill, "--yes")["removed"] == [skill]
    assert ask(program, ASKED) == []


def test_the_first_version_has_no_earlier_one_and_a_retired_skill_stays_retired(
    program: Program, tmp_path: Path
) -> None:
    program.json("skills", "new", "pack", "--description", "How to pack for sailing.", "--text", BODY)
    refused = json.loads(program.run("skills", "rollback", "pack", "--yes", "--json").stdout)["error"]
    assert (refused["code"], refused["message"]) == (
        "skill_version_not_found",
        "The skill has no earlier version. No changes were made.",
    )
    new = tmp_path / "new.md"
    new.write_text(BODY.replace("two ropes", "three ropes"), encoding="utf-8")
    program.json("skills", "edit", "pack", "--file", str(new))
    program.json("skills", "retire", "pack")
    said = program.run("skills", "rollback", "pack", "--yes").stdout
    assert "Version 1 of “pack” is chosen, but the skill is retired" in said


def test_why_names_the_skill_of_a_reply(program: Program) -> None:
    program.json(
        "skills", "new", "pack-for-sailing", "--description", "How to pack for sailing.", "--text", BODY
    )
    reply = program.json("ask", ASKED, "--max-tokens", "8")
    assert program.json("memory", "why", reply["message"])["skills"] == reply["skills"]
    judged = program.json("skills", "judge", reply["message"], "helped")
    assert judged["skills"] == [reply["skills"][0]["id"]]
    assert program.json("skills", "show", "pack-for-sailing")["helped"] == 1


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (("new", "Bad Name", "--description", "x", "--text", "y"), "skill_invalid"),
        (("show", "nothing"), "skill_not_found"),
        (("edit", "nothing"), "usage"),
        (("import", "/missing/folder"), "document_missing"),
    ],
)
def test_mistakes_are_explained(program: Program, given: tuple[str, ...], code: str) -> None:
    done = program.run("skills", *given, "--json")
    assert done.returncode != 0
    error = json.loads(done.stdout)["error"]
    assert error["code"] == code
    assert all(error[name] for name in ("title", "message", "next_step"))


def test_a_file_that_is_no_skill_is_skipped_with_the_reason(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "skill"
    folder.mkdir()
    (folder / "SKILL.md").write_bytes(b"\xff\xfe\x00")
    done = program.run("skills", "import", str(folder), "--json")
    assert done.returncode == 1
    report = json.loads(done.stdout)
    assert (report["skills"], len(report["skipped"])) == ([], 1)


def test_no_word_of_a_skill_is_on_the_disk(program: Program) -> None:
    texts = {"description": canary("Kestrel"), "body": canary("Ospreyhaven"), "name": f"skill-{token_hex(8)}"}
    program.json(
        "skills",
        "new",
        texts["name"],
        "--description",
        f"How to use {texts['description']}.",
        "--text",
        f"Use {texts['body']}.",
    )
    assert ask(program, f"How do I use {texts['description']}?") == [f"{texts['name']} 1"]
    found = scan([program.paths.home], needles_of(texts))
    assert found.files > 3
    assert list(map(str, found.hits)) == []
