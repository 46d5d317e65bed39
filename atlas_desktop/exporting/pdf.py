"""PDF export, set line by line with system or reportlab fonts, so that no text becomes an instruction."""

import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, BinaryIO

from atlas_desktop.exporting.document import (
    About,
    BaseWriter,
    MemoryRecord,
    attachments,
    citations,
    marks,
    memory_line,
    moment,
    remarks,
    speaker_of,
    title_of,
    told_branch,
)
from atlas_desktop.exporting.markdown import inline_parts, is_table, table_lines
from atlas_desktop.services.cleaning import clean, clean_line
from memory.transfer import TravellingSession

REPLACEMENT = "\u25a1"
"""Shown in place of characters that no font has."""

_FOLDERS = {
    "darwin": (
        "/System/Library/Fonts",
        "/System/Library/Fonts/Supplemental",
        "/Library/Fonts",
        "~/Library/Fonts",
    ),
    "win32": ("C:/Windows/Fonts", "~/AppData/Local/Microsoft/Windows/Fonts"),
}
_USUAL_FOLDERS = ("/usr/share/fonts", "/usr/local/share/fonts", "~/.local/share/fonts", "~/.fonts")
_MOST_FILES = 5000

# Ordered by coverage, best first. CFF outlines cannot be embedded, so Noto CJK is not included.
_PLAIN = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial.ttf", "LiberationSans-Regular.ttf")
_BOLD = (
    "DejaVuSans-Bold.ttf",
    "NotoSans-Bold.ttf",
    "Arial Bold.ttf",
    "arialbd.ttf",
    "LiberationSans-Bold.ttf",
)
MONO = (
    "DejaVuSansMono.ttf",
    "NotoSansMono-Regular.ttf",
    "Menlo.ttc",
    "consola.ttf",
    "LiberationMono-Regular.ttf",
)
FURTHER = (
    "NotoSansSymbols2-Regular.ttf",
    "NotoSansSymbols-Regular.ttf",
    "NotoSansArabic-Regular.ttf",
    "NotoSansHebrew-Regular.ttf",
    "NotoSansDevanagari-Regular.ttf",
    "NotoSansThai-Regular.ttf",
    "NotoEmoji-Regular.ttf",
    "Symbola.ttf",
    "DroidSansFallbackFull.ttf",
    "DroidSansFallback.ttf",
    "wqy-zenhei.ttc",
    "wqy-microhei.ttc",
    "ipag.ttf",
    "NanumGothic.ttf",
    "Arial Unicode.ttf",
    "ARIALUNI.TTF",
    "msyh.ttc",
    "simsun.ttc",
    "malgun.ttf",
    "seguisym.ttf",
    "seguiemj.ttf",
)
_ASIAN = (("HeiseiKakuGo-W5", "shift_jis"), ("HYSMyeongJo-Medium", "euc_kr"), ("STSong-Light", "gbk"))


@dataclass(frozen=True, slots=True)
class Face:
    """A font under its reportlab name; `width` gives a character's width in thousandths of the font size."""

    name: str
    has: Callable[[str], bool]
    width: Callable[[str], float]


class Chain:
    """Fonts that are tried in order for each character."""

    def __init__(self, faces: list[Face]) -> None:
        self._faces = faces
        self.face_of = lru_cache(maxsize=20_000)(self._find)

    def _find(self, char: str) -> tuple[str, float] | None:
        """Returns the font's name and the character's width in it, or None if no font has it."""
        for face in self._faces:
            if face.has(char):
                return face.name, face.width(char)
        return None


@dataclass(frozen=True, slots=True)
class Fonts:
    """The fonts that a document is set in."""

    plain: Chain
    bold: Chain
    mono: Chain


