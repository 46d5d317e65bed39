"""A clock that a test moves."""

from datetime import UTC, datetime, timedelta


class FakeClock:
    """A clock that moves by `step` each time it is read, and by `advance`."""

    def __init__(
        self,
        start: datetime = datetime(2026, 1, 1, 12, tzinfo=UTC),
        step: timedelta = timedelta(milliseconds=1),
    ) -> None:
        self._now = start
        self._step = step

    def now(self) -> datetime:
        self._now += self._step
        return self._now

    def advance(self, by: timedelta) -> None:
        self._now += by
