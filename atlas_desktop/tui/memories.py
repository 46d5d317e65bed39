"""What the memory browser lists: read from the room, with where each memory comes from."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atlas_desktop.tui.origins import Origins
from atlas_desktop.tui.widgets.memory_rows import (
    FADING,
    INBOX,
    KINDS,
    OWN_WORDS,
    PROFILE,
    SUMMARIES,
    Entry,
    wanted,
)
from memory.memories.entities import Memory, MemoryOrigin

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices

PAGE = 100
"""Rows that are read at first, and added at the end of the list."""
_SESSIONS = 50
"""The latest conversations whose summaries are listed."""


class Shelf:
    """Of one room."""

    def __init__(self, room: "RoomServices") -> None:
        self._room = room
        self._origins = Origins(room)

    async def entries(self, tab: str, containing: str, limit: int) -> list[Entry]:
        """At most `limit` rows of a tab, of those that hold these words."""
        if tab == SUMMARIES:
            return await self._summaries(containing, limit)
        if tab == FADING:
            fates = await self._room.upkeep.fading()
            fates = [fate for fate in fates if _holds(fate.memory.text, containing)][:limit]
            return await self._described([fate.memory for fate in fates], [fate.why for fate in fates])
        if tab == PROFILE:
            told = await self._room.knowledge.profile()
            told = [one for one in told if _holds(one.text, containing)][:limit]
            return await self._described(told, [""] * len(told))
        found = await self._room.knowledge.select(wanted(tab, containing), limit=limit)
        return await self._described(found, [""] * len(found))

    async def counts(self) -> dict[str, int]:
        """How many are in use, in the inbox, fading, and in each tab of a kind."""
        counts = await self._room.knowledge.counts()
        return {
            "all": sum(counts.by_kind.values()),
            **{tab: sum(counts.by_kind.get(kind, 0) for kind in kinds) for tab, kinds in KINDS.items()},
            INBOX: counts.by_state.get("inbox", 0),
            FADING: len(await self._room.upkeep.fading()),
        }

    async def _described(self, memories: Sequence[Memory], why: Sequence[str]) -> list[Entry]:
        found = []
        for view, reason in zip(await self._room.knowledge.views(memories), why, strict=True):
            first = view.sources[0] if view.sources else None
            title, number = _made(view.memory), 0
            if first is not None:
                title = await self._origins.title(first.source.session_id)
                if first.message is not None:
                    number = await self._origins.number(first.message.session_id, first.message.id)
            found.append(
                Entry(
                    memory=view.memory,
                    title=title,
                    message=None if first is None else first.message,
                    number=number,
                    quote="" if first is None else first.source.quote,
                    half_life_days=view.half_life_days,
                    why=reason,
                )
            )
        return found

    async def _summaries(self, containing: str, limit: int) -> list[Entry]:
        found: list[Entry] = []
        for session in await self._room.sessions.recent(limit=_SESSIONS):
            made = await self._room.sessions.summaries(session.id)
            fitting = (one for one in made if one.merged_into is None and _holds(one.text, containing))
            found += [Entry(summary=one, title=session.title) for one in fitting]
            if len(found) >= limit:
                break
        return found[:limit]


def _made(memory: Memory) -> str:
    """Where a memory comes from that no message stands behind."""
    match memory.origin:
        case MemoryOrigin.PERSON:
            return OWN_WORDS
        case MemoryOrigin.CONSOLIDATION:
            return "merged"
        case MemoryOrigin.PATTERN | MemoryOrigin.MODEL:
            return ""


def _holds(text: str, containing: str) -> bool:
    folded = text.casefold()
    return all(word in folded for word in containing.casefold().split())
