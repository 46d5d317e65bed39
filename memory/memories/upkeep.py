"""Automatic upkeep of memories: promotion, consolidation of near duplicates, garbage collection."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memory.clock import Clock
from memory.memories.entities import (
    FINDABLE,
    Memory,
    MemoryFilter,
    MemoryOrigin,
    MemorySource,
    MemoryState,
    MemoryTier,
    NewMemory,
)
from memory.memories.lifetime import (
    ARCHIVE,
    PASSING,
    Expiry,
    Ground,
    Retention,
    RetentionPlan,
    Standing,
    archived,
    awaits_consent,
    detail_words,
    fading,
    ground,
    plan,
    prolonged,
    promoted,
)
from memory.recall.decay import strength
from memory.storage.store import Store
from memory.storage.vectors import VectorStore
from memory.summaries.evidence import Evidence, fold, stem, tidied
from memory.summaries.languages import lexicon, words
from memory.vectors.entities import StoredVector
from models.messages import ChatMessage, Completion, GenerationParams, Lane, Role, StopReason
from models.ports import ChatModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MOST_MEMBERS = 8
_LASTING = (
    MemoryTier.WORKING,
    MemoryTier.SHORT_TERM,
    MemoryTier.EPISODIC,
    MemoryTier.PROCEDURAL,
    MemoryTier.LONG_TERM,
)
_NEGATION_WORDS = (
    "no not never none nobody nothing neither nor without cannot stopped nicht nie niemals kein keine keinen "
    "ohne pas jamais aucun sans nunca jamás sin tampoco mai senza niet nooit geen zonder"
)
_NEGATION = frozenset(_NEGATION_WORDS.split())
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+|;\s+")


@dataclass(frozen=True, slots=True)
class Pair:
    """Two similar memories: `similarity` is the cosine."""

    one: str
    other: str
    similarity: float


@dataclass(frozen=True, slots=True)
class Cluster:
    """Memories to be consolidated, the leading one first, and the text of the consolidated memory."""

    members: tuple[Memory, ...]
    text: str = field(repr=False)


def may_consolidate(memory: Memory) -> bool:
    """Whether a memory may be consolidated: not pinned ones, nor those that the user has to approve."""
    if awaits_consent(memory):
        return False
    return memory.state in FINDABLE and not memory.pinned and memory.tier is not MemoryTier.PROCEDURAL


def agree(one: Memory, other: Memory) -> bool:
    """Whether two similar memories may be consolidated: neither contradicts the other."""
    if (one.kind, one.project) != (other.kind, other.project):
        return False
    if one.subject and other.subject and fold(one.subject) != fold(other.subject):
        return False
    if (one.valid_from, one.valid_until) != (other.valid_from, other.valid_until):
        return False
    return negated(one.text) == negated(other.text) and _nothing_against(one.text, other.text)


def negated(text: str) -> bool:
    found = (word.casefold().replace("’", "'") for word in words(text))
    return sum(word in _NEGATION or word.endswith("n't") for word in found) % 2 == 1


def _nothing_against(one: str, other: str) -> bool:
    first, second = Evidence(one), Evidence(other)
    numbers = not first.unknown_numbers(other) or not second.unknown_numbers(one)
    names = not first.unknown_names(other) or not second.unknown_names(one)
    return numbers and names


def clusters(
    memories: Iterable[Memory],
    pairs: Iterable[Pair],
    rules: Retention,
    mentions: Mapping[str, int] | None = None,
) -> list[Cluster]:
    """Returns groups of two to `MOST_MEMBERS` memories; all pairs of a group are similar and agree.

    The most similar pairs are joined first, so the result does not depend on the order of the input.
    `mentions` is how often each came up (its sources and uses); it decides how detailed the result may be.
    """
    known = {memory.id: memory for memory in memories if may_consolidate(memory)}
    near = {
        frozenset((pair.one, pair.other)): pair.similarity
        for pair in pairs
        if pair.similarity >= rules.consolidate_similarity and pair.one != pair.other
    }
    allowed: dict[frozenset[str], bool] = {}

    def fits(one: str, other: str) -> bool:
        key = frozenset((one, other))
        if key not in near:
            return False
        if key not in allowed:
            allowed[key] = agree(known[one], known[other])
        return allowed[key]

    group: dict[str, list[str]] = {key: [key] for key in known}
    for key in sorted(near, key=lambda key: (-near[key], sorted(key))):
        first, second = sorted(key)
        if first not in known or second not in known or group[first] is group[second]:
            continue
        joined = sorted(group[first] + group[second])
        if len(joined) <= MOST_MEMBERS and all(fits(a, b) for a in group[first] for b in group[second]):
            for member in joined:
                group[member] = joined
    whole = {id(members): members for members in group.values() if len(members) > 1}
    counted = mentions or {}
    made = (_cluster([known[key] for key in members], rules, counted) for members in whole.values())
    return sorted(made, key=lambda one: one.members[0].id)


def _cluster(members: list[Memory], rules: Retention, mentions: Mapping[str, int]) -> Cluster:
    ordered = tuple(sorted(members, key=lambda one: (-one.importance, -one.uses, -one.confidence, one.id)))
    often = sum(mentions.get(one.id, one.uses) for one in ordered)
    return Cluster(ordered, extract([one.text for one in ordered], detail_words(often, rules)))


def extract(texts: Sequence[str], most_words: int) -> str:
    """Returns the sentences that add something to the others, in at most `most_words` words.

    A sentence is replaced by one that contains all of it and more. The first text's sentences are included
    whatever their length, either themselves or as a sentence that contains more.
    """
    kept: list[str] = []
    for number, text in enumerate(texts):
        for sentence in filter(None, map(str.strip, _SENTENCE.split(text.strip()))):
            said = content(sentence)
            known = frozenset[str]().union(*map(content, kept))
            if kept and said <= known:
                continue
            inside = [one for one in kept if content(one) <= said and negated(one) == negated(sentence)]
            left = [one for one in kept if one not in inside]
            if number and sum(len(one.split()) for one in (*left, sentence)) > most_words:
                continue
            place = kept.index(inside[0]) if inside else len(kept)
            kept = [one for one in kept[:place] if one in left] + [sentence] + kept[place:]
            kept = [one for one in kept if one not in inside]
    return " ".join(map(_ended, kept[:-1])) + (" " if len(kept) > 1 else "") + kept[-1]


def _ended(sentence: str) -> str:
    return sentence if sentence[-1] in ".!?。！？" else f"{sentence}."


def content(text: str) -> frozenset[str]:
    """Returns the stems of content words, and the numbers."""
    found = {fold(word) for word in words(text)}
    digits = re.findall(r"\d[\d.,:/-]*", text)
    return frozenset(stem(word) for word in found - lexicon().small - _NEGATION) | frozenset(digits)


def consolidated(cluster: Cluster, sources: Iterable[MemorySource]) -> NewMemory:
    """Returns the consolidated memory: as lasting as its most lasting part, with the sources of all."""
    members = cluster.members
    lead = members[0]
    quotes: dict[str, MemorySource] = {}
    for source in sources:
        known = quotes.get(source.message_id)
        if known is None or len(source.quote) > len(known.quote):
            quotes[source.message_id] = source
    ends = [one.expires_at for one in members]
    kept = any(one.state is MemoryState.KEPT for one in members)
    return NewMemory(
        kind=lead.kind,
        text=cluster.text,
        origin=MemoryOrigin.CONSOLIDATION,
        sources=tuple(quotes.values()),
        tier=max((one.tier for one in members), key=_LASTING.index),
        state=MemoryState.KEPT if kept else MemoryState.INBOX,
        subject=next((one.subject for one in members if one.subject), ""),
        confidence=max(one.confidence for one in members),
        importance=max(one.importance for one in members),
        valid_from=lead.valid_from,
        valid_until=lead.valid_until,
        expires_at=None if None in ends else max(end for end in ends if end is not None),
        project=lead.project,
        parts=tuple(one.id for one in members),
    )


KIND = "memory"
_ROWS = 512
_ASKED = 400


async def vectors_of(store: VectorStore, ids: Collection[str]) -> "dict[str, NDArray[np.float32]]":
    """Returns a vector of length 1 for each memory that has one, of the model with the most vectors.

    Memories that were not embedded yet are left out. No model is needed.
    """
    counts = (await store.counts()).by_model
    if not counts or not ids:
        return {}
    model = max(sorted(counts), key=lambda name: counts[name])
    wanted, rows = sorted(ids), []
    for at in range(0, len(wanted), _ASKED):
        rows += await store.of(model, owners=wanted[at : at + _ASKED])
    return averaged(row for row in rows if row.kind == KIND)


def averaged(rows: Iterable[StoredVector]) -> "dict[str, NDArray[np.float32]]":
    """Returns the mean of each owner's passages, of length 1."""
    import numpy as np

    parts: dict[str, list[NDArray[np.float32]]] = {}
    for row in rows:
        parts.setdefault(row.owner_id, []).append(np.frombuffer(row.data, dtype="<f4"))
    made = {}
    for owner, own in parts.items():
        mean = np.mean(own, axis=0, dtype=np.float32)
        length = float(np.linalg.norm(mean))
        if length > 0:
            made[owner] = np.asarray(mean / length, np.float32)
    return made


