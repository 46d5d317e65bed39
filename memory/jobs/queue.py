"""A durable queue of background work: its values, and what a store of them must offer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Any

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
