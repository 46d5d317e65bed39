"""Recall over one room: keeps up with its changes, gathers evidence, scores it, loads the best texts."""

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING

from memory.clock import Clock, micros
from memory.recall.catalogue import Catalogue, ItemIndex, Sought, findable
from memory.recall.entities import (
    ITEM_KINDS,
    EntryChanges,
    Hit,
    Posting,
    QueryVectors,
    RawScores,
    Recalled,
    RecallItem,
    RecallQuery,
    Source,
    Text,
)
from memory.recall.feature_builder import (
    Meaning,
    Nearest,
    Places,
    Question,
    gather,
    meaning,
    merged,
    narrowed,
    nearest,
    placed,
)
from memory.recall.needs import chosen
from memory.recall.question import (
    CONSIDERED,
    QueryEmbedder,
    Wanted,
    beyond_the_others,
    beyond_usual,
    kinship,
    parts_of,
    question_of,
    refers_back,
    sentences,
    understood,
)
from memory.recall.rows import ItemRows, Rows, in_scope, may_be_found
from memory.recall.scoring import Evidence, Scores, Weights, score
from memory.recall.words import MOST_FORMS, beginning, content_words, forms, language_of, without_small_words
from memory.storage.evidence import EvidenceStore
from memory.vectors.entities import Near, Scope, passages
from memory.vectors.indexing import IndexMirror

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


PAGE = 4000
"""Rows read at a time, which bounds how long other calls of the room wait."""
_SCOPES = 4
HELD = 500_000
"""How many places of words are cached: about 8 MB."""


