"""The seams of recall: what it offers to the making of prompts, and what it is given."""

from collections.abc import Collection
from datetime import datetime
from typing import Protocol

from memory.recall.entities import (
    Hit,
    QueryVector,
    Recalled,
)

KINDS = frozenset({"message"})
"""Kinds of hits that are looked for when none are named."""
NOTES = frozenset({"memory", "summary"})
"""Kinds whose texts stand by themselves."""


class Recall(Protocol):
    """Finds what was said before. Raises as `Store`."""

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
    as `Store`."""

    async def fixed(self, name: str) -> str | None:
        """What was kept last by this name."""
        ...

    async def keep_fixed(self, name: str, value: str) -> None: ...
