"""What a screen of documents is closed with: something to do in the conversation."""

from dataclasses import dataclass, field

from memory.attachments import NewAttachment
from memory.documents.entities import Document


@dataclass(frozen=True, slots=True)
class AskAbout:
    """Begin a conversation about these documents, with a quotation of one of them in the prompt."""

    documents: tuple[Document, ...]
    quote: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class UseHere:
    """Use documents and attached texts in the conversation that is shown."""

    documents: tuple[Document, ...] = ()
    attachments: tuple[NewAttachment, ...] = ()


@dataclass(frozen=True, slots=True)
class AttachHere:
    """Ask for a file to attach to the conversation that is shown."""
