"""Where one conversation ends and another begins, and what a resumed one was about."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

from atlas_desktop.services.branches import branch_of
from atlas_desktop.setting_types import SessionSettings
from memory.context.boundaries import (
    Boundary,
    BoundaryRules,
    Reminder,
    boundary,
    cosine,
    names_topic,
    reminder,
    topic,
)
from memory.entities import Message, Session
from memory.ports import Clock, SessionStore
from models.errors import ModelsError
from models.messages import Role
from models.ports import Embedder

_LOOKED_AT = 12
"""Newest messages that the topic is made from, replies included (of them the newest alone is looked at)."""
_REMEMBERED = 256
_OF_A_REPLY = 1000
"""Characters of a reply that tell what it is about."""
_OF_A_MESSAGE = 4000
"""Characters of a message that tell what it is about; an embedding model reads less."""
_SETTLED = 2
"""Turns after which a new conversation is offered for another topic: whoever introduces themselves tells many
things, and is not asked about it."""
_PATIENCE_S = 1.5
"""A message waits no longer than this to learn whether its topic is new."""


class ContinuityService:
    """Of one room. Without an embedder only pauses and lengths are noticed."""

    def __init__(
        self,
        store: SessionStore,
        clock: Clock,
        settings: Callable[[], SessionSettings],
        *,
        embedder: Callable[[], Embedder | None] = lambda: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._embedder = embedder
        self._vectors: OrderedDict[str, Sequence[float]] = OrderedDict()

    @property
    def automatic(self) -> bool:
        """Whether a new session is begun without asking."""
        return self._settings().new_session == "automatic"

    async def boundary(self, session: Session, text: str) -> Boundary | None:
        """Whether `text`, said now, begins something new; None also when nobody wants to know.

        `session` is as it was before `text` was stored.
        """
        settings = self._settings()
        if settings.new_session == "off" or session.head_id is None:
            return None
        rules = BoundaryRules(
            timedelta(minutes=settings.after_minutes),
            settings.after_turns,
            settings.topic_similarity,
            1 if self.automatic else _SETTLED,
        )
        now, turns = self._clock.now(), await self._turns(session, session.head_id, rules.turns)
        found = boundary(rules, now=now, last=session.updated_at, turns=turns)
        text = text[:_OF_A_MESSAGE]
        if found is not None or not names_topic(text):
            return found
        newest = await self._store.branch(session.id, session.head_id, newest=_LOOKED_AT)
        said = [m for m in newest if m.role is Role.USER]
        replied = next((m for m in reversed(newest) if m.role is Role.ASSISTANT and m.content.strip()), None)
        similarity = await self._similarity(text, said, replied, rules.similarity) if said else None
        return boundary(rules, now=now, last=session.updated_at, turns=turns, similarity=similarity)

    async def reminder(self, session: Session) -> Reminder | None:
        """What to say when a session is taken up again after a pause; None when there is nothing to say."""
        settings = self._settings()
        if not settings.reminder:
            return None
        now, after = self._clock.now(), timedelta(minutes=settings.after_minutes)
        if session.head_id is None or now - session.updated_at < after:
            return None
        # However long the session is, its first and its last words are enough.
        path = branch_of(await self._store.outline(session.id), session.head_id)
        ends = await self._store.branch(session.id, newest=_LOOKED_AT)
        own = [node.id for node in path if node.role is Role.USER]
        if own and own[0] not in {m.id for m in ends}:
            ends = [*await self._store.branch(session.id, own[0], newest=1), *ends]
        summaries = await self._store.context.summaries(session.id)
        on_branch = {node.id for node in path}
        standing = [s for s in summaries if on_branch.issuperset(s.covers)]
        found = reminder(ends, standing, now=now, after=after)
        return None if found is None else replace(found, turns=max(found.turns, len(own)))

    async def _turns(self, session: Session, head_id: str, length: int) -> int:
        """The turns of its branch; of a session that cannot have `length` yet about half of its messages.

        Other answers to a message, and what stood in its place before an edit, are messages and no turns.
        """
        if session.message_count < length:
            return session.message_count // 2
        path = branch_of(await self._store.outline(session.id), head_id)
        return sum(node.role is Role.USER for node in path)

    async def _similarity(
        self, text: str, said: Sequence[Message], replied: Message | None, enough: float
    ) -> float | None:
        """The cosine between `text` and what was talked about; None when there is no saying in time.

        Who asks about something that the newest reply brought up goes on with it: where what was `said` is
        not `enough` like the text, the reply may be.
        """
        embedder = self._embedder()
        if embedder is None:
            return None
        unknown = [m for m in said if m.id not in self._vectors]
        try:
            async with asyncio.timeout(_PATIENCE_S):
                *made, new = await embedder.embed([*(m.content[:_OF_A_MESSAGE] for m in unknown), text])
                self._keep(unknown, made)
                known = [self._vectors[m.id] for m in said if m.id in self._vectors]
                similarity = cosine(topic(known), new)
                if similarity < enough and replied is not None:
                    if replied.id not in self._vectors:
                        self._keep([replied], await embedder.embed([replied.content[:_OF_A_REPLY]]))
                    similarity = max(similarity, cosine(self._vectors[replied.id], new))
        except (TimeoutError, ModelsError):
            return None
        return similarity

    def _keep(self, messages: Sequence[Message], made: Sequence[Sequence[float]]) -> None:
        self._vectors.update({m.id: vector for m, vector in zip(messages, made, strict=True)})
        while len(self._vectors) > _REMEMBERED:
            self._vectors.popitem(last=False)
