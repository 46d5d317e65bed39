"""What kind of answer a question needs, and which messages are chosen for it."""

from collections.abc import Collection
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from memory.entities import NewMessage, NewSession
from memory.recall.engine import RecallEngine
from memory.recall.entities import Hit, RecallQuery
from memory.recall.needs import Need, chosen, in_turns, need_of, substance
from memory.recall.rows import Rows
from memory.storage.store import Store
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore


async def chat(store: Store, *said: tuple[str, str]) -> None:
    """A session of a person's messages with a model's replies."""
    session, _ = await store.create_session(NewSession("a"), NewMessage(Role.USER, said[0][0]))
    for number, (message, reply) in enumerate(said):
        if number:
            await store.append_message(session.id, NewMessage(Role.USER, message))
        await store.append_message(session.id, NewMessage(Role.ASSISTANT, reply))


async def found(store: Store, question: str, k: int) -> list[Hit]:
    return await RecallEngine(store.evidence, FakeClock()).recall(RecallQuery(question, k=k))


@pytest.mark.parametrize(
    ("question", "need"),
    [
        ("Can you summarise what we decided about the boat?", Need.SUMMARY),
        ("In what order did I bring up the repairs?", Need.ORDER),
        ("List the order in which I mentioned the rooms.", Need.ORDER),
        ("How many plants did I mention across our sessions?", Need.PARTS),
        ("When is the boat ready?", Need.BEST),
        ("I would like to order a boat.", Need.BEST),
    ],
)
def test_the_need_of_a_question(question: str, need: Need) -> None:
    assert need_of(question) is need


def test_sessions_take_turns_and_each_keeps_its_order() -> None:
    places = np.array([4, 7, 1, 9, 0])
    sessions = np.array([2, 0, -1, -1, 0, -1, -1, 0, -1, 2])
    assert in_turns(places, sessions).tolist() == [4, 9, 7, 0, 1]
    assert in_turns(places[:0], sessions).tolist() == []


def test_short_messages_bring_up_little() -> None:
    none, some, much, more = substance(np.array([0.0, 9.0, 99.0, 999.0]))
    assert none == 0
    assert none < some < much
    assert much == more == pytest.approx(1.0)


NOBODY = -1


def of_talk(lengths: list[float]) -> Rows:
    """Messages and replies in turn, of these lengths in words."""
    n = len(lengths)
    return cast(
        "Rows",
        SimpleNamespace(
            rows=np.arange(n),
            lengths=np.array(lengths),
            with_machine=np.ones(n, np.bool_),
            before=np.array([at - 1 if at % 2 else NOBODY for at in range(n)]),
        ),
    )


def places(
    need: Need, totals: list[float], rows: Rows, *, k: int = 9, hidden: Collection[int] = ()
) -> list[int]:
    n = len(totals)
    allowed = np.array([at not in hidden for at in range(n)])
    found = chosen(need, np.array(totals), allowed, np.arange(n), rows, np.zeros(n, np.int64), k)
    return [int(place) for place in found]


def test_a_summary_has_whole_exchanges_by_their_replies() -> None:
    rows = of_talk([9.0] * 6)
    totals = [0.9, 0.1, 0.2, 0.5, 0.1, 0.8]
    assert places(Need.SUMMARY, totals, rows) == [4, 5, 2, 3, 0, 1]
    assert places(Need.SUMMARY, totals, rows, k=2) == [4, 5]
    # A memory counts for itself, and what may not be found is left out.
    assert places(Need.SUMMARY, [*totals, 0.7], rows, hidden={2}) == [4, 5, 6, 3, 0, 1]


def test_a_summary_prefers_exchanges_that_bring_something_up() -> None:
    assert places(Need.SUMMARY, [0.1, 0.5, 0.1, 0.5], of_talk([1.0, 9.0, 90.0, 9.0])) == [2, 3, 0, 1]


def test_an_order_has_what_was_brought_up_at_length() -> None:
    rows = of_talk([2.0, 2.0, 90.0, 2.0])
    totals = [0.52, 0.1, 0.5, 0.2]
    assert places(Need.ORDER, totals, rows, k=2) == [2, 0]
    assert places(Need.PARTS, totals, rows, k=2) == [0, 2]


async def test_a_standing_instruction_is_found_for_a_request_that_shares_nothing_with_it() -> None:
    store = InMemoryStore()
    await chat(
        store,
        ("Always show units.", "I will."),
        ("I like tea.", "Good."),
        ("How warm is it?", "Warm."),
        ("The kettle broke.", "A pity."),
    )
    hits = await found(store, "Could you explain how I calculate a speed?", 1)
    assert hits[0].text == "Always show units."
    assert hits[0].parts["standing"] == 1.0
    others = await found(store, "When did the kettle break?", 9)
    assert not any(hit.parts["standing"] for hit in others)
