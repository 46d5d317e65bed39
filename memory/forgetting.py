"""The value types of forgetting: what to erase, what that affects, and its receipt."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

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


class ChosenBy(StrEnum):
    """How it was said what to forget. words: everything with certain words; time: everything of a time."""

    ITEMS = "items"
    WORDS = "words"
    PROJECT = "project"
    TIME = "time"
    EVERYTHING = "everything"


def chosen_by(target: Target) -> ChosenBy:
    """Returns how a target is chosen, by its widest part."""
    for holds, by in (
        (target.everything, ChosenBy.EVERYTHING),
        (target.about.strip(), ChosenBy.WORDS),
        (target.project is not None, ChosenBy.PROJECT),
        (target.since or target.before, ChosenBy.TIME),
    ):
        if holds:
            return by
    return ChosenBy.ITEMS


@dataclass(frozen=True, slots=True)
class NewReceipt:
    """What was forgotten, without anything of it. `counts`: how much, by kind; `cleared`: where else the text
    was, by kind; `rewritten`: summaries that were made again; `verified`: nothing was found afterwards."""

    chosen_by: ChosenBy
    counts: Mapping[str, int]
    cleared: Mapping[str, int]
    rewritten: int
    verified: bool


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """A receipt as it is kept."""

    id: str
    forgotten_at: datetime
    what: NewReceipt


def counts(erased: Erased, snapshots: int = 0) -> dict[str, int]:
    """Returns how much was erased, by kind. `snapshots` are saved states of the model."""
    return {
        "messages": erased.messages,
        "summaries": erased.summaries,
        "memories": erased.memories,
        "documents": erased.documents,
        "notes": erased.notes,
        "chunks": erased.chunks,
        "vectors": erased.vectors,
        "fulltext": erased.full_text,
        "snapshots": snapshots,
        "jobs": erased.jobs,
    }


def places(erased: Erased) -> dict[str, int]:
    """Returns where else the text was, by kind."""
    return dict(sorted(Counter(erased.places).items()))
