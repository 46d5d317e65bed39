"""A query as a tree of conditions, and what it finds. Nothing here knows how it is looked up."""

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
    """What a session or a message can be. `partial` is a reply that was cut off or failed."""

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


class Relation(StrEnum):
    BEFORE = "before"
    AFTER = "after"
    ON = "on"


@dataclass(frozen=True, slots=True)
class Words:
    """A word, or several that follow one another; `prefix` when the last may be a beginning."""

    text: str = dataclasses.field(repr=False)
    prefix: bool = False


@dataclass(frozen=True, slots=True)
class Named:
    """A name, without regard to case; of a model any part of it, with `prefix` the beginning of any name."""

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
class When:
    """A stretch of time, from `begin` up to but not including `end` (aware); `said` is how it was put.

    before: earlier than `begin`; after: not earlier than `begin`, so that what is not before is after; on:
    within it.
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


Condition: TypeAlias = Words | Named | SaidBy | Is | Has | When | Not | All | AnyOf


@dataclass(frozen=True, slots=True)
class Query:
    """What is to hold, and a question to be answered by meaning among what does. Empty, it finds all."""

    where: Condition | None = None
    question: str = dataclasses.field(default="", repr=False)

    @property
    def empty(self) -> bool:
        return self.where is None and not self.question


# --- what is found ---------------------------------------------------------------------------------


class Order(StrEnum):
    """best: by how well the words fit; recent: by the time of last use, the latest first."""

    BEST = "best"
    RECENT = "recent"


@dataclass(frozen=True, slots=True)
class Snippet:
    """A piece of a text, on one line; `marks` are the ranges of it (from, up to but not including, in
    characters) that were looked for, in order and apart from one another."""

    text: str = dataclasses.field(repr=False)
    marks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class MessageHit:
    """`score` is higher for better and compares hits of one query only; `parts` are the reasons for it."""

    message: Message
    session: Session
    score: float
    snippet: Snippet
    parts: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class SessionHit:
    """A session; `message` is the one of it that fits best, None when nothing that was said was looked for,
    or the title alone fits. `title` marks the words in the title. `matches` counts messages that fit, among
    those that were looked at."""

    session: Session
    title: Snippet
    score: float = 0.0
    message: Message | None = None
    snippet: Snippet | None = None
    matches: int = 0


@dataclass(frozen=True, slots=True)
class Page(Generic[H]):
    """Some of what was found. `total` counts all of it; with `more` there is more than was counted.

    `next_offset` is where the next page begins, None at the end.
    """

    hits: tuple[H, ...]
    total: int
    more: bool = False
    next_offset: int | None = None


@dataclass(frozen=True, slots=True)
class SavedSearch:
    """A query under a name, as it was typed."""

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
