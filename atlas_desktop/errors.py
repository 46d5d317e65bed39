"""What people are told of an error: its stable code, a title, what it means, and the next step."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path
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


class ExportFault(Exception):
    """An export that was not written; what was there before is as it was."""


class TargetExists(ExportFault):
    """Something is there already, and nobody said that it may be replaced."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


class TargetRefused(ExportFault):
    """The system does not let the file or folder be made. `reason` is its word for why."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(str(path), reason)
        self.path = path
        self.reason = reason


class BadRecipient(ExportFault):
    """What was given is neither an age recipient nor an SSH public key that age takes."""


class NothingToExport(ExportFault):
    """No session was chosen, or none that may go out."""


class Refusal(StrEnum):
    """Why a file is not attached."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    NOT_A_FILE = "not_a_file"
    TOO_LARGE = "too_large"
    TOO_MUCH_TEXT = "too_much_text"
    TOO_MANY_PAGES = "too_many_pages"
    TOO_SLOW = "too_slow"
    TOO_MUCH_MEMORY = "too_much_memory"
    NOT_TEXT = "not_text"
    EMPTY = "empty"
    PICTURES = "pictures"
    ENCRYPTED = "encrypted"
    DAMAGED = "damaged"


class AttachmentRefused(Exception):
    """A file that cannot be attached. `limit` is what it exceeds (bytes, characters, pages or seconds), 0
    where there is none."""

    def __init__(self, name: str, reason: Refusal, limit: int = 0) -> None:
        super().__init__(reason.value)
        self.name = name
        self.reason = reason
        self.limit = limit


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that was left out. `why` never quotes it."""

    where: str
    why: str


class UnknownExport(Exception):
    """Files of which nothing comes in. `alien` ones are in no format that is known, and `why` says what they
    are instead, if that can be said. Of others, or of conversations in them, there is the reason why they
    cannot be read, `broken`, and of `more` of these only the number."""

    def __init__(
        self, alien: "tuple[Skipped, ...]", broken: "tuple[Skipped, ...]" = (), more: int = 0
    ) -> None:
        super().__init__(f"{len(alien) + len(broken) + more} places")
        self.alien = alien
        self.broken = broken
        self.more = more
