"""Pictures in a terminal: which protocol it knows, and what is written to it to show a picture.

kitty's placeholders are ordinary characters whose colour names a picture: they are clipped, covered and
scrolled like any text. In the protocol of iTerm2, and as sixels, a picture is painted over the cells and is
gone as soon as something is written there.

Nothing here is written to a file: pictures go to the terminal directly.
"""

import base64
import os
import re
import select
import sys
import time
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

    from atlas_desktop.parsing.protocol import Pixels


class Protocol(StrEnum):
    KITTY = "kitty"
    ITERM = "iterm"
    SIXEL = "sixel"


OFF, AUTO = "off", "auto"
_CELL = (10, 20)
"""Pixels of a cell where the terminal does not tell."""


@dataclass(slots=True)
class ImageTerminal:
    """A terminal that shows pictures.

    `cell` is the size of a cell in pixels as it answered. Within tmux (`nested`), kitty's commands are
    wrapped so that tmux passes them on, if its option allow-passthrough is on. `kept` are the numbers of the
    pictures that kitty has.
    """

    protocol: Protocol
    cell: tuple[int, int] = _CELL
    nested: bool = False
    kept: set[int] = field(default_factory=set)

    def cell_size(self) -> tuple[int, int]:
        """Returns the width and height of a cell in pixels; they change with the size of the font."""
        return _cell_by_system() or self.cell

    def commands(self, text: str) -> str:
        """Returns kitty's commands as this terminal has to be given them."""
        if not self.nested:
            return text
        return "".join(f"\x1bPtmux;{one.replace(_ESC, _ESC * 2)}\x1b\\" for one in _COMMAND.findall(text))

    def forgetting(self, numbers: Iterable[int] | None = None) -> str:
        """Returns what makes the terminal forget these pictures, or all."""
        gone = self.kept.copy() if numbers is None else self.kept.intersection(numbers)
        self.kept -= gone
        return self.commands("".join(map(kitty_removal, sorted(gone))))


_ESC = "\x1b"
_COMMAND = re.compile("\x1b_G[^\x1b]*\x1b\\\\")


def image_of(pixels: "Pixels") -> "Image":
    from PIL import Image

    return Image.frombytes("RGB", (pixels.width, pixels.height), pixels.rgb)


def pixels_of(image: "Image") -> "Pixels":
    from atlas_desktop.parsing.protocol import Pixels

    return Pixels(image.width, image.height, image.convert("RGB").tobytes())


# --- finding out ----------------------------------------------------------------------------------

WAIT_S = 0.1
"""Seconds after the question within which the terminal has to answer."""
QUESTION = "\x1b[>0q\x1b[16t\x1b[c"
"""Asks for name and version, the size of a cell, and the abilities. Every terminal answers the last one."""
_ANSWER = re.compile(rb"\x1bP>\|([^\x1b]*)\x1b\\|\x1b\[6;(\d{1,4});(\d{1,4})t|\x1b\[\?([\d;]*)c")
_SIXELS = b"4"
_KITTY = re.compile(r"kitty\((\d+)\.(\d+)")
_FIRST_WITH_PLACEHOLDERS = (0, 28)
_WITHIN = ("tmux", "screen")
_WITHOUT = ("", "dumb", "linux")


@dataclass(frozen=True, slots=True)
class Answers:
    """What a terminal told. `complete` says whether it answered the last question."""

    name: str = ""
    cell: tuple[int, int] | None = None
    sixels: bool = False
    complete: bool = False


def read_answers(data: bytes) -> tuple[Answers, bytes]:
    """Returns the answers in what was read from a terminal, and the rest: what the user typed meanwhile."""
    name, cell, sixels, complete = "", None, False, False
    for found in _ANSWER.finditer(data):
        if found[1] is not None:
            name = found[1].decode("ascii", "replace")
        elif found[2] is not None:
            height, width = int(found[2]), int(found[3])
            cell = (width, height) if width and height else None
        else:
            complete, sixels = True, _SIXELS in found[4].split(b";")
    return Answers(name, cell, sixels, complete), _ANSWER.sub(b"", data)


def protocol_of(choice: str, answers: Answers, environ: Mapping[str, str]) -> Protocol | None:
    """Returns the protocol to use: the one that the user chose, or the best that the terminal knows.

    Without colours there are no pictures, and none within tmux or screen unless the user chose a protocol.
    """
    term = environ.get("TERM", "")
    if choice == OFF or term in _WITHOUT or environ.get("NO_COLOR"):
        return None
    if choice != AUTO:
        return Protocol(choice)
    if is_nested(environ):
        return None
    if not answers.complete:
        return _by_environment(environ)
    if (kitty := _KITTY.match(answers.name)) is not None:
        known = (int(kitty[1]), int(kitty[2])) >= _FIRST_WITH_PLACEHOLDERS
        return Protocol.KITTY if known else None
    if answers.name.startswith("ghostty"):
        return Protocol.KITTY
    if answers.name.startswith(("iTerm2", "WezTerm")):
        return Protocol.ITERM
    return Protocol.SIXEL if answers.sixels else None


