"""After forgetting no table, no page beneath the encryption, used or free, and no log holds a word of it."""

import json
import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from memory.context.entities import NewEpoch, NewSummary, TierUse, TurnRecord
from memory.entities import MessagePatch, NewMessage, NewSession, SessionPatch, Target, TitleSource
from memory.memories.entities import MemoryKind, MemoryOrigin, MemoryPatch, MemorySource, NewMemory, UseKind
from memory.storage import connection
from memory.storage.connection import Connection
from memory.storage.queries import forgetting, text_matches
from memory.storage.store import Store
from memory.transfer import TravellingMessage, TravellingSession
from memory.vectors.entities import Embedded
from models.messages import Role
from tests.security.pages import log_pages, pages
from tests.storage.conftest import Place, database_of
from tests.storage.test_erasure import holding

WORD = "zeppelin"
UNSPACED = "\u98a8\u8239\u98db\u884c"
NUMBER = bytes.fromhex("0123456789abcdef")


@dataclass
class Planted:
    session: str
    message: str
    memory: str
    elsewhere: str


async def plant(store: Store) -> Planted:
    """Says the word, and puts it wherever something is made of what was said."""
    meta = f'{{"note": "{WORD}"}}'
    at = (await store.create_session(NewSession("t"), NewMessage(Role.USER, "kept")))[0].created_at
    said = TravellingMessage("m", None, Role.USER, "", f"My {WORD} {UNSPACED} leaks", at, meta=meta)
    travelling = TravellingSession(
        id="s",
        title=f"The {WORD}",
        title_source=TitleSource.MODEL,
        created_at=at,
        updated_at=at,
        messages=(said,),
    )
    session = (await store.transfer.take(travelling)).session_id
    (first,) = await store.branch(session)
    reply = await store.append_message(session, NewMessage(Role.ASSISTANT, f"Patch the {WORD}."))
    await store.edit_message(first.id, f"My old {WORD} leaks")
    await store.set_head(session, reply.id)
    later = await store.append_message(session, NewMessage(Role.USER, "It is raining."))
    await store.context.add_summary(session, NewSummary(f"A {WORD}", (first.id, reply.id), topics=(WORD,)))
    await store.context.add_epoch(NewEpoch(session, "m", f"Of a {WORD}", (), first.id))
    await store.jobs.keep_result("summary", bytes(32), f"a {WORD}", session)
    await store.jobs.add("learn", first.id, payload={"message": first.id})

    source = MemorySource(first.id, session, f"My {WORD}")
    memories = store.memories
    new = NewMemory(
        MemoryKind.FACT, f"Has a {WORD} {UNSPACED}", MemoryOrigin.PATTERN, (source,), subject=WORD
    )
    memory = await memories.add(new)
    await memories.change(memory.id, MemoryPatch(text=f"Has an old {WORD} {UNSPACED}"))
    lasting = await memories.add(replace(new, text=f"A {WORD} in the rain", subject=""))
    await memories.add_sources(lasting.id, [MemorySource(later.id, session, "raining")])
    await memories.change(lasting.id, MemoryPatch(text="It was raining"))
    for one in await store.vectors.unembedded("v"):
        await store.vectors.put("v", [Embedded(one, (NUMBER,))] if WORD in one.text else [])

    other, asked = await store.create_session(NewSession("o"), NewMessage(Role.USER, "what leaks?"))
    answer = await store.append_message(other.id, NewMessage(Role.ASSISTANT, "Something."))
    await store.update_message(asked.id, MessagePatch(preface=f"You know: a {WORD}"))
    await memories.use([memory.id], reply_id=answer.id, session_id=other.id, how=UseKind.RECALLED)
    held = (TierUse("profile", 1, (memory.id,)), TierUse("recall", 1, (memory.id, lasting.id)))
    epoch = await store.context.add_epoch(NewEpoch(other.id, "m", f"Knows of a {WORD}", held[:1], asked.id))
    await store.context.record_turn(TurnRecord(answer.id, other.id, epoch.id, "m", "ab", 1, held))
    return Planted(session, first.id, memory.id, lasting.id)


async def tables_with(store: Store, *texts: str) -> set[str]:
    def look(conn: Connection) -> set[str]:
        return holding(conn, *texts)

    return await database_of(store).read(look)


def pages_with(place: Place, *texts: bytes) -> int:
    path: Path = place.path
    every = [*pages(path, place.key), *log_pages(path, place.key)]
    return sum(text in page for page in every for text in texts)


