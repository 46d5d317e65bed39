"""Finding without an index: every message is looked at. Words have no stems here."""

import re
from collections.abc import Sequence

from memory.entities import Message, MessageStatus, RoomKind, Session
from memory.errors import SavedSearchNotFound
from memory.ports import Clock
from memory.search.entities import (
    All,
    AnyOf,
    Condition,
    Field,
    Has,
    Is,
    Mark,
    MessageHit,
    Named,
    Not,
    Order,
    Page,
    Query,
    Relation,
    SaidBy,
    SavedSearch,
    SessionHit,
    Snippet,
    Thing,
    When,
    Words,
)
from memory.search.language import wanted_words
from memory.search.snippets import merged, snippet
from memory.search.words import is_unspaced, searchable
from memory.storage.values import new_id, storable
from memory.testing.attachments import InMemoryAttachmentStore
from memory.testing.finding import occurrences, words_of
from memory.testing.known import Known
from memory.testing.rows import Rows


class InMemoryFindStore:
    """`memory.search.ports.FindStore` in dictionaries."""

    def __init__(self, rows: Rows, clock: Clock, known: Known, attachments: InMemoryAttachmentStore) -> None:
        self._rows = rows
        self._clock = clock
        self._known = known
        self._attachments = attachments
        self._saved: dict[str, SavedSearch] = {}

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
    ) -> Page[SessionHit]:
        self._rows.require_open()
        found = [one for one in self._rows.sessions.values() if (one.deleted_at is not None) is binned]
        if query.where is None:
            found = [one for one in found if binned or one.archived_at is None]
            found.sort(key=lambda one: (one.pinned_at is not None, one.updated_at, one.id), reverse=True)
            hits = [SessionHit(one, Snippet(one.title)) for one in found]
        else:
            told = snippets and not exhaustive
            hits = [hit for one in found if (hit := self._hit(query, one, snippets=told)) is not None]
            hits.sort(key=lambda hit: (hit.session.updated_at, hit.session.id), reverse=True)
            if order is Order.BEST and not exhaustive:
                hits.sort(key=lambda hit: hit.score, reverse=True)
        return _page(hits, limit, offset)

    async def messages(
        self, query: Query, *, limit: int = 20, offset: int = 0, order: Order = Order.BEST
    ) -> Page[MessageHit]:
        self._rows.require_open()
        hits = [
            self._message_hit(query, message)
            for message in self._rows.messages.values()
            if self._rows.session(message.session_id).deleted_at is None
            and self._fits(query.where, message, whole=False)
        ]
        hits.sort(key=lambda hit: hit.message.created_at, reverse=True)
        if order is Order.BEST:
            hits.sort(key=lambda hit: hit.score, reverse=True)
        return _page(hits, limit, offset)

    async def among(self, query: Query, message_ids: Sequence[str]) -> list[MessageHit]:
        self._rows.require_open()
        there = [self._rows.messages[one] for one in message_ids if one in self._rows.messages]
        return [
            MessageHit(one, self._rows.session(one.session_id), 0.0, self._snippet(query, one.content))
            for one in there
            if self._rows.session(one.session_id).deleted_at is None
            and self._fits(query.where, one, whole=False)
        ]

    async def saved(self) -> list[SavedSearch]:
        self._rows.require_open()
        return sorted(self._saved.values(), key=lambda one: (one.name.casefold(), one.name))

    async def save(self, name: str, query: str) -> SavedSearch:
        self._rows.require_open()
        kept = SavedSearch(new_id(), storable(name), storable(query), self._clock.now())
        self._saved[kept.name.casefold()] = kept
        return kept

    async def remove_saved(self, name: str) -> None:
        self._rows.require_open()
        if self._saved.pop(storable(name).casefold(), None) is None:
            raise SavedSearchNotFound(name)

    # --- what fits --------------------------------------------------------------------------------

    def _hit(self, query: Query, session: Session, *, snippets: bool) -> SessionHit | None:
        said = [
            self._message_hit(query, message)
            for message in self._rows.messages.values()
            if message.session_id == session.id and self._fits(query.where, message, whole=True)
        ]
        titled = query.where is None or self._fits_title(query.where, session)
        if not said and not titled:
            return None
        best = max(said, key=lambda hit: hit.score, default=None) if any(wanted_words(query.where)) else None
        title = Snippet(session.title, _marks(query, session.title))
        score = (best.score if best else 0.0) + 0.5 * titled
        if best is None or not snippets:
            return SessionHit(session, title, score, matches=len(said))
        return SessionHit(session, title, score, best.message, best.snippet, len(said))

    def _message_hit(self, query: Query, message: Message) -> MessageHit:
        words = words_of(message.content)
        held = sum(_count(message.content, one) for one in wanted_words(query.where))
        score = held / (len(words) or 1)
        return MessageHit(
            message, self._rows.session(message.session_id), score, self._snippet(query, message.content)
        )

    def _snippet(self, query: Query, text: str) -> Snippet:
        return snippet(text, _marks(query, text))

    def _fits(self, part: Condition | None, message: Message, *, whole: bool) -> bool:
        session = self._rows.session(message.session_id)
        if message.status is MessageStatus.STREAMING:
            return False
        match part:
            case None:
                return True
            case All(parts):
                return all(self._fits(one, message, whole=whole) for one in parts)
            case AnyOf(parts):
                return any(self._fits(one, message, whole=whole) for one in parts)
            case Not(inner):
                if whole:
                    return not self._fits_somewhere(inner, session)
                return not self._fits(inner, message, whole=whole)
            case Words():
                return _count(message.content, part) > 0
            case _:
                return self._is(part, message, session)

    def _is(self, part: Condition, message: Message, session: Session) -> bool:
        match part:
            case SaidBy(role):
                return message.role is role
            case Is(Mark.IMPORTANT):
                return message.important or session.important
            case Is(Mark.PARTIAL):
                return message.status in {MessageStatus.PARTIAL, MessageStatus.FAILED}
            case Has(Thing.CODE):
                return "```" in message.content
            case Has(Thing.MEMORY):
                sources = (one for held in self._known.sources.values() for one in held)
                return any(one.message_id == message.id for one in sources)
            case When():
                return _within(part, message, message)
            case _:
                return self._fits_session(part, session)

    def _fits_title(self, part: Condition, session: Session) -> bool:
        match part:
            case All(parts):
                return all(self._fits_title(one, session) for one in parts)
            case AnyOf(parts):
                return any(self._fits_title(one, session) for one in parts)
            case Not(inner):
                return not self._fits_somewhere(inner, session)
            case Words(text):
                folded = searchable(text.casefold())
                title = session.title.casefold()
                return all(word in title for word in folded.split()) and (
                    " " not in folded or folded in searchable(title)
                )
            case Is(Mark.IMPORTANT):
                return session.important
            case When():
                return _within(part, session, session)
            case SaidBy() | Is(Mark.PARTIAL) | Has(Thing.CODE | Thing.MEMORY):
                return False
            case _:
                return self._fits_session(part, session)

    def _fits_somewhere(self, part: Condition, session: Session) -> bool:
        return self._fits_title(part, session) or any(
            self._fits(part, message, whole=True)
            for message in self._rows.messages.values()
            if message.session_id == session.id
        )

    def _fits_session(self, part: Condition, session: Session) -> bool:
        match part:
            case Named(Field.TAG, name, prefix):
                return any(_is_named(tag, name, prefix=prefix) for tag in session.tags)
            case Named(Field.PROJECT, name, prefix):
                return session.project is not None and _is_named(session.project, name, prefix=prefix)
            case Named(Field.CATEGORY, name, prefix):
                return session.category != "" and _is_named(session.category, name, prefix=prefix)
            case Named(Field.MODEL, name, prefix):
                said = [one.model for one in self._rows.messages.values() if one.session_id == session.id]
                models = [model.lower() for model in (session.model, *said) if model]
                return any(
                    model.startswith(name.lower()) if prefix else name.lower() in model for model in models
                )
            case Is(Mark.STARRED):
                return session.starred
            case Is(Mark.PRIVATE):
                return self._rows.room is RoomKind.PRIVATE
            case Is(Mark.ARCHIVED):
                return session.archived_at is not None
            case Is(Mark.PINNED):
                return session.pinned_at is not None
            case Has(Thing.ATTACHMENT):
                return bool(self._attachments.of(session.id))
        raise TypeError(f"{type(part).__name__} is not about sessions")


