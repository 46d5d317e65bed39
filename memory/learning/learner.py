"""Learns from messages that have not been learned from yet, a few at a time."""

import asyncio
from collections.abc import Sequence

from memory.entities import MemoryMode, Message
from memory.errors import MessageNotFound, SessionNotFound
from memory.learning.entities import Candidate, Heard, found
from memory.learning.extraction import GROUP, ModelReader
from memory.learning.memory_writer import Meaning, MemoryWriter
from memory.learning.reader import asked_to_remember, read
from memory.memories.entities import Memory, Unlearned
from memory.notes.own_words import own_words
from memory.storage.store import Store
from memory.summaries.model_summaries import Checkpoint
from models.messages import Role

_SESSIONS = 10


class Learner:
    """The learner of one room.

    `model` reads what the patterns do not match; `meaning` finds what was said before in other words; both
    may be missing. `checkpoint` is awaited between steps. Raises what these raise.
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
                    heard = [
                        Heard(note.id, "", words, note.updated_at)
                        for words in await asyncio.to_thread(own_words, note.text)
                    ]
                    candidates = await asyncio.to_thread(_read_all, heard)
                    made += await self._ledger.add(candidates, project=note.project, meaning=self._meaning)
                await self._store.notes.mark_learned(note_id, version)
        return made

    async def remember(self, heard: Heard, project: str | None) -> list[Memory]:
        """Stores at once what one message asks to be remembered; no model is used."""
        wanted = await asyncio.to_thread(asked_to_remember, heard)
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

    async def _heard(self, session_id: str, message_id: str) -> Heard | None:
        try:
            *before, message = await self._store.branch(session_id, message_id, newest=2)
        except (MessageNotFound, SessionNotFound):
            # Forgotten since it was listed.
            return None
        if message.role is not Role.USER:
            return None
        return heard_in(message, before[0] if before else None)


def heard_in(message: Message, before: Message | None = None) -> Heard:
    """Returns a message of the user with the reply that it answers."""
    reply = before.content if before is not None and before.role is Role.ASSISTANT else ""
    return Heard(
        message.id, message.session_id, message.content, message.created_at, message.important, reply
    )


def may_learn(mode: MemoryMode) -> bool:
    """Whether a session with that mode adds memories."""
    return mode is MemoryMode.NORMAL


def _read_all(group: Sequence[Heard]) -> list[Candidate]:
    return [one for heard in group for one in read(heard) if _not_told_back(one, group)]


def _not_told_back(candidate: Candidate, group: Sequence[Heard]) -> bool:
    """Whether the quote is not merely the model's own text repeated by the user."""
    before = next((one.before for one in group if one.message_id == candidate.message_id), "")
    return not found(candidate.quote, before)
