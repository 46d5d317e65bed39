"""Puts what was learned among what is known: said again it is one more source, and what is newer holds."""

import asyncio
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.knowledge.entities import (
    FINDABLE,
    Memory,
    MemoryFilter,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    NewMemory,
)
from memory.knowledge.near import KIND
from memory.knowledge.ports import MemoryStore
from memory.knowledge.retention import Retention
from memory.knowledge.routing import route
from memory.knowledge.wording import reading
from memory.learning.claims import claim, same, same_words, supersedes
from memory.learning.entities import Candidate, Claim
from memory.learning.evidence import spaced
from memory.learning.reader import ASKED, understand
from memory.lifecycle.evidence import names, numbers
from memory.lifecycle.languages import words
from memory.ports import Clock
from memory.vectors.ports import VectorStore
from models.ports import Embedder

NEAR = 0.1
"""Cosine distance below which two texts say the same."""

_OF_THE_PERSON = frozenset({MemoryKind.FACT, MemoryKind.PREFERENCE})
"""These go with the person, whatever project they came up in."""

_COMPARED = 24
_LATEST = 300
_LOOKED_FOR = 6
_TELLING = 3
_ALL = MemoryFilter(states=None)
_ACTION = "learn"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What compares texts by their meaning; without it they are compared by their words."""

    vectors: VectorStore
    embedder: Embedder


class Ledger:
    """Adds candidates to the memories of one room. `rules` say how long what is learned is kept.

    Raises what the store, the vectors and the embedding model raise.
    """

    def __init__(self, memories: MemoryStore, clock: Clock, rules: Callable[[], Retention]) -> None:
        self._memories = memories
        self._clock = clock
        self._rules = rules

    async def add(
        self,
        candidates: Sequence[Candidate],
        *,
        project: str | None = None,
        meaning: Meaning | None = None,
        quick: bool = False,
    ) -> list[Memory]:
        """Stores what is new of them, in their order; returns the memories that were added or changed.

        What the person has rejected, or what was learned from the same words before, is left alone. `quick`
        compares with the latest memories and those that share a word, where somebody waits.
        """
        if not candidates:
            return []
        known = await self._known([one.text for one in candidates], quick=quick)
        made: list[Memory] = []
        for candidate in candidates:
            memory = await self._one(candidate, known, project, meaning)
            if memory is not None:
                made.append(memory)
                await self._refresh(known, memory)
        return made

    async def remember(
        self, text: str, *, project: str | None = None, session_id: str | None = None
    ) -> Memory:
        """Keeps what the person puts into words as a memory; what it contradicts does not hold any more.

        `session_id` is the conversation in which that is done: a new memory moves along with it.
        """
        known = await self._known([text], quick=True)
        holding = [one for one in known.values() if one.state in FINDABLE]
        said = [one for one in holding if same_words(one.text, text)]
        if said:
            patch = MemoryPatch(state=MemoryState.KEPT)
            return await self._memories.change(said[0].id, patch, action=_ACTION)
        claimed, understood, now = claim(text), understand(text), self._clock.now()
        if understood.kind in _OF_THE_PERSON:
            project = None
        way = route(understood.kind, ASKED, now, self._rules(), origin=MemoryOrigin.PERSON, project=project)
        new = NewMemory(
            kind=understood.kind,
            text=text,
            origin=MemoryOrigin.PERSON,
            tier=way.tier,
            state=way.state,
            subject=understood.subject,
            importance=ASKED,
            valid_from=now,
            expires_at=way.expires_at,
            project=project,
            kept_in=session_id,
            supersedes=tuple(one.id for one in holding if supersedes(claimed, claim(one.text))),
        )
        return await self._memories.add(new, action=_ACTION)

    async def _known(self, said: Sequence[str], *, quick: bool) -> dict[str, Memory]:
        """What there is to compare with, by id."""
        if quick:
            found = await self._memories.select(_ALL, limit=_LATEST)
            stems = {word for text in said for word in words(text) if len(word) >= _TELLING}
            for word in sorted(stems, key=len)[-_LOOKED_FOR:]:
                found += await self._memories.select(MemoryFilter(containing=word), limit=_LATEST)
        else:
            found = await self._memories.select(_ALL)
        known = {one.id: one for one in found}
        # The first time takes milliseconds for each; the claims are remembered.
        await asyncio.to_thread(lambda: [claim(one.text) for one in known.values()])
        return known

    async def _refresh(self, known: dict[str, Memory], made: Memory) -> None:
        """Follows what adding `made` has changed."""
        replaced = [one.id for one in known.values() if supersedes(claim(made.text), claim(one.text))]
        for one in (made, *await self._memories.get_many(replaced)):
            known[one.id] = one

    async def _one(
        self,
        candidate: Candidate,
        known: Mapping[str, Memory],
        project: str | None,
        meaning: Meaning | None,
    ) -> Memory | None:
        if await self._learned_before(candidate, known.values()):
            return None
        claimed = claim(candidate.text)
        if candidate.kind in _OF_THE_PERSON:
            project = None
        holding = [
            one
            for one in known.values()
            if one.state in FINDABLE
            and one.kind is not MemoryKind.DIGEST
            and (one.project is None or one.project == project)
        ]
        contradicted = [one for one in holding if supersedes(claimed, claim(one.text))]
        if not contradicted:
            if candidate.only_ends:
                return None
            again = await self._again(candidate, claimed, holding, meaning)
            if again is not None:
                return await self._said_again(candidate, again)
        return await self._stored(candidate, contradicted, project)

    async def _learned_before(self, candidate: Candidate, known: Iterable[Memory]) -> bool:
        rejected = (one for one in known if one.state is MemoryState.REJECTED)
        if any(same_words(one.text, candidate.text) for one in rejected):
            return True
        quote = spaced(candidate.quote)
        for memory in await self._memories.learned_from([candidate.message_id]):
            for source in await self._memories.sources(memory.id):
                said = spaced(source.quote)
                if source.message_id == candidate.message_id and (quote in said or said in quote):
                    return True
        return False

    async def _again(
        self, candidate: Candidate, claimed: Claim, holding: Sequence[Memory], meaning: Meaning | None
    ) -> Memory | None:
        """The memory that says the same already."""
        alike: list[tuple[int, Memory]] = []
        for memory in holding:
            known = claim(memory.text)
            if same_words(memory.text, candidate.text) or same(claimed, known):
                return memory
            shared = len(claimed.words & known.words)
            comparable = memory.kind is candidate.kind and known.denies == claimed.denies
            if (
                2 * shared >= len(claimed.words)
                and comparable
                and claimed.subject == known.subject
                and _same_facts(candidate, memory)
            ):
                alike.append((shared, memory))
        if meaning is None or not alike:
            return None
        alike.sort(key=lambda one: -one[0])
        return await _nearest(candidate, [memory for _, memory in alike[:_COMPARED]], meaning)

    async def _said_again(self, candidate: Candidate, memory: Memory) -> Memory:
        await self._memories.add_sources(memory.id, [_source(candidate)])
        patch = MemoryPatch(
            confidence=_surer(memory.confidence, candidate.confidence),
            importance=max(memory.importance, candidate.importance),
            state=MemoryState.KEPT if candidate.origin is MemoryOrigin.PERSON else None,
            text=candidate.text if _tells_more(candidate, memory) else None,
        )
        return await self._memories.change(memory.id, patch, action=_ACTION, automatic=True)

    async def _stored(
        self, candidate: Candidate, contradicted: Sequence[Memory], project: str | None
    ) -> Memory:
        way = route(
            candidate.kind,
            candidate.importance,
            self._clock.now(),
            self._rules(),
            origin=candidate.origin,
            project=project,
        )
        # What was said last holds, whichever time its words speak of.
        said = await self._memories.said_at([one.id for one in contradicted])
        newer = [one for one in contradicted if said.get(one.id, one.created_at) > candidate.said_at]
        older = [one for one in contradicted if one not in newer]
        # What was said before what is known (an import of old talk) has been overtaken already.
        overtaken = bool(newer)
        until = min(map(_since, newer)) if newer else candidate.valid_until
        if until is not None and candidate.valid_from is not None:
            until = max(until, candidate.valid_from)
        new = NewMemory(
            kind=candidate.kind,
            text=candidate.text,
            origin=candidate.origin,
            sources=(_source(candidate),),
            tier=way.tier,
            state=MemoryState.SUPERSEDED if overtaken else way.state,
            subject=candidate.subject,
            confidence=candidate.confidence,
            importance=candidate.importance,
            valid_from=candidate.valid_from,
            valid_until=until,
            expires_at=way.expires_at,
            project=project,
            model=candidate.model,
            supersedes=() if overtaken else tuple(one.id for one in older),
        )
        return await self._memories.add(
            new, action=_ACTION, automatic=candidate.origin is not MemoryOrigin.PERSON
        )


def _source(candidate: Candidate) -> MemorySource:
    return MemorySource(candidate.message_id, candidate.session_id, candidate.quote)


def _since(memory: Memory) -> datetime:
    return memory.valid_from or memory.created_at


def _surer(one: float, other: float) -> float:
    """Said twice is surer than either time."""
    return min(1.0, max(one, other) + (1 - max(one, other)) / 2)


def _tells_more(candidate: Candidate, memory: Memory) -> bool:
    """Whether the newer words hold all that the older ones said, and more. What a person worded stays."""
    if memory.origin is MemoryOrigin.PERSON or memory.version > 1:
        return False
    return claim(memory.text).words < claim(candidate.text).words


def _same_facts(candidate: Candidate, memory: Memory) -> bool:
    """Whether both name the same numbers and names: vectors do not tell these apart."""
    told = [{min(number) for number in numbers(text)} for text in (candidate.text, memory.text)]
    named = [{name.casefold() for name in names(text)} for text in (candidate.text, memory.text)]
    return told[0] == told[1] and named[0] == named[1]


async def _nearest(candidate: Candidate, others: Sequence[Memory], meaning: Meaning) -> Memory | None:
    model = await meaning.embedder.embedding_fingerprint()
    rows = await meaning.vectors.of(model, owners=[one.id for one in others])
    stored = {row.owner_id: _floats(row.data) for row in rows if row.kind == KIND and row.part == 0}
    missing = [one for one in others if one.id not in stored]
    texts = [reading(candidate.subject, candidate.text)]
    texts += [reading(one.subject, one.text) for one in missing]
    made = await meaning.embedder.embed(texts)
    stored |= {one.id: vector for one, vector in zip(missing, made[1:], strict=True)}
    best = max(others, key=lambda one: _cosine(made[0], stored[one.id]))
    return best if 1 - _cosine(made[0], stored[best.id]) < NEAR else None


def _floats(data: bytes) -> Sequence[float]:
    return memoryview(data).cast("f")


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    length = math.sqrt(sum(a * a for a in one) * sum(b * b for b in other))
    return sum(a * b for a, b in zip(one, other, strict=True)) / length if length else 0.0
