"""The user's own statistics, as plots and as text."""

from datetime import timedelta
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static, Tab, Tabs
from textual_plotext import PlotextPlot

from atlas_desktop.locale import N_, _
from atlas_desktop.services.insights import Insights, as_csv, insights
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.base import View
from atlas_desktop.tui.insights.charts import ACTIVITY, TABS, Colour, amounts, calendar, draw, in_lines, told
from atlas_desktop.tui.overlays import fit
from atlas_desktop.tui.saving import save_export
from atlas_desktop.tui.textual_workarounds import SparingScreen
from atlas_desktop.tui.widgets import KeyLine

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
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
        self._empty = False

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        yield Tabs(*[Tab(Content(_(_TAB_TEXTS[key])), id=key) for key in TABS], active=self._tab)
        with Page(id="page"):
            yield Static("", id="heat", markup=False)
            yield Static("", id="tokens", markup=False)
            yield _Plot(id="plot")
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
            plot.display = False
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
        plot.display = draw(self._tab, plot.plt, found, self._colours()) and not self._plain
        plot.refresh()
        words.update(told(self._tab, found))

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
        picture = self.app.export_screenshot(title=_(_TAB_TEXTS[self._tab]), simplify=True)
        await save_export(self.atlas, self._tab, "csv", as_csv(found, self._tab))
        await save_export(self.atlas, self._tab, "svg", picture)

    def action_insights_back(self) -> None:
        self.back()
