"""Search queries as trees of conditions, and their results. Independent of how they are executed."""

import dataclasses
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Generic, TypeAlias, TypeVar

from memory.entities import Message, Session
from models.messages import Role

H = TypeVar("H")

# --- conditions ------------------------------------------------------------------------------------


class Field(StrEnum):
    """Conditions that take a name."""

    TAG = "tag"
    PROJECT = "project"
    MODEL = "model"
    CATEGORY = "category"


class Mark(StrEnum):
    """The marks of a session or a message. `partial` is a reply that was cut off or failed."""

    STARRED = "starred"
    IMPORTANT = "important"
    PARTIAL = "partial"
    PRIVATE = "private"
    ARCHIVED = "archived"
    PINNED = "pinned"


class Thing(StrEnum):
    """What a message or its session can have."""

    CODE = "code"
    ATTACHMENT = "attachment"
    MEMORY = "memory"


class ItemKind(StrEnum):
    """The kinds of items that a search finds. A message also represents its conversation."""

    MESSAGE = "message"
    DOCUMENT = "document"
    NOTE = "note"


class Relation(StrEnum):
    BEFORE = "before"
    AFTER = "after"
    ON = "on"


@dataclass(frozen=True, slots=True)
class Words:
    """A word, or several consecutive ones; with `prefix`, the last may be the beginning of a word."""

    text: str = dataclasses.field(repr=False)
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """A name, regardless of case. For a model, any part of the name; with `prefix`, the beginning of any
    name."""

    field: Field
    name: str = dataclasses.field(repr=False)
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class SaidBy:
    role: Role


@dataclass(frozen=True, slots=True)
class Is:
    mark: Mark


@dataclass(frozen=True, slots=True)
class Has:
    thing: Thing


@dataclass(frozen=True, slots=True)
class OfKind:
    kind: ItemKind


@dataclass(frozen=True, slots=True)
class When:
    """A time from `begin` up to but not including `end` (aware); `said` is the text as it was typed.

    before: earlier than `begin`; after: not earlier than `begin`, so that everything is either before or
    after; on: within it.
    """

    relation: Relation
    said: str
    begin: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Not:
    part: "Condition"


@dataclass(frozen=True, slots=True)
class All:
    """Two conditions or more, none of them an `All`."""

    parts: "tuple[Condition, ...]"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Two conditions or more, none of them an `AnyOf`."""

    parts: "tuple[Condition, ...]"


Condition: TypeAlias = Words | Named | SaidBy | Is | Has | OfKind | When | Not | All | AnyOf


@dataclass(frozen=True, slots=True)
class Query:
    """What must match, and a question to answer by meaning among what matches. An empty query finds
    everything."""

    where: Condition | None = None
    question: str = dataclasses.field(default="", repr=False)

    @property
    def empty(self) -> bool:
        return self.where is None and not self.question


# --- what is found ---------------------------------------------------------------------------------


class Order(StrEnum):
    """best: by how well the words match; recent: by the time of last use, latest first."""

    BEST = "best"
    RECENT = "recent"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text, on one line. `marks` are the ranges of it (from, up to but not including, in
    characters) that match, in order and disjoint."""

    text: str = dataclasses.field(repr=False)
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class MessageHit:
    """`score` is higher for better matches and compares hits of one query only; `parts` are its reasons."""

    message: Message
    session: Session
    score: float
    snippet: Snippet
    parts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class SessionHit:
    """A session. `message` is its best match; None when no message text was searched for, or only the title
    matches. `title` marks the words in the title. `matches` counts the matching messages among those
    examined."""

    session: Session
    title: Snippet
    score: float = 0.0
    message: Message | None = None
    snippet: Snippet | None = None
    matches: int = 0


@dataclass(frozen=True, slots=True)
class Page(Generic[H]):
    """One page of results. `total` counts all results; `more` means that there are more than were counted.

    `next_offset` is where the next page begins, None at the end.
    """

    hits: tuple[H, ...]
    total: int
    more: bool = False
    next_offset: int | None = None


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A named query, as it was typed."""

    id: str
    name: str = dataclasses.field(repr=False)
    query: str = dataclasses.field(repr=False)
    created_at: datetime


# --- what cannot be understood ---------------------------------------------------------------------


class Trouble(StrEnum):
    """Why a query cannot be understood."""

    NO_WORD = "no_word"
    NO_QUESTION = "no_question"
    NOTHING_BESIDE_OR = "nothing_beside_or"
    NOTHING_AFTER_NOT = "nothing_after_not"
    UNKNOWN_FIELD = "unknown_field"
    UNKNOWN_VALUE = "unknown_value"
    NO_VALUE = "no_value"
    NOT_A_DATE = "not_a_date"
    TOO_LONG = "too_long"
    TOO_MANY = "too_many"
    TOO_DEEP = "too_deep"
