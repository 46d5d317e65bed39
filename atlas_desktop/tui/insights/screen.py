"""The user's own statistics, as plots, as text, and as a calendar of days."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static, Tab, Tabs
from textual_plotext import PlotextPlot

from atlas_desktop.errors import size
from atlas_desktop.locale import N_, _, formats, ngettext
from atlas_desktop.phrases import TOPIC_KINDS, storage_text, topic_text
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.insights import Insights, as_csv, insights
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.base import View
from atlas_desktop.tui.images import pixels_of
from atlas_desktop.tui.insights.charts import (
    ACTIVITY,
    MEMORIES,
    SPEED,
    STORAGE,
    TABS,
    TOPICS,
    Chart,
    Colour,
    Look,
    draw,
    models_of,
    topic_name,
)
from atlas_desktop.tui.pictures import Picture, can_show
from atlas_desktop.tui.textual_workarounds import SparingScreen
from atlas_desktop.tui.widgets import KeyLine, fit
from memory.insights import monday

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from memory.insights import DayCount, Topic


SHADES = ("·", "░", "▒", "▓", "█")
"""From none to the maximum: readable without colour."""
_MOST_WEEKS = 53
_WEEKS_TOLD = 26
_TOPICS_TOLD = 8
_LONGEST = 200
_NAMED = 6
_SPAN_H = 3
_LEAST_MESSAGES = 10
"""The least number of messages for which the busiest hours are shown."""
_COLUMNS = "▁▂▃▄▅▆▇█"
Part = Content | str | tuple[str, str]


def amounts(found: "Insights") -> list[str]:
    """Returns the amounts of each kind in the period, as text."""
    totals = found.totals
    written, read = totals.tokens_written, totals.tokens_read
    tokens = ", ".join(
        [
            ngettext("1 token written", "{count} tokens written", written),
            ngettext("1 read", "{count} read", read),
        ]
    )
    if found.since is None:
        return [
            ngettext("1 conversation", "{count} conversations", totals.sessions),
            ngettext("1 message", "{count} messages", totals.messages),
            ngettext("1 memory", "{count} memories", totals.memories),
            tokens,
        ]
    return [
        ngettext("1 new conversation", "{count} new conversations", sum(day.begun for day in found.days)),
        ngettext("1 message", "{count} messages", sum(day.messages for day in found.days)),
        tokens,
    ]


def in_lines(parts: Sequence[str], width: int) -> str:
    """Joins the parts with dots into as many lines as needed; never breaks a part."""
    lines = [""]
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines[-1] else part
        if cell_len(longer) > width and lines[-1]:
            lines.append(part)
        else:
            lines[-1] = longer
    return "\n".join(lines)


# --- the calendar ----------------------------------------------------------------------------------


def calendar(counts: Mapping[date, int], today: date, width: int, heading: str) -> Content:
    """Returns one line for each weekday and one column for each week, as many as fit."""
    weeks = max(min((width - 5) // 2, _MOST_WEEKS), 1)
    first = monday(today) - timedelta(weeks=weeks - 1)
    most = max((count for day, count in counts.items() if first <= day <= today), default=0)
    parts: list[Part] = [(heading, "bold"), "\n", (_months(first, weeks), "$quiet"), "\n"]
    for row in range(7):
        name = formats().weekday(_noon(first + timedelta(days=row)))[:3]
        parts.append((f"{name:<4}", "$quiet"))
        for week in range(weeks):
            day = first + timedelta(weeks=week, days=row)
            if day > today:
                break
            shade = SHADES[level(counts.get(day, 0), most)]
            parts.append(
                (
                    f"{shade} " if shade == SHADES[0] else shade * 2,
                    "$quiet" if shade == SHADES[0] else "$primary",
                )
            )
        parts.append("\n")
    number = formats().number
    scale = f"{SHADES[0]} 0" + (f" … {SHADES[-1]} {number(most)}" if most else "")
    parts.append((scale, "$quiet"))
    return Content.assemble(*parts)


def level(count: int, most: int) -> int:
    """Returns 0 for none, or 1 to 4 by quarters of the maximum."""
    return 0 if count <= 0 or most <= 0 else min(1 + (4 * count - 1) // most, 4)


def _months(first: date, weeks: int) -> str:
    """Returns month names above the weeks in which they begin."""
    line = [" "] * (4 + 2 * weeks)
    free = 0
    for week in range(weeks):
        begin = first + timedelta(weeks=week)
        days = [begin + timedelta(days=n) for n in range(7)]
        if (start := next((day for day in days if day.day == 1), None)) and 4 + 2 * week >= free:
            name = f"{_noon(start):%b}" if not formats().locale else formats().month(_noon(start)).split()[0]
            place = 4 + 2 * week
            for at, letter in enumerate(name[: len(line) - place]):
                line[place + at] = letter
            free = place + len(name) + 1
    return "".join(line).rstrip()


def _noon(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, 12).astimezone()


# --- plots as text ---------------------------------------------------------------------------------


def told(tab: str, found: "Insights") -> Content:
    """Returns the text of a tab without its plot."""
    makers = {ACTIVITY: _activity, TOPICS: _topics, MEMORIES: _memories, STORAGE: _storage, SPEED: _speed}
    return Content.assemble(*makers[tab](found))


def _activity(found: "Insights") -> Iterable[Part]:
    if not found.days:
        yield _("Nothing to show for this period.")
        return
    yield from _answers(found)
    best = max(found.days, key=lambda one: (one.messages, one.sessions))
    yield _(
        "The busiest day was {day}: {sessions}, {messages}.",
        day=formats().date(_noon(best.day)),
        sessions=ngettext("1 conversation", "{count} conversations", best.sessions),
        messages=ngettext("1 message", "{count} messages", best.messages),
    )
    yield "\n\n"
    yield _("Week by week"), "bold"
    for week in reversed(found.weeks[-_WEEKS_TOLD:]):
        yield f"\n{_('Week of {day}', day=formats().date(_noon(week.day)))}: ", "$quiet"
        yield _counted(week)
    yield from _more(found.weeks, _WEEKS_TOLD)


def _more(every: Sequence[object], told: int) -> Iterable[Part]:
    """Yields how many were left out of a list of which only some are told."""
    if len(every) > told:
        yield f"\n{ngettext('and 1 more', 'and {count} more', len(every) - told)}", "$quiet"


def _answers(found: "Insights") -> Iterable[Part]:
    """Yields the user's topics, usual hours and time spent waiting, where known."""
    named = sorted(
        (one for one in found.topics if one.kind != "cluster"), key=lambda one: (-one.sessions, one.name)
    )[:_NAMED]
    if named:
        topics = ", ".join(f"{topic_name(one)} ({formats().number(one.sessions)})" for one in named)
        yield _("What you talked about"), "bold"
        yield f"\n{topics}\n\n"
    if sum(found.hours) >= _LEAST_MESSAGES:
        begin = max(range(24), key=lambda hour: sum(found.hours[(hour + n) % 24] for n in range(_SPAN_H)))
        share = sum(found.hours[(begin + n) % 24] for n in range(_SPAN_H)) / sum(found.hours)
        yield _("When"), "bold"
        yield "\n"
        yield _hour_columns(found.hours), "$primary"
        yield f"\n{'0':<6}{'6':<6}{'12':<6}18\n", "$quiet"
        times = [
            formats().time(_noon(found.days[-1].day).replace(hour=at % 24)) for at in (begin, begin + _SPAN_H)
        ]
        yield _(
            "{share} % of your messages between {begin} and {end}",
            share=formats().number(round(100 * share)),
            begin=times[0],
            end=times[1],
        )
        yield "\n\n"
    if found.waited.replies:
        yield _("What it took"), "bold"
        yield "\n"
        yield ngettext(
            "{time} for the {count} reply that was measured",
            "{time} for the {count} replies that were measured",
            found.waited.replies,
            time=span(found.waited.seconds),
        )
        yield "\n\n"


