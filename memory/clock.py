"""The system's clock as a `memory.ports.Clock`, its moments as whole numbers, and whether to believe it."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


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
