"""Merges memories that say nearly the same: which belong together, and the merged text."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory.memories.entities import (
    FINDABLE,
    Memory,
    MemoryOrigin,
    MemorySource,
    MemoryState,
    MemoryTier,
    NewMemory,
)
from memory.memories.lifetime import Retention, detail_words
from memory.storage.vectors import VectorStore
from memory.summaries.evidence import Evidence, fold, stem
from memory.summaries.languages import lexicon, words
from memory.summaries.summary_validation import tidied
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
    """Memories to be merged, the leading one first, and the text of the merged memory."""

    members: tuple[Memory, ...]
    text: str = field(repr=False)


def may_merge(memory: Memory) -> bool:
    """Whether a memory may be merged: not pinned ones, nor those that the user has to approve."""
    if memory.proposed_by is not None and memory.state is not MemoryState.KEPT:
        return False
    return memory.state in FINDABLE and not memory.pinned and memory.tier is not MemoryTier.PROCEDURAL


def agree(one: Memory, other: Memory) -> bool:
    """Whether two similar memories may be merged: neither contradicts the other."""
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
    `mentions` is how often each came up (its sources and uses); it decides how detailed the merged memory may
    be.
    """
    known = {memory.id: memory for memory in memories if may_merge(memory)}
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

    A sentence is replaced by one that says all of it and more. The first text's sentences are included
    whatever their length, themselves or in a sentence that says more.
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


def merged(cluster: Cluster, sources: Iterable[MemorySource]) -> NewMemory:
    """Returns the merged memory: as lasting as its most lasting part, with the sources of all."""
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
"""The least share of content words that the merged text must keep."""

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
        """Returns the merged note, or None when the model's text does not pass."""
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
