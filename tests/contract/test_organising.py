"""Every store keeps sessions in order: marks of many at once, what can be undone, suggestions, merging."""

from datetime import UTC, datetime

import pytest

from memory.entities import CategorySource, MemoryMode, MessageStatus, SessionPatch
from memory.errors import CannotMerge, SessionNotFound
from memory.organising import MarksPatch
from memory.storage.store import Store
from tests.contract.talk import assistant, begin, talk, texts, user

NOW = datetime(2026, 3, 12, 15, 30, tzinfo=UTC)


async def sessions(store: Store, count: int) -> list[str]:
    return [(await begin(store, f"words {n}", f"title {n}"))[0].id for n in range(count)]


async def test_marks_of_many_sessions_change_at_once(store: Store) -> None:
    one, two, three = await sessions(store, 3)
    patch = MarksPatch(add_tags=("garden", "rain"), starred=True, important=True, category="Home")
    changes = await store.organising.apply([one, two, one], patch)
    assert [(c.session_id, c.changed) for c in changes] == [(one, True), (two, True)]
    found = await store.get_session(two)
    assert found.tags == ("garden", "rain")
    assert found.starred
    assert found.important
    assert (found.category, found.category_source) == ("Home", CategorySource.PERSON)
    assert (await store.get_session(three)).tags == ()
    assert [(t.tag, t.sessions) for t in await store.organising.tags()] == [("garden", 2), ("rain", 2)]


async def test_a_tag_is_the_same_in_any_capitals(store: Store) -> None:
    one, two = await sessions(store, 2)
    await store.organising.apply([one], MarksPatch(add_tags=("Garden",)))
    await store.organising.apply([two], MarksPatch(add_tags=("garden", "GARDEN")))
    assert (await store.get_session(two)).tags == ("Garden",)
    await store.organising.apply([two], MarksPatch(remove_tags=("gArDen",)))
    assert (await store.get_session(two)).tags == ()


async def test_nothing_changes_when_one_session_is_missing(store: Store) -> None:
    (one,) = await sessions(store, 1)
    with pytest.raises(SessionNotFound):
        await store.organising.apply([one, "0" * 36], MarksPatch(starred=True))
    assert not (await store.get_session(one)).starred


async def test_pinned_ones_are_listed_first_and_archived_ones_apart(store: Store) -> None:
    one, two, three = await sessions(store, 3)
    await store.organising.apply([one], MarksPatch(pinned=True))
    await store.organising.apply([three], MarksPatch(archived=True))

    async def ids(**wanted: bool | int | str | None) -> list[str]:
        return [s.id for s in await store.list_sessions(**wanted)]  # type: ignore[arg-type]  # as named

    assert await ids() == [one, two]
    assert await ids(limit=1) == [one]
    assert await ids(limit=1, offset=1) == [two]
    assert await ids(archived=True) == [three]
    assert await ids(archived=None) == [one, three, two]
    assert await ids(containing="words") == [one, three, two]
    assert [hit.message.session_id for hit in await store.search("words 2")] == [three]
    assert (await store.get_session("last")).id == two


async def test_what_is_gone_on_with_leaves_the_archive(store: Store) -> None:
    (one,) = await sessions(store, 1)
    await store.organising.apply([one], MarksPatch(archived=True))
    await store.begin_turn(one, None, user("more"), assistant("yes"))
    assert (await store.get_session(one)).archived_at is None


async def test_a_change_is_undone_where_nobody_has_changed_it_since(store: Store) -> None:
    one, two = await sessions(store, 2)
    await store.organising.apply([one], MarksPatch(add_tags=("old",)))
    changes = await store.organising.apply(
        [one, two], MarksPatch(add_tags=("new",), archived=True, binned=True, project="garden")
    )
    await store.update_session(two, SessionPatch(title="another"))
    await store.organising.apply([two], MarksPatch(add_tags=("kept",)))
    undone = await store.organising.put_back(changes)
    assert {c.session_id for c in undone} == {one, two}
    first, second = [await store.get_session(s) for s in (one, two)]
    assert (first.tags, first.archived_at, first.deleted_at, first.project) == (("old",), None, None, None)
    assert (second.tags, second.archived_at, second.project) == (("kept", "new"), None, None)
    assert await store.organising.put_back(changes) == []