def near_pairs(vectors: "Mapping[str, NDArray[np.float32]]", ids: Sequence[str], least: float) -> list[Pair]:
    """Returns every pair of `ids` whose cosine is at least `least`. Takes `512 · n` floats of memory."""
    import numpy as np

    own = [one for one in dict.fromkeys(ids) if one in vectors]
    if len(own) < 2:
        return []
    matrix = np.stack([vectors[one] for one in own])
    found = []
    for at in range(0, len(own), _ROWS):
        cosines = matrix[at : at + _ROWS] @ matrix.T
        for row, column in zip(*np.nonzero(cosines >= least), strict=True):
            if at + row < column:
                found.append(Pair(own[at + row], own[column], float(cosines[row, column])))
    return found


def nearest(
    vectors: "Mapping[str, NDArray[np.float32]]", ids: Sequence[str], others: Collection[str]
) -> dict[str, float]:
    """Returns, for each of `ids` with a vector, the cosine to the nearest of the `others`, or 0."""
    import numpy as np

    own = [one for one in ids if one in vectors]
    rest = [one for one in others if one in vectors]
    if not own or not rest:
        return dict.fromkeys(own, 0.0)
    matrix = np.stack([vectors[one] for one in rest])
    made = {}
    for at in range(0, len(own), _ROWS):
        part = own[at : at + _ROWS]
        best = np.max(np.stack([vectors[one] for one in part]) @ matrix.T, axis=1)
        made.update({one: float(value) for one, value in zip(part, best, strict=True)})
    return made


