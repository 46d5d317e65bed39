"""Search in all open rooms with the query language: by text, by marks, and by meaning."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from atlas_desktop.services.cleaning import clean_line
from memory.clock import LocalZone
from memory.context.recalling import closeness, near_enough
from memory.documents.entities import (
    Document,
    DocumentHit,
    DocumentKind,
    DocumentMatch,
    DocumentQuery,
    Grain,
)
from memory.entities import RoomKind
from memory.errors import DocumentNotFound, SavedSearchNotFound
from memory.recall.entities import RecallQuery
from memory.search.entities import (
    All,
    ItemKind,
    MessageHit,
    Order,
    Page,
    Query,
    Relation,
    SavedSearch,
    SessionHit,
    Snippet,
    When,
)
from memory.search.language import of_kind, parse, wanted_words
from memory.search.terms import snippet

if TYPE_CHECKING:
    from atlas_desktop.services.desk import AppContext
    from atlas_desktop.services.room import RoomServices
    from memory.recall.entities import Hit

H = TypeVar("H", MessageHit, SessionHit, DocumentMatch)

_ASKED = 200
"""How many messages nearest to a question are checked against the rest of the query."""
_SAVED = re.compile(r'\s*@(?:"([^"]+)"|(\S+))\s*')


@dataclass(frozen=True, slots=True)
class Asked:
    """A query as typed, with saved searches expanded, and its parsed form."""

    text: str
    query: Query


class FindingService:
    """Search on one desk. Results of several rooms are merged; a closed room yields none."""

    def __init__(self, desk: "AppContext") -> None:
        self._desk = desk

    async def understand(self, text: str, *, typing: bool = False) -> Asked:
        """Parses a query. `@name` at the beginning stands for a saved search.

        `typing` is as in `memory.search.language.parse`. Raises `QueryUnclear`, `SavedSearchNotFound`.
        """
        now = self._desk.clock.now().astimezone(LocalZone())
        found = _SAVED.match(text)
        if found is not None:
            text = f"{text[found.end() :]} {await self._query_of(found[1] or found[2])}".strip()
        return Asked(text, parse(text, now, typing=typing))

    async def sessions(
        self,
        query: Query,
        *,
        limit: int = 50,
        offset: int = 0,
        order: Order = Order.RECENT,
        binned: bool = False,
        snippets: bool = True,
        exhaustive: bool = False,
        scattered: bool = False,
    ) -> Page[SessionHit]:
        """Returns the sessions that match. Hits of a question are ordered by similarity.

        `exhaustive` and `scattered` as in `FindStore.sessions`. Raises what the store raises.
        """
        said = of_kind(query, ItemKind.MESSAGE)
        if said is None:
            return Page((), 0)
        if said.question:
            hits = await self._by_meaning(said)
            return _cut(_of_sessions(hits), limit, offset)
        end = max(offset, 0) + max(limit, 0)
        begin, most = (offset, limit) if len(self._desk.open_rooms) == 1 else (0, end)
        pages: list[Page[SessionHit]] = await self._desk.of_each(
            lambda room: room.store.find.sessions(
                said,
                limit=most,
                offset=begin,
                order=order,
                binned=binned,
                snippets=snippets,
                exhaustive=exhaustive,
                scattered=scattered,
            ),
            Page((), 0),
        )
        pinned = said.where is None and not binned

        def place(hit: SessionHit) -> tuple[object, ...]:
            by_score = hit.score if order is Order.BEST else 0.0
            at = hit.session
            return pinned and at.pinned_at is not None, by_score, at.updated_at, at.id

        merged = pages[0].hits if len(pages) == 1 else sorted(_all(pages), key=place, reverse=True)
        return _together(pages, merged, offset, end)

    async def messages(
        self, query: Query, *, limit: int = 20, offset: int = 0, order: Order = Order.BEST
    ) -> Page[MessageHit]:
        """Returns the messages that match. Raises what the store raises."""
        said = of_kind(query, ItemKind.MESSAGE)
        if said is None:
            return Page((), 0)
        if said.question:
            return _cut(await self._by_meaning(said), limit, offset)
        end = max(offset, 0) + max(limit, 0)
        begin, most = (offset, limit) if len(self._desk.open_rooms) == 1 else (0, end)
        pages: list[Page[MessageHit]] = await self._desk.of_each(
            lambda room: room.store.find.messages(said, limit=most, offset=begin, order=order), Page((), 0)
        )

        def place(hit: MessageHit) -> tuple[object, ...]:
            by_score = hit.score if order is Order.BEST else 0.0
            return by_score, hit.message.created_at, hit.message.id

        merged = pages[0].hits if len(pages) == 1 else sorted(_all(pages), key=place, reverse=True)
        return _together(pages, merged, offset, end)

    async def documents(
        self,
        query: Query,
        *,
        kind: ItemKind = ItemKind.DOCUMENT,
        limit: int = 50,
        order: Order = Order.RECENT,
    ) -> Page[DocumentMatch]:
        """Returns the documents (or the notes, by `kind`) that match: those with the words, or those nearest
        to the question.

        A query with neither finds documents only if it does not ask for conversations. Raises what the store
        raises.
        """
        read = of_kind(query, kind)
        if read is None:
            return Page((), 0)
        looks_for_text = read.question != "" or any(wanted_words(read.where))
        if not looks_for_text and of_kind(query, ItemKind.MESSAGE) is not None:
            return Page((), 0)
        find = _nearest_documents if read.question else _documents
        pages: list[Page[DocumentMatch]] = await self._desk.of_each(
            lambda room: find(room, read, kind, limit, order), Page((), 0)
        )

        def place(hit: DocumentMatch) -> tuple[object, ...]:
            by_score = hit.score if order is Order.BEST or read.question else 0.0
            return by_score, hit.dated, hit.document.id

        merged = pages[0].hits if len(pages) == 1 else sorted(_all(pages), key=place, reverse=True)
        return _together(pages, merged, 0, limit)

    # --- saved searches ---------------------------------------------------------------------------

    async def saved(self) -> list[SavedSearch]:
        """Returns the saved searches of all open rooms, by name."""
        each: list[list[SavedSearch]] = await self._desk.of_each(lambda room: room.store.find.saved(), [])
        found = [one for of_room in each for one in of_room]
        return sorted(found, key=lambda one: (one.name.casefold(), one.name))

    async def save(self, name: str, text: str, room: "RoomServices | None" = None) -> SavedSearch:
        """Saves a query in the room (default: the first open one).

        Raises `QueryUnclear`, and ValueError when the name or the query is empty.
        """
        line = clean_line(name).lstrip("@").strip().replace('"', "")
        asked = await self.understand(text)
        if not line or not asked.text.strip():
            raise ValueError("a saved search needs a name and a query")
        where = room or self._desk.open_rooms[0]
        return await where.store.find.save(line[:80], asked.text.strip())

    async def remove(self, name: str) -> None:
        """Removes a saved search from every open room. Raises `SavedSearchNotFound`."""
        gone = False
        for room in self._desk.open_rooms:
            try:
                await room.store.find.remove_saved(name.lstrip("@"))
                gone = True
            except SavedSearchNotFound:
                continue
        if not gone:
            raise SavedSearchNotFound(name)

    async def _query_of(self, name: str) -> str:
        for one in await self.saved():
            if one.name.casefold() == name.casefold():
                return one.query
        raise SavedSearchNotFound(name)

    # --- by meaning -------------------------------------------------------------------------------

    async def _by_meaning(self, query: Query) -> list[MessageHit]:
        """Returns the messages nearest to the question that match the rest of the query, nearest first."""
        each: list[list[MessageHit]] = await self._desk.of_each(lambda room: _near_in(room, query), [])
        return sorted((hit for of_room in each for hit in of_room), key=lambda hit: hit.score, reverse=True)


async def _documents(
    room: "RoomServices", query: Query, kind: ItemKind, limit: int, order: Order
) -> Page[DocumentMatch]:
    return await room.store.find.documents(query, kind=kind, limit=limit, order=order)


async def _nearest_documents(
    room: "RoomServices", query: Query, kind: ItemKind, limit: int, _order: Order
) -> Page[DocumentMatch]:
    asked = DocumentQuery(
        query.question, limit, grain=Grain.DOCUMENT, kinds=frozenset({DocumentKind(kind.value)})
    )
    answer = await room.documents.search.answer(asked)
    close = [closeness(hit.cosine, hit.parts["lexical"]) for hit in answer.hits]
    semantic = any(hit.cosine is not None for hit in answer.hits)
    hits = [answer.hits[at] for at in near_enough(close, semantic=semantic)]
    chunks = [hit.chunk.id for hit in hits]
    allowed = await room.store.find.chunks_among(Query(query.where), chunks, kind=kind)
    found = []
    for hit in hits:
        if hit.chunk.id in allowed:
            # It may have been removed meanwhile.
            with suppress(DocumentNotFound):
                document = await room.store.documents.get(hit.chunk.document)
                found.append(_near_document(hit, document, room.store.room, DocumentKind(kind.value)))
    return Page(tuple(found), len(found))


def _near_document(hit: DocumentHit, document: Document, room: RoomKind, kind: DocumentKind) -> DocumentMatch:
    piece = snippet(hit.chunk.text, ())
    return DocumentMatch(
        document, room, Snippet(document.title), hit.score, hit.chunk, piece, matches=1, kind=kind
    )


async def _near_in(room: "RoomServices", query: Query) -> list[MessageHit]:
    since, before = _bounds(query)
    answer = await room.recall.answer(
        RecallQuery(query.question, k=_ASKED, since=since, before=before, everywhere=True)
    )
    close = [closeness(hit.grounds.cosine, hit.grounds.words) for hit in answer.hits]
    semantic = any(hit.grounds.cosine is not None for hit in answer.hits)
    hits = [answer.hits[at] for at in near_enough(close, semantic=semantic)]
    near = {hit.source.message: hit for hit in hits if hit.source.message is not None}
    fitting = await room.store.find.among(Query(query.where), list(near))
    return [_near(hit, near[hit.message.id]) for hit in fitting]


def _near(hit: MessageHit, near: "Hit") -> MessageHit:
    # The hit is a passage. Search terms are marked in the message itself.
    piece = hit.snippet if hit.snippet.marks else snippet(near.passage, ())
    return replace(hit, score=near.score, snippet=piece, parts=tuple(near.parts.items()))


def _bounds(query: Query) -> tuple[datetime | None, datetime | None]:
    """Returns the start and the end of the wanted period, where they are unambiguous."""
    whole = query.where.parts if isinstance(query.where, All) else (query.where,)
    since = [one.begin for one in whole if isinstance(one, When) and one.relation is not Relation.BEFORE]
    before = [
        one.begin if one.relation is Relation.BEFORE else one.end
        for one in whole
        if isinstance(one, When) and one.relation is not Relation.AFTER
    ]
    return max(since, default=None), min(before, default=None)


def _of_sessions(hits: Sequence[MessageHit]) -> list[SessionHit]:
    """Returns each session once, at the position of its best message."""
    found: dict[str, SessionHit] = {}
    for hit in hits:
        known = found.get(hit.session.id)
        if known is None:
            title = Snippet(hit.session.title)
            found[hit.session.id] = SessionHit(hit.session, title, hit.score, hit.message, hit.snippet, 1)
        else:
            found[hit.session.id] = replace(known, matches=known.matches + 1)
    return list(found.values())


def _all(pages: Sequence[Page[H]]) -> list[H]:
    return [hit for page in pages for hit in page.hits]


def _cut(hits: Sequence[H], limit: int, offset: int) -> Page[H]:
    begin, end = max(offset, 0), max(offset, 0) + max(limit, 0)
    return Page(tuple(hits[begin:end]), len(hits), next_offset=end if len(hits) > end else None)


def _together(pages: Sequence[Page[H]], merged: Sequence[H], offset: int, end: int) -> Page[H]:
    if len(pages) == 1:
        return pages[0]
    if not pages:
        return Page((), 0)
    total = sum(page.total for page in pages)
    shown = tuple(merged[max(offset, 0) : end])
    further = len(merged) > end or any(page.next_offset is not None for page in pages)
    return Page(shown, total, any(page.more for page in pages), end if further else None)
