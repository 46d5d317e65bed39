"""Dates in the user's language: groups of a list, and short and long times."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from atlas_desktop.locale import N_, _, formats
from memory.entities import Session

_CALENDAR_TEXTS = {
    "today": N_("Today"),
    "yesterday": N_("Yesterday"),
    "this_week": N_("This week"),
    "older": N_("Older"),
}

STARRED = _("★ Starred and pinned")
GROUPS = tuple(_(_CALENDAR_TEXTS[name]) for name in ("today", "yesterday", "this_week", "older"))


def group_of(moment: datetime, now: datetime) -> str:
    """Returns the group of a moment, by calendar days in `now`'s time zone; the week is the last 7 days."""
    days = (now.date() - moment.astimezone(now.tzinfo).date()).days
    if days <= 0:
        return GROUPS[0]
    if days == 1:
        return GROUPS[1]
    return GROUPS[2] if days < 7 else GROUPS[3]


def grouped(sessions: Iterable[Session], now: datetime) -> Iterator[tuple[str, list[Session]]]:
    """Returns sessions (most recently used first) in their groups.

    Starred and pinned sessions form the first group. Empty groups are left out.
    """
    found: dict[str, list[Session]] = {group: [] for group in (STARRED, *GROUPS)}
    for session in sessions:
        on_top = session.starred or session.pinned_at is not None
        found[STARRED if on_top else group_of(session.updated_at, now)].append(session)
    return ((group, members) for group, members in found.items() if members)


def short(moment: datetime, now: datetime) -> str:
    """Returns a moment in a few characters: the time today, else the weekday, the day, or month and year."""
    write = formats()
    local = moment.astimezone(now.tzinfo)
    group = group_of(moment, now)
    if group == GROUPS[0]:
        return write.time(local)
    if group in GROUPS[1:3]:
        return write.weekday(local)
    if local.year == now.year or now - local < timedelta(days=180):
        return write.day(local)
    return write.month(local)


def long(moment: datetime, now: datetime) -> str:
    """Returns a moment for the head of a message: the time, and the day unless it is today. It may be in the
    future."""
    write = formats()
    local = moment.astimezone(now.tzinfo)
    time = write.time(local)
    group = group_of(moment, now)
    if group == GROUPS[0] and local.date() <= now.date():
        return time
    if group == GROUPS[1]:
        return f"{_('Yesterday')} {time}"
    if group == GROUPS[2]:
        return f"{write.weekday(local)} {time}"
    day = write.day(local) if local.year == now.year else write.date(local)
    return f"{day} {time}"