def near_counts(
    vectors: "Mapping[str, NDArray[np.float32]]", ids: Sequence[str], others: Collection[str], least: float
) -> dict[str, int]:
    """Counts, for each of `ids` with a vector, the `others` with a cosine of at least `least` to it."""
    import numpy as np

    own = [one for one in ids if one in vectors]
    rest = [one for one in others if one in vectors]
    if not own or not rest:
        return dict.fromkeys(own, 0)
    matrix = np.stack([vectors[one] for one in rest])
    same = set(own) & set(rest)
    made = {}
    for one in own:
        count = int(np.count_nonzero(matrix @ vectors[one] >= least))
        made[one] = count - (one in same)
    return made


MOST_TOKENS = 120
LEAST_KEPT = 0.9
"""The least share of content words that the consolidated text must keep."""

_ASK = (
    "These notes say nearly the same. Write one short note that says everything they say and nothing else. "
    "Use their own words; keep every name and number.\n\n{notes}\n\nThe one note:"
)


def faithful(text: str, notes: Sequence[str]) -> bool:
    """Whether `text` may replace `notes`.

    It must contain all their names and numbers and no others, at least `LEAST_KEPT` of their content words
    and no other such word, have the same polarity, and not be longer than they are together.
    """
    whole = "\n".join(notes)
    source, told = Evidence(whole), Evidence(text)
    if not text.strip() or len(text) > len(whole) or any(negated(note) != negated(text) for note in notes):
        return False
    if source.unknown_numbers(text) or source.unknown_names(text):
        return False
    if told.unknown_numbers(whole) or told.unknown_names(whole):
        return False
    said, kept = content(whole), content(text)
    return kept <= said and len(kept) >= LEAST_KEPT * len(said)


class Rewording:
    """Asks a chat model in the task lane, greedily and once. Raises what the model raises."""

    def __init__(self, chat: ChatModel) -> None:
        self._chat = chat

    async def __call__(self, notes: Sequence[str]) -> str | None:
        """Returns the consolidated note, or None when the model's text does not pass."""
        asked = ChatMessage(Role.USER, _ASK.format(notes="\n".join(f"- {note}" for note in notes)))
        params = GenerationParams(max_tokens=MOST_TOKENS, temperature=0.0, seed=1)
        generation = self._chat.generate((asked,), params, Lane.TASK)
        try:
            async for event in generation:
                if isinstance(event, Completion):
                    text = tidied(event.text).removeprefix("- ").strip()
                    ended = event.stop_reason is StopReason.STOP
                    return text if ended and faithful(text, notes) else None
        except BaseException:
            generation.cancel()
            raise
        return None