class RoomView:
    """The catalogue of messages and the index of items of one room."""

    def __init__(self, evidence: EvidenceStore) -> None:
        self._evidence = evidence
        self._lock = asyncio.Lock()
        self._read = False
        self._version = 0
        self._rows: dict[tuple[int, str | None, str | None, frozenset[str]], Rows] = {}
        self._places: dict[str, Places | None] = {}
        self._places_of = 0, 0
        self._held = 0
        self.catalogue = Catalogue()
        self.item_index = ItemIndex()
        self.isolated: frozenset[str] = frozenset()
        """The names of the isolated projects."""

    async def follow(self) -> None:
        """Applies the changes since the last call. Raises the errors of storage."""
        async with self._lock:
            if not self._read:
                await self._read_all()
            changes = await self._evidence.changes(self._version)
            await self._take(changes)
            self._version = changes.version
            self.isolated = changes.isolated

    async def read_wordings(self, rows: "NDArray[np.int64] | None" = None) -> None:
        """Reads the wording of these messages (or of all) where it is not known yet. Raises the errors of
        storage."""
        while len(waiting := self.catalogue.unworded(rows)):
            # The lock keeps changes out, so that what is read belongs to the current rows.
            async with self._lock:
                asked = waiting[:PAGE].tolist()
                self.catalogue.take_wordings(asked, await self._evidence.wordings(asked))

    def scope(self, *, project: str | None, session: str | None, without: frozenset[str]) -> Rows:
        """Returns the messages that a question is compared with, except those of projects in `without`;
        rebuilt only after a change.
        """
        key = self.catalogue.version, project, session, without
        found = self._rows.get(key)
        if found is None:
            for old in [one for one in self._rows if one[0] != key[0]] or list(self._rows)[: 1 - _SCOPES]:
                self._rows.pop(old)
            chosen = in_scope(self.catalogue, project=project, session=session, without=without)
            found = self._rows[key] = Rows(self.catalogue, chosen)
        return found

    async def places(self, words: Sequence[str], *, at_most: int) -> list[Places]:
        """Returns where each of these stems occurs; those in more than `at_most` messages come without
        places. Results are cached until the next change. Raises the errors of storage."""
        known = self.catalogue.version, at_most
        if self._places_of != known:
            self._places, self._places_of, self._held = {}, known, 0
        new = [word for word in words if word not in self._places]
        if new:
            read = await self._evidence.postings(new, at_most=at_most)
            found = {one.term: placed(self.catalogue, one) for one in read}
            here = [self._places.get(word) or found.get(word) for word in words]
            if self._places_of == known:
                self._hold({word: found.get(word) for word in new})
        else:
            here = [self._places[word] for word in words]
        return [one for one in here if one is not None]

    async def forms(self, words: Sequence[str], language: str) -> dict[str, tuple[str, ...]]:
        """Returns the stems of other forms of these words in that language, for those that have any. Raises
        the errors of storage."""
        starts = {word: start for word in words if (start := beginning(word, language)) is not None}
        read = await self._evidence.vocabulary(list(starts.values()), limit=MOST_FORMS)
        found = {}
        for (word, start), known in zip(starts.items(), read, strict=True):
            others = {*known, *self.item_index.vocabulary(start)}
            if same := forms(word, sorted(others), language):
                found[word] = same
        return found

    def _hold(self, found: dict[str, Places | None]) -> None:
        """Caches places; the words read first are dropped first."""
        for word in found.keys() - self._places.keys():
            self._places[word] = own = found[word]
            self._held += 0 if own is None else len(own.rows)
        while self._held > HELD:
            gone = self._places.pop(next(iter(self._places)))
            self._held -= 0 if gone is None else len(gone.rows)

    def hidden(self, *, but: str | None, without: frozenset[str]) -> frozenset[str]:
        """Returns the sessions that recall must not use (not shared, in the bin, or in a project in
        `without`), except `but`.
        """
        return frozenset(
            one.id
            for one in self.catalogue.sessions
            if (one.binned or not one.lends or one.project in without) and one.id != but
        )

    async def _take(self, changes: EntryChanges) -> None:
        if changes.sessions:
            self.catalogue.take_sessions(await self._evidence.session_entries(changes.sessions))
        if changes.messages:
            entries = await self._evidence.entries_of(changes.messages)
            self.catalogue.drop(changes.messages - {entry.seq for entry in entries})
            self.catalogue.take(entries)
        if changes.items:
            items = await self._evidence.items_of(changes.items)
            self.item_index.drop(changes.items)
            self.item_index.take(items, await self._evidence.stems_of([item.text for item in items]))

    async def _read_all(self) -> None:
        version = (await self._evidence.changes(None)).version
        catalogue, item_index = Catalogue(), ItemIndex()
        catalogue.take_sessions(await self._evidence.session_entries())
        after = 0
        while page := await self._evidence.entries(after=after, limit=PAGE):
            known = catalogue.session_codes.keys()
            if new := {entry.session_id for entry in page} - known:
                catalogue.take_sessions(await self._evidence.session_entries(new))
            catalogue.take(page)
            after = page[-1].seq
        for kind in sorted(ITEM_KINDS):
            after = 0
            while items := await self._evidence.items(kind, after=after, limit=PAGE):
                item_index.take(items, await self._evidence.stems_of([item.text for item in items]))
                after = items[-1].seq
        self.catalogue, self.item_index, self._version, self._read = catalogue, item_index, version, True


NEAREST = 3000
"""Passages requested from the index; anything further away counts like the last of them."""
ECHO = 0.6
"""The weight of the best answers when they are added to the question for the second search."""
ECHOES = 2
"""How many of the best answers are used."""
LONG = 80
"""A message of this many words or more (about 500 characters) covers more than one subject."""
STATEMENT = 40
"""A person's message to a model with fewer words, which asks nothing, counts as one statement."""
_NOTHING = Near((), (), (), complete=True)


