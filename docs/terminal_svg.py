"""Draws the screen of a terminal as an SVG picture that looks the same with every font.

Every word is fitted into its cells, and frames, bars and dots are drawn as shapes, so nothing depends on the
width of a font's letters. Nothing is fetched from elsewhere. Several screens become one animated picture, in
which rows that stay the same are stored once.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from io import StringIO

from rich.cells import cell_len
from rich.color import Color, blend_rgb
from rich.color_triplet import ColorTriplet
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

CELL_WIDTH, CELL_HEIGHT = 9.6, 20
_FONT_SIZE = 16
_BASELINE = 15
_TOP, _BOTTOM = -_BASELINE, CELL_HEIGHT - _BASELINE
"""A row is drawn around the line that its letters stand on."""
_MARGIN, _BAR = 12, 34
_GROUND, _TEXT = ColorTriplet(20, 23, 28), ColorTriplet(217, 220, 227)
# The colours of the dark theme, for text in the terminal's default colours.
_THEME = TerminalTheme(tuple(_GROUND), tuple(_TEXT), [tuple(_GROUND)] * 8, [tuple(_TEXT)] * 8)
_FONTS = "ui-monospace,'SF Mono',Menlo,'Cascadia Mono',Consolas,'DejaVu Sans Mono',monospace"
_DIM = 0.5

_LIGHT, _HEAVY = 1.4, 3.0
# Which arms (left, right, up, down) a frame character has.
_ARMS = {
    "─": "lr", "│": "ud", "┌": "rd", "┐": "ld", "└": "ru", "┘": "lu", "├": "rud", "┤": "lud", "┬": "lrd",
    "┴": "lru", "┼": "lrud", "╭": "rd", "╮": "ld", "╰": "ru", "╯": "lu", "╴": "l", "╵": "u", "╶": "r",
    "╷": "d", "━": "LR", "┃": "UD", "╸": "L", "╺": "R", "╹": "U", "╻": "D", "╾": "Lr", "╼": "lR",
}  # fmt: skip
_ROUND = "╭╮╰╯"
# Blocks as parts of a cell: x, y, width, height.
_BLOCKS: dict[str, tuple[tuple[float, float, float, float], ...]] = {
    "█": ((0, 0, 1, 1),),
    "▀": ((0, 0, 1, 0.5),),
    "▐": ((0.5, 0, 0.5, 1),),
    "▔": ((0, 0, 1, 0.125),),
    "▕": ((0.875, 0, 0.125, 1),),
    "▖": ((0, 0.5, 0.5, 0.5),),
    "▗": ((0.5, 0.5, 0.5, 0.5),),
    "▘": ((0, 0, 0.5, 0.5),),
    "▝": ((0.5, 0, 0.5, 0.5),),
    "▙": ((0, 0, 0.5, 1), (0.5, 0.5, 0.5, 0.5)),
    "▛": ((0, 0, 0.5, 1), (0.5, 0, 0.5, 0.5)),
    "▜": ((0.5, 0, 0.5, 1), (0, 0, 0.5, 0.5)),
    "▟": ((0.5, 0, 0.5, 1), (0, 0.5, 0.5, 0.5)),
    "▚": ((0, 0, 0.5, 0.5), (0.5, 0.5, 0.5, 0.5)),
    "▞": ((0.5, 0, 0.5, 0.5), (0, 0.5, 0.5, 0.5)),
    **{char: ((0, 1 - n / 8, 1, n / 8),) for n, char in enumerate("▁▂▃▄▅▆▇", 1)},
    **{char: ((0, 0, 1 - n / 8, 1),) for n, char in enumerate("▉▊▋▌▍▎▏", 1)},
}
_SHADES = {"░": 0.25, "▒": 0.5, "▓": 0.75}
_DOTS = (
    (0, 0, 0x01),
    (0, 1, 0x02),
    (0, 2, 0x04),
    (1, 0, 0x08),
    (1, 1, 0x10),
    (1, 2, 0x20),
    (0, 3, 0x40),
    (1, 3, 0x80),
)
_BRAILLE = range(0x2800, 0x2900)


@dataclass(frozen=True, slots=True)
class _Run:
    """Cells in one style: where they begin, and their text."""

    column: int
    text: str
    colour: str
    ground: str
    bold: bool
    italic: bool
    underline: bool


def svg(screen: str, columns: int) -> str:
    """Returns the picture of a screen, given as lines with the sequences that colour it."""
    rows = _rows(screen, columns)
    places = (n * CELL_HEIGHT + _BASELINE for n in range(len(rows)))
    drawn = "".join(
        f'<g transform="translate(0 {y})">{_row(row)}</g>\n' for y, row in zip(places, rows, strict=True)
    )
    return _framed(drawn, columns, len(rows))


def animated(screens: Sequence[tuple[str, float]], columns: int) -> str:
    """Returns one picture of screens that follow each other, each shown so many seconds, again and again."""
    total = sum(seconds for _, seconds in screens)
    names: dict[str, str] = {}
    frames, rules, begin, height = [], [], 0.0, 0
    for number, (screen, seconds) in enumerate(screens):
        rows = [_row(row) for row in _rows(screen, columns)]
        height = max(height, len(rows))
        uses = []
        for n, row in enumerate(rows):
            if row:
                name = names.setdefault(row, f"r{len(names)}")
                uses.append(f'<use href="#{name}" y="{n * CELL_HEIGHT + _BASELINE}"/>')
        frames.append(f'<g class="f" id="f{number}">{"".join(uses)}</g>\n')
        first, last = 100 * begin / total, 100 * (begin + seconds) / total
        hidden = f"0%,{first:.3f}%{{opacity:0}}" if begin else ""
        after = f"{last:.3f}%,100%{{opacity:0}}" if number + 1 < len(screens) else ""
        rules.append(
            f"@keyframes k{number}{{{hidden}{first:.3f}%,{last:.3f}%{{opacity:1}}{after}}}"
            f"#f{number}{{animation:k{number} {total:.1f}s step-end infinite}}"
        )
        begin += seconds
    rows_once = "".join(f'<g id="{name}">{row}</g>\n' for row, name in names.items())
    style = ".f{opacity:0}" + "".join(rules)
    return _framed(f"<defs>\n{rows_once}</defs>\n{''.join(frames)}", columns, height, style)


def _framed(drawn: str, columns: int, rows: int, style: str = "") -> str:
    width = round(columns * CELL_WIDTH + 2 * _MARGIN)
    height = rows * CELL_HEIGHT + _BAR + _MARGIN
    lights = "".join(
        f'<circle cx="{22 + 20 * n}" cy="17" r="6" fill="{colour}"/>'
        for n, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}">\n'
        f"<style>text{{font:{_FONT_SIZE}px {_FONTS};white-space:pre}}.b{{font-weight:bold}}"
        f".i{{font-style:italic}}rect,path:not([stroke]){{shape-rendering:crispEdges}}{style}</style>\n"
        f'<rect width="{width}" height="{height}" rx="9" fill="{_GROUND.hex}"/>{lights}\n'
        f'<g transform="translate({_MARGIN} {_BAR})">\n{drawn}</g>\n</svg>\n'
    )


# --- what is on the screen --------------------------------------------------------------------------


def _rows(screen: str, columns: int) -> list[list[_Run]]:
    console = Console(width=columns, file=StringIO(), color_system="truecolor", force_terminal=True)
    lines = screen.removesuffix("\n").split("\n")
    return [_runs(Text.from_ansi(line, no_wrap=True), console) for line in lines]


def _runs(line: Text, console: Console) -> list[_Run]:
    found, column = [], 0
    for segment in line.render(console):
        text = segment.text.rstrip("\n")
        if text:
            found.append(_run(column, text, segment.style or Style.null()))
            column += cell_len(text)
    return found


def _run(column: int, text: str, style: Style) -> _Run:
    ground = _triplet(style.bgcolor, _GROUND)
    colour = _triplet(style.color, _TEXT)
    if style.reverse:
        colour, ground = ground, colour
    if style.dim:
        colour = blend_rgb(colour, ground, _DIM)
    return _Run(
        column, text, colour.hex, ground.hex, bool(style.bold), bool(style.italic), bool(style.underline)
    )


def _triplet(colour: Color | None, default: ColorTriplet) -> ColorTriplet:
    return default if colour is None or colour.is_default else colour.get_truecolor(_THEME)


# --- how it is drawn --------------------------------------------------------------------------------


def _row(runs: Iterable[_Run]) -> str:
    """Returns the shapes and words of one row."""
    runs = list(runs)
    grounds = [_ground(run) for run in runs if run.ground != _GROUND.hex]
    return "".join([*grounds, *(part for run in runs for part in _parts(run))])


def _ground(run: _Run) -> str:
    # A little wider, or hairlines show between neighbours.
    width = _n(cell_len(run.text) * CELL_WIDTH + 0.3)
    return (
        f'<rect x="{_n(run.column * CELL_WIDTH)}" y="{_TOP}" width="{width}" height="{CELL_HEIGHT + 0.3}" '
        f'fill="{run.ground}"/>'
    )


@dataclass(slots=True)
class _Shapes:
    """What the characters of a run are drawn with: parts of paths, rectangles, and words with their columns."""

    light: list[str] = field(default_factory=list)
    heavy: list[str] = field(default_factory=list)
    fills: list[str] = field(default_factory=list)
    shaded: list[str] = field(default_factory=list)
    words: list[tuple[int, str]] = field(default_factory=list)


def _shapes(run: _Run) -> _Shapes:
    found, column, follows = _Shapes(), run.column, False
    for char in run.text:
        x = column * CELL_WIDTH
        letter = False
        if char in _ARMS:
            (found.heavy if _ARMS[char].isupper() else found.light).extend(_frame(char, x))
        elif char in _BLOCKS:
            found.fills += [
                _box(x + CELL_WIDTH * a, _TOP + CELL_HEIGHT * b, CELL_WIDTH * c, CELL_HEIGHT * d)
                for a, b, c, d in _BLOCKS[char]
            ]
        elif char in _SHADES:
            found.shaded.append(
                f'<rect x="{_n(x)}" y="{_TOP}" width="{_n(CELL_WIDTH + 0.1)}" height="{CELL_HEIGHT}" '
                f'fill="{run.colour}" opacity="{_SHADES[char]}"/>'
            )
        elif ord(char) in _BRAILLE:
            found.fills += _braille(ord(char), x)
        elif char != " ":
            letter = True
            begun, word = found.words.pop() if follows else (column, "")
            found.words.append((begun, word + char))
        follows = letter
        column += cell_len(char)
    return found


def _parts(run: _Run) -> Iterator[str]:
    found = _shapes(run)
    yield from found.shaded
    if found.fills:
        yield f'<path d="{"".join(found.fills)}" fill="{run.colour}"/>'
    for lines, thick in ((found.light, _LIGHT), (found.heavy, _HEAVY)):
        if lines:
            path = "".join(_joined(lines))
            yield f'<path d="{path}" stroke="{run.colour}" stroke-width="{thick}" fill="none"/>'
    if run.underline:
        width = _n(cell_len(run.text) * CELL_WIDTH)
        yield f'<path d="M{_n(run.column * CELL_WIDTH)} {_BOTTOM - 2.5}h{width}" stroke="{run.colour}"/>'
    if found.words:
        kinds = " ".join(name for name, on in (("b", run.bold), ("i", run.italic)) if on)
        kind = f' class="{kinds}"' if kinds else ""
        yield f'<g fill="{run.colour}"{kind}>'
        for at, text in found.words:
            width = _n(cell_len(text) * CELL_WIDTH)
            yield f'<text x="{_n(at * CELL_WIDTH)}" textLength="{width}">{escape(text, quote=False)}</text>'
        yield "</g>"


def _frame(char: str, x: float) -> list[str]:
    """Returns the lines of a frame character, as parts of a path."""
    middle, half, right = x + CELL_WIDTH / 2, _TOP + CELL_HEIGHT // 2, x + CELL_WIDTH
    arms = _ARMS[char].lower()
    if char in _ROUND:
        side, end = (right if "r" in arms else x), (_BOTTOM if "d" in arms else _TOP)
        return [f"M{_n(side)} {half}Q{_n(middle)} {half} {_n(middle)} {end}"]
    if arms == "lr":
        return [f"M{_n(x)} {half}H{_n(right)}"]
    if arms == "ud":
        return [f"M{_n(middle)} {_TOP}V{_BOTTOM}"]
    ends = {"l": (x, half), "r": (right, half), "u": (middle, _TOP), "d": (middle, _BOTTOM)}
    return [f"M{_n(middle)} {half}L{_n(ends[arm][0])} {_n(ends[arm][1])}" for arm in arms]


def _joined(parts: Sequence[str]) -> list[str]:
    """Returns the parts with horizontal lines that continue each other as one."""
    joined: list[str] = []
    for part in parts:
        begin, flat, end = part.partition("H")
        if flat and joined and joined[-1].endswith("H" + begin[1:].partition(" ")[0]):
            joined[-1] = f"{joined[-1].rpartition('H')[0]}H{end}"
        else:
            joined.append(part)
    return joined


def _box(x: float, y: float, width: float, height: float) -> str:
    return f"M{_n(x)} {_n(y)}h{_n(width + 0.1)}v{_n(height + 0.4)}H{_n(x)}z"


def _braille(code: int, x: float) -> list[str]:
    wide, high = CELL_WIDTH / 2, CELL_HEIGHT / 4
    bits = code - _BRAILLE.start
    return [
        _box(x + column * wide + wide / 4, _TOP + row * high + high / 4, wide / 2, high / 2)
        for column, row, bit in _DOTS
        if bits & bit
    ]


def _n(number: float) -> str:
    """Returns a number as short as it can be written with two decimals."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
