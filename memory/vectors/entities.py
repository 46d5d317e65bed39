"""The values of vectors: what is to be embedded, what is stored, what a search finds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A text without a vector. `seq` is its place in the order of storing."""

    seq: int
    kind: str
    owner_id: str
    session_id: str | None
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Embedded:
    """The passages of a text as vectors of length 1, little-endian float32, in the order of the text."""

    source: Unembedded
    parts: tuple[bytes, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class StoredVector:
    """One passage's vector with what a search filters by. `data` is little-endian float32."""

    kind: str
    owner_id: str
    part: int
    session_id: str | None
    project: str | None
    created_at: datetime
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class VectorKey:
    """Where a scan of the stored vectors goes on."""

    kind: str
    owner_id: str
    part: int


@dataclass(frozen=True, slots=True)
class VectorChanges:
    """What was written since the version asked for: owners whose vectors came or went, sessions that moved.

    `version` is the one to ask with next time.
    """

    version: int
    owners: frozenset[str]
    sessions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Near:
    """The passages nearest to a vector, best first: `similarity` is the cosine.

    `complete` says that nothing that passed the filter was left out.
    """

    owners: tuple[str, ...]
    parts: tuple[int, ...]
    similarity: tuple[float, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Scope:
    """What a search may find; None leaves a side open. `since` and `before` bound the time of the owner."""

    kinds: frozenset[str] | None = None
    project: str | None = None
    session: str | None = None
    since: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """How many passages are stored for each model's fingerprint."""

    by_model: Mapping[str, int]