@pytest.mark.parametrize("how", ["message", "session", "about", "time"])
async def test_no_word_of_it_is_left(store: Store, place: Place, how: str) -> None:
    planted = await plant(store)
    words = (WORD, UNSPACED[:3])
    secrets = (WORD.encode(), UNSPACED.encode(), NUMBER)
    before = await tables_with(store, *words)
    assert before >= {
        "messages",
        "messages_fts_data",
        "messages_pieces_data",
        "sessions",
        "summaries",
        "epochs",
        "job_results",
        "memories",
        "memories_fts_data",
        "memories_pieces_data",
        "memory_versions",
        "memory_sources",
        "memory_changes",
    }
    assert pages_with(place, *secrets) > 0
    at = (await store.branch(planted.session, planted.message))[0].created_at
    target = {
        "message": Target(messages=(planted.message,)),
        "session": Target(sessions=(planted.session,)),
        "about": Target(about=WORD),
        "time": Target(since=at),
    }[how]
    tried = await store.forget(target, dry_run=True)
    assert await tables_with(store, *words) == before
    done = await store.forget(target)
    assert done == tried
    assert done.erased.verified
    assert await tables_with(store, *words, planted.memory) == set()
    assert pages_with(place, *secrets) == 0
    left = {one.id: one.text for one in await store.memories.select()}
    assert left == ({planted.elsewhere: "It was raining"} if how in {"message", "about"} else {})
    assert (await store.verify()).problems == ()
    await store.close()
    assert pages_with(place, *secrets) == 0


async def test_everything_leaves_an_empty_room(store: Store, place: Place) -> None:
    await plant(store)
    assert (await store.forget(Target(everything=True))).erased.verified
    assert await tables_with(store, WORD, "raining", "Something") == set()
    assert pages_with(place, WORD.encode(), b"raining", NUMBER) == 0


KEPT = frozenset(
    (
        # What the room is, and what it has done; none of them holds words of the user.
        *("schema_migrations", "meta", "duties", "moves", "clients", "client_accesses", "receipts"),
        # What other devices have to be told, among it that everything is gone.
        *("sync_state", "sync_devices", "sync_stamps", "sync_files", "sync_blobs", "sync_merged"),
    )
)


async def test_forgetting_everything_empties_every_table_that_is_not_kept(store: Store) -> None:
    """A table is emptied by itself, or with the rows that its own belong to."""

    def read(conn: Connection) -> dict[str, set[str]]:
        tables = conn.execute(
            "SELECT name FROM pragma_table_list"
            " WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite_%'"
        ).fetchall()
        return {
            name: {
                row[0]
                for row in conn.execute(
                    """SELECT "table" FROM pragma_foreign_key_list(?) WHERE on_delete = 'CASCADE'""", (name,)
                )
            }
            for (name,) in tables
        }

    owners = await database_of(store).read(read)
    emptied = {"sessions", "messages", "memories", *forgetting._EVERYTHING}
    while more := {name for name, own in owners.items() if name not in emptied and own & emptied}:
        emptied |= more
    assert set(owners) - emptied == KEPT


@pytest.mark.parametrize(
    "leftover",
    [
        "INSERT INTO vectors (kind, owner_id, model, data) VALUES ('memory', '{memory}', 'm', x'00000000')",
        "INSERT INTO memories_fts (rowid, subject, text) VALUES ({row}, 'x', 'y')",
        "INSERT INTO memories_pieces (rowid, subject, text) VALUES ({row}, 'x', 'yyy')",
        'UPDATE turns SET parts = \'[{{"tier":"profile","tokens":1,"ids":["{memory}"]}}]\'',
        "INSERT INTO later (memory_id) VALUES ('{memory}')",
    ],
)
async def test_a_leftover_of_a_memory_is_noticed(store: Store, leftover: str) -> None:
    planted = await plant(store)
    await store.jobs.add("x", planted.memory)

    def betray(conn: Connection) -> None:
        conn.execute("CREATE TABLE later (memory_id TEXT) STRICT")
        row = conn.execute("SELECT seq FROM memories WHERE id = ?", (planted.memory,)).fetchone()[0]
        statement = leftover.format(memory=planted.memory, row=row)
        # The last thing that an erasing does, so that nothing cleans up behind it.
        conn.execute(f"CREATE TRIGGER betrayal AFTER DELETE ON jobs BEGIN {statement}; END")

    await database_of(store).write(betray)
    assert not (await store.memories.erase([planted.memory])).verified


