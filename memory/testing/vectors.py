"""Vectors in dictionaries, and an index that looks at every one of them."""

import struct
from collections.abc import Collection, Mapping, Sequence

from memory.clock import micros
from memory.context.entities import Summary
from memory.entities import MemoryMode, Message, MessageStatus
from memory.memories.entities import FINDABLE, Memory
from memory.memories.wording import reading
from memory.testing.context import InMemoryContext
from memory.testing.rows import Rows
from memory.vectors.entities import (
    Embedded,
    Near,
    Scope,
    StoredVector,
    Unembedded,
    VectorChanges,
    VectorCounts,
    VectorKey,
    VectorPage,
)
from models.messages import Role

_MEMORIES_FROM = 2**61
_SUMMARIES_FROM = 2**60
_FINISHED = (MessageStatus.COMPLETE, MessageStatus.PARTIAL)


class InMemoryVectorStore:
    """`memory.vectors.ports.VectorStore` beside the sessions and messages of `rows` and the summaries of
    `context`."""

    def __init__(self, rows: Rows, context: InMemoryContext) -> None:
        self._rows = rows
        self._context = context
        self._summed_in: dict[str, str] = {}
        self._made: dict[tuple[str, str], tuple[str, tuple[bytes, ...]]] = {}
        self._seen: dict[int, tuple[dict[str, object], dict[str, object]]] = {}
        self._places: dict[str, int] = {}
        rows.followers.append(self)
        rows.drop_vectors = self._drop

    def erased(self, session_id: str) -> Mapping[str, int]:
        own = [one.id for one in self._rows.messages.values() if one.session_id == session_id]
        own += [one for one, session in self._summed_in.items() if session == session_id]
        return {"vectors": sum(map(self._drop, own))}

    def forgotten(self, message: Message) -> Mapping[str, int]:
        told = [one.id for one in self._context.all_summaries() if message.id in one.covers]
        return {"vectors": sum(map(self._drop, [message.id, *told]))}

    def _drop(self, owner: str) -> int:
        """Returns how many passages there were."""
        return sum(len(self._made.pop(key)[1]) for key in [key for key in self._made if key[0] == owner])

    async def unembedded(
        self, model: str, *, limit: int = 64, before: int | None = None, session: str | None = None
    ) -> list[Unembedded]:
        self._rows.require_open()
        found = [
            *self._messages(session),
            *self._summaries(session),
            *(
                Unembedded(_MEMORIES_FROM + self._place(one.id), "memory", one.id, None, _reading(one))
                for one in self._rows.memories.values()
                if one.state in FINDABLE and (session is None or session in self._rows.learned_in(one.id))
            ),
        ]
        waiting = [
            one
            for one in found
            if (before is None or one.seq < before) and not self._current(one.owner_id, model)
        ]
        return sorted(waiting, key=lambda one: -one.seq)[: max(limit, 0)]

    def _messages(self, session: str | None) -> list[Unembedded]:
        return [
            Unembedded(seq, "message", message.id, message.session_id, message.content)
            for seq, message in enumerate(self._rows.messages.values(), start=1)
            if message.status in _FINISHED
            and message.role is not Role.SYSTEM
            and message.content.strip()
            and self._rows.session(message.session_id).memory_mode is not MemoryMode.BLANK
            and session in {None, message.session_id}
        ]

    def _summaries(self, session: str | None) -> list[Unembedded]:
        return [
            Unembedded(_SUMMARIES_FROM + self._place(one.id), "summary", one.id, one.session_id, one.text)
            for one in self._context.standing()
            if one.text.strip()
            and self._rows.session(one.session_id).memory_mode is not MemoryMode.BLANK
            and session in {None, one.session_id}
        ]

    def _place(self, owner: str) -> int:
        return self._places.setdefault(owner, len(self._places) + 1)

    async def put(self, model: str, made: Sequence[Embedded]) -> int:
        self._rows.require_open()
        taken = 0
        for one in made:
            text = self._text(one.source.owner_id)
            if text is not None and text == one.source.text:
                self._made[one.source.owner_id, model] = text, one.parts
                if one.source.kind == "summary" and one.source.session_id is not None:
                    self._summed_in[one.source.owner_id] = one.source.session_id
                taken += 1
        return taken

    async def scan(self, model: str, *, after: VectorKey | None = None, limit: int = 2000) -> VectorPage:
        self._rows.require_open()
        start = ("", "", -1) if after is None else (after.kind, after.owner_id, after.part)
        found = [row for row in self._stored(model) if (row.kind, row.owner_id, row.part) > start]
        return VectorPage.of(found[: max(limit, 0)])

    async def of(
        self, model: str, *, owners: Collection[str] = (), sessions: Collection[str] = ()
    ) -> list[StoredVector]:
        self._rows.require_open()
        return [row for row in self._stored(model) if row.owner_id in owners or row.session_id in sessions]

    async def counts(self) -> VectorCounts:
        self._rows.require_open()
        models = {model for _, model in self._made}
        return VectorCounts({model: count for model in models if (count := len(self._stored(model)))})

    async def drop_others(self, model: str) -> int:
        self._rows.require_open()
        others = [key for key in self._made if key[1] != model]
        return sum(len(self._made.pop(key)[1]) for key in others)

    async def changes(self, since: int | None) -> VectorChanges:
        self._rows.require_open()
        version = len(self._seen)
        now = self._seen[version] = self._state()
        before = now if since is None else self._seen[since]
        owners, sessions = (
            frozenset(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
            for old, new in zip(before, now, strict=True)
        )
        return VectorChanges(version, owners, sessions)

    def _state(self) -> tuple[dict[str, object], dict[str, object]]:
        made: dict[str, list[object]] = {}
        for (owner, model), (_, parts) in self._made.items():
            if self._current(owner, model):
                memory = self._rows.memories.get(owner)
                made.setdefault(owner, []).append((model, parts, memory and memory.project))
        sessions = {key: (one.project, one.memory_mode) for key, one in self._rows.sessions.items()}
        return dict(made), dict(sessions)

    def _text(self, owner: str) -> str | None:
        """What its vector is made from; None for what is not there, or not to be found."""
        message = self._rows.messages.get(owner)
        if message is not None:
            return message.content
        if owner in self._summed_in or owner not in self._rows.memories:
            return next((one.text for one in self._context.standing() if one.id == owner), None)
        memory = self._rows.memories[owner]
        return _reading(memory) if memory.state in FINDABLE else None

    def _current(self, owner: str, model: str) -> bool:
        made = self._made.get((owner, model))
        return made is not None and self._text(owner) == made[0]

    def _stored(self, model: str) -> list[StoredVector]:
        found = []
        for (owner, maker), (_, parts) in self._made.items():
            if maker == model and self._current(owner, model):
                found += [self._vector(owner, part, data) for part, data in enumerate(parts)]
        return sorted(found, key=lambda row: (row.kind, row.owner_id, row.part))

    def _vector(self, owner: str, part: int, data: bytes) -> StoredVector:
        memory = self._rows.memories.get(owner)
        if memory is not None:
            return StoredVector("memory", owner, part, None, memory.project, micros(memory.created_at), data)
        told = self._rows.messages.get(owner)
        kind, one = ("message", told) if told is not None else ("summary", self._summary(owner))
        session = self._rows.session(one.session_id)
        return StoredVector(kind, owner, part, session.id, session.project, micros(one.created_at), data)

    def _summary(self, owner: str) -> Summary:
        return next(one for one in self._context.standing() if one.id == owner)


def _reading(memory: Memory) -> str:
    return reading(memory.subject, memory.text)


class BruteForceVectorIndex:
    """`memory.vectors.ports.VectorIndex` in a list."""

    def __init__(self) -> None:
        self._rows: list[StoredVector] = []

    async def add(self, page: VectorPage) -> None:
        self._rows += page.rows()

    async def remove(self, *, owners: Collection[str] = (), sessions: Collection[str] = ()) -> None:
        self._rows = [
            row for row in self._rows if row.owner_id not in owners and row.session_id not in sessions
        ]

    async def search(self, vector: Sequence[float], *, limit: int, scope: Scope) -> Near:
        scored = [
            (sum(a * b for a, b in zip(_numbers(row.data), vector, strict=True)), row)
            for row in self._rows
            if _within(row, scope) and len(row.data) == 4 * len(vector)
        ]
        best = sorted(scored, key=lambda one: -one[0])[: max(limit, 0)]
        return Near(
            tuple(row.owner_id for _, row in best),
            tuple(row.part for _, row in best),
            tuple(similarity for similarity, _ in best),
            complete=len(scored) < limit,
        )

    async def search_each(
        self, vector: Sequence[float], *, limit: int, scopes: Sequence[Scope]
    ) -> list[Near]:
        return [await self.search(vector, limit=limit, scope=scope) for scope in scopes]

    async def count(self) -> int:
        return len(self._rows)

    async def clear(self) -> None:
        self._rows = []


def _numbers(data: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(data) // 4}f", data)


def _within(row: StoredVector, scope: Scope) -> bool:
    return (
        (scope.kinds is None or row.kind in scope.kinds)
        and scope.project in {None, row.project}
        and scope.session in {None, row.session_id}
        and (scope.since is None or row.created_at >= micros(scope.since))
        and (scope.before is None or row.created_at < micros(scope.before))
    )
