"""The values of learning: what was heard, what may be learned from it, and what a statement claims."""

from dataclasses import dataclass, field
from datetime import datetime

from memory.memories.entities import MemoryKind, MemoryOrigin


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of the person. `before` is the reply that it answers: it helps to understand, it is never
    evidence."""

    message_id: str
    session_id: str
    text: str = field(repr=False)
    at: datetime
    important: bool = False
    before: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a statement says, so far as it can be compared with others.

    `attribute` is what of the subject it tells (`residence`, `like`…), empty where nothing is known to
    exclude anything; `value` are stems of what it says it is, `words` stems of all it says. `denies`: it says
    that it is not so. `ended` are stems of what it says has ended. `changed`: it says that something is
    different now.
    """

    subject: frozenset[str]
    attribute: str = ""
    value: frozenset[str] = frozenset()
    denies: bool = False
    ended: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that may be learned from one message: `quote` is found in it.

    `only_ends`: of no interest by itself, it only tells that something known does not hold any more.
    """

    kind: MemoryKind
    text: str = field(repr=False)
    quote: str = field(repr=False)
    message_id: str
    session_id: str
    said_at: datetime
    subject: str = field(default="", repr=False)
    origin: MemoryOrigin = MemoryOrigin.PATTERN
    confidence: float = 0.8
    importance: float = 0.5
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    only_ends: bool = False
    model: str | None = None
