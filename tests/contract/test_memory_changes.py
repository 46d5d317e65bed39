"""What was done to memories can be undone."""

from dataclasses import replace

import pytest

from memory.errors import (
    CannotUndo,
)
from memory.memories.entities import MemoryPatch, UseKind
from memory.storage.store import Store
from tests.contract.knowing import asked_with, own
from tests.contract.talk import talk


async def test_changes_can_be_undone_one_after_another(store: Store) -> None:
    memories = store.memories
    old = await memories.add(own("Works in Oslo"))
    new = await memories.add(
        replace(own("Works in Bergen"), supersedes=(old.id,)), action="learn", automatic=True
    )
    await memories.change_many(
        [(new.id, MemoryPatch(text="Works near Bergen")), (old.id, MemoryPatch(pinned=True))], action="tidy"
    )
    tidied, learned, added = await memories.changes()
    assert [(one.action, one.automatic) for one in (tidied, learned, added)] == [
        ("tidy", False),
        ("learn", True),
        ("add", False),
    ]
    assert set(tidied.memory_ids) == set(learned.memory_ids) == {old.id, new.id}
    with pytest.raises(CannotUndo):
        await memories.undo(learned.id)
    assert (await memories.undo(tidied.id)).undone_at is not None
    assert (await memories.get(new.id)).text == "Works in Bergen"
    assert await memories.versions(new.id) == []
    await memories.undo(learned.id)
    assert await memories.select() == [old]
    with pytest.raises(CannotUndo):
        await memories.undo(learned.id)
    assert [one.id for one in await memories.changes(memory_id=new.id)] == [tidied.id, learned.id]
    await memories.undo(added.id)
    assert await memories.select() == []


async def test_uses_do_not_stand_in_the_way_of_undoing(store: Store) -> None:
    session, said = await talk(store, 2)
    memory = await store.memories.add(own("Works in Oslo"))
    await store.memories.change(memory.id, MemoryPatch(text="Works in Bergen"))
    await store.memories.use([memory.id], reply_id=said[1].id, session_id=session.id, how=UseKind.CITED)
    await store.memories.undo((await store.memories.changes())[0].id)
    back = await store.memories.get(memory.id)
    assert (back.text, back.uses) == ("Works in Oslo", 1)


async def test_what_undoing_takes_away_is_recalled_no_more(store: Store) -> None:
    memory = await store.memories.add(own("Works in Oslo"))
    session, reply = await asked_with(store, memory)
    await store.memories.undo((await store.memories.changes())[0].id)
    turn = await store.context.turn(reply)
    assert turn is not None
    assert turn.parts[0].ids == ()
    assert (await store.branch(session.id))[0].preface == ""
    assert await store.context.epochs(session.id, "m") == []
