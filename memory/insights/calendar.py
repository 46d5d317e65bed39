"""Weeks and months, as insights count by them."""

from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, timedelta, tzinfo


def monday(day: date) -> date:
    """The Monday of its week."""
    return day - timedelta(days=day.weekday())


def by_month(times: Iterable[datetime], zone: tzinfo | None) -> dict[str, int]:
    """How many are in each month, such as 2026-03, the earliest first."""
    counts = Counter(f"{at.astimezone(zone):%Y-%m}" for at in times)
    return dict(sorted(counts.items()))
