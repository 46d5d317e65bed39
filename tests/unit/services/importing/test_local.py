"""Programs that run models on this computer: Open WebUI, LM Studio, Jan, llm."""
# ruff: noqa: E501  # what exports hold is long

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.services.importing import Format
from memory.entities import MessageStatus
from memory.testing import InMemorySessionStore
from memory.transfer.entities import TravellingSession
from models.messages import Role
from tests.unit.services.importing.exports import SECOND, contents, everything, take, taken


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
    assert report.formats == {"export": Format.OPEN_WEBUI}
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
    assert report.formats == {"export": Format.LM_STUDIO}
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
    file, store = tmp_path / "x.conversation.json", InMemorySessionStore()
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
    report = await take(InMemorySessionStore(), folder)
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
    store = InMemorySessionStore()
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
    assert report.formats == {"export": Format.JAN}
    assert (session.id, session.title) == ("jan_1", "Hello")


# --- llm ------------------------------------------------------------------------------------------------

RESPONSES = """
    CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
    CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, response TEXT,
        conversation_id TEXT, datetime_utc TEXT);
    INSERT INTO conversations VALUES ('c1', 'Named', 'gpt-4o'), ('c2', NULL, 'x');
    INSERT INTO responses VALUES
        ('r1', 'gpt-4o', 'Hello', 'Be kind.', 'Hi', 'c1', '2024-05-01T10:00:00.5'),
        ('r3', 'x', 'Other', NULL, 'Talk', 'c2', '2024-05-03T10:00:00'),
        ('r2', 'gpt-4o', 'More', NULL, 'Sure', 'c1', '2024-05-02T10:00:00'),
        ('r4', 'x', 'Alone', NULL, NULL, NULL, 'never');
"""
LATER = """
    CREATE TABLE fragments (id INTEGER PRIMARY KEY, content TEXT);
    CREATE TABLE prompt_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
    CREATE TABLE system_fragments (response_id TEXT, fragment_id INTEGER, "order" INTEGER);
    CREATE TABLE attachments (id TEXT PRIMARY KEY, type TEXT, path TEXT, url TEXT, content BLOB);
    CREATE TABLE prompt_attachments (response_id TEXT, attachment_id TEXT, "order" INTEGER);
    CREATE TABLE tool_calls (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, arguments TEXT);
    CREATE TABLE tool_results (id INTEGER PRIMARY KEY, response_id TEXT, name TEXT, output TEXT);
    INSERT INTO fragments VALUES (7, 'A fragment'), (8, 'Be brief.');
    INSERT INTO prompt_fragments VALUES ('r1', 7, 0);
    INSERT INTO system_fragments VALUES ('r1', 8, 0);
    INSERT INTO attachments VALUES ('a', 'image/png', NULL, 'https://a/b.png', x'00');
    INSERT INTO prompt_attachments VALUES ('r1', 'a', 0);
    INSERT INTO tool_calls VALUES (1, 'r1', 'now', '{}');
    INSERT INTO tool_results VALUES (1, 'r2', 'now', 'noon');
"""
THREADS = """
    CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT, datetime_utc TEXT);
    CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT, tip_message_hash TEXT,
        model TEXT, datetime_utc TEXT);
    CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT);
    CREATE TABLE parts (message_hash TEXT, position INTEGER, type TEXT, text TEXT, payload TEXT);
"""
TALKED = """
    INSERT INTO threads VALUES ('t1', 'Named', 'a2', '2026-05-01 09:59:59+00:00'),
        ('t2', 'Forked', 'f2', '2026-05-01 12:00:00+00:00'), ('c1', 'Later', 'n2', NULL);
    INSERT INTO messages VALUES ('s', NULL, 'system'), ('u1', 's', 'user'), ('a1', 'u1', 'assistant'),
        ('x1', 'a1', 'tool'), ('a2', 'x1', 'assistant'), ('b1', 'u1', 'assistant'),
        ('f1', 'a1', 'user'), ('f2', 'f1', 'assistant'),
        ('h1', NULL, 'user'), ('h2', 'h1', 'assistant'), ('n1', 'h2', 'user'), ('n2', 'n1', 'assistant');
    INSERT INTO turns VALUES ('m1', 't1', 'u1', 'a1', 'echo', '2026-05-01T10:00:00+00:00'),
        ('m2', 't1', 'u1', 'b1', 'echo', '2026-05-01T10:01:00+00:00'),
        ('m3', 't1', 'x1', 'a2', 'best', '2026-05-01T10:02:00+00:00'),
        ('r9', 'c1', 'n1', 'n2', 'echo', '2026-05-01T10:03:00+00:00');
    INSERT INTO parts VALUES ('s', 0, 'text', 'Be kind.', NULL),
        ('u1', 1, 'attachment', NULL, '{"attachment": {"id": "a"}}'),
        ('u1', 0, 'text', NULL, '{"text_ref": [{"fragment": 7}, {"literal": " and more"}, {"fragment": 99}]}'),
        ('a1', 0, 'reasoning', 'hm', NULL), ('a1', 1, 'text', 'Hi', NULL),
        ('a1', 2, 'tool_call', NULL, '{"name": "now", "arguments": {"in": "Graz"}}'),
        ('b1', 0, 'text', 'Another', '{"provider_metadata": {}}'),
        ('x1', 0, 'tool_result', NULL, '{"name": "now", "output": "noon", "attachments": [{"id": "a"}]}'),
        ('a2', 0, 'text', 'It is noon', 'torn'), ('f1', 0, 'text', 'Elsewhere', NULL),
        ('f2', 0, 'tool_result', NULL, '{"name": "now", "output": "", "exception": "no clock"}'),
        ('h1', 0, 'text', 'Hello', NULL), ('h2', 0, 'text', 'Hi', NULL), ('n1', 0, 'text', 'On', NULL),
        ('n2', 0, 'text', 'And on', NULL);
"""
LOGS = """
    CREATE TABLE {name} (id INTEGER PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, response TEXT,
        chat_id INTEGER, {time} TEXT);
    INSERT INTO {name} VALUES (1, 'gpt-3.5', 'Hello', NULL, 'Hi', NULL, '2023-04-01 10:00:00'),
        (2, 'gpt-3.5', 'Alone', NULL, 'Yes', NULL, '2023-04-01 11:00:00'),
        (3, 'gpt-3.5', 'More', NULL, 'Sure', 1, '2023-04-01 12:00:00');
"""


