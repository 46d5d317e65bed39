"""Texts attached to sessions, in every store."""

from dataclasses import replace
from pathlib import Path

import pytest

from memory.attachments import NewAttachment
from memory.context.entities import NewEpoch, TierUse, TurnRecord
from memory.entities import MessagePatch, RoomKind, Target
from memory.errors import AmbiguousId, AttachmentNotFound, RoomClosed, SessionNotFound
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from tests.contract.talk import talk
from tests.fakes.clock import FakeClock

NOTES = NewAttachment("notes.md", "text/markdown", 20, "The quokka \ud800 smiles.")


async def test_attachments_are_kept_in_order_once_each(store: Store) -> None:
    session, _ = await talk(store, 2)
    first = await store.attachments.attach(session.id, NOTES)
    second = await store.attachments.attach(session.id, replace(NOTES, name="other.txt"))
    assert (first.name, first.text, first.size) == ("notes.md", "The quokka \ufffd smiles.", 20)
    assert await store.attachments.attach(session.id, NOTES) == first
    assert await store.attachments.attached(session.id) == [first, second]
    other, _ = await talk(store, 2)
    assert await store.attachments.attached(other.id) == []
    assert await store.search("quokka") == []
    with pytest.raises(SessionNotFound):
        await store.attachments.attach("00000000-0000-7000-8000-000000000000", NOTES)
    assert (await store.verify()).problems == ()


async def test_a_document_tells_to_which_sessions_it_is_attached(store: Store) -> None:
    ids = [(await talk(store, 2))[0].id for _ in range(3)]
    notes = [(await store.attachments.attach(one, NOTES)).id for one in ids]
    # The same name says nothing of another text.
    await store.attachments.attach(ids[0], replace(NOTES, text="Zebras."))
    other = await store.attachments.attach(ids[0], replace(NOTES, name="a.txt", media_type="text/plain"))
    await store.bin_session(ids[1])
    found = await store.attachments.documents()
    assert [(one.name, one.media_type, one.characters) for one in found] == [
        ("a.txt", "text/plain", len(other.text)),
        ("notes.md", "text/markdown", len(other.text)),
        ("notes.md", "text/markdown", len("Zebras.")),
    ]
    assert found[0].places == ((ids[0], other.id),)
    assert found[1].places == ((ids[2], notes[2]), (ids[0], notes[0]))


async def test_what_is_detached_is_gone_from_prompts(store: Store) -> None:
    session, said = await talk(store, 4)
    made = await store.attachments.attach(session.id, NOTES)
    await store.update_message(said[0].id, MessagePatch(preface="(Attached: quokka)"))
    await store.update_message(said[2].id, MessagePatch(preface="[noon]"))
    epoch = await store.context.add_epoch(NewEpoch(session.id, "m", "head", (), said[0].id))
    parts = (TierUse("document", 5, (made.id,)), TierUse("user", 5, (said[0].id,)))
    await store.context.record_turn(TurnRecord(said[1].id, session.id, epoch.id, "m", "00", 10, parts))
    with pytest.raises(AttachmentNotFound):
        await store.attachments.detach(session.id, "nothing.md")

    assert await store.attachments.detach(session.id, "NOTES.md") == made
    assert await store.attachments.attached(session.id) == []
    assert [m.preface for m in await store.branch(session.id)] == ["", "", "[noon]", ""]
    assert await store.context.epochs(session.id, "m") == []
    turn = await store.context.turn(said[1].id)
    assert turn is not None
    assert turn.parts[0].ids == ()


async def test_a_name_that_fits_two_is_not_guessed(store: Store) -> None:
    session, _ = await talk(store, 2)
    for name in ("a.txt", "ab.txt"):
        await store.attachments.attach(session.id, replace(NOTES, name=name))
    with pytest.raises(AmbiguousId):
        await store.attachments.detach(session.id, "a")
    assert (await store.attachments.detach(session.id, "ab")).name == "ab.txt"


async def test_they_go_with_copies_and_with_their_session(store: Store) -> None:
    session, said = await talk(store, 2)
    made = await store.attachments.attach(session.id, NOTES)
    parts = (TierUse("document", 5, (made.id,)),)
    await store.context.record_turn(TurnRecord(said[1].id, session.id, None, "m", "00", 5, parts))
    fork = await store.fork_session(session.id, said[1].id, "copy")
    (copied,) = await store.attachments.attached(fork.id)
    assert (copied.text, copied.id != made.id) == (made.text, True)
    reply = (await store.branch(fork.id))[-1]
    turn = await store.context.turn(reply.id)
    assert turn is not None
    assert turn.parts[0].ids == (copied.id,)

    assert (await store.erase_session(session.id)).verified
    assert await store.attachments.attached(session.id) == []
    assert await store.attachments.attached(fork.id) == [copied]


async def test_they_move_with_their_session_and_stay_in_its_prompts(store: Store, tmp_path: Path) -> None:
    session, said = await talk(store, 2)
    made = await store.attachments.attach(session.id, NOTES)
    await store.update_message(said[0].id, MessagePatch(preface="(Attached: quokka)"))
    parts = (TierUse("document", 5, (made.id,)),)
    await store.context.record_turn(TurnRecord(said[1].id, session.id, None, "m", "00", 5, parts))
    path = tmp_path / "rooms" / "private.db"
    target = await open_room(path, RoomKey.generate(), RoomKind.PRIVATE, FakeClock(), create=True)
    sealer = await target.moves.sealer()
    await store.moves.depart(session.id, RoomKind.PRIVATE, sealer)
    assert await target.moves.arrive(sealer.unseal(await store.moves.parcel(session.id), session.id))
    assert [one.text for one in await target.attachments.attached(session.id)] == [made.text]
    assert (await target.branch(session.id))[0].preface == "(Attached: quokka)"
    await target.close()


async def test_forgetting_everything_takes_them(store: Store) -> None:
    session, _ = await talk(store, 2)
    await store.attachments.attach(session.id, NOTES)
    assert (await store.forget(Target(everything=True))).erased.verified
    assert await store.attachments.attached(session.id) == []


async def test_a_closed_store_says_so(store: Store) -> None:
    await store.close()
    with pytest.raises(RoomClosed):
        await store.attachments.attached("last")
