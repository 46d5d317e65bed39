"""The database of the `llm` command line tool, in its schema versions."""
# ruff: noqa: E501  # what databases hold is long

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from atlas_desktop.importing.entities import Meter
from atlas_desktop.importing.formats import FORMATS
from atlas_desktop.importing.importer import Importer
from memory.transfer import TravellingSession
from tests.stores import InMemoryStore
from tests.unit.importing.exports import contents, everything, take

RESPONSES = """
    CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT);
    CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT, response TEXT,
        conversation_id TEXT, datetime_utc TEXT);
    INSERT INTO conversations VALUES ('c1', 'Named', 'gpt-4o'), ('c2', NULL, 'x');
    INSERT INTO responses VALUES
        ('r1', 'gpt-4o', 'Hello', 'Be kind.', 'Hi', 'c1', '2024-05-01T10:00:00.5'),
        ('r3', 'x', 'Other', NULL, 'ImportedSession', 'c2', '2024-05-03T10:00:00'),
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
    store = InMemoryStore()
    report = await take(store, path)
    assert report.skipped == []
    assert report.formats == {path.name: FORMATS["llm"]}
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
    assert [contents(one) for one in others] == [["Other", "ImportedSession"], ["Alone"]]


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
    store = InMemoryStore()
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


@pytest.mark.parametrize("script", [RESPONSES, RESPONSES + LATER + THREADS + TALKED], ids=["before", "since"])
async def test_how_far_it_has_come_is_told_on_the_way(tmp_path: Path, script: str) -> None:
    database(tmp_path / "logs.db", script)
    told: list[Meter] = []
    importer = Importer(
        InMemoryStore().transfer, lambda _report, meter: told.append(replace(meter)), at_once=1
    )
    report = await importer.take([tmp_path / "logs.db"])
    shares = [meter.share for meter in told]
    assert len(shares) == report.sessions + 1
    assert shares == sorted(shares)
    assert len({*shares}) >= report.sessions - 1
    assert 0 < shares[0] < 0.6
    assert shares[-1] == 1.0


async def test_a_database_that_is_not_one_of_llm_is_refused(tmp_path: Path) -> None:
    view = "CREATE VIEW responses AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i FROM n;"
    database(tmp_path / "view.db", view)
    (tmp_path / "torn.db").write_bytes((tmp_path / "view.db").read_bytes()[:300] + b"\xff" * 500)
    store = InMemoryStore()
    report = await take(store, tmp_path / "view.db", tmp_path / "torn.db")
    assert [one.why for one in report.skipped] == [
        "a database without the llm tables",
        "the database is damaged, or not from llm",
    ]
    assert await everything(store) == []


async def test_entries_in_a_log_that_is_not_written_back_are_missed_aloud(tmp_path: Path) -> None:
    database(tmp_path / "logs.db", RESPONSES)
    (tmp_path / "logs.db-wal").write_bytes(b"x")
    report = await take(InMemoryStore(), tmp_path / "logs.db")
    assert [one.where for one in report.skipped] == ["logs.db-wal"]
    assert report.sessions == 3
