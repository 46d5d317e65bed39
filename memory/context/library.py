"""Selects what a prompt contains of the documents that a session is about: summaries and passages.

Summaries are part of an epoch's head. The passages nearest to the question are sent with the newest turn,
each under a number by which the reply can cite it. Numbers go up within a session, because earlier passages
stay in the prompt.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from memory.context.budget import Budget
from memory.context.entities import WholeDocument
from memory.documents.entities import Document, DocumentHit, DocumentQuery, Material, StoredPassage
from memory.entities import Message
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
    """The documents of one room in prompts."""

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
        session_id: str,
        material: Material,
        messages: Sequence[Message],
        budget: Budget,
        used: int,
    ) -> TellsPassages:
        """Returns the passages for the newest of `messages`, for `used` tokens of the prompt.

        A message that has been answered before keeps its passages. Passages that the prompt contains already
        are not repeated.
        """
        said = messages[-1]
        bound, known = material.documents, material.passages
        if not bound:
            return NO_PASSAGES
        sha256 = {one.id: one.sha256 for one in bound}
        # What a document said before it changed can no longer be cited.
        current = [one for one in known if sha256.get(one.document) == one.sha256]
        own = tuple(one for one in current if one.message == said.id)
        shown = {message.id for message in messages[:-1] if message.preface}
        standing = tuple(one for one in current if one.message in shown)
        if own and said.preface:
            return TellsPassages(passages=own, known=standing)
        query = DocumentQuery(
            _question(messages), k=2 * MOST_PASSAGES, documents=tuple(one.id for one in bound)
        )
        hits = await self._search.search(query)
        in_prompt = {(one.document, one.begin, one.end) for one in standing}
        marker = max((one.marker for one in known), default=0)
        left = min(budget.working // _SHARE, budget.limit - used)
        left -= (await self._counter.count([f"{_TITLE}\n\n\n"]))[0]
        chosen: list[StoredPassage] = []
        lines: list[str] = []
        for hit in hits:
            chunk = hit.chunk
            if (chunk.document, chunk.begin, chunk.end) in in_prompt or len(chosen) == MOST_PASSAGES:
                continue
            passage = StoredPassage(
                marker=marker + len(chosen) + 1,
                document=chunk.document,
                title=hit.title,
                page=chunk.page,
                lines=chunk.lines,
                begin=chunk.begin,
                end=chunk.end,
                heading=chunk.heading,
                text=chunk.text,
                sha256=sha256[chunk.document],
                message=said.id,
                header=chunk.header,
            )
            line = passage_line(passage)
            tokens = (await self._counter.count([f"{line}\n"]))[0]
            if tokens > left:
                continue
            left -= tokens
            chosen.append(passage)
            lines.append(line)
        if not chosen:
            return TellsPassages(known=standing)
        text = "\n".join([_TITLE, *lines]) + "\n\n"
        await self._store.documents.put_passages(session_id, chosen)
        return TellsPassages(text, (await self._counter.count([text]))[0], tuple(chosen), standing)


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
