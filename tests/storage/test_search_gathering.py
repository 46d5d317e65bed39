"""What is found where words are too common to be followed to their end: the same, by other ways."""

import random
from collections.abc import AsyncIterator

import pytest

from memory.organising import MarksPatch
from memory.search.entities import MessageHit, Order, Query, SessionHit
from memory.search.language import parse
from memory.storage.room import open_off_record
from memory.storage.search import gathering, plan
from memory.storage.search import gathering as message_search
from memory.storage.search import sessions as session_search
from memory.storage.store import Store
from tests.contract.talk import assistant, begin, user
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore

NOW = FakeClock().now()
_WORDS = ("fox", "fog", "owl", "hen", "emu")
_QUERIES = (
    *("fo*", "f*", "fox", "fox ow*", "fo* ow*", "fox owl", "fox OR owl", "fox -owl", "-fox", "-fo* owl"),
    *("tag:t fox", "tag:t fo*", "is:starred fo* -owl", "role:user fox", "role:assistant fo*", '"fox owl"'),
    *('"fox ow"*', "fox 3*", "tag:t OR fox", "(fox owl) OR hen", "fox 京", "京", "f* -(owl OR hen)"),
    *("-京", "-fox -京", "(fox OR -owl) role:user", "-owl is:starred", "(fox OR 京) -owl"),
)


@pytest.fixture
def low(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is common, and little is enough."""
    monkeypatch.setattr(plan, "_CHEAP", 3)
    monkeypatch.setattr(plan, "_FREQUENT", 2)
    monkeypatch.setattr(session_search, "WINDOW", 4)
    monkeypatch.setattr(message_search, "WINDOW", 4)
    monkeypatch.setattr(gathering, "FEW", 1)
    monkeypatch.setattr(gathering, "_READ_CLOSELY", 4)
    monkeypatch.setattr(session_search, "_RANKED", 2)


@pytest.fixture
async def both() -> AsyncIterator[tuple[Store, Store]]:
    stores: tuple[Store, Store] = (
        await open_off_record(FakeClock()),
        InMemoryStore(FakeClock()),
    )
    dice = random.Random(3)
    for number in range(14):
        texts = [" ".join(dice.choices(_WORDS, k=2)) + " 京" * (dice.random() < 0.3) for _ in range(3)]
        patch = MarksPatch(starred=dice.random() < 0.3, add_tags=("t",) if dice.random() < 0.4 else ())
        for store in stores:
            session, _ = await begin(store, texts[0], title=f"{number} {texts[1].split()[0]}")
            await store.append_message(session.id, assistant(texts[1]))
            await store.append_message(session.id, user(texts[2]))
            await store.organising.apply([session.id], patch)
    yield stores
    for store in stores:
        await store.close()


async def sessions(store: Store, query: Query, order: Order) -> list[SessionHit]:
    found: list[SessionHit] = []
    offset: int | None = 0
    while offset is not None:
        page = await store.find.sessions(query, limit=5, offset=offset, order=order)
        found += page.hits
        offset = page.next_offset
    return found


async def said(store: Store, query: Query) -> list[MessageHit]:
    found: list[MessageHit] = []
    offset: int | None = 0
    while offset is not None:
        page = await store.find.messages(query, limit=5, offset=offset)
        found += page.hits
        offset = page.next_offset
    return found


@pytest.mark.parametrize("text", _QUERIES)
async def test_common_words_are_found_all_the_same(low: None, both: tuple[Store, Store], text: str) -> None:
    query = parse(text, NOW)
    for order in Order:
        here, there = [[hit.session.title for hit in await sessions(one, query, order)] for one in both]
        if order is Order.BEST:
            here, there = sorted(here), sorted(there)
        assert here == there
    these, those = [await said(one, query) for one in both]
    assert sorted(map(_told, these)) == sorted(map(_told, those))


@pytest.mark.parametrize("text", _QUERIES)
async def test_who_does_something_with_all_of_them_is_given_all(
    low: None, monkeypatch: pytest.MonkeyPatch, both: tuple[Store, Store], text: str
) -> None:
    monkeypatch.setattr(session_search, "_MOST_LOOKED_INTO", 1)
    monkeypatch.setattr(session_search, "_MOST_WALKED", 1)
    query = parse(text, NOW)
    pages = [await store.find.sessions(query, limit=100, exhaustive=True) for store in both]
    here, there = [[hit.session.title for hit in page.hits] for page in pages]
    assert here == there
    assert [(page.more, page.next_offset) for page in pages] == [(False, None)] * 2


def _told(hit: MessageHit) -> tuple[str, str]:
    return hit.session.title, hit.message.content


@pytest.mark.parametrize("text", ["role:user", "-tag:none", "after:2000-01-01"])
async def test_what_no_text_tells_is_counted_to_the_last(
    monkeypatch: pytest.MonkeyPatch, both: tuple[Store, Store], text: str
) -> None:
    monkeypatch.setattr(session_search, "COUNTED", 1)
    query = parse(text, NOW)
    _, store = both
    page = await store.find.sessions(query, limit=1)
    every = await store.find.sessions(query, limit=1000, exhaustive=True)
    assert len(every.hits) > 2
    assert (page.total, page.more) == (len(every.hits), False)
