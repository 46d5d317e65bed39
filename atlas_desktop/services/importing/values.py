"""Out of data of any shape, what it should be, or nothing. No value makes any of these raise."""

import json
import math
import re
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# In seconds, milliseconds, microseconds or nanoseconds: each range ends in the year 5138.
_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))
_DIGITS = re.compile(r"\d{9,20}(?:\.\d{1,9})?")
_LONGEST_ID = 1000
_HALVES = re.compile("[\ud800-\udfff]")
_DEEPEST = 100


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
    return json.dumps(_plain(value, _DEEPEST)) if value else "{}"


def readable_json(value: dict[str, Any]) -> str:
    """As `json_text`, with the letters of every script as they are; nothing for nothing."""
    return json.dumps(_plain(value, _DEEPEST), ensure_ascii=False) if value else ""


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
