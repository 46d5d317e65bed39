"""A person's own statistics: counted, drawn, and told in words."""

import csv
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest
from textual_plotext import PlotextPlot
from textual_plotext.plot import Plot

from atlas_desktop.services.insights import Insights, as_csv
from atlas_desktop.tui.chat.screen import ChatScreen
from atlas_desktop.tui.images import ImageTerminal, Inquiry, Protocol
from atlas_desktop.tui.insights.charts import TABS, Chart, Look, draw
from atlas_desktop.tui.insights.screen import InsightsScreen, amounts, calendar, level, span, told
from atlas_desktop.tui.pictures import Picture
from memory.entities import RoomKind
from memory.insights import DayCount, Growth, Speed, Stored, Topic, Totals, Used, Waited, months_between
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore
from tests.tui.desk import NOW, Stage, history
from tests.tui.driving import assert_until, on, settle, shown

Make = Callable[..., Stage]
MONDAY = date(2026, 3, 9)


def counted() -> Insights:
    """Three weeks of everything."""
    weeks = [MONDAY - timedelta(weeks=n) for n in (2, 1, 0)]
    counts = tuple(
        DayCount(day, sessions=n + 1, messages=4 * n + 4, tokens_written=900 * n)
        for n, day in enumerate(weeks)
    )
    return Insights(
        rooms=(RoomKind.OPEN,),
        since=None,
        totals=Totals(sessions=6, messages=24, memories=3, tokens_written=2700, tokens_read=9000),
        days=counts,
        weeks=counts,
        topics=(
            Topic("tag", "sea", 4, {"2026-01": 1, "2026-03": 3}),
            Topic("cluster", "bread, rye", 2, {"2026-03": 2}, ("bread", "rye")),
        ),
        speed=tuple(
            Speed("small", day, 5, 140.0, 90.0 + n, 0.25 * (n == 2), 0.8) for n, day in enumerate(weeks)
        ),
        storage=(Stored("models", 98_000_000, 1), Stored("messages", 120_000, 24), Stored("links", 0, 0)),
        growth=(Growth(weeks[0], 1, 1), Growth(weeks[2], 2, 3)),
        most_used=(Used("m", "fact", "The bus is the 12", 7, datetime(2026, 3, 9).astimezone()),),
        took_ms=1.0,
    )


def test_every_tab_is_drawn_and_told_in_words() -> None:
    said = {
        "activity": ("Week of 9 Mar 2026", "1,800 tokens written", "busiest day was 9 Mar"),
        "topics": ("sea · 4 conversations · since Jan 2026", "bread, rye · 2 conversations"),
        "memories": ("The bus is the 12 · fact · 7 uses", "2 new, 3 in all"),
        "storage": ("98.0 MB  models · 1 entry", "120.0 kB  messages"),
        "speed": (
            (
                "92.0 tokens a second, first word after 140 ms, 5 replies; "
                "25 % of the tokens were guessed, 80 % of the guesses were right\n"
            ),
            "91.0 tokens a second, first word after 140 ms, 5 replies\n",
        ),
    }
    drawn = {
        "activity": "Tokens written a week",
        "topics": "sea",
        "memories": "Memories by week",
        "storage": "messages",
        "speed": "small",
    }
    for tab in TABS:
        text = told(tab, counted()).plain
        assert all(words in text for words in said[tab]), text
        plot = Plot()
        assert draw(tab, plot, counted(), ["cyan", "red"])
        plot.plotsize(90, 14)
        assert drawn[tab] in plot.build()


def test_weeks_that_are_left_out_are_counted() -> None:
    weeks = tuple(DayCount(MONDAY - timedelta(weeks=n), messages=n + 1) for n in range(40, 0, -1))
    text = told("activity", replace(counted(), weeks=weeks)).plain
    assert text.count("Week of") == 26
    assert text.rstrip().endswith("and 14 more")


LOOK = Look((0, 0, 0), (255, 255, 255), (128, 128, 128), 14)


@pytest.mark.parametrize("tab", TABS)
def test_plots_are_drawn_as_pictures(tab: str) -> None:
    chart = Chart()
    assert draw(tab, chart, counted(), [(200, 0, 0), (0, 0, 200)])
    image = chart.picture(900, 300, LOOK)
    assert image.size == (900, 300)
    coloured = [(x, y) for y in range(300) for x in range(900) if image.getpixel((x, y)) == (200, 0, 0)]
    assert coloured, "the first line, or the bars"
    assert max(y for _, y in coloured) < 300 - 14, "above the labels"
    assert not draw(tab, chart, replace(counted(), weeks=(), topics=(), growth=(), storage=(), speed=()), [])


