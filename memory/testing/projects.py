"""`memory.organising.ports.ProjectStore` in memory. A project that a session names is there."""

from dataclasses import replace

from memory.errors import AmbiguousId, ProjectExists, ProjectNotFound
from memory.organising.entities import Project, ProjectDeleted
from memory.ports import Clock
from memory.storage.connection import fold
from memory.storage.values import id_range, new_id, storable
from memory.testing.rows import Rows


class InMemoryProjectStore:
    def __init__(self, rows: Rows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._own: dict[str, Project] = {}

    async def list(self, *, archived: bool | None = None) -> list[Project]:
        self._rows.require_open()
        found = [self._counted(one) for one in self._known().values()]
        found = [one for one in found if archived is None or archived == (one.archived_at is not None)]
        return sorted(found, key=lambda one: (fold(one.name), one.id))

    async def get(self, ref: str) -> Project:
        self._rows.require_open()
        return self._counted(self._resolve(ref))

    async def create(self, name: str) -> Project:
        self._rows.require_open()
        if (found := self._named(name)) is not None:
            raise ProjectExists(found.id)
        return self._counted(self._add(storable(name)))

    async def rename(self, ref: str, name: str) -> Project:
        self._rows.require_open()
        own = self._resolve(ref)
        taken = self._named(name)
        if taken is not None and taken.id != own.id:
            raise ProjectExists(taken.id)
        self._own[own.id] = replace(own, name=storable(name))
        for session in list(self._rows.sessions.values()):
            if session.project == own.name:
                self._rows.keep(replace(session, project=storable(name)))
        for memory in list(self._rows.memories.values()):
            if memory.project == own.name:
                self._rows.memories[memory.id] = replace(memory, project=storable(name))
        return self._counted(self._own[own.id])

    async def archive(self, ref: str) -> Project:
        self._rows.require_open()
        own = self._resolve(ref)
        self._own[own.id] = replace(own, archived_at=own.archived_at or self._clock.now())
        return self._counted(self._own[own.id])

    async def reopen(self, ref: str) -> Project:
        self._rows.require_open()
        own = self._resolve(ref)
        self._own[own.id] = replace(own, archived_at=None)
        return self._counted(self._own[own.id])

    async def delete(self, ref: str, *, with_sessions: bool = False) -> ProjectDeleted:
        self._rows.require_open()
        own = self._counted(self._resolve(ref))
        held = [one for one in self._rows.sessions.values() if one.project == own.name]
        shown = sorted(one.id for one in held if one.deleted_at is None)
        now = self._clock.now()
        for session in held:
            gone = session.deleted_at or (now if with_sessions else None)
            self._rows.keep(replace(session, project=None, deleted_at=gone))
        known = [one for one in self._rows.memories.values() if one.project == own.name]
        for memory in known:
            self._rows.memories[memory.id] = replace(memory, project=None)
        del self._own[own.id]
        return ProjectDeleted(own, tuple(shown), len(known), with_sessions)

    def spelt(self, name: str) -> str:
        """A project's name as it is written here, whatever its capitals."""
        found = self._named(name)
        return name if found is None else found.name

    def _known(self) -> dict[str, Project]:
        named = [one.project for one in self._rows.sessions.values()]
        named += [one.project for one in self._rows.memories.values()]
        for name in dict.fromkeys(named):
            if name is not None and all(one.name != name for one in self._own.values()):
                self._add(name)
        return self._own

    def _add(self, name: str) -> Project:
        made = Project(new_id(), name, self._rows.room, self._clock.now())
        self._own[made.id] = made
        return made

    def _named(self, name: str) -> Project | None:
        wanted = fold(storable(name))
        return next((one for one in self._known().values() if fold(one.name) == wanted), None)

    def _resolve(self, ref: str) -> Project:
        if (named := self._named(ref.strip())) is not None:
            return named
        span = id_range(ref)
        found = [one for one in self._own.values() if span is not None and span[0] <= one.id <= span[1]]
        if len(found) != 1:
            raise AmbiguousId(ref, len(found)) if found else ProjectNotFound(ref)
        return found[0]

    def _counted(self, project: Project) -> Project:
        own = [
            one
            for one in self._rows.sessions.values()
            if one.project == project.name and one.deleted_at is None
        ]
        known = [
            one
            for one in self._rows.memories.values()
            if one.project == project.name and one.state in ("inbox", "kept")
        ]
        return replace(
            project,
            sessions=len(own),
            messages=sum(one.message_count for one in own),
            memories=len(known),
            used_at=max((one.updated_at for one in own), default=None),
        )
