"""The value types of forgetting: what to erase, and what that affects."""

from dataclasses import dataclass, field
from datetime import datetime

from memory.entities import Erased


@dataclass(frozen=True, slots=True)
class Target:
    """What to forget.

    `messages`, `sessions`, `memories` and `ids` (of any of these or of documents) are ids or unique prefixes.
    In addition, everything that meets all given criteria is forgotten: of a project (by name), containing all
    words of `about` (whole words in any form; `word*` matches a prefix), from `since` on, `before` a moment.
    `everything` is the whole room.
    """

    ids: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()
    memories: tuple[str, ...] = ()
    project: str | None = None
    about: str = field(default="", repr=False)
    since: datetime | None = None
    before: datetime | None = None
    everything: bool = False

    @property
    def by_criteria(self) -> bool:
        return bool(self.project is not None or self.about.strip() or self.since or self.before)

    @property
    def empty(self) -> bool:
        named = self.ids or self.messages or self.sessions or self.memories
        return not (named or self.by_criteria or self.everything)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Something to be erased: its id, and the beginning of its title or text."""

    id: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Affected:
    """What a target erases, or erased: the counts, and the first items of each kind."""

    erased: Erased
    whole_sessions: int = 0
    sessions: tuple[Excerpt, ...] = ()
    messages: tuple[Excerpt, ...] = ()
    memories: tuple[Excerpt, ...] = ()
    documents: tuple[Excerpt, ...] = ()
    touched: tuple[str, ...] = ()
    """Sessions that lost content, in whole or in part."""
    notes: tuple[Excerpt, ...] = ()
