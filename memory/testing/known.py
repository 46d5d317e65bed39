"""What the in-memory store of memories holds, and the log of its changes."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from memory.errors import CannotUndo, ChangeNotFound
from memory.memories.entities import (
    Memory,
    MemoryChange,
    MemorySource,
    MemoryState,
    MemoryUse,
    MemoryVersion,
    NewMemory,
    UseKind,
)
from memory.memories.wording import reading, rests_on
from memory.storage.values import id_range, new_id, storable
from memory.testing.rows import Rows


class Known:
    """Memories by id, in the order in which they were stored, with what belongs to them."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self.memories: dict[str, Memory] = {}
        self.sources: dict[str, list[MemorySource]] = {}
        self.parts: dict[str, tuple[str, ...]] = {}
        self.versions: dict[str, list[MemoryVersion]] = {}
        self.uses: dict[str, list[MemoryUse]] = {}
        self._own: set[str] = set()
        self._worded: dict[str, datetime] = {}

    def keep(self, memory: Memory) -> None:
        self.memories[memory.id] = memory

    def add(self, memory: Memory, new: NewMemory, *, own: bool) -> None:
        self.keep(memory)
        self.sources[memory.id] = []
        self.add_sources(memory.id, new.sources)
        self.parts[memory.id] = new.parts
        self.versions[memory.id] = []
        self.uses[memory.id] = []
        self._worded[memory.id] = memory.created_at
        if own:
            self._own.add(memory.id)

    def take_in(self, memory: Memory, sources: list[MemorySource], versions: list[MemoryVersion]) -> None:
        """Keeps a memory that comes from another room."""
        self.keep(memory)
        self.sources[memory.id], self.versions[memory.id] = sources, versions
        self.parts[memory.id], self.uses[memory.id] = (), []
        self._worded[memory.id] = memory.updated_at

    def add_sources(self, key: str, sources: Collection[MemorySource]) -> bool:
        held = self.sources[key]
        known = {one.message_id for one in held}
        new = [replace(one, quote=storable(one.quote)) for one in sources if one.message_id not in known]
        held += new
        return bool(new)

    def copy_sources(self, target: str, ids: Mapping[str, str]) -> None:
        """What was learned from messages rests on their copies in the session `target`, too."""
        for key, held in self.sources.items():
            copies = [
                replace(s, message_id=ids[s.message_id], session_id=target)
                for s in held
                if s.message_id in ids
            ]
            self.add_sources(key, copies)

    def learned_in(self, key: str) -> set[str]:
        """The sessions that it was learned in."""
        return {one.session_id for one in self.sources[key]}

    def put_aside(self, memory: Memory, now: datetime) -> None:
        """Keeps what a memory says as an earlier version."""
        self.versions[memory.id].append(
            MemoryVersion(memory.id, memory.version, memory.subject, memory.text, self._worded[memory.id])
        )
        self._worded[memory.id] = now

    def prune(self, key: str, least: int) -> None:
        self.versions[key] = [one for one in self.versions[key] if one.version >= least]

    def use(self, use: MemoryUse) -> None:
        held = self.uses[use.memory_id]
        before = [one for one in held if one.reply_id == use.reply_id]
        if use.how is not UseKind.RECALLED and all(one.how is UseKind.RECALLED for one in before):
            memory = self.memories[use.memory_id]
            self.keep(replace(memory, uses=memory.uses + 1, used_at=use.used_at))
        if all(one.how is not use.how for one in before):
            held.append(use)

    def drop_uses(self, reply_ids: Collection[str]) -> None:
        for key, held in self.uses.items():
            self.uses[key] = [one for one in held if one.reply_id not in reply_ids]

    def resting_on(self, message_ids: Collection[str]) -> tuple[list[str], list[str]]:
        """Memories that go with these messages, and those that only lose them as sources."""
        going: list[str] = []
        losing: list[str] = []
        for key, memory in self.memories.items():
            gone, left = self._said(key, message_ids)
            if not gone:
                continue
            rests = not left or rests_on(reading(memory.subject, memory.text), gone, left)
            (going if rests and key not in self._own else losing).append(key)
        return going, losing

    def _said(self, key: str, message_ids: Collection[str]) -> tuple[list[str], list[str]]:
        gone: list[str] = []
        left: list[str] = []
        for one in self.sources[key]:
            side = gone if one.message_id in message_ids else left
            side += [one.quote, self._rows.said(one.message_id)]
        return gone, left

    def lose(self, key: str, message_ids: Collection[str]) -> int:
        """Takes messages from the sources, and what was said earlier in their words. Returns how much."""
        said = self._said(key, message_ids)
        before = self.versions[key]
        self.versions[key] = [one for one in before if not rests_on(reading(one.subject, one.text), *said)]
        self.sources[key] = [one for one in self.sources[key] if one.message_id not in message_ids]
        return len(before) - len(self.versions[key])

    def reinstate(self, ids: Collection[str]) -> None:
        parts = {part for one in ids for part in self.parts[one]}
        for key, memory in self.memories.items():
            replaced = memory.state is MemoryState.SUPERSEDED and memory.superseded_by in ids
            merged = memory.state is MemoryState.ARCHIVED and key in parts
            if key not in ids and (replaced or merged):
                self.keep(replace(memory, state=MemoryState.INBOX, superseded_by=None))

    def with_parts(self, ids: Collection[str]) -> list[str]:
        found = list(ids)
        for key in found:
            found += [part for part in self.parts[key] if part not in found]
        return found

    def with_merged(self, ids: Collection[str]) -> list[str]:
        going = list(ids)
        while more := [key for key in self.memories if key not in going and self._made_of(key, going)]:
            going += more
        return going

    def _made_of(self, key: str, going: Collection[str]) -> bool:
        said = {part: self._reading(part) for part in self.parts[key]}
        gone = [text for part, text in said.items() if part in going]
        left = [text for part, text in said.items() if part not in going]
        return bool(gone) and (not left or rests_on(self._reading(key), gone, left))

    def _reading(self, key: str) -> str:
        return reading(self.memories[key].subject, self.memories[key].text)

    def drop(self, key: str) -> int:
        """Returns how many earlier versions there were."""
        del self.memories[key], self.sources[key], self.parts[key], self.uses[key], self._worded[key]
        self._own.discard(key)
        for other, memory in self.memories.items():
            self.parts[other] = tuple(part for part in self.parts[other] if part != key)
            if memory.superseded_by == key:
                self.keep(replace(memory, superseded_by=None))
        return len(self.versions.pop(key))

    def worded(self, key: str) -> datetime:
        return self._worded[key]

    def put_back(self, state: "State") -> None:
        memory, key = state.memory, state.memory.id
        now = self.memories[key]
        self.keep(replace(memory, uses=now.uses, used_at=now.used_at))
        self.sources[key] = sorted(state.sources, key=lambda one: one.message_id)
        self.parts[key] = state.parts
        self.versions[key] = [one for one in self.versions[key] if one.version < memory.version]
        self._worded[key] = state.worded