def database(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as conn:
        conn.executescript(script)


async def from_database(path: Path) -> list[TravellingSession]:
    store = InMemorySessionStore()
    report = await take(store, path)
    assert report.skipped == []
    assert report.formats == {path.name: Format.LLM}
    assert sorted(path.parent.iterdir()) == [path]
    found = await everything(store)
    assert (await take(store, path)).messages == 0
    return found


async def test_llm(tmp_path: Path) -> None:
    database(tmp_path / "logs.db", RESPONSES + LATER)
    first, *others = await from_database(tmp_path / "logs.db")
    assert first.system_prompt == "Be brief.\n\nBe kind."
    assert contents(first) == [
        "A fragment\n\nHello\n\n[Attached: https://a/b.png]",
        "Hi\n\n[Asked: now]\n\n```json\n{}\n```",
        "More\n\n[Result: now]\n\n```\nnoon\n```",
        "Sure",
    ]
    assert [contents(one) for one in others] == [["Other", "Talk"], ["Alone"]]


async def test_llm_since_it_has_threads(tmp_path: Path) -> None:
    database(tmp_path / "logs.db", RESPONSES + LATER + THREADS + TALKED)
    found = {one.id: one for one in await from_database(tmp_path / "logs.db")}
    assert len(found) == 5
    later, named, forked = found["c1"], found["t1"], found["t2"]
    asked = "A fragment and more\n\n[Attached: https://a/b.png]"
    answered = '> hm\n\nHi\n\n[Asked: now]\n\n```json\n{"in": "Graz"}\n```'
    assert (named.id, named.title, named.system_prompt, named.model) == ("t1", "Named", "Be kind.", "best")
    assert [(one.id, one.parent, one.content) for one in named.messages] == [
        ("m1:prompt", None, asked),
        ("m1:response", "m1:prompt", answered),
        ("m2:response", "m1:prompt", "Another"),
        ("m3:prompt", "m1:response", "[Result: now]\n\n```\nnoon\n```\n\n[Attached: https://a/b.png]"),
        ("m3:response", "m3:prompt", "It is noon"),
    ]
    assert named.head == "m3:response"
    # A fork has messages of its own only; what it goes on from is the other's.
    assert contents(forked) == [asked, answered, "Elsewhere", "[Error: now]\n\n```\nno clock\n```"]
    assert forked.created_at.isoformat() == "2026-05-01T12:00:00+00:00"
    # One that was begun before there were threads sends all of it along.
    assert contents(later)[2:] == ["More\n\n[Result: now]\n\n```\nnoon\n```", "Sure", "On", "And on"]
    assert (later.id, later.title, later.system_prompt) == ("c1", "Named", "Be brief.\n\nBe kind.")
    assert [one.id for one in later.messages] == [
        *("r1:prompt", "r1:response", "r2:prompt", "r2:response", "r9:prompt", "r9:response")
    ]


async def test_what_llm_tells_twice_comes_in_once(tmp_path: Path) -> None:
    both = """
        INSERT INTO turns VALUES ('r1', 'c1', 'h1', 'h2', 'echo', NULL);
        UPDATE turns SET id = 'r2' WHERE id = 'r9';
    """
    database(tmp_path / "logs.db", RESPONSES + LATER + THREADS + TALKED + both)
    (talk,) = [one for one in await from_database(tmp_path / "logs.db") if one.id == "c1"]
    assert contents(talk) == ["Hello", "Hi", "On", "And on"]
    assert [one.id for one in talk.messages] == ["r1:prompt", "r1:response", "r2:prompt", "r2:response"]


async def test_llm_of_earlier_schemas(tmp_path: Path) -> None:
    database(tmp_path / "a.db", RESPONSES)
    store = InMemorySessionStore()
    await take(store, tmp_path / "a.db")
    named = (await everything(store))[0]
    assert (named.id, named.title, named.system_prompt, named.model) == ("c1", "Named", "Be kind.", "gpt-4o")
    assert named.messages[0].created_at.isoformat() == "2024-05-01T10:00:00.500000+00:00"
    for name, time in (("log", "timestamp"), ("logs", "datetime_utc")):
        path = tmp_path / name / "logs.db"
        path.parent.mkdir()
        database(path, LOGS.format(name=name, time=time))
        found = [contents(one) for one in await from_database(path)]
        assert found == [["Hello", "Hi", "More", "Sure"], ["Alone", "Yes"]]


async def test_a_database_that_is_not_one_of_llm_is_refused(tmp_path: Path) -> None:
    view = "CREATE VIEW responses AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n;"
    database(tmp_path / "view.db", view)
    (tmp_path / "torn.db").write_bytes((tmp_path / "view.db").read_bytes()[:300] + b"\xff" * 500)
    store = InMemorySessionStore()
    report = await take(store, tmp_path / "view.db", tmp_path / "torn.db")
    assert [one.why for one in report.skipped] == [
        "a database without the tables of llm",
        "the database is damaged, or not one of llm",
    ]
    assert await everything(store) == []


async def test_entries_in_a_log_that_is_not_written_back_are_missed_aloud(tmp_path: Path) -> None:
    database(tmp_path / "logs.db", RESPONSES)
    (tmp_path / "logs.db-wal").write_bytes(b"x")
    report = await take(InMemorySessionStore(), tmp_path / "logs.db")
    assert [one.where for one in report.skipped] == ["logs.db-wal"]
    assert report.sessions == 3
