"""Workarounds for Textual 8.2, and everything that uses its private parts:
`tests/unit/test_textual_privates.py`.

Measured by `python -m benchmarks.desk` on two cores (all on against all off): growth over 2,000 messages +13
MB against +151 MB; from a key to its picture while a reply streams, 21 ms against 33 ms (95th percentile);
the longest piece of work when a conversation of 5,000 messages opens, 27 ms against 41 ms.

- `SparingScreen`, `SparingCompositor` and `Ground` paint only changed lines. Remove them when Textual's
  compositor no longer asks every widget under a changed region for all of its lines.
- `SparingCompositor` tells every new widget its size. Remove that when Textual does so even if the place of
  a widget was asked for, after a scroll, before it was laid out.
- `LettingGo` frees removed widgets at once (some 45 MB in long use). Remove it when a removed widget and its
  styles no longer reference each other. `freeing_blocks` does the same for the parts of lists and tables: a
  list of 20 items with a table of 40 cells leaves 1,000 fewer objects to collect.
- `SturdyApp` continues after an error. Remove it when Textual calls a public method with an uncaught error
  instead of ending with a traceback that shows the values of variables.
- `SturdyApp` reads only the styles of a new screen: 0.1 ms instead of 90 to 300 ms when one opens for the
  first time. Remove it when Textual does not parse and apply all styles again for each new screen.
- `SturdyApp.outdated` and `arrange_anew` do what Textual has no public name for. Remove them when it does.
- `Sweeper` collects garbage while nobody types. It uses only public functions.
"""
# ruff: noqa: SLF001 - references between objects are not public

import asyncio
import gc
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from textual._compositor import Compositor, CompositorMap, ReflowResult
from textual._styles_cache import StylesCache
from textual.app import App
from textual.await_remove import AwaitRemove
from textual.cache import FIFOCache
from textual.css.styles import RenderStyles, RulesMap
from textual.dom import DOMNode
from textual.events import Mount
from textual.geometry import Region, Size
from textual.map_geometry import MapGeometry
from textual.message import Message
from textual.notifications import Notification
from textual.screen import Screen, ScreenResultType
from textual.strip import Strip
from textual.widget import Widget, _RenderCache
from textual.worker import WorkerFailed

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.driver import Driver
    from textual.widgets.markdown import MarkdownBlock

    _Mixed = Widget
else:
    _Mixed = object

KEPT = 16
"""Cached sizes of a widget, and cached widgets found below it."""


class LettingGo(App[None]):
    """An application that breaks the reference cycles of removed widgets."""

    def _register(
        self,
        parent: DOMNode,
        *widgets: Widget,
        before: int | None = None,
        after: int | None = None,
        cache: dict[tuple[Any, ...], RulesMap] | None = None,
    ) -> list[Widget]:
        for widget in widgets:
            # The entries of Textual's own caches reference each other, even after they are cleared, and the
            # second may contain a thousand widgets that were once found.
            widget._box_model_cache = FIFOCache(KEPT)  # type: ignore[assignment]
            widget._query_one_cache = FIFOCache(KEPT)  # type: ignore[assignment]
        return super()._register(parent, *widgets, before=before, after=after, cache=cache)

    def _prune(self, *nodes: Widget, parent: DOMNode | None = None) -> AwaitRemove:
        for widget in _with_bars(one for node in nodes for one in node.walk_children(Widget, with_self=True)):
            if widget._task is not None:
                # The removal, and everything the widget still does for it, has ended by then.
                parts = [*widget._component_styles.values()]
                widget._task.add_done_callback(partial(let_go, widget, parts))
        return super()._prune(*nodes, parent=parent)


def _with_bars(widgets: Iterable[Widget]) -> Iterator[Widget]:
    for widget in widgets:
        yield widget
        yield from widget._get_virtual_dom()


def let_go(
    widget: Widget, parts: Iterable[RenderStyles] = (), _ended: "asyncio.Task[Any] | None" = None
) -> None:
    """Breaks the reference cycles of a widget: its styles, and those in `parts`, refer back to it."""
    for styles in (widget.styles, *parts):
        styles.base.node = None
        styles.inline.node = None