def _by_environment(environ: Mapping[str, str]) -> Protocol | None:
    """Returns the protocol of a terminal that did not answer in time, as on a slow connection."""
    if environ.get("TERM") in ("xterm-kitty", "xterm-ghostty") or environ.get("TERM_PROGRAM") == "ghostty":
        return Protocol.KITTY
    if environ.get("TERM_PROGRAM") in ("iTerm.app", "WezTerm") or environ.get("LC_TERMINAL") == "iTerm2":
        return Protocol.ITERM
    return None


def is_nested(environ: Mapping[str, str]) -> bool:
    """Whether the program runs within tmux or screen."""
    return bool(environ.get("TMUX") or environ.get("STY") or environ.get("TERM", "").startswith(_WITHIN))


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What the question brought: the terminal, None if it shows no pictures; what the user typed meanwhile;
    and whether answers may still come, on a slow connection."""

    terminal: ImageTerminal | None = None
    typed: bytes = b""
    late: bool = False


def inquire(choice: str, environ: Mapping[str, str]) -> Inquiry:
    """Asks the terminal what it can show, if pictures are wanted. Waits for at most `WAIT_S` seconds.

    To be called before Textual reads keys.
    """
    wanted = protocol_of(choice, Answers(sixels=True, complete=True), environ) is not None
    if (out := _output()) is None or not wanted:
        return Inquiry()
    data = _answered(out) if sys.platform != "win32" else b""
    answers, typed = read_answers(data)
    protocol = protocol_of(choice, answers, environ)
    terminal = None
    if protocol is not None:
        terminal = ImageTerminal(protocol, answers.cell or _CELL, is_nested(environ))
    return Inquiry(terminal, typed.replace(b"\n", b"\r"), not answers.complete)


def _answered(out: int) -> bytes:
    """Writes the question and returns what was read until the last answer. Nothing is echoed meanwhile."""
    import termios

    try:
        before = termios.tcgetattr(0)
    except (OSError, termios.error):
        # The terminal is gone, which Textual will find out as well.
        return b""
    quiet = termios.tcgetattr(0)
    # Ctrl-C is read like any key: it would end the program before the terminal is as it was.
    quiet[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG)
    data = b""
    try:
        termios.tcsetattr(0, termios.TCSANOW, quiet)
        os.write(out, QUESTION.encode())
        until = time.monotonic() + WAIT_S
        while not read_answers(data)[0].complete:
            if not select.select([0], [], [], max(until - time.monotonic(), 0))[0]:
                break
            if not (piece := os.read(0, 4096)):
                break
            data += piece
    finally:
        termios.tcsetattr(0, termios.TCSANOW, before)
    return data


def _output() -> int | None:
    """Returns the descriptor of the terminal; None if input or output is none."""
    if sys.__stdin__ is None or not sys.__stdin__.isatty():
        return None
    for stream in (sys.__stderr__, sys.__stdout__):
        if stream is not None and stream.isatty():
            return stream.fileno()
    return None


def _cell_by_system() -> tuple[int, int] | None:
    """Returns the size of a cell as the system knows it from the terminal."""
    if sys.platform == "win32" or (out := _output()) is None:
        return None
    import fcntl
    import struct
    import termios

    try:
        sizes = fcntl.ioctl(out, termios.TIOCGWINSZ, bytes(8))
    except OSError:
        return None
    rows, columns, width, height = struct.unpack("4H", sizes)
    return (width // columns, height // rows) if rows and columns and width and height else None


# --- kitty ----------------------------------------------------------------------------------------

MOST_CELLS = 297
"""Columns and rows that kitty's placeholders can number."""
_PLACEHOLDER = "\U0010eeee"
_PLACEHOLDERS = re.compile(f"{_PLACEHOLDER}..")
_CHUNK = 4096
# The marks that number rows and columns, of kitty 0.41: those above a letter, up to Unicode 6.
_MARKS = (
    "305,30d-30e,310,312,33d-33f,346,34a-34c,350-352,357,35b,363-36f,483-487,592-595,597-599,59c-5a1,5a8-5a9,"
    "5ab-5ac,5af,5c4,610-617,657-65b,65d-65e,6d6-6dc,6df-6e2,6e4,6e7-6e8,6eb-6ec,730,732-733,735-736,73a,73d,"
    "73f-741,743,745,747,749-74a,7eb-7f1,7f3,816-819,81b-823,825-827,829-82d,951,953-954,f82-f83,f86-f87,"
    "135d-135f,17dd,193a,1a17,1a75-1a7c,1b6b,1b6d-1b73,1cd0-1cd2,1cda-1cdb,1ce0,1dc0-1dc1,1dc3-1dc9,"
    "1dcb-1dcc,1dd1-1de6,1dfe,20d0-20d1,20d4-20d7,20db-20dc,20e1,20e7,20e9,20f0,2cef-2cf1,2de0-2dff,a66f,"
    "a67c-a67d,a6f0-a6f1,a8e0-a8f1,aab0,aab2-aab3,aab7-aab8,aabe-aabf,aac1,fe20-fe26,10a0f,10a38,1d185-1d189,"
    "1d1aa-1d1ad,1d242-1d244"
)


