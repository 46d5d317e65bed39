"""Documents of several rooms: what is known of the private one, and what happens to a move that fails."""

from pathlib import Path

import pytest

from memory.entities import NewMessage, NewSession, RoomKind
from memory.errors import AmbiguousId, DocumentNotFound, RoomClosed, StorageFull
from memory.tasks.entities import NewTask
from memory.transfer import Losses
from models.messages import Role
from tests.contract.reading import asked_about, read, shelved
from tests.unit.services.two_rooms import PASSPHRASE, TwoRooms

PLACE = "/home/me/heron.txt"


@pytest.fixture
def two(tmp_path: Path) -> TwoRooms:
    return TwoRooms(tmp_path)


async def test_a_private_document_is_known_only_while_its_room_is_open(two: TwoRooms) -> None:
    opened, private = await two.both()
    document = await shelved(opened.store, read(PLACE, "Herons wade.", title="Ardea"))
    moved = await two.rooms.move_document(PLACE, RoomKind.PRIVATE)
    assert moved.id == document
    assert (await two.rooms.find_document(document[:20]))[0] is private
    await two.rooms.leave_private()
    for ref in (document, PLACE):
        with pytest.raises(DocumentNotFound):
            await two.rooms.find_document(ref)
    assert await opened.documents.list() == []
    status = await opened.documents.status()
    assert (status.counts, status.chunks, status.folders) == ({}, 0, ())
    with pytest.raises(RoomClosed):
        await two.rooms.move_document(
            await shelved(opened.store, read(f"{PLACE}.md", "Coots dive.")), RoomKind.PRIVATE
        )
    await two.rooms.enter_private(PASSPHRASE)
    await two.rooms.move_document(document, RoomKind.OPEN)
    assert (await two.rooms.find_document(document))[0] is opened


async def test_the_open_room_adds_a_file_that_the_private_one_has(two: TwoRooms, tmp_path: Path) -> None:
    opened, private = await two.both()
    file = tmp_path / "heron.md"
    file.write_text("Herons wade.")
    (first,) = (await opened.documents.add([file])).documents
    await two.rooms.move_document(first, RoomKind.PRIVATE)
    report = await opened.documents.add([file])
    assert (report.added, report.unchanged, report.updated) == (1, 0, 0)
    # With both rooms open, the path names two documents.
    with pytest.raises(AmbiguousId):
        await two.rooms.find_document(str(file))
    (second,) = report.documents
    await two.rooms.move_document(second, RoomKind.PRIVATE)
    assert {one.id for one in await private.documents.list()} == {first, second}
    assert (await two.rooms.find_document(str(file)))[1].id == first


async def test_a_move_that_fails_changes_nothing(two: TwoRooms, monkeypatch: pytest.MonkeyPatch) -> None:
    opened, private = await two.both()
    document = await shelved(opened.store, read(PLACE, "Herons wade."), summary="Waders.")

    async def full(_parcel: bytes) -> bool:
        raise StorageFull("no space")

    monkeypatch.setattr(private.store.moves, "arrive", full)
    before = await opened.store.documents.get(document)
    with pytest.raises(StorageFull):
        await two.rooms.move_document(document, RoomKind.PRIVATE)
    assert await opened.store.documents.get(document) == before
    assert await opened.store.moves.waiting() == []


async def test_a_move_that_was_cut_short_is_completed_when_the_private_room_opens(two: TwoRooms) -> None:
    opened, private = await two.both()
    document = await shelved(opened.store, read(PLACE, "Herons wade."))
    sealer = await private.store.moves.sealer()
    await opened.store.moves.depart_document(document, RoomKind.PRIVATE, sealer)
    await two.rooms.leave_private()
    assert await two.rooms.complete() == 0
    private = await two.rooms.enter_private(PASSPHRASE)
    assert [one.id for one in await private.documents.list()] == [document]
    assert await opened.store.moves.waiting() == []
    # What is still to be made of it is made there.
    assert {job.kind for job in await private.store.jobs.list()} == {
        "embed_documents",
        "summarise_documents",
    }


