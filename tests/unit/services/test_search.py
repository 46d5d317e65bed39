"""Finding in the rooms that are open: words, meaning, saved searches."""

from datetime import timedelta
from pathlib import Path

import pytest

from atlas_desktop.services.search import FindingService
from memory.entities import NewMessage, NewSession, RoomKind, Session
from memory.errors import QueryUnclear, RoomClosed, SavedSearchNotFound
from memory.organising import MarksPatch
from memory.search.entities import Order, Query
from memory.storage.store import Store
from models.messages import Role
from tests.contract.reading import read
from tests.unit.services.two_rooms import TwoRooms


@pytest.fixture
def two(tmp_path: Path) -> TwoRooms:
    return TwoRooms(tmp_path)


async def said(store: Store, title: str, text: str) -> Session:
    session, _ = await store.create_session(NewSession(title), NewMessage(Role.USER, text))
    return session


async def titles(finding: FindingService, text: str, *, order: Order = Order.RECENT) -> list[str]:
    asked = await finding.understand(text)
    return [hit.session.title for hit in (await finding.sessions(asked.query, order=order)).hits]


async def test_all_rooms_that_are_open_are_searched_together(two: TwoRooms) -> None:
    opened, private = await two.both()
    finding = FindingService(two.desk)
    await said(opened.store, "first", "a red kayak")
    two.clock.advance(timedelta(minutes=1))
    await said(private.store, "second", "a blue kayak, my kayak")
    two.clock.advance(timedelta(minutes=1))
    await said(opened.store, "third", "the kayak")
    assert await titles(finding, "kayak") == ["third", "second", "first"]
    assert await titles(finding, "kayak is:private") == ["second"]
    assert await titles(finding, "") == ["third", "second", "first"]
    best = await finding.messages((await finding.understand("kayak")).query, limit=2)
    assert ([hit.session.title for hit in best.hits], best.total, best.next_offset) == (
        ["second", "third"],
        3,
        2,
    )
    rest = await finding.messages((await finding.understand("kayak")).query, limit=2, offset=2)
    assert ([hit.session.title for hit in rest.hits], rest.next_offset) == (["first"], None)
    await two.rooms.leave_private()
    assert await titles(finding, "kayak") == ["third", "first"]
    assert await titles(finding, "is:private") == []


