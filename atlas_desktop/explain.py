"""Errors as a person meets them: what happened, what it means, and what to do next."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from atlas_desktop.words.catalogue import tr


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

    def __init__(self, message: str, next_step: str = "") -> None:
        super().__init__(message)
        self.next_step = next_step or tr("errors.usage.next")


class Declined(Exception):
    """The person was asked and did not agree."""


class AlreadyRunning(Exception):
    """Another instance holds this home. `holder` is its process id, when known."""

    def __init__(self, holder: int | None) -> None:
        super().__init__(str(holder))
        self.holder = holder


def size(amount: float) -> str:
    """Bytes in the unit that a person reads best (decimal units, as disks are sold)."""
    if abs(amount) < 1000:
        return tr("amounts.bytes", amount=f"{amount:.0f}")
    for unit in ("kB", "MB"):
        amount /= 1000
        if abs(amount) < 1000:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1000:.1f} GB"


def explain(error: BaseException) -> Explained:
    """The words for any error. Unknown ones get an honest general text with the type's name, no content."""
    from atlas_desktop.words.errors import WORDS

    for kind in type(error).__mro__:
        words = WORDS.get(kind)
        if words is not None:
            return words(error)
    return told("unexpected", kind=type(error).__name__)


Words = dict[type[BaseException], Callable[[Any], Explained]]


def told(
    code: str,
    status: Exit = Exit.FAILED,
    /,
    *,
    what: str | None = None,
    next_step: str | None = None,
    **facts: Any,
) -> Explained:
    """The words that stand under an error's code, with its facts put in; `what` and `next_step` are said
    instead of theirs."""
    return Explained(
        code,
        tr(f"errors.{code}.title", **facts),
        tr(f"errors.{code}.what", **facts) if what is None else what,
        tr(f"errors.{code}.next", **facts) if next_step is None else next_step,
        status,
    )


def named(code: str, status: Exit = Exit.FAILED) -> Callable[[Any], Explained]:
    """Words that are the same whatever the error carries."""
    return lambda _error: told(code, status)


def aside(what: object) -> str:
    """What is said in brackets; nothing, if it is not known."""
    return tr("errors.aside", what=what) if what else ""
