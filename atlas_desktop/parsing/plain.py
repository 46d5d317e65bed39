"""Plain text, source code, data in text form, and CSV."""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterator

from atlas_desktop.errors import Refusal
from atlas_desktop.parsing.building import TextBuilder, checked, tidy
from atlas_desktop.parsing.formats import looks_like_text
from atlas_desktop.parsing.protocol import MOST_CHARACTERS, Unreadable
from memory.documents.entities import ParsedText

_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_MOST_BYTES_PER_CHARACTER = 4
_SAMPLE = 65_536
_WESTERN = "cp1252"
# Rare encodings are left out: a short text would often fit one of them by chance.
_ENCODINGS = [
    _WESTERN,
    *("cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp874"),
    *("koi8_r", "koi8_u", "cp866", "mac_roman", "iso8859_2", "iso8859_5", "iso8859_7"),
    *("cp932", "euc_jp", "gb18030", "big5", "cp949"),
]
_LITTLE_CHAOS = 0.1
_DECLARED = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([\w.:-]{2,40})", re.IGNORECASE)
_HEAD = 2_048


def decoded(data: bytes, *, declared: bool = False) -> str:
    """Returns the text of a file: by its byte order mark, as UTF-8, or in the encoding that it seems to have.

    `declared`: the file can name its encoding in its first bytes, as HTML and XML do. Raises `Unreadable` if
    it is not text.
    """
    if len(data) > _MOST_BYTES_PER_CHARACTER * MOST_CHARACTERS:
        raise Unreadable(Refusal.TOO_MUCH_TEXT, MOST_CHARACTERS)
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if not looks_like_text(data[:_SAMPLE]) or b"\0" in data:
        raise Unreadable(Refusal.NOT_TEXT)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return _legacy(data, declared=declared)


def _legacy(data: bytes, *, declared: bool) -> str:
    named = _DECLARED.search(data[:_HEAD]) if declared else None
    if named is not None:
        try:
            return data.decode(named[1].decode("ascii"), "replace")
        except (LookupError, UnicodeError):
            # It names no encoding that Python knows.
            pass
    encoding = _likely(_telling(data))
    if encoding is None:
        raise Unreadable(Refusal.NOT_TEXT)
    return data.decode(encoding, "replace")


def _likely(sample: bytes) -> str | None:
    """Returns the encoding that a text most likely has; None if it seems to be no text."""
    from charset_normalizer import from_bytes

    matches = from_bytes(sample, cp_isolation=_ENCODINGS)
    best = matches.best()
    if best is None:
        return None
    western = any(_WESTERN in one.could_be_from_charset and one.chaos <= _LITTLE_CHAOS for one in matches)
    # A short text gives no evidence of a language.
    return _WESTERN if western and not best.coherence else best.encoding


def _telling(data: bytes) -> bytes:
    """Returns the part of a text that shows its encoding: from the line of the first byte beyond ASCII."""
    first = next((at for at in range(0, len(data), _HEAD) if not data[at : at + _HEAD].isascii()), 0)
    begin = data.rfind(b"\n", 0, first) + 1
    return data[max(begin, first - _HEAD) : first + _SAMPLE]


def read_plain(data: bytes) -> ParsedText:
    return ParsedText(checked(tidy(decoded(data, declared=True))))


def read_csv(data: bytes) -> ParsedText:
    text = decoded(data)
    return _table(text, _delimiter(text))


def read_tsv(data: bytes) -> ParsedText:
    return _table(decoded(data), "\t")


def _table(text: str, delimiter: str) -> ParsedText:
    builder = TextBuilder()
    builder.table(_rows(checked(text), delimiter))
    return builder.result()


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(MOST_CHARACTERS)
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


_DELIMITERS = ",;\t|"
_FIRST_LINES = 20


def _delimiter(text: str) -> str:
    """Returns what separates the columns: what most of the first lines contain equally often."""
    lines = [line for line in text[:_SAMPLE].splitlines() if line.strip()][:_FIRST_LINES]

    def agreement(delimiter: str) -> tuple[int, int]:
        counts = Counter(len(next(csv.reader([line], delimiter=delimiter), [])) - 1 for line in lines)
        counts.pop(0, None)
        return max(((lines_, columns) for columns, lines_ in counts.items()), default=(0, 0))

    return max(_DELIMITERS, key=agreement)
