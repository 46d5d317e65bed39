"""The seams of memory: what a store and a clock must offer."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from memory.attachments.ports import AttachmentStore
from memory.context.entities import Summary
from memory.context.ports import ContextStore
from memory.drafts import DraftStore
from memory.entities import (
    Erased,
    Freshness,
    Message,
    MessagePatch,
    NewMessage,
    NewSession,
    Node,
    RoomKind,
    RoomReport,
    SearchHit,
    Session,
    SessionPatch,
)
from memory.forgetting import Affected, Target
from memory.insights.ports import InsightStore
from memory.jobs.queue import JobStore
from memory.memories.ports import MemoryStore
from memory.organising.links import LinkStore
from memory.organising.ports import OrganisingStore, ProjectStore
from memory.personas.ports import PersonaStore
from memory.recall.ports import EvidenceStore
from memory.retention import RetentionStore
from memory.rooms.ports import MoveStore
from memory.search.ports import FindStore
from memory.transfer.ports import TransferStore
from memory.vectors.ports import VectorStore


class Clock(Protocol):
    def now(self) -> datetime:
        """The present moment, aware, in UTC."""
        ...


class SessionStore(Protocol):
    """One room. A second room is a second instance; nothing in here chooses between rooms.

    A `ref` is a full id, a unique prefix of one, or `last` (the session used most recently that is neither in
    the bin nor archived). Raises `SessionNotFound`, `AmbiguousId`, `StorageFull`, `RoomDamaged`,
    `RoomClosed`.
    A call that has returned is durable.
    """

    @property
    def room(self) -> RoomKind: ...

    @property
    def freshness(self) -> Freshness:
        """Whether the room was found as new as it had been when it was last used."""
        ...

    @property
    def context(self) -> ContextStore:
        """The room's summaries, epochs and turns."""
        ...

    @property
    def jobs(self) -> JobStore:
        """The room's background queue."""
        ...

    @property
    def vectors(self) -> VectorStore:
        """Vectors of what was said."""
        ...

    @property
    def evidence(self) -> EvidenceStore:
        """What recall reads."""
        ...

    @property
    def memories(self) -> MemoryStore:
        """What was learned."""
        ...

    @property
    def drafts(self) -> DraftStore:
        """What was typed and not yet sent."""
        ...

    @property
    def retention(self) -> RetentionStore:
        """How long sessions are kept."""
        ...

    @property
    def transfer(self) -> TransferStore:
        """Whole sessions, in and out."""
        ...

    @property
    def moves(self) -> MoveStore:
        """Sessions that move to and from other rooms."""
        ...

    @property
    def organising(self) -> OrganisingStore:
        """Marks of many sessions at once, suggestions, merging."""
        ...

    @property
    def projects(self) -> ProjectStore: ...

    @property
    def links(self) -> LinkStore:
        """What leads from sessions to others, and from memories to sessions."""
        ...

    @property
    def insights(self) -> InsightStore:
        """What the room tells of its own use."""
        ...

    @property
    def find(self) -> FindStore:
        """What is in the room, by the language of queries."""
        ...

    @property
    def attachments(self) -> AttachmentStore:
        """Texts that were given to sessions to read."""
        ...

    @property
    def personas(self) -> PersonaStore:
        """Personas, and templates of prompts."""
        ...

    async def create_session(self, new: NewSession, first: NewMessage) -> tuple[Session, Message]:
        """Stores a session together with its first message, in one transaction."""
        ...

    async def get_session(self, ref: str) -> Session:
        """Sessions in the bin are found by id or prefix, never by `last`."""
        ...

    async def list_sessions(
        self,
        *,
        limit: int | None = None,
        offset: int = 0,
        binned: bool = False,
        containing: str = "",
        archived: bool | None = False,
    ) -> list[Session]:
        """Pinned ones first, then most recently used first. `containing` filters on title and text, by words
        or their beginnings; what is archived is found so, too. Otherwise it is listed only with `archived`
        (True: it alone, None: beside the others)."""
        ...

    async def update_session(self, session_id: str, patch: SessionPatch) -> Session: ...

    async def bin_session(self, session_id: str) -> Session:
        """Moves the session to the bin; `restore_session` brings it back."""
        ...

    async def restore_session(self, session_id: str) -> Session:
        """Brings it back from the bin; if it was merged into another one, with its messages."""
        ...

    async def fork_session(self, session_id: str, leaf_id: str, title: str | None = None) -> Session:
        """A new session that begins with a copy of the branch that ends at `leaf_id`, in one transaction.

        Texts, times, tokens and marks are kept, and so are project, memory mode, system prompt, model, tags,
        and of the summaries, epochs and turns those that belong to the branch. A title that is given is the
        person's; without one it is the session's, of the same source. Raises `SessionNotFound`,
        `MessageNotFound`.
        """
        ...

    async def erase_session(self, session_id: str) -> Erased:
        """Erases a session for good with all that was made from it, in one transaction, and looks whether
        anything of it is left. Memories that other sources speak for stay, without what it said. Where it
        or memories that go with it were recalled in other sessions, the prefaces that hold them are emptied
        and the epochs end. Raises `SessionNotFound`."""
        ...

    async def forget(self, target: Target, *, dry_run: bool = False) -> Affected:
        """Erases all that is meant, in one transaction, and looks whether anything of it is left; with
        `dry_run` only says what would go.

        Whole sessions, messages with their other variants and the answers that repeat their words, memories;
        of what is chosen by its words alone (`about`) titles, tags, drafts and whatever else holds them.
        Raises also `MessageNotFound`, `MemoryNotFound`, `BadQuery`.
        """
        ...

    async def append_message(
        self, session_id: str, new: NewMessage, *, parent_id: str | None = None
    ) -> Message:
        """Adds a node below `parent_id` (default: the head); it becomes the head."""
        ...

    async def begin_turn(
        self, session_id: str | None, new_session: NewSession | None, said: NewMessage, reply: NewMessage
    ) -> tuple[Session, Message, Message]:
        """Stores what was said and, below it, the reply that is to grow, in one transaction: both or neither.

        They are added at the head of `session_id`, or begin `new_session`; exactly one of the two is given.
        Returns the session as it is afterwards, with the reply as its head. Raises as `append_message`, and
        `SessionBinned`.
        """
        ...

    async def edit_message(self, message_id: str, content: str) -> Message:
        """A person's other words for a message: a new variant of it, which becomes the head.

        The message and all that follows it stay. Raises `MessageNotFound`, `SessionBinned`.
        """
        ...

    async def forget_message(self, message_id: str) -> list[Summary]:
        """Empties a message in place, so that the tree stays whole.

        Its preface, tokens, vectors and full-text entries go, as do remembered results of its session, what
        memories rest on it, and the prefaces of turns in which it or one of these was recalled; the epochs
        of these sessions end. Returns the summaries that cover it: they are stale, and empty until they are
        made anew. A reply that is being written must have been stopped before. Raises `MessageNotFound`.
        """
        ...

    async def forget_messages(self, message_ids: Collection[str]) -> Erased:
        """As `forget_message`, all in one transaction, and looks whether anything of them is left. Titles
        that rest on their words are emptied, but for those that a person gave."""
        ...

    async def update_message(self, message_id: str, patch: MessagePatch) -> Message: ...

    async def set_head(self, session_id: str, message_id: str) -> Session: ...

    async def branch(
        self,
        session_id: str,
        leaf_id: str | None = None,
        *,
        since: Collection[str] = (),
        newest: int | None = None,
    ) -> list[Message]:
        """Messages from the root to `leaf_id` (default: the head), oldest first.

        With `since` it begins at the newest of these messages that is on the branch, if any is; with `newest`
        it is at most so many (≥ 1) messages long. The cost is that of what is returned, however long the
        session.
        """
        ...

    async def outline(self, session_id: str, *, excerpt: int = 0) -> list[Node]:
        """Every message of a session, on any branch, in the order in which they were stored; of their texts
        the first `excerpt` characters. Raises `SessionNotFound`."""
        ...

    async def variants(self, message_id: str) -> list[Message]:
        """The message and its siblings of the same role, oldest first."""
        ...

    async def search(self, query: str, *, limit: int = 20) -> list[SearchHit]:
        """Messages that hold the words of `query`, best first: `find` without its language. Raises
        `BadQuery`."""
        ...

    async def sessions_to_title(self, *, limit: int = 10) -> Sequence[str]:
        """Ids of sessions with a finished reply whose title still is its first words."""
        ...

    async def verify(self) -> RoomReport:
        """Checks every page, key and reference. Reads everything; changes nothing."""
        ...

    async def close(self) -> None: ...
