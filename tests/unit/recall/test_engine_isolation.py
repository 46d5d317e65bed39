"""Isolated projects: nothing of them is recalled elsewhere, nothing from elsewhere in them."""

import pytest

from memory.memories.entities import MemoryKind, MemoryOrigin, NewMemory
from memory.organising import ProjectPatch
from memory.recall.entities import Hit, RecallQuery
from memory.storage.store import Store
from tests.unit.recall.test_engine import by_words, say, store, with_meaning

__all__ = ["store"]

BOTH = frozenset({"message", "memory"})
IN_BOAT, IN_GARDEN, IN_NONE = "the anchor is in the boat", "the anchor in the garden", "an anchor is heavy"
KNOWN_BOAT, KNOWN_NONE = "The anchor weighs twelve kilos.", "The anchor was bought in May."


async def furnished(store: Store) -> None:
    await say(store, IN_BOAT, project="Boat")
    await say(store, IN_GARDEN, project="Garden")
    await say(store, IN_NONE)
    for text, project in ((KNOWN_BOAT, "Boat"), (KNOWN_NONE, None)):
        await store.memories.add(NewMemory(MemoryKind.EVENT, text, MemoryOrigin.PERSON, project=project))


def texts(hits: list[Hit]) -> set[str]:
    return {hit.text for hit in hits}


def asked(project: str | None, *, widen: bool = True, everywhere: bool = False) -> RecallQuery:
    return RecallQuery(
        "where is the anchor", k=10, kinds=BOTH, project=project, widen=widen, everywhere=everywhere
    )


@pytest.mark.parametrize("meaning", [False, True])
async def test_a_project_comes_first_and_the_rest_follows(store: Store, meaning: bool) -> None:
    await furnished(store)
    engine = await with_meaning(store) if meaning else by_words(store)
    found = await engine.recall(asked("Boat"))
    assert texts(found[:3]) == {IN_BOAT, KNOWN_BOAT, KNOWN_NONE}
    assert texts(found) == {IN_BOAT, KNOWN_BOAT, KNOWN_NONE, IN_GARDEN, IN_NONE}


@pytest.mark.parametrize("meaning", [False, True])
@pytest.mark.parametrize("recent", [False, True])
async def test_an_isolated_project_is_closed_in_both_directions(
    store: Store, meaning: bool, recent: bool
) -> None:
    await furnished(store)
    await store.projects.change("Boat", ProjectPatch(isolated=True))
    engine = await with_meaning(store) if meaning else by_words(store)
    inside = RecallQuery("where is the anchor", kinds=BOTH, project="Boat", widen=True, recent_first=recent)
    assert texts(await engine.recall(inside)) == {IN_BOAT, KNOWN_BOAT}
    back = RecallQuery("what did I tell you about the anchor?", kinds=BOTH, project="Boat", widen=True)
    assert texts(await engine.recall(back)) == {IN_BOAT, KNOWN_BOAT}
    for project in ("Garden", None):
        outside = RecallQuery("where is the anchor", kinds=BOTH, project=project, widen=True)
        assert texts(await engine.recall(outside)) == {IN_GARDEN, IN_NONE, KNOWN_NONE}
    assert texts(await engine.recall(asked(None, everywhere=True))) == {
        IN_BOAT,
        KNOWN_BOAT,
        KNOWN_NONE,
        IN_GARDEN,
        IN_NONE,
    }


async def test_a_change_of_isolation_and_of_the_name_applies_at_once(store: Store) -> None:
    await furnished(store)
    engine = by_words(store)
    assert IN_BOAT in texts(await engine.recall(asked(None)))
    await store.projects.change("Boat", ProjectPatch(isolated=True))
    assert IN_BOAT not in texts(await engine.recall(asked(None)))
    await store.projects.rename("Boat", "Ship")
    assert IN_BOAT not in texts(await engine.recall(asked(None)))
    assert texts(await engine.recall(asked("Ship"))) == {IN_BOAT, KNOWN_BOAT}
    await store.projects.change("Ship", ProjectPatch(isolated=False))
    assert IN_BOAT in texts(await engine.recall(asked(None)))
