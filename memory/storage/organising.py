"""How the sessions of one room are organised: marks, projects, links."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from memory.clock import Clock
from memory.entities import RoomKind
from memory.organising.entities import (
    Backlink,
    Filed,
    MarksPatch,
    Merged,
    Organised,
    Project,
    ProjectContents,
    ProjectDeleted,
    ProjectPatch,
    SharedMemory,
    TagCount,
    TagSuggestion,
)
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import last_change, merging, organising, projects
from memory.storage.queries.projects import resolve
from memory.storage.reader import Reader


class OrganisingStore:
    """Marks of many sessions at once, suggestions, and merging. Ids must be complete.

    Raises `SessionNotFound` for any session that does not exist, with nothing changed, and the errors of
    `Store`. A call that has returned is durable.
    """

    def __init__(self, database: Database, clock: Clock, reader: Database | Reader) -> None:
        self._database = database
        self._reader = reader
        self._clock = clock

    async def apply(
        self, session_ids: Sequence[str], patch: MarksPatch, *, at: datetime | None = None
    ) -> list[Organised]:
        """Changes all of them in one transaction, and remembers it as the last change, if it changed any.

        `at` is the time of the change (default: now); changes in several rooms at one time are one change. A
        project that does not exist is created. Memories that rest on a session alone follow it into its
        project.
        """
        now = at or self._clock.now()
        return await self._database.write(lambda conn: organising.apply(conn, session_ids, patch, now))

    async def put_back(self, changes: Sequence[Organised]) -> list[Organised]:
        """Undoes changes: every mark that is still as the change left it is restored.

        Sessions that no longer exist are skipped. Returns what was changed.
        """
        now = self._clock.now()
        return await self._database.write(lambda conn: organising.put_back(conn, changes, now))

    async def last_changed(self) -> datetime | None:
        """Returns when the change was made that `undo_last` would undo; None when there is none."""
        return await self._database.read(last_change.when)

    async def undo_last(self) -> list[Organised]:
        """Like `put_back` for the last change, which is then no longer remembered; empty when there is none.

        Whatever is forgotten, erased or moved to another room is also removed from the remembered change.
        """
        now = self._clock.now()
        return await self._database.write(lambda conn: organising.undo_last(conn, now))

    async def tags(self) -> list[TagCount]:
        """Returns all tags in use outside the bin, most used first."""
        return await self._database.read(organising.tags)

    async def suggest(self, session_id: str, scores: Mapping[str, float]) -> list[TagSuggestion]:
        """Replaces the session's suggestions by these, without rejected tags and those it already has.
        Returns the present suggestions."""
        return await self._database.write(lambda conn: organising.suggest(conn, session_id, scores))

    async def suggestions(self, session_id: str | None = None) -> list[TagSuggestion]:
        """Returns the open suggestions of a session or of all outside the bin, likeliest first."""
        return await self._database.read(lambda conn: organising.suggestions(conn, session_id))

    async def reject(self, session_id: str, tags: Collection[str]) -> int:
        """Stops suggesting these tags for the session. Returns how many were waiting."""
        return await self._database.write(lambda conn: organising.reject(conn, session_id, tags))

    async def file(self, session_id: str, category: str) -> bool:
        """Sets a category that the program found. Returns False, without a change, when the user has
        decided."""
        return await self._database.write(lambda conn: organising.file(conn, session_id, category))

    async def release(self, session_id: str) -> None:
        """Lets the program decide on the category again, as if it had never examined the session."""
        await self._database.write(lambda conn: organising.release(conn, session_id))

    async def filed(
        self,
        model: str | None,
        *,
        session_ids: Collection[str] | None = None,
        tagged: bool = False,
        limit: int = 1000,
        offset: int = 0,
        depth: int = 24,
        messages: int = 4,
    ) -> list[Filed]:
        """Returns the data for filing these sessions or the latest ones (`tagged`: those with tags), outside
        the bin and where memory may be used. `model` is the fingerprint of the vectors, of which the earliest
        `depth` of each session are used. `messages` is how many of the user's messages are included."""
        page = organising.Page(limit, offset, depth, messages)
        return await self._reader.read(
            lambda conn: organising.filed(conn, model, session_ids, page, tagged=tagged)
        )

    async def to_file(self, *, limit: int = 100) -> list[str]:
        """Returns sessions with a reply that were never examined for a category, latest used first."""
        return await self._database.read(lambda conn: organising.to_file(conn, limit))

    async def merge(self, session_id: str, others: Sequence[str]) -> Merged:
        """Appends the messages of other sessions, in the order given, after the end of one, with all that was
        made from them. The others are emptied and moved to the bin. `restore_session` of one removes its
        messages again. Raises `CannotMerge`."""
        now = self._clock.now()
        return await self._database.write(lambda conn: merging.merge(conn, session_id, others, now))