@cache
def fonts() -> Fonts:
    """Finds the fonts once; never raises, because reportlab includes some."""
    found = font_files()
    further = [face for name in FURTHER if (face := _embedded(found.get(name.lower()))) is not None]
    plain = _first(found, _PLAIN, "Vera.ttf")
    bold = _first(found, _BOLD, "VeraBd.ttf")
    mono = _first(found, MONO, None)
    rest = [plain, *further, *_asian()]
    return Fonts(Chain(rest), Chain([bold, *rest]), Chain([mono, *rest] if mono is not plain else rest))


def font_files() -> dict[str, Path]:
    """Returns font files by their lower-case names."""
    found: dict[str, Path] = {}
    seen = 0
    for folder in _FOLDERS.get(sys.platform, _USUAL_FOLDERS):
        for at, _, names in os.walk(Path(folder).expanduser()):
            seen += len(names)
            for name in names:
                found.setdefault(name.lower(), Path(at) / name)
            if seen > _MOST_FILES:
                return found
    return found


def _first(found: dict[str, Path], wanted: tuple[str, ...], bundled: str | None) -> Face:
    for name in wanted:
        if (face := _embedded(found.get(name.lower()))) is not None:
            return face
    if bundled is None:
        return _standard("Courier")
    import reportlab

    return _embedded(Path(reportlab.__file__).parent / "fonts" / bundled) or _standard("Helvetica")


def _embedded(path: Path | None) -> Face | None:
    """Loads a font from a file; returns None without a path and for an unusable font."""
    if path is None:
        return None
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFError, TTFont

    try:
        font = TTFont(path.stem, str(path))
    except (TTFError, OSError, ValueError, KeyError, IndexError):
        return None
    pdfmetrics.registerFont(font)
    glyphs, widths, usual = font.face.charToGlyph, font.face.charWidths, font.face.defaultWidth
    return Face(path.stem, lambda char: ord(char) in glyphs, lambda char: float(widths.get(ord(char), usual)))


def _standard(name: str) -> Face:
    """Returns one of the fourteen fonts that every reader has; they are Latin only."""
    from reportlab.pdfbase import pdfmetrics

    def has(char: str) -> bool:
        return char.isascii() or ("\xa0" <= char <= "\xff")

    return Face(name, has, lambda char: float(pdfmetrics.stringWidth(char, name, 1000)))


def _asian() -> Iterator[Face]:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    for name, codec in _ASIAN:
        pdfmetrics.registerFont(UnicodeCIDFont(name))
        yield Face(name, _encodable(codec), lambda _char: 1000.0)


def _encodable(codec: str) -> Callable[[str], bool]:
    def has(char: str) -> bool:
        if unicodedata.east_asian_width(char) not in ("W", "F"):
            return False
        try:
            char.encode(codec)
        except UnicodeEncodeError:
            return False
        return True

    return has


_MARGIN = 56.0
_SIZE = 10.0
_SMALL = 8.0
_LARGE = 16.0
_CODE = 8.5
_LEADING = 1.4
_INK = (0.12, 0.14, 0.16)
_QUIET = (0.4, 0.44, 0.48)
_SHADE = (0.95, 0.955, 0.96)
_INDENT = 12.0
_TAB = 4

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}#{1,6} +")
_BULLET = re.compile(r"^( *)[*+-] +")
_WORDS = re.compile(r" +|[^ ]+")
_WRAPS_ANYWHERE = frozenset("WF")

Run = tuple[str, str]
"""A font name and the text set in it."""