@cache
def kitty_marks() -> tuple[str, ...]:
    """Returns the combining characters for the numbers from 0."""
    found: list[str] = []
    for part in _MARKS.split(","):
        first, _, last = part.partition("-")
        found += map(chr, range(int(first, 16), int(last or first, 16) + 1))
    return tuple(found)


def kitty_picture(number: int, pixels: "Pixels", columns: int, rows: int) -> str:
    """Returns the commands that give kitty a picture for so many cells, in chunks."""
    data = base64.standard_b64encode(zlib.compress(pixels.rgb, 1)).decode()
    head = f"a=T,U=1,q=2,f=24,o=z,t=d,i={number},s={pixels.width},v={pixels.height},c={columns},r={rows},"
    parts: list[str] = []
    for at in range(0, len(data), _CHUNK):
        more = int(at + _CHUNK < len(data))
        parts.append(f"\x1b_G{'' if at else head}m={more};{data[at : at + _CHUNK]}\x1b\\")
    return "".join(parts)


def kitty_row(row: int, columns: int) -> str:
    """Returns the placeholders of one row of a picture, to be written in the colour of its number."""
    marks = kitty_marks()
    return "".join(f"{_PLACEHOLDER}{marks[row]}{marks[column]}" for column in range(columns))


def without_placeholders(text: str) -> str:
    """Returns a text in which pictures are blank, such as that of a screenshot."""
    return _PLACEHOLDERS.sub("\xa0", text)


def kitty_removal(number: int) -> str:
    """Returns the command that makes kitty forget a picture."""
    return f"\x1b_Ga=d,d=I,i={number},q=2\x1b\\"


# --- painted over the cells -----------------------------------------------------------------------


def painted(column: int, row: int, picture: str) -> str:
    """Returns what paints a picture at a cell, counted from 0, and leaves the cursor where it is."""
    return f"\x1b7\x1b[{row + 1};{column + 1}H{picture}\x1b8"


def iterm_picture(image: "Image", columns: int, rows: int) -> str:
    """Returns a picture for so many cells in the protocol of iTerm2."""
    out = BytesIO()
    image.save(out, "PNG", compress_level=1)
    data = out.getvalue()
    options = (
        f"inline=1;size={len(data)};width={columns};height={rows};preserveAspectRatio=0;doNotMoveCursor=1"
    )
    return f"\x1b]1337;File={options}:{base64.standard_b64encode(data).decode()}\x07"


_BAND = 6
"""Rows of pixels that a line of sixels has."""
_REPEATED = re.compile(rb"(.)\1{3,254}", re.DOTALL)
MOST_COLOURS = 256


def with_palette(image: "Image") -> "Image":
    """Returns the picture with at most 256 colours, as sixels need it."""
    from PIL.Image import Dither, Quantize

    return image.quantize(MOST_COLOURS, method=Quantize.FASTOCTREE, dither=Dither.NONE)


def sixel_picture(image: "Image") -> str:
    """Returns a picture with a palette as sixels."""
    palette, width = image.getpalette() or [], image.width
    data = image.tobytes()
    used = sorted(set(data))
    parts = [f'\x1bP0;1q"1;1;{width};{image.height}'.encode()]
    for colour in used:
        red, green, blue = (round(value * 100 / 255) for value in palette[3 * colour : 3 * colour + 3])
        parts.append(b"#%d;2;%d;%d;%d" % (colour, red, green, blue))
    for top in range(0, image.height, _BAND):
        rows = [data[at * width : (at + 1) * width] for at in range(top, min(top + _BAND, image.height))]
        lines = [b"#%d%s" % (colour, _sixels(rows, colour)) for colour in sorted(set(b"".join(rows)))]
        parts.append(b"$".join(lines) + b"-")
    return (b"".join(parts) + b"\x1b\\").decode("ascii")


@cache
def _bits(colour: int, bit: int) -> bytes:
    """Returns the table that turns a pixel of a colour into a bit, and others into 0."""
    return bytes(1 << bit if value == colour else 0 for value in range(256))


_AS_SIXEL = bytes(63 + min(value, 63) for value in range(256))


def _sixels(rows: list[bytes], colour: int) -> bytes:
    """Returns a band of one colour. Its rows are added up as large numbers: their bits never overlap."""
    whole = 0
    for bit, row in enumerate(rows):
        whole |= int.from_bytes(row.translate(_bits(colour, bit)))
    line = whole.to_bytes(len(rows[0])).translate(_AS_SIXEL).rstrip(b"?")
    return _REPEATED.sub(_repeat, line)


def _repeat(found: "re.Match[bytes]") -> bytes:
    return b"!%d%s" % (len(found[0]), found[1])