PROMOTE, CONSOLIDATE, PROLONG = "promote", "consolidate", "prolong"
_LOG = 5000
_OF_LATE = timedelta(days=30)

Reword = Callable[[Sequence[str]], Awaitable[str | None]]
"""Merges several texts into one; returns None when that would lose or add something."""


@dataclass(frozen=True, slots=True)
class Promotion:
    memory: Memory
    ground: Ground


@dataclass(frozen=True, slots=True)
class Consolidation:
    """`made` is None in a dry run."""

    cluster: Cluster
    made: Memory | None = None


async def _at_once() -> None:
    """The default checkpoint: does not wait."""


class Upkeep:
    """The upkeep of one room.

    `pause` is how long a session must be idle to count as over; `checkpoint` is awaited between steps.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        rules: Callable[[], Retention],
        *,
        pause: Callable[[], timedelta] = lambda: timedelta(minutes=30),
        checkpoint: Callable[[], Awaitable[None]] = _at_once,
        reword: Callable[[], Reword | None] = lambda: None,
    ) -> None:
        self._store = store
        self._memories = store.memories
        self._clock = clock
        self._rules = rules
        self._pause = pause
        self._checkpoint = checkpoint
        self._reword = reword

    # --- promotion --------------------------------------------------------------------------------

    async def promote(self) -> list[Promotion]:
        """Promotes what was used often, is important, or resembles lasting memories."""
        rules = self._rules()
        undone = await self._undone(PROMOTE)
        passing = [
            one
            for one in await self._memories.select(MemoryFilter(tiers=PASSING))
            if one.id not in undone and one.tier is not MemoryTier.WORKING
        ]
        likeness = await self._likeness(passing)
        made = []
        for memory in passing:
            await self._checkpoint()
            similarity = likeness.get(memory.id, 0.0)
            turns = await self._ended_turns(memory) if similarity >= rules.promote_similarity else 0
            why = ground(Standing(memory, turns, similarity), rules)
            if why is not None:
                patch = promoted(memory, why)
                changed = await self._memories.change(memory.id, patch, action=PROMOTE, automatic=True)
                made.append(Promotion(changed, why))
        return made

    async def _likeness(self, passing: Sequence[Memory]) -> dict[str, float]:
        if not passing:
            return {}
        lasting = await self._memories.select(MemoryFilter(tiers=frozenset({MemoryTier.LONG_TERM})))
        vectors = await vectors_of(self._store.vectors, [one.id for one in (*passing, *lasting)])
        themes = [one.id for one in lasting]
        return await asyncio.to_thread(nearest, vectors, [one.id for one in passing], themes)

    async def _ended_turns(self, memory: Memory) -> int:
        """Returns the turns of the longest session behind it that is over."""
        over = self._clock.now() - self._pause()
        most = 0
        for session_id in {source.session_id for source in await self._memories.sources(memory.id)}:
            session = await self._store.get_session(session_id)
            if session.updated_at <= over:
                branch = await self._store.branch(session_id)
                most = max(most, sum(message.role is Role.USER for message in branch))
        return most

    # --- consolidation ----------------------------------------------------------------------------

    async def consolidate(self, *, dry_run: bool = False) -> list[Consolidation]:
        """Consolidates memories that are similar and agree; `dry_run` only returns them, with the new
        text."""
        rules = self._rules()
        found = [one for one in await self._memories.select() if may_consolidate(one)]
        groups: dict[tuple[str, str | None], list[str]] = {}
        for one in found:
            groups.setdefault((one.kind, one.project), []).append(one.id)
        vectors = await vectors_of(self._store.vectors, [one.id for one in found])
        apart = await self._kept_apart()
        pairs = []
        for ids in groups.values():
            await self._checkpoint()
            near = await asyncio.to_thread(near_pairs, vectors, ids, rules.consolidate_similarity)
            pairs += [pair for pair in near if not any({pair.one, pair.other} <= ids for ids in apart)]
        close = {key for pair in pairs for key in (pair.one, pair.other)}
        mentions = {
            one.id: one.uses + len(await self._memories.sources(one.id)) for one in found if one.id in close
        }
        planned = await asyncio.to_thread(clusters, found, pairs, rules, mentions)
        if dry_run:
            return [Consolidation(one) for one in planned]
        made = [await self._consolidate(one) for one in planned]
        return [one for one in made if one is not None]

    async def _kept_apart(self) -> list[frozenset[str]]:
        log = await self._memories.changes(limit=_LOG)
        undone = (one for one in log if one.action == CONSOLIDATE and one.undone_at is not None)
        return [frozenset(one.memory_ids) for one in undone]

    async def _consolidate(self, cluster: Cluster) -> Consolidation | None:
        await self._checkpoint()
        reword = self._reword()
        text = await reword([one.text for one in cluster.members]) if reword is not None else None
        if text is not None:
            cluster = Cluster(cluster.members, text)
        ids = [one.id for one in cluster.members]
        # One of them may have been changed while the model was generating.
        if tuple(await self._memories.get_many(ids)) != cluster.members:
            return None
        sources = [source for key in ids for source in await self._memories.sources(key)]
        new = consolidated(cluster, sources)
        return Consolidation(cluster, await self._memories.add(new, action=CONSOLIDATE, automatic=True))

    # --- expiry and garbage collection -------------------------------------------------------------

    async def collect(self, *, dry_run: bool = False) -> RetentionPlan:
        """Archives expired memories, prolongs those that come up often, and erases old archived ones.

        How long the archive keeps them is in the settings. `dry_run` only returns what would be done. A clock
        that was set ahead makes nothing older (`memory.clock.Seen`).
        """
        now = (await self._store.retention.look_at_clock(self._clock.now())).passed
        made = await self._plan(now)
        if dry_run:
            return made
        rules = self._rules()
        if made.archive:
            gone = [(expiry.memory.id, archived()) for expiry in made.archive]
            await self._memories.change_many(gone, action=ARCHIVE, automatic=True)
        if made.prolong:
            longer = [(expiry.memory.id, prolonged(expiry.memory, now, rules)) for expiry in made.prolong]
            await self._memories.change_many(longer, action=PROLONG, automatic=True)
        if made.erase:
            await self._memories.forget([expiry.memory.id for expiry in made.erase])
        return made

    async def fading(self) -> list[Expiry]:
        """Returns the memories that will soon go out of use or have become faint, most urgent first."""
        now, rules = self._clock.now(), self._rules()
        spared = await self._undone(ARCHIVE)
        memories = await self._memories.select()

        def going() -> list[Expiry]:
            judged = ((one, fading(one, now, strength(one, now), rules)) for one in memories)
            found = [Expiry(one, why) for one, why in judged if why is not None and one.id not in spared]
            return sorted(found, key=lambda expiry: _urgency(expiry, now))

        return await asyncio.to_thread(going)

    async def _plan(self, now: datetime) -> RetentionPlan:
        rules = self._rules()
        spared = await self._undone(ARCHIVE)
        states = FINDABLE | {MemoryState.ARCHIVED} if rules.archive_days else FINDABLE
        found = [
            one for one in await self._memories.select(MemoryFilter(states=states)) if one.id not in spared
        ]

        def weigh(memory: Memory) -> float:
            return strength(memory, now)

        going = [expiry.memory for expiry in plan(found, now, rules, weigh).archive]
        often = await self._mentions(going, found, now)
        return plan(found, now, rules, weigh, lambda memory: often.get(memory.id, 0))

    async def _mentions(
        self, going: Sequence[Memory], found: Collection[Memory], now: datetime
    ) -> dict[str, int]:
        """Counts how often the topic of each came up.

        These are similar memories of the last 30 days, other source messages, and all useful replies if the
        last was within 30 days.
        """
        if not going:
            return {}
        late = {one.id for one in found if now - one.created_at <= _OF_LATE}
        ids = [one.id for one in going]
        vectors = await vectors_of(self._store.vectors, {*ids, *late})
        least = self._rules().promote_similarity
        counts = await asyncio.to_thread(near_counts, vectors, ids, late, least)
        for memory in going:
            said = len(await self._memories.sources(memory.id)) - 1
            used = memory.uses if memory.used_at is not None and now - memory.used_at <= _OF_LATE else 0
            counts[memory.id] = counts.get(memory.id, 0) + max(said, 0) + used
        return counts

    async def _undone(self, action: str) -> frozenset[str]:
        """Returns the memories for which this action was done and then undone by the user."""
        log = await self._memories.changes(limit=_LOG)
        undone = (one for one in log if one.action == action and one.undone_at is not None)
        return frozenset(key for one in undone for key in one.memory_ids)


def _urgency(expiry: Expiry, now: datetime) -> tuple[float, float, str]:
    end = expiry.memory.expires_at
    left = (end - now).total_seconds() if end is not None else float("inf")
    return (left, strength(expiry.memory, now), expiry.memory.id)
