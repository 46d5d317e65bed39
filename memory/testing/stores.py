"""The stores that stand beside a session store in dictionaries, over the same rows."""

from memory.entities import Freshness, RoomKind
from memory.ports import Clock
from memory.testing.attachments import InMemoryAttachmentStore
from memory.testing.clock import FakeClock
from memory.testing.context import InMemoryContext
from memory.testing.drafts import InMemoryDraftStore
from memory.testing.erasing import Erasing
from memory.testing.evidence import InMemoryEvidenceStore
from memory.testing.forgetting import Forgetting
from memory.testing.insights import InMemoryInsightStore
from memory.testing.jobs import InMemoryJobStore
from memory.testing.knowledge import InMemoryMemoryStore
from memory.testing.links import InMemoryLinkStore
from memory.testing.moves import InMemoryMoveStore
from memory.testing.organising import InMemoryOrganisingStore
from memory.testing.personas import InMemoryPersonaStore
from memory.testing.projects import InMemoryProjectStore
from memory.testing.retention import InMemoryRetentionStore
from memory.testing.rows import Rows
from memory.testing.searching import InMemoryFindStore
from memory.testing.transfer import InMemoryTransferStore
from memory.testing.vectors import InMemoryVectorStore


class InMemoryStores:
    """Makes them all, and hands each out."""

    def __init__(self, clock: Clock | None = None, room: RoomKind = RoomKind.OPEN) -> None:
        self._clock = clock or FakeClock()
        self._rows = Rows(room)
        self._context = InMemoryContext(self._rows, self._clock)
        self._jobs = InMemoryJobStore(self._rows, self._clock)
        self._vectors = InMemoryVectorStore(self._rows, self._context)
        self._drafts = InMemoryDraftStore(self._rows)
        self._memories = InMemoryMemoryStore(self._rows, self._clock, self._context)
        self._evidence = InMemoryEvidenceStore(self._rows, self._memories.known, self._context)
        self._retention = InMemoryRetentionStore(self._rows)
        self._erasing = Erasing(self._rows, self._context)
        self._forgetting = Forgetting(self._rows, self._erasing, self._memories)
        self._attachments = InMemoryAttachmentStore(self._rows, self._clock, self._context)
        self._transfer = InMemoryTransferStore(self._rows, self._attachments)
        self._find = InMemoryFindStore(self._rows, self._clock, self._memories.known, self._attachments)
        self._personas = InMemoryPersonaStore(self._rows, self._clock)
        self._projects = InMemoryProjectStore(self._rows, self._clock)
        self._organising = InMemoryOrganisingStore(self._rows, self._clock, self._projects)
        self._insights = InMemoryInsightStore(self._rows)
        self._links = InMemoryLinkStore(self._rows, self._memories.known)
        self._moves = InMemoryMoveStore(
            self._rows, self._clock, self._context, self._memories.known, self._attachments
        )

    @property
    def room(self) -> RoomKind:
        return self._rows.room

    @property
    def freshness(self) -> Freshness:
        return Freshness.CURRENT

    @property
    def find(self) -> InMemoryFindStore:
        return self._find

    @property
    def context(self) -> InMemoryContext:
        return self._context

    @property
    def jobs(self) -> InMemoryJobStore:
        return self._jobs

    @property
    def vectors(self) -> InMemoryVectorStore:
        return self._vectors

    @property
    def evidence(self) -> InMemoryEvidenceStore:
        return self._evidence

    @property
    def drafts(self) -> InMemoryDraftStore:
        return self._drafts

    @property
    def memories(self) -> InMemoryMemoryStore:
        return self._memories

    @property
    def retention(self) -> InMemoryRetentionStore:
        return self._retention

    @property
    def transfer(self) -> InMemoryTransferStore:
        return self._transfer

    @property
    def moves(self) -> InMemoryMoveStore:
        return self._moves

    @property
    def organising(self) -> InMemoryOrganisingStore:
        return self._organising

    @property
    def projects(self) -> InMemoryProjectStore:
        return self._projects

    @property
    def links(self) -> InMemoryLinkStore:
        return self._links

    @property
    def insights(self) -> InMemoryInsightStore:
        return self._insights

    @property
    def attachments(self) -> InMemoryAttachmentStore:
        return self._attachments

    @property
    def personas(self) -> InMemoryPersonaStore:
        return self._personas