def freeing_blocks() -> "dict[str, type[MarkdownBlock]]":
    """Returns the blocks of Markdown that free their parts: a list or table only reads its items or cells.

    Imported when it is called, because the first screen needs no Markdown.
    """
    from textual.widgets._markdown import MarkdownBulletList, MarkdownOrderedList, MarkdownTable

    from atlas_desktop.tui.markdown_text import TableText

    def composed(items: "Iterable[MarkdownBlock]", made: "ComposeResult") -> "ComposeResult":
        # Composing empties `items`.
        items = [*items]
        yield from made
        for item in items:
            let_go(item)

    def let_go_of_parts(blocks: "Iterable[MarkdownBlock]") -> None:
        for block in blocks:
            let_go_of_parts(block._blocks)
            let_go(block)

    class BulletList(MarkdownBulletList):
        def compose(self) -> "ComposeResult":
            return composed(self._blocks, super().compose())

    class OrderedList(MarkdownOrderedList):
        def compose(self) -> "ComposeResult":
            return composed(self._blocks, super().compose())

    class Table(MarkdownTable):
        def compose(self) -> "ComposeResult":
            head, rows = self._get_headers_and_rows()
            yield TableText([head, *rows])
            let_go_of_parts(self._blocks)

    return {"bullet_list_open": BulletList, "ordered_list_open": OrderedList, "table_open": Table}


class SturdyApp(LettingGo):
    """An application that continues after an error, reads styles once, and removes outdated notices.

    Subclasses override the methods without an underscore; by default, everything is as Textual does it.
    """

    def message_failed(self, error: Exception) -> bool:  # noqa: ARG002 - for those that override it
        """Called with an error in the application's own work; returns whether it was reported."""
        return False

    def screen_failed(self, error: Exception) -> bool:  # noqa: ARG002
        """Called with an error of a screen, widget or worker; returns whether something replaces it."""
        return False

    def began(self) -> None:
        """Called when the first screen has been shown."""

    def last_words(self, error: BaseException) -> str:
        """Returns what is printed about the error that ended the program."""
        return type(error).__name__

    def outdated(self, notice: Notification) -> bool:  # noqa: ARG002
        """Whether a notice is no longer to be shown."""
        return False

    @property
    def driver(self) -> "Driver | None":
        """Textual's driver, which writes to the terminal; None before it is started."""
        return self._driver

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            if not self.message_failed(error):
                raise
            self._remember(error)
        if isinstance(message, Mount):
            self.began()

    def _handle_exception(self, error: Exception) -> None:
        failed = error.error if isinstance(error, WorkerFailed) else error
        if not self._closing and self.screen_failed(failed if isinstance(failed, Exception) else error):
            self._remember(error)
        else:
            super()._handle_exception(error)

    def _remember(self, error: Exception) -> None:
        # A test of the interface fails with the original error, as it would without crash recovery.
        if self.is_headless and self._exception is None:
            self._exception = error

    def panic(self, *_unused: object) -> None:
        """Called by Textual with a traceback when the thread that reads keys fails: the program cannot
        continue."""
        self._fatal_error()

    def _fatal_error(self) -> None:
        """Replaces Textual's traceback, which prints the values of local variables: they may contain
        content."""
        from rich.segment import Segments
        from rich.text import Text

        failed = self._exception or RuntimeError()
        text = Text(self.last_words(failed.error if isinstance(failed, WorkerFailed) else failed))
        self._exit_renderables.append(Segments(self.console.render(text, self.console.options)))
        self._close_messages_no_wait()

    def _refresh_notifications(self) -> None:
        """Like Textual's, but also removes notices that are `outdated`, and duplicates."""
        newest = {one.message: one for one in self._notifications}
        for one in [*self._notifications]:
            if newest[one.message] is not one or self.outdated(one):
                self._unnotify(one, refresh=False)
        super()._refresh_notifications()

    def refresh_css(self, animate: bool = True) -> None:  # noqa: FBT001, FBT002 - as Textual declares it
        # During startup Textual would read every style again, with the colours that they were read with.
        if self._dom_ready:
            super().refresh_css(animate)

    def _load_screen_css(self, screen: "Screen[Any]") -> None:
        """Reads only the styles of a screen that is shown for the first time.

        Textual would read all styles again and restyle every widget, which blocks typing. The rules in a
        screen's file apply only to that screen, whose widgets are styled when they are created.
        """
        if screen.CSS:
            super()._load_screen_css(screen)
            return
        for path in screen.css_path:
            if not self.stylesheet.has_source(str(path)):
                self.stylesheet.read(path)


