"""Weeks and months, as insights count by them."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta, tzinfo


def monday(day: date) -> date:
    """The Monday of its week."""
    return day - timedelta(days=day.weekday())


def by_month(times: Iterable[datetime], zone: tzinfo | None) -> dict[str, int]:
    """How many of these aware times are in each month, such as 2026-03, the earliest first."""
    counts: Counter[str] = Counter()
    name, end = "", None
    for at in sorted(times):
        # What a time is called in a zone takes long to tell: it is asked once a month.
        if end is None or at >= end:
            local = at.astimezone(zone)
            name, end = f"{local:%Y-%m}", _next_month(local, zone)
        counts[name] += 1
    return dict(counts)


def _next_month(local: datetime, zone: tzinfo | None) -> datetime:
    """When it begins, in UTC."""
    first = datetime(local.year + local.month // 12, local.month % 12 + 1, 1, tzinfo=zone)
    return first.astimezone(UTC)
