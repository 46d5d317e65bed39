"""Ranking of chunks, pages and documents: words, phrases, meaning, neighbours and filters."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.documents.entities import ChunkEntry, ChunkPosting, Grain
from memory.documents.ranking import (
    CONTEXT,
    K1,
    B,
    ChunkColumns,
    GrainWeights,
    Scores,
    Weights,
    best,
    columns,
    everywhere,
    gather,
    score,
)

WORDS = ("cash", "flow", "tax", "debt")
PARTS = {one.name for one in fields(GrainWeights)}


@dataclass(frozen=True)
class Piece:
    """A chunk of a test: its words, and those of its title and headings."""

    text: str
    document: str = "a"
    page: int = 1
    context: str = ""

    @property
    def words(self) -> int:
        return len(self.text.split()) + len(self.context.split())


def laid_out(pieces: Sequence[Piece]) -> ChunkColumns:
    """The rows are in the order of the pieces, if these are ordered by document."""
    return columns(
        ChunkEntry(seq, str(seq), piece.document, seq, piece.page, piece.words)
        for seq, piece in enumerate(pieces)
    )


def posting(pieces: Sequence[Piece], term: str, weight: float = 1.0) -> ChunkPosting:
    text = [seq for seq, piece in enumerate(pieces) for word in piece.text.split() if word == term]
    context = [seq for seq, piece in enumerate(pieces) for word in piece.context.split() if word == term]
    return ChunkPosting(term, np.array(text, np.int64), np.array(context, np.int64), weight)


def ranked(
    pieces: Sequence[Piece],
    question: str,
    *,
    allowed: Sequence[bool] | None = None,
    cosine: Sequence[float] | None = None,
    weights: Weights | None = None,
) -> tuple[ChunkColumns, Scores]:
    known = laid_out(pieces)
    scores = score(
        known,
        np.ones(len(pieces), np.bool_) if allowed is None else np.array(allowed, np.bool_),
        [posting(pieces, word) for word in question.split()],
        None if cosine is None else np.array(cosine, float),
        weights or Weights(),
    )
    return known, scores


def found(
    pieces: Sequence[Piece],
    question: str,
    grain: Grain = Grain.CHUNK,
    k: int = 10,
    *,
    allowed: Sequence[bool] | None = None,
    cosine: Sequence[float] | None = None,
) -> list[int]:
    known, scores = ranked(pieces, question, allowed=allowed, cosine=cosine)
    return [int(row) for row in best(known, scores, grain, k)]


def test_the_chunk_with_the_words_comes_first() -> None:
    pieces = [Piece("tax tax other words"), Piece("debt cash flow"), Piece("nothing here at all")]
    assert found(pieces, "debt cash")[0] == 1


def test_a_rare_word_outweighs_a_common_one() -> None:
    pieces = [Piece(f"cash number {n}", f"d{n}") for n in range(6)] + [Piece("debt number six", "d6")]
    assert found(pieces, "cash debt")[0] == 6


def test_words_in_headings_count_less_than_in_the_text_but_do_count() -> None:
    pieces = [
        Piece("plain words only", "a"),
        Piece("plain words", "b", context="tax"),
        Piece("plain words tax", "c"),
    ]
    assert found(pieces, "tax", Grain.DOCUMENT) == [2, 1]


def test_a_phrase_is_a_posting_of_its_own_weight() -> None:
    pieces = [Piece("cash then a flow", "a"), Piece("flow of some cash", "b"), Piece("words", "c")]
    known = laid_out(pieces)
    everything = np.ones(3, np.bool_)
    single = [posting(pieces, "cash"), posting(pieces, "flow")]
    phrase = ChunkPosting("cash flow", np.array([1]), np.array([], np.int64), 0.5)
    plain = score(known, everything, single, None, Weights())
    near = score(known, everything, [*single, phrase], None, Weights())
    assert plain.chunk[0] == pytest.approx(plain.chunk[1])
    assert near.chunk[1] > near.chunk[0]


def test_weight_0_counts_for_nothing() -> None:
    pieces = [Piece("cash", "a"), Piece("flow", "b")]
    known = laid_out(pieces)
    postings = [posting(pieces, "cash"), posting(pieces, "flow", 0.0)]
    scores = score(known, np.ones(2, np.bool_), postings, None, Weights())
    assert [int(row) for row in best(known, scores, Grain.CHUNK, 5)] == [0]


def test_a_chunk_between_two_that_match_is_better_than_one_alone() -> None:
    pieces = [
        Piece("cash", "a", 1), Piece("other words", "a", 2), Piece("flow", "a", 3),
        Piece("other words", "b", 1), Piece("more of them", "b", 2),
    ]  # fmt: skip
    _, scores = ranked(pieces, "cash flow")
    assert scores.chunk[1] > scores.chunk[3]


def test_the_page_with_all_the_words_comes_first_although_they_are_in_different_chunks() -> None:
    pieces = [Piece("cash", page=1), Piece("flow", page=1), Piece("cash", page=2), Piece("words", page=2)]
    pages = found(pieces, "cash flow", Grain.PAGE)
    assert [pieces[row].page for row in pages] == [1, 2]


def test_wider_grains_give_each_page_and_document_once() -> None:
    pieces = [
        Piece("cash", "a", 1), Piece("cash cash", "a", 1), Piece("cash words", "a", 2), Piece("cash", "b", 1),
    ]  # fmt: skip
    assert len(found(pieces, "cash")) == 4
    assert len(found(pieces, "cash", Grain.PAGE)) == 3
    assert len(found(pieces, "cash", Grain.DOCUMENT)) == 2


def test_rows_that_are_not_allowed_are_neither_found_nor_counted() -> None:
    pieces = [Piece("tax words", "a"), Piece("debt words", "a"), Piece("tax debt", "b"), Piece("tax", "b")]
    allowed = [True, True, False, False]
    _, within = ranked(pieces, "tax debt", allowed=allowed)
    _, alone = ranked(pieces[:2], "tax debt")
    assert within.chunk[:2] == pytest.approx(alone.chunk)
    assert within.page[0] == pytest.approx(alone.page[0])
    assert set(found(pieces, "tax debt", allowed=allowed)) == {0, 1}


def test_the_meaning_of_rows_that_are_not_allowed_does_not_count() -> None:
    pieces = [Piece("x"), Piece("x"), Piece("x"), Piece("x", "b")]
    _, scores = ranked(pieces, "tax", allowed=[True, True, False, True], cosine=[0.1, 0.3, 0.9, 0.2])
    assert scores.parts["neighbour"] == pytest.approx([1.0, 0.0, 0.0, 0.0])


def test_meaning_finds_what_has_none_of_the_words() -> None:
    pieces = [Piece("levies", "a"), Piece("weather", "b"), Piece("music", "c")]
    assert found(pieces, "tax", cosine=[0.7, 0.1, 0.2])[0] == 0


def test_an_unknown_cosine_counts_as_the_lowest() -> None:
    pieces = [Piece("x", "a"), Piece("x", "b"), Piece("x", "c")]
    _, scores = ranked(pieces, "tax", cosine=[0.7, math.nan, 0.2])
    assert scores.parts["semantic"] == pytest.approx([1.0, 0.0, 0.0])


def test_without_vectors_words_alone_decide() -> None:
    pieces = [Piece("cash", "a"), Piece("words", "b")]
    _, scores = ranked(pieces, "cash")
    assert scores.parts["semantic"] == pytest.approx([0.0, 0.0])
    assert found(pieces, "cash") == [0]


def test_nothing_is_found_in_nothing_or_without_evidence() -> None:
    assert found([], "cash") == []
    assert found([], "cash", Grain.PAGE) == []
    assert found([Piece("words")], "cash", Grain.DOCUMENT) == []
    assert found([Piece("cash")], "cash", k=0) == []
    assert found([Piece("cash")], "cash", allowed=[False]) == []


def test_terms_on_more_than_half_of_the_pages_are_everywhere() -> None:
    pieces = [
        Piece("tax cash", page=1), Piece("cash", page=1), Piece("words", page=2, context="tax"),
        Piece("debt", page=3), Piece("cash", "b"), Piece("cash debt", "c"),
    ]  # fmt: skip
    postings = [posting(pieces, word) for word in WORDS]
    allowed = np.array([True, True, True, True, False, False])
    assert everywhere(laid_out(pieces), allowed, postings) == {"tax"}


# --- properties ------------------------------------------------------------------------------------

pieces_lists = st.lists(
    st.builds(
        Piece,
        text=st.lists(st.sampled_from((*WORDS, "x")), min_size=1, max_size=6).map(" ".join),
        document=st.sampled_from(("a", "b", "c")),
        page=st.integers(1, 3),
        context=st.lists(st.sampled_from(WORDS), max_size=2).map(" ".join),
    ),
    min_size=1,
    max_size=12,
).map(lambda pieces: sorted(pieces, key=lambda piece: piece.document))


def naive_bm25(groups: Sequence[Sequence[Piece]], term: str) -> list[float]:
    counts = [
        sum(
            Counter(piece.text.split())[term] + CONTEXT * Counter(piece.context.split())[term]
            for piece in group
        )
        for group in groups
    ]
    lengths = [sum(piece.words for piece in group) for group in groups]
    mean = max(1.0, sum(lengths) / len(groups))
    holders = sum(count > 0 for count in counts)
    rarity = math.log(1 + (len(groups) - holders + 0.5) / (holders + 0.5))
    return [
        rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * length / mean))
        for count, length in zip(counts, lengths, strict=True)
    ]


@given(pieces_lists, st.data())
def test_evidence_of_words_is_bm25_of_chunks_pages_and_documents(
    pieces: list[Piece], data: st.DataObject
) -> None:
    allowed = data.draw(st.lists(st.booleans(), min_size=len(pieces), max_size=len(pieces)))
    may = [piece for piece, one in zip(pieces, allowed, strict=True) if one]
    evidence = gather(
        laid_out(pieces), np.array(allowed, np.bool_), [posting(pieces, word) for word in WORDS], None
    )
    by_page = {
        key: [piece for piece in may if (piece.document, piece.page) == key]
        for key in dict.fromkeys((piece.document, piece.page) for piece in may)
    }
    by_document = {
        key: [piece for piece in may if piece.document == key]
        for key in dict.fromkeys(piece.document for piece in may)
    }
    chunk, page, document = np.zeros(len(may)), np.zeros(len(may)), np.zeros(len(may))
    for word in WORDS if may else ():
        chunk += naive_bm25([[piece] for piece in may], word)
        pages = dict(zip(by_page, naive_bm25(list(by_page.values()), word), strict=True))
        documents = dict(zip(by_document, naive_bm25(list(by_document.values()), word), strict=True))
        page += [pages[piece.document, piece.page] for piece in may]
        document += [documents[piece.document] for piece in may]
    rows = np.flatnonzero(allowed)
    assert evidence.lexical[rows] == pytest.approx(chunk)
    assert evidence.page[rows] == pytest.approx(page)
    assert evidence.document[rows] == pytest.approx(document)


@given(pieces_lists, st.data())
def test_scores_and_parts_are_between_0_and_1(pieces: list[Piece], data: st.DataObject) -> None:
    number = st.one_of(st.floats(-1, 1), st.just(math.nan))
    cosine = data.draw(st.none() | st.lists(number, min_size=len(pieces), max_size=len(pieces)))
    known, scores = ranked(pieces, " ".join(WORDS), cosine=cosine)
    assert set(scores.parts) == PARTS
    for values in (scores.chunk, scores.page, scores.document, *scores.parts.values()):
        assert ((values >= 0) & (values <= 1 + 1e-9)).all()
    for grain in Grain:
        of = scores.of(known, grain)
        rows = best(known, scores, grain, 5)
        assert len(set(rows.tolist())) == len(rows) <= 5
        assert (np.diff(of[rows]) <= 1e-12).all()
        assert of[rows].min(initial=1.0) > 0
