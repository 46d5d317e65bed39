"""The columns of a room's chunks, which follow every change."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from memory.documents.entities import ChunkEntry
from memory.documents.ranking import NOBODY, Library, columns

entries = st.builds(
    ChunkEntry,
    seq=st.integers(0, 30),
    id=st.just(""),
    document=st.sampled_from("abc"),
    number=st.integers(0, 30),
    page=st.none() | st.integers(1, 3),
    words=st.integers(1, 9),
).map(lambda one: ChunkEntry(one.seq, f"c{one.seq}", one.document, one.seq, one.page, one.words))


def entry(seq: int, document: str, number: int, page: int | None, words: int) -> ChunkEntry:
    return ChunkEntry(seq, f"c{seq}", document, number, page, words)


def test_chunks_are_in_the_order_of_their_documents_with_their_neighbours() -> None:
    known = columns([entry(7, "b", 0, None, 4), entry(2, "a", 1, 2, 5), entry(9, "a", 0, 1, 3)])
    assert known.ids == ("c9", "c2", "c7")
    assert known.before.tolist() == [NOBODY, 0, NOBODY]
    assert known.after.tolist() == [1, NOBODY, NOBODY]
    assert known.page_words.tolist() == [3, 5, 4]
    assert known.document_words.tolist() == [8, 4]


def test_rows_are_found_by_seq_and_unknown_ones_are_left_out() -> None:
    known = columns([entry(7, "b", 0, None, 4), entry(2, "a", 1, 2, 5)])
    assert known.rows_of(np.array([7, 1, 2, 7, 500])).tolist() == [1, 0, 1]
    assert columns([]).rows_of(np.array([0, 3])).tolist() == []


@given(
    st.lists(st.tuples(st.lists(entries, max_size=6), st.sets(st.integers(0, 30), max_size=4)), max_size=5)
)
def test_a_library_that_followed_changes_is_like_one_made_anew(
    changes: list[tuple[list[ChunkEntry], set[int]]],
) -> None:
    library = Library()
    left: dict[int, ChunkEntry] = {}
    for added, removed in changes:
        library.replace(removed, added)
        for seq in removed:
            left.pop(seq, None)
        left.update((one.seq, one) for one in added)
        ordered = sorted(left.values(), key=lambda one: (one.document, one.number))
        known, anew = library.columns, columns(left.values())
        assert list(known.ids) == [one.id for one in ordered]
        assert known.words.tolist() == [one.words for one in ordered]
        assert [known.documents[at] for at in known.document] == [one.document for one in ordered]
        assert known.page_words.tolist() == anew.page_words.tolist()
        assert known.document_words.sum() == sum(one.words for one in ordered)
        assert known.rows_of(np.array([one.seq for one in ordered], np.int64)).tolist() == list(
            range(len(ordered))
        )
