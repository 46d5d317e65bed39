"""What of a document stays the same in its next version."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from memory.documents.chunking import matched

KEYS = st.lists(st.sampled_from("abcdef"), max_size=30)


def stored(keys: list[str]) -> list[tuple[str, str]]:
    return [(f"id{number}", key) for number, key in enumerate(keys)]


@given(KEYS, KEYS)
def test_as_many_as_possible_are_kept_each_once(old: list[str], new: list[str]) -> None:
    kept = matched(stored(old), new)
    keys = dict(stored(old))
    ids = [id_ for id_ in kept if id_ is not None]
    assert len(kept) == len(new)
    assert len(set(ids)) == len(ids)
    assert all(id_ is None or keys[id_] == key for id_, key in zip(kept, new, strict=True))
    assert len(ids) == (Counter(old) & Counter(new)).total()


@given(KEYS, st.lists(st.sampled_from("uvw")), st.lists(st.sampled_from("xyz")), KEYS)
def test_what_stands_before_and_after_a_change_keeps_its_ids(
    before: list[str], gone: list[str], added: list[str], after: list[str]
) -> None:
    old = stored([*before, *gone, *after])
    kept = matched(old, [*before, *added, *after])
    assert kept[: len(before)] == [id_ for id_, _ in old[: len(before)]]
    assert kept[len(before) + len(added) :] == [id_ for id_, _ in old[len(old) - len(after) :]]


def test_of_equal_chunks_the_next_in_order_is_kept() -> None:
    assert matched(stored(["x", "a", "b", "a", "c"]), ["b", "a", "z"]) == ["id2", "id3", None]


def test_a_moved_chunk_keeps_its_id() -> None:
    assert matched(stored(["a", "b", "c"]), ["c", "a", "b"]) == ["id2", "id0", "id1"]
