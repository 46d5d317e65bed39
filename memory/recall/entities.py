"""The values of recall, and the protocols through which prompts use it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple, Protocol


@dataclass(frozen=True, slots=True)
class Source:
    """Where the text of a hit comes from. Replies are `by_model`; a reply is not `supported` if one of its
    sentences is not in the documents that it was about. `corrected` are the words of a message, or of the one
    that it replies to, that the user has since worded otherwise in a memory, rejected as one, or that a newer
    memory supersedes; of a reply also what a memory said before, if the reply repeats it. `replaced`:
    the user has edited that message, and the conversation goes on from the edited one.
    """

    session: str | None
    message: str | None
    external_id: str | None
    document: str | None
    created_at: datetime
    speaker: str
    supported: bool = True
    by_model: bool = False
    corrected: tuple[str, ...] = ()
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class RawScores:
    """Evidence for a hit that, unlike its parts, is comparable across queries.

    `cosine` compares the question with the nearest passage (None without vectors). `words` is the share of
    the question's words that the message contains, each weighted by its rarity (0 … 1).
    """

    cosine: float | None = None
    words: float = 0.0


@dataclass(frozen=True, slots=True)
class Hit:
    """One result of a query. `score` is between 0 and 1 and compares hits of one query only. `parts` are the
    reasons, each between 0 and 1. `passage` is the part of `text` that answers best. `sources` are the ids of
    the messages that a memory was learned from, none if the user has worded it otherwise since."""

    id: str
    kind: str
    text: str = field(repr=False)
    passage: str = field(repr=False)
    score: float
    parts: Mapping[str, float]
    source: Source
    grounds: RawScores = RawScores()
    sources: tuple[str, ...] = ()

    @property
    def replaced(self) -> bool:
        """Whether it is a message that the user has edited since, or a memory learned from nothing else."""
        return self.source.replaced and (self.kind == "message" or len(self.sources) == 1)


@dataclass(frozen=True, slots=True)
class Recalled:
    """The hits of one query, best first. `took_ms` covers everything from embedding the query to loading the
    texts. `semantic`: vectors took part; `window`: the last hours alone answered.
    """

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
    """What scoring needs to know about a message. `length` is in words, or letters in scripts without spaces.
    `machine` marks a model's messages, as opposed to a person's. `asks` marks messages that end with a
    question mark. A tuple, because a large room has hundreds of thousands, which are turned into columns.
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
    """What only some questions need to know about a message's text: `dated` marks text that states when
    something was, `prefers` what a person likes or avoids, `instructs` how later replies should be.
    """

    seq: int
    dated: bool
    prefers: bool
    instructs: bool


@dataclass(frozen=True, slots=True)
class RecallItem:
    """A self-contained text: a memory that may be recalled, or a summary that is not out of date.

    `text` is worded as in a prompt. Times are microseconds since 1970: `since` is when the item was learned
    or last used, and its age counts from then. `rate` (per hour) and the multiplier `importance` are those of
    `memory.recall.decay`. `approved` marks items accepted by the user, `procedure` items found only when
    approved (procedures, secrets, what a client proposed), `prefers` items on what somebody likes or
    avoids. `messages` and `sessions` are where it was learned; `corrected`: the user has changed its text
    since.
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
    corrected: bool = False

    @property
    def created(self) -> datetime:
        return datetime.fromtimestamp(self.created_at / 1e6, UTC)


@dataclass(frozen=True, slots=True)
class FoundItem:
    """An item that contains everything searched for; `score` is BM25, higher is better."""

    item: RecallItem
    score: float


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """What scoring needs to know about a session. `lends`: other sessions may recall it."""

    id: str
    project: str | None
    lends: bool
    binned: bool


@dataclass(frozen=True, slots=True)
class EntryChanges:
    """The changes since a version, which must be read again; `version` is the one to ask with next time.
    `isolated` are the names of all projects that are isolated now.
    """

    version: int
    messages: frozenset[int]
    sessions: frozenset[str]
    items: frozenset[str] = frozenset()
    isolated: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Posting:
    """The messages in which a term occurs, one entry per occurrence: a message that contains it twice is
    listed twice. A term that is too `common` to distinguish messages comes without them."""

    term: str
    seqs: Sequence[int]
    common: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """The text of a message, and its source."""

    seq: int
    text: str = field(repr=False)
    source: Source


KINDS = frozenset({"message"})
"""The kinds of hits searched for when none are named."""
ITEM_KINDS = frozenset({"memory", "summary"})
"""The kinds whose texts are self-contained."""


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """What to find.

    At most `k` hits of these kinds are wanted. `session` restricts the search to that session, `project` to
    the sessions of a project. `widen` adds hits from outside the project when it has fewer than `k`. Sessions
    that do not add to memory are found only when named. Messages in `exclude_messages` or `exclude_sessions`
    are not found, but still count as evidence for their neighbours. `since` and `before` bound the time of
    what is found. Expressions of time in the text are relative to `now`; None is the present. `recent_first`
    searches the messages of the last hours first, without an embedding; if that answers, nothing else is
    searched. An isolated project is searched only if it is named, and then nothing else is; `everywhere`, for
    searches that the user makes, ignores that.
    """

    text: str
    k: int = 10
    kinds: Collection[str] = KINDS
    session: str | None = None
    project: str | None = None
    exclude_messages: Collection[str] = ()
    exclude_sessions: Collection[str] = ()
    since: datetime | None = None
    before: datetime | None = None
    now: datetime | None = None
    widen: bool = False
    recent_first: bool = False
    everywhere: bool = False


class Recall(Protocol):
    """Finds earlier messages and memories. Raises the errors of `Store`."""

    async def recall(self, query: RecallQuery) -> list[Hit]:
        """Returns the hits, best first."""
        ...

    async def answer(self, query: RecallQuery) -> Recalled:
        """Like `recall`, with the time it took."""
        ...


class QueryVectors(Protocol):
    """Embeds questions."""

    async def vector(self, text: str) -> QueryVector | None:
        """Returns the vector of `text`; None while no embedding model works."""
        ...


class FixedTexts(Protocol):
    """Stores what was computed from texts that are part of the program, which reveals nothing about the room.
    Raises the errors of `Store`.
    """

    async def fixed(self, name: str) -> str | None:
        """Returns the value last stored under this name."""
        ...

    async def keep_fixed(self, name: str, value: str) -> None: ...
