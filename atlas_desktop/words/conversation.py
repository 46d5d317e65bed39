"""Words for what can go wrong with what a conversation is given: attachments, personas, templates."""

from collections.abc import Callable
from typing import Any

from atlas_desktop.explain import Exit, Explained, Words, size
from atlas_desktop.services.attachments import AttachmentRefused, Refusal
from memory import errors as memory

_TEXT = "Attach text, Markdown, code or a PDF that holds text."
_REFUSED: dict[Refusal, tuple[str, str]] = {
    Refusal.MISSING: ("There is no such file.", "Check the path that you gave."),
    Refusal.UNREADABLE: ("The file cannot be opened.", "Check that you may read it."),
    Refusal.NOT_A_FILE: ("That is not an ordinary file.", "Attach the files in it one by one."),
    Refusal.TOO_LARGE: ("It is larger than {limit}.", "Attach a part of it."),
    Refusal.TOO_MUCH_TEXT: ("It holds more than {limit} characters of text.", "Attach a part of it."),
    Refusal.TOO_MANY_PAGES: ("It has more than {limit} pages.", "Attach a part of it."),
    Refusal.TOO_SLOW: ("It could not be read within {limit} seconds.", "Attach a part of it, or its text."),
    Refusal.NOT_TEXT: ("It is not text in UTF-8, nor a PDF.", _TEXT),
    Refusal.EMPTY: ("There are no words in it.", _TEXT),
    Refusal.PICTURES: (
        "The PDF holds pictures of pages and no text.",
        "Have its text recognised by another program first.",
    ),
    Refusal.ENCRYPTED: ("The PDF is locked with a password.", "Save a copy without one, and attach that."),
    Refusal.DAMAGED: ("The PDF is damaged and cannot be read.", "Save it anew from the program it is from."),
}


def _attachment(e: AttachmentRefused) -> Explained:
    what, next_step = _REFUSED[e.reason]
    limit = size(e.limit) if e.reason is Refusal.TOO_LARGE else f"{e.limit:,}"
    return Explained(
        f"attachment_{e.reason.value}",
        "This file cannot be attached",
        f"{e.name}: {what.format(limit=limit)} Nothing was changed.",
        next_step,
        Exit.USAGE,
    )


def _no_such(what: str, next_step: str) -> Callable[[Any], Explained]:
    def words(e: Any) -> Explained:
        return Explained(
            f"{what}_not_found",
            f"There is no such {what}",
            f"None is called “{e.ref}” here.",
            next_step,
        )

    return words


WORDS: Words = {
    AttachmentRefused: _attachment,
    memory.AttachmentNotFound: _no_such("attachment", "/attach alone shows what is attached."),
    memory.PersonaNotFound: _no_such("persona", "`atlas personas list` shows what there is."),
    memory.TemplateNotFound: _no_such("template", "`atlas templates list` shows what there is."),
    memory.NameTaken: lambda e: Explained(
        "name_taken",
        "That name is taken",
        f"Another one is called “{e.name}”. Nothing was changed.",
        "Choose another name, or edit that one.",
        Exit.USAGE,
    ),
}
