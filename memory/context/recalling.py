"""What is brought back from memory for one turn, within its budget."""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from memory.clock import LocalZone
from memory.context.budget import Limits
from memory.context.considering import Considered, Fate, considered, unrepeated
from memory.context.entities import Epoch, NewEpoch
from memory.context.preface import preface, recall_line, time_line
from memory.context.worth import LOOKED_AT, needs_nothing, news, worthwhile
from memory.entities import MemoryMode, Message, Session
from memory.ports import Clock
from memory.recall.asking import LONGEST_QUESTION
from memory.recall.entities import Hit
from memory.recall.ports import Recall
from models.messages import Role
from models.ports import TokenCounter

USES_MEMORY = frozenset({MemoryMode.NORMAL, MemoryMode.READS})


KINDS = frozenset({"message", "memory"})
"""What a turn recalls: what was said, and what was learned from it."""


@dataclass(frozen=True, slots=True)
class Brought:
    """What goes in front of the person's words, what of memory stands in it, and what was looked at."""

    text: str
    hits: tuple[Hit, ...] = ()
    considered: tuple[Considered, ...] = ()

    def without_room(self) -> "Brought":
        """As it is when the prompt has no room for any of it."""
        told = [replace(one, fate=Fate.NO_ROOM) if one.fate is Fate.TOLD else one for one in self.considered]
        return replace(self, hits=(), considered=tuple(told))


class Recalling:
    """Makes the preface of the person's newest message: the time, and what was said before that matters."""

    def __init__(
        self, counter: TokenCounter, clock: Clock, *, recall: Recall | None = None, zone: tzinfo | None = None
    ) -> None:
        self._counter = counter
        self._clock = clock
        self._recall = recall
        self._zone = zone or LocalZone()

    async def preface(
        self,
        session: Session,
        messages: Sequence[Message],
        epoch: Epoch | NewEpoch,
        limits: Limits,
        tokens: int,
    ) -> Brought:
        """For the last of `messages` (those in the prompt).

        At most `tokens` tokens are recalled, and only what is worth them. What is in the prompt already is
        never repeated.
        """
        now = self._clock.now().astimezone(self._zone)
        time = time_line(now, _told(messages, self._zone)) if limits.date_and_time else ""
        if self._recall is None or not limits.recall or session.memory_mode not in USES_MEMORY:
            return Brought(preface(time, []))
        asked = messages[-1].content
        shown = {message.id for message in messages}.union(*(part.ids for part in epoch.parts))
        found = await self._found(self._recall, session, messages, shown)
        fresh, new = unrepeated(found, shown), await asyncio.to_thread(news, asked, found)
        said = {hit.id for hit in new}
        worthy = worthwhile(asked[:LONGEST_QUESTION], [hit for hit in fresh if hit.id in said])
        kept = await self._fitting(worthy, tokens)
        told = tuple(hit for hit, _ in kept)
        return Brought(
            preface(time, [line for _, line in kept]), told, considered(found, new, fresh, worthy, told)
        )

    async def _found(
        self, recall: Recall, session: Session, messages: Sequence[Message], shown: Collection[str]
    ) -> list[Hit]:
        asked = messages[-1].content
        if needs_nothing(asked):
            return []
        # A copy of a session has the same words under other ids.
        texts = {message.content for message in messages}
        found = await recall.recall(
            asked,
            k=LOOKED_AT,
            kinds=KINDS,
            project=session.project,
            exclude_messages=shown,
            now=messages[-1].created_at,
            widen=True,
            recent_first=True,
        )
        return [hit for hit in found if hit.text not in texts]

    async def _fitting(self, hits: Sequence[Hit], tokens: int) -> list[tuple[Hit, str]]:
        """The best hits whose lines fit, each counted with its mark and end of line."""
        kept: list[tuple[Hit, str]] = []
        left = tokens
        for hit in hits:
            when = hit.source.created_at.astimezone(self._zone)
            line = recall_line(hit.passage, hit.source.speaker, when)
            cost = (await self._counter.count([f"- {line}\n"]))[0]
            if cost > left:
                continue
            kept.append((hit, line))
            left -= cost
        return kept


def _told(messages: Sequence[Message], zone: tzinfo | None) -> datetime | None:
    """When the model was last told the time in this prompt."""
    for message in reversed(messages[:-1]):
        if message.role is Role.USER and message.preface.startswith("["):
            return message.created_at.astimezone(zone)
    return None
