"""What recall reads, from dictionaries. Knows words as they are, not their stems."""

from collections import Counter
from collections.abc import Collection, Sequence

from memory.clock import micros
from memory.context.entities import Summary
from memory.entities import MemoryMode, Message, MessageStatus
from memory.memories.entities import FINDABLE, Memory, MemoryKind, MemorySource, MemoryState, MemoryTier
from memory.memories.wording import reading
from memory.recall.decay import RATES, base_of, importance
from memory.recall.entities import (
    Entry,
    EntryChanges,
    FoundNote,
    Note,
    Posting,
    SessionEntry,
    Source,
    Text,
    Wording,
)
from memory.recall.moments import speaks_of_time
from memory.recall.words import only_asks, states_preference
from memory.storage.words import Term, is_unspaced, pieces, terms
from memory.testing.context import InMemoryContext
from memory.testing.finding import words_of
from memory.testing.known import Known
from memory.testing.rows import Rows
from models.messages import Role


class InMemoryEvidenceStore:
    """`memory.recall.ports.EvidenceStore` beside the sessions and messages of `rows`."""

    def __init__(self, rows: Rows, known: Known, context: InMemoryContext) -> None:
        self._rows = rows
        self._known = known
        self._context = context
        self._seqs: dict[str, int] = {}
        self._fixed: dict[str, str] = {}
        self._seen: dict[int, tuple[dict[int, object], dict[str, object], dict[str, object]]] = {}

    async def entries(self, *, after: int = 0, limit: int = 5000) -> list[Entry]:
        self._rows.require_open()
        found = [entry for entry in self._entries() if entry.seq > after]
        return found[: max(limit, 0)]

    async def entries_of(self, seqs: Collection[int]) -> list[Entry]:
        self._rows.require_open()
        return [entry for entry in self._entries() if entry.seq in seqs]

    async def wordings(self, seqs: Collection[int]) -> list[Wording]:
        self._rows.require_open()
        return [
            Wording(
                self._seq(one),
                speaks_of_time(one.content),
                not _by_machine(one) and states_preference(one.content),
            )
            for one in self._finished()
            if self._seq(one) in seqs
        ]

    async def session_entries(self, ids: Collection[str] | None = None) -> list[SessionEntry]:
        self._rows.require_open()
        return [
            SessionEntry(
                one.id,
                one.project,
                one.memory_mode in {MemoryMode.NORMAL, MemoryMode.OFF},
                one.deleted_at is not None,
            )
            for one in self._rows.sessions.values()
            if ids is None or one.id in ids
        ]

    async def changes(self, since: int | None) -> EntryChanges:
        self._rows.require_open()
        messages: dict[int, object] = {
            self._seq(message): (message.content, message.important, message.session_id)
            for message in self._finished()
        }
        sessions: dict[str, object] = {one.id: one for one in await self.session_entries()}
        notes: dict[str, object] = {one.id: one for one in (*self._memories(), *self._summaries())}
        version = len(self._seen)
        self._seen[version] = messages, sessions, notes
        old_messages, old_sessions, old_notes = self._seen[version if since is None else since]
        return EntryChanges(
            version,
            frozenset(key for key in old_messages | messages if old_messages.get(key) != messages.get(key)),
            frozenset(key for key in old_sessions | sessions if old_sessions.get(key) != sessions.get(key)),
            frozenset(key for key in old_notes | notes if old_notes.get(key) != notes.get(key)),
        )

    async def stems(self, text: str) -> list[str]:
        self._rows.require_open()
        return list(dict.fromkeys(_stems(text)))

    async def stems_of(self, texts: Sequence[str]) -> list[list[str]]:
        self._rows.require_open()
        return [_stems(text) for text in texts]

    async def notes(self, kind: str, *, after: int = 0, limit: int = 1000) -> list[Note]:
        self._rows.require_open()
        found = self._memories() if kind == "memory" else self._summaries()
        return [one for one in found if one.seq > after][: max(limit, 0)]

    async def notes_of(self, ids: Collection[str]) -> list[Note]:
        self._rows.require_open()
        return [one for one in (*self._memories(), *self._summaries()) if one.id in ids]

    async def notes_matching(self, query: str, *, kinds: Collection[str], limit: int) -> list[FoundNote]:
        self._rows.require_open()
        wanted = terms(query)
        every = [one for kind in sorted(kinds) for one in await self.notes(kind, limit=2**31)]
        found = [
            FoundNote(one, float(len(wanted)))
            for one in every
            if all(_holds(one.text, term) for term in wanted) and not self._binned(one)
        ]
        return found[: max(limit, 0)]

    def _binned(self, note: Note) -> bool:
        sessions = [self._rows.sessions[one] for one in note.sessions if one in self._rows.sessions]
        return bool(sessions) and all(one.deleted_at is not None for one in sessions)

    async def postings(self, terms: Sequence[str], *, at_most: int) -> list[Posting]:
        self._rows.require_open()
        found = []
        for term in terms:
            places = [
                self._seq(message)
                for message in self._finished()
                for _ in range(_occurrences(message.content, term))
            ]
            if places and len(set(places)) <= at_most:
                found.append(Posting(term, places))
        return found

    async def texts(self, seqs: Sequence[int]) -> list[Text]:
        self._rows.require_open()
        known = {self._seq(message): message for message in self._finished()}
        return [
            Text(
                seq,
                message.content,
                Source(
                    message.session_id,
                    message.id,
                    message.external_id,
                    None,
                    message.created_at,
                    message.speaker,
                ),
            )
            for seq in seqs
            if (message := known.get(seq)) is not None
        ]

    async def fixed(self, name: str) -> str | None:
        self._rows.require_open()
        return self._fixed.get(name)

    async def keep_fixed(self, name: str, value: str) -> None:
        self._rows.require_open()
        self._fixed[name] = value

    def _finished(self) -> list[Message]:
        return [
            message
            for message in self._rows.messages.values()
            if message.status is not MessageStatus.STREAMING
            and message.role is not Role.SYSTEM
            and message.content
        ]

    def _entries(self) -> list[Entry]:
        return [
            Entry(
                self._seq(message),
                message.id,
                message.session_id,
                message.parent_id,
                message.speaker,
                _by_machine(message),
                micros(message.created_at),
                message.important,
                only_asks(message.content),
                len(_stems(message.content)),
            )
            for message in self._finished()
        ]

    def _memories(self) -> list[Note]:
        return [
            _memory(seq, memory, self._known.sources[memory.id])
            for seq, memory in enumerate(self._known.memories.values(), start=1)
            if memory.state in FINDABLE
        ]

    def _summaries(self) -> list[Note]:
        return [
            _summary(seq, one, self._rows.sessions[one.session_id].project)
            for seq, one in enumerate(self._context.standing(), start=1)
        ]

    def _seq(self, message: Message) -> int:
        for known in self._rows.messages:
            self._seqs.setdefault(known, len(self._seqs) + 1)
        return self._seqs[message.id]


