"""Reads English expressions of time in a question as spans of time; others are not evidence."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_COUNTED = "one two three four five six seven eight nine ten eleven twelve"
_NUMBERS = {word: value for value, word in enumerate(_COUNTED.split(), start=1)} | {
    "a": 1,
    "an": 1,
    "a couple of": 2,
    "a few": 3,
    "several": 4,
}

_MONTH = r"(?P<month>" + "|".join(f"{name}|{name[:3]}\\.?" for name in _MONTHS) + r"|sept\.?)"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_COUNT = r"(?P<count>\d{1,3}|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + r")"
_UNIT = r"(?P<unit>day|week|month|year)s?"
_PREPOSITION = r"(?:in|of|during|since|before|after|until|till|by|from|this|last|early|late|mid)[ -]"

_FORMS = tuple(
    (name, re.compile(rf"\b{pattern}\b", re.IGNORECASE))
    for name, pattern in (
        ("iso", rf"{_YEAR}-(?P<number>[01]\d)-(?P<day>[0-3]\d)"),
        ("day", rf"{_DAY}(?: of)? {_MONTH},?(?: {_YEAR})?"),
        ("day", rf"{_MONTH} {_DAY}(?!\d),?(?: {_YEAR})?"),
        ("month", rf"{_MONTH},? {_YEAR}"),
        ("month", rf"{_PREPOSITION}{_MONTH}"),
        ("ago", rf"{_COUNT} {_UNIT} ago"),
        ("unit", rf"(?P<which>last|past|previous|this) {_UNIT}"),
        ("weekday", r"(?P<which>last|on|this) (?P<weekday>" + "|".join(_DAYS) + ")"),
        ("relative", r"(?P<word>the day before yesterday|yesterday|today|this morning|tonight|last night)"),
        ("year", rf"{_PREPOSITION}{_YEAR}"),
    )
)

_OPEN_AFTER = re.compile(r"\b(?:since|after|from)\s+(?:the\s+)?$", re.IGNORECASE)
_OPEN_BEFORE = re.compile(r"\b(?:before|until|till|by|prior to)\s+(?:the\s+)?$", re.IGNORECASE)
_LEADS = re.compile(r"^(?:since|after|from)[ -]", re.IGNORECASE)
_ENDS = re.compile(r"^(?:before|until|till|by)[ -]", re.IGNORECASE)

_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_LATEST = datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Span:
    """A time from `start` up to but not including `end`; both aware. `yearly`: no year was named, so it may
    be that of any other year."""

    start: datetime
    end: datetime
    yearly: bool = False

    def not_after(self, moment: datetime) -> "Span":
        """Returns the latest such span that has begun by `moment`: itself, unless it is `yearly`."""
        years = max(0, self.start.year - moment.year) if self.yearly else 0
        if self.yearly and _earlier(self.start, years) > moment:
            years += 1
        return Span(_earlier(self.start, years), _earlier(self.end, years), self.yearly) if years else self


def _earlier(moment: datetime, years: int) -> datetime:
    if moment.year - years < _EARLIEST.year or moment >= _LATEST:
        return moment
    # 29 February becomes 28 February: most years have no 29th.
    day = 28 if (moment.month, moment.day) == (2, 29) else moment.day
    return moment.replace(year=moment.year - years, day=day)


def spans(text: str, now: datetime) -> tuple[Span, ...]:
    """Returns the spans of time that `text` names, in the order of the text, relative to `now` (aware)."""
    found: list[tuple[int, Span]] = []
    taken: list[tuple[int, int]] = []
    for form, pattern in _FORMS:
        for match in pattern.finditer(text):
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue
            span = _READERS[form](match, now)
            if span is None:
                continue
            taken.append(match.span())
            span = _opened(span, text[: match.start()], match[0])
            if form in {"day", "month"} and not match.groupdict().get("year"):
                span = Span(span.start, span.end, yearly=True)
            found.append((match.start(), span))
    return tuple(span for _, span in sorted(found, key=lambda one: one[0]))


_ASKS_WHEN = re.compile(
    r"\bwhen\b|\bhow (?:long|many (?:days|weeks|months|years))\b|\bsince when\b"
    r"|\b(?:what|which) (?:date|day|year|month|time)\b",
    re.IGNORECASE,
)
_OF_TIME = frozenset(
    (
        *("yesterday", "today", "tonight", "tomorrow", "last", "next", "ago", "recently"),
        *("week", "weeks", "weekend", "month", "months", "year", "years"),
        *_DAYS,
        *(month for month in _MONTHS if month not in {"may", "march"}),
        *map(str, range(1900, 2100)),
    )
)
_WORD = re.compile(r"\w+")


def asks_when(question: str) -> bool:
    """Returns whether the answer is a time."""
    return _ASKS_WHEN.search(question) is not None


def speaks_of_time(text: str) -> bool:
    """Returns whether `text` states when something was or will be. "May" and "march" alone do not count."""
    # Runs on every message of a room: a set of words is ten times as fast as a pattern.
    return not _OF_TIME.isdisjoint(_WORD.findall(text.lower()))


def _opened(span: Span, lead: str, words: str) -> Span:
    if _OPEN_AFTER.search(lead) or _LEADS.match(words):
        return Span(span.start, _LATEST)
    if _OPEN_BEFORE.search(lead) or _ENDS.match(words):
        return Span(_EARLIEST, span.start)
    return span


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _day(moment: datetime) -> Span:
    return Span(moment, moment + timedelta(days=1))


def _month(now: datetime, year: int, month: int) -> Span:
    start = _midnight(now).replace(year=year, month=month, day=1)
    following = (year + 1, 1) if month == len(_MONTHS) else (year, month + 1)
    return Span(start, start.replace(year=following[0], month=following[1]))


def _number_of_month(name: str) -> int:
    return next(at for at, full in enumerate(_MONTHS, start=1) if full.startswith(name[:3].lower()))


def _latest_year(now: datetime, month: int) -> int:
    """Returns the year of the latest such month that has begun."""
    return now.year if month <= now.month else now.year - 1


def _read_iso(match: re.Match[str], now: datetime) -> Span | None:
    return _dated(now, int(match["year"]), int(match["number"]), int(match["day"]))


def _read_day(match: re.Match[str], now: datetime) -> Span | None:
    month = _number_of_month(match["month"])
    year = int(match["year"]) if match["year"] else _latest_year(now, month)
    return _dated(now, year, month, int(match["day"]))


def _dated(now: datetime, year: int, month: int, day: int) -> Span | None:
    try:
        return _day(_midnight(now).replace(year=year, month=month, day=day))
    except ValueError:
        return None


def _read_month(match: re.Match[str], now: datetime) -> Span | None:
    month = _number_of_month(match["month"])
    year = match.groupdict().get("year")
    return _month(now, int(year) if year else _latest_year(now, month), month)


def _read_year(match: re.Match[str], now: datetime) -> Span | None:
    start = _midnight(now).replace(year=int(match["year"]), month=1, day=1)
    return Span(start, start.replace(year=start.year + 1))


def _read_ago(match: re.Match[str], now: datetime) -> Span | None:
    words = match["count"].lower()
    count = int(words) if words.isdigit() else _NUMBERS[words]
    return _units_back(now, match["unit"].lower(), count)


def _read_unit(match: re.Match[str], now: datetime) -> Span | None:
    return _units_back(now, match["unit"].lower(), 0 if match["which"].lower() == "this" else 1)


def _units_back(now: datetime, unit: str, count: int) -> Span | None:
    """Returns the calendar day, week (from Monday), month or year that lies `count` of them back."""
    today = _midnight(now)
    if unit == "day":
        return _day(today - timedelta(days=count))
    if unit == "week":
        monday = today - timedelta(days=today.weekday(), weeks=count)
        return Span(monday, monday + timedelta(weeks=1))
    if unit == "month":
        months = now.year * len(_MONTHS) + now.month - 1 - count
        return _month(now, months // len(_MONTHS), months % len(_MONTHS) + 1)
    start = today.replace(month=1, day=1, year=now.year - count)
    return Span(start, start.replace(year=start.year + 1))


def _read_weekday(match: re.Match[str], now: datetime) -> Span | None:
    today = _midnight(now)
    back = (today.weekday() - _DAYS.index(match["weekday"].lower())) % len(_DAYS)
    if back == 0 and match["which"].lower() == "last":
        back = len(_DAYS)
    return _day(today - timedelta(days=back))


def _read_relative(match: re.Match[str], now: datetime) -> Span | None:
    back = {"yesterday": 1, "last night": 1, "the day before yesterday": 2}.get(match["word"].lower(), 0)
    return _day(_midnight(now) - timedelta(days=back))


_READERS = {
    "iso": _read_iso,
    "day": _read_day,
    "month": _read_month,
    "year": _read_year,
    "ago": _read_ago,
    "unit": _read_unit,
    "weekday": _read_weekday,
    "relative": _read_relative,
}
