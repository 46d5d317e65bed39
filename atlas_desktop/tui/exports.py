"""Copies text to the clipboard, and saves tables and pictures as files."""

import asyncio
import os
import re
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from rich.cells import cell_len

from atlas_desktop.locale import _
from atlas_desktop.paths import PRIVATE_DIR, PRIVATE_FILE
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.images import without_placeholders
from memory.entities import RoomKind

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

    from atlas_desktop.tui.base import BaseApp


async def copy_out(app: "BaseApp", room: RoomKind, text: str, done: str) -> None:
    """Copies a text of a room and shows the notice `done`. Outside the open room it asks first."""
    if room is not RoomKind.OPEN and not await _may_leave(app):
        return
    app.copy_to_clipboard(text)
    # Nobody answers whether it arrived.
    passed_on = _("In tmux, this needs “set -g set-clipboard on”.")
    app.say(f"{done} {passed_on}" if os.environ.get("TMUX") else done)


async def _may_leave(app: "BaseApp") -> bool:
    asked = ConfirmScreen(
        _("Copy to the clipboard?"),
        _(
            "Other programs can read the clipboard, and some keep its history. What you copy leaves "
            "this room."
        ),
        agree=_("Copy"),
        refuse=_("Cancel"),
    )
    agreed: bool = await app.push_screen_wait(asked)
    return agreed


async def may_save_screen(app: "BaseApp") -> bool:
    """Whether the screen may be saved as a picture. Asks if another room than the open one could be on it."""
    if all(room.store.room is RoomKind.OPEN for room in app.desk.open_rooms):
        return True
    asked = ConfirmScreen(
        _("Save a picture of the screen?"),
        _("It is not encrypted and shows all that is on the screen, also what is private or off the record."),
        agree=_("Save"),
        refuse=_("Cancel"),
    )
    agreed: bool = await app.push_screen_wait(asked)
    return agreed


# --- files -----------------------------------------------------------------------------------------


async def save_export(app: "BaseApp", name: str, ending: str, data: bytes) -> None:
    """Saves a file that only the user can read, under the name, date and time. Raises `OSError`."""
    stem = f"atlas-{name}-{app.now():%Y-%m-%d-%H%M%S}"
    path = await asyncio.to_thread(_write, app.desk.paths.exports, stem, ending, data)
    app.say(_("Saved, not encrypted: {path}", path=path))


async def save_pictures(app: "BaseApp", name: str, title: str) -> None:
    """Saves the screen as SVG and PNG. Raises `OSError`."""
    svg = _FONT_FACES.sub("", without_placeholders(app.export_screenshot(title=title, simplify=True)))
    await save_export(app, name, "svg", svg.encode())
    png = await asyncio.to_thread(png_of, svg)
    if png is None:
        app.say(_("Not saved as PNG: this computer has no monospaced font that Atlas knows."))
    else:
        await save_export(app, name, "png", png)


def _write(folder: Path, stem: str, ending: str, data: bytes) -> Path:
    folder.mkdir(mode=PRIVATE_DIR, parents=True, exist_ok=True)
    number = 1
    while True:
        path = folder / f"{stem}{'' if number == 1 else f'-{number}'}.{ending}"
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        except FileExistsError:
            number += 1
            continue
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        return path


# --- pictures --------------------------------------------------------------------------------------

_FONT_FACES = re.compile(r"@font-face \{[^{}]*\}")
"""Textual's pictures load their font from a server, which every viewer would contact."""
_RULE = re.compile(r"\.([\w-]+) \{([^{}]*)\}")
_FILL = re.compile(r"fill: (#\w{6})")
_CELL_WIDTH, _CELL_HEIGHT = 12.2, 24.4
"""The cells of such a picture."""
_GROUND_AT, _LETTERS_AT = 1.5, 20
"""Where the ground and the letters of its first row are."""
_POINTS = 20
_BEYOND = "\uffff"
"""No font has it."""


