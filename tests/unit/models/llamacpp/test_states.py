"""Which states are kept, and which of them serves a prompt."""

import mmap

import pytest

from models.llamacpp.states import SequenceState, StateCache, StateLayout, begins_with
from models.messages import hash_tokens

LAYOUT = StateLayout(fixed=100, per_token=10, linear=True)


def state(*tokens: int) -> SequenceState:
    size = LAYOUT.size(len(tokens))
    return SequenceState(list(tokens), mmap.mmap(-1, size), size)


@pytest.fixture
def cache() -> StateCache:
    return StateCache(1000, LAYOUT)


def test_the_longest_common_beginning_wins(cache: StateCache) -> None:
    short, long = state(1, 2, 9), state(1, 2, 3, 4)
    assert cache.put(short)
    assert cache.put(long)
    assert cache.best([1, 2, 3, 7, 8], above=0, length=100) is long
    assert cache.best([1, 2, 9, 7, 8], above=2, length=100) is short
    assert cache.best([1, 2, 3, 7, 8], above=3, length=100) is None
    assert cache.best([1, 2, 3, 7, 8], above=0, length=3) is short
    assert cache.best([5], above=0, length=100) is None


def test_the_last_token_of_a_prompt_is_always_read_anew(cache: StateCache) -> None:
    assert cache.shared([1, 2, 3], [1, 2, 3]) == 2
    assert cache.shared([1, 2, 3], [1, 2, 3, 4]) == 3


def test_a_state_replaces_those_that_it_covers(cache: StateCache) -> None:
    cache.put(state(1, 2))
    cache.put(state(1, 2, 3))
    assert len(cache) == 1
    assert cache.covers([1, 2])
    assert not cache.covers([1, 2, 4])
    cache.clear()
    assert len(cache) == 0


def test_what_was_not_used_for_the_longest_time_goes_first(cache: StateCache) -> None:
    states = [state(n, *range(10, 30)) for n in range(4)]
    for one in states[:3]:
        assert cache.put(one)
    assert cache.best([0, 10, 11], above=0, length=100) is states[0]
    assert cache.put(states[3])
    assert cache.size <= cache.limit
    assert [cache.covers(one.tokens) for one in states] == [True, False, True, True]
    assert not cache.put(state(*range(100)))
    assert not cache.has_room_for(100)
    assert cache.has_room_for(90)
    cache.drop(states[3])
    assert not cache.covers(states[3].tokens)


def test_a_state_that_cannot_be_cut_serves_whole_or_not_at_all() -> None:
    cache = StateCache(1000, StateLayout(100, 10, linear=False), whole=True)
    short, long = state(1, 2), state(1, 2, 3, 4)
    cache.put(short)
    cache.put(long)
    assert len(cache) == 2
    assert cache.best([1, 2, 3, 9, 9], above=0, length=100) is short
    assert cache.best([1, 2, 3, 4, 9], above=0, length=100) is long
    assert cache.expected_size(3) is None
    assert not cache.covers([1, 2, 3])


def test_states_are_found_by_what_was_told_of_them(cache: StateCache) -> None:
    kept = state(1, 2, 3)
    cache.put(kept)
    assert cache.find(hash_tokens([1, 2, 3])) is kept
    assert cache.find(hash_tokens([1, 2]), 2) is kept
    assert cache.find(hash_tokens([1, 2])) is None
    assert cache.find(hash_tokens([1, 9]), 2) is None
    assert not begins_with([1], hash_tokens([]), 0)
    assert cache.expected_size(3) == kept.size
    assert "1" not in repr(kept).replace(str(kept.size), "")
