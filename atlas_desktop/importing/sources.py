"""Sources of exports: files, zip archives and folders, and JSON of any size read object by object."""

import io
import json
import math
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec

from atlas_desktop.importing.entities import Meter, NotASession, NotJson, Unreadable
from atlas_desktop.locale import _, ngettext
from atlas_desktop.services.cleaning import clean_line

MOST_MEMBERS = 100_000
LARGEST_ARCHIVE = 16 * 1024**3
"""Maximum bytes read from one archive in total."""
HIGHEST_RATIO = 200
_SMALL = 1024 * 1024
_MAGIC = b"PK\x03\x04"
_EMPTY = b"PK\x05\x06"
_UNIX = 3


@dataclass(frozen=True, slots=True)
class Part:
    """One file of an export.

    `name` is its path in the export, `where` is shown to users, `changed_at` is aware.
    """

    name: str
    where: str
    size: int
    changed_at: datetime
    meter: Meter
    open: Callable[[], BinaryIO]
    path: Path | None = None

    def head(self, length: int) -> bytes:
        """Returns the first `length` bytes, without counting them as read."""
        done = self.meter.done
        with self.open() as stream:
            data = stream.read(length)
        self.meter.done = done
        return data


@dataclass(slots=True)
class Source:
    """The files of an export, sorted by name, and the reasons for those that cannot be read."""

    name: str
    parts: list[Part]
    refused: list[tuple[str, str]]
    archive: zipfile.ZipFile | None = None

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    def close(self) -> None:
        if self.archive is not None:
            self.archive.close()


class _Counted(io.RawIOBase):
    """A stream that reports the bytes read to a meter."""

    def __init__(self, stream: BinaryIO, meter: Meter) -> None:
        self._stream = stream
        self._meter = meter

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        try:
            data = self._stream.read(len(buffer))
        except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as fault:
            raise Unreadable(_why(fault)) from None
        except Exception as fault:
            # The decompressors' exceptions have no other common base class.
            if type(fault).__module__ in ("zlib", "bz2", "lzma", "_lzma"):
                raise Unreadable(_("the archive is damaged")) from None
            raise
        buffer[: len(data)] = data
        self._meter.done += len(data)
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def _why(fault: Exception) -> str:
    if isinstance(fault, RuntimeError) and "encrypted" in str(fault):
        return _("it is encrypted")
    return _("the archive is damaged")


def open_source(path: Path, meter: Meter, endings: tuple[str, ...]) -> Source:
    """Opens a file, archive or folder; of the last two, the files with these endings.

    Raises `OSError`, and `Unreadable` for anything else and for an archive that is refused as a whole.
    """
    name = clean_line(path.name)
    if path.is_dir():
        source = Source(name, [], [])
        for part in _in_folder(path, name, meter, endings):
            source.parts.append(part)
        return source
    if path.exists() and not path.is_file():
        # Opening a pipe blocks until somebody writes to it, and a device has no end.
        raise Unreadable(_("it is not a file"))
    with path.open("rb") as file:
        magic = file.read(4)
    if magic in (_MAGIC, _EMPTY):
        return _archive(path, name, meter, endings)
    return Source(name, [_file(path, path.name, name, meter)], [])


def _file(path: Path, name: str, where: str, meter: Meter) -> Part:
    known = path.stat()

    def read() -> BinaryIO:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) * (where != name))
        return _counted(os.fdopen(descriptor, "rb"), meter)

    return Part(name, where, known.st_size, datetime.fromtimestamp(known.st_mtime, UTC), meter, read, path)


def _counted(stream: BinaryIO, meter: Meter) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(_Counted(stream, meter), 1 << 16))


def _in_folder(folder: Path, name: str, meter: Meter, endings: tuple[str, ...]) -> Iterator[Part]:
    """Yields the regular files with these endings in a folder and below it, by name."""
    for at, folders, files in os.walk(folder, followlinks=False):
        folders.sort()
        for file in sorted(files):
            path = Path(at) / file
            if path.suffix.lower() in endings and stat.S_ISREG(path.lstat().st_mode):
                inner = path.relative_to(folder).as_posix()
                yield _file(path, inner, f"{name}/{clean_line(inner)}", meter)


