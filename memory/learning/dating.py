"""From when something is true: what the words say of time, seen from when they were said."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta

from memory.recall.moments import spans

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTED = ("a an one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTS = {word: count for count, words in enumerate(_COUNTED, 1) for word in words.split()} | {
    "a couple of": 2,
    "a few": 3,
}
_AHEAD = re.compile(
    r"\b(?:(?P<word>tomorrow|the day after tomorrow)|next (?P<unit>week|month|year)"
    r"|(?:next|this|on|coming) (?P<day>" + "|".join(_DAYS) + r")"
    r"|in (?P<count>\d{1,3}|" + "|".join(sorted(_COUNTS, key=len, reverse=True)) + r") "
    r"(?P<units>day|week|month|year)s?)\b",
    re.IGNORECASE,
)
_COMES = re.compile(
    r"\b(?:will|[’']ll|going to|is on|are on|[’']s on|is in|flying|leaving|travell?ing|moving|starting|due"
    r"|coming|have (?:an?|my|the|our)|[’']ve got|we leave|we fly|i leave|i fly|scheduled|planned|booked"
    r"|next|upcoming|(?:i[’']m|i am|we[’']re|we are) \w+ing)\b",
    re.IGNORECASE,
)
_DAYS_IN = {"day": 1, "week": 7, "month": 30, "year": 365}


@dataclass(frozen=True, slots=True)
class Held:
    """The time for which something holds; None where that is not said."""

    since: datetime | None = None
    until: datetime | None = None


def held(text: str, said_at: datetime) -> Held:
    """The first stretch of time that `text` names, as far as it bounds when it is true."""
    ahead = _AHEAD.search(text)
    if ahead is not None and not re.search(r"\b(?:last|ago|yesterday)\b", text, re.IGNORECASE):
        day = _midnight(said_at) + timedelta(days=_days_ahead(ahead, said_at))
        if ahead["day"] is None or _COMES.search(text):
            return Held(day)
    found = spans(text, said_at)
    if not found:
        return Held()
    span = found[0]
    if span.yearly and span.end <= said_at and _COMES.search(text):
        return Held(_next_year(span.start))
    if span.start.year <= _FIRST_YEAR:
        return Held(None, span.end)
    return Held(span.start)


_FIRST_YEAR = 1970


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _next_year(moment: datetime) -> datetime:
    day = 28 if (moment.month, moment.day) == (2, 29) else moment.day
    return moment.replace(year=moment.year + 1, day=day)


def _days_ahead(match: re.Match[str], said_at: datetime) -> int:
    if match["word"]:
        return 1 if match["word"].lower() == "tomorrow" else 2
    if match["day"]:
        return (_DAYS.index(match["day"].lower()) - said_at.weekday()) % len(_DAYS) or len(_DAYS)
    if match["unit"]:
        return _DAYS_IN[match["unit"].lower()]
    count = match["count"].lower()
    number = int(count) if count.isdigit() else _COUNTS[count]
    return number * _DAYS_IN[match["units"].lower()]
