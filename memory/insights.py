"""Insights: counts by day, topics found by vectors, speed, storage, memories."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from memory.organising import Filed, rarity, words_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class DayCount:
    """The activity of a day, or of the week that begins on this Monday.

    `sessions` counts those with messages of that day, `begun` those that began on it. `characters` counts the
    user's text. `tokens_written` are tokens of replies where the model's own are known, `tokens_read` those
    of prompts.
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
    """Sessions that belong together. `kind` is tag, category, project or cluster.

    `words` of a cluster are frequent in its sessions and rare in others. `months` counts sessions by month,
    such as 2026-03.
    """

    kind: str
    name: str = field(repr=False)
    sessions: int
    months: Mapping[str, int]
    words: tuple[str, ...] = field(default=(), repr=False)
    session_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Timed:
    """The speed of one reply."""

    message_id: str
    model: str
    at: datetime
    first_token_ms: float
    tokens_per_second: float
    prompt_tokens: int
    completion_tokens: int
    drafted_tokens: int = 0
    accepted_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Waited:
    """How long the measured replies took, from sending to their last word."""

    replies: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Speed:
    """The medians over `replies` of one model in one week (its Monday).

    `guessed` is the share of all their tokens that had been guessed, `accepted` that of correct guesses.
    """

    model: str
    week: date
    replies: int
    first_token_ms: float
    tokens_per_second: float
    guessed: float = 0.0
    accepted: float = 0.0


@dataclass(frozen=True, slots=True)
class Stored:
    """How much storage one kind of data takes. `rows` is None where nothing is counted."""

    kind: str
    bytes: int
    rows: int | None = None


@dataclass(frozen=True, slots=True)
class Growth:
    """Memories by the week (its Monday) in which they were learned; `total` is the number by then."""

    week: date
    added: int
    total: int


@dataclass(frozen=True, slots=True)
class Used:
    """A memory that has been used."""

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
    """Returns the Monday of the day's week."""
    return day - timedelta(days=day.weekday())


def by_month(times: Iterable[datetime], zone: tzinfo | None) -> dict[str, int]:
    """Counts these aware times by month, such as 2026-03, earliest first."""
    counts: Counter[str] = Counter()
    name, end = "", None
    for at in sorted(times):
        # Converting a time to a zone is slow, so it is done once a month.
        if end is None or at >= end:
            local = at.astimezone(zone)
            name, end = f"{local:%Y-%m}", _next_month(local, zone)
        counts[name] += 1
    return dict(counts)


def months_between(months: Sequence[str]) -> list[str]:
    """Returns all months from first to last, such as 2026-03, including empty ones."""
    if not months:
        return []
    (year, month), last = map(int, min(months).split("-")), max(months)
    found = [f"{year:04}-{month:02}"]
    while found[-1] < last:
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
        found.append(f"{year:04}-{month:02}")
    return found


def _next_month(local: datetime, zone: tzinfo | None) -> datetime:
    """Returns when the next month begins, in UTC."""
    first = datetime(local.year + local.month // 12, local.month % 12 + 1, 1, tzinfo=zone)
    return first.astimezone(UTC)


LEAST_SESSIONS = 8
"""With fewer sessions than this there are no groups."""
SMALLEST = 3
"""The fewest sessions of a group."""
_ROUNDS = 12
_MOST_GROUPS = 10
_WORDS = 4
_TOGETHER = 0.3


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of sessions. `words` are frequent in it and rare elsewhere, the most distinctive first."""

    words: tuple[str, ...] = field(repr=False)
    session_ids: tuple[str, ...]


def clusters(sessions: Sequence[Filed]) -> list[Cluster]:
    """Returns groups of similar sessions, largest first. Deterministic for the same sessions."""
    import numpy as np

    held = [one for one in sessions if one.vector is not None]
    if len(held) < LEAST_SESSIONS:
        return []
    vectors = np.frombuffer(b"".join(one.vector or b"" for one in held), dtype="<f4").reshape(len(held), -1)
    # The mean is what all sessions have in common; it distinguishes none of them.
    apart = vectors - vectors.mean(axis=0)
    apart /= np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-6)
    groups, centres = _grouped(apart, min(max(round((len(held) / 2) ** 0.5), 2), _MOST_GROUPS))
    near = (apart * centres[groups]).sum(axis=1)
    spoken = [words_of(one.words) for one in held]
    rare = rarity(spoken)
    total = Counter(word for one in spoken for word in one)
    found = []
    for group in range(len(centres)):
        rows = [int(row) for row in np.flatnonzero((groups == group) & (near >= _TOGETHER))]
        if len(rows) >= SMALLEST:
            words = _telling([spoken[row] for row in rows], total, len(held), rare)
            found.append(Cluster(words, tuple(held[row].session_id for row in rows)))
    return sorted((one for one in found if one.words), key=lambda one: (-len(one.session_ids), one.words))


def _grouped(vectors: "NDArray[np.float32]", count: int) -> "tuple[NDArray[np.int64], NDArray[np.float32]]":
    """Runs spherical k-means from centres far apart; returns the group of each row, and the centres."""
    import numpy as np

    chosen = [0]
    nearest = vectors @ vectors[0]
    while len(chosen) < count:
        chosen.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, vectors @ vectors[chosen[-1]])
    centres = vectors[chosen].copy()
    groups = np.zeros(len(vectors), dtype=np.int64)
    for _ in range(_ROUNDS):
        groups = (vectors @ centres.T).argmax(axis=1)
        sums = np.eye(count, dtype=vectors.dtype)[groups].T @ vectors
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        # A centre without rows stays where it is.
        moved = np.where(lengths > 0, sums / np.maximum(lengths, 1e-6), centres)
        if np.allclose(moved, centres, atol=1e-5):
            break
        centres = moved
    return groups, centres


def _telling(
    own: Sequence[Counter[str]], total: Counter[str], count_of_all: int, rare: dict[str, float]
) -> tuple[str, ...]:
    """Returns the most distinctive words; `total` counts the sessions that contain each word."""
    inside = Counter(word for one in own for word in one)
    scores = {
        word: (count / len(own) - (total[word] - count) / max(count_of_all - len(own), 1)) * rare[word]
        for word, count in inside.items()
        if count >= 2
    }
    best = sorted((one for one in scores.items() if one[1] > 0), key=lambda one: (-one[1], one[0]))
    return tuple(word for word, _ in best[:_WORDS])
