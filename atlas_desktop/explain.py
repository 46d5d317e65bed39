"""Errors as a person meets them: what happened, what it means, and what to do next."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any


class Exit(IntEnum):
    """Exit statuses of the command line."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    LOCKED = 3
    DAMAGED = 4
    NO_MODEL = 5
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Explained:
    """An error for a person: `code` is stable and for scripts, the rest is to be read."""

    code: str
    title: str
    message: str
    next_step: str
    status: Exit = Exit.FAILED

    def as_json(self) -> dict[str, dict[str, str]]:
        return {
            "error": {
                "code": self.code,
                "title": self.title,
                "message": self.message,
                "next_step": self.next_step,
            }
        }


class UsageError(Exception):
    """A command that cannot be understood or carried out as given."""

    def __init__(self, message: str, next_step: str = "See `atlas --help`.") -> None:
        super().__init__(message)
        self.next_step = next_step


class Declined(Exception):
    """The person was asked and did not agree."""


class AlreadyRunning(Exception):
    """Another instance holds this home. `holder` is its process id, when known."""

    def __init__(self, holder: int | None) -> None:
        super().__init__(str(holder))
        self.holder = holder


def size(amount: float) -> str:
    """Bytes in the unit that a person reads best (decimal units, as disks are sold)."""
    for unit in ("bytes", "kB", "MB"):
        if abs(amount) < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def explain(error: BaseException) -> Explained:
    """The words for any error. Unknown ones get an honest general text with the type's name, no content."""
    from atlas_desktop.words.errors import WORDS

    for kind in type(error).__mro__:
        words = WORDS.get(kind)
        if words is not None:
            return words(error)
    return Explained(
        "unexpected",
        "Something unexpected went wrong",
        f"Atlas met an error that it has no words for ({type(error).__name__}). "
        "What was saved before is still saved.",
        "Try again; if it happens again, `atlas doctor` checks everything.",
    )


Words = dict[type[BaseException], Callable[[Any], Explained]]


def named(code: str, title: str, message: str, next_step: str, status: Exit = Exit.FAILED) -> Any:
    """Words that are the same whatever the error carries."""
    explained = Explained(code, title, message, next_step, status)
    return lambda _error: explained
