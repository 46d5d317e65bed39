from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.context.assembly import made_for, make_head, preface, recall_line, time_line
from memory.context.entities import Epoch, Summary
from memory.context.epochs import on_branch, usable
from memory.entities import Message
from models.messages import PromptShape, Role
from tests.fakes.models import WordCounter

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SHAPE = PromptShape(3, dict.fromkeys(Role, 2))


def message(number: int, role: Role = Role.USER, content: str = "x") -> Message:
    return Message(f"m{number}", "s", None, role, "", content, NOW)


def epoch(number: int, head: str, start: str) -> Epoch:
    return Epoch(f"e{number}", "s", "f", head, (), start, NOW)


def summary(text: str) -> Summary:
    return Summary(f"s-{text}", "s", 0, text, ("m0",), NOW, NOW)


def test_epochs_serve_only_the_prompt_and_the_branch_they_were_made_for() -> None:
    mine = [epoch(1, "Be kind.", "m0"), epoch(2, "Be kind.\n\nEarlier in this conversation:\n- A", "m2")]
    other = epoch(3, "Be kind. And short.", "m2")
    found = usable([*mine, other], "Be kind.")
    assert [e.id for e in found] == ["e2", "e1"]
    assert [e.id for e in on_branch(found, [message(0), message(1)])] == ["e1"]


async def test_a_head_names_its_parts_and_counts_them_exactly() -> None:
    kept = message(7, content="my  code is\n4711")
    made = await make_head(
        "Be kind.", summaries=[summary("They met.")], pinned=[kept], counter=WordCounter(), shape=SHAPE
    )
    assert made.text == (
        "Be kind.\n\nEarlier in this conversation:\n- They met.\n\n"
        "Said earlier, word for word:\n- They: my code is 4711"
    )
    assert [(p.tier, p.ids) for p in made.parts] == [
        ("system", ()),
        ("summary", ("s-They met.",)),
        ("pinned", ("m7",)),
    ]
    assert made.tokens == len(made.text.split()) + 5


async def test_an_empty_head_costs_only_the_template() -> None:
    made = await make_head("", counter=WordCounter(), shape=SHAPE)
    assert (made.text, made.tokens) == ("", 3)


@given(st.text(max_size=40), st.text(max_size=40))
def test_a_head_is_made_for_its_own_system_prompt(system: str, other: str) -> None:
    assert made_for(system, system)
    if system and other and not system.startswith(other):
        assert not made_for(system, other)


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (None, "[Sunday, 1 March 2026, 12:00]"),
        (timedelta(minutes=10), ""),
        (timedelta(minutes=31), "[Sunday, 1 March 2026, 12:00]"),
        (timedelta(hours=13), "[Sunday, 1 March 2026, 12:00]"),
    ],
)
def test_the_time_is_told_when_it_has_moved_on(told: timedelta | None, line: str) -> None:
    assert time_line(NOW, NOW - told if told else None) == line


def test_what_goes_before_the_words() -> None:
    assert preface("", []) == ""
    assert preface("[Sunday]", ["Ana, 3 May 2025: I am allergic to nuts"]) == (
        "[Sunday]\n(From memory, if it helps:\n- Ana, 3 May 2025: I am allergic to nuts)\n\n"
    )
    long = recall_line("word " * 200, "Ana", NOW, longest=20)
    assert long == "Ana, 1 Mar 2026: word word word word …"
