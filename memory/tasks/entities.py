"""The values of tasks: a brief, its steps, their evidence, and the report."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

MOST_CONTEXT = 8_000
"""Tokens that the context of a step may have, whatever the model allows."""
MOST_ROUNDS = 5
ROUNDS = 1
"""Rounds of revision that a task does by itself, unless the user says otherwise."""


class TaskState(StrEnum):
    """planned: not begun; waiting: it has asked the user something; failed: it cannot continue."""

    PLANNED = "planned"
    RUNNING = "running"
    PAUSED = "paused"
    WAITING = "waiting"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


ENDED = frozenset({TaskState.DONE, TaskState.FAILED, TaskState.CANCELLED})


class Team(StrEnum):
    """Who does a step."""

    RESEARCH = "research"
    ANALYSIS = "analysis"
    WRITING = "writing"
    RATING = "rating"


class StepState(StrEnum):
    """The state of a step; a step that is running when the program ends is done again."""

    RUNNING = "running"
    DONE = "done"


class EvidenceKind(StrEnum):
    """The kind of source of a passage."""

    DOCUMENT = "document"
    NOTE = "note"
    MEMORY = "memory"
    MESSAGE = "message"


class EventKind(StrEnum):
    """The kinds of events of a task. The values are those of `--jsonl`."""

    PLAN = "plan"
    ASSIGNED = "assigned"
    RETURNED = "returned"
    REVISION = "revision"
    ESCALATED = "escalated"
    APPROVED = "approved"
    DONE = "done"


class Asked(StrEnum):
    """Why a task waits for the user."""

    NOTHING_FOUND = "nothing_found"
    PARTS_MISSING = "parts_missing"


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task before it is stored. `documents` are the only documents that it may read, None for all.

    `session` is the conversation in which it was started.
    """

    brief: str = field(repr=False)
    project: str | None = None
    session: str | None = None
    documents: tuple[str, ...] | None = None
    teams: tuple[Team, ...] = tuple(Team)
    rounds: int = ROUNDS
    max_tokens: int | None = None
    baseline: bool = False


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that a step found, by the number under which a report cites it.

    `source` is the id of the document, note, memory or message; `text` is its text from `begin` to `end`.
    `session` is the conversation of a message. `sha256` shows whether a document is still the one that was
    read. `subject` is what the passage was looked up for, "" for the whole brief.
    """

    id: str
    step: str
    marker: int
    kind: EvidenceKind
    source: str
    title: str = field(repr=False)
    begin: int
    end: int
    text: str = field(repr=False)
    page: int | None = None
    lines: tuple[int, int] | None = None
    heading: tuple[str, ...] = field(default=(), repr=False)
    header: str = field(default="", repr=False)
    session: str | None = None
    sha256: str = ""
    subject: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class TaskCitation:
    """The source of a part of a report. `begin` and `end` are the quotation's range in its source."""

    marker: int
    kind: EvidenceKind
    source: str
    title: str = field(repr=False)
    page: int | None
    lines: tuple[int, int] | None
    begin: int
    end: int
    quote: str = field(repr=False)
    verified: bool


@dataclass(frozen=True, slots=True)
class Report:
    """The result of a task. `unsupported` are ranges of the text that no source supports."""

    text: str = field(repr=False)
    citations: tuple[TaskCitation, ...] = ()
    unsupported: tuple[tuple[int, int], ...] = ()
    document: str | None = None
    title: str = field(default="", repr=False)
    by_model: bool = False


@dataclass(frozen=True, slots=True)
class Baseline:
    """The answer of one context to the same brief, for comparison."""

    text: str = field(repr=False)
    context_tokens: int
    tokens: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Step:
    """A step. `brief` and `returned` are JSON under the schemas in `memory.tasks.contexts`.

    `context` is the exact text that the step worked on. `tokens` counts what a model read and wrote;
    `model_ms` and `own_ms` are the time of models and of this program. `attempts` counts its starts.
    """

    id: str
    number: int
    round: int
    team: Team
    brief: str = field(repr=False)
    state: StepState
    returned: str = field(default="", repr=False)
    context: str = field(default="", repr=False)
    context_tokens: int = 0
    tokens: int = 0
    model_ms: float = 0.0
    own_ms: float = 0.0
    attempts: int = 1
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Guidance:
    """A sentence from the user to the supervisor. `after` is the number of the last step before it.

    `revises`: the user wants the report to be made again.
    """

    text: str = field(repr=False)
    after: int
    revises: bool = False


@dataclass(frozen=True, slots=True)
class Task:
    """A task with its steps. `round` counts revisions so far, `rounds` how many it may do by itself.

    `asked` is why it waits, `missing` the parts of the brief for which nothing was found.
    """

    id: str
    brief: str = field(repr=False)
    project: str | None
    session: str | None
    documents: tuple[str, ...] | None
    teams: tuple[Team, ...]
    rounds: int
    max_tokens: int | None
    wants_baseline: bool
    state: TaskState
    round: int
    asked: Asked | None
    missing: tuple[str, ...] = field(repr=False)
    report: Report | None
    baseline: Baseline | None
    created_at: datetime
    updated_at: datetime
    ended_at: datetime | None
    steps: tuple[Step, ...] = ()
    guidance: tuple[Guidance, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(step.tokens for step in self.steps)

    @property
    def seconds(self) -> float:
        return sum(step.model_ms + step.own_ms for step in self.steps) / 1000


@dataclass(frozen=True, slots=True)
class TaskEvent:
    """One event of a task. `code` is the kind of event, `count` the number of things involved, `detail` its
    text.
    """

    kind: EventKind
    task: str
    step: str | None = None
    team: Team | None = None
    code: str = ""
    count: int = 0
    detail: str = field(default="", repr=False)
