"""What a room keeps beside its sessions and messages: one store for each, on the room's database."""

from memory.entities import RoomKind
from memory.ports import Clock
from memory.storage.attachments import SqlAttachmentStore
from memory.storage.changes import ChangeNotes
from memory.storage.context import SqlContext
from memory.storage.database import Database
from memory.storage.drafts import SqlDraftStore
from memory.storage.evidence import SqlEvidenceStore
from memory.storage.finding.store import SqlFindStore
from memory.storage.insights import SqlInsightStore
from memory.storage.jobs import SqlJobStore
from memory.storage.knowledge import SqlMemoryStore
from memory.storage.links import SqlLinkStore
from memory.storage.moves import SqlMoveStore
from memory.storage.organising import SqlOrganisingStore
from memory.storage.personas import SqlPersonaStore
from memory.storage.projects import SqlProjectStore
from memory.storage.reader import Reader
from memory.storage.retention import SqlRetentionStore
from memory.storage.transfer import SqlTransferStore
from memory.storage.vectors import SqlVectorStore


class StoresOfARoom:
    """The stores by name, as `memory.ports.SessionStore` has them. They share what is noted of changes."""

    def __init__(self, database: Database, room: RoomKind, clock: Clock, reader: Reader | Database) -> None:
        """`reader` is where searches, statistics and the index of vectors read."""
        notes = ChangeNotes()
        self._find = SqlFindStore(database, reader, room, clock)
        self._context = SqlContext(database, clock)
        self._jobs = SqlJobStore(database, clock)
        self._vectors = SqlVectorStore(database, notes, reader)
        self._evidence = SqlEvidenceStore(database, notes)
        self._memories = SqlMemoryStore(database, clock, notes)
        self._drafts = SqlDraftStore(database, clock)
        self._retention = SqlRetentionStore(database)
        self._transfer = SqlTransferStore(database, room)
        self._moves = SqlMoveStore(database, clock)
        self._organising = SqlOrganisingStore(database, clock, reader)
        self._projects = SqlProjectStore(database, room, clock)
        self._insights = SqlInsightStore(database, reader)
        self._links = SqlLinkStore(database)
        self._attachments = SqlAttachmentStore(database, clock)
        self._personas = SqlPersonaStore(database, clock)

    @property
    def context(self) -> SqlContext:
        return self._context

    @property
    def jobs(self) -> SqlJobStore:
        return self._jobs

    @property
    def vectors(self) -> SqlVectorStore:
        return self._vectors

    @property
    def evidence(self) -> SqlEvidenceStore:
        return self._evidence

    @property
    def memories(self) -> SqlMemoryStore:
        return self._memories

    @property
    def drafts(self) -> SqlDraftStore:
        return self._drafts

    @property
    def retention(self) -> SqlRetentionStore:
        return self._retention

    @property
    def transfer(self) -> SqlTransferStore:
        return self._transfer

    @property
    def moves(self) -> SqlMoveStore:
        return self._moves

    @property
    def organising(self) -> SqlOrganisingStore:
        return self._organising

    @property
    def projects(self) -> SqlProjectStore:
        return self._projects

    @property
    def links(self) -> SqlLinkStore:
        return self._links

    @property
    def insights(self) -> SqlInsightStore:
        return self._insights

    @property
    def find(self) -> SqlFindStore:
        return self._find

    @property
    def attachments(self) -> SqlAttachmentStore:
        return self._attachments

    @property
    def personas(self) -> SqlPersonaStore:
        return self._personas
