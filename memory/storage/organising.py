"""What the sessions of one room are kept in order by: marks, projects, links."""

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
    ProjectDeleted,
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
    """Marks of many sessions at once, suggestions, and merging. Ids are full ones.

    Raises `SessionNotFound` for any session that is not there, with nothing changed, and as
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

        `at` is when (now); what is changed in several rooms at one time is one change. A project that is not
        there is made. Memories that rest on a session alone follow it into its project.
        """
        now = at or self._clock.now()
        return await self._database.write(lambda conn: organising.apply(conn, session_ids, patch, now))

    async def put_back(self, changes: Sequence[Organised]) -> list[Organised]:
        """Undoes changes: every mark that still is as the change left it is again as it was before.

        Sessions that are gone are passed over. Returns what was changed.
        """
        now = self._clock.now()
        return await self._database.write(lambda conn: organising.put_back(conn, changes, now))

    async def last_changed(self) -> datetime | None:
        """When the change was made that `undo_last` would undo; None when there is none."""
        return await self._database.read(last_change.when)

    async def undo_last(self) -> list[Organised]:
        """As `put_back` for the last change, which is then no longer remembered; empty when there is none.

        Whatever is forgotten, erased or moved to another room takes what is remembered with it.
        """
        now = self._clock.now()
        return await self._database.write(lambda conn: organising.undo_last(conn, now))

    async def tags(self) -> list[TagCount]:
        """All tags in use outside the bin, the most used first."""
        return await self._database.read(organising.tags)

    async def suggest(self, session_id: str, scores: Mapping[str, float]) -> list[TagSuggestion]:
        """Puts these suggestions in place of the earlier ones; what was rejected, or is a tag of the session,
        is left out. Returns what stands now."""
        return await self._database.write(lambda conn: organising.suggest(conn, session_id, scores))

    async def suggestions(self, session_id: str | None = None) -> list[TagSuggestion]:
        """What waits for an answer, of a session or of all outside the bin; the likeliest first."""
        return await self._database.read(lambda conn: organising.suggestions(conn, session_id))

    async def reject(self, session_id: str, tags: Collection[str]) -> int:
        """These tags are not suggested for the session any more. Returns how many were waiting."""
        return await self._database.write(lambda conn: organising.reject(conn, session_id, tags))

    async def file(self, session_id: str, category: str) -> bool:
        """Sets a category that the program found. False, and nothing changes, when a person has decided."""
        return await self._database.write(lambda conn: organising.file(conn, session_id, category))

    async def release(self, session_id: str) -> None:
        """Lets the program decide on the category again, as if it never had looked."""
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
        """What there is to go by, of these sessions or of the latest ones (`tagged`: those with tags),
        outside the bin and where memory may be used. `model` is the fingerprint of the vectors,
        of which the earliest `depth` of each session are taken; so
        many of the person's `messages` are."""
        page = organising.Page(limit, offset, depth, messages)
        return await self._reader.read(
            lambda conn: organising.filed(conn, model, session_ids, page, tagged=tagged)
        )

    async def to_file(self, *, limit: int = 100) -> list[str]:
        """Sessions with a reply that were never looked at for a category, the latest used first."""
        return await self._database.read(lambda conn: organising.to_file(conn, limit))

    async def merge(self, session_id: str, others: Sequence[str]) -> Merged:
        """Appends the messages of other sessions, in the order given, below the end of one, with all that was
        made from them; the others are emptied and go to the bin. `restore_session` of one takes its messages
        out again. Raises `CannotMerge`."""
        now = self._clock.now()
        return await self._database.write(lambda conn: merging.merge(conn, session_id, others, now))


class ProjectStore:
    """The projects of one room. A `ref` is a name, in any capitals, an id or a unique prefix of one.

    Raises `ProjectNotFound`, `AmbiguousId`, and as `Store`. A call that has returned is
    durable.
    """

    def __init__(self, database: Database, room: RoomKind, clock: Clock) -> None:
        self._database = database
        self._room = room
        self._clock = clock

    async def list(self, *, archived: bool | None = None) -> list[Project]:
        """By name; None: all, True: archived ones alone, False: the others."""
        return await self._database.read(lambda conn: projects.select(conn, self._room, archived))

    async def get(self, ref: str) -> Project:
        return await self._database.read(lambda conn: projects.get(conn, resolve(conn, ref), self._room))

    async def create(self, name: str) -> Project:
        """Raises `ProjectExists`."""
        now = self._clock.now()
        return await self._database.write(
            lambda conn: projects.get(conn, projects.create(conn, name, now), self._room)
        )

    async def rename(self, ref: str, name: str) -> Project:
        """Raises `ProjectExists`, unless it is the project's own name in other capitals."""
        return await self._database.write(
            lambda conn: projects.get(conn, projects.rename(conn, ref, name), self._room)
        )

    async def archive(self, ref: str) -> Project:
        """One that is archived stays as it is."""
        now = self._clock.now()
        return await self._database.write(
            lambda conn: projects.get(conn, projects.set_archived(conn, ref, now), self._room)
        )

    async def reopen(self, ref: str) -> Project:
        return await self._database.write(
            lambda conn: projects.get(conn, projects.set_archived(conn, ref, None), self._room)
        )

    async def delete(self, ref: str, *, with_sessions: bool = False) -> ProjectDeleted:
        """Its sessions and memories stay, without one; `with_sessions` moves the sessions to the bin."""
        now = self._clock.now()

        def work(conn: Connection) -> ProjectDeleted:
            return projects.delete(conn, ref, self._room, now, binned=with_sessions)

        return await self._database.write(work)


class LinkStore:
    """The links of one room; what is in the bin is passed over. Raises as `Store`."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def shared(self, session_id: str) -> list[SharedMemory]:
        """Memories that the session has in common with others, by the other session and by age."""
        return await self._database.read(lambda conn: organising.shared_memories(conn, session_id))

    async def backlinks(self, memory_id: str) -> list[Backlink]:
        """Where a memory was learned, then where it served; each the earliest first."""
        return await self._database.read(lambda conn: organising.backlinks(conn, memory_id))
