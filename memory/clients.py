"""The value types of clients: programs that may ask a room for something."""

import re
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
"""The form of a client's name, which is typed in commands and in settings of other programs."""
RATE = 120
"""The default limit of requests a minute."""
MOST_RATE = 6_000


class Scope(StrEnum):
    """chat: use the models; recall: earlier messages and memories; documents: documents and notes; remember:
    propose memories.
    """

    CHAT = "chat"
    RECALL = "recall"
    DOCUMENTS = "documents"
    REMEMBER = "remember"


class AccessKind(StrEnum):
    """The kind of data that a client requested."""

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
    """How it ended. refused: it lacked a scope, or asked for something it may not see; limited: it made too
    many requests.
    """

    DONE = "done"
    REFUSED = "refused"
    LIMITED = "limited"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Client:
    """A client. `rate` is in requests a minute. A `bound` client sees only its project, and nothing once that
    project is gone.
    """

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