def arrange_anew(widget: Widget) -> None:
    """Has the content of a widget arranged again, although its size is the same."""
    widget._clear_arrangement_cache()


class SparingScreen(Screen[ScreenResultType]):
    """Lays everything out in one callback and paints in the next.

    Both are one step of the loop. With a pause between them, a key could leave the screen, and what waits for
    it to be painted would look for widgets that have gone.
    """

    _placing = False

    def __init__(self, columns: int = 0) -> None:
        """Fits `columns` from the start: what changes when the size arrives is laid out again."""
        super().__init__()
        self._compositor = SparingCompositor()
        self._fit(columns)

    def _fit(self, columns: int) -> None:
        fitting = [name for least, name in self.HORIZONTAL_BREAKPOINTS or () if least <= columns]
        for _, name in self.HORIZONTAL_BREAKPOINTS or ():
            self.set_class(name == fitting[-1], name)

    def _screen_resized(self, size: Size) -> None:
        # Textual does this only for the top screen; this one is also visible below others.
        self._fit(size.width)
        super()._screen_resized(size)

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:  # noqa: FBT001, FBT002
        self._placing = True
        try:
            super()._refresh_layout(size, scroll)
        finally:
            self._placing = False

    def _compositor_refresh(self) -> None:
        if self._placing:
            # Runs before callbacks that wait for a refresh, which are queued the same way.
            self.call_next(self._paint)
        else:
            super()._compositor_refresh()

    def _paint(self) -> None:
        # Textual forgets here what has to be painted; some of it may have come up since the layout.
        self._compositor.update_widgets(self._dirty_widgets)
        super()._compositor_refresh()


class Ground(_Mixed):
    """Mixin for widgets without a border that show only their background: all their lines are equal.

    They look the same when scrolled or longer. Textual keeps a line for each row of each container, and
    remembers for each how it was cut around what covers it.
    """

    def render_lines(self, crop: Region) -> list[Strip]:
        return super().render_lines(Region(crop.x, 0, crop.width, 1)) * crop.height


def forget_what_is_gone() -> None:
    """Frees the painted lines of widgets that have been removed.

    Textual caches colours by the line cache that asked for them. This keeps the newest thousand line caches
    alive, even those of removed widgets.
    """
    StylesCache.get_inner_outer.cache_clear()


def forget_painted(widget: Widget) -> None:
    """Frees the painted lines of a widget and of all in it; they are painted again when they become visible.

    Each line contains several caches, and every full garbage collection traverses all of them.
    """
    for one in widget.walk_children(Widget, with_self=True):
        one._styles_cache.clear()
        one._render_cache = _RenderCache(Size(0, 0), [])
        one._dirty_regions.add(one.outer_size.region)


def _changed(before: CompositorMap, now: CompositorMap) -> Iterator[Region]:
    """Yields the screen regions where something is, or was, that is not painted as before."""
    for widget in before.keys() | now.keys():
        was, comes = before.get(widget), now.get(widget)
        if was != comes and (was is None or comes is None or not _stays(widget, was, comes)):
            yield from (one.visible_region for one in (was, comes) if one is not None and one.visible_region)


def _stays(widget: Widget, was: MapGeometry, comes: MapGeometry) -> bool:
    """Whether a widget paints the same in the same place, with the same widgets above and below it."""
    if [place[:2] for place in was.order] != [place[:2] for place in comes.order]:
        return False
    if isinstance(widget, Ground):
        return was.visible_region == comes.visible_region
    return was._replace(order=comes.order, virtual_region=comes.virtual_region) == comes


