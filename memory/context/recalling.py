"""Selects the messages and memories that are recalled for one turn, within its budget."""

import asyncio
import re
from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from memory.clock import Clock, LocalZone
from memory.context.assembly import preface, recall_line, time_line
from memory.context.entities import Epoch, Limits, NewEpoch, Outcome, RecallDecision, considered, unrepeated
from memory.entities import MemoryMode, Message, Session
from memory.recall.entities import Hit, Recall, RecallQuery
from memory.recall.question import LONGEST_QUESTION, refers_back
from memory.recall.words import only_states
from memory.summaries.evidence import is_small_talk
from models.messages import Role
from models.ports import TokenCounter

MOST_HITS = 5
LOOKED_AT = 12
"""The number of hits requested: some only repeat the question."""

_WORDS = 0.3
_MARKED, _STANDING = 0.1, 0.15
_ASKED, _ASKED_BY_WORDS = 0.38, 0.25
_TOLD, _TOLD_BY_WORDS = 0.55, 0.4
_STATED = 0.42
"""For statements, whose cosine is that of what is special about them. Of 93 that had no counterpart, 2 got a
message (`python -m benchmarks.moments`)."""
_MOST_TOLD = 2
_LEAST = 0.2
_LEAST_OF_BEST = 0.4
_LEAST_NEW = 0.25
_WORD = re.compile(r"\w+")
_ONLY_ASKS = re.compile(r"[^.!?？。]*+[?？]++\s*")


def needs_nothing(text: str) -> bool:
    """Whether no memory could help with a turn: greetings, thanks and the like."""
    return is_small_talk(text)


def asks(text: str) -> bool:
    """Whether a turn asks for something; for others only close memories are recalled."""
    return "?" in text or "？" in text or refers_back(text)


def novel_hits(text: str, hits: Sequence[Hit]) -> list[Hit]:
    """Returns the hits that add something to `text`: no echoes, no small talk, and more than a question.

    The answer to a question may differ from it by a single word. For a text that asks nothing, a passage that
    shares more than three quarters of its words with it is a repetition.
    """
    said, asked = _words(text), asks(text)
    return [hit for hit in hits if _is_news(hit.passage, said, asked=asked)]


def _is_news(passage: str, said: AbstractSet[str], *, asked: bool) -> bool:
    if is_small_talk(passage) or _ONLY_ASKS.fullmatch(passage.strip()):
        return False
    words = _words(passage)
    new = len(words - said)
    return new > 0 and (asked or new >= _LEAST_NEW * len(words))


def worthwhile(text: str, hits: Sequence[Hit]) -> list[Hit]:
    """Returns the hits (from `novel_hits`, best first) relevant enough for a prompt, at most `MOST_HITS`.

    A question gets memories when at least one of them is close to it. The others may then be less close,
    since an answer is often next to the text that resembles the question. A memory that the user has marked
    as important may be slightly less close, and so may a standing instruction, which does not name the
    subject.
    """
    close = [
        closeness(hit.grounds.cosine, hit.grounds.words)
        + _MARKED * hit.parts.get("importance", 0.0)
        + _STANDING * hit.parts.get("standing", 0.0)
        for hit in hits
    ]
    semantic = any(hit.grounds.cosine is not None for hit in hits)
    return [hits[at] for at in close_enough(text, close, semantic=semantic)]


def close_enough(text: str, close: Sequence[float], *, semantic: bool) -> list[int]:
    """Returns the indices of those close enough to a turn for its prompt, in order.

    `semantic`: vectors took part in the closeness of some.
    """
    if not close:
        return []
    if asks(text):
        best = max(close)
        if best < (_ASKED if semantic else _ASKED_BY_WORDS):
            return []
        least = max(_LEAST, _LEAST_OF_BEST * best) if semantic else _LEAST_OF_BEST * best
        return [at for at, one in enumerate(close) if one >= least][:MOST_HITS]
    told = _TOLD_BY_WORDS
    if semantic:
        told = _STATED if only_states(text) else _TOLD
    return [at for at, one in enumerate(close) if one >= told][:_MOST_TOLD]


def near_enough(close: Sequence[float], *, semantic: bool) -> list[int]:
    """Returns the indices of those close enough to a question to be shown for it, in order."""
    least = max(_LEAST if semantic else 0.0, _LEAST_OF_BEST * max(close, default=0.0))
    return [at for at, one in enumerate(close) if one >= least and one > 0]


def closeness(cosine: float | None, words: float) -> float:
    """Returns how close something is to what was asked, regardless of others; without a vector, by the share
    of the words that it contains.
    """
    return words if cosine is None else cosine + _WORDS * words


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