def _page(hits: list, limit: int, offset: int) -> Page:  # type: ignore[type-arg]  # of either kind of hit
    begin, end = max(offset, 0), max(offset, 0) + max(limit, 0)
    return Page(tuple(hits[begin:end]), len(hits), next_offset=end if len(hits) > end else None)


def _count(text: str, wanted: Words) -> int:
    if is_unspaced(wanted.text):
        return text.casefold().count(wanted.text.casefold())
    return occurrences(words_of(text), words_of(wanted.text), prefix=wanted.prefix)


def _marks(query: Query, text: str) -> tuple[tuple[int, int], ...]:
    found = []
    for one in wanted_words(query.where):
        for word in [one.text] if is_unspaced(one.text) else one.text.split():
            end = "" if is_unspaced(one.text) else r"\w*" if one.prefix else r"(?!\w)"
            begin = "" if is_unspaced(one.text) else r"(?<!\w)"
            found += [m.span() for m in re.finditer(begin + re.escape(word) + end, text, re.IGNORECASE)]
    return merged(found)


def _is_named(given: str, name: str, *, prefix: bool) -> bool:
    folded, wanted = given.casefold(), name.casefold()
    return folded.startswith(wanted) if prefix else folded == wanted


def _within(part: When, begin: Message | Session, end: Message | Session) -> bool:
    first = begin.created_at
    last = end.updated_at if isinstance(end, Session) else end.created_at
    match part.relation:
        case Relation.BEFORE:
            return first < part.begin
        case Relation.AFTER:
            return last >= part.begin
        case Relation.ON:
            return first < part.end and last >= part.begin
