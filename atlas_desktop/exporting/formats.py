"""Export formats by name, their file names, and format detection by file ending."""

import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import BinaryIO

from atlas_desktop.exporting.document import About, Writer, told_branch
from atlas_desktop.locale import N_, _
from memory.transfer import TravellingMessage, TravellingSession

_FORMAT_TEXTS = {
    "md": N_("Markdown"),
    "html": N_("Web page"),
    "txt": N_("Plain text"),
    "pdf": N_("PDF"),
    "json": N_("JSON"),
    "jsonl": N_("JSON lines (can be imported again)"),
    "csv": N_("Message table (CSV)"),
}

LONGEST = 120
"""Maximum length of a file name in bytes, including its ending."""

# Characters that some file system forbids or a shell interprets, and invisible ones.
_FORBIDDEN = re.compile(
    r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\'`$&;!#%{}\[\]^~]|[\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]'
)
_RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|clock\$|com[0-9¹²³]|lpt[0-9¹²³])", re.IGNORECASE)


def stem_of(title: str, *, longest: int = LONGEST) -> str:
    """Returns a title as a file name without ending, at most `longest` bytes and never empty.

    The name is not reserved on Windows. It does not start with a dot or hyphen, or end with a dot or an
    ellipsis, as truncated titles do.
    """
    text = unicodedata.normalize("NFC", title).encode("utf-8", errors="ignore").decode("utf-8")
    text = " ".join(_FORBIDDEN.sub(" ", text).split()).strip(" .-_…")
    cut = _cut(text, longest) or "conversation"
    return "_" + _cut(cut, longest - 1) if _RESERVED.fullmatch(cut.split(".", 1)[0].rstrip()) else cut


def _cut(text: str, longest: int) -> str:
    return text.encode("utf-8")[:longest].decode("utf-8", errors="ignore").rstrip(" .-_…")


class Names:
    """Gives out unique names in one folder.

    Names that differ only in case count as equal, as they do on some systems.
    """

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = {_folded(name) for name in taken}
        self._next: dict[str, int] = {}

    def give(self, title: str, suffix: str) -> str:
        """Returns an unused name with the given ending (such as `.md`), at most `LONGEST` bytes long."""
        room = LONGEST - len(suffix.encode("utf-8"))
        stem = stem_of(title, longest=room)
        key = _folded(stem + suffix)
        name, number = stem + suffix, self._next.get(key, 2)
        while _folded(name) in self._taken:
            mark = f" {number}"
            name = stem_of(stem, longest=room - len(mark)) + mark + suffix
            number += 1
        self._next[key] = number
        self._taken.add(_folded(name))
        return name


def _folded(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


@dataclass(frozen=True, slots=True)
class Format:
    """An export format.

    `branches`: it has all branches of a session, not only the one that is shown. `apart`: memories need a
    separate file from sessions. `binary`: the output is not for a terminal.
    """

    name: str
    suffix: str
    open: Callable[[BinaryIO, About], Writer]
    branches: bool = False
    apart: bool = False
    binary: bool = False

    @property
    def title(self) -> str:
        return _(_FORMAT_TEXTS[self.name])

    def messages(self, session: TravellingSession) -> Sequence[TravellingMessage]:
        """Returns the messages of a session that it writes."""
        return session.messages if self.branches else told_branch(session)


def _markdown(out: BinaryIO, about: About) -> Writer:
    from atlas_desktop.exporting.markdown import MarkdownWriter

    return MarkdownWriter(out, about)


def _html(out: BinaryIO, about: About) -> Writer:
    from atlas_desktop.exporting.html import HtmlWriter

    return HtmlWriter(out, about)


def _json(out: BinaryIO, about: About) -> Writer:
    from atlas_desktop.exporting.lines import JsonWriter

    return JsonWriter(out, about)


def _jsonl(out: BinaryIO, about: About) -> Writer:
    from atlas_desktop.exporting.lines import LinesWriter

    return LinesWriter(out, about)


def _text(out: BinaryIO, about: About) -> Writer:
    from atlas_desktop.exporting.document import TextWriter

    return TextWriter(out, about)


def _pdf(out: BinaryIO, about: About) -> Writer:
    from atlas_desktop.exporting.pdf import PdfWriter

    return PdfWriter(out, about)


def _csv(out: BinaryIO, about: About) -> Writer:
    from atlas_desktop.exporting.lines import TableWriter

    return TableWriter(out, about)


FORMATS = {
    one.name: one
    for one in (
        Format("md", ".md", _markdown),
        Format("html", ".html", _html),
        Format("txt", ".txt", _text),
        Format("pdf", ".pdf", _pdf, binary=True),
        Format("json", ".json", _json, branches=True),
        Format("jsonl", ".jsonl", _jsonl, branches=True, apart=True),
        Format("csv", ".csv", _csv, branches=True, apart=True),
    )
}

_ALSO = {".markdown": "md", ".htm": "html", ".text": "txt", ".ndjson": "jsonl"}


def _without_wrapping(name: str) -> str:
    return name.lower().removesuffix(".age").removesuffix(".tar")


def ending_of(name: str) -> str:
    """Returns the ending of a file name, such as `.md`, ignoring `.tar` and `.age`; empty if it has none."""
    return PurePath(_without_wrapping(name)).suffix


def format_of(name: str) -> str | None:
    """Returns the format for a file name's ending (ignoring `.tar` and `.age`), or None if it is unknown."""
    lowered = _without_wrapping(name)
    for one in FORMATS.values():
        if lowered.endswith(one.suffix):
            return one.name
    return next((format_ for suffix, format_ in _ALSO.items() if lowered.endswith(suffix)), None)
