"""A client's access to the open room: each answer is within its scopes and its project, and is logged."""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from atlas_desktop.errors import DoorRefused
from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean
from atlas_desktop.services.room import RoomServices
from memory.clients import AccessKind, AccessOutcome, Client, Scope
from memory.documents.entities import Document, DocumentHit, DocumentKind, DocumentQuery
from memory.entities import MemoryMode, Message, Session
from memory.errors import AmbiguousId, DocumentNotFound, NoteNotFound, SessionNotFound
from memory.memories.entities import Memory
from memory.notes.entities import Note
from memory.personas import Template
from memory.recall.entities import Hit, RecallQuery

T = TypeVar("T")
MOST_HITS = 50
MOST_TEXT = 20_000
"""Maximum characters of a text in one answer; the next request gets the rest."""
MOST_QUERY = 4_000
MOST_LISTED = 200
KINDS = ("message", "memory", "summary")


@dataclass(slots=True)
class Counted:
    """How much a request received, for the log."""

    items: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text from `begin` on; `total` is the length of the whole, both in characters."""

    text: str
    begin: int
    total: int

    @property
    def next(self) -> int | None:
        """Where the rest begins, if there is any."""
        end = self.begin + len(self.text)
        return end if end < self.total else None


def piece(text: str, begin: int, most: int = MOST_TEXT) -> Piece:
    """Returns the part of a text that begins at `begin`."""
    begin = min(max(0, begin), len(text))
    return Piece(text[begin : begin + most], begin, len(text))


class ClientAccess:
    """The open room as one client sees it. Raises `DoorRefused`, and what the room raises."""

    def __init__(self, room: RoomServices, client: Client) -> None:
        self.room = room
        self.client = client

    def may(self, scope: Scope) -> bool:
        return scope in self.client.scopes

    @asynccontextmanager
    async def asked(self, kind: AccessKind, scope: Scope | None = None) -> AsyncIterator[Counted]:
        """Wraps a request: refuses it without its scope or after a revocation, and logs how it ended."""
        counted, outcome = Counted(), AccessOutcome.FAILED
        try:
            # A program on standard input showed its token only once, when it connected.
            if not await self.room.clients.allowed(self.client):
                raise DoorRefused("wrong_token", 401)
            if scope is not None and not self.may(scope):
                raise DoorRefused("scope", 403, scope=scope.value)
            yield counted
            outcome = AccessOutcome.DONE
        except DoorRefused:
            outcome = AccessOutcome.REFUSED
            raise
        finally:
            await self.room.clients.record(
                self.client, kind, outcome, items=counted.items, tokens=counted.tokens
            )

    async def project(self, wanted: str | None) -> str | None:
        """Returns the project that a request is about, in the room's spelling. Raises `DoorRefused`."""
        if self.client.bound:
            if self.client.project is None:
                raise DoorRefused("project", 403)
            if wanted is not None and wanted.casefold() != self.client.project.casefold():
                raise DoorRefused("project", 403)
            return self.client.project
        if wanted is None:
            return None
        spelt = await self.room.projects.spelt(wanted) or wanted
        if spelt in await self.room.store.projects.isolated():
            raise DoorRefused("isolated", 403)
        return spelt

    async def sees(self, project: str | None) -> bool:
        """Whether the client may see what belongs to a project (None: to none)."""
        if self.client.bound:
            return self.client.project is not None and project == self.client.project
        return project is None or project not in await self.room.store.projects.isolated()

    # --- recall -----------------------------------------------------------------------------------

    async def recall(
        self,
        query: str,
        *,
        k: int = 10,
        kinds: Collection[str] = ("message", "memory"),
        project: str | None = None,
    ) -> tuple[list[Hit], float]:
        """Returns the best messages and memories first, and the time in milliseconds."""
        async with self.asked(AccessKind.RECALL, Scope.RECALL) as counted:
            unknown = set(kinds) - set(KINDS)
            if unknown:
                raise DoorRefused("bad_request", 400, why=_("The kinds are {kinds}.", kinds=", ".join(KINDS)))
            found = await self.room.recall.answer(
                RecallQuery(
                    _query(query), k=_bound(k), kinds=tuple(kinds), project=await self.project(project)
                )
            )
            counted.items = len(found.hits)
            return list(found.hits), found.took_ms

    async def sessions(self, *, containing: str = "", limit: int = 20) -> list[Session]:
        """Returns the conversations that may be recalled, most recently used first."""
        async with self.asked(AccessKind.SESSIONS, Scope.RECALL) as counted:
            found = await self.room.sessions.recent(containing=containing[:MOST_QUERY], limit=MOST_LISTED)
            seen = [one for one in found if await self._sees_session(one)][: _bound(limit)]
            counted.items = len(seen)
            return seen

    async def session(self, ref: str) -> tuple[Session, tuple[Message, ...]]:
        """Returns a conversation with its messages."""
        async with self.asked(AccessKind.SESSIONS, Scope.RECALL) as counted:
            view = await _found(lambda: self.room.sessions.view(ref))
            if not await self._sees_session(view.session):
                raise DoorRefused("not_its_own", 404)
            counted.items = len(view.messages)
            return view.session, tuple(view.messages)

    async def session_text(self, ref: str, *, begin: int = 0) -> tuple[Session, Piece]:
        """Returns a conversation and a part of it as plain text."""
        session, messages = await self.session(ref)
        said = (f"{one.speaker or one.role.value}: {one.content}" for one in messages if one.content)
        return session, piece("\n\n".join(said), begin)

    async def _sees_session(self, session: Session) -> bool:
        """Whether other sessions may recall it, or the client began it."""
        if session.deleted_at is not None or not await self.sees(session.project):
            return False
        if session.memory_mode is MemoryMode.NORMAL:
            return True
        return await self.room.store.clients.began(self.client.id, session.id)

    # --- documents and notes ----------------------------------------------------------------------

    async def search(
        self,
        query: str,
        *,
        k: int = 10,
        kind: DocumentKind = DocumentKind.DOCUMENT,
        documents: Sequence[str] = (),
        project: str | None = None,
    ) -> tuple[list[DocumentHit], float]:
        """Returns passages of documents or notes, best first, and the time in milliseconds."""
        log = AccessKind.NOTES if kind is DocumentKind.NOTE else AccessKind.DOCUMENTS
        async with self.asked(log, Scope.DOCUMENTS) as counted:
            chosen = tuple([(await self._document(ref)).id for ref in documents]) if documents else None
            named = await self.project(project)
            hidden = await self.room.store.projects.isolated() - {named}
            if self.client.bound and named is None:
                raise DoorRefused("project", 403)
            wanted = DocumentQuery(
                _query(query),
                _bound(k),
                documents=chosen,
                project=named,
                kinds=frozenset({kind}),
                without=frozenset(hidden),
            )
            search = self.room.documents.search
            await search.load()
            found = await search.answer(wanted)
            counted.items = len(found.hits)
            return list(found.hits), found.took_ms

    async def documents(self, *, limit: int = MOST_LISTED) -> list[Document]:
        """Returns the documents that the client may read."""
        async with self.asked(AccessKind.DOCUMENTS, Scope.DOCUMENTS) as counted:
            found = await self.room.documents.list(project=self.client.project if self.client.bound else None)
            seen = [one for one in found if await self.sees(one.project)][:limit]
            counted.items = len(seen)
            return seen

    async def document(self, ref: str, *, page: int | None = None, begin: int = 0) -> tuple[Document, Piece]:
        """Returns a document and a part of its text, or of one of its pages."""
        async with self.asked(AccessKind.DOCUMENTS, Scope.DOCUMENTS) as counted:
            document = await self._document(ref)
            text = await self.room.store.documents.text(document.id, page)
            if text is None:
                raise DoorRefused("not_its_own", 404)
            counted.items = 1
            return document, piece(text, begin)

    async def document_ids(self, refs: Sequence[str]) -> tuple[str, ...]:
        """Returns the IDs of documents that the client may read. They are logged with the request that uses
        them."""
        if refs and not self.may(Scope.DOCUMENTS):
            raise DoorRefused("scope", 403, scope=Scope.DOCUMENTS.value)
        return tuple([(await self._document(ref)).id for ref in refs])

    async def _document(self, ref: str) -> Document:
        document = await _found(lambda: self.room.store.documents.get(ref))
        if not await self.sees(document.project):
            raise DoorRefused("not_its_own", 404)
        return document

    async def note(self, ref: str, *, begin: int = 0) -> tuple[Note, Piece]:
        """Returns a note and a part of its text."""
        async with self.asked(AccessKind.NOTES, Scope.DOCUMENTS) as counted:
            note = await _found(lambda: self.room.notes.get(ref))
            if note.deleted_at is not None or not await self.sees(note.project):
                raise DoorRefused("not_its_own", 404)
            counted.items = 1
            return note, piece(note.text, begin)

    async def notes(self, *, limit: int = MOST_LISTED) -> list[tuple[str, str]]:
        """Returns ids and titles of the notes that the client may read, latest change first."""
        async with self.asked(AccessKind.NOTES, Scope.DOCUMENTS) as counted:
            found = await self.room.notes.list(project=self.client.project if self.client.bound else None)
            seen = [(one.id, one.title) for one in found if await self.sees(one.project)][:limit]
            counted.items = len(seen)
            return seen

    # --- templates and proposals ------------------------------------------------------------------

    async def templates(self) -> list[Template]:
        """Returns the user's prompt templates."""
        async with self.asked(AccessKind.TEMPLATES, Scope.CHAT) as counted:
            found = await self.room.personas.templates()
            counted.items = len(found)
            return found

    async def propose(self, text: str, *, project: str | None = None) -> Memory:
        """Puts a memory into the inbox. It is not used before the user accepts it."""
        async with self.asked(AccessKind.REMEMBER, Scope.REMEMBER) as counted:
            try:
                made = await self.room.knowledge.propose(
                    clean(text), client_id=self.client.id, project=await self.project(project)
                )
            except ValueError:
                raise DoorRefused(
                    "bad_request", 400, why=_("A memory has between 1 and 4,000 characters.")
                ) from None
            counted.items = 1
            return made


async def _found(find: Callable[[], Awaitable[T]]) -> T:
    """Returns the result. Missing items and ambiguous IDs are refused in the same way."""
    try:
        return await find()
    except (AmbiguousId, DocumentNotFound, NoteNotFound, SessionNotFound):
        raise DoorRefused("not_its_own", 404) from None


def _query(text: str) -> str:
    """Returns the query, cleaned and bounded. Raises `DoorRefused`."""
    query = clean(text).strip()[:MOST_QUERY]
    if not query:
        raise DoorRefused("bad_request", 400, why=_("The query is empty."))
    return query


def _bound(k: int) -> int:
    return min(max(1, k), MOST_HITS)
