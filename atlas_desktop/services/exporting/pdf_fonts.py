"""Fonts for PDF: those that the system has, those that come with reportlab, and the Asian ones readers know.

A font that is found is embedded, only the glyphs that are used. Chinese, Japanese and Korean text falls back
on the standard Asian fonts, which are named in the file and brought by the reader.
"""

import os
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

REPLACEMENT = "\u25a1"
"""Stands for what no font has."""

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

# By how much they cover, the best first. Outlines in CFF cannot be embedded, so Noto CJK is not among them.
_PLAIN = ("DejaVuSans.ttf", "NotoSans-Regular.ttf", "Arial.ttf", "LiberationSans-Regular.ttf")
_BOLD = (
    "DejaVuSans-Bold.ttf",
    "NotoSans-Bold.ttf",
    "Arial Bold.ttf",
    "arialbd.ttf",
    "LiberationSans-Bold.ttf",
)
_MONO = (
    "DejaVuSansMono.ttf",
    "NotoSansMono-Regular.ttf",
    "Menlo.ttc",
    "consola.ttf",
    "LiberationMono-Regular.ttf",
)
_FURTHER = (
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
    """A font under reportlab's name for it. `width` is of a character, in thousandths of the size."""

    name: str
    has: Callable[[str], bool]
    width: Callable[[str], float]


class Chain:
    """Fonts that are asked one after the other for each character."""

    def __init__(self, faces: list[Face]) -> None:
        self._faces = faces
        self.face_of = lru_cache(maxsize=20_000)(self._find)

    def _find(self, char: str) -> tuple[str, float] | None:
        """The font's name and the character's width in it; None when no font has it."""
        for face in self._faces:
            if face.has(char):
                return face.name, face.width(char)
        return None


@dataclass(frozen=True, slots=True)
class Fonts:
    """What a document is set in."""

    plain: Chain
    bold: Chain
    mono: Chain


@cache
def fonts() -> Fonts:
    """Looks for fonts once; never raises, for some come with reportlab."""
    found = _files()
    further = [face for name in _FURTHER if (face := _embedded(found.get(name.lower()))) is not None]
    plain = _first(found, _PLAIN, "Vera.ttf")
    bold = _first(found, _BOLD, "VeraBd.ttf")
    mono = _first(found, _MONO, None)
    rest = [plain, *further, *_asian()]
    return Fonts(Chain(rest), Chain([bold, *rest]), Chain([mono, *rest] if mono is not plain else rest))


def _files() -> dict[str, Path]:
    """Files of fonts by their names in small letters."""
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
    import reportlab  # type: ignore[import-untyped]

    return _embedded(Path(reportlab.__file__).parent / "fonts" / bundled) or _standard("Helvetica")


def _embedded(path: Path | None) -> Face | None:
    """A font from a file; None for none and for one that cannot be used."""
    if path is None:
        return None
    from reportlab.pdfbase import pdfmetrics  # type: ignore[import-untyped]
    from reportlab.pdfbase.ttfonts import TTFError, TTFont  # type: ignore[import-untyped]

    try:
        font = TTFont(path.stem, str(path))
    except (TTFError, OSError, ValueError, KeyError, IndexError):
        return None
    pdfmetrics.registerFont(font)
    glyphs, widths, usual = font.face.charToGlyph, font.face.charWidths, font.face.defaultWidth
    return Face(path.stem, lambda char: ord(char) in glyphs, lambda char: float(widths.get(ord(char), usual)))


def _standard(name: str) -> Face:
    """One of the fourteen fonts that every reader has: Latin only."""
    from reportlab.pdfbase import pdfmetrics

    def has(char: str) -> bool:
        return char.isascii() or ("\xa0" <= char <= "\xff")

    return Face(name, has, lambda char: float(pdfmetrics.stringWidth(char, name, 1000)))


def _asian() -> Iterator[Face]:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont  # type: ignore[import-untyped]

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
