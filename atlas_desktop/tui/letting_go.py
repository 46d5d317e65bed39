"""Widgets that have been removed are gone as soon as nobody needs them.

Textual's widgets and their styles hold each other, so what is removed stays until a search for garbage has
gone through everything that is alive: for a page of messages, some hundred widgets of a hundred objects each.
"""
# ruff: noqa: SLF001 - what holds what is not told by anything public

import asyncio
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from textual.app import App
from textual.await_remove import AwaitRemove
from textual.cache import FIFOCache
from textual.css.styles import RenderStyles, RulesMap
from textual.dom import DOMNode
from textual.widget import Widget

KEPT = 16
"""Sizes that a widget had, and widgets that were found below it, which are remembered."""


class LettingGo(App[None]):
    """An application whose removed widgets hold nothing that holds them."""

    def _register(
        self,
        parent: DOMNode,
        *widgets: Widget,
        before: int | None = None,
        after: int | None = None,
        cache: dict[tuple[Any, ...], RulesMap] | None = None,
    ) -> list[Widget]:
        for widget in widgets:
            # The entries of the caches that Textual gives them hold each other, even when they are cleared,
            # and there may be a thousand of widgets that were found in it once.
            widget._box_model_cache = FIFOCache(KEPT)  # type: ignore[assignment]
            widget._query_one_cache = FIFOCache(KEPT)  # type: ignore[assignment]
        return super()._register(parent, *widgets, before=before, after=after, cache=cache)

    def _prune(self, *nodes: Widget, parent: DOMNode | None = None) -> AwaitRemove:
        for widget in _with_bars(one for node in nodes for one in node.walk_children(Widget, with_self=True)):
            if widget._task is not None:
                # Whoever removes it, and whatever it still does about that, has come to an end by then.
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
    """Takes apart what holds itself in the widget and in its parts: styles that know whose they are."""
    for styles in (widget.styles, *parts):
        styles.base.node = None
        styles.inline.node = None
