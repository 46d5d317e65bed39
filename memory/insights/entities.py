"""The values of insights: counts by day, topics, speed, storage, memories; weeks and months."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo


@dataclass(frozen=True, slots=True)
class DayCount:
    """A day (or the Monday of a week) with what was done in it.

    `sessions` have messages of that day, `begun` were begun in it. `said` counts words of the person by
    characters; `written` are tokens of replies where the model's own are known, `read` those of prompts.
    """

    day: date
    sessions: int = 0
    begun: int = 0
    messages: int = 0
    questions: int = 0
    characters: int = 0
    tokens_written: int = 0
    tokens_read: int = 0


@dataclass(frozen=True, slots=True)
class Topic:
    """Sessions that belong together. `kind` is tag, category, project or cluster; the words of a cluster are
    those that its sessions have and others have not. `months` counts sessions by month, such as 2026-03."""

    kind: str
    name: str = field(repr=False)
    sessions: int
    months: Mapping[str, int]
    words: tuple[str, ...] = field(default=(), repr=False)
    session_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Timed:
    """How fast a reply came."""

    message_id: str
    model: str
    at: datetime
    first_token_ms: float
    tokens_per_second: float
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Speed:
    """Of a model in a week (its Monday): medians over `replies`."""

    model: str
    week: date
    replies: int
    first_token_ms: float
    tokens_per_second: float


@dataclass(frozen=True, slots=True)
class Stored:
    """What takes how much room. `rows` are None where nothing is counted."""

    kind: str
    bytes: int
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Growth:
    """Memories by the week (its Monday) in which they were learned; `total` is how many there are by then."""

    week: date
    added: int
    total: int


@dataclass(frozen=True, slots=True)
class Used:
    """A memory that has served."""

    memory_id: str
    kind: str
    text: str = field(repr=False)
    uses: int
    used_at: datetime | None


@dataclass(frozen=True, slots=True)
class Totals:
    sessions: int = 0
    archived: int = 0
    messages: int = 0
    memories: int = 0
    projects: int = 0
    tokens_written: int = 0
    tokens_read: int = 0
    first_at: datetime | None = None
    last_at: datetime | None = None


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
