"""What is left of an erased session in the tables beneath the store, and whether a leftover is noticed."""

import pytest

from memory.context.entities import NewEpoch, NewSummary, TierUse, TurnRecord
from memory.entities import MessagePatch, NewMessage, NewSession
from memory.storage.connection import Connection
from memory.storage.store import Store
from models.messages import Role
from tests.storage.conftest import database_of

WORD = "zeppelin"
UNSPACED = "\u98a8\u8239\u98db\u884c"


async def secret(store: Store) -> tuple[str, str]:
    """Ids of a session that holds the word wherever it can be held, and of the message it comes from."""
    session, first = await store.create_session(
        NewSession(f"The {WORD}", project="p", system_prompt=WORD), NewMessage(Role.USER, WORD, speaker=WORD)
    )
    reply = await store.append_message(session.id, NewMessage(Role.ASSISTANT, f"{UNSPACED} {WORD}"))
    await store.update_message(first.id, MessagePatch(preface=WORD))
    summary = await store.context.add_summary(
        session.id, NewSummary(WORD, (first.id, reply.id), topics=(WORD,))
    )
    parts = (TierUse("summary", 1, (summary.id,)),)
    epoch = await store.context.add_epoch(NewEpoch(session.id, "m", WORD, parts, first.id))
    await store.context.record_turn(TurnRecord(reply.id, session.id, epoch.id, "m", "ab", 1, parts))
    await store.jobs.keep_result("summary", bytes(32), WORD, session.id)
    await store.jobs.add("title", session.id, session_id=session.id)
    return session.id, first.id


def holding(conn: Connection, *texts: str) -> set[str]:
    """Names of the tables, those beneath the full-text indices included, in which one of the texts is."""
    tables = conn.execute("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type <> 'view'")
    wanted = [text.encode() for text in texts]
    found = set()
    for (table,) in tables.fetchall():
        for row in conn.execute(f'SELECT * FROM "{table}"').fetchall():
            cells = [cell if isinstance(cell, bytes) else str(cell).encode() for cell in row]
            if any(text in cell for text in wanted for cell in cells):
                found.add(table)
    return found


async def test_no_table_holds_anything_of_an_erased_session(store: Store) -> None:
    other, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "something else"))
    session_id, message_id = await secret(store)
    said = [message.id for message in await store.branch(session_id)]
    wanted = (WORD, UNSPACED[:3], session_id, *said)
    before = await database_of(store).read(lambda conn: holding(conn, *wanted))
    assert before >= {
        "sessions",
        "messages",
        "messages_fts_data",
        "messages_pieces_data",
        "summaries",
        "epochs",
    }
    assert before >= {"summary_messages", "turns", "jobs", "job_results"}

    assert (await store.erase_session(session_id)).verified
    assert message_id in said
    assert await database_of(store).read(lambda conn: holding(conn, *wanted)) == set()
    assert await store.list_sessions() == [other]


async def test_no_table_holds_a_word_of_a_forgotten_message(store: Store) -> None:
    session, first = await store.create_session(NewSession("t"), NewMessage(Role.USER, f"{UNSPACED} {WORD}"))
    await store.update_message(first.id, MessagePatch(preface=WORD))
    await store.context.add_epoch(NewEpoch(session.id, "m", WORD, (), first.id))
    await store.jobs.keep_result("summary", bytes(32), WORD, session.id)
    summary = await store.context.add_summary(session.id, NewSummary(WORD, (first.id,)))
    await store.forget_message(first.id)
    assert (await store.context.summary(summary.id)).text == ""
    assert await database_of(store).read(lambda conn: holding(conn, WORD, UNSPACED[:3])) == set()


@pytest.mark.parametrize(
    "leftover",
    [
        "INSERT INTO vectors (kind, owner_id, model, data) VALUES ('message', '{message}', 'm', x'00000000')",
        "INSERT INTO messages_fts (rowid, content) VALUES ({row}, 'x')",
        "INSERT INTO messages_pieces (rowid, content) VALUES ({row}, 'x')",
        """
        INSERT INTO jobs (id, kind, key, payload, priority, state, not_before, created_at, updated_at)
        VALUES ('j', 'k', 'x', '{{"session": "{session}"}}', 1, 'queued', 1, 1, 1)
        """,
        "INSERT INTO later (session_id) VALUES ('{session}')",
    ],
)
async def test_a_leftover_is_noticed(store: Store, leftover: str) -> None:
    session_id, message_id = await secret(store)

    def betray(conn: Connection) -> None:
        conn.execute("CREATE TABLE later (session_id TEXT) STRICT")
        row = conn.execute("SELECT seq FROM messages WHERE id = ?", (message_id,)).fetchone()[0]
        statement = leftover.format(session=session_id, message=message_id, row=row)
        conn.execute(f"CREATE TRIGGER betrayal AFTER DELETE ON sessions BEGIN {statement}; END")

    await database_of(store).write(betray)
    assert not (await store.erase_session(session_id)).verified
