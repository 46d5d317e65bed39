"""Selects the attached texts, documents and notes for a prompt."""

import asyncio
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from memory.attachments import Attachment, by_words, candidates, ranked
from memory.context.assembly import Read
from memory.context.entities import Budget, Epoch, NewEpoch, WholeDocument
from memory.context.recalling import close_enough, closeness, needs_nothing
from memory.documents.entities import (
    Document,
    DocumentHit,
    DocumentKind,
    DocumentQuery,
    Material,
    StoredPassage,
)
from memory.entities import Message, Session
from memory.recall.question import LONGEST_QUESTION
from memory.recall.words import content_words
from memory.storage.store import Store
from memory.vectors.entities import passages
from models.messages import Role
from models.ports import TokenCounter

MOST_PASSAGES = 6
_SHARE = 4
"""Passages take at most a quarter of the working memory."""
_LONGEST_SUMMARY = 1_200
_FEW_WORDS = 4
_TITLE = "Passages from the documents. Answer from them, and cite them by number, like [1]:"
_NOTES = "Passages from the user's own notes. Use those that help, and cite them by number, like [1]:"


class DocumentSearch(Protocol):
    """Search in the documents of a room."""

    async def search(self, query: DocumentQuery) -> Sequence[DocumentHit]: ...


@dataclass(frozen=True, slots=True)
class TellsPassages:
    """The text before the user's message and its passages; `known` are those in the prompt since earlier
    turns."""

    text: str = ""
    tokens: int = 0
    passages: tuple[StoredPassage, ...] = ()
    known: tuple[StoredPassage, ...] = field(default=())

    @property
    def documents(self) -> tuple[str, ...]:
        """The ids of the documents whose passages are in the message's preface."""
        return tuple(dict.fromkeys(one.document for one in self.passages))


NO_PASSAGES = TellsPassages()


def passage_line(passage: StoredPassage) -> str:
    """Returns a passage as the model reads it: its number, its place, and its text on one line."""
    where = f", page {passage.page}" if passage.page is not None else ""
    text = " ".join(f"{passage.header} {passage.text}".split())
    return f"[{passage.marker}] {passage.title}{where}: {text}"


