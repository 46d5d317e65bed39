"""The clock: its protocol, the system's, moments as whole numbers, and whether to believe it."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        ...


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class LocalZone(tzinfo):
    """The time zone of this computer, with its summer times.

    `astimezone()` without a zone gives a time the offset of that moment for good: a day in March, counted
    from a day in November, would begin an hour too late.
    """

    def utcoffset(self, moment: datetime | None) -> timedelta:
        if moment is None:
            return timedelta(seconds=-time.timezone)
        # A naive moment is local, and of an hour that comes twice the one that `fold` says.
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
    """Microseconds since 1970-01-01T00:00:00Z, exactly (no floating point on the way)."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """The moment so many microseconds after 1970-01-01T00:00:00Z."""
    return _EPOCH + value * _MICROSECOND


LONGEST_STEP = timedelta(days=7)
"""What counts at most of the time between two looks at the clock: after a longer one it may have been set."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a room knows of the clock: when it was last looked at, and up to when time has passed for certain.

    A clock can be years ahead, or behind, for an hour. What is erased for its age goes by `passed`, which
    grows by what the clock says, but by no more than `LONGEST_STEP` from one look to the next, and never goes
    back.
    """

    at: datetime
    passed: datetime

    def looked(self, now: datetime) -> "Seen":
        step = min(max(now - self.at, timedelta(0)), LONGEST_STEP)
        return Seen(now, max(self.passed, min(self.passed + step, now)))

    @property
    def ahead(self) -> timedelta:
        """How much of the clock's time is not believed yet."""
        return max(self.at - self.passed, timedelta(0))
