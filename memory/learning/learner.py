"""Learns from new messages, a few at a time."""

import asyncio
from collections.abc import Sequence
from datetime import datetime

from memory.entities import MemoryMode, Message, Session
from memory.errors import MessageNotFound, SessionNotFound
from memory.learning.entities import Candidate, Utterance, found
from memory.learning.extraction import GROUP, ModelReader
from memory.learning.memory_writer import Meaning, MemoryWriter
from memory.learning.reader import asked_to_remember, read
from memory.memories.entities import (
    Memory,
    MemoryFilter,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    MemoryTier,
    NewMemory,
    Unlearned,
)
from memory.notes.markup import own_words
from memory.storage.store import Store
from memory.summaries.model_summaries import Checkpoint
from memory.summaries.planning import SourceMessage, sentences
from memory.summaries.summarise import Summariser
from models.messages import Role

_SESSIONS = 10


class Learner:
    """The learner of one room.

    `model` reads what the patterns do not match; `meaning` finds earlier statements in other words; both may
    be missing. `checkpoint` is awaited between steps. Raises what these raise.
    """

    def __init__(
        self,
        store: Store,
        ledger: MemoryWriter,
        *,
        model: ModelReader | None = None,
        meaning: Meaning | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._store = store
        self._ledger = ledger
        self._model = model
        self._meaning = meaning
        self._checkpoint = checkpoint

    async def learn(self, session_id: str | None = None) -> list[Memory]:
        """Learns from all new messages of one session or of all; returns what was added or changed.

        If stopped at any point, the next call resumes with the session it was in.
        """
        made: list[Memory] = []
        while waiting := await self._store.memories.unlearned(limit=_SESSIONS, session=session_id):
            for one in waiting:
                made += await self._session(one)
                await self._store.memories.mark_learned(one.session_id, one.seq)
            if len(waiting) < _SESSIONS:
                break
        return made

    async def learn_from_notes(self) -> list[Memory]:
        """Learns from the user's own words in notes that have changed; returns what was added or changed.

        No model is used: notes are long, and patterns are precise.
        """
        made: list[Memory] = []
        while waiting := await self._store.notes.unlearned():
            for note_id, version in waiting:
                if self._checkpoint:
                    await self._checkpoint()
                for note in await self._store.notes.get_many([note_id]):
                    utterance = [
                        Utterance(note.id, "", words, note.updated_at)
                        for words in await asyncio.to_thread(own_words, note.text)
                    ]
                    candidates = await asyncio.to_thread(_read_all, utterance)
                    made += await self._ledger.add(candidates, project=note.project, meaning=self._meaning)
                await self._store.notes.mark_learned(note_id, version)
        return made

    async def remember(self, utterance: Utterance, project: str | None) -> list[Memory]:
        """Stores at once what a message asks Atlas to remember; no model is used."""
        wanted = await asyncio.to_thread(asked_to_remember, utterance)
        return await self._ledger.add(wanted, project=project, quick=True)

    async def _session(self, waiting: Unlearned) -> list[Memory]:
        made: list[Memory] = []
        ids = waiting.message_ids
        for at in range(0, len(ids), GROUP):
            if self._checkpoint:
                await self._checkpoint()
            group = [
                one for key in ids[at : at + GROUP] if (one := await self._heard(waiting.session_id, key))
            ]
            candidates = await asyncio.to_thread(_read_all, group)
            if self._model is not None:
                candidates += [one for one in await self._model.read(group) if _not_told_back(one, group)]
            made += await self._ledger.add(candidates, project=waiting.project, meaning=self._meaning)
        return made

    async def _heard(self, session_id: str, message_id: str) -> Utterance | None:
        try:
            *before, message = await self._store.branch(session_id, message_id, newest=2)
        except (MessageNotFound, SessionNotFound):
            # Forgotten since it was listed.
            return None
        if message.role is not Role.USER:
            return None
        return heard_in(message, before[0] if before else None)


def heard_in(message: Message, before: Message | None = None) -> Utterance:
    """Returns a message of the user with the reply that it answers."""
    reply = before.content if before is not None and before.role is Role.ASSISTANT else ""
    return Utterance(
        message.id, message.session_id, message.content, message.created_at, message.important, reply
    )


def may_learn(mode: MemoryMode) -> bool:
    """Whether a session with that mode adds memories."""
    return mode is MemoryMode.NORMAL


def _read_all(group: Sequence[Utterance]) -> list[Candidate]:
    return [one for utterance in group for one in read(utterance) if _not_told_back(one, group)]


def _not_told_back(candidate: Candidate, group: Sequence[Utterance]) -> bool:
    """Whether the quote is not merely the model's own text repeated by the user."""
    before = next((one.before for one in group if one.message_id == candidate.message_id), "")
    return not found(candidate.quote, before)


LONGEST = 320
"""The most tokens of a digest."""

_LEAST_MESSAGES = 2
_DIGESTS = MemoryFilter(states=None, kinds=frozenset({MemoryKind.DIGEST}))
_ACTION = "digest"


class Digester:
    """Makes and renews the digests of the sessions of one room that are marked important.

    A digest consists of the user's own sentences; each message that one comes from is among its sources. No
    model rephrases it. Raises what the store and the token counter raise.
    """

    def __init__(self, store: Store, summariser: Summariser) -> None:
        self._store = store
        self._summariser = summariser

    async def renew(self, session_id: str | None = None) -> list[Memory]:
        """Returns the digests that were made or changed, of one session or of all."""
        known = await self._store.memories.select(_DIGESTS)
        if session_id is not None:
            sessions = [await self._store.get_session(session_id)]
        else:
            sessions = await self._store.list_sessions(archived=None)
        made = [await self._of(session, known) for session in sessions if _wanted(session)]
        return [one for one in made if one is not None]

    async def _of(self, session: Session, known: Sequence[Memory]) -> Memory | None:
        said = [one for one in await self._store.branch(session.id) if one.role is Role.USER and one.content]
        if len(said) < _LEAST_MESSAGES:
            return None
        old = await self._known(session.id, known)
        # A digest that the user rejected, or that was superseded or archived, is not renewed.
        if old is not None and (old.state not in (MemoryState.INBOX, MemoryState.KEPT)):
            return None
        # Up to `LONGEST` tokens of the whole conversation: a share of a short one would leave out its long
        # sentences.
        texts = [_source_message(one) for one in said]
        draft = await self._summariser.quick(texts, most=LONGEST, shortened=False)
        text = f"{session.title}\n{draft.text}".strip()
        sources = _sources(draft.text, said)
        if not sources or (old is not None and old.text == text):
            return None
        if old is None:
            return await self._store.memories.add(
                _new(session, text, sources, said[-1].created_at), action=_ACTION, automatic=True
            )
        await self._store.memories.add_sources(old.id, sources)
        patch = MemoryPatch(text=text, subject=session.title)
        return await self._store.memories.change(old.id, patch, action=_ACTION, automatic=True)

    async def _known(self, session_id: str, known: Sequence[Memory]) -> Memory | None:
        for memory in known:
            if any(one.session_id == session_id for one in await self._store.memories.sources(memory.id)):
                return memory
        return None


def _wanted(session: Session) -> bool:
    return session.important and session.memory_mode is MemoryMode.NORMAL and session.deleted_at is None


def _new(session: Session, text: str, sources: Sequence[MemorySource], at: datetime) -> NewMemory:
    return NewMemory(
        kind=MemoryKind.DIGEST,
        text=text,
        origin=MemoryOrigin.PATTERN,
        sources=tuple(sources),
        tier=MemoryTier.EPISODIC if session.project else MemoryTier.LONG_TERM,
        subject=session.title,
        importance=0.8,
        valid_from=at,
        project=session.project,
    )


def _source_message(message: Message) -> SourceMessage:
    return SourceMessage(
        message.id, message.role, message.speaker, message.content, message.created_at, message.important
    )


def _sources(text: str, said: Sequence[Message]) -> list[MemorySource]:
    """Returns the messages with a sentence in the digest, each with its first such sentence."""
    made = []
    for message in said:
        quote = next(
            (one for one in sentences(message.content) if found(one, text) and found(one, message.content)),
            None,
        )
        if quote is not None:
            made.append(MemorySource(message.id, message.session_id, quote))
    return made
