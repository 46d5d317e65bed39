import math
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.context.boundaries import (
    Boundary,
    BoundaryRules,
    boundary,
    cosine,
    names_topic,
    reminder,
    topic,
)
from memory.context.entities import Summary, SummaryState
from memory.entities import Message
from models.messages import Role

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def said(number: int, text: str, at: datetime = NOON, role: Role = Role.USER) -> Message:
    return Message(f"m{number}", "s", None, role, "", text, at)


@pytest.mark.parametrize(
    ("minutes", "turns", "similarity", "found"),
    [
        (1, 3, 0.8, None),
        (29, 3, None, None),
        (30, 3, 0.9, Boundary.PAUSE),
        (1, 50, 0.9, Boundary.LENGTH),
        (1, 51, 0.9, None),
        (1, 100, None, Boundary.LENGTH),
        (1, 3, 0.19, Boundary.TOPIC),
        (1, 3, 0.2, None),
        (1, 1, 0.0, Boundary.TOPIC),
        (600, 0, None, None),
    ],
)
def test_what_begins_something_new(
    minutes: int, turns: int, similarity: float | None, found: Boundary | None
) -> None:
    now = NOON + timedelta(minutes=minutes)
    assert boundary(BoundaryRules(), now=now, last=NOON, turns=turns, similarity=similarity) is found


def test_what_has_no_topic_yet_cannot_leave_it() -> None:
    rules = BoundaryRules(settled=3)
    assert boundary(rules, now=NOON, last=NOON, turns=2, similarity=0.0) is None
    assert boundary(rules, now=NOON, last=NOON, turns=3, similarity=0.0) is Boundary.TOPIC


def test_the_topic_follows_the_newest_words() -> None:
    made = topic([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert math.isclose(math.hypot(*made), 1)
    assert cosine(made, [1.0, 0.0]) > cosine(made, [0.0, 1.0]) > cosine(topic([[1.0, 0.0]]), [0.0, 1.0])


@given(st.lists(st.floats(0, 2 * math.pi), min_size=1, max_size=20))
def test_a_topic_has_length_one_or_none(angles: list[float]) -> None:
    made = topic([[math.cos(a), math.sin(a)] for a in angles])
    assert math.hypot(*made) <= 1 + 1e-9


def test_a_reminder_speaks_from_the_newest_summary_that_holds() -> None:
    summaries = [
        Summary("a", "s", 0, "They planned a garden.", ("m1",), NOON, NOON),
        Summary("b", "s", 0, "They chose roses.", ("m2",), NOON, NOON, SummaryState.STALE),
    ]
    later = NOON + timedelta(hours=2)
    made = reminder([said(1, "Hello")], summaries, now=later, after=timedelta(minutes=30))
    assert made is not None
    assert (made.text, made.last, made.turns) == ("They planned a garden.", NOON, 1)


def test_without_summaries_it_is_the_persons_own_words() -> None:
    talk = [said(1, "Let us plan a garden"), said(2, "Fine", role=Role.ASSISTANT), said(3, "Roses then")]
    later = NOON + timedelta(hours=2)
    made = reminder(talk, [], now=later, after=timedelta(minutes=30))
    assert made is not None
    assert made.text == "Let us plan a garden … Roses then"


def test_who_was_away_for_a_moment_is_not_reminded() -> None:
    soon = NOON + timedelta(minutes=29)
    assert reminder([said(1, "Hello")], [], now=soon, after=timedelta(minutes=30)) is None
    assert reminder([], [], now=soon, after=timedelta(0)) is None


@pytest.mark.parametrize(
    "text",
    [
        "Thanks!",
        "Go on.",
        "Why?",
        "Give me three alternatives, please",
        "Translate that to German.",
        "Kannst du das kürzer sagen?",
        "Et en français ?",
        "And what about the old raw files of my camera?",
        "Und wie ist das Wetter in Bergen im Winter?",
        "… but which hotels there have a sauna and a pool?",
        "好的",
    ],
)
def test_what_leans_on_the_words_before_names_no_topic(text: str) -> None:
    assert not names_topic(text)


@pytest.mark.parametrize(
    "text",
    [
        "How do I unclog a sink?",
        "E-mail the plumber about the broken boiler",
        "Write a poem for the birthday of my grandmother",
        "Welche Impfungen brauche ich für Kenia?",
        "怎么做素食千层面比较好吃",
    ],
)
def test_what_says_by_itself_what_it_is_about_names_one(text: str) -> None:
    assert names_topic(text)
