"""The schema's steps, each on its own, and the runner."""

from types import SimpleNamespace

import pytest

from memory.clock import micros
from memory.errors import FutureSchema
from memory.storage.connection import APPLICATION_ID, Connection, open_memory
from memory.storage.migrations import ALL, LATEST, m0001_first_conversations, migrate, version_of
from tests.fakes.clock import FakeClock

NOW = FakeClock().now()


def tables(conn: Connection) -> set[str]:
    return {row[0] for row in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def test_steps_are_numbered_without_gaps() -> None:
    assert [step.VERSION for step in ALL] == list(range(1, LATEST + 1))
    assert len({step.NAME for step in ALL}) == len(ALL)


def test_a_new_database_gets_every_step_and_a_record_of_each() -> None:
    conn = open_memory()
    assert migrate(conn, NOW) == [step.VERSION for step in ALL]
    assert version_of(conn) == LATEST
    assert conn.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    records = conn.execute("SELECT version, name, applied_at FROM schema_migrations").fetchall()
    assert records == [(step.VERSION, step.NAME, micros(NOW)) for step in ALL]
    assert migrate(conn, NOW) == []
    conn.close()


def test_a_step_that_fails_leaves_the_one_before_it() -> None:
    def fail(conn: Connection) -> None:
        conn.execute("CREATE TABLE half (a INTEGER) STRICT")
        raise RuntimeError("a mistake in the step")

    conn = open_memory()
    broken = SimpleNamespace(VERSION=LATEST + 1, NAME="broken", apply=fail)
    with pytest.raises(RuntimeError):
        migrate(conn, NOW, [*ALL, broken])
    assert version_of(conn) == LATEST
    assert "half" not in tables(conn)
    assert not conn.in_transaction
    mended = SimpleNamespace(
        VERSION=LATEST + 1, NAME="mended", apply=lambda c: c.execute("CREATE TABLE half (a INTEGER) STRICT")
    )
    assert migrate(conn, NOW, [*ALL, mended]) == [LATEST + 1]
    assert "half" in tables(conn)
    conn.close()


def test_a_schema_from_the_future_is_refused() -> None:
    conn = open_memory()
    migrate(conn, NOW)
    conn.execute(f"PRAGMA user_version = {LATEST + 1}")
    with pytest.raises(FutureSchema) as caught:
        migrate(conn, NOW)
    assert (caught.value.found, caught.value.known) == (LATEST + 1, LATEST)
    conn.close()


@pytest.fixture
def first() -> Connection:
    conn = open_memory()
    migrate(conn, NOW, [m0001_first_conversations])
    conn.execute(
        "INSERT INTO sessions (id, title, title_source, memory_mode, created_at, updated_at)"
        " VALUES ('s', 't', 'person', 'normal', 1, 1), ('other', 't', 'person', 'normal', 1, 1)"
    )
    add(conn, "m", "hello world")
    return conn


def add(conn: Connection, message_id: str, text: str, **columns: object) -> None:
    row = {
        "id": message_id,
        "session_id": "s",
        "role": "user",
        "speaker": "",
        "content": text,
        "created_at": 1,
        "status": "complete",
    } | columns
    marks = ", ".join("?" for _ in row)
    conn.execute(f"INSERT INTO messages ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


def test_0001_makes_its_tables(first: Connection) -> None:
    expected = {"meta", "projects", "sessions", "session_tags", "messages", "messages_fts"}
    assert expected <= tables(first)
    first.close()


@pytest.mark.parametrize(
    "columns",
    [
        {"role": "robot"},
        {"status": "unknown"},
        {"stop_reason": "bored"},
        {"important": 2},
        {"session_id": "nobody"},
        {"parent_id": "nobody"},
        {"session_id": "other", "parent_id": "m"},
        {"tokens": b"abc"},
        {"meta": "{"},
        {"created_at": "yesterday"},
        {"id": "m"},
        {"id": "m", "session_id": "other"},
        {"content": None},
    ],
    ids=str,
)
def test_0001_refuses_rows_that_make_no_sense(first: Connection, columns: dict[str, object]) -> None:
    from sqlcipher3.dbapi2 import IntegrityError

    with pytest.raises(IntegrityError):
        add(first, "n", "text", **columns)
    with pytest.raises(IntegrityError):
        first.execute("UPDATE sessions SET head_id = 'm' WHERE id = 'other'")
    first.close()


def test_0001_keeps_the_index_and_the_count_true(first: Connection) -> None:
    def found(word: str) -> int:
        sql = "SELECT count(*) FROM messages_fts WHERE messages_fts MATCH ?"
        return int(first.execute(sql, (word,)).fetchone()[0])

    def count() -> int:
        return int(first.execute("SELECT message_count FROM sessions WHERE id = 's'").fetchone()[0])

    add(first, "n", "streamed words", parent_id="m", status="streaming")
    assert (found("hello"), found("streamed"), count()) == (1, 0, 2)
    first.execute("UPDATE messages SET status = 'partial' WHERE id = 'n'")
    assert found("streamed") == 1
    first.execute("UPDATE messages SET status = 'streaming' WHERE id = 'n'")
    assert found("streamed") == 0
    first.execute("DELETE FROM messages WHERE id = 'n'")
    first.execute("UPDATE messages SET content = 'goodbye' WHERE id = 'm'")
    assert (found("hello"), found("goodbye"), count()) == (0, 1, 1)
    first.execute("DELETE FROM sessions WHERE id = 's'")
    assert found("goodbye") == 0
    assert first.execute("SELECT count(*) FROM messages").fetchone()[0] == 0
    first.execute("INSERT INTO messages_fts (messages_fts, rank) VALUES ('integrity-check', 1)")
    first.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM sessions WHERE deleted_at IS NULL ORDER BY updated_at DESC, id DESC LIMIT 10",
        "SELECT 1 FROM messages WHERE session_id = 's' AND parent_id IS NULL",
        "SELECT 1 FROM messages WHERE status = 'streaming'",
        "SELECT 1 FROM sessions WHERE id BETWEEN '01' AND '01g'",
    ],
)
def test_0001_answers_common_questions_from_an_index(first: Connection, sql: str) -> None:
    plan = " ".join(row[3] for row in first.execute(f"EXPLAIN QUERY PLAN {sql}"))
    assert "USING" in plan
    assert "TEMP B-TREE" not in plan
    first.close()