USES_MEMORY = frozenset({MemoryMode.NORMAL, MemoryMode.READS})


KINDS = frozenset({"message", "memory"})
"""The kinds of hits that a turn recalls: messages, and the memories learned from them."""


@dataclass(frozen=True, slots=True)
class RecalledContext:
    """The text before the user's message, the memories in it, and what was considered."""

    text: str
    hits: tuple[Hit, ...] = ()
    considered: tuple[RecallDecision, ...] = ()

    def without_room(self) -> "RecalledContext":
        """Returns the result for a prompt that has no room for any of it."""
        told = [
            replace(one, outcome=Outcome.NO_ROOM) if one.outcome is Outcome.TOLD else one
            for one in self.considered
        ]
        return replace(self, hits=(), considered=tuple(told))


class ContextRecall:
    """Makes the preface of the user's newest message: the time, and relevant earlier content."""

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
        *,
        widen: bool = True,
    ) -> RecalledContext:
        """Returns the preface for the last of `messages` (those in the prompt).

        At most `tokens` tokens are recalled, and only relevant ones. Text that is already in the prompt is
        never repeated. Without `widen`, nothing from outside the session's project is recalled.
        """
        now = self._clock.now().astimezone(self._zone)
        time = time_line(now, _told(messages, self._zone)) if limits.date_and_time else ""
        if self._recall is None or not limits.recall or session.memory_mode not in USES_MEMORY:
            return RecalledContext(preface(time, []))
        asked = messages[-1].content
        shown = {message.id for message in messages}.union(*(part.ids for part in epoch.parts))
        found = await self._found(self._recall, session, messages, shown, widen=widen)
        fresh, new = unrepeated(found, shown), await asyncio.to_thread(novel_hits, asked, found)
        said = {hit.id for hit in new}
        close = worthwhile(asked[:LONGEST_QUESTION], [hit for hit in fresh if hit.id in said])
        # Only of a message that is recalled too: one that is not close enough says nothing in its place.
        worthy = unrepeated(close, {hit.id for hit in close})
        fresh = [hit for hit in fresh if hit in worthy or hit not in close]
        kept = await self._fitting(worthy, tokens)
        told = tuple(hit for hit, _ in kept)
        return RecalledContext(
            preface(time, [line for _, line in kept]), told, considered(found, new, fresh, worthy, told)
        )

    async def _found(
        self,
        recall: Recall,
        session: Session,
        messages: Sequence[Message],
        shown: Collection[str],
        *,
        widen: bool,
    ) -> list[Hit]:
        asked = messages[-1].content
        if needs_nothing(asked):
            return []
        # A copy of a session has the same text under other ids.
        texts = {message.content for message in messages}
        found = await recall.recall(
            RecallQuery(
                asked,
                k=LOOKED_AT,
                kinds=KINDS,
                project=session.project,
                exclude_messages=shown,
                now=messages[-1].created_at,
                widen=widen,
                recent_first=True,
            )
        )
        told: dict[str, Hit] = {}
        for hit in found:
            # What a reply claimed without support would come back as if it were known, and so would what the
            # user has corrected or edited.
            if hit.text not in texts and hit.source.supported and not (_is_corrected(hit) or hit.replaced):
                told.setdefault(hit.text, hit)
        return list(told.values())

    async def _fitting(self, hits: Sequence[Hit], tokens: int) -> list[tuple[Hit, str]]:
        """Returns the best hits whose lines fit, each counted with its bullet and line end."""
        kept: list[tuple[Hit, str]] = []
        left = tokens
        for hit in hits:
            when = hit.source.created_at.astimezone(self._zone)
            # A model must not take for the user's words what it said itself.
            own = hit.kind == "message" and hit.source.by_model
            line = recall_line(hit.passage, hit.source.speaker or ("You replied" if own else ""), when)
            cost = (await self._counter.count([f"- {line}\n"]))[0]
            if cost > left:
                continue
            kept.append((hit, line))
            left -= cost
        return kept


def _is_corrected(hit: Hit) -> bool:
    """Whether a message says what the user has worded otherwise since or rejected as a memory, or is the
    reply to it."""
    said = hit.source
    return hit.kind == "message" and any(
        said.by_model or quote in hit.passage or hit.passage in quote for quote in said.corrected
    )


def _told(messages: Sequence[Message], zone: tzinfo | None) -> datetime | None:
    """Returns when this prompt last gave the model the time."""
    for message in reversed(messages[:-1]):
        if message.role is Role.USER and message.preface.startswith("["):
            return message.created_at.astimezone(zone)
    return None
