"""Claude: blocks, artifacts, attachments, projects."""
# ruff: noqa: E501, ISC004  # what exports hold is long

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.importing.claude import words_of
from atlas_desktop.importing.formats import FORMATS
from models.messages import Role
from tests.stores import InMemoryStore
from tests.unit.importing.exports import claude, contents, everything, spoken, take, taken

ROOT = "00000000-0000-4000-8000-000000000000"
PROJECT = {
    "uuid": "p1",
    "name": "Boat",
    "description": "All about the boat",
    "prompt_template": "Be precise.",
    "created_at": "2024-04-01T00:00:00Z",
    "docs": [{"uuid": "d1", "filename": "plan.md", "content": "# Plan"}, {"uuid": "d2", "content": ""}],
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "export"


async def test_messages_follow_one_another_where_nothing_else_is_said(file: Path) -> None:
    given = claude(
        spoken("m1", "human", "Hello"), spoken("m2", "assistant", "Hi"), spoken("m3", "robot", "?")
    )
    (session,), report = await taken(file, [given])
    assert report.formats == {"export": FORMATS["claude"]}
    assert (session.id, session.title, session.head) == ("k1", "A talk", "m2")
    assert session.created_at.isoformat() == "2024-05-01T10:00:00.123456+00:00"
    assert [(one.role, one.parent) for one in session.messages] == [
        (Role.USER, None),
        (Role.ASSISTANT, "m1"),
    ]
    # The export names no model: a reply carries the name of the program, and the user's message none.
    assert [one.model for one in session.messages] == [None, "Claude"]
    assert session.model is None


async def test_messages_that_are_no_list_are_named(file: Path) -> None:
    sessions, report = await taken(file, [claude() | {"chat_messages": {"m1": spoken("m1", "human", "Hi")}}])
    assert sessions == []
    assert [one.why for one in report.skipped] == ["not a conversation: `chat_messages` is not a list"]


async def test_newer_exports_are_trees(file: Path) -> None:
    given = claude(
        spoken("m1", "human", "Hello", parent_message_uuid=ROOT),
        spoken("m2", "assistant", "Hi", parent_message_uuid="m1"),
        spoken("m3", "assistant", "Hey", parent_message_uuid="m1"),
        current_leaf_message_uuid="m2",
    )
    (session,), _ = await taken(file, [given])
    assert [one.parent for one in session.messages] == [None, "m1", "m1"]
    assert session.head == "m2"


CONTENTS: list[tuple[dict[str, Any], str]] = [
    (spoken("m", "human", "old", content=[{"type": "text", "text": "new"}]), "new"),
    (
        spoken("m", "assistant", "", content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "so"}]),
        "> hm\n\nso",
    ),
    (
        spoken(
            "m",
            "human",
            "Look",
            attachments=[{"file_name": "a.txt", "extracted_content": "in it"}, {"file_name": "b.bin"}],
            files=[{"file_name": "c.png"}],
            files_v2=[{"file_name": "c.png"}],
        ),
        "Look\n\n[Attached: a.txt]\n\n```\nin it\n```\n\n[Attached: b.bin]\n\n[Attached: c.png]",
    ),
    (
        spoken(
            "m",
            "assistant",
            'See.<antThinking>hidden</antThinking><antArtifact identifier="i" type="application/vnd.ant.code" '
            'language="python" title="Code">x = 1</antArtifact>Done.',
        ),
        "See.\n\n[Artifact: Code]\n\n```python\nx = 1\n```\n\nDone.",
    ),
    (
        {
            "content": [
                {
                    "type": "tool_use",
                    "name": "artifacts",
                    "input": {"id": "i", "title": "Page", "type": "text/html", "command": "create", "content": "<p>"},
                },
                {"type": "tool_result", "name": "artifacts", "content": [{"type": "text", "text": "OK"}]},
            ]
        },
        "[Artifact: Page]\n\n```html\n<p>\n```",
    ),
    (
        {
            "content": [
                {"type": "tool_use", "name": "artifacts", "input": {"id": "i", "old_str": "a", "new_str": "b"}}
            ]
        },
        "[Artifact changed: i]\n\n```\na\n```\n\nbecame\n\n```\nb\n```",
    ),
    (
        {
            "content": [
                {"type": "tool_use", "name": "create_file", "input": {"path": "/out/a.py", "file_text": "x = 1\n"}},
                {"type": "tool_use", "name": "create_file", "input": {"path": "/out/b.md", "file_text": "# B"}},
                {"type": "tool_use", "name": "str_replace", "input": {"path": "/out/a.py", "old_str": "1", "new_str": "2"}},
                {"type": "tool_use", "name": "bash_tool", "input": {"command": "ls"}},
            ]
        },
        "[Artifact: a.py]\n\n```py\nx = 1\n```\n\n[Artifact: b.md]\n\n# B\n\n"
        "[Artifact changed: a.py]\n\n```\n1\n```\n\nbecame\n\n```\n2\n```\n\n[Asked: bash_tool]\n\n```\nls\n```",
    ),
    (
        {
            "content": [
                {"type": "tool_use", "name": "web_search", "input": {"query": "猫 cats"}},
                {"type": "tool_result", "name": "web_search", "content": [{"title": "Cats", "url": "https://c"}]},
                {"type": "tool_result", "name": "run", "is_error": True, "content": "broken"},
                {"type": "token_budget"},
                "noise",
            ]
        },
        '[Asked: web_search]\n\n```json\n{"query": "猫 cats"}\n```\n\n[Result: web_search]\n\n[Source: Cats, https://c]'
        "\n\n[Error: run]\n\nbroken",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("message", "words"), CONTENTS, ids=range(len(CONTENTS)))
def test_content_of_every_kind_is_readable(message: dict[str, Any], words: str) -> None:
    assert words_of(message) == words


async def test_an_archive_brings_projects_with_their_documents(tmp_path: Path) -> None:
    archive = tmp_path / "data.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("users.json", json.dumps([{"uuid": "me", "email_address": "a@b"}]))
        out.writestr(
            "conversations.json", json.dumps([claude(spoken("m1", "human", "Hi"), project_uuid="p1")])
        )
        out.writestr("projects.json", json.dumps([PROJECT, {"uuid": "p2", "name": "Empty", "docs": []}]))
    store = InMemoryStore()
    report = await take(store, archive)
    assert (report.sessions, report.skipped) == (2, [])
    project, talk = sorted(await everything(store), key=lambda one: one.created_at)
    assert (talk.project, project.project, project.title) == ("Boat", "Boat", "Project: Boat")
    assert contents(project) == ["All about the boat", "[Document: plan.md]\n\n# Plan"]
    assert project.system_prompt == "Be precise."
    again = await take(store, archive)
    assert (again.sessions, again.messages, again.already_there) == (0, 0, 3)


async def test_the_list_may_be_wrapped_in_an_object(file: Path) -> None:
    wrapped = {
        "account": {"email": "x"},
        "conversations": [claude(spoken("m", "user", "Hi")), {"uuid": "bad"}],
    }
    (session,), report = await taken(file, wrapped)
    assert contents(session) == ["Hi"]
    assert [one.where for one in report.skipped] == ["export:2"]
