"""Dates as people say them: groups of a list, and short times, in the person's language."""

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta

from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.formats import formats
from memory.entities import Session

STARRED = tr("calendar.starred")
GROUPS = tuple(tr(f"calendar.{name}") for name in ("today", "yesterday", "this_week", "older"))


def group_of(moment: datetime, now: datetime) -> str:
    """The group a moment belongs to, by calendar days in `now`'s time zone; the week is the last 7 days."""
    days = (now.date() - moment.astimezone(now.tzinfo).date()).days
    if days <= 0:
        return GROUPS[0]
    if days == 1:
        return GROUPS[1]
    return GROUPS[2] if days < 7 else GROUPS[3]


def grouped(sessions: Iterable[Session], now: datetime) -> Iterator[tuple[str, list[Session]]]:
    """Sessions (most recently used first) in their groups, those with a star or a pin on top of all; groups
    without any are left out."""
    found: dict[str, list[Session]] = {group: [] for group in (STARRED, *GROUPS)}
    for session in sessions:
        on_top = session.starred or session.pinned_at is not None
        found[STARRED if on_top else group_of(session.updated_at, now)].append(session)
    return ((group, members) for group, members in found.items() if members)


def short(moment: datetime, now: datetime) -> str:
    """A moment in a few characters: the time today, else the weekday, the day, or month and year."""
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
    """A moment as the head of a message shows it: the time, and the day unless it is today."""
    write = formats()
    local = moment.astimezone(now.tzinfo)
    time = write.time(local)
    group = group_of(moment, now)
    if group == GROUPS[0]:
        return time
    if group == GROUPS[1]:
        return f"{tr('calendar.yesterday')} {time}"
    if group == GROUPS[2]:
        return f"{write.weekday(local)} {time}"
    day = write.day(local) if local.year == now.year else write.date(local)
    return f"{day} {time}"
