"""Project operations of a room, for the interfaces."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from atlas_desktop.services.cleaning import clean, clean_line
from memory.clock import Clock
from memory.errors import PersonaNotFound
from memory.memories.entities import Unset
from memory.organising import Project, ProjectContents, ProjectDeleted, ProjectPatch
from memory.personas import Persona
from memory.storage.store import Store

if TYPE_CHECKING:
    from atlas_desktop.services.memories import ProjectLifetime
    from memory.entities import MemoryMode
    from memory.memories.entities import Memory

LONGEST = 100
"""Maximum characters of a name."""
LONGEST_INSTRUCTIONS = 20_000
"""Maximum characters of a project's instructions."""


class ProjectMemories(Protocol):
    """The operations on the room's memories that projects need."""

    async def end_project(self, project: str, at: datetime | None) -> "list[Memory]":
        """Called when a project has ended, or continues (`at` is None)."""
        ...

    async def lifetime(
        self, project: str, archived_at: datetime | None, *, preview: bool = False
    ) -> "ProjectLifetime":
        """Returns what expires in a project that was archived at this time (None: it is open); with
        `preview`, what would if it were."""
        ...


@dataclass(frozen=True, slots=True)
class ProjectPage:
    """A project with counts of its contents, and how long its memories last."""

    project: Project
    contents: ProjectContents
    lifetime: "ProjectLifetime"


@dataclass(frozen=True, slots=True)
class ProjectDefaults:
    """The defaults of a new session in a project; None uses the room's."""

    persona: Persona | None = None
    model: str | None = None
    memory_mode: "MemoryMode | None" = None

    @property
    def any(self) -> bool:
        return self != ProjectDefaults()


class ProjectService:
    """The projects of one room. A `ref` is a name in any case, an id or a unique prefix of one.

    Raises `ProjectNotFound`, `AmbiguousId`, `ProjectExists`.
    """

    def __init__(self, store: Store, knowledge: ProjectMemories, clock: Clock) -> None:
        self._projects = store.projects
        self._personas = store.personas
        self._knowledge = knowledge
        self._clock = clock

    async def list(self, *, archived: bool | None = None) -> list[Project]:
        """Returns projects by name; with `archived`, only the archived ones (True) or the others (False)."""
        return await self._projects.list(archived=archived)

    async def get(self, ref: str) -> Project:
        return await self._projects.get(ref)

    async def page(self, ref: str) -> ProjectPage:
        """Returns everything known about a project."""
        project = await self._projects.get(ref)
        return ProjectPage(
            project,
            await self._projects.contents(project.id),
            await self._knowledge.lifetime(project.name, project.archived_at),
        )

    async def spelt(self, name: str) -> str | None:
        """Returns this room's spelling of a project name given in any case; None when there is no such
        project."""
        known = [one.name for one in await self.list()]
        wanted = name.strip().casefold()
        return name if name in known else next((one for one in known if one.casefold() == wanted), None)

    async def create(self, name: str) -> Project:
        """Creates a project. Raises ValueError when the name is empty or too long."""
        return await self._projects.create(tidy_name(name))

    async def rename(self, ref: str, name: str) -> Project:
        """Renames a project. Raises ValueError when the name is empty or too long."""
        return await self._projects.rename(ref, tidy_name(name))

    # --- settings ---------------------------------------------------------------------------------

    async def change(self, ref: str, patch: ProjectPatch) -> Project:
        """Changes a project's settings; `persona` may be a name.

        Instructions apply to all of its sessions from their next message, defaults only to new ones. Raises
        ValueError when the instructions are too long, and `PersonaNotFound`.
        """
        if patch.instructions is not None:
            text = clean(patch.instructions).strip()
            if len(text) > LONGEST_INSTRUCTIONS:
                raise ValueError(f"instructions have at most {LONGEST_INSTRUCTIONS} characters")
            patch = replace(patch, instructions=text)
        if not isinstance(patch.persona, Unset) and patch.persona is not None:
            patch = replace(patch, persona=(await self._personas.persona(patch.persona)).id)
        if patch == ProjectPatch():
            return await self._projects.get(ref)
        return await self._projects.change(ref, patch)

    async def defaults(self, name: str) -> ProjectDefaults:
        """Returns the defaults of a new session in the project; empty if there is no such project."""
        spelt = await self.spelt(name)
        if spelt is None:
            return ProjectDefaults()
        settings = (await self._projects.get(spelt)).settings
        persona = None
        if settings.persona is not None:
            try:
                persona = await self._personas.persona(settings.persona)
            except PersonaNotFound:
                # The persona was removed between the two reads, so there is no default.
                persona = None
        return ProjectDefaults(persona, settings.model, settings.memory_mode)

    # --- lifetime ---------------------------------------------------------------------------------

    async def preview_archive(self, ref: str) -> ProjectPage:
        """Returns the page as it would be if the project were archived now; changes nothing."""
        project = await self._projects.get(ref)
        at = project.archived_at or self._clock.now()
        return ProjectPage(
            project,
            await self._projects.contents(project.id),
            await self._knowledge.lifetime(project.name, at, preview=True),
        )

    async def archive(self, ref: str) -> Project:
        """Archives a project: its memories expire some time after this, unless it is reopened.

        If it is interrupted between its two steps, archiving again completes it.
        """
        project = await self._projects.archive(ref)
        await self._knowledge.end_project(project.name, project.archived_at)
        return project

    async def reopen(self, ref: str) -> Project:
        project = await self._projects.reopen(ref)
        await self._knowledge.end_project(project.name, None)
        return project

    async def delete(self, ref: str, *, with_sessions: bool = False) -> ProjectDeleted:
        """Ends and deletes a project. Its sessions lose their project, or are moved to the bin."""
        project = await self._projects.get(ref)
        await self._knowledge.end_project(project.name, project.archived_at or self._clock.now())
        return await self._projects.delete(project.id, with_sessions=with_sessions)


def tidy_name(text: str) -> str:
    """Returns one line of visible characters. Raises ValueError when it is empty or too long."""
    name = clean_line(text)
    if not name or len(name) > LONGEST:
        raise ValueError(f"a name has 1 to {LONGEST} characters")
    return name
