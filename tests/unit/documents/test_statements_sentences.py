"""Where sentences end."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.documents.statements import sentences


def split(text: str) -> list[str]:
    return [text[begin:end] for begin, end in sentences(text)]


@pytest.mark.parametrize(
    "pieces",
    [
        ["Dr. Berg met J. Carr on 3. März 2024.", "Costs were 12.", "Good!"],
        ["The pump runs [1].", "It stops. [2]", "Then, e.g. this, works."],
        ["He asked: why?", "Nobody knew…", "Fig. 3 shows version 2.4 of it."],
    ],
)
def test_sentences_end_at_their_marks(pieces: list[str]) -> None:
    assert split(" ".join(pieces)) == pieces


def test_items_rows_and_headings_are_sentences() -> None:
    pieces = [
        "# Title",
        "- first item",
        "- second item",
        "1. one",
        "2. two",
        "| a | b |",
        "Short line",
        "Another",
    ]
    assert split("\n".join(pieces)) == pieces


def test_sentences_go_on_over_the_lines_of_a_paragraph() -> None:
    text = "A line of a paragraph that is wrapped at some seventy characters, and\nAda goes on here. The end."
    assert split(text) == [text[: text.index(" The end")], "The end."]


def test_lines_with_labels_are_sentences() -> None:
    pieces = [
        "Rent: 400 €",
        "electricity: 30 €",
        "insurance of house and bicycles: 612 € a year",
        "tax: 5 €",
    ]
    assert split("\n".join(pieces)) == pieces
    assert (
        len(split("A line of a paragraph that is wrapped at some seventy characters, and\nnote: it goes on."))
        == 1
    )


def test_scripts_without_spaces_have_marks_of_their_own() -> None:
    assert split("渡し船は正午に出発。夕方に着く！終わり") == [
        "渡し船は正午に出発。",
        "夕方に着く！",
        "終わり",
    ]


def test_no_sentence_ends_inside_a_range_that_is_whole() -> None:
    text = "He said: It failed. It leaked. And left."
    assert [text[begin:end] for begin, end in sentences(text, [(9, 30)])] == [text[:30], "And left."]


@given(
    st.text(max_size=200)
    | st.lists(st.sampled_from(["A. ", "b", "\n", "! ", "[1]", "。", "1. "])).map("".join)
)
def test_all_but_white_space_is_in_one_sentence(text: str) -> None:
    end = 0
    for begin, until in sentences(text):
        assert end <= begin < until
        assert not text[end:begin].strip()
        assert text[begin:until] == text[begin:until].strip()
        end = until
    assert not text[end:].strip()


def test_a_row_of_a_table_is_one_sentence() -> None:
    text = (
        "What was paid in the first year of the boat, by the order of the dates on the receipts\n"
        "date | item | euro | paid to\n"
        "2026-06-21 | Stockholm tar and linseed oil, from old stock of the yard | 96.80 | D. Roche. Paid\n"
        "2026-07-18 | mainsail | 450.00 | a retired judge"
    )
    assert [text[begin:end] for begin, end in sentences(text)] == text.split("\n")
