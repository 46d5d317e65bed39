"""`memory.attachments.ports.AttachmentStore` on a database."""

from memory.attachments.entities import Attachment, Document, NewAttachment
from memory.ports import Clock
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import attachments


class SqlAttachmentStore:
    """Each method is one transaction."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def attach(self, session_id: str, new: NewAttachment) -> Attachment:
        now = self._clock.now()
        return await self._database.write(lambda conn: attachments.insert(conn, session_id, new, now))

    async def attached(self, session_id: str) -> list[Attachment]:
        return await self._database.read(lambda conn: attachments.of_session(conn, session_id))

    async def documents(self) -> list[Document]:
        return await self._database.read(attachments.documents)

    async def detach(self, session_id: str, ref: str) -> Attachment:
        def work(conn: Connection) -> Attachment:
            return attachments.erase(conn, session_id, ref)

        return await self._database.erase(work)
