"""Reads JSON of any shape and size: object by object, with values that never raise."""

import json
import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, BinaryIO, cast

import msgspec

from atlas_desktop.importing.entities import Beside, NotJson, Unreadable
from atlas_desktop.importing.sources import Part
from atlas_desktop.words.catalogue import tr

LONGEST = 64 * 1024 * 1024
"""Bytes of one conversation."""
_CHUNK = 1024 * 1024
_LARGEST_STEP = 16 * _CHUNK
# Up to the next bracket that is in no string, or to a quote whose string does not end in what was read.
_NEXT = re.compile(rb'[^"{}\[\]]*+(?:"(?:[^"\\]++|\\.)*+"[^"{}\[\]]*+)*+([{}\[\]"])', re.DOTALL)
_BARE = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[^\s,"]++', re.DOTALL)
# An object whole, as deep as nearly all are, found without a step in Python for each of its brackets.
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_DEPTH = 12


def _whole(depth: int) -> bytes:
    plain = rb'[^"{}\[\]]*+'
    inner = plain + rb"(?:" + _STRING + plain + rb")*+"
    for _ in range(depth):
        inner = plain + rb"(?:(?:" + _STRING + rb"|[{\[]" + inner + rb"[}\]])" + plain + rb")*+"
    return rb"[\s,]*+(\{" + inner + rb"\})"


_WHOLE = re.compile(_whole(_DEPTH), re.DOTALL)
_OPENERS = {b"}": b"{", b"]": b"["}
# How an object begins: its first key, and its second where the value of the first is plain.
_KEY = rb'"(?:[^"\\]++|\\.)*+"'
_PLAIN = rb'\s*+(?:"(?:[^"\\]++|\\.)*+"|[^\s,"{}\[\]]++)\s*+,\s*+'
_BEGINNING = re.compile(rb"\{\s*+(" + _KEY + rb")\s*+:(?:" + _PLAIN + rb"(" + _KEY + rb")\s*+:)?", re.DOTALL)
_READ_AGAIN = 8
"""So many times `longest` bytes of a file are read again at most, for what begins within what is broken."""
_BOM = b"\xef\xbb\xbf"
_HEAD = 64 * 1024
_WRAPPED = re.compile(r"(?:conversations|chats|sessions|threads)\.item")

_DEEPEST = 500
_LOOKED_AT = 1024
_IN_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_SIGN = re.compile(rb'["{}\[\]]')

Note = Callable[[str, str], None]
"""Is told where something was left out, and why."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The value of one object or array, or why it could not be had. `number` counts from 1."""

    number: int
    value: Any
    why: str = ""


def objects(part: Part, note: Note) -> Iterator[tuple[str, Any]]:
    """Each value of a JSON file that is an object or an array, with its place: those of an array, or those in
    the one list that an object wraps, or those that stand one after another.

    Raises `Unreadable`, `OSError`.
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
    """Where an object that wraps a list of conversations has it."""
    import ijson  # type: ignore[import-untyped]

    if not head.lstrip(_BOM + b" \t\r\n").startswith(b"{"):
        return None
    try:
        # A little at a time: what ijson makes of deep brackets grows with the square of their number.
        for prefix, event, _ in ijson.parse(head.removeprefix(_BOM), use_float=True, buf_size=_LOOKED_AT):
            if len(prefix) > _LOOKED_AT:
                return None
            if event == "start_map" and _WRAPPED.fullmatch(prefix):
                return str(prefix)
    except (ijson.JSONError, ValueError):
        # The head ends in the middle of something, or is no JSON: then it wraps nothing.
        return None
    return None


def streamed(part: Part, prefix: str, note: Note) -> Iterator[tuple[str, Any]]:
    """Each value of the list that stands in an object at `prefix`, as ijson names it."""
    import ijson

    number = 0
    with part.open() as stream:
        try:
            for value in ijson.items(_Shallow(stream), prefix, use_float=True):
                number += 1
                yield f"{part.where}:{number}", value
        except (ijson.JSONError, ValueError):
            note(f"{part.where}:{number + 1}", tr("left_out.nothing_after"))


class _Shallow:
    """A stream of JSON that ends with `Unreadable` where it is nested too deeply: ijson keeps the whole path
    of each bracket that is open, and half a million of them would take all memory there is."""

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
                    raise Unreadable(tr("left_out.too_deep"))
        return data


def pieces(stream: BinaryIO, longest: int | None = None) -> Iterator[Piece]:
    """What an array holds, or, where there is none, what stands one after another.

    Values of an array that are neither objects nor arrays have places too; a run of them is one piece.
    """
    yield from _Scanner(stream, LONGEST if longest is None else longest).pieces()


def _like(data: bytes, at: int) -> "re.Pattern[bytes] | None":
    """What begins as the object at this place does, behind a comma or on a line of its own."""
    begun = _BEGINNING.match(data, at)
    if begun is None:
        return None
    first, second = begun.groups()
    more = b"" if second is None else _PLAIN + re.escape(second) + rb"\s*+:"
    return re.compile(rb"[,\n]\s*+(\{\s*+" + re.escape(first) + rb"\s*+:" + more + b")", re.DOTALL)


def decoded(data: bytes) -> Any:
    """The value of JSON text. Raises `Unreadable`."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        # The standard library's reader is slower, and knows halves of surrogate pairs and NaN.
        try:
            return json.loads(data.removeprefix(_BOM))
        except UnicodeDecodeError:
            raise Unreadable(tr("left_out.not_utf8")) from None
        except (ValueError, RecursionError):
            raise NotJson(tr("left_out.not_json")) from None
    except RecursionError:
        raise Unreadable(tr("left_out.too_deep")) from None


class _Scanner:
    def __init__(self, stream: BinaryIO, longest: int) -> None:
        self._stream = stream
        self._longest = longest
        self._buffer = b""
        self._at = 0
        # Of the object that is being read: where it begins, its open brackets, and how many of each kind.
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
        """Bytes that are read and that no piece has come of yet."""
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
            yield self._piece(None, tr("left_out.cut"))

    def _read_on(self, step: int) -> Piece | None:
        """Reads on, unless the object that is being read takes too much, or the file has ended."""
        too_long = self._start is not None and len(self._buffer) - self._start > self._longest
        if too_long and (piece := self._go_back(tr("left_out.not_json"), len(self._buffer))) is not None:
            return piece
        if not self._more(step):
            piece = None if too_long else self._go_back(tr("left_out.not_json"), len(self._buffer))
            self._ended = piece is None
            return piece
        if len(self._buffer) <= 2 * self._longest:
            return None
        self._ended = True
        self._open.clear()
        self._at = len(self._buffer)
        return self._piece(None, tr("left_out.longer_all", bytes=self._longest))

    def _go_back(self, why: str, end: int) -> Piece | None:
        """To where, within the object that is being read, another one like those before it begins: brackets
        or quotes of it do not match, and would swallow what follows. None when there is none."""
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
        """What stands before the next bracket between two objects, unless it is but a comma."""
        if self._open or not self._in_array:
            return
        number = sum(1 for _ in _BARE.finditer(self._buffer, self._at, end))
        if number:
            yield self._piece(None, Beside(tr("left_out.bare", count=number)))
            self._number += number - 1

    def _at_once(self) -> Piece | None:
        """The next object, if it is sound and wholly in what was read."""
        match = _WHOLE.match(self._buffer, self._at)
        if match is None or len(match[1]) > self._longest:
            return None
        try:
            value = decoded(match[1])
        except Unreadable:
            # Brackets that do not match may have led too far.
            return None
        self._at = match.end()
        self._like = self._like or _like(self._buffer, match.start(1))
        return self._piece(value)

    def _more(self, step: int) -> bool:
        """Reads on; what is done with is let go."""
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
        """A bracket that closes nothing of the object is passed over."""
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
            yield self._piece(None, tr("left_out.longer", bytes=self._longest))
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
    """A finite number; booleans are none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def identifier(value: Any) -> str:
    """An id as its origin wrote it; a very long one, or one that cannot be stored so, by its hash."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 1 << 64:
        return str(value)
    given = text(value)
    return given if len(given) <= _LONGEST_ID and not _HALVES.search(given) else digest(given)


def digest(*parts: str) -> str:
    """An id made from what something holds, so that it is the same the next time."""
    made = sha256()
    for part in parts:
        encoded = part.encode("utf-8", "surrogatepass")
        made.update(len(encoded).to_bytes(8, "big") + encoded)
    return made.hexdigest()[:24]


def moment(value: Any) -> datetime | None:
    """A time from seconds or smaller units since 1970, or ISO 8601 text; without an offset it is UTC."""
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
    """In UTC. Raises `OverflowError` at the ends of time."""
    return (found if found.tzinfo is not None else found.replace(tzinfo=UTC)).astimezone(UTC)


def json_text(value: dict[str, Any]) -> str:
    """JSON that any reader accepts: in ASCII, without numbers that are none, and not nested without end."""
    return json.dumps(_plain(value, _DEEPEST_VALUE)) if value else "{}"


def readable_json(value: dict[str, Any]) -> str:
    """As `json_text`, with the letters of every script as they are; nothing for nothing."""
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
