"""The finder: finds conversations, memories, notes, documents, skills and tasks by one text, kind by kind."""

from collections.abc import AsyncIterator, Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from atlas_desktop.services.search import FindingService
from memory.documents.entities import DocumentKind, DocumentMatch
from memory.memories.entities import FINDABLE, Memory, MemoryFilter
from memory.notes.entities import LinkKind
from memory.search.entities import All, ItemKind, OfKind, Order, Query, SessionHit, Snippet, Words
from memory.skills.entities import Skill
from memory.tasks.entities import Task

if TYPE_CHECKING:
    from atlas_desktop.services.desk import AppContext
    from atlas_desktop.services.room import RoomServices

Found: TypeAlias = SessionHit | Memory | DocumentMatch | Skill | Task


class FindKind(StrEnum):
    """The kinds of things in rooms that can be found, in the order in which they are searched."""

    CONVERSATION = "conversation"
    MEMORY = "memory"
    NOTE = "note"
    DOCUMENT = "document"
    SKILL = "skill"
    TASK = "task"


@dataclass(frozen=True, slots=True)
class Finds:
    """The results of one kind, best first. `more`: there are more of them."""

    kind: FindKind
    found: tuple[Found, ...]
    more: bool = False


_ITEMS = {FindKind.NOTE: ItemKind.NOTE, FindKind.DOCUMENT: ItemKind.DOCUMENT}


class Finder:
    """Searches all open rooms for conversations, notes and documents, and `room`, the one that is shown, for
    memories, skills and tasks."""

    def __init__(self, desk: "AppContext", room: "Callable[[], RoomServices]") -> None:
        self._desk = desk
        self._finding = FindingService(desk)
        self._room = room

    async def find(self, text: str, kinds: Collection[FindKind], *, limit: int) -> AsyncIterator[Finds]:
        """Yields at most `limit` of each kind, in the order of `FindKind`, each as soon as it is found.

        An empty text finds the latest. `text` is in the language of searches; memories, skills and tasks
        are found by words only. Raises `QueryUnclear`, `SavedSearchNotFound` and what the store raises.
        """
        query = (await self._finding.understand(text, typing=True)).query
        for kind in FindKind:
            if kind in kinds:
                yield await self._found(kind, query, limit)

    async def _found(self, kind: FindKind, query: Query, limit: int) -> Finds:
        if kind is FindKind.CONVERSATION:
            return await self._conversations(query, limit)
        if kind in _ITEMS:
            return await self._texts(kind, query, limit)
        words = plain_words(query)
        if words is None:
            return Finds(kind, ())
        if kind is FindKind.MEMORY:
            wanted = MemoryFilter(containing=words, states=FINDABLE)
            memories = await self._room().knowledge.select(wanted, limit=limit + 1)
            return Finds(kind, tuple(memories[:limit]), len(memories) > limit)
        found: list[Found]
        if kind is FindKind.TASK:
            found = [one for one in await self._room().tasks.list() if _holds(task_text(one), words)]
        else:
            found = [one for one in await self._room().skills.list() if _holds(_skill_text(one), words)]
        return Finds(kind, tuple(found[:limit]), len(found) > limit)

    async def _conversations(self, query: Query, limit: int) -> Finds:
        order = Order.RECENT if query.where is None else Order.BEST
        page = await self._finding.sessions(query, limit=limit, order=order, scattered=True)
        return Finds(FindKind.CONVERSATION, page.hits, page.next_offset is not None)

    async def _texts(self, kind: FindKind, query: Query, limit: int) -> Finds:
        if query.empty:
            query = Query(OfKind(_ITEMS[kind]))
        page = await self._finding.documents(query, kind=_ITEMS[kind], limit=limit, order=Order.BEST)
        found = list(page.hits[:limit])
        if kind is FindKind.NOTE and len(found) < limit and (words := plain_words(query)):
            found += await self._titled(words, limit - len(found), {one.document.id for one in found})
        return Finds(kind, tuple(found), page.more or page.total > limit)

    async def _titled(self, words: str, limit: int, known: Collection[str]) -> list[DocumentMatch]:
        """Returns notes by title: a note without text has no passages, so only its title can be found."""

        async def look(room: "RoomServices") -> list[DocumentMatch]:
            return [
                DocumentMatch(
                    await room.store.documents.get(one.id),
                    room.store.room,
                    Snippet(one.title),
                    kind=DocumentKind.NOTE,
                )
                for one in await room.notes.targets(words, limit=limit)
                if one.kind is LinkKind.NOTE and one.id not in known
            ]

        each: list[list[DocumentMatch]] = await self._desk.of_each(look, [])
        return [one for of_room in each for one in of_room][:limit]


def plain_words(query: Query) -> str | None:
    """Returns the words of a query; None if it also has other conditions."""
    parts = query.where.parts if isinstance(query.where, All) else (query.where,)
    if query.question or any(part is not None and not isinstance(part, Words) for part in parts):
        return None
    return " ".join(part.text for part in parts if isinstance(part, Words))


def _skill_text(skill: Skill) -> str:
    return f"{skill.name} {skill.description} {skill.body}"


def task_text(task: Task) -> str:
    """Returns a task's brief, and its report if it has one."""
    return task.brief if task.report is None else f"{task.brief}\n\n{task.report.text}"


def _holds(text: str, words: str) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words.casefold().split())