@dataclass(frozen=True, slots=True)
class Search:
    """One question, as a vector of length 1 of the index's model, over one room or one of its projects."""

    mirror: IndexMirror
    meanings: QueryEmbedder
    room: RoomView
    wanted: Wanted
    project: str | None
    vector: Sequence[float]

    async def look(self) -> Nearest:
        """Returns the nearest passages that may be found. Memories belong to no session, and those without a
        project belong to all, so they are searched separately.
        """
        said = [self._said()] if "message" in self.wanted.kinds else []
        known = [Scope(ITEM_KINDS)] if self.wanted.kinds & ITEM_KINDS else []
        found = await self.mirror.index.search_each(self.vector, limit=NEAREST, scopes=said + known)
        messages, items = found[0] if said else _NOTHING, found[-1] if known else _NOTHING
        return nearest(self.room.catalogue, self.room.item_index, messages, items)

    async def look_again(
        self,
        question: Question,
        rows: Rows,
        items: ItemRows,
        near: Nearest,
        evidence: Evidence,
        totals: "NDArray[np.float64]",
    ) -> Evidence:
        """Returns the evidence with what the first answers, scored `totals`, add to the question.

        A request for advice is compared by topic with short statements of people about themselves. In a
        conversation with a model, if all of it can be compared, a second search uses the long answers.
        """
        found = evidence
        if question.asks_advice:
            found = await self._by_topic(rows, items, near, evidence, totals)
        if near.complete and rows.with_machine.any():
            again = await self._echoes(rows, items, near, totals)
            found = found if again is None else echoed(found, again, rows)
        return found

    async def _by_topic(
        self,
        rows: Rows,
        items: ItemRows,
        near: Nearest,
        evidence: Evidence,
        totals: "NDArray[np.float64]",
    ) -> Evidence:
        import numpy as np

        catalogue = self.room.catalogue
        said = rows.with_machine & (rows.lengths < STATEMENT)
        said &= ~(catalogue.asks[rows.rows] | catalogue.machine[rows.rows])
        places = np.flatnonzero(np.concatenate([said, np.ones(len(items.rows), np.bool_)]))
        places = places[np.argsort(-totals[places], kind="stable")][:CONSIDERED]
        topics = await self.meanings.topics(self.mirror.model or "") if len(places) else None
        if topics is None:
            return evidence
        n = len(rows.rows)
        owners = {}
        for place in places.tolist():
            if place < n:
                row = int(rows.rows[place])
                owners[self.room.catalogue.ids[row], near.part(row)] = place
            else:
                owners[self.room.item_index.items[int(items.rows[place - n])].id, 0] = place
        found = await self._vectors(owners)
        if not found:
            return evidence
        kin = np.zeros(len(totals))
        statements = np.array(list(found.values()), float)
        kin[list(found)] = beyond_the_others(kinship(np.asarray(self.vector), statements, topics))
        return replace(evidence, topic=kin)

    async def _echoes(
        self, rows: Rows, items: ItemRows, near: Nearest, totals: "NDArray[np.float64]"
    ) -> Meaning | None:
        """Returns the meaning of messages for the question together with its best answers (pseudo-relevance
        feedback, Rocchio 1971); None if none of these is long."""
        import numpy as np

        first = np.argsort(-totals[: len(rows.rows)], kind="stable")[:ECHOES]
        best = first[rows.lengths[first] >= LONG].tolist()
        owners = {
            (self.room.catalogue.ids[row], near.part(row)): place
            for place, row in zip(best, rows.rows[best].tolist(), strict=True)
        }
        found = await self._vectors(owners) if owners else {}
        if not found:
            return None
        asked = np.asarray(self.vector) + ECHO * np.mean(list(found.values()), axis=0)
        asked /= np.linalg.norm(asked)
        messages = await self.mirror.index.search(asked.tolist(), limit=NEAREST, scope=self._said())
        return meaning(rows, items, nearest(self.room.catalogue, self.room.item_index, messages, _NOTHING))

    async def _vectors(self, owners: dict[tuple[str, int], int]) -> "dict[int, NDArray[np.float32]]":
        """Returns the stored vectors of passages, by the numbers in `owners`."""
        import numpy as np

        stored = await self.mirror.of({owner for owner, _ in owners})
        return {
            owners[one.owner_id, one.part]: np.frombuffer(one.data, "<f4")
            for one in stored
            if (one.owner_id, one.part) in owners
        }

    def _said(self) -> Scope:
        return Scope(frozenset({"message"}), self.project, self.wanted.session)


def echoed(evidence: Evidence, again: Meaning, rows: Rows) -> Evidence:
    """Returns the evidence with the meaning of the second search in conversations with a model. There the
    best answer is long and shows better than the question what is meant. Between people it also covers other
    subjects.
    """
    import numpy as np

    chosen = np.zeros(len(evidence.words), np.bool_)
    chosen[: len(rows.rows)] = rows.with_machine

    def mixed(
        first: "NDArray[np.float64] | None", second: "NDArray[np.float64]"
    ) -> "NDArray[np.float64] | None":
        return None if first is None else np.where(chosen, second, first)

    return replace(
        evidence,
        whole_meaning=mixed(evidence.whole_meaning, again.whole),
        near_meaning=mixed(evidence.near_meaning, again.near),
        session_meaning=mixed(evidence.session_meaning, again.session),
    )


