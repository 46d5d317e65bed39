"""Dates, times and numbers as the user's language writes them.

Without a language (or with `C`) they are written in plain English with the 24-hour clock, and babel is not
imported.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache


def known_locale(name: str) -> bool:
    """Returns whether numbers and dates can be written in this language."""
    if not name:
        return False
    from babel import Locale, UnknownLocaleError

    try:
        Locale.parse(name.replace("-", "_"))
    except (ValueError, UnknownLocaleError):
        return False
    return True


class Formats:
    """The formats of one language; `locale` is empty for plain English."""

    def __init__(self, locale: str = "") -> None:
        self.locale = locale.replace("-", "_")

    def number(self, value: int) -> str:
        """Returns a whole number with thousands separators."""
        if not self.locale:
            return f"{value:,}"
        from babel.numbers import format_decimal

        return str(format_decimal(value, locale=self.locale))

    def decimal(self, value: float, places: int = 1) -> str:
        """Returns a number with `places` decimal places."""
        if not self.locale:
            return f"{value:,.{places}f}"
        from babel.numbers import format_decimal

        form = "#,##0." + "0" * places if places else "#,##0"
        return str(format_decimal(value, form, locale=self.locale))

    def listed(self, parts: Sequence[str]) -> str:
        """Returns things in a sentence: "4 messages, 1 memory and 2 documents"."""
        if not self.locale:
            return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))
        from babel.lists import format_list

        return str(format_list(parts, locale=self.locale))

    def time(self, moment: datetime) -> str:
        """Returns the time of day, to the minute."""
        return f"{moment:%H:%M}" if not self.locale else _time(moment, self.locale)

    def weekday(self, moment: datetime) -> str:
        """Returns the day of the week, short."""
        return f"{moment:%a}" if not self.locale else _date(moment, "EEE", self.locale)

    def day(self, moment: datetime) -> str:
        """Returns day and month, short."""
        return f"{moment.day} {moment:%b}" if not self.locale else _date(moment, "MMMd", self.locale)

    def date(self, moment: datetime) -> str:
        """Returns day, month and year."""
        if not self.locale:
            return f"{moment.day} {moment:%b} {moment.year}"
        return _date(moment, "yMMMd", self.locale)

    def month(self, moment: datetime) -> str:
        """Returns month and year, short."""
        return f"{moment:%b %Y}" if not self.locale else _date(moment, "yMMM", self.locale)


@lru_cache(maxsize=2048)
def _date(moment: datetime, skeleton: str, locale: str) -> str:
    from babel.dates import format_skeleton

    return str(format_skeleton(skeleton, moment, tzinfo=moment.tzinfo, locale=locale))


@lru_cache(maxsize=2048)
def _time(moment: datetime, locale: str) -> str:
    from babel.dates import format_time

    return str(format_time(moment, "short", tzinfo=moment.tzinfo, locale=locale))
