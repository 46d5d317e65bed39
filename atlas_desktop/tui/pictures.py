"""Pictures in the interface: the widget that shows one, and the screen for pages and attached pictures."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.color import Color, ColorSystem
from rich.segment import Segment
from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import ScrollableContainer
from textual.content import Content
from textual.geometry import Region, Size
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from atlas_desktop.locale import _, number
from atlas_desktop.tui.images import (
    MOST_CELLS,
    ImageTerminal,
    Protocol,
    image_of,
    iterm_picture,
    kitty_picture,
    kitty_row,
    painted,
    pixels_of,
    sixel_picture,
    with_palette,
)
from atlas_desktop.tui.textual_workarounds import SparingScreen
from atlas_desktop.tui.widgets import Covering, KeyLine

if TYPE_CHECKING:
    from PIL.Image import Image

    from atlas_desktop.parsing.protocol import PagePicture, Pixels
    from atlas_desktop.tui.base import BaseApp


class _Number(NamedTuple):
    """The number of a picture in kitty, and the colour that its placeholders have."""

    number: int
    style: Style


def _new_number(terminal: ImageTerminal, system: ColorSystem) -> _Number:
    """Returns a number that is not in use. With 256 colours it is the number of a colour."""
    while True:
        colour = Color.from_rgb(*secrets.token_bytes(3))
        written = colour.downgrade(system)
        red, green, blue = colour.get_truecolor()
        found = red << 16 | green << 8 | blue if written.number is None else written.number
        if found and found not in terminal.kept:
            return _Number(found, Style(color=colour))


def can_show(app: "BaseApp") -> bool:
    """Whether the terminal shows pictures."""
    return app.images is not None


class Picture(Widget):
    """Shows a picture, pixel by pixel. It is as large as the picture; what contains it scrolls.

    kitty gets the picture once, and its cells are text. Other terminals get the visible part of the picture
    each time that its cells were painted, unless something covers it.
    """

    ALLOW_SELECT = False
    DEFAULT_CSS = """
    Picture { width: auto; height: auto; }
    """

    def __init__(self, app: "BaseApp", *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.atlas = app
        self.columns = self.rows = 0
        self._pixels: Pixels | None = None
        self._image: Image | None = None
        self._kitty: _Number | None = None
        self._to_paint = False

    def on_mount(self) -> None:
        # Another program had the terminal, which forgot its pictures.
        self.app.app_resume_signal.subscribe(self, lambda _app: self._send_again())

    def on_unmount(self) -> None:
        self.app.app_resume_signal.unsubscribe(self)
        self._forget()

    async def show(self, pixels: "Pixels | None") -> None:
        """Shows a picture in place of the earlier one; None shows nothing."""
        self._forget()
        terminal, before = self.atlas.images, (self.columns, self.rows)
        if pixels is None or terminal is None:
            self._image, self.columns, self.rows = None, 0, 0
        else:
            cell = terminal.cell_size()
            self.columns, self.rows = cells_of(Size(pixels.width, pixels.height), cell)
            ground = self.background_colors[1].rgb
            whole = Size(self.columns * cell[0], self.rows * cell[1])
            self._image = await asyncio.to_thread(_filled, pixels, whole, ground, terminal.protocol)
        await self._send()
        self.refresh(layout=(self.columns, self.rows) != before)

    def clear(self) -> None:
        """Removes the picture at once, also from a terminal that keeps it."""
        self._forget()
        self._image, self.columns, self.rows = None, 0, 0
        self.refresh(layout=True)

    def get_content_width(self, container: Size, viewport: Size) -> int:
        del container, viewport
        return self.columns

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, viewport, width
        return self.rows

    def render_line(self, y: int) -> Strip:
        if self._kitty is not None and y < self.rows:
            row = Segment(kitty_row(y, self.columns), self.rich_style + self._kitty.style)
            return Strip([row], self.columns).adjust_cell_length(self.size.width, self.rich_style)
        return Strip.blank(self.size.width, self.rich_style)

    def render_lines(self, crop: Region) -> list[Strip]:
        if self._image is not None and self._is_painted and not self._to_paint:
            # Called while the screen is painted, also with kept lines: the picture comes after that.
            self._to_paint = True
            self.app.call_later(self._paint)
        return super().render_lines(crop)

    # --- kitty ------------------------------------------------------------------------------------

    async def _send(self) -> None:
        terminal = self.atlas.images
        if terminal is None or terminal.protocol is not Protocol.KITTY or self._image is None:
            return
        system = ColorSystem.TRUECOLOR
        if self.app.console.color_system != "truecolor":
            system = ColorSystem.EIGHT_BIT
        numbered = _new_number(terminal, system)
        made = await asyncio.to_thread(
            kitty_picture, numbered.number, pixels_of(self._image), self.columns, self.rows
        )
        if self.is_attached and self.atlas.driver is not None:
            terminal.kept.add(numbered.number)
            self.atlas.driver.write(terminal.commands(made))
            self._kitty = numbered

    def _send_again(self) -> None:
        if self._kitty is not None:
            self._forget()
            self.call_later(self._send)
        self.call_later(self.refresh)

    def _forget(self) -> None:
        """Makes kitty forget the picture; elsewhere, it goes when its cells are painted."""
        if self._kitty is not None and self.atlas.images is not None:
            gone = self.atlas.images.forgetting([self._kitty.number])
            if self.atlas.driver is not None:
                self.atlas.driver.write(gone)
        self._kitty = None

    # --- painting over the cells ------------------------------------------------------------------

    @property
    def _is_painted(self) -> bool:
        terminal = self.atlas.images
        return terminal is not None and terminal.protocol is not Protocol.KITTY

    @property
    def _seen(self) -> Region:
        """The part of the screen where the picture can be painted; empty if anything covers it."""
        if not self.is_attached or self.app.screen is not self.screen or not self.display:
            return Region()
        seen = self.screen.find_widget(self).visible_region
        over = (one.region for one in self.screen.query("Toast, Tooltip") if one.display)
        return Region() if any(one.overlaps(seen) for one in over) else seen

    async def _paint(self) -> None:
        self._to_paint = False
        terminal, image, seen = self.atlas.images, self._image, self._seen
        if terminal is None or image is None or not seen:
            return
        made = await asyncio.to_thread(_part, image, terminal, seen, seen.offset - self.region.offset)
        if image is self._image and self._seen == seen and self.atlas.driver is not None:
            self.atlas.driver.write(made)


_TILE = 960
"""Pixels of the longest side of a picture that is painted as sixels."""


def cells_of(size: Size, cell: tuple[int, int]) -> tuple[int, int]:
    """Returns how many columns and rows a picture takes."""
    return min(-(-size.width // cell[0]), MOST_CELLS), min(-(-size.height // cell[1]), MOST_CELLS)


def _filled(pixels: "Pixels", whole: Size, ground: tuple[int, int, int], protocol: Protocol) -> "Image":
    """Returns a picture that fills whole cells."""
    from PIL import Image

    image = Image.new("RGB", whole, ground)
    image.paste(image_of(pixels))
    return with_palette(image) if protocol is Protocol.SIXEL else image


def _part(image: "Image", terminal: ImageTerminal, seen: Region, begin: tuple[int, int]) -> str:
    """Returns what paints the part of a picture that begins at a cell to a region of the screen.

    As sixels it is painted in tiles: xterm shows none that is larger than 1,000 pixels.
    """
    width, height = terminal.cell_size()
    sixels = terminal.protocol is Protocol.SIXEL
    across, down = (max(_TILE // width, 1), max(_TILE // height, 1)) if sixels else seen.size
    parts: list[str] = []
    for x in range(0, seen.width, across):
        for y in range(0, seen.height, down):
            columns, rows = min(across, seen.width - x), min(down, seen.height - y)
            left, top = (begin[0] + x) * width, (begin[1] + y) * height
            tile = image.crop((left, top, left + columns * width, top + rows * height))
            made = sixel_picture(tile) if sixels else iterm_picture(tile, columns, rows)
            parts.append(painted(seen.x + x, seen.y + y, made))
    return "".join(parts)


Draw = Callable[[int, int], Awaitable["PagePicture"]]
"""Returns a page (or 1, of a picture), so many pixels wide."""
_ZOOMS = (0.5, 0.75, 1.0, 1.5, 2.0, 3.0)
_FULL = 1.0
_WIDEST = 100
"""Columns of a page that is not enlarged."""
_ABOVE = 3
"""Rows shown above a marked quotation."""


class _View(ScrollableContainer, inherit_bindings=False):
    """Scrolls in all directions; Left and Right belong to the pages."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", show=False),
        Binding("down,j", "scroll_down", show=False),
        Binding("shift+left,h", "scroll_left", show=False),
        Binding("shift+right,l", "scroll_right", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("pagedown,space", "page_down", show=False),
        Binding("home", "scroll_home", show=False),
        Binding("end", "scroll_end", show=False),
    ]


