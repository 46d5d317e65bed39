"""The values of memory. Identity and times are set by storage; nothing here knows how it is stored."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memory.kinds import Freshness as Freshness
from memory.kinds import MemoryMode as MemoryMode
from memory.kinds import RoomKind as RoomKind
from models.messages import Role, StopReason


class MessageStatus(StrEnum):
    """streaming: being written now (after a crash it is found and marked partial)."""

    STREAMING = "streaming"
    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"


class TitleSource(StrEnum):
    """Who chose a session's title. `first_words` may be improved by a model; a person's never changes."""

    FIRST_WORDS = "first_words"
    MODEL = "model"
    PERSON = "person"
    IMPORTED = "imported"


class CategorySource(StrEnum):
    """Who chose a session's category. A person's, also when she chose none, is never changed by a job."""

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
    """What is known of a session before its first message is stored."""

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

    `tokens` are the exact tokens a model produced for `content`, valid for the model whose fingerprint is
    `token_model` and for no other. `preface` is what was sent in front of a person's words: the time, and
    what was recalled.
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
        """Whether it is a reply that was stopped before its first word: stored as failed, like every one of
        which no word came, though nothing went wrong."""
        return self.status is MessageStatus.FAILED and self.stop_reason == StopReason.CANCELLED


@dataclass(frozen=True, slots=True)
class Node:
    """A message in the outline of its session: where it stands in the tree, and how its text begins."""

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
    """A message found by its words. `score` is higher for better; `snippet` marks nothing."""

    message: Message
    session_title: str
    score: float
    snippet: str


@dataclass(frozen=True, slots=True)
class Copy:
    """A session in which the same words stand as those that were erased; its title may be empty."""

    session_id: str
    title: str = field(repr=False)
    binned: bool = False


@dataclass(frozen=True, slots=True)
class Erased:
    """How many of each were erased. `full_text` counts entries of the full-text indices of words, `results`
    remembered results of jobs, `versions` what memories said earlier; `verified` says that nothing of it was
    found afterwards.

    `recalled_in` are the other sessions whose prompts had held words of it; `stale` are summaries that were
    emptied because of it, and are to be made anew from what is left, `untitled` sessions whose title is empty
    for the same reason. `places` names what else held the words and does no more, one name for each: tag,
    category, project, saved search, attachment, persona, template, draft, instructions. `copies` are the
    sessions in which a message that was not erased says the very same, as in a fork, the last used first.
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
    places: tuple[str, ...] = ()
    copies: tuple[Copy, ...] = ()


@dataclass(frozen=True, slots=True)
class RoomReport:
    """What an integrity check found: `problems` is empty for a sound room."""

    room: RoomKind
    sessions: int
    messages: int
    schema_version: int
    problems: tuple[str, ...] = field(default=())
    freshness: Freshness = Freshness.CURRENT


UNBEGUN = ""
"""The place of what is typed into a session that has not begun."""
