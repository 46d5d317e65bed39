"""Selects what a prompt contains of documents and notes: summaries and passages.

The summaries of the documents that a session is about are part of an epoch's head. The passages nearest to
the question are sent with the newest turn, each under a number by which the reply can cite it. Numbers go up
within a session, because earlier passages stay in the prompt. Notes are searched in every session that uses
memory, those of its project first; only passages close to the message are sent. The notes of an isolated
project are found in its sessions alone, and no others are found there.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from memory.context.budget import Budget
from memory.context.entities import WholeDocument
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
    """Returns a passage as the model reads it: its number, where it stands, and its text on one line."""
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
        """Returns the summaries of a session's documents as parts of a head, as far as they fit."""
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
        are not repeated. Without `recalls`, no notes are looked for.
        """
        said = messages[-1]
        bound = frozenset(one.id for one in material.documents)
        # What a document said before it changed can no longer be cited.
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

        They take at most `left` tokens, are numbered after `marker`, and are none of the `standing` ones.
        With `only_project`, notes from outside the project are left out. Stores nothing.
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
    """Returns what to look for in these documents; for None, in all notes."""
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
    """Returns what the head says of a document: title, and its summary if there is one."""
    title = f'Document "{document.title}"'
    if document.summary is None:
        return title
    text = " ".join(document.summary.text.split())
    if len(text) > _LONGEST_SUMMARY:
        text = text[:_LONGEST_SUMMARY].rpartition(" ")[0] + " …"
    return f"{title}: {text}"


def _question(messages: Sequence[Message]) -> str:
    """Returns what to look for: the newest message; a short one, together with the one before it."""
    asked = [message.content for message in messages if message.role is Role.USER]
    newest = asked[-1]
    if len(asked) > 1 and len(content_words(newest.casefold().split())) < _FEW_WORDS:
        return f"{asked[-2]}\n{newest}"
    return newest