def test_bars_are_as_high_as_their_values() -> None:
    chart = Chart()
    chart.bar([0, 1, 2], [1, 4, 2], color=(255, 0, 0), width=0.7, marker="sd")
    chart.ylim(0, 4)
    image = chart.picture(600, 400, LOOK)
    heights: dict[int, int] = {}
    for x in range(600):
        if height := sum(image.getpixel((x, y)) == (255, 0, 0) for y in range(400)):
            heights[height] = heights.get(height, 0) + 1
    most = max(heights)
    assert {round(4 * height / most) for height, columns in heights.items() if columns > 20} == {1, 2, 4}


def test_the_calendar_is_read_by_its_shades_alone() -> None:
    counts = {MONDAY: 1, MONDAY + timedelta(days=1): 8, MONDAY - timedelta(days=7): 4}
    lines = calendar(counts, MONDAY + timedelta(days=3), 80, "Talks").plain.splitlines()
    assert lines[0] == "Talks"
    assert "Mar" in lines[1]
    assert lines[2].startswith("Mon ")
    assert lines[2].endswith("▒▒░░")
    assert lines[3].endswith("· ██")
    assert lines[-1] == "· 0 … █ 8"
    assert max(map(len, lines)) <= 80
    assert [level(n, 8) for n in (0, 1, 2, 3, 4, 6, 7, 8)] == [0, 1, 1, 2, 2, 3, 4, 4]


def test_months_go_on_over_the_turn_of_a_year() -> None:
    assert months_between(["2026-02", "2025-11"]) == ["2025-11", "2025-12", "2026-01", "2026-02"]
    assert months_between([]) == []


async def test_insights_are_counted_turned_and_left(make: Make) -> None:
    clock = FakeClock(NOW)
    store = InMemoryStore(clock)
    await history(clock, store)
    place = make(store=store)
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("f4")
        await assert_until(pilot, lambda: "Conversations a day" in shown(place))
        await settle(pilot)
        assert "6 new conversations · 24 messages" in shown(place)
        screen = place.app.screen
        assert isinstance(screen, InsightsScreen)
        assert screen._found is not None
        head = [line.strip() for line in shown(place).splitlines()[:2]]
        # No part is cut, or broken.
        assert [part for line in head for part in line.split(" · ")][2:] == amounts(screen._found)
        assert screen.query_one(PlotextPlot).display
        await pilot.press("w")
        assert not screen.query_one(PlotextPlot).display
        assert "The busiest day was" in shown(place)
        await pilot.press("w", "left")
        await pilot.pause()
        assert "No replies were measured" in shown(place)
        await pilot.press("right", "s")
        await settle(pilot)
        assert "the last 12 weeks" in shown(place)
        await pilot.press("s", "s")
        await settle(pilot)
        assert "all time · 6 conversations · 24 messages · 0 memories" in shown(place)
        screen.forget_private()
        assert "conversation" not in str(screen.query_one("#told").render())
        await settle(pilot)
        place.app.theme = "atlas-terminal"
        await settle(pilot)
        assert "Conversations a day" in shown(place)
        await pilot.press("escape")
        assert on(place.app, ChatScreen)


async def test_a_new_vault_is_told_what_will_be_here(make: Make) -> None:
    place = make()
    async with place.app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        await pilot.press("f4")
        await assert_until(pilot, lambda: "Nothing to count yet" in shown(place))
        # What cannot be looked at is not offered, and what is not there is not counted.
        await pilot.pause()
        keys = shown(place).splitlines()[-1]
        assert "Back" in keys
        assert not any(word in keys for word in ("Next", "Time", "Text"))
        assert "0 conversations" not in shown(place)
        assert not place.app.screen.query_one(PlotextPlot).display


def test_the_days_of_the_calendar_all_have_names() -> None:
    lines = calendar({MONDAY: 1}, MONDAY + timedelta(days=6), 80, "Talks").plain.splitlines()
    assert [line[:3] for line in lines[2:9]] == ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]


def test_activity_answers_what_when_and_how_long() -> None:
    hours = tuple(8 if 18 <= hour < 21 else 1 if hour == 9 else 0 for hour in range(24))
    text = told("activity", replace(counted(), hours=hours, waited=Waited(40, 4000.0))).plain
    assert "What you talked about\nsea (4)" in text
    assert "96 % of your messages between 18:00 and 21:00" in text
    assert "1 h 7 min for the 40 replies that were measured" in text
    assert [span(seconds) for seconds in (4.2, 130, 7260)] == ["4.2 s", "2 min", "2 h 1 min"]