def png_of(svg: str) -> bytes | None:
    """Returns a picture that Textual made of a screen as PNG; None if there is no monospaced font for it.

    Every letter is drawn into its cell. Takes some tenths of a second.
    """
    from xml.etree.ElementTree import fromstring

    from PIL import Image, ImageDraw

    letters = _Letters.found()
    if letters is None:
        return None
    root = fromstring(svg)  # noqa: S314 - made by this program
    styles = dict(_RULE.findall("".join(one.text or "" for one in root.iter() if one.tag.endswith("style"))))
    grounds = [one for one in root.iter() if one.tag.endswith("rect") and one.get("shape-rendering")]
    texts = [one for one in root.iter() if one.tag.endswith("text") and one.get("textLength")]
    whole = next(one[0] for one in root.iter() if one.get("id", "").endswith("-clip-terminal"))
    size = (
        _cells(whole, "width") * letters.width,
        round(_number(whole, "height") / _CELL_HEIGHT) * letters.height,
    )
    image = Image.new("RGB", size, grounds[0].get("fill", "#000000") if grounds else "#000000")
    draw = ImageDraw.Draw(image)
    for ground in grounds:
        left, top = _cells(ground, "x") * letters.width, _row(ground, _GROUND_AT) * letters.height
        right = left + _cells(ground, "width") * letters.width - 1
        if right > left:
            # Some have no cells.
            draw.rectangle((left, top, right, top + letters.height - 1), ground.get("fill"))
    for text in texts:
        style = styles.get(text.get("class", ""), "")
        letters.draw(draw, _cells(text, "x"), _row(text, _LETTERS_AT), text.text or "", style)
    out = BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _number(element: "Element", name: str) -> float:
    return float(element.get(name, "0"))


def _cells(element: "Element", name: str) -> int:
    return round(_number(element, name) / _CELL_WIDTH)


def _row(element: "Element", first: float) -> int:
    """Returns the row of an element, if those of the first row are `first` below the top."""
    return round((_number(element, "y") - first) / _CELL_HEIGHT)


class _Letters:
    """Draws letters into cells, each in the first of some fonts that has it."""

    def __init__(self, fonts: "list[FreeTypeFont]") -> None:
        self._fonts = fonts
        self._above, below = fonts[0].getmetrics()
        self.width, self.height = round(fonts[0].getlength("M")), self._above + below
        self._font_of = lru_cache(maxsize=5_000)(self._find)

    @classmethod
    def found(cls) -> "_Letters | None":
        """Returns the letters of the fonts of this computer; None if no monospaced one is known."""
        from PIL import ImageFont

        from atlas_desktop.exporting.pdf import FURTHER, MONO, font_files

        files = font_files()
        paths = [[path for name in names if (path := files.get(name.lower()))] for names in (MONO, FURTHER)]
        if not paths[0]:
            return None
        basic = ImageFont.Layout.BASIC
        return cls([ImageFont.truetype(path, _POINTS, layout_engine=basic) for path in paths[0] + paths[1]])

    def _find(self, letter: str) -> "FreeTypeFont":
        return next((font for font in self._fonts if _has(font, letter)), self._fonts[0])

    def draw(self, draw: "ImageDraw", column: int, row: int, text: str, style: str) -> None:
        """Draws a text from a cell on; `style` is that of the SVG."""
        found = _FILL.search(style)
        colour = found[1] if found is not None else "#ffffff"
        begun, top = column * self.width, row * self.height
        for letter in text:
            if not letter.isspace():
                at, font = column * self.width, self._font_of(letter)
                for left in (at, at + 1) if "bold" in style else (at,):
                    draw.text((left, top + self._above), letter, colour, font, anchor="ls")
            column += cell_len(letter)
        for line, share in (("underline", 0.95), ("line-through", 0.55)):
            if line in style:
                y = top + round(share * self.height) - 1
                draw.line((begun, y, column * self.width - 1, y), colour)


def _has(font: "FreeTypeFont", letter: str) -> bool:
    return bytes(font.getmask(letter)) != bytes(font.getmask(_BEYOND))
