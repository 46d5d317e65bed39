"""The values of the durable background queue."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Any

CLOCK_WAS_AHEAD = timedelta(hours=1)
"""A job last changed more than this after the current time was changed by a clock that was ahead."""


class JobState(StrEnum):
    """failed: abandoned after its last attempt, kept for inspection."""

    QUEUED = "queued"
    RUNNING = "running"
    FAILED = "failed"


class Priority(IntEnum):
    """How urgent a job is; smaller numbers run first. Numbers in between are allowed."""

    URGENT = 0
    HIGH = 25
    NORMAL = 50
    LOW = 75


@dataclass(frozen=True, slots=True)
class Job:
    """One unit of work. `kind` selects the handler, `key` identifies the job within its kind.

    `payload` is a JSON object of ids and numbers, never text content. `attempts` includes the current one.
    `error` is the type of the last error with its numbers.
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
    """Raised by a handler that is too early: the job waits until `until`, as if not attempted."""

    def __init__(self, until: datetime) -> None:
        super().__init__(until.isoformat())
        self.until = until


def error_facts(error: BaseException) -> str:
    """Returns an error's type and the numbers it carries, e.g. `ContextTooSmall limit=4096 needed=5000`."""
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