async def test_a_room_that_closes_meanwhile_finds_nothing(
    two: TwoRooms, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, private = await two.both()
    finding = FindingService(two.desk)
    await said(opened.store, "first", "a red kayak")
    query = (await finding.understand("kayak")).query
    asked = private.store.find.sessions

    async def closing(*given: object, **wanted: object) -> object:
        await two.rooms.leave_private()
        return await asked(*given, **wanted)  # type: ignore[arg-type]  # passed on as it comes

    monkeypatch.setattr(private.store.find, "sessions", closing)
    assert [hit.session.title for hit in (await finding.sessions(query)).hits] == ["first"]
    await opened.store.close()
    with pytest.raises(RoomClosed):
        await finding.sessions(query)


async def test_a_question_is_answered_among_what_fits(two: TwoRooms) -> None:
    room = await two.open()
    finding = FindingService(two.desk)
    trip = await said(room.store, "Trip", "we walked along the coast of Norway")
    await said(room.store, "Work", "the coast of a failed build is high in Norway")
    await room.store.organising.apply([trip.id], MarksPatch(add_tags=("travel",)))
    await room.recall.load()
    asked = await finding.understand("~coast of Norway tag:travel")
    page = await finding.messages(asked.query)
    assert [hit.session.title for hit in page.hits] == ["Trip"]
    assert page.hits[0].score > 0
    assert dict(page.hits[0].parts)["lexical"] > 0
    assert len((await finding.sessions((await finding.understand("~coast of Norway")).query)).hits) == 2
    later = await finding.understand(f"~coast of Norway before:{two.clock.now():%Y-%m-%d}")
    assert (await finding.messages(later.query)).hits == ()


async def test_saved_searches_stand_for_their_queries(two: TwoRooms) -> None:
    room = await two.open()
    finding = FindingService(two.desk)
    await said(room.store, "Kayak", "a red kayak")
    await said(room.store, "Canoe", "a red canoe")
    kept = await finding.save(" @My boats ", "kayak OR canoe")
    assert (kept.name, kept.query) == ("My boats", "kayak OR canoe")
    assert await titles(finding, '@"my boats"') == ["Canoe", "Kayak"]
    assert (await finding.understand('@"my boats" red')).text == "red kayak OR canoe"
    assert await titles(finding, '@"my boats" -canoe') == ["Kayak"]
    assert [one.name for one in await finding.saved()] == ["My boats"]
    with pytest.raises(QueryUnclear):
        await finding.save("bad", "is:sunk")
    with pytest.raises(ValueError, match="name"):
        await finding.save("@", "fox")
    await finding.remove("@My Boats")
    for lost in (finding.remove("my boats"), finding.understand("@boats")):
        with pytest.raises(SavedSearchNotFound):
            await lost


async def test_no_open_room_finds_nothing(two: TwoRooms) -> None:
    finding = FindingService(two.desk)
    assert (await finding.sessions(Query())).hits == ()
    assert (await finding.messages(Query())).hits == ()


async def test_documents_of_all_open_rooms_are_found_by_their_words(two: TwoRooms) -> None:
    opened, private = await two.both()
    finding = FindingService(two.desk)
    await said(opened.store, "Trip", "when does the ferry go")
    for room, title in ((opened, "Ferries"), (private, "Secret ferries")):
        await room.store.documents.put([read(f"/{title}.md", "The ferry leaves at eight.", title=title)])

    async def documents(text: str) -> list[tuple[str, RoomKind]]:
        asked = await finding.understand(text)
        return [(hit.title.text, hit.room) for hit in (await finding.documents(asked.query)).hits]

    both = {("Ferries", RoomKind.OPEN), ("Secret ferries", RoomKind.PRIVATE)}
    assert set(await documents("ferry")) == both
    assert set(await documents("kind:document")) == both
    assert await documents("ferry is:private") == [("Secret ferries", RoomKind.PRIVATE)]
    assert await documents("ferry kind:message") == []
    # Conditions alone list conversations.
    assert await documents("after:1960") == []
    assert await documents("") == []
    assert set(await documents("after:1960 kind:document")) == both
    assert await titles(finding, "ferry kind:document") == []
    await two.rooms.leave_private()
    assert await documents("ferry") == [("Ferries", RoomKind.OPEN)]
    assert await documents("kind:document") == [("Ferries", RoomKind.OPEN)]


async def test_a_question_finds_the_nearest_documents_among_what_fits(two: TwoRooms) -> None:
    room = await two.open()
    finding = FindingService(two.desk)
    for title, text in (("Ferries", "The ferry leaves at eight."), ("Bread", "The dough rests until eight.")):
        await room.store.documents.put([read(f"/{title}.md", text, title=title)])

    async def documents(text: str) -> list[str]:
        asked = await finding.understand(text)
        return [hit.title.text for hit in (await finding.documents(asked.query)).hits]

    assert await documents("~when does the ferry leave") == ["Ferries"]
    assert await documents("dough ~what is at eight") == ["Bread"]
    assert await documents("kind:message ~when does the ferry leave") == []


async def test_a_question_does_not_find_what_has_nothing_to_do_with_it(two: TwoRooms) -> None:
    room = await two.open()
    finding = FindingService(two.desk)
    await said(room.store, "Trip", "we walked along the coast of Norway")
    await said(room.store, "Soup", "carrots and leeks with thyme")
    await room.recall.load()
    page = await finding.sessions((await finding.understand("~coast of Norway")).query)
    assert [hit.session.title for hit in page.hits] == ["Trip"]
