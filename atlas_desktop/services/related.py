"""How sessions are related, and what was said about a topic over time."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import TYPE_CHECKING

from memory.entities import MemoryMode, Session
from memory.organising.entities import Backlink, Filed, SharedMemory
from memory.recall.entities import Hit, Recall, RecallQuery
from memory.storage.store import Store

if TYPE_CHECKING:
    from atlas_desktop.services.provenance import Why
    from memory.memories.entities import Memory

ASKED = 400
"""Characters of the session's text that are searched for elsewhere."""
MENTIONED = "mentioned"
"""The kind of link to a session about the same subject."""
_HITS = 60
_CANDIDATES = 40
LEAST = 0.25
"""Sessions with a lower score are not related."""
_MEANING, _WORDS, _SHARED, _TAGS = 0.6, 0.4, 0.3, 0.1
_TOLD = 6
MOST = 400
"""Maximum messages of a timeline."""
_COSINE, _SHARE = 0.35, 0.5


@dataclass(frozen=True, slots=True)
class Related:
    """A related session, and why.

    `parts` are meaning (the cosine of both subjects), words, memories and tags, each 0 … 1; `words` are those
    that both contain, the rarest first.
    """

    session: Session
    score: float
    parts: Mapping[str, float]
    words: tuple[str, ...] = field(default=(), repr=False)
    memories: tuple[SharedMemory, ...] = ()
    tags: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Month:
    """What was said about a topic in a month, such as 2026-03: messages, sessions, and the best hits."""

    month: str
    messages: int
    sessions: Mapping[str, int]
    hits: tuple[Hit, ...]


@dataclass(frozen=True, slots=True)
class Timeline:
    """A topic by month. `titles` are those of all its sessions; `more`: only the best hits were counted."""

    topic: str = field(repr=False)
    months: tuple[Month, ...]
    titles: Mapping[str, str] = field(repr=False)
    more: bool = False


class RelatedService:
    """Related sessions of one room. `recall` has to be loaded before."""

    def __init__(self, store: Store, recall: Recall) -> None:
        self._store = store
        self._recall = recall

    async def related(self, ref: str, *, limit: int = 10) -> list[Related]:
        """Returns the most related sessions first; none for a session that neither uses nor adds memories."""
        session = await self._store.get_session(ref)
        if session.memory_mode in (MemoryMode.BLANK, MemoryMode.OFF):
            return []
        shared = defaultdict(list)
        for one in await self._store.links.shared(session.id):
            shared[one.session_id].append(one)
        model = await self._store.insights.vector_model()
        (own,) = await self._store.organising.filed(model, session_ids=[session.id]) or (None,)
        if own is None:
            return []
        ids = await self._candidates(own, session.id, shared)
        others = await self._store.organising.filed(model, session_ids=ids)
        scored = [one for one in _scored(own, others, shared) if one[1] >= LEAST]
        scored.sort(key=lambda one: (-one[1], one[0]))
        return [
            Related(await self._store.get_session(found), score, parts, words, tuple(shared[found]), tags)
            for found, score, parts, words, tags in scored[: max(limit, 0)]
        ]

    async def _candidates(
        self, own: Filed, session_id: str, shared: Mapping[str, Sequence[SharedMemory]]
    ) -> list[str]:
        hits = await self._recall.recall(
            RecallQuery(own.words[:ASKED], k=_HITS, exclude_sessions=[session_id], everywhere=True)
        )
        found = [hit.source.session for hit in hits if hit.source.session is not None]
        return list(dict.fromkeys([*shared, *found]))[:_CANDIDATES]

    async def memories(self, ref: str) -> "list[Memory]":
        """Returns what was learned in a session."""
        from memory.memories.entities import MemoryFilter

        session = await self._store.get_session(ref)
        return await self._store.memories.select(MemoryFilter(session=session.id))

    async def links(self, why: "Why") -> list[Backlink]:
        """Returns the sessions linked to a memory or a message.

        These are where it was learned, where it was used, and those that mention the same.
        """
        found = list(await self._store.links.backlinks(why.id)) if why.memory is not None else []
        there = {one.session_id for one in found}
        for hit in why.mentions:
            source = hit.source
            if source.session is not None and source.session not in there:
                title = (await self._store.get_session(source.session)).title
                message = source.message or hit.id
                found.append(Backlink(source.session, title, MENTIONED, message, source.created_at, 1))
        return found

    async def timeline(
        self, topic: str, *, project: str | None = None, zone: tzinfo | None = None
    ) -> Timeline:
        """Returns a topic by the months of `zone` (None: this computer's), the earliest first."""
        hits = await self._recall.recall(RecallQuery(topic, k=MOST, project=project, everywhere=True))
        kept = [hit for hit in hits if hit.source.session is not None and _speaks(hit)]
        months: dict[str, list[Hit]] = defaultdict(list)
        for hit in kept:
            months[f"{hit.source.created_at.astimezone(zone):%Y-%m}"].append(hit)
        sessions = dict.fromkeys(hit.source.session for hit in kept)
        titles = {one: (await self._store.get_session(one)).title for one in sessions if one is not None}
        return Timeline(
            topic,
            tuple(_month(month, months[month]) for month in sorted(months)),
            titles,
            more=len(hits) == MOST and len(kept) == MOST,
        )


def _speaks(hit: Hit) -> bool:
    """Returns whether a message is about the topic, and not only the nearest one there is."""
    cosine = hit.grounds.cosine
    return hit.grounds.words >= _SHARE or (cosine is not None and cosine >= _COSINE)


def _month(month: str, hits: Sequence[Hit]) -> Month:
    sessions: dict[str, int] = defaultdict(int)
    for hit in hits:
        sessions[str(hit.source.session)] += 1
    ordered = sorted(sessions.items(), key=lambda one: (-one[1], one[0]))
    return Month(month, len(hits), dict(ordered), tuple(hits[:_TOLD]))


_Scored = tuple[str, float, Mapping[str, float], tuple[str, ...], tuple[str, ...]]


def _scored(
    own: Filed, others: Sequence[Filed], shared: Mapping[str, Sequence[SharedMemory]]
) -> list[_Scored]:
    import numpy as np

    from memory.organising.suggestions import dot, rarity, weighed, words_of

    counts = [words_of(one.words) for one in others]
    mine = words_of(own.words)
    rare = rarity([mine, *counts])
    weights = weighed(mine, rare)
    found: list[_Scored] = []
    for one, words in zip(others, counts, strict=True):
        meaning = 0.0
        if own.vector is not None and one.vector is not None and len(own.vector) == len(one.vector):
            both = np.frombuffer(own.vector, dtype="<f4") @ np.frombuffer(one.vector, dtype="<f4")
            meaning = max(float(both), 0.0)
        common = sorted(set(mine) & set(words), key=lambda word: (-rare[word], word))
        tags = tuple(tag for tag in own.tags if tag in one.tags)
        parts = {
            "meaning": round(meaning, 4),
            "words": round(min(dot(weights, weighed(words, rare)), 1.0), 4),
            "memories": round(1 - 0.5 ** len(shared[one.session_id]) if one.session_id in shared else 0.0, 4),
            "tags": round(len(tags) / max(len(own.tags), 1), 4),
        }
        score = (
            _MEANING * parts["meaning"]
            + _WORDS * parts["words"]
            + _SHARED * parts["memories"]
            + _TAGS * parts["tags"]
        )
        found.append((one.session_id, min(score, 1.0), parts, tuple(common[:_TOLD]), tags))
    return found
