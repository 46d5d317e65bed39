"""What a check of a room notices."""

import pytest

from memory.context.entities import NewEpoch, NewSummary, TurnRecord
from memory.entities import NewMessage, NewSession
from memory.errors import NotARoom, RoomDamaged
from memory.storage.connection import Connection
from memory.storage.migrations import LATEST
from memory.storage.store import Store
from models.messages import Role
from tests.contract.reading import read, shelved
from tests.storage.conftest import Place, database_of


async def filled(store: Store, messages: int = 40) -> str:
    session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "x"))
    for n in range(messages):
        await store.append_message(session.id, NewMessage(Role.USER, f"{n} " + "words " * 300))
    return session.id


async def summarised(store: Store) -> str:
    """A session of which one summary is merged into a wider one, with a turn; beside it another session."""
    session_id = await filled(store, messages=2)
    reply = await store.append_message(session_id, NewMessage(Role.ASSISTANT, "y"))
    ids = [message.id for message in await store.branch(session_id)]
    narrow = await store.context.add_summary(session_id, NewSummary("n", tuple(ids[1:2])))
    await store.context.add_summary(
        session_id, NewSummary("w", (ids[3], ids[0], ids[1]), level=1, replaces=(narrow.id,))
    )
    epoch = await store.context.add_epoch(NewEpoch(session_id, "m", "h", (), ids[0]))
    await store.context.record_turn(TurnRecord(reply.id, session_id, epoch.id, "m", "", 1, ()))
    assert (await store.verify()).problems == ()

    def beside(conn: Connection) -> None:
        conn.execute(
            "INSERT INTO sessions (id, title, title_source, memory_mode, created_at, updated_at)"
            " VALUES ('other', 't', 'person', 'normal', 1, 1)"
        )
        conn.execute(
            "INSERT INTO messages (id, session_id, role, speaker, content, created_at, status)"
            " VALUES ('theirs', 'other', 'user', '', 'x', 1, 'complete')"
        )
        conn.execute("UPDATE sessions SET head_id = 'theirs' WHERE id = 'other'")

    await database_of(store).write(beside)
    return session_id


async def test_a_busy_room_with_a_long_log_is_sound(store: Store) -> None:
    await filled(store, messages=300)
    report = await store.verify()
    assert (report.sessions, report.messages, report.schema_version, report.problems) == (
        1,
        301,
        LATEST,
        (),
    )


WIDE = "(SELECT id FROM summaries WHERE level = 1)"
VECTOR = (
    "INSERT INTO vectors (kind, owner_id, session_id, model, data)"
    " VALUES ('{kind}', '{owner}', (SELECT min(session_id) FROM messages), 'm', x'00000000')"
)
LAST = "(SELECT max(id) FROM messages WHERE session_id <> 'other')"


@pytest.mark.parametrize(
    ("label", "statement"),
    [
        ("full text", "INSERT INTO messages_fts (rowid, content) VALUES (999, 'a ghost')"),
        ("sessions with a wrong message count", "UPDATE sessions SET message_count = 7"),
        ("messages stored before their parent", f"UPDATE messages SET parent_id = {LAST} WHERE seq = 1"),
        ("summaries that cover nothing", f"DELETE FROM summary_messages WHERE summary_id <> {WIDE}"),
        (
            "summaries that cover another session's messages",
            f"""
            UPDATE summary_messages SET session_id = 'other', message_id = 'theirs'
            WHERE position = 0 AND summary_id = {WIDE}
            """,
        ),
        (
            "summaries that are merged without a wider one",
            "UPDATE summaries SET merged_into = NULL WHERE state = 'merged'",
        ),
        (
            "summaries that are current beside a wider one",
            "UPDATE summaries SET state = 'current' WHERE merged_into IS NOT NULL",
        ),
        (
            "summaries that are merged into one that is not wider",
            "DELETE FROM summary_messages WHERE position = 2",
        ),
        ("summaries that are merged into one that is not wider", "UPDATE summaries SET level = 0"),
        ("turns of another session's epoch", "UPDATE epochs SET session_id = 'other', start_id = 'theirs'"),
        ("turns of what is no reply", "UPDATE messages SET role = 'user'"),
        ("vectors of messages that are not there", VECTOR.format(kind="message", owner="nobody")),
        ("vectors of summaries that are not there", VECTOR.format(kind="summary", owner="nobody")),
    ],
)
async def test_contradictions_are_named(store: Store, label: str, statement: str) -> None:
    session_id = await summarised(store)

    def spoil(conn: Connection) -> None:
        conn.execute(statement)

    await database_of(store).write(spoil)
    problems = (await store.verify()).problems
    assert len(problems) == 1
    assert problems[0].startswith(label)
    assert session_id not in problems[0]


async def test_a_reference_to_nothing_is_named(store: Store) -> None:
    await filled(store, messages=3)

    def off(conn: Connection) -> None:
        conn.execute("COMMIT")
        conn.execute("PRAGMA foreign_keys = OFF")
        conn.execute("BEGIN")
        conn.execute("UPDATE messages SET parent_id = 'nobody' WHERE seq = 2")
        conn.execute("UPDATE sessions SET project_id = 'nowhere'")

    await database_of(store).write(off)
    problems = (await store.verify()).problems
    assert set(problems) == {
        "reference: sessions row 1 to projects",
        "reference: messages row 2 to messages",
    }


async def test_every_flipped_bit_is_noticed(place: Place) -> None:
    store = await place.open(create=True)
    await filled(store)
    await store.close()
    whole = place.path.read_bytes()
    checked = 0
    for offset in range(4096 + 17, len(whole), 7919):
        place.path.write_bytes(whole)
        place.flip(offset)
        try:
            store = await place.open()
        except (NotARoom, RoomDamaged):  # one of the few pages that opening reads
            continue
        report = await store.verify()
        await store.close()
        assert f"HMAC verification failed for page {offset // 4096 + 1}" in report.problems
        checked += 1
    assert checked > 20


@pytest.mark.parametrize(
    ("label", "statement"),
    [
        (
            "full text of documents:",
            "INSERT INTO chunks_fts (rowid, context, text) VALUES (999, 'a', 'ghost')",
        ),
        (
            "full text of documents' pieces:",
            "INSERT INTO chunks_pieces (rowid, content) VALUES (999, 'a ghost')",
        ),
        (
            "vectors of another document's chunks",
            "UPDATE chunk_vectors SET document_id = (SELECT max(id) FROM documents)",
        ),
    ],
)
async def test_what_is_wrong_with_documents_is_named(store: Store, label: str, statement: str) -> None:
    for place in ("/home/me/heron.txt", "/home/me/coot.txt"):
        await shelved(store, read(place, "Herons wade.", "\u98a8\u8239\u98db\u884c"))
    assert (await store.verify()).problems == ()
    await database_of(store).write(lambda conn: conn.execute(statement))
    (problem,) = (await store.verify()).problems
    assert problem.startswith(label)
    assert "heron" not in problem.lower()