async def test_the_last_change_is_remembered_once(store: Store) -> None:
    one, two = await sessions(store, 2)
    assert await store.organising.last_changed() is None
    await store.organising.apply([one, two], MarksPatch(starred=True), at=NOW)
    await store.organising.apply([one], MarksPatch(starred=True))
    assert await store.organising.last_changed() == NOW
    assert len(await store.organising.undo_last()) == 2
    assert not (await store.get_session(one)).starred
    assert await store.organising.undo_last() == []
    assert await store.organising.last_changed() is None


async def test_a_rejected_suggestion_does_not_come_back(store: Store) -> None:
    one, two = await sessions(store, 2)
    assert [g.tag for g in await store.organising.suggest(one, {"a": 0.4, "b": 0.9, "c": 0.1})] == [
        "b",
        "a",
        "c",
    ]
    await store.organising.suggest(two, {"a": 0.5})
    assert await store.organising.reject(one, ["a", "zzz"]) == 1
    await store.organising.apply([one], MarksPatch(add_tags=("b",)))
    assert [g.tag for g in await store.organising.suggestions(one)] == ["c"]
    assert [g.tag for g in await store.organising.suggest(one, {"a": 0.9, "b": 0.9, "d": 0.2})] == ["d"]
    assert [(g.session_id, g.tag) for g in await store.organising.suggestions()] == [(two, "a"), (one, "d")]
    (filed,) = await store.organising.filed(None, session_ids=[one])
    assert set(filed.rejected) >= {"a"}
    assert filed.tags == ("b",)


async def test_a_suggestion_waits_again_when_the_tag_is_undone(store: Store) -> None:
    (one,) = await sessions(store, 1)
    before = await store.organising.suggest(one, {"a": 0.4})
    await store.organising.apply([one], MarksPatch(add_tags=("a",)))
    assert await store.organising.suggestions(one) == []
    await store.organising.undo_last()
    assert await store.organising.suggestions(one) == before


async def test_a_category_that_a_person_gave_is_not_changed(store: Store) -> None:
    session, _ = await talk(store, 2)
    assert await store.organising.to_file() == [session.id]
    assert await store.organising.file(session.id, "Travel")
    assert (await store.get_session(session.id)).category_source is CategorySource.MODEL
    assert await store.organising.to_file() == []
    await store.organising.apply([session.id], MarksPatch(category=""))
    assert not await store.organising.file(session.id, "Travel")
    assert (await store.get_session(session.id)).category == ""


async def test_what_is_filed_by_holds_the_persons_words(store: Store) -> None:
    session, _ = await talk(store, 4)
    await store.organising.apply([session.id], MarksPatch(add_tags=("x",)))
    (filed,) = await store.organising.filed(None, tagged=True)
    assert filed.words.split("\n") == ["A chat", "message 0", "message 2"]
    assert not filed.locked
    assert await store.organising.filed(None, session_ids=[]) == []


async def test_merged_sessions_are_one_chain(store: Store) -> None:
    other, said = await talk(store, 3)
    target, own = await talk(store, 2)
    await store.organising.apply([other.id], MarksPatch(add_tags=("b",), starred=True))
    await store.organising.apply([target.id], MarksPatch(add_tags=("a",)))
    merged = await store.organising.merge(target.id, [other.id])
    assert (merged.session_id, merged.sources, merged.messages) == (target.id, (other.id,), 3)
    found = await store.get_session(target.id)
    assert found.message_count == 5
    assert found.tags == ("a", "b")
    assert found.starred
    branch = await store.branch(target.id)
    assert [m.id for m in branch] == [m.id for m in (*own, *said)]
    assert texts(branch) == ["message 0", "message 1", "message 0", "message 1", "message 2"]
    gone = await store.get_session(other.id)
    assert (gone.message_count, gone.head_id) == (0, None)
    assert gone.deleted_at is not None
    assert {hit.message.session_id for hit in await store.search("message")} == {target.id}


async def test_what_does_not_belong_together_is_not_merged(store: Store) -> None:
    one, two, three, four = await sessions(store, 4)
    await store.update_session(two, SessionPatch(memory_mode=MemoryMode.BLANK))
    await store.bin_session(three)
    await store.append_message(four, assistant("…", MessageStatus.STREAMING))
    for others, reason in (
        ([one], "same"),
        ([], "same"),
        ([two], "mode"),
        ([three], "binned"),
        ([four], "writing"),
    ):
        with pytest.raises(CannotMerge) as caught:
            await store.organising.merge(one, others)
        assert caught.value.reason == reason
    with pytest.raises(SessionNotFound):
        await store.organising.merge(one, ["0" * 36])
    assert len(await store.branch(one)) == 1
