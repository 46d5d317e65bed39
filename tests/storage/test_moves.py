"""What a parcel takes along of a room's tables, and what it must not take."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from memory.context.entities import NewEpoch, TierUse, TurnRecord
from memory.entities import MessagePatch, NewMessage, NewSession, RoomKind, Session
from memory.jobs.queue import Job
from memory.kinds import MovedKind
from memory.memories.entities import MemoryKind, MemoryOrigin, MemoryPatch, MemorySource, NewMemory
from memory.storage.connection import Connection, create_file
from memory.storage.migrations import ALL, migrate
from memory.storage.queries import moves
from memory.storage.queries.table_ownership import Lineage, tables
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vectors.entities import Embedded
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.storage.conftest import Place, database_of
from tests.storage.test_erasure import holding


@pytest.fixture
async def private(place: Place, tmp_path: Path) -> Store:
    path = place.path.with_name("private.db")
    return await open_room(path, place.key, RoomKind.PRIVATE, FakeClock(), create=True)


async def moved(source: Store, target: Store, session_id: str) -> None:
    sealer = await target.moves.sealer()
    departure = await source.moves.depart(session_id, target.room, sealer)
    assert departure.verified
    parcel = sealer.unseal(await source.moves.parcel(session_id), session_id)
    assert await target.moves.arrive(parcel)
    await source.moves.delivered(session_id)


async def asked(store: Store, text: str, project: str | None = None) -> tuple[Session, str, str]:
    """A session of one turn, with the ids of what was said and answered."""
    session, said = await store.create_session(NewSession(text, project=project), NewMessage(Role.USER, text))
    reply = await store.append_message(session.id, NewMessage(Role.ASSISTANT, f"About {text}"))
    return await store.get_session(session.id), said.id, reply.id


async def recalled(store: Store, session: Session, said: str, reply: str, ids: tuple[str, ...]) -> None:
    """Notes that a turn was made with these ids in its preface, in an epoch of its session."""
    await store.update_message(said, MessagePatch(preface="You were told: kittiwake."))
    made = await store.context.add_epoch(NewEpoch(session.id, "m", "head", (TierUse("system", 3, ()),), said))
    parts = (TierUse("recall", 5, ids), TierUse("recent", 5, (said,)))
    await store.context.record_turn(TurnRecord(reply, session.id, made.id, "m", "00", 13, parts))


async def test_every_table_goes_with_something_or_is_said_to_stay(store: Store) -> None:
    found = await database_of(store).read(tables)
    homeless = sorted(name for name, table in found.items() if table.lineage is None)
    assert homeless == [], "say in memory/storage/queries/table_ownership.py what their rows go with"
    assert {table.lineage for table in found.values()} == set(Lineage)
    # What is numbered is numbered anew where it comes to: nothing else may refer to those numbers.
    numbered = {name for name, one in found.items() if one.order and one.lineage is not Lineage.ROOM}
    assert numbered == {
        "messages",
        "summaries",
        "epochs",
        "memories",
        "attachments",
        "documents",
        "chunks",
    }


async def test_what_was_recalled_from_a_room_does_not_leave_it_in_a_prompt(
    store: Store, private: Store
) -> None:
    _, source, _ = await asked(store, "kittiwakes are gulls")
    session, said, reply = await asked(store, "which birds?")
    await recalled(store, session, said, reply, (source,))
    await moved(store, private, session.id)
    assert [one.preface for one in await private.branch(session.id)] == ["", ""]
    assert await private.context.epochs(session.id, "m") == []
    turn = await private.context.turn(reply)
    assert turn is not None
    assert (turn.epoch_id, turn.parts) == (None, (TierUse("recall", 5, ()), TierUse("recent", 5, (said,))))
    assert await database_of(private).read(lambda conn: holding(conn, "kittiwake", source)) == set()
    await private.close()


async def test_what_was_recalled_from_the_session_itself_goes_along(store: Store, private: Store) -> None:
    session, said, reply = await asked(store, "which birds?")
    await recalled(store, session, said, reply, (said,))
    turn, epochs = await store.context.turn(reply), await store.context.epochs(session.id, "m")
    await moved(store, private, session.id)
    assert [one.preface for one in await private.branch(session.id)] == ["You were told: kittiwake.", ""]
    assert await private.context.epochs(session.id, "m") == epochs
    assert await private.context.turn(reply) == turn
    await private.close()


async def test_nothing_of_it_is_left_in_any_table_and_other_prompts_let_go_of_it(
    store: Store, private: Store
) -> None:
    other, other_said, other_reply = await asked(store, "which birds?")
    session, said, reply = await asked(store, "kittiwakes are gulls", "Ornithology")
    await recalled(store, other, other_said, other_reply, (said,))
    (text,) = [one for one in await store.vectors.unembedded("m", limit=10) if one.owner_id == said]
    await store.vectors.put("m", [Embedded(text, (bytes(8),))])
    await store.jobs.add("embed", session.id, session_id=session.id)
    await moved(store, private, session.id)
    words = ("kittiwake", "Ornithology", session.id, said, reply)
    assert await database_of(store).read(lambda conn: holding(conn, *words)) == set()
    assert [one.preface for one in await store.branch(other.id)] == ["", ""]

    def counted(conn: Connection) -> list[int]:
        return [
            conn.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in ("vectors", "jobs", "projects")
        ]

    assert await database_of(private).read(counted) == [1, 1, 1]
    assert (await private.get_session(session.id)).project == "Ornithology"
    await private.close()


async def test_a_project_stays_while_others_use_it_and_is_one_where_it_is_known(
    store: Store, private: Store
) -> None:
    first, *_ = await asked(store, "one", "Birds")
    await asked(store, "two", "Birds")
    await asked(private, "three", "Birds")
    await moved(store, private, first.id)
    assert [one.project for one in await store.list_sessions()] == ["Birds"]
    assert [one.project for one in await private.list_sessions()] == ["Birds", "Birds"]
    await private.close()


async def test_a_job_that_was_under_way_is_begun_again(store: Store, private: Store) -> None:
    session, *_ = await asked(store, "one")
    await store.jobs.add("title", session.id, session_id=session.id)
    begun = await store.jobs.claim(datetime(2027, 1, 1, tzinfo=UTC))
    assert isinstance(begun, Job)
    await moved(store, private, session.id)
    assert await store.jobs.list() == []
    (job,) = await private.jobs.list()
    assert job == replace(begun, state=job.state, updated_at=job.updated_at)
    assert job.state == "queued"
    await private.close()


async def test_what_was_kept_in_it_moves_along_and_back(store: Store, private: Store) -> None:
    other, other_said, other_reply = await asked(store, "which birds?")
    session, *_ = await asked(store, "we talk about something")
    kept = NewMemory(MemoryKind.FACT, "The kittiwake key is under the mat", MemoryOrigin.PERSON)
    memory = await store.memories.add(replace(kept, kept_in=session.id))
    elsewhere = await store.memories.add(replace(kept, text="It rains here", kept_in=other.id))
    await store.memories.change(memory.id, MemoryPatch(text="The kittiwake key is under the plant"))
    await recalled(store, other, other_said, other_reply, (memory.id,))
    (text,) = [one for one in await store.vectors.unembedded("m", limit=9) if one.owner_id == memory.id]
    await store.vectors.put("m", [Embedded(text, (bytes(8),))])
    versions = await store.memories.versions(memory.id)
    before = await store.memories.get(memory.id)

    await moved(store, private, session.id)
    assert await database_of(store).read(lambda conn: holding(conn, "kittiwake", memory.id)) == set()
    assert [one.id for one in await store.memories.select()] == [elsewhere.id]
    assert [one.preface for one in await store.branch(other.id)] == ["", ""]
    assert await private.memories.get(memory.id) == before
    assert await private.memories.versions(memory.id) == versions

    await moved(private, store, session.id)
    assert await private.memories.select() == []
    assert await store.memories.get(memory.id) == before
    await private.close()


async def test_what_another_conversation_speaks_for_too_stays(store: Store, private: Store) -> None:
    session, *_ = await asked(store, "we talk about something")
    other, said, _ = await asked(store, "the key is under the mat")
    kept = NewMemory(MemoryKind.FACT, "The key is under the mat", MemoryOrigin.PERSON, kept_in=session.id)
    memory = await store.memories.add(kept)
    await store.memories.add_sources(memory.id, [MemorySource(said, other.id, "under the mat")])
    await moved(store, private, session.id)
    assert [one.id for one in await store.memories.select()] == [memory.id]
    assert await private.memories.select() == []
    await private.close()


async def test_what_was_kept_in_it_outlives_it(store: Store) -> None:
    session, *_ = await asked(store, "we talk about something")
    kept = NewMemory(MemoryKind.FACT, "The key is under the mat", MemoryOrigin.PERSON, kept_in=session.id)
    memory = await store.memories.add(kept)
    assert (await store.erase_session(session.id)).verified
    assert [one.id for one in await store.memories.select()] == [memory.id]


async def test_a_parcel_that_an_earlier_version_packed_arrives(place: Place, tmp_path: Path) -> None:
    """Its session waits in a room of the schema before documents, and is known by another name in there."""
    place.path.parent.mkdir()
    conn = create_file(place.path, place.key)
    migrate(conn, FakeClock().now(), ALL[:12])
    conn.execute(
        "INSERT INTO moves (session_id, destination, begun_at, parcel) VALUES ('s', 'private', 1, x'00')"
    )
    conn.close()
    store = await place.open()
    assert [(one.item_id, one.kind) for one in await store.moves.waiting()] == [("s", MovedKind.SESSION)]
    assert await store.moves.parcel("s") == b"\0"
    session, *_ = await asked(store, "kittiwakes are gulls")
    packed = await database_of(store).write(lambda conn: moves.pack(conn, session.id)[0])
    known = msgspec.msgpack.decode(moves.encode(packed))
    assert known.pop("kind") == "session"
    assert await store.moves.arrive(msgspec.msgpack.encode(known))
    assert await store.get_session(session.id) == session
    await store.close()
