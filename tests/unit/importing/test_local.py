"""Programs that run models on this computer: Open WebUI, LM Studio, Jan."""
# what exports hold is long

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.importing.formats import FORMATS
from memory.entities import MessageStatus
from models.messages import Role
from tests.stores import InMemoryStore
from tests.unit.importing.exports import SECOND, contents, everything, take, taken


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "export"


# --- Open WebUI -----------------------------------------------------------------------------------------


def web_message(key: str, parent: str | None, role: str, content: str, **changes: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "id": key,
        "parentId": parent,
        "childrenIds": [],
        "role": role,
        "content": content,
    }
    return {key: {**known, "timestamp": int(SECOND), **changes}}


def web_chat(*messages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    nodes: dict[str, Any] = {}
    for one in messages:
        nodes |= one
    chat = {
        "title": "A chat",
        "models": ["llama3"],
        "system": "Be kind.",
        "history": {"messages": nodes, "currentId": list(nodes)[-1]},
        "tags": ["x"],
    }
    return {
        "id": "w1",
        "user_id": "me",
        "title": "A chat",
        "chat": chat,
        "created_at": int(SECOND),
        **changes,
    }


async def test_open_webui(file: Path) -> None:
    thought = '<details type="reasoning" done="true"><summary>Thought</summary>\n> hm\n</details>\nSo.'
    given = web_chat(
        web_message("u", None, "user", "Hello", files=[{"type": "file", "name": "a.pdf"}]),
        web_message("a", "u", "assistant", thought, model="llama3", done=True),
        web_message("b", "u", "assistant", "Half", done=False),
        web_message("c", "u", "assistant", "", error={"content": "no model"}),
        meta={"tags": ["x", "y"]},
        pinned=True,
        updated_at=int(SECOND) + 60,
    )
    (session,), report = await taken(file, [given])
    assert report.formats == {"export": FORMATS["openwebui"]}
    assert contents(session) == [
        "Hello\n\n[Attached: a.pdf]",
        "> Thought\n>\n> hm\n\nSo.",
        "Half",
        "[Error: no model]",
    ]
    assert (session.id, session.head, session.model) == ("w1", "c", "llama3")
    assert (session.pinned_at, session.archived_at) == (session.updated_at, None)
    assert (session.tags, session.system_prompt) == (("x", "y"), "Be kind.")
    assert [one.status for one in session.messages[2:]] == [MessageStatus.PARTIAL] * 2


async def test_open_webui_of_the_first_versions_has_a_plain_list(file: Path) -> None:
    given = {
        "id": "w2",
        "chat": {
            "title": "Old",
            "timestamp": int(SECOND * 1000),
            "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hey"}],
        },
    }
    (session,), _ = await taken(file, given)
    assert contents(session) == ["Hi", "Hey"]
    assert session.created_at.timestamp() == SECOND
    assert session.messages[1].parent == session.messages[0].id


# --- LM Studio ------------------------------------------------------------------------------------------


def studio(*messages: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"name": "Studio", "createdAt": int(SECOND * 1000), "messages": list(messages), **changes}


def said(text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}, {"type": "file", "fileIdentifier": "a.pdf"}]
    return {"versions": [{"type": "singleStep", "role": "user", "content": content}], "currentlySelected": 0}


def replied(
    *texts: str, chosen: int = 0, called: Sequence[dict[str, Any]] = (), **step: Any
) -> dict[str, Any]:
    return {
        "versions": [
            {
                "type": "multiStep",
                "role": "assistant",
                "senderInfo": {"senderName": "qwen"},
                "steps": [
                    {
                        "type": "contentBlock",
                        "stepIdentifier": f"{int(SECOND * 1000) + 5000}-0.5",
                        "style": {"type": "thinking"},
                        "content": [{"type": "text", "text": "hm"}],
                    },
                    {"type": "contentBlock", "content": [{"type": "text", "text": text}], **step},
                    {"type": "contentBlock", "content": called},
                    {"type": "debugInfoBlock", "debugInfo": "secret"},
                ],
            }
            for text in texts
        ],
        "currentlySelected": chosen,
    }


