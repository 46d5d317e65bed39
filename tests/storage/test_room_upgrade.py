"""Rooms of every earlier schema, opened by this program; and what the newer steps insist on."""

from datetime import datetime

import pytest
from sqlcipher3.dbapi2 import IntegrityError

from memory.context.entities import NewSummary
from memory.entities import MessagePatch, MessageStatus, NewMessage
from memory.errors import RoomDamaged, StorageFull, UpgradeFailed
from memory.storage.connection import Connection, create_file, open_file, open_memory, pack_tokens, probe
from memory.storage.migrations import ALL, LATEST, m0011_vectors_in_rows, migrate, version_of
from memory.storage.room import copy_of, give_back
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.storage.conftest import Place, database_of

NOW = FakeClock().now()
SESSION = "01a00000-0000-7000-8000-000000000000"
QUESTION, ANSWER, OTHER, CUT = (f"01a00000-0000-7000-8000-00000000000{n}" for n in range(1, 5))
WORDS = (
    (QUESTION, None, "user", "Why do t\u00f6matoes split?", "complete", None),
    (ANSWER, QUESTION, "assistant", "Too much water.", "complete", pack_tokens((1, 2**32 - 1))),
    (OTHER, QUESTION, "assistant", "\u98a8\u304c\u5438\u3044\u8fbc\u3080", "partial", None),
    (CUT, ANSWER, "assistant", "half a repl", "streaming", None),
)


def fill(conn: Connection) -> None:
    """One session with a tree of messages, in the columns of the first schema."""
    conn.execute("INSERT INTO projects (id, name, created_at) VALUES ('p', 'Home', 1)")
    conn.execute(
        "INSERT INTO sessions"
        " (id, project_id, title, title_source, memory_mode, starred, created_at, updated_at)"
        " VALUES (?, 'p', 'Garden', 'person', 'reads', 1, 1000000, 2000000)",
        (SESSION,),
    )
    conn.execute("INSERT INTO session_tags (session_id, tag) VALUES (?, 'plants')", (SESSION,))
    for message_id, parent, role, content, status, tokens in WORDS:
        conn.execute(
            "INSERT INTO messages (id, session_id, parent_id, role, speaker, content, created_at, status,"
            " important, tokens, token_model) VALUES (?, ?, ?, ?, 'Ada', ?, 1500000, ?, 1, ?, 'f')",
            (message_id, SESSION, parent, role, content, status, tokens),
        )
    conn.execute("UPDATE sessions SET head_id = ? WHERE id = ?", (ANSWER, SESSION))


@pytest.mark.parametrize("version", range(1, LATEST))
async def test_a_room_of_an_earlier_schema_keeps_everything(place: Place, version: int) -> None:
    place.path.parent.mkdir()
    conn = create_file(place.path, place.key)
    migrate(conn, NOW, ALL[:version])
    fill(conn)
    assert version_of(conn) == version
    conn.close()

    store = await place.open()
    report = await store.verify()
    session = await store.get_session(SESSION)
    question, answer = await store.branch(SESSION)
    other = (await store.variants(ANSWER))[1]
    cut = (await store.branch(SESSION, CUT))[-1]
    found = {query: [hit.message.id for hit in await store.search(query)] for query in ("tomato", "water")}

    assert (report.schema_version, report.sessions, report.messages) == (LATEST, 1, 4)
    assert report.problems == ()
    assert (session.title, session.project, session.tags) == ("Garden", "Home", ("plants",))
    assert (session.starred, session.head_id, session.message_count) == (True, ANSWER, 4)
    assert [m.content for m in (question, answer, other)] == [row[3] for row in WORDS[:3]]
    assert (answer.tokens, answer.token_model, answer.important) == ((1, 2**32 - 1), "f", True)
    assert {m.preface for m in (question, answer, other, cut)} == {""}
    assert (other.status, cut.status) == (MessageStatus.PARTIAL, MessageStatus.PARTIAL)
    assert found == {"tomato": [QUESTION], "water": [ANSWER]}

    summary = await store.context.add_summary(SESSION, NewSummary("s", (QUESTION, ANSWER)))
    told = await store.update_message(QUESTION, MessagePatch(preface="noon"))
    said = await store.append_message(SESSION, NewMessage(Role.USER, "And now?"))
    await store.jobs.add("title", "k", session_id=SESSION)
    await store.close()
    again = await place.open()
    assert await again.branch(SESSION) == [told, answer, said]
    assert await again.context.summaries(SESSION) == [summary]
    assert (await again.erase_session(SESSION)).verified
    assert (await again.verify()).problems == ()
    await again.close()
    assert not copy_of(place.path).exists()


def older(place: Place) -> None:
    place.path.parent.mkdir()
    conn = create_file(place.path, place.key)
    migrate(conn, NOW, ALL[:-1])
    fill(conn)
    conn.close()


