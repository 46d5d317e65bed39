"""What was typed and not sent, in every store."""

import pytest

from memory.entities import UNBEGUN
from memory.errors import RoomClosed, SessionNotFound
from memory.storage.store import Store
from tests.contract.talk import begin


async def test_a_draft_is_kept_by_place_and_emptied(store: Store) -> None:
    session, _ = await begin(store, "one")
    assert await store.drafts.draft(session.id) == ""
    await store.drafts.save_draft(session.id, "half a thou")
    await store.drafts.save_draft(session.id, "half a thought")
    await store.drafts.save_draft(UNBEGUN, "a new \ud83d one\n")
    assert await store.drafts.draft(session.id) == "half a thought"
    assert await store.drafts.draft(UNBEGUN) == "a new \ufffd one\n"
    await store.drafts.save_draft(session.id, "")
    assert await store.drafts.draft(session.id) == ""
    assert await store.drafts.draft(UNBEGUN) != ""


async def test_drafts_and_the_note_go_with_their_session(store: Store) -> None:
    session, _ = await begin(store, "one")
    await store.drafts.save_draft(session.id, "never sent")
    await store.drafts.leave_open(session.id)
    assert (await store.erase_session(session.id)).verified
    assert await store.drafts.draft(session.id) == ""
    assert await store.drafts.take_left_open() is None
    with pytest.raises(SessionNotFound):
        await store.drafts.save_draft(session.id, "too late")
    with pytest.raises(SessionNotFound):
        await store.drafts.leave_open(session.id)


async def test_the_session_that_was_shown_is_told_once(store: Store) -> None:
    first, _ = await begin(store, "one")
    second, _ = await begin(store, "two")
    assert await store.drafts.take_left_open() is None
    await store.drafts.leave_open(first.id)
    await store.drafts.leave_open(second.id)
    assert await store.drafts.take_left_open() == second.id
    assert await store.drafts.take_left_open() is None
    await store.drafts.leave_open(first.id)
    await store.drafts.leave_open(None)
    assert await store.drafts.take_left_open() is None


async def test_a_closed_store_says_so(store: Store) -> None:
    await store.close()
    with pytest.raises(RoomClosed):
        await store.drafts.save_draft(UNBEGUN, "late")
    with pytest.raises(RoomClosed):
        await store.drafts.take_left_open()
