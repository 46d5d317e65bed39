"""The values of recall, and what it offers to the making of prompts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, Protocol


@dataclass(frozen=True, slots=True)
class Source:
    """Where the words of a hit stand."""

    session: str | None
    message: str | None
    external_id: str | None
    document: str | None
    created_at: datetime
    speaker: str


@dataclass(frozen=True, slots=True)
class RawScores:
    """What speaks for a hit by itself: unlike its parts, these compare across queries.

    `cosine` is that of the question and the nearest passage (None without vectors), `words` the share of the
    question's words that the message holds, each word weighed by its rarity (0 … 1).
    """

    cosine: float | None = None
    words: float = 0.0


@dataclass(frozen=True, slots=True)
class Hit:
    """Something that was found. `score` is between 0 and 1 and compares hits of one query only; `parts` are
    the reasons, each between 0 and 1. `passage` is the part of `text` that answers best; `sources` are the
    ids of the messages that a memory was learned from."""

    id: str
    kind: str
    text: str = field(repr=False)
    passage: str = field(repr=False)
    score: float
    parts: Mapping[str, float]
    source: Source
    grounds: RawScores = RawScores()
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Recalled:
    """The hits of one query, best first. `took_ms` covers everything from the embedding of the query to the
    loading of the texts; `semantic` says whether vectors took part, `window` that what was said in the last
    hours answered alone."""

    hits: tuple[Hit, ...]
    took_ms: float
    semantic: bool
    window: bool = False


@dataclass(frozen=True, slots=True)
class QueryVector:
    """A question as a vector of length 1; `model` is the fingerprint of the model that made it."""

    model: str
    numbers: tuple[float, ...] = field(repr=False)


class Entry(NamedTuple):
    """What scoring needs to know of a message. `length` is in words (pieces, for scripts without spaces);
    `machine` marks the words of a model, as opposed to those of a person; `asks` marks what ends with a
    question mark. A tuple, because a large room has hundreds of thousands and they are turned into columns.
    """

    seq: int
    id: str
    session_id: str
    parent_id: str | None
    speaker: str
    machine: bool
    created_at: int
    important: bool
    asks: bool
    length: int


@dataclass(frozen=True, slots=True)
class Wording:
    """What only some questions need to know of a message's words: `dated` marks what says when something
    was, `prefers` what says what a person likes or avoids."""

    seq: int
    dated: bool
    prefers: bool


@dataclass(frozen=True, slots=True)
class Note:
    """A text that stands by itself: a memory that may be recalled, or a summary that is not out of date.

    `text` is as it reads in a prompt. Times are microseconds since 1970: `since`
    is when it was learned or last served, which its age is counted from. `rate` an hour and the multiplier
    `importance` are those of `memory.recall.decay`. `approved` marks what the person has accepted,
    `procedure` what is found only then, `prefers` what somebody likes or avoids. `messages` and `sessions`
    are where it was learned.
    """

    seq: int
    id: str
    kind: str
    text: str = field(repr=False)
    created_at: int
    since: int
    rate: float
    importance: float
    approved: bool
    procedure: bool = False
    prefers: bool = False
    expires_at: int | None = None
    project: str | None = None
    messages: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()

    @property
    def created(self) -> datetime:
        return datetime.fromtimestamp(self.created_at / 1e6, UTC)


@dataclass(frozen=True, slots=True)
class FoundNote:
    """A note that holds all that was searched for; `score` is BM25, higher is better."""

    note: Note
    score: float


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """What scoring needs to know of a session. `lends` says whether other sessions may recall it."""

    id: str
    project: str | None
    lends: bool
    binned: bool


@dataclass(frozen=True, slots=True)
class EntryChanges:
    """What was written since a version, to be read anew; `version` is the one to ask with next."""

    version: int
    messages: frozenset[int]
    sessions: frozenset[str]
    notes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Posting:
    """In which messages a word occurs: the message of every place, so that one that holds it twice is there
    twice."""

    term: str
    seqs: Sequence[int]


@dataclass(frozen=True, slots=True)
class Text:
    """The words of a message, and where they came from."""

    seq: int
    text: str = field(repr=False)
    source: Source


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
