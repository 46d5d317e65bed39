"""Project operations of a room, for the interfaces."""

from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from atlas_desktop.services.cleaning import clean_line
from memory.clock import Clock
from memory.organising.entities import Project, ProjectDeleted
from memory.storage.store import Store

if TYPE_CHECKING:
    from memory.memories.entities import Memory

LONGEST = 100
"""Maximum characters of a name."""


class ProjectEnds(Protocol):
    """Called when a project has ended, or continues (`at` is None)."""

    async def end_project(self, project: str, at: datetime | None) -> "list[Memory]": ...


class ProjectService:
    """The projects of one room. A `ref` is a name in any case, an id or a unique prefix of one.

    Raises `ProjectNotFound`, `AmbiguousId`, `ProjectExists`.
    """

    def __init__(self, store: Store, knowledge: ProjectEnds, clock: Clock) -> None:
        self._projects = store.projects
        self._knowledge = knowledge
        self._clock = clock

    async def list(self, *, archived: bool | None = None) -> list[Project]:
        """Returns projects by name; with `archived`, only the archived ones (True) or the others (False)."""
        return await self._projects.list(archived=archived)

    async def get(self, ref: str) -> Project:
        return await self._projects.get(ref)

    async def spelt(self, name: str) -> str | None:
        """Returns the spelling here of a project name in any case; None when there is no such project."""
        known = [one.name for one in await self.list()]
        wanted = name.strip().casefold()
        return name if name in known else next((one for one in known if one.casefold() == wanted), None)

    async def create(self, name: str) -> Project:
        """Creates a project. Raises ValueError when the name is empty or too long."""
        return await self._projects.create(tidy_name(name))

    async def rename(self, ref: str, name: str) -> Project:
        """Renames a project. Raises ValueError when the name is empty or too long."""
        return await self._projects.rename(ref, tidy_name(name))

    async def archive(self, ref: str) -> Project:
        """Archives a project: its memories expire some time after this, unless it is reopened.

        If this is interrupted between the two steps, archiving it again does the rest.
        """
        project = await self._projects.archive(ref)
        await self._knowledge.end_project(project.name, project.archived_at)
        return project

    async def reopen(self, ref: str) -> Project:
        project = await self._projects.reopen(ref)
        await self._knowledge.end_project(project.name, None)
        return project

    async def delete(self, ref: str, *, with_sessions: bool = False) -> ProjectDeleted:
        """Ends and deletes a project. Its sessions stay without one, or are moved to the bin."""
        project = await self._projects.get(ref)
        await self._knowledge.end_project(project.name, project.archived_at or self._clock.now())
        return await self._projects.delete(project.id, with_sessions=with_sessions)


def tidy_name(text: str) -> str:
    """Returns one line of visible characters. Raises ValueError when it is empty or too long."""
    name = clean_line(text)
    if not name or len(name) > LONGEST:
        raise ValueError(f"a name has 1 to {LONGEST} characters")
    return name
