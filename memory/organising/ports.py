"""What a room offers to keep its conversations in order."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Protocol

from memory.organising.entities import (
    Filed,
    MarksPatch,
    Merged,
    Organised,
    Project,
    ProjectDeleted,
    TagCount,
    TagSuggestion,
)


class OrganisingStore(Protocol):
    """Marks of many sessions at once, suggestions, and merging. Ids are full ones.

    Raises `SessionNotFound` for any session that is not there, with nothing changed, and as
    `memory.ports.SessionStore`. A call that has returned is durable.
    """

    async def apply(
        self, session_ids: Sequence[str], patch: MarksPatch, *, at: datetime | None = None
    ) -> list[Organised]:
        """Changes all of them in one transaction, and remembers it as the last change, if it changed any.

        `at` is when (now); what is changed in several rooms at one time is one change. A project that is not
        there is made. Memories that rest on a session alone follow it into its project.
        """
        ...

    async def put_back(self, changes: Sequence[Organised]) -> list[Organised]:
        """Undoes changes: every mark that still is as the change left it is again as it was before.

        Sessions that are gone are passed over. Returns what was changed.
        """
        ...

    async def last_changed(self) -> datetime | None:
        """When the change was made that `undo_last` would undo; None when there is none."""
        ...

    async def undo_last(self) -> list[Organised]:
        """As `put_back` for the last change, which is then no longer remembered; empty when there is none.

        Whatever is forgotten, erased or moved to another room takes what is remembered with it.
        """
        ...

    async def tags(self) -> list[TagCount]:
        """All tags in use outside the bin, the most used first."""
        ...

    async def suggest(self, session_id: str, scores: Mapping[str, float]) -> list[TagSuggestion]:
        """Puts these suggestions in place of the earlier ones; what was rejected, or is a tag of the session,
        is left out. Returns what stands now."""
        ...

    async def suggestions(self, session_id: str | None = None) -> list[TagSuggestion]:
        """What waits for an answer, of a session or of all outside the bin; the likeliest first."""
        ...

    async def reject(self, session_id: str, tags: Collection[str]) -> int:
        """These tags are not suggested for the session any more. Returns how many were waiting."""
        ...

    async def file(self, session_id: str, category: str) -> bool:
        """Sets a category that the program found. False, and nothing changes, when a person has decided."""
        ...

    async def release(self, session_id: str) -> None:
        """Lets the program decide on the category again, as if it never had looked."""
        ...

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
        ...

    async def to_file(self, *, limit: int = 100) -> list[str]:
        """Sessions with a reply that were never looked at for a category, the latest used first."""
        ...

    async def merge(self, session_id: str, others: Sequence[str]) -> Merged:
        """Appends the messages of other sessions, in the order given, below the end of one, with all that was
        made from them; the others are emptied and go to the bin. `restore_session` of one takes its messages
        out again. Raises `CannotMerge`."""
        ...


class ProjectStore(Protocol):
    """The projects of one room. A `ref` is a name, in any capitals, an id or a unique prefix of one.

    Raises `ProjectNotFound`, `AmbiguousId`, and as `memory.ports.SessionStore`. A call that has returned is
    durable.
    """

    async def list(self, *, archived: bool | None = None) -> list[Project]:
        """By name; None: all, True: archived ones alone, False: the others."""
        ...

    async def get(self, ref: str) -> Project: ...

    async def create(self, name: str) -> Project:
        """Raises `ProjectExists`."""
        ...

    async def rename(self, ref: str, name: str) -> Project:
        """Raises `ProjectExists`, unless it is the project's own name in other capitals."""
        ...

    async def archive(self, ref: str) -> Project:
        """One that is archived stays as it is."""
        ...

    async def reopen(self, ref: str) -> Project: ...

    async def delete(self, ref: str, *, with_sessions: bool = False) -> ProjectDeleted:
        """Its sessions and memories stay, without one; `with_sessions` moves the sessions to the bin."""
        ...
