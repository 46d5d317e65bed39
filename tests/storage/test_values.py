"""What goes into columns comes out as it was."""

import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.clock import micros, moment
from memory.errors import BadQuery
from memory.search.entities import Words
from memory.storage.connection import new_id, pack_tokens, storable, unpack_tokens
from memory.storage.search.plan import expression, only_words
from memory.storage.words import Term, beginnings, plain_query, terms

MOMENTS = st.datetimes(
    min_value=datetime(1900, 1, 1),  # noqa: DTZ001  # the strategy adds the zone
    timezones=st.sampled_from([UTC, timezone(timedelta(hours=-7)), timezone(timedelta(hours=5, minutes=45))]),
)


@given(MOMENTS)
def test_times_are_kept_to_the_microsecond(when: datetime) -> None:
    assert moment(micros(when)) == when
    assert moment(micros(when)).tzinfo is UTC


@given(st.lists(st.integers(0, 2**32 - 1)).map(tuple))
def test_tokens_are_kept(tokens: tuple[int, ...]) -> None:
    blob = pack_tokens(tokens)
    assert unpack_tokens(blob) == tokens
    assert len(blob or b"") == 4 * len(tokens)


def test_tokens_are_little_endian() -> None:
    assert pack_tokens((1, 0x01020304)) == bytes([1, 0, 0, 0, 4, 3, 2, 1])


def test_ids_grow() -> None:
    made = [new_id() for _ in range(1000)]
    assert made == sorted(made)
    assert len(set(made)) == 1000
    assert {len(one) for one in made} == {36}


@given(st.text(st.characters(), max_size=20))
def test_text_that_utf8_can_hold_is_kept(text: str) -> None:
    assert storable(text).encode().decode() == storable(text)
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert storable(text) == text


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("fox", [Term("fox", prefix=True)]),
        ("fox ", [Term("fox")]),
        ("the fox", [Term("the"), Term("fox", prefix=True)]),
        ("fo* den", [Term("fo", prefix=True), Term("den", prefix=True)]),
        ('"red fox" den ', [Term("red fox"), Term("den")]),
        ('den "red fox"', [Term("den"), Term("red fox")]),
        ('"red fox', [Term("red"), Term("fox", prefix=True)]),
        ("e-mail ", [Term("e mail")]),
        ("¡olé! ", [Term("olé")]),
        ("\u0301 x", [Term("x", prefix=True)]),
    ],
)
def test_queries_become_terms(query: str, expected: list[Term]) -> None:
    assert terms(query) == expected


INDEXED = """
    been beer bee bees beeswax gas gases gasoline garden glass glance history house housing hour busy bus
    painting paintings painter running runs runway need needs needle moved moving movement mouse
"""


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("bees", {"bee", "bees", "beeswax"}),
        ("gas", {"gas", "gases", "gasoline"}),
        ("glas", {"glass"}),
        ("hi", {"history"}),
        ("his", {"history"}),
        ("Hous", {"house", "housing"}),
        ("bus", {"bus", "busy"}),
        ("running", {"running", "runs"}),
        ("runni", {"running", "runs"}),
        ("runn", {"running", "runs"}),
        ("needed", {"need", "needs"}),
        ("moved", {"moved", "moving"}),
    ],
)
def test_what_is_typed_is_the_beginning_of_what_is_found(typed: str, found: set[str]) -> None:
    with closing(sqlite3.connect(":memory:")) as conn:
        conn.execute(
            "CREATE VIRTUAL TABLE t USING fts5 (w, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        conn.executemany("INSERT INTO t VALUES (?)", [(word,) for word in INDEXED.split()])
        rows = conn.execute(
            "SELECT w FROM t WHERE t MATCH ?", (expression(Words(typed, prefix=True)),)
        ).fetchall()
    assert {word for (word,) in rows} == found


@given(st.text(max_size=40))
def test_an_expression_has_nothing_but_quoted_words(query: str) -> None:
    try:
        where = plain_query(query).where
    except BadQuery:
        assert beginnings(query) == []
        return
    assert where is not None
    if only_words(where):
        left = re.sub(r'"[^"]*"\*?|[()]', " ", expression(where))
        assert set(left.split()) <= {"AND", "OR"}
