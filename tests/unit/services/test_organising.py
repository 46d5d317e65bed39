"""Order as the interfaces keep it: projects that end, marks in several rooms, what is filed by itself."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from atlas_desktop.services.bulk import Bulk
from atlas_desktop.services.insights import insights
from atlas_desktop.services.memories import Wish
from atlas_desktop.services.organising import KIND, split_tags
from atlas_desktop.services.provenance import MENTIONED
from memory.entities import (
    CategorySource,
    MemoryMode,
    NewMessage,
    NewSession,
    RoomKind,
    SessionPatch,
    TitleSource,
)
from memory.errors import CannotMerge, SessionNotFound
from memory.memories.entities import (
    MemoryFilter,
    MemoryKind,
    MemoryOrigin,
    MemorySource,
    MemoryTier,
    NewMemory,
)
from memory.organising import MarksPatch
from models.messages import Role
from tests.unit.services.scene import Scene
from tests.unit.services.two_rooms import TwoRooms


async def begun(scene: Scene, *said: str) -> str:
    session, _ = await scene.store.create_session(NewSession(said[0]), NewMessage(Role.USER, said[0]))
    for text in said[1:]:
        await scene.store.append_message(session.id, NewMessage(Role.ASSISTANT, text))
    return session.id


# --- projects --------------------------------------------------------------------------------------


async def test_what_is_remembered_of_an_archived_project_has_an_end() -> None:
    scene = Scene()
    await scene.room.projects.create("  garden\n ")
    new = await scene.room.knowledge.add("We decided on peas.")
    assert new.project is None
    session = await begun(scene, "hello")
    await scene.room.organising.apply([session], MarksPatch(project="GARDEN"))
    wish = Wish(project="garden", tier=MemoryTier.EPISODIC)
    await scene.room.knowledge.add("The peas go to the left.", wish)
    archived = await scene.room.projects.archive("garden")
    assert archived.archived_at is not None
    (memory,) = [m for m in await scene.store.memories.select(MemoryFilter()) if m.project == "garden"]
    assert memory.expires_at == archived.archived_at + timedelta(days=scene.settings.memory.episodic_days)
    await scene.room.projects.reopen("garden")
    assert (await scene.store.memories.get(memory.id)).expires_at is None
    gone = await scene.room.projects.delete("garden")
    assert (gone.sessions, gone.memories) == ((session,), 1)
    assert (await scene.store.memories.get(memory.id)).expires_at is not None


@pytest.mark.parametrize("name", ["", " \x1b ", "x" * 101])
async def test_a_project_has_a_name(name: str) -> None:
    with pytest.raises(ValueError, match="characters"):
        await Scene().room.projects.create(name)


# --- marks -----------------------------------------------------------------------------------------


async def test_words_are_cleaned_and_measured() -> None:
    scene = Scene()
    session = await begun(scene, "hello")
    await scene.room.organising.apply(
        [session], MarksPatch(add_tags=("#green  \x1bgarden",), category=" At home ")
    )
    found = await scene.store.get_session(session)
    assert (found.tags, found.category) == (("green garden",), "At home")
    await scene.room.organising.apply([session], MarksPatch(remove_tags=("#Green garden",)))
    assert (await scene.store.get_session(session)).tags == ()
    for patch in (MarksPatch(add_tags=("#",)), MarksPatch(category="x" * 41), MarksPatch(project="\x07")):
        with pytest.raises(ValueError, match="characters"):
            await scene.room.organising.apply([session], patch)


async def test_an_important_session_gets_its_digest() -> None:
    scene = Scene()
    session = await begun(scene, "hello")
    await scene.room.organising.apply([session], MarksPatch(important=True))
    assert [job.kind for job in await scene.store.jobs.list()] == ["digest"]


async def test_marks_change_in_every_open_room_and_are_undone_together(tmp_path: Path) -> None:
    rooms = TwoRooms(tmp_path)
    await rooms.both()
    ids = []
    for kind in (RoomKind.OPEN, RoomKind.PRIVATE):
        store = rooms.desk.at(kind).store
        ids.append((await store.create_session(NewSession("t"), NewMessage(Role.USER, "x")))[0].id)
    bulk = Bulk(rooms.desk)
    done = await bulk.apply(ids, MarksPatch(starred=True, binned=True))
    assert [(kind, len(made)) for kind, made in done.by_room] == [(RoomKind.OPEN, 1), (RoomKind.PRIVATE, 1)]
    assert len((await bulk.put_back(done)).changed) == 2
    assert not any([(await rooms.desk.rooms.find(one))[1].starred for one in ids])
    with pytest.raises(SessionNotFound):
        await bulk.apply([ids[0], "0" * 36], MarksPatch(starred=True))
    assert not (await rooms.desk.rooms.find(ids[0]))[1].starred
    # What was undone already is passed over; then the latest comes first, in every room that it changed.
    await bulk.apply(ids, MarksPatch(important=True))
    last = await bulk.apply(ids[:1], MarksPatch(pinned=True))
    await bulk.put_back(last)
    assert [one.session_id for one in (await bulk.undo_last()).changed] == ids[1:]
    await bulk.apply(ids, MarksPatch(archived=True))
    assert [one.session_id for one in (await bulk.undo_last()).changed] == ids
    await bulk.apply(ids[1:], MarksPatch(starred=True))
    await bulk.apply(ids[:1], MarksPatch(starred=True))
    assert [one.session_id for one in (await bulk.undo_last()).changed] == ids[:1]
    assert [one.session_id for one in (await bulk.undo_last()).changed] == ids[1:]
    assert (await bulk.undo_last()).changed == ()
    with pytest.raises(CannotMerge) as caught:
        await bulk.merge(ids[0], ids[1:])
    assert caught.value.reason == "room"
    with pytest.raises(CannotMerge):
        await bulk.merge(ids[0], [ids[0]])


async def test_the_earliest_begun_comes_first_into_a_merged_session() -> None:
    scene = Scene()
    one, two, three = [await begun(scene, text) for text in ("first", "second", "third")]
    session, merged = await scene.room.organising.merge(two, [three, one])
    assert merged.sources == (one, three)
    assert [m.content for m in await scene.store.branch(session.id)] == ["second", "first", "third"]
    assert "embed" in [job.kind for job in await scene.store.jobs.list()]


# --- by itself -------------------------------------------------------------------------------------


async def test_a_reply_has_its_session_filed_and_timed() -> None:
    scene = Scene()
    replied, _ = await scene.say("ingredients, vegetables and spices for a meal")
    assert KIND in [job.kind for job in await scene.store.jobs.list()]
    await scene.room.background.run()
    found = await scene.store.get_session(replied.session.id)
    assert (found.category, found.category_source) == ("Food", CategorySource.MODEL)
    (timed,) = await scene.store.insights.timings()
    assert (timed.message_id, timed.model) == (replied.message.id, replied.message.model)
    await scene.store.organising.apply([found.id], MarksPatch(category=""))
    await scene.room.background.add(KIND, "all")
    await scene.room.background.run()
    assert (await scene.store.get_session(found.id)).category == ""


async def test_tags_are_suggested_for_what_is_like_tagged_sessions() -> None:
    scene = Scene({"sessions": {"categories": False}})
    for text in ("soil for tomatoes", "water for tomatoes and soil", "tomatoes in new soil"):
        await scene.room.organising.apply(
            [await begun(scene, text, "answer")], MarksPatch(add_tags=("garden",))
        )
    for text in ("tax forms", "tax advice", "late tax forms"):
        await scene.room.organising.apply(
            [await begun(scene, text, "answer")], MarksPatch(add_tags=("money",))
        )
    new = await begun(scene, "which soil for tomatoes", "answer")
    await scene.room.background.add(KIND, "all")
    await scene.room.background.run()
    (suggested,) = await scene.room.organising.suggestions(new)
    assert suggested.tag == "garden"
    await scene.room.organising.accept(new)
    assert (await scene.store.get_session(new)).tags == ("garden",)
    assert await scene.room.organising.reject(new, ["money"]) == 0
    assert (await scene.store.get_session(new)).category_source is CategorySource.NONE


async def test_a_title_that_a_person_gave_stays() -> None:
    scene = Scene()
    replied, _ = await scene.say("hello there")
    await scene.room.sessions.rename(replied.session.id, "Mine")
    await scene.room.background.run()
    found = await scene.store.get_session(replied.session.id)
    assert (found.title, found.title_source) == ("Mine", TitleSource.PERSON)


# --- insights --------------------------------------------------------------------------------------


async def test_insights_put_rooms_together() -> None:
    one, two = Scene(), Scene()
    for scene, tags in ((one, ("a", "b")), (two, ("a",))):
        session = await begun(scene, "hello", "yes")
        await scene.store.organising.apply([session], MarksPatch(add_tags=tags))
        await scene.say("again", session)
    found = await insights([one.store, two.store], UTC)
    assert (found.totals.sessions, found.totals.messages) == (2, 8)
    assert [(t.kind, t.name, t.sessions) for t in found.topics] == [("tag", "a", 2), ("tag", "b", 1)]
    assert len(found.topics[0].session_ids) == 2
    # Tokens are counted on the day that a reply's id names, which no test's clock changes.
    (day, *_), (week, *_) = found.days, found.weeks
    assert (day.sessions, week.messages) == (2, 8)
    assert week.day <= day.day
    (speed,) = found.speed
    assert speed.replies == 2
    none = await insights([one.store], UTC, since=datetime.now(UTC) + timedelta(days=1))
    assert (none.days, none.topics, none.speed) == ((), (), ())


# --- what leads elsewhere --------------------------------------------------------------------------


async def test_related_sessions_say_why() -> None:
    scene = Scene()
    own = await begun(scene, "soil for tomatoes in the garden")
    near = await begun(scene, "which soil do tomatoes want")
    far = await begun(scene, "a film about trains")
    await scene.room.organising.apply([own, near], MarksPatch(add_tags=("garden",)))
    await scene.room.recall.complete()
    await scene.room.recall.load()
    (found,) = await scene.room.related.related(own)
    assert found.session.id == near
    assert set(found.words) == {"soil", "tomatoes"}
    assert found.tags == ("garden",)
    assert 0 < found.parts["words"] <= 1
    assert far not in {one.session.id for one in await scene.room.related.related(own)}
    timeline = await scene.room.related.timeline("tomatoes soil", zone=UTC)
    (month,) = timeline.months
    assert set(month.sessions) == {own, near}
    assert month.messages == 2
    assert (await scene.room.related.timeline("zebra")).months == ()


async def test_a_memory_and_a_message_lead_to_each_other_and_to_what_mentions_the_same() -> None:
    scene = Scene()
    own = await begun(scene, "I grow black tomatoes behind the garage")
    near = await begun(scene, "black tomatoes behind the garage are ripe")
    first = (await scene.store.branch(own))[0]
    source = MemorySource(first.id, own, first.content)
    new = NewMemory(MemoryKind.FACT, first.content, MemoryOrigin.PATTERN, sources=(source,))
    made = await scene.store.memories.add(new)
    await scene.room.recall.complete()
    await scene.room.recall.load()
    memory, message = [await scene.room.why.why(one) for one in (made.id, first.id)]
    links = await scene.room.why.links(memory)
    assert [(one.session_id, one.how) for one in links] == [(own, "learned"), (near, MENTIONED)]
    assert [one.id for one in message.memories] == [made.id]
    assert [one.session_id for one in await scene.room.why.links(message)] == [near]


async def test_a_session_that_uses_no_memory_is_related_to_nothing() -> None:
    scene = Scene()
    own = await begun(scene, "soil for tomatoes")
    await begun(scene, "soil for tomatoes")
    await scene.store.update_session(own, SessionPatch(memory_mode=MemoryMode.BLANK))
    assert await scene.room.related.related(own) == []


@pytest.mark.parametrize(
    ("line", "between_commas", "at_spaces"),
    [
        ("a b", ["a b"], ["a", "b"]),
        ("winter plan, #x", ["winter plan", "#x"], ["winter plan", "#x"]),
        ('"big, house", b', ["big, house", "b"], ["big, house", "b"]),
        ('"big house" b', ["big house b"], ["big house", "b"]),
        ("'two words' sea", ["two words sea"], ["two words", "sea"]),
        ("#a #b -#c", ["#a", "#b", "-#c"], ["#a", "#b", "-#c"]),
        ("mother's day, \"open", ["mother's day", '"open'], ["mother's day", '"open']),
        (" , ", [], []),
    ],
)
def test_a_typed_line_of_tags_is_split(line: str, between_commas: list[str], at_spaces: list[str]) -> None:
    assert split_tags(line) == between_commas
    assert split_tags(line, spaces=True) == at_spaces
