"""What keeping attachments must offer."""

from typing import Protocol

from memory.attachments.entities import Attachment, Document, NewAttachment


class AttachmentStore(Protocol):
    """Of one room. They go with their session, and to its copies. Raises as `memory.ports.SessionStore`."""

    async def attach(self, session_id: str, new: NewAttachment) -> Attachment:
        """One of the same name and text is there once. Raises `SessionNotFound`."""
        ...

    async def attached(self, session_id: str) -> list[Attachment]:
        """In the order in which they were added."""
        ...

    async def documents(self) -> list[Document]:
        """What is attached to any session that is not in the bin, by name."""
        ...

    async def detach(self, session_id: str, ref: str) -> Attachment:
        """Erases one (by its name, its id or a unique prefix of that), and takes it out of the session's
        prompts: prefaces that hold words of it are emptied, and the epochs end.

        Raises `AttachmentNotFound`, `AmbiguousId`.
        """
        ...
