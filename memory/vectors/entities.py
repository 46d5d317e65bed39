"""The values of vectors, the splitting of long texts into passages, and the protocol of the vector index."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A text without a vector. `seq` is its place in storage order."""

    seq: int
    kind: str
    owner_id: str
    session_id: str | None
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Embedded:
    """The passages of a text as vectors of length 1, little-endian float32, in text order."""

    source: Unembedded
    parts: tuple[bytes, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class StoredVector:
    """The vector of one passage, with the fields a search filters by. `data` is little-endian float32."""

    kind: str
    owner_id: str
    part: int
    session_id: str | None
    project: str | None
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class VectorPage:
    """Stored vectors as columns, which avoids one object per row. `data` contains the vectors, all of one
    length, one after another. `last` is where a scan continues after this page."""

    kinds: Sequence[str] = ()
    owners: Sequence[str] = ()
    parts: Sequence[int] = ()
    sessions: Sequence[str | None] = ()
    projects: Sequence[str | None] = ()
    data: bytes = field(default=b"", repr=False)
    last: int = 0

    @classmethod
    def of(cls, rows: Sequence[StoredVector]) -> Self:
        return cls(
            [row.kind for row in rows],
            [row.owner_id for row in rows],
            [row.part for row in rows],
            [row.session_id for row in rows],
            [row.project for row in rows],
            b"".join(row.data for row in rows),
        )

    def __len__(self) -> int:
        return len(self.owners)

    @property
    def dimension(self) -> int:
        return len(self.data) // (4 * len(self.owners)) if self.owners else 0

    def rows(self) -> Iterator[StoredVector]:
        size = 4 * self.dimension
        columns = zip(self.kinds, self.owners, self.parts, self.sessions, self.projects, strict=True)
        for at, (kind, owner, part, session, project) in enumerate(columns):
            data = self.data[at * size : (at + 1) * size]
            yield StoredVector(kind, owner, part, session, project, data)


@dataclass(frozen=True, slots=True)
class VectorChanges:
    """Changes since the requested version: owners whose vectors were added or removed, sessions that moved.

    `version` is the one to ask with next time.
    """

    version: int
    owners: frozenset[str]
    sessions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Near:
    """The passages nearest to a vector, best first; `similarity` is the cosine.

    `complete` means that nothing that passed the filter was left out.
    """

    owners: tuple[str, ...]
    parts: tuple[int, ...]
    similarity: tuple[float, ...]
    complete: bool


@dataclass(frozen=True, slots=True)
class Scope:
    """The vectors that a search may find; None means no restriction."""

    kinds: frozenset[str] | None = None
    project: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """How many passages are stored for each model fingerprint."""

    by_model: Mapping[str, int]


PASSAGE_CHARS = 500
"""About 125 tokens. Small embedding models read 256, and were trained on sentences of 128."""

# Where a sentence or a line ends. A run of marks is examined once, from its first one: that keeps it linear.
_END = re.compile(r"(?:(?<![.!?。！？])[.!?。！？]++(?=\s|\Z)|\n++)\s*+")


def passages(text: str, size: int = PASSAGE_CHARS) -> list[str]:
    """Splits `text` into pieces of at most `size` characters, between sentences or lines where possible, else
    between words. Together they contain all words in order. Returns at least one piece."""
    text = text.strip()
    if len(text) <= size:
        return [text]
    found: list[str] = []
    current = ""
    begin = 0
    while begin < len(text):
        end = _end(text, begin)
        while end - begin > size:
            found.append(current)
            cut = text.rfind(" ", begin + size // 2, begin + size)
            cut = begin + size if cut < 0 else cut
            current, begin = text[begin:cut], cut
        if len(current) + end - begin > size:
            found.append(current)
            current = ""
        current += text[begin:end]
        begin = end
    found.append(current)
    return [stripped for piece in found if (stripped := piece.strip())]


def _end(text: str, begin: int) -> int:
    """Returns the end of the sentence or line that begins here. A single mark at its beginning ends
    nothing."""
    match = _END.search(text, begin)
    if match is not None and match.start() == begin and not match[0][1:2].strip():
        match = _END.search(text, begin + 1)
    return len(text) if match is None else match.end()


class VectorIndex(Protocol):
    """Vectors in memory, with ids and filter fields, never text. Nothing is written to disk."""

    async def add(self, page: VectorPage) -> None:
        """Adds vectors. Their owners must not be in the index yet."""
        ...

    async def remove(self, *, owners: Collection[str] = (), sessions: Collection[str] = ()) -> None: ...

    async def search(self, vector: Sequence[float], *, limit: int, scope: Scope) -> Near: ...

    async def search_each(
        self, vector: Sequence[float], *, limit: int, scopes: Sequence[Scope]
    ) -> list[Near]:
        """Like `search`, in each of the scopes."""
        ...

    async def count(self) -> int: ...

    async def mean(self) -> Sequence[float] | None:
        """Returns the mean of all vectors; None for an empty index."""
        ...

    async def clear(self) -> None: ...