def _archive(path: Path, name: str, meter: Meter, endings: tuple[str, ...]) -> Source:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError, UnicodeDecodeError):
        raise Unreadable(_("the archive is damaged")) from None
    try:
        members = archive.infolist()
        if len(members) > MOST_MEMBERS:
            raise Unreadable(_("an archive with more than {most} files", most=MOST_MEMBERS))
        source = Source(name, [], [], archive)
        for member in sorted(members, key=lambda one: one.filename):
            if member.is_dir() or not member.filename.lower().endswith(endings):
                continue
            where = f"{name}/{clean_line(member.filename)}"
            why = _refused(member)
            if why is None:
                source.parts.append(_member(archive, member, where, meter))
            else:
                source.refused.append((where, why))
        if source.size > LARGEST_ARCHIVE:
            raise Unreadable(_("an archive larger than {most} bytes", most=LARGEST_ARCHIVE))
    except BaseException:
        archive.close()
        raise
    return source


def _refused(member: zipfile.ZipInfo) -> str | None:
    name = member.filename.replace("\\", "/")
    if name.startswith("/") or ".." in name.split("/") or name[1:2] == ":":
        return _("its path points outside the archive")
    if member.create_system == _UNIX and stat.S_ISLNK(member.external_attr >> 16):
        return _("it is a link")
    if member.flag_bits & 1:
        return _("it is encrypted")
    if member.file_size > _SMALL and member.file_size > HIGHEST_RATIO * max(member.compress_size, 1):
        return _("its compression is too high for a conversation")
    return None


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, where: str, meter: Meter) -> Part:
    def read() -> BinaryIO:
        try:
            return _counted(cast("BinaryIO", archive.open(member)), meter)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as fault:
            raise Unreadable(_why(fault)) from None

    try:
        changed = datetime(*member.date_time, tzinfo=UTC)
    except ValueError:
        changed = datetime(1980, 1, 1, tzinfo=UTC)
    return Part(member.filename, where, member.file_size, changed, meter, read)


