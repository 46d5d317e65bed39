"""The page of what is known of a person."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from memory.context.assembly import made_for, make_head
from memory.memories.entities import (
    Memory,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemoryState,
    MemoryTier,
    NewMemory,
)
from memory.memories.profile import Profile, ProfileMaker, candidates
from models.messages import PromptShape, Role
from tests.fakes.clock import FakeClock
from tests.fakes.models import WordCounter
from tests.stores import InMemoryStore

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def known(name: str, *, days: float = 0, **fields: Any) -> Memory:
    then = NOW - timedelta(days=days)
    given: dict[str, Any] = {
        "kind": MemoryKind.FACT,
        "tier": MemoryTier.LONG_TERM,
        "state": MemoryState.INBOX,
        "importance": 0.5,
        **fields,
    }
    return Memory(
        id=name,
        origin=MemoryOrigin.PERSON,
        subject="",
        text=f"{name}.",
        confidence=1.0,
        created_at=then,
        updated_at=then,
        **given,
    )


def names(memories: list[Memory]) -> list[str]:
    return [memory.id for memory in memories]


def test_pinned_ones_come_first_then_the_strongest() -> None:
    memories = [
        known("old", days=300),
        known("new"),
        known("weighty", days=300, importance=1.0, uses=40),
        known("pinned", days=900, pinned=True, tier=MemoryTier.EPISODIC),
    ]
    assert names(candidates(memories, NOW)) == ["pinned", "weighty", "new", "old"]


@pytest.mark.parametrize(
    "fields",
    [
        {"tier": MemoryTier.EPISODIC},
        {"kind": MemoryKind.CODE},
        {"state": MemoryState.SUPERSEDED},
        {"state": MemoryState.ARCHIVED},
        {"state": MemoryState.REJECTED},
        {"kind": MemoryKind.PROCEDURE, "tier": MemoryTier.PROCEDURAL},
        {"project": "Elsewhere"},
        {"expires_at": NOW - timedelta(days=1)},
        {"valid_until": NOW - timedelta(days=1)},
    ],
)
def test_what_is_passing_or_out_of_use_is_not_on_it(fields: dict[str, Any]) -> None:
    assert candidates([known("a", **fields)], NOW, project="Here") == []


def test_a_person_who_wants_to_be_asked_is() -> None:
    memories = [known("a"), known("b", state=MemoryState.KEPT)]
    assert names(candidates(memories, NOW, ask_first=True)) == ["b"]


async def test_the_page_fits_its_budget_and_follows_its_memories() -> None:
    store = InMemoryStore(FakeClock(NOW))
    maker = ProfileMaker(store.memories, WordCounter(), FakeClock(NOW))
    assert await maker.page(100) == Profile()
    likes = await store.memories.add(
        NewMemory(MemoryKind.PREFERENCE, "Likes tea very much.", MemoryOrigin.PERSON)
    )
    lives = await store.memories.add(
        NewMemory(MemoryKind.FACT, "Lives in Lyon.", MemoryOrigin.PERSON, pinned=True)
    )
    page = await maker.page(None)
    assert page.lines == ("- Lives in Lyon.", "- Likes tea very much.")
    tokens = (await maker.page(100)).tokens
    assert (await maker.page(tokens - 1)).memories == (await store.memories.get(lives.id),)
    assert (await maker.page(0)).memories == ()
    await store.memories.change(likes.id, MemoryPatch(text="Likes coffee."))
    assert (await maker.page(None)).lines[1] == "- Likes coffee."


async def test_a_head_with_a_page_belongs_to_its_system_prompt() -> None:
    shape = PromptShape(base=1, overhead=dict.fromkeys(Role, 2))
    page = Profile((known("Ann lives in Lyon"),), 6)
    for system in ("Be kind.", ""):
        head = await make_head(system, profile=page, counter=WordCounter(), shape=shape)
        assert made_for(head.text, system)
        assert not made_for(head.text, "Be brief.")
        assert [(part.tier, part.ids) for part in head.parts] == [
            ("system", ()),
            ("profile", ("Ann lives in Lyon",)),
        ]
        assert "Ann lives in Lyon." in head.text