class PdfWriter(BaseWriter):
    """Writes A4 pages with an outline of the sessions.

    Characters that no font has become boxes and are counted.
    """

    def __init__(self, out: BinaryIO, about: About) -> None:
        super().__init__(out, about)
        from reportlab.lib.pagesizes import A4
        from reportlab.pdfgen.canvas import Canvas

        self._canvas: Any = Canvas(out, pagesize=A4, pageCompression=1)
        self._canvas.setCreator("Atlas Desktop")
        self._canvas.setAuthor("")
        self._canvas.setSubject("")
        self._width, self._height = A4
        self._fonts: Fonts = fonts()
        self._y = self._height - _MARGIN
        self._page = 1
        self._sections = 0
        # Message text is indented more than its speaker, so no heading in it looks like another speaker.
        self._left = _MARGIN

    def session(self, session: TravellingSession) -> None:
        shown = told_branch(session)
        about = [f"Begun {moment(session.created_at)}"]
        if session.project:
            about.append(clean_line(session.project))
        about.extend("#" + clean_line(tag) for tag in session.tags)
        about.extend(f"attached: {name}" for name in attachments(session))
        self._section(title_of(session), " · ".join(about))
        if left := remarks(session):
            self._set(left, self._fonts.plain, _SMALL, colour=_QUIET)
        for message in shown:
            said = "".join(f" · {mark}" for mark in marks(message))
            self._head(speaker_of(message), moment(message.created_at) + said)
            self._text(clean(message.content))
            if sources := citations(message):
                self._set("Sources:", self._fonts.plain, _SMALL, colour=_QUIET)
            for line in sources:
                self._set(line, self._fonts.plain, _SMALL, colour=_QUIET)

    def memories(self, memories: Sequence[MemoryRecord]) -> None:
        self._section("Memories", "")
        for memory in memories:
            self._head("", memory_line(memory))
            self._text(clean(memory.text))

    def end(self) -> None:
        self._foot()
        self._canvas.save()

    # --- parts of a page --------------------------------------------------------------------------

    def _section(self, title: str, about: str) -> None:
        if self._sections:
            self._turn()
        else:
            self._canvas.setTitle(title if self.about.sessions == 1 else "Conversations")
        self._sections += 1
        key = f"s{self._sections}"
        self._canvas.bookmarkPage(key)
        self._canvas.addOutlineEntry(title, key, 0)
        self._set(title, self._fonts.bold, _LARGE)
        if about:
            self._set(about, self._fonts.plain, _SMALL, colour=_QUIET)

    def _head(self, who: str, when: str) -> None:
        self._down(_SIZE)
        # Keeps a heading on the same page as the first line of its message.
        if self._y < _MARGIN + 4 * _SIZE * _LEADING:
            self._turn()
        if who:
            self._set(who, self._fonts.bold, _SIZE)
        self._set(when, self._fonts.plain, _SMALL, colour=_QUIET)
        self._down(2)

    def _text(self, text: str) -> None:
        """Sets Markdown: code and tables in a monospaced font, headings and bold in bold, lists with dots.

        Lines stay as they were typed.
        """
        self._left = _MARGIN + _INDENT
        fence = ""
        lines = text.rstrip().split("\n")
        table: list[str] = []
        for at, line in enumerate(lines):
            found = _FENCE.match(line)
            if not fence and (table or is_table(lines[at : at + 2])):
                if line.strip() and not found:
                    table.append(line)
                    continue
                self._table(table)
                table = []
            if fence:
                if found and found[1].startswith(fence) and not line.strip().strip(fence[0]):
                    fence = ""
                else:
                    self._set(line, self._fonts.mono, _CODE, shade=True)
            elif found:
                fence = found[1]
            elif _HEADING.match(line):
                self._set(_HEADING.sub("", line), self._fonts.bold, _SIZE)
            elif line.strip():
                self._inline(_BULLET.sub(r"\1•  ", line))
            else:
                self._down(_SIZE * 0.7)
        self._table(table)
        self._left = _MARGIN

    def _table(self, lines: list[str]) -> None:
        for line in table_lines(lines):
            self._set(line, self._fonts.mono, _CODE)

    def _inline(self, line: str) -> None:
        """Sets a line with bold and code in their fonts."""
        fonts = {"bold": self._fonts.bold, "code": self._fonts.mono}
        parts = [(text, fonts.get(kind, self._fonts.plain)) for text, kind in inline_parts(line)]
        self._set("", self._fonts.plain, _SIZE, parts=parts)

    # --- setting ----------------------------------------------------------------------------------

    def _set(
        self,
        text: str,
        chain: Chain,
        size: float,
        *,
        colour: tuple[float, float, float] = _INK,
        shade: bool = False,
        parts: Sequence[tuple[str, Chain]] = (),
    ) -> None:
        """Sets a text in one font, or the `parts` of a line in theirs."""
        leading = size * _LEADING
        room = (self._width - _MARGIN - self._left) / size * 1000
        for line in self._lines(parts or [(text.expandtabs(_TAB), chain)], room):
            if self._y - leading < _MARGIN:
                self._turn()
            self._y -= leading
            if shade:
                self._canvas.setFillColorRGB(*_SHADE)
                width = self._width - _MARGIN - self._left + 8
                self._canvas.rect(self._left - 4, self._y - size * 0.3, width, leading, stroke=0, fill=1)
            self._draw(line, size, colour)

    def _draw(
        self, line: list[Run], size: float, colour: tuple[float, float, float], *, y: float = -1
    ) -> None:
        out = self._canvas.beginText(self._left, self._y if y < 0 else y)
        out.setFillColorRGB(*colour)
        for font, text in line:
            out.setFont(font, size)
            out.textOut(text)
        self._canvas.drawText(out)

    def _lines(self, parts: Sequence[tuple[str, Chain]], room: float) -> Iterator[list[Run]]:
        """Yields lines of at most `room` thousandths of the font size.

        Lines break at spaces, or anywhere in scripts without them.
        """
        line: list[Run] = []
        used = 0.0
        words = ((word, width, chain) for text, chain in parts for word, width in self._words(text, chain))
        for word, width, chain in words:
            if used + width > room and line:
                yield line
                line, used = [], 0.0
                if word[0][1].isspace():
                    continue
            if width <= room:
                line, used = _joined(line, word), used + width
                continue
            for char in word:
                step = _width(char, chain)
                if used + step > room and line:
                    yield line
                    line, used = [], 0.0
                line, used = _joined(line, [char]), used + step
        yield line

    def _words(self, text: str, chain: Chain) -> Iterator[tuple[list[Run], float]]:
        """Yields the units between which a line may break, as lists of single characters with their width."""
        for found in _WORDS.finditer(text):
            word: list[Run] = []
            width = 0.0
            for char in found[0]:
                if (run := self._glyph(char, chain)) is None:
                    continue
                if word and unicodedata.east_asian_width(char) in _WRAPS_ANYWHERE:
                    yield word, width
                    word, width = [], 0.0
                word.append(run)
                width += _width(run, chain)
            if word:
                yield word, width

    def _glyph(self, char: str, chain: Chain) -> Run | None:
        """Returns a character (or its replacement) with a font that has it; None if it is invisible."""
        if (face := chain.face_of(char)) is not None:
            return face[0], char
        if unicodedata.category(char) in ("Cf", "Mn", "Cc") or "\ufe00" <= char <= "\ufe0f":
            return None
        self.missing += 1
        face = chain.face_of(REPLACEMENT)
        return (face[0], REPLACEMENT) if face is not None else (_any_font(chain), "?")

    def _down(self, points: float) -> None:
        self._y -= points

    def _turn(self) -> None:
        self._foot()
        self._canvas.showPage()
        self._page += 1
        self._y = self._height - _MARGIN

    def _foot(self) -> None:
        left, self._left = self._left, _MARGIN
        number = [(_any_font(self._fonts.plain), str(self._page))]
        self._draw(number, _SMALL, _QUIET, y=_MARGIN / 2)
        self._left = left


def _any_font(chain: Chain) -> str:
    face = chain.face_of("1")
    assert face is not None, "every font has digits"
    return face[0]


def _width(run: Run, chain: Chain) -> float:
    face = chain.face_of(run[1])
    return face[1] if face is not None else 0.0


def _joined(line: list[Run], more: list[Run]) -> list[Run]:
    """Appends runs to a line, merging neighbours in the same font."""
    for font, text in more:
        if line and line[-1][0] == font:
            line[-1] = (font, line[-1][1] + text)
        else:
            line.append((font, text))
    return line