LONGEST = 64 * 1024 * 1024
"""Maximum bytes of one conversation."""
_CHUNK = 1024 * 1024
_LARGEST_STEP = 16 * _CHUNK
# Up to the next bracket outside strings, or to a quote whose string does not end in the data read so far.
_NEXT = re.compile(rb'[^"{}\[\]]*+(?:"(?:[^"\\]++|\\.)*+"[^"{}\[\]]*+)*+([{}\[\]"])', re.DOTALL)
_BARE = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[^\s,"]++', re.DOTALL)
# A whole object, as deep as nearly all are, found without a Python step for each of its brackets.
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_DEPTH = 12


def _whole(depth: int) -> bytes:
    plain = rb'[^"{}\[\]]*+'
    inner = plain + rb"(?:" + _STRING + plain + rb")*+"
    for _unused in range(depth):
        inner = plain + rb"(?:(?:" + _STRING + rb"|[{\[]" + inner + rb"[}\]])" + plain + rb")*+"
    return rb"[\s,]*+(\{" + inner + rb"\})"


_WHOLE = re.compile(_whole(_DEPTH), re.DOTALL)
_OPENERS = {b"}": b"{", b"]": b"["}
# The beginning of an object: its first key, and its second if the first value is neither object nor array.
_KEY = rb'"(?:[^"\\]++|\\.)*+"'
_PLAIN = rb'\s*+(?:"(?:[^"\\]++|\\.)*+"|[^\s,"{}\[\]]++)\s*+,\s*+'
_BEGINNING = re.compile(rb"\{\s*+(" + _KEY + rb")\s*+:(?:" + _PLAIN + rb"(" + _KEY + rb")\s*+:)?", re.DOTALL)
_READ_AGAIN = 8
"""At most this many times `longest` bytes of a file are read again, for objects inside a broken one."""
_BOM = b"\xef\xbb\xbf"
_HEAD = 64 * 1024
_WRAPPED = re.compile(r"(?:conversations|chats|sessions|threads)\.item")

_DEEPEST = 500
_LOOKED_AT = 1024
_IN_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_SIGN = re.compile(rb'["{}\[\]]')

Note = Callable[[str, str], None]
"""Called with the place and the reason of each omission."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The value of one object or array, or the reason it could not be read; `number` counts from 1."""

    number: int
    value: Any
    why: str = ""


def objects(part: Part, note: Note) -> Iterator[tuple[str, Any]]:
    """Yields each object or array of a JSON file with its place.

    These are the elements of an array, those of the one list that an object wraps, or values that follow one
    another. Raises `Unreadable`, `OSError`.
    """
    wrapped = _wrapped(part.head(_HEAD))
    if wrapped is not None:
        yield from streamed(part, wrapped, note)
        return
    with part.open() as stream:
        scanner = _Scanner(stream, LONGEST)
        for piece in scanner.pieces():
            part.meter.ahead = scanner.ahead
            where = f"{part.where}:{piece.number}"
            if piece.why:
                note(where, piece.why)
            else:
                yield where, piece.value


def _wrapped(head: bytes) -> str | None:
    """Returns the path of the list of conversations that an object wraps, or None."""
    import ijson  # type: ignore[import-untyped]

    if not head.lstrip(_BOM + b" \t\r\n").startswith(b"{"):
        return None
    try:
        # Small reads: the data that ijson builds for nested brackets grows with the square of their number.
        for prefix, event, _unused in ijson.parse(
            head.removeprefix(_BOM), use_float=True, buf_size=_LOOKED_AT
        ):
            if len(prefix) > _LOOKED_AT:
                return None
            if event == "start_map" and _WRAPPED.fullmatch(prefix):
                return str(prefix)
    except (ijson.JSONError, ValueError):
        # The head ends in the middle of a value, or is not JSON: no wrapped list was found.
        return None
    return None


def streamed(part: Part, prefix: str, note: Note) -> Iterator[tuple[str, Any]]:
    """Yields each value of the list at `prefix` (in ijson's notation) of an object, with its place."""
    import ijson

    number = 0
    with part.open() as stream:
        try:
            for value in ijson.items(_Shallow(stream), prefix, use_float=True):
                number += 1
                yield f"{part.where}:{number}", value
        except (ijson.JSONError, ValueError):
            note(f"{part.where}:{number + 1}", _("not JSON; nothing after it can be read"))


class _Shallow:
    """A stream of JSON that raises `Unreadable` where it is nested too deeply.

    ijson keeps the full path of each open bracket, and half a million of them would use up all memory.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._depth = 0
        self._in_string = self._escaped = False

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        at = 0
        if self._escaped and data:
            at, self._escaped = 1, False
        while at < len(data):
            if self._in_string:
                at = cast("re.Match[bytes]", _IN_STRING.match(data, at)).end()
                self._escaped = data[at : at + 1] == b"\\"
                self._in_string = data[at : at + 1] != b'"'
                at += 1
                continue
            sign = _SIGN.search(data, at)
            if sign is None:
                break
            at = sign.end()
            if sign[0] == b'"':
                self._in_string = True
            else:
                self._depth += 1 if sign[0] in b"{[" else -1
                if self._depth > _DEEPEST:
                    raise Unreadable(_("nested too deeply"))
        return data


def pieces(stream: BinaryIO, longest: int | None = None) -> Iterator[Piece]:
    """Yields the elements of an array or, if there is none, the values that follow one another.

    Array elements that are neither objects nor arrays are numbered too; a run of them is one piece.
    """
    yield from _Scanner(stream, LONGEST if longest is None else longest).pieces()


def _like(data: bytes, at: int) -> "re.Pattern[bytes] | None":
    """Returns a pattern for objects that begin as the one at `at`, after a comma or on a separate line."""
    begun = _BEGINNING.match(data, at)
    if begun is None:
        return None
    first, second = begun.groups()
    more = b"" if second is None else _PLAIN + re.escape(second) + rb"\s*+:"
    return re.compile(rb"[,\n]\s*+(\{\s*+" + re.escape(first) + rb"\s*+:" + more + b")", re.DOTALL)


def decoded(data: bytes) -> Any:
    """Returns the value of JSON text. Raises `Unreadable`."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # The standard library's parser is slower, but accepts lone surrogates and NaN.
        try:
            return json.loads(data.removeprefix(_BOM))
        except UnicodeDecodeError:
            raise Unreadable(_("not UTF-8")) from None
        except (ValueError, RecursionError):
            raise NotJson(_("not JSON")) from None
    except RecursionError:
        raise Unreadable(_("nested too deeply")) from None


class _Scanner:
    def __init__(self, stream: BinaryIO, longest: int) -> None:
        self._stream = stream
        self._longest = longest
        self._buffer = b""
        self._at = 0
        # The object being read: where it begins, its open brackets, and the number of each kind.
        self._start: int | None = None
        self._open: list[bytes] = []
        self._count = {b"{": 0, b"[": 0}
        self._number = 0
        self._in_array: bool | None = None
        self._like: re.Pattern[bytes] | None = None
        self._again = _READ_AGAIN * longest
        self._ended = False

    @property
    def ahead(self) -> int:
        """Bytes that are read but not yet part of a piece."""
        return len(self._buffer) - self._at

    def pieces(self) -> Iterator[Piece]:
        step = _CHUNK
        while True:
            if self._in_array is not None and not self._open and (piece := self._at_once()) is not None:
                yield piece
                continue
            match = _NEXT.match(self._buffer, self._at)
            if match is None or match[1] == b'"':
                if (piece := self._read_on(step)) is not None:
                    yield piece
                if self._ended:
                    break
                step = min(step * 2, _LARGEST_STEP)
                continue
            step = _CHUNK
            yield from self._bare(match.start(1))
            self._at = match.end()
            bracket = match[1]
            if self._in_array is None and bracket == b"[":
                self._in_array = True
            elif bracket not in _OPENERS:
                self._in_array = self._in_array or False
                self._opens(bracket)
            elif self._open:
                yield from self._closes(_OPENERS[bracket])
            elif self._in_array and bracket == b"]":
                return
        yield from self._bare(len(self._buffer))
        if self._open:
            yield self._piece(None, _("the file ends in the middle of it"))

    def _read_on(self, step: int) -> Piece | None:
        """Reads more data; returns a piece if the current object is too long or the file has ended."""
        too_long = self._start is not None and len(self._buffer) - self._start > self._longest
        if too_long and (piece := self._go_back(_("not JSON"), len(self._buffer))) is not None:
            return piece
        if not self._more(step):
            piece = None if too_long else self._go_back(_("not JSON"), len(self._buffer))
            self._ended = piece is None
            return piece
        if len(self._buffer) <= 2 * self._longest:
            return None
        self._ended = True
        self._open.clear()
        self._at = len(self._buffer)
        return self._piece(
            None, _("longer than {bytes} bytes; the rest was skipped too", bytes=self._longest)
        )

    def _go_back(self, why: str, end: int) -> Piece | None:
        """Goes back to the next object inside the current one that begins like those before it.

        Otherwise, unmatched brackets or quotes would swallow the following objects. Returns a piece for the
        current object, or None if there is no such object or too much would be read again.
        """
        if self._start is None:
            return None
        like = self._like or _like(self._buffer, self._start)
        found = None if like is None else like.search(self._buffer, self._start + 1, end)
        if found is None or end - found.start(1) > self._again:
            return None
        self._again -= end - found.start(1)
        self._at = found.start(1)
        self._open.clear()
        self._count = dict.fromkeys(self._count, 0)
        return self._piece(None, why)

    def _bare(self, end: int) -> Iterator[Piece]:
        """Yields a piece for bare values before the next bracket between two objects, but not for commas."""
        if self._open or not self._in_array:
            return
        number = sum(1 for _unused in _BARE.finditer(self._buffer, self._at, end))
        if number:
            yield self._piece(
                None,
                NotASession(
                    ngettext(
                        "not a conversation: a bare value", "not conversations: {count} bare values", number
                    )
                ),
            )
            self._number += number - 1

    def _at_once(self) -> Piece | None:
        """Returns the next object if it is valid and entirely in the buffer."""
        match = _WHOLE.match(self._buffer, self._at)
        if match is None or len(match[1]) > self._longest:
            return None
        try:
            value = decoded(match[1])
        except Unreadable:
            # Brackets that do not match may have extended the match too far.
            return None
        self._at = match.end()
        self._like = self._like or _like(self._buffer, match.start(1))
        return self._piece(value)

    def _more(self, step: int) -> bool:
        """Reads more data and drops finished objects; returns False at the end of the file."""
        more = self._stream.read(step)
        if not more:
            return False
        if self._start is not None and self._at - self._start > self._longest:
            self._start = None
        keep = self._at if self._start is None else self._start
        self._buffer = self._buffer[keep:] + more
        self._at -= keep
        self._start = None if self._start is None else 0
        return True

    def _opens(self, bracket: bytes) -> None:
        if not self._open:
            self._start = self._at - 1
        self._open.append(bracket)
        self._count[bracket] += 1

    def _closes(self, opener: bytes) -> Iterator[Piece]:
        """Closes brackets and yields an object that is complete; ignores an unmatched closing bracket."""
        if not self._count[opener]:
            return
        while True:
            popped = self._open.pop()
            self._count[popped] -= 1
            if popped == opener:
                break
        if self._open:
            return
        if self._start is None or self._at - self._start > self._longest:
            yield self._piece(None, _("longer than {bytes} bytes", bytes=self._longest))
            return
        try:
            value = decoded(self._buffer[self._start : self._at])
        except Unreadable as fault:
            yield self._go_back(fault.why, self._at) or self._piece(None, fault.why)
        else:
            self._like = self._like or _like(self._buffer, self._start)
            yield self._piece(value)

    def _piece(self, value: Any, why: str = "") -> Piece:
        self._number += 1
        self._start = None
        return Piece(self._number, value, why)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# In seconds, milliseconds, microseconds or nanoseconds: each range ends in the year 5138.
_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))
_DIGITS = re.compile(r"\d{9,20}(?:\.\d{1,9})?")
_LONGEST_ID = 1000
_HALVES = re.compile("[\ud800-\udfff]")
_DEEPEST_VALUE = 100


def mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def sequence(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def texts(value: Any) -> list[str]:
    return [one for one in sequence(value) if isinstance(one, str) and one]


def number(value: Any) -> float | None:
    """Returns a finite number, or None; booleans are not numbers."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def identifier(value: Any) -> str:
    """Returns an id as its origin wrote it, or its hash if it is very long or cannot be stored."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 64:
        return str(value)
    given = text(value)
    return given if len(given) <= _LONGEST_ID and not _HALVES.search(given) else digest(given)


def digest(*parts: str) -> str:
    """Returns an id derived from content, so that it is the same the next time."""
    made = sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        made.update(len(encoded).to_bytes(8, "big") + encoded)
    return made.hexdigest()[:24]


def moment(value: Any) -> datetime | None:
    """Parses a time: seconds or smaller units since 1970, or ISO 8601 text; without an offset it is UTC."""
    if isinstance(value, str):
        given = value.strip()
        if _DIGITS.fullmatch(given):
            return _since_epoch(float(given))
        return _iso(given)
    found = number(value)
    return None if found is None else _since_epoch(found)


def _since_epoch(amount: float) -> datetime | None:
    if amount <= 0:
        return None
    for end, unit in _UNITS:
        if amount < end:
            return _EPOCH + timedelta(microseconds=round(amount / unit * 1e6))
    return None


def _iso(given: str) -> datetime | None:
    if not 8 <= len(given) <= 64:
        return None
    try:
        found = datetime.fromisoformat(given.removesuffix(" UTC"))
        return aware(found)
    except (ValueError, OverflowError):
        return None


def aware(found: datetime) -> datetime:
    """Converts a time to UTC. Raises `OverflowError` at the limits of `datetime`."""
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).astimezone(UTC)


def json_text(value: dict[str, Any]) -> str:
    """Returns JSON that any reader accepts: ASCII, with finite numbers only, and with limited nesting."""
    return json.dumps(_plain(value, _DEEPEST_VALUE)) if value else "{}"


def readable_json(value: dict[str, Any]) -> str:
    """Returns JSON like `json_text`, with non-ASCII letters unescaped; empty for an empty mapping."""
    return json.dumps(_plain(value, _DEEPEST_VALUE), ensure_ascii=False) if value else ""


def _plain(value: Any, depth: int) -> Any:
    if depth == 0:
        return None
    if isinstance(value, dict):
        return {str(key): _plain(one, depth - 1) for key, one in value.items()}
    if isinstance(value, list):
        return [_plain(one, depth - 1) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