class SparingCompositor(Compositor):
    """Paints the same as Textual's compositor, but has only the painted lines rendered."""

    def __init__(self) -> None:
        super().__init__()
        self._sizes: dict[Widget, Size] = {}
        """The sizes that widgets have been told."""

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Marks the map of all widgets as valid: after a scroll Textual would compute it again.

        Textual repaints every widget whose place in its container changed. A widget that is scrolled along,
        because there is more above the view, looks the same on the screen and is not repainted.
        """
        before, to_paint = self._full_map, set(self._dirty_regions)
        hidden, shown, resized = super().reflow(parent, size)
        self._full_map_invalidated = False
        if size.region not in to_paint:
            self._dirty_regions = to_paint | set(_changed(before, self._full_map))
        told, self._sizes = self._sizes, {one: at.region.size for one, at in self._full_map.items()}
        # Where a widget is may have been asked since it was mounted or changed. Textual then takes it for
        # known, and never tells it its size.
        shown |= self._sizes.keys() - told.keys()
        resized |= {one for one in self._sizes.keys() & told.keys() if self._sizes[one] != told[one]}
        return ReflowResult(hidden, shown, resized)

    def _arrange_root(
        self,
        root: Widget,
        size: Size,
        visible_only: bool = True,  # noqa: FBT001, FBT002
    ) -> tuple[CompositorMap, set[Widget]]:
        """Like Textual's, but copies and clears the result.

        Textual's recursive inner function keeps the places of every layout alive until garbage is collected.
        """
        places, widgets = super()._arrange_root(root, size, visible_only)
        found = dict(places), set(widgets)
        places.clear()
        widgets.clear()
        return found

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        for region, clip, strips in super()._get_renders() if crop is None else self._touched(crop):
            yield region, clip, strips
            for strip in strips:
                # A line that was painted in one piece caches itself as its own part, a cycle that only a
                # garbage collection would free.
                if (strip.cell_length,) in strip._divide_cache:
                    strip._divide_cache.clear()

    def _touched(self, crop: Region) -> Iterable[tuple[Region, Region, list[Strip]]]:
        for widget, (region, clip) in self.visible_widgets.items():
            # Whole lines, because they are cut by the columns of the widget.
            band = clip.intersection(Region(clip.x, crop.y, clip.width, crop.height))
            seen = region.intersection(band)
            if seen and crop.overlaps(seen):
                at = seen.offset - region.offset
                yield region, band, widget.render_lines(Region(at.x, at.y, seen.width, seen.height))


QUIET_S = 1.0
"""Seconds without input after which new objects are collected."""
GONE_S = 20.0
"""Seconds without input after which everything is collected, once."""
CONSTANT_S = 300.0
"""Seconds of use without such a pause after which everything is collected in the next quiet second. Without
it, what was frozen while it was shown stayed for as long as nobody paused: 3 MB a minute."""
LATEST_S = 60.0
"""Seconds without a collection after which one runs between two keys."""
BETWEEN_KEYS_S = 0.2
AFTER = 5_000
"""Objects created since the last collection, less those freed, that make another one worthwhile."""


@dataclass(slots=True)
class Sweeper:
    """Collects garbage while the user is idle. `touched` reports input; call `sweep` every few seconds."""

    now: Callable[[], float] = time.monotonic
    longest: float = field(default=0.0, init=False)
    """Seconds that its longest collection took."""
    _touched: float = field(init=False)
    _swept: float = field(init=False)
    _thorough: bool = field(default=False, init=False)
    _thorough_at: float = field(init=False)

    def __post_init__(self) -> None:
        self._touched = self._swept = self._thorough_at = self.now()

    def touched(self) -> None:
        self._touched = self.now()
        self._thorough = False

    def sweep(self, *, at_rest: bool = True) -> bool:
        """Collects garbage if enough is expected and the user is idle; returns whether it did.

        `at_rest` says that no window is open and no work is in progress. Otherwise the objects of these,
        which are freed with them, would be exempt from collection permanently.
        """
        now = self.now()
        quiet = now - self._touched
        new, young, old = gc.get_count()
        of_new, of_young, _ = gc.get_threshold()
        new += young * of_new
        if quiet < QUIET_S or not at_rest:
            due = quiet >= BETWEEN_KEYS_S and now - self._swept >= LATEST_S
            if due and new + old * of_new * of_young >= AFTER:
                self._search()
                return True
        if quiet < QUIET_S:
            return False
        gone = quiet >= GONE_S and not self._thorough
        if at_rest and (gone or now - self._thorough_at >= CONSTANT_S):
            self._thorough, self._thorough_at = True, now
            gc.unfreeze()
        elif new < AFTER:
            return False
        if at_rest:
            self._search()
            gc.freeze()
        else:
            self._search(young=True)
        return True

    def _search(self, *, young: bool = False) -> None:
        began = time.perf_counter()
        if young:
            gc.collect(1)
        else:
            gc.collect()
            self._swept = self.now()
        self.longest = max(self.longest, time.perf_counter() - began)
