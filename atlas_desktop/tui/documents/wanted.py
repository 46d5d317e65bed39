"""What a screen of documents is closed with: something to do in the conversation."""

from dataclasses import dataclass, field

from memory.attachments import NewAttachment
from memory.documents.entities import Document
from memory.entities import RoomKind


@dataclass(frozen=True, slots=True)
class AskAbout:
    """Begin a conversation about these documents of a room, with a quotation of one of them in the prompt."""

    documents: tuple[Document, ...]
    room: RoomKind
    quote: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class UseHere:
    """Use documents and attached texts in the conversation that is shown."""

    documents: tuple[Document, ...] = ()
    attachments: tuple[NewAttachment, ...] = ()


@dataclass(frozen=True, slots=True)
class AttachHere:
    """Ask for a file to attach to the conversation that is shown."""