async def test_the_sessions_of_a_moved_or_removed_document_are_known_before_it_goes(two: TwoRooms) -> None:
    opened = await two.open()
    document = await shelved(opened.store, read(PLACE, "Herons wade."))
    session, *_ = await asked_about(opened.store, document)
    await opened.store.create_session(NewSession("t"), NewMessage(Role.USER, "something else"))
    assert await opened.store.documents.told_in([document]) == (session.id,)
    assert (await opened.documents.remove([document])).recalled_in == (session.id,)
    assert await opened.store.documents.told_in([document]) == ()


async def test_a_private_note_takes_what_was_learned_from_it_out_of_the_open_room(two: TwoRooms) -> None:
    opened, private = await two.both()
    note = await opened.notes.new("About me", "I live in Kiel. See [[Log]].")
    log = await opened.notes.new("Log", "[[About me]]")
    await opened.background.run()
    assert [one.text for one in await opened.knowledge.select()] == ["I live in Kiel."]
    await two.rooms.move_document(note.id, RoomKind.PRIVATE)
    assert await opened.knowledge.select() == []
    assert [one.title for one in await opened.notes.list()] == ["Log"]
    assert [one.to for one in (await opened.notes.get(log.id)).links] == [None]
    await private.background.run()
    assert [one.text for one in await private.knowledge.select()] == ["I live in Kiel."]
    await two.rooms.move_document(note.id, RoomKind.OPEN)
    assert await private.knowledge.select() == []
    assert (await opened.notes.get("About me")).text == note.text


async def test_a_session_loses_the_documents_that_stay_when_it_moves(two: TwoRooms) -> None:
    opened, private = await two.both()
    document = await shelved(opened.store, read(PLACE, "Herons wade."))
    other = await shelved(opened.store, read(f"{PLACE}.md", "Coots dive."))
    session, _asked, reply = await asked_about(opened.store, document)
    await opened.store.documents.bind(session.id, [other])
    free, _ = await opened.store.create_session(NewSession("Free"), NewMessage(Role.USER, "Hello"))
    assert await two.rooms.losses([session.id, free.id], RoomKind.PRIVATE) == Losses(documents=2)
    assert await two.rooms.losses([free.id], RoomKind.PRIVATE) == Losses()
    assert await two.rooms.losses([session.id], RoomKind.OPEN) == Losses()
    # What was only cited counts, too.
    await opened.store.documents.unbind(session.id, document)
    assert await two.rooms.losses([session.id], RoomKind.PRIVATE) == Losses(documents=2)
    await two.rooms.move(session.id, RoomKind.PRIVATE)
    assert await private.store.documents.bound(session.id) == []
    assert (await private.store.documents.cited(reply)).citations == ()
    assert await two.rooms.losses([session.id], RoomKind.OPEN) == Losses()


async def test_a_task_that_has_read_a_session_goes_when_the_session_moves_and_is_counted_before(
    two: TwoRooms,
) -> None:
    opened, _private = await two.both()
    session, _ = await opened.store.create_session(NewSession("Cat"), NewMessage(Role.USER, "She is grey"))
    other, _ = await opened.store.create_session(NewSession("Roof"), NewMessage(Role.USER, "It is red"))
    await opened.store.tasks.add(NewTask("Compare the cat and the roof", session=session.id))
    kept = await opened.store.tasks.add(NewTask("List the roofs", session=other.id))
    assert await two.rooms.losses([session.id], RoomKind.PRIVATE) == Losses(tasks=1)
    assert await two.rooms.losses([session.id, other.id], RoomKind.PRIVATE) == Losses(tasks=2)
    note = await opened.notes.new("Pets", "See [[Cat]].")
    await opened.notes.new("Houses", "See [[Roof]].")
    assert await two.rooms.losses([session.id], RoomKind.PRIVATE) == Losses(tasks=1, notes=1)
    await two.rooms.move(session.id, RoomKind.PRIVATE)
    assert [one.id for one in await opened.store.tasks.list()] == [kept.id]
    assert (await opened.notes.get(note.id)).text == "See [[Cat]]."