def _hour_columns(hours: Sequence[int]) -> str:
    most = max(hours)
    return "".join("·" if not one else _COLUMNS[max(round(8 * one / most) - 1, 0)] for one in hours)


def span(seconds: float) -> str:
    """Returns a duration in hours and minutes, or in minutes, or in seconds."""
    minutes = round(seconds / 60)
    if minutes >= 60:
        return _("{hours} h {minutes} min", hours=formats().number(minutes // 60), minutes=minutes % 60)
    return (
        _("{minutes} min", minutes=minutes) if minutes else _("{value} s", value=formats().decimal(seconds))
    )


def _counted(count: "DayCount") -> str:
    counts = [
        ngettext("1 conversation", "{count} conversations", count.sessions),
        ngettext("1 message", "{count} messages", count.messages),
    ]
    if count.tokens_written:
        counts.append(ngettext("1 token written", "{count} tokens written", count.tokens_written))
    return ", ".join(counts)


def _topics(found: "Insights") -> Iterable[Part]:
    if not found.topics:
        yield _("Nothing to show for this period.")
    first = True
    for kind in TOPIC_KINDS:
        members = [one for one in found.topics if one.kind == kind]
        if not members:
            continue
        yield ("" if first else "\n\n") + topic_text(kind), "bold"
        first = False
        for one in members[:_TOPICS_TOLD]:
            yield f"\n{topic_name(one)}"
            yield f" · {_topic_facts(one)}", "$quiet"
        yield from _more(members, _TOPICS_TOLD)


def _topic_facts(topic: "Topic") -> str:
    facts = [ngettext("1 conversation", "{count} conversations", topic.sessions)]
    if topic.months:
        begun = datetime.strptime(min(topic.months), "%Y-%m").replace(day=2).astimezone()
        facts.append(_("since {month}", month=formats().month(begun)))
    return " · ".join(facts)


def _memories(found: "Insights") -> Iterable[Part]:
    yield _("Most used"), "bold"
    if not found.most_used:
        yield f"\n{_('No memory has been used yet.')}"
    for one in found.most_used:
        yield f"\n{clean_line(one.text)[:_LONGEST]}"
        yield f" · {one.kind} · {ngettext('1 use', '{count} uses', one.uses)}", "$quiet"
    if found.growth:
        yield f"\n\n{_('Learned')}", "bold"
    for week in reversed(found.growth[-_WEEKS_TOLD:]):
        yield f"\n{_('Week of {day}', day=formats().date(_noon(week.week)))}: ", "$quiet"
        number = formats().number
        yield _("{added} new, {total} in all", added=number(week.added), total=number(week.total))
    yield from _more(found.growth, _WEEKS_TOLD)


def _storage(found: "Insights") -> Iterable[Part]:
    yield _("Disk usage"), "bold"
    for one in found.storage:
        if one.bytes:
            rows = "" if one.rows is None else f" · {ngettext('1 entry', '{count} entries', one.rows)}"
            yield f"\n{size(one.bytes):>10}  ", "bold"
            yield storage_text(one.kind)
            yield rows, "$quiet"
    yield (
        f"\n\n{_('All that is on the disk, also in the bin, out of use, or a note among documents.')}",
        "$quiet",
    )


def _speed(found: "Insights") -> Iterable[Part]:
    if not found.speed:
        yield _("No replies were measured in this period.")
        return
    for number, model in enumerate(models_of(found)):
        yield ("\n\n" if number else "") + clean_line(model), "bold"
        weeks = [one for one in found.speed if one.model == model]
        for one in reversed(weeks[-_WEEKS_TOLD:]):
            yield f"\n{_('Week of {day}', day=formats().date(_noon(one.week)))}: ", "$quiet"
            yield _(
                "{tokens} tokens a second, first word after {first}, {replies}",
                tokens=formats().decimal(one.tokens_per_second),
                first=_duration(one.first_token_ms),
                replies=ngettext("1 reply", "{count} replies", one.replies),
            )
            if one.guessed:
                yield _(
                    "; {guessed} % of the tokens were guessed, {accepted} % of the guesses were right",
                    guessed=formats().number(round(100 * one.guessed)),
                    accepted=formats().number(round(100 * one.accepted)),
                )


def _duration(ms: float) -> str:
    if ms < 1000:
        return _("{value} ms", value=formats().number(round(ms)))
    return _("{value} s", value=formats().decimal(ms / 1000))


_TAB_TEXTS = {
    "activity": N_("Activity"),
    "topics": N_("Topics"),
    "memories": N_("Memories"),
    "storage": N_("Storage"),
    "speed": N_("Speed"),
}
_SPAN_TEXTS = {
    "all": N_("all time"),
    "year": N_("the last year"),
    "quarter": N_("the last 12 weeks"),
    "month": N_("the last 30 days"),
}

_WITH_NUMBERS = {
    "insights_next",
    "insights_previous",
    "insights_span",
    "insights_words",
    "insights_export",
}
"""Actions that need something to show."""
SPANS: dict[str, int | None] = {"year": 365, "quarter": 84, "month": 30, "all": None}
"""Time spans and their days; None is all time."""
_THEIRS = ("primary", "accent", "success", "error", "secondary")
_PLAIN: tuple[Colour, ...] = ("cyan", "orange", "green", "red", "blue")


_ROWS = 16
"""Rows of a plot that is a picture."""
_LEAST_COLUMNS = 20


class _Plot(PlotextPlot):
    """Unsubscribes from the theme signal when removed: the signal would keep it and its parents alive."""

    def on_unmount(self) -> None:
        self.app.theme_changed_signal.unsubscribe(self)


class Page(VerticalScroll, inherit_bindings=False):
    """Scrolls up and down; Left and Right belong to the tabs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", show=False),
        Binding("down,j", "scroll_down", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("pagedown", "page_down", show=False),
        Binding("home", "scroll_home", show=False),
        Binding("end", "scroll_end", show=False),
    ]


class InsightsScreen(View, SparingScreen[None]):
    """The statistics are computed when the screen opens; nothing is stored."""

    CSS_PATH = "insights.tcss"
    where = Where.INSIGHTS
    shown_by = "show_insights"
    AUTO_FOCUS = "#page"
    BINDINGS = [*bindings(Where.INSIGHTS), *bindings(Where.VIEWS, hidden=True)]  # noqa: RUF012

    def __init__(self, app: "BaseApp") -> None:
        super().__init__()
        self.atlas = app
        self._found: Insights | None = None
        self._tab = ACTIVITY
        self._span = "year"
        self._plain = False
        self._as_text = False
        self._empty = False

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        yield Tabs(*[Tab(Content(_(_TAB_TEXTS[key])), id=key) for key in TABS], active=self._tab)
        with Page(id="page"):
            yield Static("", id="heat", markup=False)
            yield Static("", id="tokens", markup=False)
            yield _Plot(id="plot")
            yield Picture(self.atlas, id="chart")
            yield Static("", id="told", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one("#told", Static).update(_("Counting…"))
        self.query_one(Tabs).can_focus = False
        fit(self, self.query_one("#page"), self._show)
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self.app.call_later(self._show))
        self.read()

    def on_unmount(self) -> None:
        self.app.theme_changed_signal.unsubscribe(self)

    def read(self) -> None:
        """Counts everything again."""
        self.atlas.attempt(self._read, group="insights", exclusive=True)

    async def _read(self) -> None:
        desk = self.atlas.desk
        days = SPANS[self._span]
        since = None if days is None else self.atlas.now() - timedelta(days=days)
        stores = [room.store for room in desk.open_rooms]
        backups = desk.backups if desk.make_backups is not None else None
        self._found = await insights(stores, since=since, home=desk.paths.home, backups=backups)
        if self.is_attached:
            self._show()

    def forget_private(self) -> bool:
        self._found = None
        for name in ("heat", "tokens", "told"):
            self.query_one(f"#{name}", Static).update("")
        self.query_one(PlotextPlot).display = False
        self.query_one(Picture).clear()
        self.app.call_later(self.read)
        return True

    # --- display ---------------------------------------------------------------------------------

    def _show(self) -> None:
        found = self._found
        if found is None or not self.is_attached or not self.query(KeyLine):
            return
        span = _(_SPAN_TEXTS[self._span])
        self._empty = empty = not found.totals.sessions and not found.days
        heading = [_("Insights"), *([] if empty else [span, *amounts(found)])]
        top = self.query_one("#title", Static)
        top.update(Content(in_lines(heading, top.content_size.width)))
        self.set_class(empty, "-empty")
        self.refresh_bindings()
        plot = self.query_one(PlotextPlot)
        words = self.query_one("#told", Static)
        self.query_one(Tabs).display = not empty
        for name in ("heat", "tokens"):
            self.query_one(f"#{name}").display = self._tab == ACTIVITY and not empty and not self._plain
        if empty:
            plot.display = self.query_one(Picture).display = False
            words.update(
                Content(
                    _(
                        "Nothing to count yet. After a few conversations, this shows when you chat and about "
                        "what, which memories were used, what takes up space, and how fast the model is. "
                        "It is computed on this computer and not stored."
                    )
                )
            )
            return
        if self._tab == ACTIVITY and not self._plain:
            self._show_calendars(found)
        # A terminal's theme has no background colour of its own to draw on.
        plot.theme = "clear" if self.app.current_theme.ansi else "auto"
        drawn = draw(self._tab, plot.plt, found, self._colours()) and not self._plain
        as_picture = drawn and self._can_draw
        plot.display = drawn and not as_picture
        plot.refresh()
        self.query_one(Picture).display = as_picture
        if as_picture:
            self.atlas.attempt(partial(self._draw_chart, found), group="insights-chart", exclusive=True)
        words.update(told(self._tab, found))

    @property
    def _can_draw(self) -> bool:
        """Whether the plot is shown as a picture. The colours of a terminal's own theme are not known."""
        return can_show(self.atlas) and not self.app.current_theme.ansi and not self._as_text

    async def _draw_chart(self, found: Insights) -> None:
        picture, terminal = self.query_one(Picture), self.atlas.images
        if terminal is None:
            return
        width, height = terminal.cell_size()
        columns = max(self.query_one("#page").content_size.width, _LEAST_COLUMNS)
        chart = Chart()
        draw(self._tab, chart, found, self._colours())
        ground, text = self.query_one("#title").styles.background.rgb, self.styles.color.rgb
        quiet = self.query_one("#title").styles.color.rgb
        look = Look(ground, text, quiet, round(height * 0.7))
        made = await asyncio.to_thread(chart.picture, columns * width, _ROWS * height, look)
        if self.is_attached:
            await picture.show(pixels_of(made))

    def _show_calendars(self, found: Insights) -> None:
        today = self.atlas.now().date()
        width = max(self.query_one("#page").size.width - 4, 20)
        sessions = {one.day: one.sessions for one in found.days}
        tokens = {one.day: one.tokens_written for one in found.days}
        heat, other = self.query_one("#heat", Static), self.query_one("#tokens", Static)
        heat.update(calendar(sessions, today, width, _("Conversations a day")))
        other.display = any(tokens.values())
        other.update(calendar(tokens, today, width, _("Tokens written a day")))

    def _colours(self) -> tuple[Colour, ...]:
        theme = self.app.current_theme
        if theme.ansi:
            return _PLAIN
        found = [Color.parse(getattr(theme, name) or theme.primary).rgb for name in _THEIRS]
        return tuple(found)

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        self._tab = event.tab.id or ACTIVITY
        self._show()
        self.query_one(Page).scroll_home(animate=False)

    # --- actions ---------------------------------------------------------------------------------

    def _turn(self, step: int) -> None:
        at = TABS.index(self._tab)
        self.query_one(Tabs).active = TABS[(at + step) % len(TABS)]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in (
            "insights_next",
            "insights_previous",
            "insights_span",
            "insights_words",
            "insights_export",
        ):
            return not self._empty
        return super().check_action(action, parameters)

    def action_insights_next(self) -> None:
        self._turn(1)

    def action_insights_previous(self) -> None:
        self._turn(-1)

    def action_insights_span(self) -> None:
        spans = list(SPANS)
        self._span = spans[(spans.index(self._span) + 1) % len(spans)]
        self.read()

    def action_insights_words(self) -> None:
        """Switches between plots and text alone."""
        self._plain = not self._plain
        self._show()

    def action_insights_export(self) -> None:
        """Saves the screen as a picture, and the numbers of the tab as a table."""
        if self._found is not None:
            self.atlas.attempt(self._export(self._found), group="insights")

    async def _export(self, found: Insights) -> None:
        from atlas_desktop.tui.exports import save_export, save_pictures

        await save_export(self.atlas, self._tab, "csv", as_csv(found, self._tab).encode())
        # A picture of the screen consists of its texts.
        self._as_text = True
        try:
            self._show()
            painted = asyncio.Event()
            self.call_after_refresh(painted.set)
            await painted.wait()
            await save_pictures(self.atlas, self._tab, _(_TAB_TEXTS[self._tab]))
        finally:
            self._as_text = False
            self._show()

    def action_insights_back(self) -> None:
        self.back()
