"""Recall over one room: gathers the evidence, has it scored, and loads the words of the best."""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from memory.ports import Clock
from memory.recall.catalogue import Catalogue
from memory.recall.entities import Grounds, Hit, Posting, Recalled, Text
from memory.recall.gathering import Question, Rows, gather, shared
from memory.recall.moments import asks_when, spans
from memory.recall.ports import KINDS, EvidenceStore, QueryVectors
from memory.recall.references import refers_back
from memory.recall.scoring import Evidence, Scores, Weights, score
from memory.recall.selecting import best_of, in_scope, may_be_found
from memory.recall.words import addresses_machine, carries_meaning, content_words, named, without_names
from memory.vectors.entities import Near, Scope
from memory.vectors.mirror import IndexMirror
from memory.vectors.passages import passages

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PAGE = 1000
"""Messages that are read at a time: other calls of the room wait for no more than that."""
NEAREST = 3000
"""Passages that a search asks the index for; what is further away counts like the last of them."""
COMMON = 20_000
COMMON_SHARE = 0.25
FEW = 1_000
"""A word in more messages than `COMMON`, or than this share of more than a `FEW`, tells them apart too little
for the time it would take."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One question, as asked."""

    query: str
    k: int
    session: str | None
    project: str | None
    exclude_messages: frozenset[str]
    exclude_sessions: frozenset[str]
    since: datetime | None
    before: datetime | None
    now: datetime
    widen: bool


