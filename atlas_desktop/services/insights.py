"""A person's own statistics: computed here, kept nowhere."""

from dataclasses import dataclass
from datetime import datetime

from memory.entities import RoomKind
from memory.insights.entities import DayCount, Growth, Speed, Stored, Topic, Totals, Used


@dataclass(frozen=True, slots=True)
class Insights:
    """Of the rooms that were open. `days` and `weeks` are without those on which nothing was said."""

    rooms: tuple[RoomKind, ...]
    since: datetime | None
    totals: Totals
    days: tuple[DayCount, ...]
    weeks: tuple[DayCount, ...]
    topics: tuple[Topic, ...]
    speed: tuple[Speed, ...]
    storage: tuple[Stored, ...]
    growth: tuple[Growth, ...]
    most_used: tuple[Used, ...]
    took_ms: float
