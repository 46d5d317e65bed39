"""Digests: what the user said in an important session, under the session's title."""

from collections.abc import Sequence
from datetime import datetime

from memory.entities import MemoryMode, Message, Session
from memory.learning.entities import found
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
)
from memory.storage.store import Store
from memory.summaries.passages import SourceMessage, sentences
from memory.summaries.summarise import Summariser
from models.messages import Role

LONGEST = 320
"""The most tokens of a digest."""

_LEAST_MESSAGES = 2
_DIGESTS = MemoryFilter(states=None, kinds=frozenset({MemoryKind.DIGEST}))
_ACTION = "digest"


class Digester:
    """Makes and renews the digests of the sessions of one room that are marked important.

    A digest consists of the user's own sentences; each message that one comes from is among its sources. No
    model words it. Raises what the store and the token counter raise.
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
        # Up to `LONGEST` tokens of everything said: a share of a short conversation would leave out its long
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
