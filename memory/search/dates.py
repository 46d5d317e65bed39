"""Dates as people type them in a query: 2024, 2024-05, 2024-05-01, yesterday, last week, may 2024, 7d."""

import re
from datetime import datetime, timedelta

EXAMPLES = ("2024-05-01", "2024-05", "2024", "yesterday", '"last week"', "7d")

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_UNITS = {"h": "hour", "d": "day", "w": "week", "m": "month", "y": "year"}

_ISO = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?")
_SHORT = re.compile(r"(\d{1,4})([hdwmy])")
_AGO = re.compile(r"(\d{1,4}|an?) (hour|day|week|month|year)s?(?: ago)?")
_PERIOD = re.compile(r"(this|last|past|previous) (hour|day|week|month|year)")
_WEEKDAY = re.compile(r"(?:(last|this) )?(" + "|".join(_DAYS) + ")")
_MONTH = re.compile(
    r"(?:(\d{1,2}) )?(" + "|".join(f"{m}|{m[:3]}" for m in _MONTHS) + r")(?: (\d{1,2}))?(?: (\d{4}))?"
)


def normal(text: str) -> str:
    """How a date is kept: lower case, one space between words, which may have been joined by - or _."""
    joined = re.sub(r"(?<=[a-z\d])[-_](?=[a-z])|(?<=[a-z])[-_](?=\d)", " ", text.strip().lower())
    return " ".join(joined.replace(",", " ").split())


def span_of(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """From when up to but not including when, in the time zone of `now`; None for what is not a date.

    A time that is counted back is the hour, day, week, month or year in which it was.
    """
    said = normal(text)
    try:
        for pattern, read in _FORMS:
            if (match := pattern.fullmatch(said)) is not None:
                return read(match, now)
    except (ValueError, OverflowError):
        # A 31st of June, or a year beyond the calendar.
        return None
    return None


def _iso(match: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    year, month, day = (None if part is None else int(part) for part in match.groups())
    begin = _day(now, year or 0, month or 1, day or 1)
    return _around(begin, "year" if month is None else "month" if day is None else "day")


def _short(match: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    return _back(now, int(match[1]), _UNITS[match[2]])


def _ago(match: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    return _back(now, 1 if match[1].startswith("a") else int(match[1]), match[2])


def _period(match: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    return _back(now, 0 if match[1] == "this" else 1, match[2])


def _named(match: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    return _back(now, ("today", "yesterday").index(match[0]), "day")


def _weekday(match: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    back = (now.weekday() - _DAYS.index(match[2])) % 7
    return _back(now, 7 if match[1] == "last" and back == 0 else back, "day")


def _month(match: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    before, name, after, year = match.groups()
    if before is not None and after is not None:
        return None
    number = next(n for n, month in enumerate(_MONTHS, start=1) if month.startswith(name))
    day = before or after
    at = _day(now, int(year) if year else now.year, number, int(day) if day else 1)
    if not year and at > now:
        at = _day(now, now.year - 1, number, at.day)
    return _around(at, "month" if day is None else "day")


_FORMS = (
    (_ISO, _iso),
    (_SHORT, _short),
    (_AGO, _ago),
    (_PERIOD, _period),
    (re.compile("today|yesterday"), _named),
    (_WEEKDAY, _weekday),
    (_MONTH, _month),
)


def _back(now: datetime, count: int, unit: str) -> tuple[datetime, datetime] | None:
    if unit in {"month", "year"}:
        months = now.year * 12 + now.month - 1 - count * (12 if unit == "year" else 1)
        return _around(_day(now, months // 12, months % 12 + 1, 1), unit)
    return _around(now - timedelta(**{f"{unit}s": count}), unit)


def _around(moment: datetime, unit: str) -> tuple[datetime, datetime] | None:
    """The hour, day, week (from Monday), month or year that holds the moment."""
    if unit == "hour":
        begin = moment.replace(minute=0, second=0, microsecond=0)
        return begin, begin + timedelta(hours=1)
    begin = _day(moment, moment.year, moment.month, moment.day)
    if unit == "day":
        return begin, begin + timedelta(days=1)
    if unit == "week":
        begin -= timedelta(days=begin.weekday())
        return begin, begin + timedelta(days=7)
    year, month = begin.year, begin.month
    if unit == "month":
        return _day(moment, year, month, 1), _day(moment, year + month // 12, month % 12 + 1, 1)
    return _day(moment, year, 1, 1), _day(moment, year + 1, 1, 1)


def _day(like: datetime, year: int, month: int, day: int) -> datetime:
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise ValueError("no such year")
    return datetime(year, month, day, tzinfo=like.tzinfo)


_FIRST_YEAR, _LAST_YEAR = 1900, 9000