async def test_lm_studio(file: Path) -> None:
    stats = {"genInfo": {"stats": {"stopReason": "maxPredictedTokensReached"}}}
    called = (
        {"type": "toolCallRequest", "name": "count", "parameters": {"of": "été"}},
        {"type": "toolCallResult", "content": "3"},
    )
    given = studio(
        said("Hello"),
        replied("one", "two", chosen=0, called=called, **stats),
        said("And?"),
        systemPrompt="Be kind.",
    )
    tools = '\n\n[Asked: count]\n\n```json\n{"of": "été"}\n```\n\n3'
    (session,), report = await taken(file, given)
    assert report.formats == {"export": FORMATS["lmstudio"]}
    assert contents(session) == [
        "Hello\n\n[Attached: a.pdf]",
        f"> hm\n\none{tools}",
        f"> hm\n\ntwo{tools}",
        "And?\n\n[Attached: a.pdf]",
    ]
    first, one, two, last = session.messages
    assert (one.parent, two.parent, last.parent) == (first.id, first.id, one.id)
    assert (one.model, one.stop_reason) == ("qwen", "length")
    assert one.created_at.timestamp() == SECOND + 5
    assert (session.title, session.system_prompt, session.head) == ("Studio", "Be kind.", last.id)


async def test_a_conversation_of_lm_studio_that_has_grown_gets_what_is_new(tmp_path: Path) -> None:
    file, store = tmp_path / "x.conversation.json", InMemoryStore()
    file.write_text(json.dumps(studio(said("Hello"))))
    await take(store, file)
    file.write_text(json.dumps(studio(said("Hello"), replied("Hi"), name="Renamed")))
    report = await take(store, file)
    assert (report.sessions, report.messages, report.already_there) == (0, 1, 1)
    (session,) = await everything(store)
    assert session.head == session.messages[-1].id


async def test_a_torn_file_beside_others_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "talks"
    folder.mkdir()
    whole = json.dumps(studio(said("Hello")))
    (folder / "a.json").write_text(whole)
    (folder / "b.json").write_text(whole[:-30])
    (folder / "c.json").write_text('{"editor": "settings"}')
    report = await take(InMemoryStore(), folder)
    assert [(one.where, one.why) for one in report.skipped] == [
        ("talks/b.json", "the file ends in the middle of it")
    ]
    assert report.messages == 1


# --- Jan ------------------------------------------------------------------------------------------------


def jan(folder: Path, *lines: str) -> None:
    folder.mkdir(parents=True)
    thread = {
        "id": "jan_1",
        "object": "thread",
        "title": "Jan talk",
        "created": int(SECOND),
        "assistants": [{"instructions": "Be kind.", "model": {"id": "phi"}}],
    }
    (folder / "thread.json").write_text(json.dumps(thread))
    (folder / "messages.jsonl").write_text("\n".join(lines))


def jan_line(key: str, role: str, text: str, at: int, **changes: Any) -> str:
    content = [{"type": "text", "text": {"value": text, "annotations": []}}]
    return json.dumps(
        {
            "id": key,
            "object": "thread.message",
            "thread_id": "jan_1",
            "role": role,
            "content": content,
            "status": "ready",
            "created_at": int(SECOND * 1000) + at,
            **changes,
        }
    )


async def test_jan(tmp_path: Path) -> None:
    reasoning = {
        "content": [{"type": "reasoning", "text": {"value": "hm"}}, {"type": "text", "text": {"value": "Hi"}}]
    }
    call = {
        "tool": {"function": {"name": "weather", "arguments": '{"in": "Graz"}'}},
        "response": {"content": [{"type": "text", "text": "17 degrees"}]},
    }
    # Early versions wrote the newest message first.
    lines = [
        jan_line("b", "assistant", "", 2000, status="stopped", metadata={"tool_calls": [call]}, **reasoning),
        jan_line("a", "user", "Hello", 1000),
    ]
    jan(tmp_path / "threads" / "jan_1", *lines, '{"broken": ')
    store = InMemoryStore()
    report = await take(store, tmp_path / "threads")
    (session,) = await everything(store)
    assert [one.where for one in report.skipped] == ["threads/jan_1/messages.jsonl:3"]
    assert (session.id, session.title, session.model) == ("jan_1", "Jan talk", "phi")
    asked = '[Asked: weather]\n\n```json\n{"in": "Graz"}\n```'
    assert [(one.id, one.content, one.role) for one in session.messages] == [
        ("a", "Hello", Role.USER),
        ("b", f"{asked}\n\n[Result]\n\n17 degrees\n\n> hm\n\nHi", Role.ASSISTANT),
    ]
    assert session.messages[1].status is MessageStatus.PARTIAL
    assert session.system_prompt == "Be kind."


async def test_jan_messages_without_their_thread_are_a_conversation_too(file: Path) -> None:
    (session,), report = await taken(file, jan_line("a", "user", "Hello", 0))
    assert report.formats == {"export": FORMATS["jan"]}
    assert (session.id, session.title) == ("jan_1", "Hello")


# --- llm ------------------------------------------------------------------------------------------------
