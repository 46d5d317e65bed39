"""What a question looks for besides its words."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.documents.ranking import PHRASE, Looked, looked_for, names, subject


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("What did Halden spend? Round your answer to two decimals.", "What did Halden spend?"),
        ("Answer by using the balance sheet: what is the debt?", "what is the debt?"),
        ("What is the FY2018 revenue (in USD millions)?", "What is the 2018 revenue ?"),
        ("What is the FY18 revenue, in USD thousands?", "What is the 2018 revenue, ?"),
        ("Is it growing? If it is not useful, then please state that and explain why.", "Is it growing?"),
        ("Vitamin D reduces the risk of falls.", "Vitamin D reduces the risk of falls."),
        ("Version 3.11 of example.com", "Version 3.11 of example.com"),
        ("Please answer.", "Please answer."),
        ("", ""),
    ],
)
def test_instructions_are_not_the_subject(question: str, left: str) -> None:
    assert subject(question) == left


@given(st.text())
def test_a_subject_is_left_of_everything_that_has_words(question: str) -> None:
    assert bool(subject(question).strip()) == bool(question.strip())


def test_words_with_capitals_or_digits_may_be_names() -> None:
    assert names("what did 3M and Halden's unit eBay earn in 2018, when 3M grew") == [
        "3M", "Halden", "eBay", "2018",
    ]  # fmt: skip


def test_neighbouring_words_of_the_question_are_phrases() -> None:
    assert looked_for("", ["gross", "margin", "margin", "fell"]) == [
        Looked(("gross margin",), PHRASE, 2),
        Looked(("margin fell",), PHRASE, 2),
    ]


def test_a_line_is_looked_for_under_the_names_that_statements_have() -> None:
    found = looked_for("How much capex did they have?", [])
    assert any("purchases property equipment" in one.phrases for one in found)
    assert any(one.phrases == ("cash flows investing activities",) for one in found)
    assert not any(one.phrases == ("total current assets",) for one in found)


def test_the_statement_that_is_named_is_looked_for_instead_of_the_usual_one() -> None:
    found = looked_for("What is the depreciation in the income statement?", [])
    assert any(one.phrases == ("provision income taxes",) for one in found)
    assert not any(one.phrases == ("cash flows investing activities",) for one in found)


@pytest.mark.parametrize("question", ["Which birds sing at night?", "capexes", "Does aspirin reduce fever?"])
def test_other_questions_look_for_no_lines(question: str) -> None:
    assert looked_for(question, []) == []


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("Purchases of property, plant and equipment (1,577)", True),
        ("Additions to property and equipment", True),
        ("property of the company, which also purchases a lot of other things and equipment", False),
        ("equipment", False),
    ],
)
def test_the_words_of_a_phrase_stand_close_to_each_other(text: str, matches: bool) -> None:
    looked = Looked(("purchases property equipment", "additions property equipment"), 1.0)
    conn = sqlite3.connect(":memory:")
    conn.execute("CREATE VIRTUAL TABLE chunks USING fts5 (context, text, tokenize = 'porter unicode61')")
    conn.execute("INSERT INTO chunks VALUES ('', ?)", (text,))
    found = conn.execute("SELECT count(*) FROM chunks WHERE chunks MATCH ?", (looked.match,)).fetchone()
    assert found == (int(matches),)
