"""Rows of a text, and words found in it: rules that hold for any text."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from atlas_desktop.tui.documents import reader
from atlas_desktop.tui.documents.reader import Rows, cells_of, matches, next_match, wrapped

SIGNS = st.sampled_from("ab \n\té漢—e\u0301-")
TEXTS = st.text(SIGNS, max_size=200)
WIDTHS = st.integers(2, 20)


def rows_of(text: str, rows: Rows) -> list[str]:
    return [text[slice(*rows.range_of(row))] for row in range(len(rows)) if row not in rows.marks]


@given(TEXTS, WIDTHS)
def test_rows_are_the_text_in_order_and_fit(text: str, width: int) -> None:
    rows = wrapped(text, width)
    pieces = rows_of(text, rows)
    assert "".join(pieces) == text
    for piece in pieces:
        assert piece
        assert "\n" not in piece[:-1]
        shown = piece.rstrip("\n").rstrip(" ")
        # A tab, or one sign with two cells, may be wider than a very narrow row.
        assert sum(map(cells_of, shown)) <= width or len(shown) == 1 or "\t" in shown


@given(TEXTS, WIDTHS)
def test_a_row_ends_at_a_space_if_there_is_one(text: str, width: int) -> None:
    pieces = rows_of(text, wrapped(text, width))
    for piece in pieces[:-1]:
        assert piece.endswith(("\n", " ")) or " " not in piece.lstrip(" ") or piece.isspace()


@given(TEXTS, WIDTHS, st.data())
def test_a_part_has_the_rows_of_the_whole(text: str, width: int, data: st.DataObject) -> None:
    starts = [0, *(at + 1 for at, sign in enumerate(text) if sign == "\n" and at + 1 < len(text))]
    begin = data.draw(st.sampled_from(starts))
    whole = wrapped(text, width)
    assert list(wrapped(text, width, begin=begin).starts) == [one for one in whole.starts if one >= begin]


@given(TEXTS, WIDTHS, st.lists(st.integers(0, 200), max_size=4))
def test_every_page_has_its_mark_and_positions_are_found_again(
    text: str, width: int, places: list[int]
) -> None:
    pages = (0, *sorted({one for one in places if 0 < one < len(text)})) if text else ()
    rows = wrapped(text, width, pages)
    assert list(rows.marks.values()) == list(range(1, len(pages) + 1))
    for row, page in rows.marks.items():
        assert rows.starts[row] == pages[page - 1]
        assert rows.first_row_of(pages[page - 1]) == row
    for position in range(len(text)):
        row = rows.row_at(position)
        assert row not in rows.marks
        begin, end = rows.range_of(row)
        assert begin <= position < end


def test_a_line_without_spaces_is_broken_anywhere() -> None:
    assert rows_of("x" * 25, wrapped("x" * 25, 10)) == ["x" * 10, "x" * 10, "x" * 5]
    assert rows_of("漢" * 6, wrapped("漢" * 6, 4)) == ["漢漢"] * 3


@given(TEXTS, st.text(SIGNS, max_size=4), st.integers(0, 200))
def test_matches_contain_the_words_and_do_not_overlap(text: str, words: str, position: int) -> None:
    found = matches(text, words, min(position, len(text)))
    for begin, end in found:
        assert text[begin:end].casefold().split() == words.casefold().split()
    # A match that begins before the position may reach beyond it.
    assert all(one[1] <= other[0] or one[0] < position <= other[0] for one, other in pairwise(found))
    assert found == sorted(found)


def test_words_are_found_across_line_ends_and_capitals_and_pieces() -> None:
    text = "x" * (reader._PIECE - 3) + "Spring\n  tides and spring tides"
    found = matches(text, "spring TIDES")
    assert [text[slice(*one)] for one in found] == ["Spring\n  tides", "spring tides"]
    assert matches(text, "  ") == []


def test_matches_after_a_position_come_first_when_there_are_too_many() -> None:
    text = "a " * (reader.MOST + 10)
    found = matches(text, "a", 10)
    assert len(found) == reader.MOST
    assert found[0][0] == 10


def test_the_next_match_wraps() -> None:
    found = [(1, 2), (5, 6), (9, 10)]
    assert [next_match(found, at, 1) for at in (0, 1, 4, 9, 20)] == [0, 1, 1, 0, 0]
    assert [next_match(found, at, -1) for at in (0, 1, 5, 6, 20)] == [2, 2, 0, 1, 2]
