"""Files that a room's conversations read."""

from pathlib import Path

from atlas_desktop.services.attachments import read_attachment
from atlas_desktop.services.epochs import EpochService
from memory.attachments.entities import Attachment, Document, NewAttachment
from memory.ports import SessionStore


class AttachmentService:
    """Of one room. Raises as `memory.attachments.ports.AttachmentStore`."""

    def __init__(self, store: SessionStore, epochs: EpochService) -> None:
        self._store = store
        self._epochs = epochs

    async def attach_file(self, session_id: str, path: str | Path) -> Attachment:
        """Raises also `AttachmentRefused`."""
        return await self.attach(session_id, await read_attachment(path))

    async def attach(self, session_id: str, new: NewAttachment) -> Attachment:
        return await self._store.attachments.attach(session_id, new)

    async def attached(self, session_id: str) -> list[Attachment]:
        return await self._store.attachments.attached(session_id)

    async def documents(self) -> list[Document]:
        """Every file that any of the room's sessions reads, by name."""
        return await self._store.attachments.documents()

    async def detach(self, session_id: str, ref: str) -> Attachment:
        """Takes a file out of the session, its prompts, and what the model holds of them.

        No reply may be under way in it.
        """
        gone = await self._store.attachments.detach(session_id, ref)
        await self._epochs.forget([session_id])
        return gone