@dataclass(frozen=True, slots=True)
class State:
    """How a memory is, without its use."""

    memory: Memory
    sources: frozenset[MemorySource]
    parts: tuple[str, ...]
    worded: datetime

    def names(self) -> set[str]:
        ids = {self.memory.id, self.memory.superseded_by or "", *self.parts}
        return ids | {one.message_id for one in self.sources} | {one.session_id for one in self.sources}


Side = Mapping[str, State | None]


class MemoryLog:
    """What was done, and how things were before and after."""

    def __init__(self, known: Known) -> None:
        self._known = known
        self._changes: dict[str, MemoryChange] = {}
        self._sides: dict[str, tuple[Side, Side]] = {}

    def states(self, ids: Collection[str]) -> dict[str, State | None]:
        return {key: self._state(key) for key in ids}

    def _state(self, key: str) -> State | None:
        memory = self._known.memories.get(key)
        if memory is None:
            return None
        return State(
            replace(memory, uses=0, used_at=None),
            frozenset(self._known.sources[key]),
            self._known.parts[key],
            self._known.worded(key),
        )

    def record(self, action: str, before: Side, now: datetime, *, automatic: bool) -> None:
        changed = [key for key in before if self._state(key) != before[key]]
        if changed:
            change = MemoryChange(new_id(), action, automatic, tuple(sorted(changed)), now)
            self._changes[change.id] = change
            self._sides[change.id] = {key: before[key] for key in changed}, self.states(changed)

    def select(self, limit: int, memory_id: str | None) -> list[MemoryChange]:
        found = [one for one in self._changes.values() if memory_id is None or memory_id in one.memory_ids]
        return found[::-1][: max(limit, 0)]

    def undo(self, ref: str, now: datetime) -> tuple[MemoryChange, list[str]]:
        """The change, and the memories that are gone with it."""
        span = id_range(ref)
        found = [] if span is None else [key for key in self._changes if span[0] <= key <= span[1]]
        if len(found) != 1:
            raise ChangeNotFound(ref)
        change = self._changes[found[0]]
        sides = self._sides.get(change.id)
        if change.undone_at is not None or sides is None or self.states(sides[1].keys()) != sides[1]:
            raise CannotUndo(change.id)
        added = [key for key, state in sides[0].items() if state is None]
        for key in added:
            self._known.drop(key)
        for state in sides[0].values():
            if state is not None:
                self._known.put_back(state)
        self._changes[change.id] = replace(change, undone_at=now)
        self.strip(added)
        return self._changes[change.id], added

    def strip(self, ids: Collection[str]) -> None:
        gone = set(ids)
        for key, sides in list(self._sides.items()):
            states = [state for side in sides for state in side.values() if state is not None]
            if any(not gone.isdisjoint(state.names()) for state in states):
                del self._sides[key]

    def drop_names(self, memory_ids: Collection[str]) -> None:
        for key, change in list(self._changes.items()):
            left = tuple(one for one in change.memory_ids if one not in memory_ids)
            if left:
                self._changes[key] = replace(change, memory_ids=left)
            else:
                del self._changes[key]
