"""The seams of recall: what it offers to the making of prompts, and what it needs of a room."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Protocol

from memory.recall.entities import (
    Entry,
    EntryChanges,
    FoundNote,
    Hit,
    Note,
    Posting,
    QueryVector,
    Recalled,
    SessionEntry,
    Text,
    Wording,
)

KINDS = frozenset({"message"})
"""Kinds of hits that are looked for when none are named."""
NOTES = frozenset({"memory", "summary"})
"""Kinds whose texts stand by themselves."""


class Recall(Protocol):
    """Finds what was said before. Raises as `memory.ports.SessionStore`."""

    async def recall(
        self,
        query: str,
        *,
        k: int = 10,
        kinds: Collection[str] = KINDS,
        session: str | None = None,
        project: str | None = None,
        exclude_messages: Collection[str] = (),
        exclude_sessions: Collection[str] = (),
        since: datetime | None = None,
        before: datetime | None = None,
        now: datetime | None = None,
        widen: bool = False,
        recent_first: bool = False,
    ) -> list[Hit]:
        """At most `k` hits, best first.

        `session` looks in that session alone, `project` in the sessions of a project; `widen` sets the
        project aside when it holds less than `k`. Sessions that add nothing to memory are found
        only when named. What is in `exclude_messages` or `exclude_sessions` is not found, but still
        speaks for its neighbours. Expressions of time in the query are understood relative to `now`.
        `recent_first` looks through what was said in the last hours first, and through nothing else when that
        holds what is asked for: it needs no embedding then.
        """
        ...

    async def answer(
        self,
        query: str,
        *,
        k: int = 10,
        kinds: Collection[str] = KINDS,
        session: str | None = None,
        project: str | None = None,
        exclude_messages: Collection[str] = (),
        exclude_sessions: Collection[str] = (),
        since: datetime | None = None,
        before: datetime | None = None,
        now: datetime | None = None,
        widen: bool = False,
        recent_first: bool = False,
    ) -> Recalled:
        """As `recall`, with what it took."""
        ...


class QueryVectors(Protocol):
    """Embeds questions."""

    async def vector(self, text: str) -> QueryVector | None:
        """None while there is no embedding model that works."""
        ...


class FixedTexts(Protocol):
    """Keeps what was computed from texts that the program brings itself: it says nothing of the room. Raises
    as `memory.ports.SessionStore`."""

    async def fixed(self, name: str) -> str | None:
        """What was kept last by this name."""
        ...

    async def keep_fixed(self, name: str, value: str) -> None: ...


class EvidenceStore(FixedTexts, Protocol):
    """What recall reads of one room. Raises as `memory.ports.SessionStore`."""

    async def entries(self, *, after: int = 0, limit: int = 5000) -> list[Entry]:
        """Finished messages in the order of storing, from the first `seq` greater than `after`."""
        ...

    async def entries_of(self, seqs: Collection[int]) -> list[Entry]:
        """Those that are there and finished."""
        ...

    async def wordings(self, seqs: Collection[int]) -> list[Wording]:
        """Of those that are there and finished. Each text is read and searched: ask for what you need."""
        ...

    async def session_entries(self, ids: Collection[str] | None = None) -> list[SessionEntry]:
        """Of these sessions, or of all."""
        ...

    async def changes(self, since: int | None) -> EntryChanges:
        """What was written since a version; None begins to listen and reports nothing."""
        ...

    async def notes(self, kind: str, *, after: int = 0, limit: int = 1000) -> list[Note]:
        """Memories in a state in which they can be found, or summaries that are not out of date, in the order
        of storing, from the first `seq` greater than `after`."""
        ...

    async def notes_of(self, ids: Collection[str]) -> list[Note]:
        """Those of both kinds that are there and may be found."""
        ...

    async def notes_matching(self, query: str, *, kinds: Collection[str], limit: int) -> list[FoundNote]:
        """Memories and summaries that hold every word, "phrase" and beginning* of `query`, best first; not
        those of sessions in the bin. Raises `BadQuery`."""
        ...

    async def stems_of(self, texts: Sequence[str]) -> list[list[str]]:
        """The words of each text as `stems` has them, repeated ones as often as they occur."""
        ...

    async def stems(self, text: str) -> list[str]:
        """The words of `text` as the index knows them, in their order, repeated ones once."""
        ...

    async def postings(self, terms: Sequence[str], *, at_most: int) -> list[Posting]:
        """Where each of these stems occurs; those in more than `at_most` messages are left out."""
        ...

    async def texts(self, seqs: Sequence[int]) -> list[Text]:
        """In the order asked for; those that are gone are left out."""
        ...