class RecallEngine:
    """`memory.recall.ports.Recall` over the messages of one room.

    Words are always evidence; meaning is, as soon as the index holds vectors of the model that the question
    can be embedded with.
    """

    def __init__(
        self,
        evidence: EvidenceStore,
        clock: Clock,
        *,
        mirror: IndexMirror | None = None,
        vectors: QueryVectors | None = None,
        weights: Weights | None = None,
        scorer: Callable[[Evidence, Weights], Scores] = score,
    ) -> None:
        """`scorer` is replaced only to measure other ways of scoring."""
        self._evidence = evidence
        self._clock = clock
        self._mirror = mirror
        self._vectors = vectors
        self._weights = weights or Weights()
        self._scorer = scorer
        self._catalogue: Catalogue | None = None
        self._version = 0
        self._lock = asyncio.Lock()

    async def recall(
        self,
        query: str,
        *,
        k: int = 10,
        kinds: Collection[str] = KINDS,
        session: str | None = None,
        project: str | None = None,
        exclude_messages: Collection[str] = (),
        exclude_sessions: Collection[str] = (),
        since: datetime | None = None,
        before: datetime | None = None,
        now: datetime | None = None,
        widen: bool = False,
    ) -> list[Hit]:
        found = await self.answer(
            query,
            k=k,
            kinds=kinds,
            session=session,
            project=project,
            exclude_messages=exclude_messages,
            exclude_sessions=exclude_sessions,
            since=since,
            before=before,
            now=now,
            widen=widen,
        )
        return list(found.hits)

    async def answer(
        self,
        query: str,
        *,
        k: int = 10,
        kinds: Collection[str] = KINDS,
        session: str | None = None,
        project: str | None = None,
        exclude_messages: Collection[str] = (),
        exclude_sessions: Collection[str] = (),
        since: datetime | None = None,
        before: datetime | None = None,
        now: datetime | None = None,
        widen: bool = False,
    ) -> Recalled:
        begun = time.perf_counter()
        wanted = Wanted(
            query,
            k if "message" in kinds else 0,
            session,
            project,
            frozenset(exclude_messages),
            frozenset(exclude_sessions),
            since,
            before,
            now or self._clock.now(),
            widen,
        )
        hits, semantic = await self._answer(wanted) if query.strip() and wanted.k > 0 else ([], False)
        return Recalled(tuple(hits), 1000 * (time.perf_counter() - begun), semantic)

    def use(self, mirror: IndexMirror) -> None:
        """Takes vectors as evidence from now on."""
        self._mirror = mirror

    async def warm(self) -> None:
        """Reads what the first question would otherwise wait for."""
        await self._follow()

    # --- what the room holds ----------------------------------------------------------------------

    async def _follow(self) -> Catalogue:
        """The catalogue, as the room is now."""
        async with self._lock:
            if self._catalogue is None:
                return await self._read_all()
            catalogue = self._catalogue
            changes = await self._evidence.changes(self._version)
            if changes.sessions:
                catalogue.take_sessions(await self._evidence.session_entries(changes.sessions))
            if changes.messages:
                entries = await self._evidence.entries_of(changes.messages)
                catalogue.drop(changes.messages - {entry.seq for entry in entries})
                catalogue.take(entries)
            self._version = changes.version
            return catalogue

    async def _read_all(self) -> Catalogue:
        version = (await self._evidence.changes(None)).version
        catalogue = Catalogue()
        after = 0
        while page := await self._evidence.entries(after=after, limit=PAGE):
            known = catalogue.session_codes.keys()
            new = {entry.session_id for entry in page} - known
            catalogue.take_sessions(await self._evidence.session_entries(new))
            catalogue.take(page)
            after = page[-1].seq
        self._catalogue, self._version = catalogue, version
        return catalogue

    # --- one question -----------------------------------------------------------------------------

    async def _answer(self, wanted: Wanted) -> tuple[list[Hit], bool]:
        catalogue = await self._follow()
        speakers = named(wanted.query, catalogue.speakers)
        names = [catalogue.speakers[number] for number in speakers]
        embedding = asyncio.ensure_future(self._embedded(without_names(wanted.query, names)))
        try:
            stems = await self._evidence.stems(without_names(wanted.query, names))
            looked_for = content_words(stems)
            most = min(COMMON, max(FEW, round(COMMON_SHARE * len(catalogue))))
            postings = await self._evidence.postings(looked_for, at_most=most)
            vector = await embedding
        finally:
            embedding.cancel()
        question = Question(
            speakers,
            spans(wanted.query, wanted.now),
            asks_machine=addresses_machine(wanted.query),
            asks_when=asks_when(wanted.query),
            now=wanted.now,
            words=len(looked_for) if carries_meaning(stems) else 0,
        )
        narrow = wanted.session is None and wanted.project is not None
        hits: list[Hit] = []
        if not (narrow and wanted.widen and refers_back(wanted.query)):
            hits = await self._within(catalogue, wanted, wanted.project, postings, vector, question)
        if narrow and wanted.widen and len(hits) < wanted.k:
            known = {hit.id for hit in hits}
            others = await self._within(catalogue, wanted, None, postings, vector, question)
            hits = (hits + [hit for hit in others if hit.id not in known])[: wanted.k]
        return hits, vector is not None

    async def _embedded(self, text: str) -> Sequence[float] | None:
        """The question as a vector that the index can be asked with."""
        if self._vectors is None or self._mirror is None or self._mirror.model is None:
            return None
        await self._mirror.follow()
        vector = await self._vectors.vector(text)
        return None if vector is None or vector.model != self._mirror.model else vector.numbers

    async def _within(
        self,
        catalogue: Catalogue,
        wanted: Wanted,
        project: str | None,
        postings: Sequence[Posting],
        vector: Sequence[float] | None,
        question: Question,
    ) -> list[Hit]:
        near = None
        if vector is not None and self._mirror is not None:
            scope = Scope(frozenset({"message"}), project, wanted.session)
            near = await self._mirror.index.search(vector, limit=NEAREST, scope=scope)
        chosen = in_scope(catalogue, project=project, session=wanted.session)
        if not len(chosen):
            return []
        rows = Rows(catalogue, chosen)
        evidence = gather(catalogue, rows, postings, near, question)
        scores = self._scorer(evidence, self._weights)
        allowed = may_be_found(
            catalogue,
            chosen,
            messages=wanted.exclude_messages,
            sessions=wanted.exclude_sessions,
            since=wanted.since,
            before=wanted.before,
        )
        best = best_of(scores.total, allowed, catalogue.time[chosen], wanted.k)
        texts = await self._evidence.texts([int(seq) for seq in catalogue.seq[chosen[best]]])
        place = {int(catalogue.seq[chosen[at]]): int(at) for at in best}
        parts = _best_parts(near)
        words = shared(catalogue, rows, postings, question.words)
        return [
            _hit(text, at := place[text.seq], scores, parts, _grounds(evidence, words, at)) for text in texts
        ]


def _best_parts(near: Near | None) -> dict[str, int]:
    """Which passage of each message is the nearest."""
    found: dict[str, int] = {}
    if near is not None:
        for owner, part in zip(near.owners, near.parts, strict=True):
            found.setdefault(owner, part)
    return found


def _grounds(evidence: Evidence, words: "NDArray[np.float64]", at: int) -> Grounds:
    cosine = None if evidence.meaning is None else float(evidence.meaning[at])
    # Not a number: the message has no vector yet.
    return Grounds(cosine if cosine == cosine else None, float(words[at]))


def _hit(text: Text, at: int, scores: Scores, parts: dict[str, int], grounds: Grounds) -> Hit:
    message = text.source.message or ""
    pieces = passages(text.text)
    part = min(parts.get(message, 0), len(pieces) - 1)
    return Hit(
        id=message,
        kind="message",
        text=text.text,
        passage=pieces[part],
        score=float(scores.total[at]),
        parts={name: float(values[at]) for name, values in scores.parts.items()},
        source=text.source,
        grounds=grounds,
    )
