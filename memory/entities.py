"""The value types of memory. Storage sets ids and times; this module does not depend on how values are
stored.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memory.kinds import Freshness as Freshness
from memory.kinds import MemoryMode as MemoryMode
from memory.kinds import RoomKind as RoomKind
from models.messages import Role, StopReason


class MessageStatus(StrEnum):
    """streaming: being written now (found and marked partial after a crash)."""

    STREAMING = "streaming"
    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"


class TitleSource(StrEnum):
    """Who chose a session's title. A model may improve `first_words`; a user's title never changes."""

    FIRST_WORDS = "first_words"
    MODEL = "model"
    PERSON = "person"
    IMPORTED = "imported"


class CategorySource(StrEnum):
    """Who chose a session's category. A job never changes the user's choice, including the choice of none."""

    NONE = "none"
    MODEL = "model"
    PERSON = "person"


@dataclass(frozen=True, slots=True)
class Session:
    """One conversation. `head_id` is the leaf of the branch that is shown. Times are aware, in UTC."""

    id: str
    title: str
    title_source: TitleSource
    room: RoomKind
    memory_mode: MemoryMode
    created_at: datetime
    updated_at: datetime
    project: str | None = None
    system_prompt: str | None = None
    model: str | None = None
    head_id: str | None = None
    starred: bool = False
    important: bool = False
    tags: tuple[str, ...] = ()
    deleted_at: datetime | None = None
    external_id: str | None = None
    message_count: int = 0
    archived_at: datetime | None = None
    pinned_at: datetime | None = None
    category: str = ""
    category_source: CategorySource = CategorySource.NONE


@dataclass(frozen=True, slots=True)
class NewSession:
    """A session before its first message is stored."""

    title: str
    memory_mode: MemoryMode = MemoryMode.NORMAL
    title_source: TitleSource = TitleSource.FIRST_WORDS
    project: str | None = None
    system_prompt: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class SessionPatch:
    """Fields to change; None leaves a field as it is."""

    title: str | None = None
    title_source: TitleSource | None = None
    memory_mode: MemoryMode | None = None
    system_prompt: str | None = None
    model: str | None = None
    starred: bool | None = None
    important: bool | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One node of a session's message tree; messages with the same parent and role are variants.

    `tokens` are the exact tokens a model produced for `content`; they are valid only for the model whose
    fingerprint is `token_model`. `preface` is the text sent before a user's message: the time and what was
    recalled.
    """

    id: str
    session_id: str
    parent_id: str | None
    role: Role
    speaker: str
    content: str
    created_at: datetime
    status: MessageStatus = MessageStatus.COMPLETE
    stop_reason: str | None = None
    important: bool = False
    model: str | None = None
    tokens: tuple[int, ...] = ()
    token_model: str | None = None
    external_id: str | None = None
    preface: str = ""

    @property
    def unbegun(self) -> bool:
        """Whether it is a reply that was stopped before its first token.

        Such a reply is stored as failed, like every empty reply, although nothing went wrong.
        """
        return self.status is MessageStatus.FAILED and self.stop_reason == StopReason.CANCELLED


@dataclass(frozen=True, slots=True)
class Node:
    """A message in the outline of its session: its place in the tree, and the beginning of its text."""

    id: str
    parent_id: str | None
    role: Role
    excerpt: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message before it is stored."""

    role: Role
    content: str
    speaker: str = ""
    status: MessageStatus = MessageStatus.COMPLETE
    model: str | None = None


@dataclass(frozen=True, slots=True)
class MessagePatch:
    """Fields to change; None leaves a field as it is."""

    content: str | None = None
    status: MessageStatus | None = None
    stop_reason: str | None = None
    tokens: tuple[int, ...] | None = None
    token_model: str | None = None
    model: str | None = None
    important: bool | None = None
    preface: str | None = None


@dataclass(frozen=True, slots=True)
class SearchHit:
    """A message found by its text. A higher `score` is better; `snippet` contains no markup."""

    message: Message
    session_title: str
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class Copy:
    """A session that contains the same text as what was erased; its title may be empty.

    `title_only`: no message of it does, but the title, which the user wrote, comes from what was erased.
    """

    session_id: str
    title: str = field(repr=False)
    binned: bool = False
    title_only: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Something other than messages and memories that contained forgotten text, and its name ("": none)."""

    kind: str
    name: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Erased:
    """The result of an erasure, by kind.

    `full_text` counts entries of the full-text indices, `results` cached results of jobs, `versions` earlier
    versions of memories. `verified`: none of it was found afterwards.

    `recalled_in` are the other sessions whose prompts contained some of its text. `stale` are summaries that
    were emptied because of it and will be made again from what remains; `untitled` are sessions whose title
    was emptied for the same reason. `places` is what else contained the text and no longer does; its kinds
    are title, tag, category, project, saved search, attachment, skill, task, persona, template, client,
    folder, draft, and instructions. `copies` are the sessions with an identical message that was not erased,
    as in a fork, last used first. `documents`, `notes` and `chunks` are documents, notes, and the pieces of
    their texts.
    """

    messages: int
    summaries: int
    epochs: int
    turns: int
    vectors: int
    full_text: int
    jobs: int
    results: int
    verified: bool
    recalled_in: tuple[str, ...] = ()
    memories: int = 0
    versions: int = 0
    stale: tuple[str, ...] = ()
    untitled: tuple[str, ...] = ()
    places: tuple[Place, ...] = ()
    copies: tuple[Copy, ...] = ()
    documents: int = 0
    chunks: int = 0
    notes: int = 0


@dataclass(frozen=True, slots=True)
class RoomReport:
    """The result of an integrity check: `problems` is empty for a sound room."""

    room: RoomKind
    sessions: int
    messages: int
    schema_version: int
    problems: tuple[str, ...] = field(default=())
    freshness: Freshness = Freshness.CURRENT


UNBEGUN = ""
"""The draft key of text typed into a session that has not begun."""


@dataclass(frozen=True, slots=True)
class Target:
    """What to forget.

    `messages`, `sessions`, `memories` and `ids` (of any of these or of documents) are ids or unique prefixes.
    In addition, everything that meets all given criteria is forgotten: of a project (by name), containing all
    words of `about` (whole words in any form; `word*` matches a prefix), from `since` on, before `before`.
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
    """The items that a target erases, or erased: the counts, and the first items of each kind."""

    erased: Erased
    whole_sessions: int = 0
    sessions: tuple[Excerpt, ...] = ()
    messages: tuple[Excerpt, ...] = ()
    memories: tuple[Excerpt, ...] = ()
    documents: tuple[Excerpt, ...] = ()
    touched: tuple[str, ...] = ()
    """Sessions that lost all or part of their content."""
    notes: tuple[Excerpt, ...] = ()


class ChosenBy(StrEnum):
    """How the user chose what to forget. words: everything with certain words; time: everything from a
    period.
    """

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
    """A record of what was forgotten, without any of its content. `counts`: how much, by kind; `cleared`:
    where else the text was, by kind; `rewritten`: summaries that were made again; `verified`: nothing was
    found afterwards.
    """

    chosen_by: ChosenBy
    counts: Mapping[str, int]
    cleared: Mapping[str, int]
    rewritten: int
    verified: bool


@dataclass(frozen=True, slots=True)
class StoredReceipt:
    """A receipt as it is stored."""

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
    return dict(sorted(Counter(place.kind for place in erased.places).items()))
