"""Dates, times and numbers as the person's language writes them.

Without a language (or with `C`) they are written in plain English with the 24-hour clock, and babel is not
imported.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

_VARIABLES = ("LC_ALL", "LC_TIME", "LANG")


def locale_of(environ: Mapping[str, str]) -> str:
    """The language that the system was told, as `de_DE`; empty for none, or one that nobody knows."""
    told = next((environ[name] for name in _VARIABLES if environ.get(name)), "")
    name = told.split(".")[0].split("@")[0].replace("-", "_")
    if name in ("", "C", "POSIX"):
        return ""
    return name if _known(name) else ""


def _known(name: str) -> bool:
    from babel import Locale, UnknownLocaleError

    try:
        Locale.parse(name)
    except (ValueError, UnknownLocaleError):
        return False
    return True


class Formats:
    """How one language writes them; `locale` is empty for plain English."""

    def __init__(self, locale: str = "") -> None:
        self.locale = locale.replace("-", "_")

    def number(self, value: int) -> str:
        """A whole number with its thousands marked."""
        if not self.locale:
            return f"{value:,}"
        from babel.numbers import format_decimal

        return str(format_decimal(value, locale=self.locale))

    def decimal(self, value: float, places: int = 1) -> str:
        """A number with so many places after the point."""
        if not self.locale:
            return f"{value:,.{places}f}"
        from babel.numbers import format_decimal

        form = "#,##0." + "0" * places if places else "#,##0"
        return str(format_decimal(value, form, locale=self.locale))

    def time(self, moment: datetime) -> str:
        """The time of day, to the minute."""
        return f"{moment:%H:%M}" if not self.locale else _time(moment, self.locale)

    def weekday(self, moment: datetime) -> str:
        """The day of the week, short."""
        return f"{moment:%a}" if not self.locale else _date(moment, "EEE", self.locale)

    def day(self, moment: datetime) -> str:
        """Day and month, short."""
        return f"{moment.day} {moment:%b}" if not self.locale else _date(moment, "MMMd", self.locale)

    def date(self, moment: datetime) -> str:
        """Day, month and year."""
        if not self.locale:
            return f"{moment.day} {moment:%b} {moment.year}"
        return _date(moment, "yMMMd", self.locale)

    def month(self, moment: datetime) -> str:
        """Month and year, short."""
        return f"{moment:%b %Y}" if not self.locale else _date(moment, "yMMM", self.locale)


@lru_cache(maxsize=2048)
def _date(moment: datetime, skeleton: str, locale: str) -> str:
    from babel.dates import format_skeleton

    return str(format_skeleton(skeleton, moment, tzinfo=moment.tzinfo, locale=locale))


@lru_cache(maxsize=2048)
def _time(moment: datetime, locale: str) -> str:
    from babel.dates import format_time

    return str(format_time(moment, "short", tzinfo=moment.tzinfo, locale=locale))


class _Now:
    formats = Formats()


def formats() -> Formats:
    """Those in force."""
    return _Now.formats


def use(locale: str) -> None:
    """Writes dates and numbers of the whole program in this language from now on."""
    _Now.formats = Formats(locale)
