"""Documents that move between rooms: whole, once, and without a trace where they were."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memory.context.entities import TierUse
from memory.documents.entities import Document
from memory.entities import RoomKind
from memory.errors import DocumentNotFound
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from tests.contract.reading import MODEL, asked_about, read, shelved
from tests.fakes.clock import FakeClock
from tests.storage.conftest import database_of
from tests.storage.test_erasure import holding

Pair = tuple[Store, Store]
PLACE = "/home/me/heron.txt"


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    clock = FakeClock()
    stores = [
        await open_room(tmp_path / f"{room}.db", RoomKey.generate(), room, clock, create=True)
        for room in (RoomKind.OPEN, RoomKind.PRIVATE)
    ]
    yield stores[0], stores[1]
    for store in stores:
        await store.close()


async def move(source: Store, target: Store, document: str) -> bool:
    sealer = await target.moves.sealer()
    departure = await source.moves.depart_document(document, target.room, sealer)
    assert departure.verified
    arrived = await target.moves.arrive(sealer.unseal(await source.moves.parcel(document), document))
    await source.moves.delivered(document)
    return arrived


async def everything(store: Store, document: str) -> dict[str, object]:
    """All of a document that can be asked for."""
    found = await store.documents.get(document)
    return {
        "document": {name: getattr(found, name) for name in Document.__slots__ if name != "sessions"},
        "text": await store.documents.text(document),
        "content": await store.documents.content(document),
        "chunks": await store.documents.chunks(document),
        "vectors": sorted(await store.documents.vectors.of(MODEL, sessions=[document]), key=repr),
        "parts": await store.documents.summary_parts(document),
        "known": await store.documents.known_files(),
    }


async def test_a_document_arrives_whole_and_is_gone_where_it_was(pair: Pair) -> None:
    source, target = pair
    document = await shelved(
        source,
        read(PLACE, "Herons wade.", "They eat frogs.", title="Ardea", project="Birds", content=b"raw"),
        summary="About waders.",
    )
    before = await everything(source, document)
    assert len(before["vectors"]) == 2  # type: ignore[arg-type]
    assert await move(source, target, document)
    assert await everything(target, document) == before
    with pytest.raises(DocumentNotFound):
        await source.documents.get(document)
    words = ("Heron", "heron", "Ardea", "waders", "Birds", document)
    assert await database_of(source).read(lambda conn: holding(conn, *words)) == set()
    for store in pair:
        assert (await store.verify()).problems == ()
    assert [one.text[0] for one in await target.documents.evidence.postings(["heron"], at_most=9)]
    assert await move(target, source, document)
    assert await everything(source, document) == before


async def test_a_parcel_that_arrives_twice_is_stored_once(pair: Pair) -> None:
    source, target = pair
    document = await shelved(source, read(PLACE, "Herons wade."))
    sealer = await target.moves.sealer()
    await source.moves.depart_document(document, target.room, sealer)
    parcel = sealer.unseal(await source.moves.parcel(document), document)
    assert await target.moves.arrive(parcel)
    assert not await target.moves.arrive(parcel)
    assert (await target.documents.counts()) == {"indexed": 1}
    with pytest.raises(DocumentNotFound):
        await source.moves.depart_document(document, target.room, sealer)


async def test_sessions_stay_and_lose_what_they_had_of_the_document(pair: Pair) -> None:
    source, target = pair
    document = await shelved(source, read(PLACE, "Herons wade."), summary="About waders.")
    session, said, reply = await asked_about(source, document)
    sealer = await target.moves.sealer()
    departure = await source.moves.depart_document(document, target.room, sealer)
    assert (departure.recalled_in, departure.citations) == ((session.id,), 1)
    assert [one.preface for one in await source.branch(session.id)] == ["", ""]
    assert await source.documents.passages(session.id) == []
    assert (await source.documents.cited(reply)).citations == ()
    assert await source.context.epochs(session.id, MODEL) == []
    turn = await source.context.turn(reply)
    assert turn is not None
    assert turn.parts == (TierUse("document", 5, ()), TierUse("recent", 5, (said,)))


async def test_a_session_moves_without_the_text_of_documents_that_stay(pair: Pair) -> None:
    source, target = pair
    document = await shelved(source, read(PLACE, "Herons wade."), summary="About waders.")
    session, said, reply = await asked_about(source, document)
    sealer = await target.moves.sealer()
    await source.moves.depart(session.id, target.room, sealer)
    await target.moves.arrive(sealer.unseal(await source.moves.parcel(session.id), session.id))
    assert [one.id for one in await target.branch(session.id)] == [said, reply]
    assert await database_of(target).read(lambda conn: holding(conn, "Heron", "heron", document)) == set()
    assert (await source.documents.get(document)).sessions == ()
    assert (await target.verify()).problems == ()


async def test_a_preface_of_a_turn_that_was_not_recorded_does_not_move_either(pair: Pair) -> None:
    source, target = pair
    document = await shelved(source, read(PLACE, "Herons wade."))
    session, _, reply = await asked_about(source, document)
    await database_of(source).write(
        lambda conn: conn.execute("DELETE FROM turns WHERE reply_id = ?", (reply,))
    )
    sealer = await target.moves.sealer()
    await source.moves.depart(session.id, target.room, sealer)
    await target.moves.arrive(sealer.unseal(await source.moves.parcel(session.id), session.id))
    assert await database_of(target).read(lambda conn: holding(conn, "Heron", "heron")) == set()


async def test_where_its_file_has_a_document_already_it_keeps_its_text_and_follows_no_file(
    pair: Pair,
) -> None:
    source, target = pair
    resident = await shelved(target, read(PLACE, "An older text."))
    document = await shelved(source, read(PLACE, "Herons wade."))
    assert await move(source, target, document)
    assert await target.documents.text(document) == "Herons wade."
    assert [one.document for one in await target.documents.known_files()] == [resident]
    assert (await target.documents.get(document)).path == PLACE


async def test_a_document_leaves_its_folder_which_does_not_add_it_again(pair: Pair) -> None:
    source, target = pair
    folder = await source.documents.watch("~", "/home/me")
    document = await shelved(source, read(PLACE, "Herons wade.", folder=folder.id))
    other = "/home/me/other.txt"
    assert await source.documents.excluded([PLACE, other]) == frozenset()
    await move(source, target, document)
    assert await source.documents.excluded([PLACE, other]) == {PLACE}
    assert (await target.documents.get(document)).folder is None
    # Nor is it added when it is renamed.
    sha256 = (await target.documents.get(document)).sha256
    assert await source.documents.excluded([other, sha256]) == {sha256}
    assert await database_of(source).read(lambda conn: holding(conn, "Heron", "heron")) == set()
    # Whoever watches the folder again does not want it either; only who adds the file by hand does.
    await source.documents.unwatch(folder.id)
    assert await source.documents.excluded([PLACE]) == {PLACE}
    await shelved(source, read(PLACE, "Herons wade."))
    assert await source.documents.excluded([PLACE]) == frozenset()


async def test_a_document_that_comes_back_may_be_followed_again(pair: Pair) -> None:
    source, target = pair
    folder = await source.documents.watch("~", "/home/me")
    document = await shelved(source, read(PLACE, "Herons wade.", folder=folder.id))
    await move(source, target, document)
    await move(target, source, document)
    assert await source.documents.excluded([PLACE]) == frozenset()
    assert [one.document for one in await source.documents.known_files()] == [document]


async def test_what_is_taken_back_is_in_its_folder_as_before(pair: Pair) -> None:
    source, target = pair
    folder = await source.documents.watch("~", "/home/me")
    document = await shelved(source, read(PLACE, "Herons wade.", folder=folder.id), summary="Waders.")
    before = await everything(source, document)
    sealer = await target.moves.sealer()
    await source.moves.depart_document(document, target.room, sealer)
    await source.moves.take_back(document, sealer)
    assert await everything(source, document) == before
    assert await source.documents.excluded([PLACE]) == frozenset()
    assert await source.moves.waiting() == []


async def test_a_folder_keeps_its_project_when_its_documents_leave(pair: Pair) -> None:
    source, target = pair
    folder = await source.documents.watch("~", "/home/me", project="Birds")
    document = await shelved(source, read(PLACE, "Herons wade.", folder=folder.id, project="Birds"))
    await move(source, target, document)
    assert (await source.documents.folder(folder.id)).project == "Birds"
    assert (await target.documents.get(document)).project == "Birds"
