"""Recall over one room: gathers evidence, scores it, and loads the texts of the best hits."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.clock import Clock, micros
from memory.recall.catalogue import Catalogue
from memory.recall.entities import (
    ITEM_KINDS,
    Hit,
    QueryVectors,
    RawScores,
    Recalled,
    RecallItem,
    RecallQuery,
    Source,
    Text,
)
from memory.recall.feature_builder import Question, gather, narrowed
from memory.recall.item_index import Sought, findable
from memory.recall.lexical import Places
from memory.recall.question import (
    QueryEmbedder,
    Wanted,
    parts_of,
    question_of,
    refers_back,
    sentences,
    understood,
)
from memory.recall.room import RoomView
from memory.recall.rows import POOL, ItemRows, Rows, best_of, in_turns, may_be_found
from memory.recall.scoring import Evidence, Scores, Weights, score
from memory.recall.searching import Search
from memory.recall.semantic_scores import Nearest
from memory.recall.window import ANSWERS, Span, Window, recent
from memory.recall.words import content_words
from memory.storage.evidence import EvidenceStore
from memory.vectors.entities import passages
from memory.vectors.indexing import IndexMirror

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Ranked:
    """The rows compared, their scores, and the places of the best, best first. Places count the messages
    first, then the items."""

    catalogue: Catalogue
    rows: Rows
    items: ItemRows
    evidence: Evidence
    scores: Scores
    best: "NDArray[np.int64]"

    def messages(self) -> list[int]:
        """Returns the `seq` of every message whose text is needed: the hits, and the first known message that
        each memory was learned from."""
        n, catalogue = len(self.rows.rows), self.catalogue
        found = [int(seq) for seq in catalogue.seq[self.rows.rows[self.best[self.best < n]]]]
        for at in self.best[self.best >= n]:
            row = self._learned_from(self._item(int(at)))
            found += [] if row is None else [int(catalogue.seq[row])]
        return found

    def hits(self, texts: Sequence[Text], near: Nearest | None) -> list[Hit]:
        """Builds the hits. `texts` are those of `messages`; a message erased meanwhile is left out."""
        known = {text.seq: text for text in texts}
        n, found = len(self.rows.rows), []
        for at in map(int, self.best):
            if at >= n:
                found.append(self._of_item(at, known))
            elif (text := known.get(int(self.catalogue.seq[self.rows.rows[at]]))) is not None:
                found.append(self._of_message(at, text, near))
        return found

    def _of_message(self, at: int, text: Text, near: Nearest | None) -> Hit:
        message = text.source.message or ""
        pieces = passages(text.text)
        part = 0 if near is None else near.part(int(self.rows.rows[at]))
        return Hit(
            id=message,
            kind="message",
            text=text.text,
            passage=pieces[min(part, len(pieces) - 1)],
            score=float(self.scores.total[at]),
            parts=self.reasons(at),
            source=text.source,
            grounds=self._grounds(at),
        )

    def _of_item(self, at: int, texts: dict[int, Text]) -> Hit:
        item = self._item(at)
        row = self._learned_from(item)
        text = None if row is None else texts.get(int(self.catalogue.seq[row]))
        session = item.sessions[0] if item.sessions else None
        return Hit(
            id=item.id,
            kind=item.kind,
            text=item.text,
            passage=item.text,
            score=float(self.scores.total[at]),
            parts=self.reasons(at),
            source=Source(session, None, None, None, item.created, "") if text is None else text.source,
            grounds=self._grounds(at),
            sources=item.messages,
        )

    def reasons(self, at: int) -> dict[str, float]:
        return {name: float(values[at]) for name, values in self.scores.parts.items()}

    def _item(self, at: int) -> RecallItem:
        return self.items.item_index.items[int(self.items.rows[at - len(self.rows.rows)])]

    def _learned_from(self, item: RecallItem) -> int | None:
        """Returns the row of the first known message that a memory was learned from."""
        return next((row for one in item.messages if (row := self.catalogue.rows.get(one)) is not None), None)

    def _grounds(self, at: int) -> RawScores:
        meaning = self.evidence.meaning
        cosine = None if meaning is None else float(meaning[at])
        # NaN: it has no vector yet.
        return RawScores(cosine if cosine == cosine else None, float(self.evidence.held[at]))


COMMON = 5_000
"""A stem in more messages is too common to look up."""


@dataclass(frozen=True, slots=True)
class Looked:
    """What a question is searched with."""

    words: tuple[str, ...]
    places: Sequence[Places]
    vector: Sequence[float] | None
    question: Question


@dataclass(frozen=True, slots=True)
class Found:
    """Hits, whether vectors took part, and whether session memory alone answered."""

    hits: list[Hit]
    semantic: bool = False
    window: bool = False


class RecallEngine:
    """Implements `memory.recall.entities.Recall` over the messages, memories and summaries of one room.

    Words are always evidence. Meaning is evidence once the index contains vectors of the model that embeds
    the question.
    """

    def __init__(
        self,
        evidence: EvidenceStore,
        clock: Clock,
        *,
        mirror: IndexMirror | None = None,
        vectors: QueryVectors | None = None,
        weights: Weights | Callable[[], Weights] | None = None,
        scorer: Callable[[Evidence, Weights], Scores] = score,
        refined: bool = True,
        ask_first: Callable[[], bool] = lambda: False,
        span: Callable[[], Span] = Span,
    ) -> None:
        """`scorer` and `refined` are set only to measure other methods. With `refined`, the directions that
        requests of one kind have in common are removed from a question, and a second search uses the best
        answers. With `ask_first`, only memories accepted by the user are found."""
        self._evidence = evidence
        self._clock = clock
        self._mirror = mirror
        self._meanings = None if vectors is None else QueryEmbedder(vectors, evidence, refined=refined)
        self._weights = weights or Weights()
        self._scorer = scorer
        self._refined = refined
        self._ask_first = ask_first
        self._span = span
        self._window = Window(evidence)
        self._room = RoomView(evidence)

    async def recall(self, query: RecallQuery) -> list[Hit]:
        return list((await self.answer(query)).hits)

    async def answer(self, query: RecallQuery) -> Recalled:
        begun = time.perf_counter()
        wanted = Wanted.of(query, query.now or self._clock.now())
        found = Found([])
        if wanted.text.strip() and wanted.k > 0 and wanted.kinds:
            found = await self._answer(wanted)
        took = 1000 * (time.perf_counter() - begun)
        return Recalled(tuple(found.hits), took, found.semantic, found.window)

    def use(self, mirror: IndexMirror) -> None:
        """Uses vectors as evidence from now on."""
        self._mirror = mirror

    async def warm(self) -> None:
        """Reads the room, so that the first question does not wait for it."""
        await self._room.follow()

    async def warm_wordings(self) -> None:
        """Reads the wordings, so that the first question for a time or for advice does not wait for them."""
        await self._room.read_wordings()

    async def warm_questions(self) -> None:
        """Embeds the texts that requests for advice are compared with, so that the first one does not
        wait."""
        if self._meanings is not None and self._mirror is not None and self._mirror.model is not None:
            await self._meanings.warm(self._mirror.model)

    async def messages(self, prefix: str) -> list[str]:
        """Returns the ids of finished messages that start with `prefix`; none for an empty prefix."""
        await self._room.follow()
        return [one for one in self._room.catalogue.rows if one.startswith(prefix)] if prefix else []

    # --- one question -----------------------------------------------------------------------------

    async def _answer(self, wanted: Wanted) -> Found:
        await self._room.follow()
        catalogue = self._room.catalogue
        bare, speakers = understood(wanted, catalogue.speakers)
        lately = wanted.recent_first and "message" in wanted.kinds
        # The question is embedded while the room is read. Reads run one after another: the room has one
        # thread.
        embedding = None if lately else asyncio.ensure_future(self._embedded(bare))
        try:
            asked = sentences(bare) if self._refined else [bare]
            of_each = await self._evidence.stems_of(asked)
            stems = list(dict.fromkeys(stem for own in of_each for stem in own))
            words = tuple(content_words(stems))
            question = question_of(wanted, speakers, stems, words, parts_of(asked, of_each, words))
            if lately and question.words and (hits := await self._lately(wanted, words, question)):
                return Found(hits, window=True)
            embedding = embedding or asyncio.ensure_future(self._embedded(bare))
            places = await self._room.places(words, at_most=COMMON) if "message" in wanted.kinds else []
            if self._mirror is not None:
                await self._mirror.follow()
            vector = await embedding
        finally:
            if embedding is not None:
                embedding.cancel()
        looked = Looked(words, places, vector, question)
        narrow = wanted.session is None and wanted.project is not None
        widen = narrow and wanted.widen and not self._isolated(wanted, wanted.project)
        hits = (
            [] if widen and refers_back(wanted.text) else await self._within(wanted, wanted.project, looked)
        )
        if widen and len(hits) < wanted.k:
            known = {hit.id for hit in hits}
            others = await self._within(wanted, None, looked)
            hits = (hits + [hit for hit in others if hit.id not in known])[: wanted.k]
        return Found(hits, semantic=vector is not None)

    async def _lately(self, wanted: Wanted, words: tuple[str, ...], question: Question) -> list[Hit]:
        """Returns hits from the last hours and from memories, by words alone; none if they do not answer."""
        catalogue = self._room.catalogue
        chosen = recent(
            catalogue,
            self._span(),
            wanted.now,
            project=wanted.project,
            session=wanted.session,
            without=self._without(wanted, wanted.project),
        )
        if not len(chosen):
            return []
        looked = Looked(words, await self._window.places(catalogue, chosen, words), None, question)
        return await self._ranked(wanted, wanted.project, looked, Rows(catalogue, chosen), least=ANSWERS)

    async def _embedded(self, text: str) -> Sequence[float] | None:
        """Returns the question as a vector of the index's model, or None."""
        if self._meanings is None or self._mirror is None or self._mirror.model is None:
            return None
        return await self._meanings.of(text, self._mirror.model)

    async def _within(self, wanted: Wanted, project: str | None, looked: Looked) -> list[Hit]:
        # When messages are not searched, the session "" selects no rows.
        rows = self._room.scope(
            project=project,
            session=wanted.session if "message" in wanted.kinds else "",
            without=self._without(wanted, project),
        )
        return await self._ranked(wanted, project, looked, rows)

    async def _ranked(
        self, wanted: Wanted, project: str | None, looked: Looked, rows: Rows, *, least: float = 0.0
    ) -> list[Hit]:
        """Returns the best of these messages and of the items. With `least`, returns nothing unless an
        allowed message that does not only ask contains at least that share of the question's words."""
        import numpy as np

        catalogue, item_index = self._room.catalogue, self._room.item_index
        items = ItemRows(item_index, findable(item_index, self._sought(wanted, project)), catalogue, rows)
        if not len(rows.rows) + len(items.rows):
            return []
        search = self._search(wanted, project, looked.vector)
        near = None if search is None else await search.look()
        rows = narrowed(catalogue, rows, looked.places, near, looked.question.spans)
        if looked.question.asks_when or looked.question.asks_advice:
            await self._room.read_wordings(rows.rows)
        evidence = gather(catalogue, rows, items, looked.words, looked.places, near, looked.question)
        allowed, times = self._allowed(wanted, rows, items)
        n = len(rows.rows)
        if least and not (evidence.held[:n] >= least)[allowed[:n] & ~evidence.asks[:n]].any():
            return []
        weights = self._weights if isinstance(self._weights, Weights) else self._weights()
        scores = self._scorer(evidence, weights)
        if self._refined and search and near:
            found = await search.look_again(looked.question, rows, items, near, evidence, scores.total)
            scores = scores if found is evidence else self._scorer(found, weights)
        turns = looked.question.turns
        best = best_of(scores.total, allowed, times, wanted.k * (POOL if turns else 1))
        if turns:
            best = in_turns(best, np.concatenate([rows.session, items.session]))[: wanted.k]
        ranked = Ranked(catalogue, rows, items, evidence, scores, best)
        return await asyncio.to_thread(ranked.hits, await self._evidence.texts(ranked.messages()), near)

    def _search(self, wanted: Wanted, project: str | None, vector: Sequence[float] | None) -> Search | None:
        if vector is None or self._mirror is None or self._meanings is None:
            return None
        return Search(self._mirror, self._meanings, self._room, wanted, project, vector)

    def _isolated(self, wanted: Wanted, project: str | None) -> bool:
        """Whether nothing outside this project may be found."""
        return project in self._room.isolated and not wanted.everywhere

    def _without(self, wanted: Wanted, project: str | None) -> frozenset[str]:
        """Returns the isolated projects in which nothing may be found. A session that is named may be in
        any."""
        if wanted.everywhere or wanted.session is not None:
            return frozenset()
        return self._room.isolated - {project}

    def _sought(self, wanted: Wanted, project: str | None) -> Sought:
        without = self._without(wanted, project)
        return Sought(
            wanted.kinds & ITEM_KINDS,
            micros(wanted.now),
            project,
            wanted.session,
            None if wanted.since is None else micros(wanted.since),
            None if wanted.before is None else micros(wanted.before),
            wanted.exclude_messages,
            self._room.hidden(but=wanted.session, without=without) | wanted.exclude_sessions,
            self._ask_first(),
            self._isolated(wanted, project),
            without,
        )

    def _allowed(
        self, wanted: Wanted, rows: Rows, items: ItemRows
    ) -> "tuple[NDArray[np.bool_], NDArray[np.int64]]":
        """Returns which of the messages and items may be found, and their times."""
        import numpy as np

        catalogue = self._room.catalogue
        allowed = may_be_found(
            catalogue,
            rows.rows,
            messages=wanted.exclude_messages,
            sessions=wanted.exclude_sessions,
            since=wanted.since,
            before=wanted.before,
        )
        times = catalogue.time[rows.rows]
        return (
            np.concatenate([allowed, np.ones(len(items.rows), np.bool_)]),
            np.concatenate([times, items.created]),
        )