def test_little_data_is_told_and_not_drawn() -> None:
    full = counted()
    little = replace(
        full,
        weeks=full.weeks[:1],
        topics=(Topic("tag", "sea", 1, {"2026-01": 1}),),
        growth=full.growth[:1],
        storage=full.storage[:1],
        speed=full.speed[:1],
    )
    for tab in TABS:
        assert not draw(tab, Plot(), little, ["cyan"])
        assert told(tab, little).plain
    quiet = told("activity", replace(little, topics=(), hours=(1, *[0] * 23))).plain
    assert "When" not in quiet
    assert "What you talked about" not in quiet


def test_memories_older_than_the_first_week_of_the_chart_count_in_it() -> None:
    begun = date(2025, 1, 6)
    growth = (Growth(begun, 50, 50), Growth(begun + timedelta(weeks=60), 3, 53))
    chart = Chart()
    assert draw("memories", chart, replace(counted(), growth=growth), ["cyan"])
    (line,) = chart._series
    assert (min(line.values), max(line.values)) == (50, 53)


def test_each_tab_is_a_table() -> None:
    rows = {tab: list(csv.reader(as_csv(counted(), tab).splitlines())) for tab in TABS}
    assert rows["activity"][0][:2] == ["day", "sessions"]
    assert rows["activity"][1][:4] == ["2026-02-23", "1", "0", "4"]
    assert rows["topics"][1:3] == [["tag", "sea", "2026-01", "1"], ["tag", "sea", "2026-03", "3"]]
    assert rows["storage"][1] == ["models", "98000000", "1"]
    assert rows["speed"][1][:2] == ["small", "2026-02-23"]
    sneaky = replace(counted(), topics=(Topic("tag", "=HYPERLINK(1)", 1, {"2026-01": 1}),))
    assert "'=HYPERLINK(1)" in as_csv(sneaky, "topics")


async def test_x_saves_the_tab_as_pictures_and_table(make: Make, some_font: None) -> None:
    clock = FakeClock(NOW)
    store = InMemoryStore(clock)
    await history(clock, store)
    place = make(store=store, clock=clock)
    async with place.app.run_test(size=(120, 40)) as pilot:
        await settle(pilot)
        await pilot.press("f4")
        await assert_until(pilot, lambda: on(place.app, InsightsScreen) and "busiest day" in shown(place))
        await pilot.press("x")
        folder = place.app.desk.paths.exports
        await assert_until(pilot, lambda: len(list(folder.glob("atlas-activity-*"))) == 3)
        table = next(folder.glob("*.csv")).read_text().splitlines()
        assert table[0].startswith("day,sessions")
        assert len(table) > 2
        assert "svg" in next(folder.glob("*.svg")).read_text()[:200]
        assert next(folder.glob("*.png")).read_bytes().startswith(b"\x89PNG")


async def test_where_the_terminal_can_the_plot_is_a_picture(make: Make) -> None:
    clock = FakeClock(NOW)
    store = InMemoryStore(clock)
    await history(clock, store)
    place = make(store=store)
    async with place.app.run_test(size=(90, 40)) as pilot:
        await settle(pilot)
        terminal = ImageTerminal(Protocol.KITTY, (10, 20))
        place.app.inquiry = Inquiry(terminal)
        await pilot.press("f4")
        await settle(pilot)
        picture, plot = place.app.screen.query_one(Picture), place.app.screen.query_one(PlotextPlot)
        await assert_until(pilot, lambda: picture.rows == 16)
        assert (picture.display, plot.display) == (True, False)
        assert len(terminal.kept) == 1
        await pilot.press("w")
        await settle(pilot)
        assert (picture.display, plot.display) == (False, False)
        await pilot.press("w")
        await settle(pilot)
        await place.app.screen._export(counted())  # type: ignore[attr-defined]
        (svg,) = place.desk.paths.exports.glob("*.svg")
        assert "Tokens" in svg.read_text() or "Messages" in svg.read_text()
        assert "\U0010eeee" not in svg.read_text()
        await assert_until(pilot, lambda: picture.display)
        assert len(terminal.kept) == 1
        place.app.screen.forget_private()  # type: ignore[attr-defined]
        assert not terminal.kept
        await assert_until(pilot, lambda: terminal.kept)
        place.app.theme = "atlas-terminal"
        await settle(pilot)
        await assert_until(pilot, lambda: plot.display and not picture.display)
