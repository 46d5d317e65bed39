"""The value types of clients: programs that may ask a room for something."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
"""What a client's name looks like: it is typed in commands and settings of other programs."""
RATE = 120
"""Requests a minute, unless another number is given."""
MOST_RATE = 6_000


class Scope(StrEnum):
    """chat: use the models; recall: what was said, and memories; documents: documents and notes; remember:
    propose memories."""

    CHAT = "chat"
    RECALL = "recall"
    DOCUMENTS = "documents"
    REMEMBER = "remember"


class AccessKind(StrEnum):
    """What a client asked for."""

    MODELS = "models"
    CHAT = "chat"
    EMBEDDINGS = "embeddings"
    RECALL = "recall"
    SESSIONS = "sessions"
    DOCUMENTS = "documents"
    NOTES = "notes"
    TEMPLATES = "templates"
    REMEMBER = "remember"


class AccessOutcome(StrEnum):
    """How it ended. refused: it lacked a scope, or asked for what is not its; limited: it was too fast."""

    DONE = "done"
    REFUSED = "refused"
    LIMITED = "limited"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Client:
    """A client. `rate` is in requests a minute. A `bound` client sees its project and nothing else; if that
    project is gone, nothing."""

    id: str
    name: str
    scopes: frozenset[Scope]
    rate: int
    created_at: datetime
    project: str | None = None
    bound: bool = False
    used_at: datetime | None = None
    revoked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NewClient:
    """A client before it is stored."""

    name: str
    scopes: frozenset[Scope]
    project: str | None = None
    rate: int = RATE


@dataclass(frozen=True, slots=True)
class Access:
    """One request of a client. `items` counts what it was given (hits, texts), `tokens` what a model read
    and wrote for it."""

    client_id: str
    kind: AccessKind
    outcome: AccessOutcome = AccessOutcome.DONE
    items: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class AccessEntry:
    """The requests of one client, kind and outcome within the minute that begins `at`."""

    client: str
    at: datetime
    kind: AccessKind
    outcome: AccessOutcome
    requests: int
    items: int
    tokens: int
