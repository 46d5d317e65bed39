"""A screen that draws no more than has changed.

Textual asks every widget whose clip touches what is to be painted for all of its lines, and then drops those
that are not. For one more word of a reply these are all the widgets of the screen.
"""

from collections.abc import Iterable

from textual._compositor import Compositor, ReflowResult
from textual._styles_cache import StylesCache
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget


def forget_what_is_gone() -> None:
    """Lets go of the painted lines of widgets that have been removed.

    Textual remembers colours by the cache of lines that asked for them, and thereby the newest thousand of
    these, whether their widgets are still there or not.
    """
    StylesCache.get_inner_outer.cache_clear()


class SparingCompositor(Compositor):
    """Paints the same as Textual's own, and has only those lines made that are painted."""

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        """Notes that everything has a place now: after a scroll Textual would find all of them once more."""
        result = super().reflow(parent, size)
        self._full_map_invalidated = False
        return result

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        if crop is None:
            yield from super()._get_renders()
            return
        for widget, (region, clip) in self.visible_widgets.items():
            # Whole lines: what is cut out of them goes by the columns of the widget.
            band = clip.intersection(Region(clip.x, crop.y, clip.width, crop.height))
            seen = region.intersection(band)
            if seen and crop.overlaps(seen):
                at = seen.offset - region.offset
                yield region, band, widget.render_lines(Region(at.x, at.y, seen.width, seen.height))
