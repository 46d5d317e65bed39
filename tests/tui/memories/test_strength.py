"""The strength of memories, their timeline and their topics in the memory browser."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from textual.pilot import Pilot

from atlas_desktop import locale
from atlas_desktop.services.insights import MemoryTopic
from atlas_desktop.tui.history.rows import RowLook, line_of
from atlas_desktop.tui.insights import charts
from atlas_desktop.tui.memories.entries import KIND_SIGNS, Entry, row
from atlas_desktop.tui.memories.screen import MemoryScreen
from atlas_desktop.tui.memories.strength import BAR, bar, curve_text, spark, topic_details, topic_row
from memory.entities import ChosenBy, NewReceipt
from memory.insights import Topic
from memory.memories.entities import MemoryKind, UseKind
from memory.organising import MarksPatch
from memory.recall.decay import StrengthCurve
from memory.search.entities import SessionHit, Snippet
from tests.fakes.clock import FakeClock
from tests.tui.chat.states import stored
from tests.tui.desk import NOW, Stage
from tests.tui.driving import assert_until, on, settle, shown
from tests.tui.memories.test_screen import browse, known, remembered
from tests.unit.recall.test_decay_strength import DAY, memory
from tests.unit.test_phrases import Reversed

Make = Callable[..., Stage]
SIZE = (120, 40)


def test_a_bar_is_as_long_as_the_memory_is_strong() -> None:
    assert bar(0) == "░" * BAR
    assert bar(0.001)[0] == "▏"
    assert bar(0.5) == "██▌░░"
    assert bar(1) == bar(1.6) == "█" * BAR


def test_every_kind_has_a_sign_of_its_own() -> None:
    assert set(KIND_SIGNS) == set(MemoryKind)
    assert len({sign for sign, _colour in KIND_SIGNS.values()}) == len(MemoryKind)


def test_a_row_has_the_strength_as_a_bar_and_as_a_number() -> None:
    one = memory()
    told = row(Entry(memory=one, curve=StrengthCurve(one, NOW), half_life_days=28.9), 80, NOW).plain
    assert told.splitlines()[0] == "● I live in Girona"
    assert f"{bar(0.4868)}  49 %" in told


def test_the_curve_shows_uses_and_forecast_and_says_them() -> None:
    one = memory(uses=1, used_at=NOW - 10 * DAY)
    told = curve_text(StrengthCurve(one, NOW, (NOW - 10 * DAY,)), 40).plain
    chart = told.split("\n\n")[0].splitlines()
    assert all(len(line) <= 40 for line in chart)
    assert "▲" in chart[-2]
    assert "┼" in chart[-2]
    assert "┄" in "".join(chart)
    # Striped: beside each column of the forecast is one without.
    ahead = chart[3][chart[-2].index("┼") + 1 :]
    assert ahead[0] in " ┄"
    assert ahead[1] not in " ┄"
    assert "Strength 84 % now." in told
    assert "▲ used once (2 Mar 15:30)" in told
    assert "Unused, it is faint from" in told
    assert "pinned, it would stay at 107 %" in told


def test_a_pinned_memory_has_no_other_forecast() -> None:
    told = curve_text(StrengthCurve(memory(pinned=True), NOW), 40).plain
    assert "it stays as strong as it is" in told
    assert "┄" not in told


def test_sparks_show_months_without_anything_as_dots() -> None:
    assert spark([0, 4, 8, 1]) == "·▄█▁"
    assert spark([]) == ""


async def see(pilot: Pilot[None], place: Stage, tab: str, text: str) -> None:
    await settle(pilot)
    await pilot.press("f3")
    await assert_until(pilot, lambda: on(place.app, MemoryScreen))
    await settle(pilot)
    for _ in range(12):
        if place.app.screen.query_one("Tabs").active == tab:  # type: ignore[attr-defined]
            break
        await pilot.press("right")
    await assert_until(pilot, lambda: text in shown(place))


async def test_the_details_show_the_curve_and_space_makes_them_large(make: Make) -> None:
    store = await remembered()
    likes = await known(store, "Likes short")
    branch = await store.branch((await store.memories.sources(likes.id))[0].session_id)
    reply = branch[1]
    await store.memories.use([likes.id], reply_id=reply.id, session_id=reply.session_id, how=UseKind.CITED)
    place = make(store=store, clock=FakeClock(NOW))
    async with place.app.run_test(size=(80, 24)) as pilot:
        await browse(pilot, place, text="Likes short answers")
        box = place.app.screen.query_one("#details-box")
        before = box.size.height
        await pilot.press("space")
        await assert_until(pilot, lambda: box.size.height > before)
        await assert_until(pilot, lambda: "▲" in shown(place))
        assert "Strength" in shown(place)
        assert "Likes short answers" in shown(place)
        await pilot.press("space")
        await assert_until(pilot, lambda: box.size.height == before)


async def test_the_timeline_has_what_was_learned_changed_and_forgotten(make: Make) -> None:
    store = await remembered()
    await store.receipts.add(NewReceipt(ChosenBy.WORDS, {"memories": 2}, {}, 0, verified=True))
    place = make(store=store, clock=FakeClock(NOW))
    async with place.app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        await place.app.room.knowledge.reject([(await known(store, "Likes short")).id])
        await see(pilot, place, "timeline", "rejected")
        told = shown(place)
        assert "+ Her cat is small" in told
        assert "− Likes short answers" in told
        assert "Forgotten: 2 memories" in told


async def test_enter_goes_from_the_timeline_to_the_memory(make: Make) -> None:
    place = make(store=await remembered(), clock=FakeClock(NOW))
    async with place.app.run_test(size=SIZE) as pilot:
        await see(pilot, place, "timeline", "Feeds the sourdough")
        await settle(pilot)
        assert place.app.screen.marked.event is not None  # type: ignore[attr-defined]
        await pilot.press("enter")
        await assert_until(pilot, lambda: place.app.screen.marked.memory is not None)  # type: ignore[attr-defined]
        await settle(pilot)
        assert place.app.screen.marked.text.startswith("Feeds the sourdough")  # type: ignore[attr-defined]


async def test_topics_show_their_memories_over_time(make: Make) -> None:
    store = await remembered()
    session = (await store.memories.sources((await known(store, "Likes short")).id))[0].session_id
    await store.organising.apply([session], MarksPatch(add_tags=("islands",)))
    place = make(store=store, clock=FakeClock(NOW))
    async with place.app.run_test(size=SIZE) as pilot:
        await see(pilot, place, "topics", "islands")
        assert "tag · 2 memories" in shown(place)
        await assert_until(pilot, lambda: "Memories learned, month by month" in shown(place))
        assert "Likes short answers" in shown(place)


def test_built_in_categories_are_shown_in_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locale._Chosen, "texts", Reversed())
    of = Topic("category", "Money", 1, {"2026-03": 1})
    found = MemoryTopic(of, (memory(),), (("2026-03", 1),))
    assert topic_row(found, 60).plain.startswith("yenoM")
    assert topic_details(found, NOW).plain.startswith("yenoM")
    assert charts.topic_name(of) == "yenoM"
    session = replace(stored(), category="Money")
    assert "yenoM" in line_of(SessionHit(session, Snippet("Trip")), NOW, RowLook(60))[1].plain


def test_the_strength_of_a_month_ago_is_drawn() -> None:
    one = memory(created_at=NOW - timedelta(days=400), importance=0.1)
    assert "hardly any weight" in curve_text(StrengthCurve(one, NOW), 40).plain
