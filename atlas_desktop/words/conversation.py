"""Words for what can go wrong with what a conversation is given: attachments, personas, templates."""

from collections.abc import Callable
from typing import Any

from atlas_desktop.explain import Exit, Explained, Words, size, told
from atlas_desktop.services.attachments import AttachmentRefused, Refusal
from atlas_desktop.words.catalogue import tr
from memory import errors as memory

_SIZES = {Refusal.TOO_LARGE, Refusal.TOO_MUCH_MEMORY}


def _attachment(e: AttachmentRefused) -> Explained:
    limit = size(e.limit) if e.reason in _SIZES else f"{e.limit:,}"
    why = tr(f"errors.attachment.{e.reason.value}", limit=limit)
    return Explained(
        f"attachment_{e.reason.value}",
        tr("errors.attachment.title"),
        tr("errors.attachment.what", name=e.name, why=why),
        tr(f"errors.attachment.{e.reason.value}.next"),
        Exit.USAGE,
    )


def _no_such(code: str) -> Callable[[Any], Explained]:
    return lambda e: told(code, what=tr("errors.none_called", ref=e.ref))


WORDS: Words = {
    AttachmentRefused: _attachment,
    memory.AttachmentNotFound: _no_such("attachment_not_found"),
    memory.PersonaNotFound: _no_such("persona_not_found"),
    memory.TemplateNotFound: _no_such("template_not_found"),
    memory.NameTaken: lambda e: told("name_taken", Exit.USAGE, name=e.name),
}
