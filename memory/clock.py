"""The system's clock as a `memory.ports.Clock`, and its moments as whole numbers."""

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