def test_0023_deletes_the_citations_of_replies_that_were_forgotten() -> None:
    conn = open_memory()
    migrate(conn, NOW, [step for step in ALL if step.VERSION < 23])
    conn.execute(
        "INSERT INTO sessions (id, title, title_source, memory_mode, created_at, updated_at)"
        " VALUES ('s', 't', 'person', 'normal', 1, 1)"
    )
    for reply, text in (("gone", ""), ("kept", "As it says.")):
        add(conn, reply, text)
        conn.execute(
            "INSERT INTO unsupported (session_id, reply_id, begin, \"end\") VALUES ('s', ?, 0, 5)", (reply,)
        )
    assert migrate(conn, NOW) == [23]
    assert conn.execute("SELECT reply_id FROM unsupported").fetchall() == [("kept",)]


def test_0022_indexes_a_memory_anew_only_when_its_words_or_whether_it_is_found_change() -> None:
    conn = open_memory()
    migrate(conn, NOW, [step for step in ALL if step.VERSION < 22])
    conn.execute(
        "INSERT INTO memories (id, kind, tier, state, origin, subject, text, confidence, importance, "
        "created_at, updated_at, worded_at) "
        "VALUES ('m', 'fact', 'long_term', 'inbox', 'model', 'tides', 'high at noon', 1, 1, 1, 1, 1)"
    )

    def change(assignment: str) -> int:
        """Returns how many rows were written, those of the indexes included."""
        before = conn.total_changes
        conn.execute(f"UPDATE memories SET {assignment} WHERE id = 'm'")
        return conn.total_changes - before

    def found(word: str) -> list[bool]:
        for index in ("memories_fts", "memories_pieces"):
            conn.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('integrity-check', 1)")
        return [
            bool(conn.execute(f"SELECT 1 FROM {index} WHERE {index} MATCH ?", (word,)).fetchall())
            for index in ("memories_fts", "memories_pieces")
        ]

    assert change("state = 'kept'") > 1
    assert migrate(conn, NOW) == [step.VERSION for step in ALL if step.VERSION >= 22]
    assert change("state = 'inbox', text = text") == 1
    assert found("noon") == [True, True]
    assert change("text = 'high at dusk'") > 1
    assert (found("noon"), found("dusk")) == ([False, False], [True, True])
    change("state = 'rejected'")
    assert found("dusk") == [False, False]
    assert change("text = 'high at dawn'") == 1
    change("state = 'kept'")
    assert (found("dusk"), found("dawn")) == ([False, False], [True, True])
    conn.close()