ANSWERS = 0.75
"""From this share of the question's words on, a recent message counts as the answer."""


@dataclass(frozen=True, slots=True)
class Span:
    """How far session memory reaches: hours, and at most this many turns (of two messages each) within
    them."""

    hours: float = 2.0
    turns: int = 50


class Window:
    """The stems of the newest messages, each text read once."""

    def __init__(self, evidence: EvidenceStore) -> None:
        self._evidence = evidence
        self._stems: dict[str, list[str]] = {}

    async def places(
        self, catalogue: Catalogue, rows: "NDArray[np.int64]", wanted: Collection[str]
    ) -> list[Places]:
        """Returns where each of these words occurs in these messages. Raises the errors of storage."""
        texts = await self._evidence.texts([int(seq) for seq in catalogue.seq[rows]])
        await self._read(texts)
        places: dict[str, list[int]] = {}
        for text in texts:
            for word in self._stems[text.text]:
                if word in wanted:
                    places.setdefault(word, []).append(text.seq)
        return [placed(catalogue, Posting(word, own)) for word, own in places.items()]

    async def _read(self, texts: Sequence[Text]) -> None:
        held = {text.text: self._stems[text.text] for text in texts if text.text in self._stems}
        new = [text.text for text in texts if text.text not in held]
        if new:
            held.update(zip(new, await self._evidence.stems_of(new), strict=True))
        # Drops texts that have left the window.
        self._stems = held


def recent(
    catalogue: Catalogue,
    span: Span,
    now: datetime,
    *,
    project: str | None,
    session: str | None,
    without: Collection[str] = (),
) -> "NDArray[np.int64]":
    """Returns the rows of the newest messages within the span, oldest first, without those of projects in
    `without`."""
    times = catalogue.time
    since = micros(now - timedelta(hours=span.hours))
    # By time first, so that few rows are left for the scope check.
    late = (catalogue.alive & (times >= since) & (times <= micros(now))).nonzero()[0]
    inside = in_scope(catalogue, project=project, session=session, without=without, among=late)
    order = catalogue.time[inside].argsort(kind="stable")
    return inside[order][max(0, len(inside) - 2 * span.turns) :]


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
            sources=() if item.corrected else item.messages,
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
    """The parts of a question that a search uses."""

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

    Words always count as evidence, meaning once the index contains vectors of the model that embeds the
    question.
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
            language = language_of(bare) if self._refined else None
            if language is not None:
                asked = [without_small_words(sentence, language) for sentence in asked]
            of_each = await self._evidence.stems_of(asked)
            stems = list(dict.fromkeys(stem for own in of_each for stem in own))
            words = tuple(content_words(stems))
            question = question_of(wanted, speakers, stems, words, parts_of(asked, of_each, words))
            if lately and question.words and (hits := await self._lately(wanted, words, question)):
                return Found(hits, window=True)
            embedding = embedding or asyncio.ensure_future(self._embedded(bare))
            if language is not None:
                question = replace(question, forms=await self._room.forms(words, language))
            every = list(dict.fromkeys([*words, *chain(*question.forms.values())]))
            places = await self._room.places(every, at_most=COMMON) if "message" in wanted.kinds else []
            places = merged(places, question.forms)
            if self._mirror is not None:
                await self._mirror.follow()
            vector = await embedding
            if vector is not None and question.states and self._refined and self._mirror is not None:
                vector = beyond_usual(vector, await self._mirror.index.mean())
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
        if looked.question.states:
            weights = weights.of_statement()
        scores = self._scorer(evidence, weights)
        if self._refined and search and near:
            found = await search.look_again(looked.question, rows, items, near, evidence, scores.total)
            scores = scores if found is evidence else self._scorer(found, weights)
        places = np.concatenate([rows.session, items.session])
        best = chosen(looked.question.need, scores.total, allowed, times, rows, places, wanted.k)
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