class PictureScreen(Covering, SparingScreen[int]):
    """Shows pages as pictures, from one on, as wide as the screen. Dismissed with the page shown last."""

    AUTO_FOCUS = "#view"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("right,n", "turn(1)", _("Next page")),
        Binding("left,p", "turn(-1)", _("Previous page")),
        Binding("plus,equals_sign", "zoom(1)", _("Larger"), key_display="+"),
        Binding("minus", "zoom(-1)", _("Smaller"), key_display="-"),
        Binding("escape,q", "leave", _("Back")),
    ]
    DEFAULT_CSS = """
    PictureScreen {
        #title { height: 1; padding: 0 2; background: $panel; text-wrap: nowrap; text-overflow: ellipsis; }
        #view { width: 1fr; height: 1fr; scrollbar-size-vertical: 1; align-horizontal: center; }
    }
    """

    def __init__(self, app: "BaseApp", title: str, draw: Draw, *, page: int = 1) -> None:
        super().__init__(app.size.width)
        self.atlas = app
        self._title = title
        self._draw = draw
        self._page = page
        self._pages = 0
        self._zoom = _FULL
        self._drawn_for = Size()
        self.picture = Picture(app, id="picture")

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        with _View(id="view"):
            yield self.picture
        yield KeyLine()

    def on_mount(self) -> None:
        self._tell()

    def on_resize(self) -> None:
        self.call_after_refresh(self._fit_again)

    def _fit_again(self) -> None:
        if (size := self.query_one(_View).size) != self._drawn_for:
            self._drawn_for = size
            self._redraw()

    def _redraw(self, *, to_mark: bool = True) -> None:
        self.atlas.attempt(partial(self._show, to_mark=to_mark), group="picture", exclusive=True)

    async def _show(self, *, to_mark: bool) -> None:
        terminal = self.atlas.images
        if terminal is None:
            self.dismiss(self._page)
            return
        view = self.query_one(_View)
        width, height = terminal.cell_size()
        columns = min(max(view.size.width - view.styles.scrollbar_size_vertical, 1), _WIDEST)
        made = await self._draw(self._page, max(round(columns * self._zoom) * width, width))
        if not self.is_attached:
            return
        self._pages = made.pages
        await self.picture.show(made.pixels)
        self._tell()
        if to_mark:
            row = 0 if made.marked is None else max(made.marked // height - _ABOVE, 0)
            self.call_after_refresh(view.scroll_to, y=row, animate=False)

    def _tell(self) -> None:
        parts = [self._title]
        if self._pages > 1:
            parts.append(_("page {page} of {pages}", page=number(self._page), pages=number(self._pages)))
        if self._zoom != _FULL:
            parts.append(f"{self._zoom:.0%}")
        self.query_one("#title", Static).update(Content(" · ".join(parts)), layout=False)
        self.refresh_bindings()

    # --- actions ----------------------------------------------------------------------------------

    def action_turn(self, by: int) -> None:
        if 1 <= self._page + by <= self._pages:
            self._page += by
            self._redraw()

    def action_zoom(self, by: int) -> None:
        at = _ZOOMS.index(self._zoom) + by
        if 0 <= at < len(_ZOOMS):
            self._zoom = _ZOOMS[at]
            self._redraw(to_mark=False)

    def action_leave(self) -> None:
        self.dismiss(self._page)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "turn":
            return self._pages > 1
        return super().check_action(action, parameters)
