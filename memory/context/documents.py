"""Selects what a prompt contains of the texts attached to a session.

A text that fits is included whole: with the newest turn, and from the next epoch on in its head. From one
that does not fit, the passages nearest to the question are sent with every turn. What is read is always
reported.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from memory.attachments import Attachment, by_words, candidates, ranked
from memory.context.assembly import Read
from memory.context.budget import Budget
from memory.context.entities import Epoch, NewEpoch, WholeDocument
from memory.entities import Message
from memory.storage.store import Store
from memory.vectors.entities import passages
from models.ports import TokenCounter

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
        """Returns what counts as documents and is not part of the head."""
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


class Documents:
    """The documents of one room. Without `embedding`, passages are chosen by their text alone."""

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

        `used` is the number of tokens taken already. What is in its preface from an earlier reply is not
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
