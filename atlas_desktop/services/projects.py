"""Projects of a room, as the interfaces see them."""

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from atlas_desktop.services.cleaning import clean_line
from memory.clock import Clock
from memory.organising.entities import Project, ProjectDeleted
from memory.storage.store import Store

if TYPE_CHECKING:
    from memory.memories.entities import Memory

LONGEST = 100
"""Characters of a name."""


class ProjectEnds(Protocol):
    """Who is told that a project has ended, or goes on (`at` is None)."""

    async def end_project(self, project: str, at: datetime | None) -> "list[Memory]": ...


class ProjectService:
    """Of one room. A `ref` is a name in any capitals, an id or a unique prefix of one.

    Raises `ProjectNotFound`, `AmbiguousId`, `ProjectExists`.
    """

    def __init__(self, store: Store, knowledge: ProjectEnds, clock: Clock) -> None:
        self._projects = store.projects
        self._knowledge = knowledge
        self._clock = clock

    async def list(self, *, archived: bool | None = None) -> list[Project]:
        """By name; None: all, True: archived ones alone, False: the others."""
        return await self._projects.list(archived=archived)

    async def get(self, ref: str) -> Project:
        return await self._projects.get(ref)

    async def spelt(self, name: str) -> str | None:
        """How the project of this name, in any capitals, is written here; None when there is none."""
        known = [one.name for one in await self.list()]
        wanted = name.strip().casefold()
        return name if name in known else next((one for one in known if one.casefold() == wanted), None)

    async def create(self, name: str) -> Project:
        """Raises ValueError when the name is empty or too long."""
        return await self._projects.create(tidy_name(name))

    async def rename(self, ref: str, name: str) -> Project:
        """Raises ValueError when the name is empty or too long."""
        return await self._projects.rename(ref, tidy_name(name))

    async def archive(self, ref: str) -> Project:
        """Ends it: what is remembered of it goes some time after this, unless it is reopened.

        Cut short between the two steps, archiving it once more does the rest.
        """
        project = await self._projects.archive(ref)
        await self._knowledge.end_project(project.name, project.archived_at)
        return project

    async def reopen(self, ref: str) -> Project:
        project = await self._projects.reopen(ref)
        await self._knowledge.end_project(project.name, None)
        return project

    async def delete(self, ref: str, *, with_sessions: bool = False) -> ProjectDeleted:
        """Ends it and takes it away. Its sessions stay without one, or go to the bin."""
        project = await self._projects.get(ref)
        await self._knowledge.end_project(project.name, project.archived_at or self._clock.now())
        return await self._projects.delete(project.id, with_sessions=with_sessions)


def tidy_name(text: str) -> str:
    """One line of visible characters. Raises ValueError when there are none, or too many."""
    name = clean_line(text)
    if not name or len(name) > LONGEST:
        raise ValueError(f"a name has 1 to {LONGEST} characters")
    return name
