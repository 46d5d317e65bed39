"""Which memories become one, and what it says."""

import random
from collections.abc import Sequence
from datetime import timedelta
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.memories.entities import Memory, MemoryKind, MemoryOrigin, MemorySource, MemoryState, MemoryTier
from memory.memories.lifetime import Retention
from memory.memories.upkeep import (
    MOST_MEMBERS,
    Pair,
    agree,
    clusters,
    consolidated,
    content,
    extract,
    may_consolidate,
)
from tests.unit.memories.values import NOW, known, memories

RULES = Retention()
LETTERS = "abcdfghijklmpqrtuvwxyz"


@given(st.lists(memories, max_size=9), st.randoms(use_true_random=False), st.data())
def test_clusters_share_nothing_and_hold_only_what_is_near_and_agrees(
    given_: Sequence[Memory], dice: random.Random, data: st.DataObject
) -> None:
    pairs = [
        Pair(one.id, other.id, data.draw(st.sampled_from([0.5, 0.8, 0.85, 0.99])))
        for one, other in combinations(given_, 2)
    ]
    made = clusters(given_, pairs, RULES)
    members = [one.id for cluster in made for one in cluster.members]
    assert len(members) == len(set(members))
    near = {frozenset((pair.one, pair.other)): pair.similarity for pair in pairs}
    for cluster in made:
        assert 2 <= len(cluster.members) <= MOST_MEMBERS
        assert all(may_consolidate(one) for one in cluster.members)
        for one, other in combinations(cluster.members, 2):
            assert near[frozenset((one.id, other.id))] >= RULES.consolidate_similarity
            assert agree(one, other)
    shuffled, mixed = list(given_), list(pairs)
    dice.shuffle(shuffled)
    dice.shuffle(mixed)
    assert clusters(shuffled, mixed, RULES) == made


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("I like hiking in the hills", "I enjoy hiking in hills on Sundays", True),
        ("I like tea", "I do not like tea", False),
        ("I don't eat meat", "I never eat meat", True),
        ("My rent is 900 euros", "My rent is 950 euros", False),
        ("My sister lives in Oslo", "My sister lives in Bergen", False),
        ("My sister lives in Oslo", "My sister Anna lives in Oslo", True),
    ],
)
def test_what_contradicts_is_not_merged(one: str, other: str, together: bool) -> None:
    assert agree(known(one), known(other)) is together
    assert agree(known(other), known(one)) is together


def test_other_subjects_kinds_and_projects_are_kept_apart() -> None:
    assert not agree(known(subject="cat"), known(subject="dog"))
    assert agree(known(subject="cat"), known(subject=""))
    assert not agree(known(), known(kind=MemoryKind.DECISION))
    assert not agree(known(), known(project="Boat"))
    assert not agree(known(), known(valid_until=NOW))


def test_near_to_a_neighbour_is_not_near_to_all() -> None:
    a, b, c = (known(f"We painted the {what} today", id=what) for what in ("boat", "hull", "shed"))
    pairs = [Pair("boat", "hull", 0.9), Pair("hull", "shed", 0.85)]
    (made,) = clusters([a, b, c], pairs, RULES)
    assert [one.id for one in made.members] == ["boat", "hull"]


@given(st.lists(st.text("ab ,.;x", min_size=1, max_size=30).filter(str.strip), min_size=1, max_size=5))
def test_extracts_lose_nothing_when_there_is_room_and_invent_nothing(texts: list[str]) -> None:
    said = frozenset[str]().union(*map(content, texts))
    assert content(extract(texts, 1000)) == said
    assert content(texts[0]) <= content(extract(texts, 0))


def test_extracts_keep_to_their_room() -> None:
    texts = ["I hike.", "I hike on Sundays with Ada.", "I hike in the hills above the fjord every autumn."]
    assert extract(texts, 9) == "I hike on Sundays with Ada."
    assert extract(["I hike", "I love boats; I hike on Sundays"], 99) == "I hike on Sundays. I love boats"
    assert extract(texts[:1] * 3, 100) == "I hike."


def test_what_came_up_more_often_is_told_in_more_detail() -> None:
    long = [" ".join(f"word{n}{letter}" for letter in LETTERS) for n in ("k", "m", "n")]
    given_ = [known(text, id=str(n)) for n, text in enumerate(long)]
    pairs = [Pair(one.id, other.id, 0.95) for one, other in combinations(given_, 2)]
    (plain,) = clusters(given_, pairs, RULES)
    (often,) = clusters(given_, pairs, RULES, {one.id: 5 for one in given_})
    assert len(often.text.split()) > len(plain.text.split())


def test_the_one_is_as_lasting_as_the_most_lasting_and_knows_its_lineage() -> None:
    first = known("Tea is fine", id="1", importance=0.9, expires_at=NOW)
    second = known("Tea is fine", id="2", tier=MemoryTier.LONG_TERM, state=MemoryState.KEPT, subject="tea")
    pairs = [Pair("1", "2", 0.99)]
    (cluster,) = clusters([first, second], pairs, RULES)
    quotes = [
        MemorySource("m", "s", "Tea"),
        MemorySource("m", "s", "Tea is fine"),
        MemorySource("n", "s", "x"),
    ]
    new = consolidated(cluster, quotes)
    assert (new.tier, new.state, new.origin) == (
        MemoryTier.LONG_TERM,
        MemoryState.KEPT,
        MemoryOrigin.CONSOLIDATION,
    )
    assert (new.expires_at, new.importance, new.subject, new.parts) == (None, 0.9, "tea", ("1", "2"))
    assert [source.quote for source in new.sources] == ["Tea is fine", "x"]
    ends = [NOW, NOW + timedelta(days=1)]
    pair = [known("Tea is fine", id=str(n), expires_at=end) for n, end in enumerate(ends)]
    (cluster,) = clusters(pair, [Pair("0", "1", 0.9)], RULES)
    assert consolidated(cluster, []).expires_at == ends[1]