def _by_machine(message: Message) -> bool:
    return message.role is Role.ASSISTANT and (
        message.model is not None or message.speaker.lower() in {"", "assistant"}
    )


def _memory(seq: int, memory: Memory, sources: Sequence[MemorySource]) -> Note:
    return Note(
        seq,
        memory.id,
        "memory",
        reading(memory.subject, memory.text),
        micros(memory.created_at),
        micros(max(memory.created_at, memory.used_at or memory.created_at)),
        0.0 if memory.pinned else RATES[memory.tier],
        importance(base_of(memory.importance), memory.uses),
        approved=memory.state is MemoryState.KEPT,
        procedure=memory.kind is MemoryKind.PROCEDURE or memory.tier is MemoryTier.PROCEDURAL,
        prefers=memory.kind is MemoryKind.PREFERENCE,
        expires_at=None if memory.expires_at is None else micros(memory.expires_at),
        project=memory.project,
        messages=tuple(one.message_id for one in sources),
        sessions=tuple(dict.fromkeys(one.session_id for one in sources)),
    )


def _summary(seq: int, one: Summary, project: str | None) -> Note:
    created = micros(one.created_at)
    return Note(
        seq,
        one.id,
        "summary",
        one.text,
        created,
        created,
        RATES[MemoryTier.EPISODIC],
        1.0,
        approved=True,
        project=project,
        sessions=(one.session_id,),
    )


def _holds(text: str, term: Term) -> bool:
    words = f" {' '.join(words_of(text))} "
    return (f" {term.text}" if term.prefix else f" {term.text} ") in words


def _stems(text: str) -> list[str]:
    return [piece for word in words_of(text) for piece in pieces(word)]


def _occurrences(text: str, term: str) -> int:
    return text.count(term) if is_unspaced(term) else Counter(_stems(text))[term]