async def test_a_checked_copy_is_at_hand_until_the_upgrade_is_done(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What loses something is undone, whether it is noticed at once or at the next opening."""
    older(place)
    copy = Place(copy_of(place.path), place.key)

    def lose(conn: Connection, now: datetime) -> None:
        migrate(conn, now)
        conn.execute("DELETE FROM messages WHERE id = ?", (CUT,))

    def lose_and_die(conn: Connection, now: datetime) -> None:
        assert copy.path.stat().st_mode & 0o777 == 0o600
        lose(conn, now)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("memory.storage.room.migrations.migrate", lose)
        with pytest.raises(UpgradeFailed):
            await place.open()
        assert probe(place.path, place.key) == ALL[-2].VERSION
        patch.setattr("memory.storage.room.migrations.migrate", lose_and_die)
        with pytest.raises(KeyboardInterrupt):
            await place.open()
    assert probe(place.path, place.key) == LATEST
    with pytest.raises(UpgradeFailed) as caught:
        await place.open()
    assert (caught.value.held, caught.value.made) == ((1, 4), (1, 3))
    assert probe(place.path, place.key) == ALL[-2].VERSION
    assert not [file.name for file in place.path.parent.iterdir() if "before" in file.name]

    store = await place.open()
    assert len(await store.branch(SESSION, CUT)) == 3
    assert (await store.verify()).problems == ()
    await store.close()
    assert not [file.name for file in place.path.parent.iterdir() if "before" in file.name]


async def test_without_space_for_the_copy_nothing_is_changed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    older(place)

    def full(*_: object) -> None:
        raise StorageFull("no space")

    monkeypatch.setattr("memory.storage.room.connection.create_file", full)
    with pytest.raises(StorageFull):
        await place.open()
    assert probe(place.path, place.key) == ALL[-2].VERSION
    assert not copy_of(place.path).exists()


async def test_a_damaged_room_is_not_brought_up_to_date(place: Place) -> None:
    older(place)
    conn = open_file(place.path, place.key)
    (page,) = conn.execute("SELECT rootpage FROM sqlite_master WHERE name = 'personas'").fetchone()
    conn.close()
    place.flip((page - 1) * 4096 + 2000)
    with pytest.raises(RoomDamaged):
        await place.open()
    assert probe(place.path, place.key) == ALL[-2].VERSION


async def test_each_step_is_recorded_once(place: Place) -> None:
    store = await place.open(create=True)
    await store.close()
    again = await place.open()
    rows = await database_of(again).read(
        lambda conn: conn.execute("SELECT version, name FROM schema_migrations ORDER BY version").fetchall()
    )
    await again.close()
    assert rows == [(step.VERSION, step.NAME) for step in ALL]


# --- what 0003 insists on --------------------------------------------------------------------------


@pytest.fixture
def room() -> Connection:
    conn = open_memory()
    migrate(conn, NOW)
    fill(conn)
    put(conn, "summaries", **SUMMARY)
    return conn


SUMMARY = {
    "id": "s",
    "session_id": SESSION,
    "level": 0,
    "text": "t",
    "state": "current",
    "created_at": 1,
    "updated_at": 1,
}
COVER = {"summary_id": "s", "position": 0, "message_id": QUESTION, "session_id": SESSION}
EPOCH = {
    "id": "e",
    "session_id": SESSION,
    "model": "m",
    "head": "h",
    "parts": "[]",
    "start_id": QUESTION,
    "created_at": 1,
}
TURN = {
    "reply_id": ANSWER,
    "session_id": SESSION,
    "epoch_id": None,
    "model": "m",
    "prompt_hash": "",
    "prompt_tokens": 1,
    "parts": "[]",
}


def put(conn: Connection, table: str, **row: object) -> None:
    marks = ", ".join("?" for _ in row)
    conn.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values()))


@pytest.mark.parametrize(
    ("table", "row", "wrong"),
    [
        ("summaries", SUMMARY | {"id": "n"}, {"id": "s"}),
        ("summaries", SUMMARY | {"id": "n"}, {"session_id": "nobody"}),
        ("summaries", SUMMARY | {"id": "n"}, {"level": -1}),
        ("summaries", SUMMARY | {"id": "n"}, {"state": "lost"}),
        ("summaries", SUMMARY | {"id": "n"}, {"topics": "{"}),
        ("summaries", SUMMARY | {"id": "n"}, {"fallback": 2}),
        ("summaries", SUMMARY | {"id": "n"}, {"edited": 2}),
        ("summaries", SUMMARY | {"id": "n"}, {"merged_into": "nothing"}),
        ("summary_messages", COVER, {"summary_id": "nothing"}),
        ("summary_messages", COVER, {"message_id": "nothing"}),
        ("summary_messages", COVER, {"session_id": "nobody"}),
        ("epochs", EPOCH, {"session_id": "nobody"}),
        ("epochs", EPOCH, {"start_id": "nothing"}),
        ("epochs", EPOCH, {"parts": "["}),
        ("turns", TURN, {"reply_id": "nothing"}),
        ("turns", TURN, {"epoch_id": "nothing"}),
        ("turns", TURN, {"prompt_tokens": -1}),
        ("turns", TURN, {"parts": "["}),
    ],
    ids=str,
)
def test_0003_refuses_rows_that_make_no_sense(
    room: Connection, table: str, row: dict[str, object], wrong: dict[str, object]
) -> None:
    with pytest.raises(IntegrityError):
        put(room, table, **(row | wrong))
    put(room, table, **row)
    room.close()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM summaries WHERE session_id = 's' ORDER BY seq",
        "SELECT 1 FROM summaries WHERE id BETWEEN '01' AND '01g'",
        "SELECT 1 FROM summaries WHERE edited = 0 AND (fallback = 1 OR state = 'stale') ORDER BY seq LIMIT 9",
        "SELECT 1 FROM summary_messages WHERE session_id = 's' AND message_id = 'm'",
        "SELECT 1 FROM epochs WHERE session_id = 's' AND model = 'm' ORDER BY seq",
        "SELECT 1 FROM turns WHERE session_id = 's' AND reply_id = 'm'",
        "DELETE FROM sessions WHERE id = 's'",
    ],
)
def test_0003_answers_common_questions_from_an_index(room: Connection, sql: str) -> None:
    plan = " ".join(row[3] for row in room.execute(f"EXPLAIN QUERY PLAN {sql}"))
    assert "USING" in plan
    assert "TEMP B-TREE" not in plan
    room.close()


def test_0003_keeps_prefaces_out_of_the_index(room: Connection) -> None:
    before = room.execute("SELECT id, hex(sz) FROM messages_fts_docsize").fetchall()
    changes = room.execute("SELECT total_changes()").fetchone()[0]
    room.execute("UPDATE messages SET preface = 'quokka' WHERE id = ?", (QUESTION,))
    assert room.execute("SELECT total_changes()").fetchone()[0] == changes + 1
    assert room.execute("SELECT id, hex(sz) FROM messages_fts_docsize").fetchall() == before
    room.close()


# --- what 0011 makes of vectors ---------------------------------------------------------------------


def triggers(conn: Connection) -> list[tuple[str, str]]:
    return list(conn.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"))


def vectors(conn: Connection) -> list[tuple[object, ...]]:
    sql = "SELECT kind, owner_id, part, session_id, model, data FROM vectors ORDER BY model, owner_id, part"
    return list(conn.execute(sql))


def test_vectors_become_rows_whole_and_leave_no_page_behind(place: Place) -> None:
    place.path.parent.mkdir()
    conn = create_file(place.path, place.key)
    step = ALL.index(m0011_vectors_in_rows)
    migrate(conn, NOW, ALL[:step])
    fill(conn)
    conn.executemany(
        "INSERT INTO vectors (kind, owner_id, part, session_id, model, data) VALUES (?, ?, ?, ?, ?, ?)",
        [
            ("message", QUESTION, n, SESSION, model, bytes([n % 256]) * 1536)
            for n in range(300)
            for model in "fg"
        ]
        + [("memory", "k", 0, None, "f", b"only" * 384)],
    )
    before, told = vectors(conn), triggers(conn)
    pages = conn.execute("PRAGMA page_count").fetchone()[0]

    migrate(conn, NOW, ALL[: step + 1])
    assert vectors(conn) == before
    assert triggers(conn) == told
    assert conn.execute("PRAGMA page_count").fetchone()[0] < pages * 1.25
    assert give_back(conn)
    assert conn.execute("PRAGMA freelist_count").fetchone()[0] == 0
    assert conn.execute("PRAGMA page_count").fetchone()[0] < pages * 0.55
    assert vectors(conn) == before
    assert not give_back(conn)

    conn.execute("UPDATE messages SET content = 'said anew' WHERE id = ?", (QUESTION,))
    assert [row[:3] for row in vectors(conn)] == [("memory", "k", 0)]
    put(conn, "vectors", kind="summary", owner_id="y", session_id=SESSION, model="f", data=b"1234")
    conn.execute("UPDATE sessions SET head_id = NULL")
    conn.execute("DELETE FROM sessions")
    assert [row[:3] for row in vectors(conn)] == [("memory", "k", 0)]
    with pytest.raises(IntegrityError):
        put(conn, "vectors", kind="memory", owner_id="k", part=0, model="f", data=b"1234")
    conn.close()
