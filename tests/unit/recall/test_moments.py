"""Expressions of time, read from a fixed day: Sunday, 22 November 2026."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.recall.moments import asks_when, spans, speaks_of_time

NOW = datetime(2026, 11, 22, 15, 30, tzinfo=UTC)
FOR_EVER = "9000-01-01"


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("what did I do yesterday?", "2026-11-21", "2026-11-22"),
        ("the day before yesterday", "2026-11-20", "2026-11-21"),
        ("what did we say last week", "2026-11-09", "2026-11-16"),
        ("what did we plan this week", "2026-11-16", "2026-11-23"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("two months ago", "2026-09-01", "2026-10-01"),
        ("3 days ago", "2026-11-19", "2026-11-20"),
        ("a year ago", "2025-01-01", "2026-01-01"),
        ("last Monday", "2026-11-16", "2026-11-17"),
        ("last Sunday", "2026-11-15", "2026-11-16"),
        ("on Friday", "2026-11-20", "2026-11-21"),
        ("in May", "2026-05-01", "2026-06-01"),
        ("in December", "2025-12-01", "2026-01-01"),
        ("in May 2023", "2023-05-01", "2023-06-01"),
        ("on 8 May 2023?", "2023-05-08", "2023-05-09"),
        ("May 8th, 2023", "2023-05-08", "2023-05-09"),
        ("2023-05-08", "2023-05-08", "2023-05-09"),
        ("what happened in 2022", "2022-01-01", "2023-01-01"),
        ("since March", "2026-03-01", FOR_EVER),
        ("since yesterday", "2026-11-21", FOR_EVER),
        ("after 3 June 2022", "2022-06-03", FOR_EVER),
        ("before last week", "1970-01-01", "2026-11-09"),
        ("until 2020", "1970-01-01", "2020-01-01"),
    ],
)
def test_a_span_is_read(text: str, start: str, end: str) -> None:
    assert [(str(s.start.date()), str(s.end.date())) for s in spans(text, NOW)] == [(start, end)]


@pytest.mark.parametrize(
    "text", ["I may go", "march on", "what is the plan", "2023-02-31", "it cost 2000 dollars in all", ""]
)
def test_what_is_no_time_is_no_evidence(text: str) -> None:
    assert spans(text, NOW) == ()


def test_several_come_in_the_order_of_the_text() -> None:
    assert [s.start.year for s in spans("in 2021, then in May 2019", NOW)] == [2021, 2019]


def test_a_month_without_a_year_is_the_latest_that_the_talk_reaches() -> None:
    (span,) = spans("in May", NOW)
    assert span.not_after(datetime(2023, 9, 1, tzinfo=UTC)).start == datetime(2023, 5, 1, tzinfo=UTC)
    assert span.not_after(datetime(2023, 3, 1, tzinfo=UTC)).start == datetime(2022, 5, 1, tzinfo=UTC)
    assert span.not_after(NOW) == span
    (named,) = spans("in May 2024", NOW)
    assert named.not_after(datetime(2020, 1, 1, tzinfo=UTC)) == named


@given(st.text(max_size=200))
def test_any_text_can_be_read(text: str) -> None:
    for span in spans(text, NOW):
        assert span.start < span.end
        span.not_after(datetime(1999, 2, 28, tzinfo=UTC))


def test_questions_for_a_time_and_texts_that_name_one() -> None:
    assert asks_when("When did I move?")
    assert asks_when("In which month was it?")
    assert asks_when("how long did it take")
    assert not asks_when("Who moved?")
    assert speaks_of_time("We moved two weeks ago")
    assert speaks_of_time("It was in 2019.")
    assert not speaks_of_time("You may march on")
