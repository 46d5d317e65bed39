"""The clock protocol and the system's clock, moments as integers, and the limits of trust in a clock."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """Returns the current moment, aware, in UTC."""
        ...


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class LocalZone(tzinfo):
    """The time zone of this computer, with daylight saving time.

    `astimezone()` without a zone fixes the offset of that moment: a day in March, computed from a day in
    November, would begin an hour too late.
    """

    def utcoffset(self, moment: datetime | None) -> timedelta:
        if moment is None:
            return timedelta(seconds=-time.timezone)
        # A naive moment is local; `fold` selects which of two repeated hours it is.
        return moment.replace(tzinfo=None).astimezone().utcoffset() or timedelta(0)

    def dst(self, _moment: datetime | None) -> timedelta:
        return timedelta(0)

    def tzname(self, _moment: datetime | None) -> str:
        return "local"

    def fromutc(self, moment: datetime) -> datetime:
        at = moment.replace(tzinfo=UTC)
        local = at.astimezone().replace(tzinfo=None)
        return local.replace(tzinfo=self, fold=int(local.astimezone() != at))


def micros(moment: datetime) -> int:
    """Returns the microseconds since 1970-01-01T00:00:00Z, exactly (no floating point)."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """Returns the moment `value` microseconds after 1970-01-01T00:00:00Z."""
    return _EPOCH + value * _MICROSECOND


LONGEST_STEP = timedelta(days=7)
"""The most that an interval between two readings counts for: in a longer one the clock may have been set."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a room knows about the clock: the last reading, and the latest time that has certainly passed.

    A clock can be years ahead or behind for an hour. Erasure by age uses `passed`. It grows with the clock,
    but by at most `LONGEST_STEP` from one reading to the next, and never goes back.
    """

    at: datetime
    passed: datetime

    def looked(self, now: datetime) -> "Seen":
        step = min(max(now - self.at, timedelta(0)), LONGEST_STEP)
        return Seen(now, max(self.passed, min(self.passed + step, now)))

    @property
    def ahead(self) -> timedelta:
        """How far the last reading is ahead of the trusted time."""
        return max(self.at - self.passed, timedelta(0))
