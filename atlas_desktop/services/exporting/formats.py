"""The formats, by name. What a format needs is imported when it is used."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from atlas_desktop.services.exporting.document import About, Writer
from atlas_desktop.words.catalogue import tr


@dataclass(frozen=True, slots=True)
class Format:
    """`apart`: memories cannot stand in the same file as sessions. `binary`: nothing for a terminal."""

    name: str
    suffix: str
    open: Callable[[BinaryIO, About], Writer]
    apart: bool = False
    binary: bool = False

    @property
    def title(self) -> str:
        return tr(f"exporting.format.{self.name}")


def _markdown(out: BinaryIO, about: About) -> Writer:
    from atlas_desktop.services.exporting.markdown import MarkdownWriter

    return MarkdownWriter(out, about)


def _html(out: BinaryIO, about: About) -> Writer:
    from atlas_desktop.services.exporting.html import HtmlWriter

    return HtmlWriter(out, about)


def _json(out: BinaryIO, about: About) -> Writer:
    from atlas_desktop.services.exporting.structured import JsonWriter

    return JsonWriter(out, about)


def _jsonl(out: BinaryIO, about: About) -> Writer:
    from atlas_desktop.services.exporting.structured import LinesWriter

    return LinesWriter(out, about)


def _text(out: BinaryIO, about: About) -> Writer:
    from atlas_desktop.services.exporting.text import TextWriter

    return TextWriter(out, about)


def _pdf(out: BinaryIO, about: About) -> Writer:
    from atlas_desktop.services.exporting.pdf import PdfWriter

    return PdfWriter(out, about)


def _csv(out: BinaryIO, about: About) -> Writer:
    from atlas_desktop.services.exporting.structured import TableWriter

    return TableWriter(out, about)


FORMATS = {
    one.name: one
    for one in (
        Format("md", ".md", _markdown),
        Format("html", ".html", _html),
        Format("txt", ".txt", _text),
        Format("pdf", ".pdf", _pdf, binary=True),
        Format("json", ".json", _json),
        Format("jsonl", ".jsonl", _jsonl, apart=True),
        Format("csv", ".csv", _csv, apart=True),
    )
}

_ALSO = {".markdown": "md", ".htm": "html", ".text": "txt", ".ndjson": "jsonl"}


def format_of(name: str) -> str | None:
    """The format that the ending of a file name stands for (`.age` aside); None for none."""
    lowered = name.lower().removesuffix(".age").removesuffix(".tar")
    for one in FORMATS.values():
        if lowered.endswith(one.suffix):
            return one.name
    return next((format_ for suffix, format_ in _ALSO.items() if lowered.endswith(suffix)), None)