class LibraryContext:
    """The documents and notes of one room in prompts."""

    def __init__(self, store: Store, counter: TokenCounter, search: DocumentSearch) -> None:
        self._store = store
        self._counter = counter
        self._search = search

    async def summaries(self, session_id: str, budget: Budget) -> list[WholeDocument]:
        """Returns the summaries of a session's documents as parts of a head, as many as fit."""
        found: list[WholeDocument] = []
        left = budget.working // _SHARE
        for document in await self._store.documents.bound(session_id):
            block = _block(document)
            tokens = (await self._counter.count([block]))[0]
            if tokens > left:
                continue
            left -= tokens
            found.append(WholeDocument(document.id, block))
        return found

    async def tell(
        self,
        session: Session,
        material: Material,
        messages: Sequence[Message],
        budget: Budget,
        used: int,
        *,
        recalls: bool,
    ) -> TellsPassages:
        """Returns the passages for the newest of `messages`, for `used` tokens of the prompt.

        A message that has been answered before keeps its passages. Passages that the prompt contains already
        are not repeated. Without `recalls`, notes are not searched.
        """
        said = messages[-1]
        bound = frozenset(one.id for one in material.documents)
        # The earlier text of a changed document can no longer be cited.
        current = [
            one
            for one in material.passages
            if one.current and (one.kind is DocumentKind.NOTE or one.document in bound)
        ]
        own = tuple(one for one in current if one.message == said.id)
        shown = {message.id for message in messages[:-1] if message.preface}
        standing = tuple(one for one in current if one.message in shown)
        if own and said.preface:
            return TellsPassages(passages=own, known=standing)
        told = await self.select(
            session.project,
            bound,
            messages,
            min(budget.working // _SHARE, budget.limit - used),
            notes=recalls and material.notes,
            marker=max((one.marker for one in material.passages), default=0),
            standing=standing,
        )
        if told.passages:
            await self._store.documents.put_passages(session.id, told.passages)
        return told

    async def select(
        self,
        project: str | None,
        documents: Collection[str],
        messages: Sequence[Message],
        left: int,
        *,
        notes: bool,
        marker: int,
        standing: tuple[StoredPassage, ...],
        only_project: bool = False,
    ) -> TellsPassages:
        """Returns the passages of `documents` (ids), and with `notes` of notes, for the newest message.

        They take at most `left` tokens, are numbered after `marker`, and exclude the `standing` ones. With
        `only_project`, notes from outside the project are left out. Stores nothing.
        """
        said = messages[-1]
        found: list[tuple[str, Sequence[DocumentHit]]] = []
        if documents:
            found.append((_TITLE, await self._search.search(_query(messages, tuple(sorted(documents))))))
        if notes and not needs_nothing(said.content):
            found.append((_NOTES, await self._notes(project, messages, only_project=only_project)))
        in_prompt = {(one.document, one.begin, one.end) for one in standing}
        chosen: list[StoredPassage] = []
        blocks: list[str] = []
        for title, hits in found:
            left -= (await self._counter.count([f"{title}\n\n\n"]))[0]
            fresh = [hit for hit in hits if _place(hit) not in in_prompt]
            taken, lines, left = await self._fitting(fresh, said.id, marker + len(chosen), left)
            chosen += taken
            if lines:
                blocks.append("\n".join([title, *lines]) + "\n\n")
        if not chosen:
            return TellsPassages(known=standing)
        text = "".join(blocks)
        return TellsPassages(text, (await self._counter.count([text]))[0], tuple(chosen), standing)

    async def _fitting(
        self, hits: Sequence[DocumentHit], message_id: str, marker: int, left: int
    ) -> tuple[list[StoredPassage], list[str], int]:
        """Returns the passages that fit into `left` tokens, numbered after `marker`; their lines; what is
        left."""
        chosen: list[StoredPassage] = []
        lines: list[str] = []
        for hit in hits:
            if len(chosen) == MOST_PASSAGES:
                break
            passage = _passage(hit, marker + len(chosen) + 1, message_id)
            line = passage_line(passage)
            tokens = (await self._counter.count([f"{line}\n"]))[0]
            if tokens > left:
                continue
            left -= tokens
            chosen.append(passage)
            lines.append(line)
        return chosen, lines, left

    async def _notes(
        self, project: str | None, messages: Sequence[Message], *, only_project: bool
    ) -> list[DocumentHit]:
        """Returns the passages of notes that are close enough, those of the project first."""
        isolated = await self._store.projects.isolated()
        query = replace(_query(messages, None), without=isolated - {project})
        own = await self._near_notes(messages, replace(query, project=project)) if project else []
        if only_project or project in isolated or len(own) >= MOST_PASSAGES:
            return own
        known = {_place(hit) for hit in own}
        return own + [hit for hit in await self._near_notes(messages, query) if _place(hit) not in known]

    async def _near_notes(self, messages: Sequence[Message], query: DocumentQuery) -> list[DocumentHit]:
        """Returns the passages of notes that are close enough to the newest message, best first."""
        hits = await self._search.search(query)
        asked = content_words(await self._store.evidence.stems(query.text[:LONGEST_QUESTION]))
        if not hits or not asked:
            return []
        texts = [" ".join([hit.title, *hit.chunk.heading, hit.chunk.text]) for hit in hits]
        stems = await self._store.evidence.stems_of(texts)
        shares = [len(set(asked).intersection(own)) / len(set(asked)) for own in stems]
        close = [closeness(hit.cosine, share) for hit, share in zip(hits, shares, strict=True)]
        semantic = any(hit.cosine is not None for hit in hits)
        return [hits[at] for at in close_enough(messages[-1].content, close, semantic=semantic)]


def _query(messages: Sequence[Message], documents: tuple[str, ...] | None) -> DocumentQuery:
    """Returns the query for these documents, or for all notes if they are None."""
    kinds = frozenset({DocumentKind.NOTE}) if documents is None else frozenset(DocumentKind)
    return DocumentQuery(_question(messages), k=2 * MOST_PASSAGES, documents=documents, kinds=kinds)


def _place(hit: DocumentHit) -> tuple[str, int, int]:
    return hit.chunk.document, hit.chunk.begin, hit.chunk.end


def _passage(hit: DocumentHit, marker: int, message_id: str) -> StoredPassage:
    chunk = hit.chunk
    return StoredPassage(
        marker=marker,
        document=chunk.document,
        title=hit.title,
        page=chunk.page,
        lines=chunk.lines,
        begin=chunk.begin,
        end=chunk.end,
        heading=chunk.heading,
        text=chunk.text,
        sha256=hit.sha256,
        message=message_id,
        header=chunk.header,
        kind=hit.kind,
    )


def _block(document: Document) -> str:
    """Returns the text about a document in a head: its title, and its summary if it has one."""
    title = f'Document "{document.title}"'
    if document.summary is None:
        return title
    text = " ".join(document.summary.text.split())
    if len(text) > _LONGEST_SUMMARY:
        text = text[:_LONGEST_SUMMARY].rpartition(" ")[0] + " …"
    return f"{title}: {text}"


def _question(messages: Sequence[Message]) -> str:
    """Returns the text to search for: the newest message; if it is short, the one before it as well."""
    asked = [message.content for message in messages if message.role is Role.USER]
    newest = asked[-1]
    if len(asked) > 1 and len(content_words(newest.casefold().split())) < _FEW_WORDS:
        return f"{asked[-2]}\n{newest}"
    return newest


_CHARACTERS_A_TOKEN = 12
"""No text averages more characters per token. Tokens of a longer text are not counted: it cannot fit."""
_MOST_VECTORS = 4_000


class DocumentReading(StrEnum):
    """whole: sent with this turn; standing: in the prompt since an earlier turn; passages: some are sent with
    this turn; unread: there was no room for any."""

    WHOLE = "whole"
    STANDING = "standing"
    PASSAGES = "passages"
    UNREAD = "unread"


class Where(StrEnum):
    """head: in the epoch's head; earlier: in an earlier turn's preface; newest: in the newest turn's."""

    HEAD = "head"
    EARLIER = "earlier"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class DocumentUse:
    """How much of an attachment a prompt contains.

    `tokens` is its size; `passages` of `of` are included where it is not whole; `where` is their position.
    """

    id: str
    name: str
    reading: DocumentReading
    tokens: int = 0
    passages: int = 0
    of: int = 0
    where: Where = Where.NEWEST


@dataclass(frozen=True, slots=True)
class Told:
    """The text before the user's message, and what the prompt then contains of each attachment."""

    text: str = ""
    uses: tuple[DocumentUse, ...] = ()

    def without_new(self) -> "Told":
        """Returns what remains when there was no room for anything before the newest message."""
        uses = (
            replace(use, reading=DocumentReading.UNREAD, tokens=0, passages=0)
            if use.where is Where.NEWEST
            else use
            for use in self.uses
        )
        return Told("", tuple(uses))

    def read(self) -> Read:
        """Returns the documents outside the head."""
        held = [use for use in self.uses if use.reading is not DocumentReading.UNREAD]
        return Read(
            sum(use.tokens for use in held if use.where is Where.NEWEST),
            sum(use.tokens for use in held if use.where is Where.EARLIER),
            tuple(use.id for use in held),
        )


_FENCES = re.compile(r"`{3,}")


def whole_block(one: Attachment) -> str:
    """Returns a text under its name, in a code fence longer than any in the text."""
    fence = "`" * max((len(run) + 1 for run in _FENCES.findall(one.text)), default=3)
    return f'Attached file "{one.name}":\n{fence}\n{one.text}\n{fence}'


class PassageVectors(Protocol):
    """The embedding model, when it is available."""

    async def model(self) -> str | None:
        """Returns its fingerprint; None when no embedding model works."""
        ...

    async def vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | None:
        """Returns `float[len(texts)][dimension]`, each of length 1; None when the model does not answer."""
        ...


class AttachmentContext:
    """The attachments of one room. Without `embedding`, passages are chosen by their text alone."""

    def __init__(self, store: Store, counter: TokenCounter, embedding: PassageVectors | None = None) -> None:
        self._store = store
        self._counter = counter
        self._embedding = embedding
        self._sizes: dict[str, int] = {}
        self._vectors: dict[tuple[str, str, int], Sequence[float]] = {}

    async def whole(self, session_id: str, budget: Budget) -> list[WholeDocument]:
        """Returns the attachments to include whole, in order: as many as fit half of the working memory."""
        left = budget.working // 2
        found: list[WholeDocument] = []
        for one in await self._store.attachments.attached(session_id):
            size = await self._size(one, left)
            if size is not None and size <= left:
                found.append(WholeDocument(one.id, whole_block(one)))
                left -= size
        return found

    async def told(
        self,
        session_id: str,
        attached: Sequence[Attachment],
        messages: Sequence[Message],
        epoch: Epoch | NewEpoch,
        budget: Budget,
        used: int,
    ) -> Told:
        """Returns the text of attachments for the last of `messages` (those in the prompt).

        `used` is the number of tokens taken already. Text that its preface has from an earlier reply is not
        repeated.
        """
        if not attached:
            return Told()
        whole = {one.id: one.block for one in await self.whole(session_id, budget)}
        free = budget.limit - used - budget.recall
        earlier = [message.preface for message in messages[:-1] if message.preface]
        own = messages[-1].preface
        texts: list[str] = []
        uses: list[DocumentUse] = []
        partly: list[Attachment] = []
        for one in attached:
            block = whole.get(one.id)
            size = 0 if block is None else self._sizes[one.id]
            where = None if block is None else _where(block, epoch.head, earlier, own)
            if where is not None:
                uses.append(DocumentUse(one.id, one.name, DocumentReading.STANDING, size, where=where))
            elif block is not None and size <= free:
                uses.append(DocumentUse(one.id, one.name, DocumentReading.WHOLE, size))
                texts.append(block)
                free -= size
            else:
                partly.append(one)
        room = min(budget.working // 5, free)
        for number, one in enumerate(partly):
            share = room // (len(partly) - number)
            text, use = await self._passages(one, messages[-1].content, earlier, own, share)
            room -= use.tokens
            texts += [text] if text else []
            uses.append(use)
        order = {one.id: at for at, one in enumerate(attached)}
        uses.sort(key=lambda use: order[use.id])
        return Told("".join(f"{text}\n\n" for text in texts), tuple(uses))

    async def _passages(
        self, one: Attachment, question: str, earlier: Sequence[str], own: str, room: int
    ) -> tuple[str, DocumentUse]:
        """Returns the nearest passages that fit and are not in the prompt yet, in text order."""
        pieces = await asyncio.to_thread(passages, one.text)
        lines = await asyncio.to_thread(lambda: [" ".join(piece.split()) for piece in pieces])
        chosen: list[int] = []
        there = 0
        title = f'From the attached file "{one.name}", the passages nearest to what is asked '
        left = room - (await self._counter.count([f"{title}({len(pieces)} of {len(pieces)}):\n\n"]))[0]
        for at in await self._ranked(one.id, question, pieces):
            if any(lines[at] in preface for preface in (own, *earlier)):
                there += 1
                continue
            if title in own:
                break
            cost = (await self._counter.count([f"- {lines[at]}\n"]))[0]
            if cost > left:
                continue
            left -= cost
            chosen.append(at)
        held = len(chosen) + there
        if not chosen:
            reading = DocumentReading.STANDING if there else DocumentReading.UNREAD
            return "", DocumentUse(one.id, one.name, reading, 0, held, len(pieces))
        body = "\n".join(f"- {lines[at]}" for at in sorted(chosen))
        text = f"{title}({len(chosen)} of {len(pieces)}):\n{body}"
        tokens = (await self._counter.count([text]))[0]
        return text, DocumentUse(one.id, one.name, DocumentReading.PASSAGES, tokens, held, len(pieces))

    async def _ranked(self, attachment_id: str, question: str, pieces: Sequence[str]) -> list[int]:
        words = await asyncio.to_thread(by_words, question, pieces)
        return ranked(words, await self._meaning(attachment_id, question, pieces, candidates(words)))

    async def _meaning(
        self, attachment_id: str, question: str, pieces: Sequence[str], at: Sequence[int]
    ) -> dict[int, float]:
        """Returns the cosine of the question and each piece at these indices; empty without a model."""
        model = None if self._embedding is None else await self._embedding.model()
        if self._embedding is None or model is None:
            return {}
        keys = {place: (model, attachment_id, place) for place in at}
        missing = [place for place in at if keys[place] not in self._vectors]
        if len(self._vectors) + len(missing) > _MOST_VECTORS:
            self._vectors.clear()
            missing = list(at)
        found = await self._embedding.vectors([question, *(pieces[place] for place in missing)])
        if found is None:
            return {}
        asked, *made = found
        self._vectors.update(zip((keys[place] for place in missing), made, strict=True))
        return {
            place: sum(one * other for one, other in zip(asked, self._vectors[keys[place]], strict=True))
            for place in at
        }

    async def _size(self, one: Attachment, most: int) -> int | None:
        """Returns the tokens of an attachment as a block; None when it is certainly longer than `most`."""
        known = self._sizes.get(one.id)
        if known is None and len(one.text) <= most * _CHARACTERS_A_TOKEN:
            known = self._sizes[one.id] = (await self._counter.count([f"{whole_block(one)}\n\n"]))[0]
        return known


def _where(block: str, head: str, earlier: Sequence[str], own: str) -> Where | None:
    if block in head:
        return Where.HEAD
    if any(block in preface for preface in earlier):
        return Where.EARLIER
    return Where.NEWEST if block in own else None
