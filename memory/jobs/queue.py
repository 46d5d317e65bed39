"""A durable queue of background work: its values, and what a store of them must offer."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Any, Protocol

CLOCK_WAS_AHEAD = timedelta(hours=1)
"""What was last changed so much later than now was changed by a clock that was ahead."""


class JobState(StrEnum):
    """failed: given up after its last attempt, kept to be seen."""

    QUEUED = "queued"
    RUNNING = "running"
    FAILED = "failed"


class Priority(IntEnum):
    """How urgent a job is; the smaller number goes first. Jobs may also use numbers in between."""

    URGENT = 0
    HIGH = 25
    NORMAL = 50
    LOW = 75


@dataclass(frozen=True, slots=True)
class Job:
    """One piece of work. `kind` says which handler does it, `key` which piece of that kind it is.

    `payload` is a JSON object of ids and numbers, never words. `attempts` counts the one under way. `error`
    is the type of the last error with its numbers.
    """

    id: str
    kind: str
    key: str
    session_id: str | None
    payload: Mapping[str, Any] = field(repr=False)
    priority: int
    state: JobState
    attempts: int
    not_before: datetime
    error: str | None
    created_at: datetime
    updated_at: datetime


class JobPostponed(Exception):
    """Raised by a handler whose time has not come: the job waits until `until`, as if not attempted."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until.isoformat())
        self.until = until


class JobStore(Protocol):
    """The jobs of one room, their remembered results, and when duties were last done.

    Raises `StorageFull`, `RoomDamaged`, `RoomClosed`. A call that has returned is durable. The calls that end
    a run (`finish`, `put_back`, `retry`, `fail`) do nothing to a job that is gone or is not running.
    """

    async def add(
        self,
        kind: str,
        key: str,
        *,
        session_id: str | None = None,
        payload: Mapping[str, Any] | None = None,
        priority: int = Priority.NORMAL,
        not_before: datetime | None = None,
    ) -> Job:
        """Queues a job and returns it as it stands; the same `(kind, key)` is in the queue only once.

        A queued one takes the new payload, the more urgent priority and, unless it waits after an error, the
        earlier time. A running one runs once more, with the new payload, after it has ended. A failed one is
        queued anew, with no attempts. `not_before` is now unless given. The job goes with its session.
        Raises `SessionNotFound`.
        """
        ...

    async def claim(self, now: datetime, *, kinds: Collection[str] | None = None) -> Job | None:
        """The most urgent queued job that is due (the oldest of equals), which is running from now on. One
        that was queued by a clock that was ahead (`CLOCK_WAS_AHEAD`) is due, however long it was to wait.

        With `kinds` only jobs of these. None when there is none.
        """
        ...

    async def finish(self, job: Job) -> None:
        """Removes a running job that was done; one that was added meanwhile is queued again."""
        ...

    async def put_back(self, job: Job, not_before: datetime | None = None) -> None:
        """Queues a running job as if this attempt had not been; `not_before` stays unless given."""
        ...

    async def retry(self, job: Job, error: str, not_before: datetime) -> None:
        """Queues a running job for another attempt."""
        ...

    async def fail(self, job: Job, error: str) -> None:
        """Gives a running job up; one that was added meanwhile is queued anew instead."""
        ...

    async def list(self) -> list[Job]:
        """All jobs in the order in which they would run if all were due, whatever their state."""
        ...

    async def next_at(self, *, kinds: Collection[str] | None = None) -> datetime | None:
        """The earliest `not_before` of the queued jobs (of `kinds`), or None when there are none."""
        ...

    async def recover(self) -> int:
        """Queues what a process that died was running; returns how many. Opening a room does this.

        The attempt that died counts, so that a job that ends the process does not do so for ever.
        """
        ...

    async def paused(self) -> bool:
        """Whether the person has paused background work."""
        ...

    async def set_paused(self, paused: bool) -> None: ...  # noqa: FBT001 - the one argument is the value

    async def result(self, kind: str, digest: bytes) -> str | None:
        """What `keep_result` stored for this kind and 32-byte hash of all that the result depends on."""
        ...

    async def keep_result(self, kind: str, digest: bytes, text: str, session_id: str | None) -> None:
        """Remembers a result; it goes with its session. Raises `SessionNotFound`."""
        ...

    async def duty_done(self, name: str) -> datetime | None:
        """When a duty was last done; None if never."""
        ...

    async def mark_duty(self, name: str, at: datetime) -> None: ...


def error_facts(error: BaseException) -> str:
    """The type of an error and the numbers it carries, such as `ContextTooSmall limit=4096 needed=5000`."""
    found = {
        name: value for name, value in getattr(error, "__dict__", {}).items() if not name.startswith("_")
    }
    if isinstance(error, OSError):
        found["errno"] = error.errno
    numbers = [
        f"{name}={value}"
        for name, value in sorted(found.items())
        if isinstance(value, int | float) and not isinstance(value, bool) and not name.startswith("_")
    ]
    return " ".join([type(error).__name__, *numbers])
