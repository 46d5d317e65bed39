"""Errors as shown to users: a stable code, a title, what it means, and the next step."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any

from atlas_desktop.error_texts import ERRORS
from atlas_desktop.locale import N_, _, formats


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
    """An error as shown to the user: `code` is stable and for scripts, the rest is text."""

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
        self.next_step = next_step or _("See `atlas --help`.")


class Declined(Exception):
    """The user was asked and did not agree."""


class AlreadyRunning(Exception):
    """Another instance has locked this home. `holder` is its process id, when known."""

    def __init__(self, holder: int | None) -> None:
        super().__init__(str(holder))
        self.holder = holder


class BadClient(Exception):
    """A client that cannot be added. `reason`: name, scopes or rate."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class DoorRefused(Exception):
    """A refused request of another program. `reason` is the end of the error's code; `status` is the HTTP
    status; `facts` are filled into the text and never contain content."""

    def __init__(self, reason: str, status: int, **facts: object) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.facts = facts


def size(amount: float) -> str:
    """Returns bytes in the most readable unit (decimal units, as disks are sold)."""
    if abs(amount) < 1000:
        return _("{amount} bytes", amount=f"{amount:.0f}")
    for unit in ("kB", "MB"):
        amount /= 1000
        if abs(amount) < 1000:
            return f"{formats().decimal(amount)} {unit}"
    return f"{formats().decimal(amount / 1000)} GB"


_ROOM_NAMES = {"open": N_("open"), "private": N_("private")}


def room_name(room: str) -> str:
    """Returns the name of a room for use before the word "room", as in: the private room."""
    return _(_ROOM_NAMES[room])


Words = dict[type[BaseException], Callable[[Any], Explained]]


def explanation(
    code: str,
    status: Exit = Exit.FAILED,
    /,
    *,
    what: str | None = None,
    next_step: str | None = None,
    **facts: Any,
) -> Explained:
    """Returns the text for an error code, with its facts filled in.

    `what` and `next_step` replace those of the code.
    """
    text = ERRORS[code]
    return Explained(
        code,
        _(text.title, **facts),
        _(text.what, **facts) if what is None else what,
        _(text.next_step, **facts) if next_step is None else next_step,
        status,
    )


def named(code: str, status: Exit = Exit.FAILED) -> Callable[[Any], Explained]:
    """Returns a function that returns the same text for any error."""
    return lambda _error: explanation(code, status)


def aside(what: object) -> str:
    """Returns the text in brackets; empty if it is not known."""
    return _(" ({what})", what=what) if what else ""


class ExportFault(Exception):
    """An export that was not written; existing files are unchanged."""


class TargetExists(ExportFault):
    """The target exists, and replacing it was not allowed."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


class TargetRefused(ExportFault):
    """The system refuses to create the file or folder. `reason` is the system's message."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(str(path), reason)
        self.path = path
        self.reason = reason


class BadRecipient(ExportFault):
    """The given text is neither an age recipient nor an SSH public key that age accepts."""


class NothingToExport(ExportFault):
    """No session was chosen, or none of those chosen may be exported."""


class Refusal(StrEnum):
    """The reason why a file is not attached, or not read as a document."""

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
    CHANGED = "changed"
    OUTDATED = "outdated"
    UNKNOWN_FORMAT = "unknown_format"
    NOT_A_FOLDER = "not_a_folder"
    PARTLY_PICTURES = "partly_pictures"
    NO_TEXT = "no_text"
    TOO_MANY_ROWS = "too_many_rows"
    TOO_DEEP = "too_deep"
    UNPACKS_TOO_LARGE = "unpacks_too_large"
    XML_ENTITIES = "xml_entities"
    CRASHED = "crashed"


class FileRefused(Exception):
    """A file that cannot be read.

    `limit` is the limit that it exceeds (bytes, characters, pages, rows or seconds), 0 if there is none.
    """

    def __init__(self, name: str, reason: Refusal, limit: int = 0) -> None:
        super().__init__(reason.value)
        self.name = name
        self.reason = reason
        self.limit = limit


class AttachmentRefused(FileRefused):
    """A file that cannot be attached."""


class DocumentRefused(FileRefused):
    """A file that cannot be read as a document."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """An omitted item. `why` never quotes its content."""

    where: str
    why: str


class UnknownExport(Exception):
    """Files from which nothing can be imported.

    `alien` ones are in no known format; `why` describes what they are instead, if known. `broken` are others,
    or conversations in them, with the reason why they cannot be read; `more` is the number of further ones.
    """

    def __init__(
        self, alien: "tuple[Skipped, ...]", broken: "tuple[Skipped, ...]" = (), more: int = 0
    ) -> None:
        super().__init__(f"{len(alien) + len(broken) + more} places")
        self.alien = alien
        self.broken = broken
        self.more = more