async def test_a_title_of_your_own_that_repeats_it_is_told(store: Store) -> None:
    session, first = await store.create_session(
        NewSession("t"), NewMessage(Role.USER, "The locker code of my sister Zara is 4471")
    )
    await store.append_message(session.id, NewMessage(Role.USER, "Does it rain in Oslo?"))
    await store.update_session(session.id, SessionPatch(title="Locker 4471", title_source=TitleSource.PERSON))
    done = await store.forget(Target(messages=(first.id,)))
    (left,) = done.erased.copies
    assert (left.session_id, left.title, left.title_only) == (session.id, "Locker 4471", True)


CANARY = "Zoëpelin"


def planted_everywhere(conn: Connection, columns: list[tuple[str, str]], session_id: str) -> None:
    """A row for each of the columns, with the canary in it and as little as can be in the others."""
    conn.execute("PRAGMA ignore_check_constraints = ON")
    for number, (table, column) in enumerate(columns):
        row: dict[str, object] = {}
        for name, kind, default in conn.execute(
            'SELECT name, type, dflt_value FROM pragma_table_info(?) WHERE "notnull" OR name = ?',
            (table, column),
        ).fetchall():
            if name == column:
                said = f"of {CANARY} {number}"
                row[name] = json.dumps({"said": said}) if _is_json(conn, table, name) else said
            elif name == "session_id":
                row[name] = session_id
            elif default is None and not (name == "seq" and kind == "INTEGER"):
                values = {"BLOB": bytes([number]) * 32, "TEXT": _plain(conn, table, name, number)}
                row[name] = values.get(kind, number)
        names = ", ".join(f'"{name}"' for name in row)
        places = ", ".join("?" for _ in row)
        conn.execute(f'INSERT INTO "{table}" ({names}) VALUES ({places})', tuple(row.values()))


def _is_json(conn: Connection, table: str, column: str) -> bool:
    (sql,) = conn.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    return f"json_valid({column})" in sql


def _plain(conn: Connection, table: str, column: str, number: int) -> str:
    """A value that the rest of the program understands."""
    (sql,) = conn.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    if _is_json(conn, table, column):
        return "{}"
    allowed = re.search(rf"{column} IN \(([^)]*)\)", " ".join(sql.split()))
    values: list[str] = re.findall(r"'(\w+)'", allowed.group(1) if allowed else "") or [f"plain {number}"]
    # What is finished, and what can be found, stands in the full-text indices.
    return next((value for value in values if value in {"complete", "kept"}), values[0])


async def test_every_column_is_cleared_or_holds_no_words(place: Place) -> None:
    """A new column has to be cleared by `memory forget --about`, or named in `WORDLESS` with a reason."""
    store = await place.open(create=True)
    database = database_of(store)
    every = await database.read(text_matches.columns)
    names = {f"{table}.{column}" for table, column in every}
    assert set(text_matches.WORDLESS) <= names
    assert all(text_matches.WORDLESS.values())
    wanted = [(table, column) for table, column in every if f"{table}.{column}" not in text_matches.WORDLESS]
    kept, _ = await store.create_session(NewSession("kept"), NewMessage(Role.USER, "kept"))
    await store.close()

    conn = connection.open_file(place.path, place.key)
    conn.execute("PRAGMA foreign_keys = OFF")
    conn.execute("BEGIN")
    planted_everywhere(conn, wanted, kept.id)
    held = set(text_matches.still_in(conn, CANARY))
    assert held == {f"{table}.{column}" for table, column in wanted}
    done = forgetting.forget(conn, Target(about=CANARY))
    conn.execute("COMMIT")
    conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    assert text_matches.still_in(conn, CANARY) == []
    assert done.erased.verified
    escaped = json.dumps(CANARY)[1:-1]
    assert holding(conn, CANARY, escaped, "zoepel") == set()
    conn.close()
    assert pages_with(place, CANARY.encode(), escaped.encode(), b"zoepel") == 0


async def test_a_column_that_is_not_cleared_is_in_the_receipt(store: Store) -> None:
    def add(conn: Connection) -> None:
        conn.execute("CREATE TABLE later (remark TEXT) STRICT")
        conn.execute("INSERT INTO later VALUES (?)", (f"A {WORD} again",))

    await plant(store)
    await database_of(store).write(add)
    assert not (await store.forget(Target(about=WORD))).erased.verified
