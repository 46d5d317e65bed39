"""What a room offers to insights."""

from collections.abc import Sequence
from datetime import datetime, tzinfo
from typing import Protocol

from memory.insights.entities import DayCount, Growth, Stored, Timed, Topic, Totals, Used


class InsightStore(Protocol):
    """Counts of one room; what is in the bin counts nowhere but in storage. `since` bounds the time that
    something was said, done or learned; days are those of `zone` (None: this
    computer's). Raises as `memory.ports.SessionStore`."""

    async def totals(self) -> Totals: ...

    async def days(self, zone: tzinfo | None, since: datetime | None = None) -> list[DayCount]:
        """Days on which something was said, the earliest first."""
        ...

    async def topics(
        self, zone: tzinfo | None, since: datetime | None = None, *, limit: int = 20
    ) -> list[Topic]:
        """Tags, categories and projects, of each kind the most frequent first."""
        ...

    async def timings(self, since: datetime | None = None, *, limit: int = 10_000) -> list[Timed]:
        """How fast replies came, the latest `limit` of them, the earliest first."""
        ...

    async def note_timing(self, session_id: str, timed: Timed) -> None:
        """Keeps how fast a reply came; it goes with its session."""
        ...

    async def vector_model(self) -> str | None:
        """The fingerprint of a model that vectors of messages are of; None without any."""
        ...

    async def storage(self) -> list[Stored]:
        """The largest first."""
        ...

    async def growth(self, zone: tzinfo | None, since: datetime | None = None) -> list[Growth]:
        """Weeks in which memories were learned, the earliest first."""
        ...

    async def most_used(self, *, limit: int = 10) -> Sequence[Used]: ...