class ProjectStore:
    """The projects of one room. A `ref` is a name (in any case), an id or a unique prefix of one.

    Raises `ProjectNotFound`, `AmbiguousId`, and the errors of `Store`. A call that has returned is durable.
    """

    def __init__(self, database: Database, room: RoomKind, clock: Clock) -> None:
        self._database = database
        self._room = room
        self._clock = clock

    async def list(self, *, archived: bool | None = None) -> list[Project]:
        """Returns projects by name; None: all, True: only archived ones, False: the others."""
        return await self._database.read(lambda conn: projects.select(conn, self._room, archived))

    async def get(self, ref: str) -> Project:
        return await self._database.read(lambda conn: projects.get(conn, resolve(conn, ref), self._room))

    async def create(self, name: str) -> Project:
        """Creates a project. Raises `ProjectExists`."""
        now = self._clock.now()
        return await self._database.write(
            lambda conn: projects.get(conn, projects.create(conn, name, now), self._room)
        )

    async def rename(self, ref: str, name: str) -> Project:
        """Renames a project. Raises `ProjectExists`, unless it is the project's own name in another case."""
        return await self._database.write(
            lambda conn: projects.get(conn, projects.rename(conn, ref, name), self._room)
        )

    async def archive(self, ref: str) -> Project:
        """Archives a project; one that is archived already is not changed."""
        now = self._clock.now()
        return await self._database.write(
            lambda conn: projects.get(conn, projects.set_archived(conn, ref, now), self._room)
        )

    async def reopen(self, ref: str) -> Project:
        return await self._database.write(
            lambda conn: projects.get(conn, projects.set_archived(conn, ref, None), self._room)
        )

    async def change(self, ref: str, patch: ProjectPatch) -> Project:
        """Changes a project's settings. One that becomes isolated takes along the memories of no project that
        were learned only in its sessions; one that is not isolated any more releases them."""
        now = self._clock.now()

        def work(conn: Connection) -> Project:
            return projects.get(conn, projects.change(conn, ref, patch, now), self._room)

        return await self._database.write(work)

    async def contents(self, ref: str) -> ProjectContents:
        """Returns how much belongs to a project."""
        return await self._database.read(lambda conn: projects.contents(conn, ref))

    async def instructions(self, name: str) -> str:
        """Returns the instructions of the project of that name; "" if there is none."""
        return await self._database.read(lambda conn: projects.instructions(conn, name))

    async def isolated(self) -> frozenset[str]:
        """Returns the names of the projects that keep to themselves."""
        return await self._database.read(projects.isolated)

    async def delete(self, ref: str, *, with_sessions: bool = False) -> ProjectDeleted:
        """Deletes a project. Its sessions and memories stay, without a project; `with_sessions` moves the
        sessions to the bin."""
        now = self._clock.now()

        def work(conn: Connection) -> ProjectDeleted:
            return projects.delete(conn, ref, self._room, now, binned=with_sessions)

        return await self._database.write(work)


class LinkStore:
    """The links of one room; content of the bin is ignored. Raises the errors of `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def shared(self, session_id: str) -> list[SharedMemory]:
        """Returns memories that the session shares with others, by the other session and by age."""
        return await self._database.read(lambda conn: organising.shared_memories(conn, session_id))

    async def backlinks(self, memory_id: str) -> list[Backlink]:
        """Returns where a memory was learned, then where it was used; each earliest first."""
        return await self._database.read(lambda conn: organising.backlinks(conn, memory_id))
