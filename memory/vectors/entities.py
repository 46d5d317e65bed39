"""The values of vectors, passages of long texts, and the seam of the index that is searched."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Self


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
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class VectorPage:
    """Stored vectors as columns: a hundred thousand rows would be as many objects. `data` holds the vectors,
    all of one length, one after another; `last` is where a scan goes on after it."""

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
    """What a search may find; None leaves it open."""

    kinds: frozenset[str] | None = None
    project: str | None = None
    session: str | None = None


@dataclass(frozen=True, slots=True)
class VectorCounts:
    """How many passages are stored for each model's fingerprint."""

    by_model: Mapping[str, int]


PASSAGE_CHARS = 500
"""Some 125 tokens. Small embedding models read 256, and have learned from sentences of 128."""

# Where a sentence or a line ends. A run of marks is looked at once, from its first one: that keeps it linear.
_END = re.compile(r"(?:(?<![.!?。！？])[.!?。！？]++(?=\s|\Z)|\n++)\s*+")


def passages(text: str, size: int = PASSAGE_CHARS) -> list[str]:
    """`text` in pieces of at most `size` characters, cut between sentences or lines where there are any, else
    between words. Together they hold all words in their order; at least one is returned."""
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
    """Where the sentence or line that begins here ends. A mark by itself at its beginning ends nothing."""
    match = _END.search(text, begin)
    if match is not None and match.start() == begin and not match[0][1:2].strip():
        match = _END.search(text, begin + 1)
    return len(text) if match is None else match.end()


class VectorIndex(Protocol):
    """Vectors in memory, with ids and what is filtered by, never text. Nothing of it is ever written."""

    async def add(self, page: VectorPage) -> None:
        """Owners that are added must not be in the index."""
        ...

    async def remove(self, *, owners: Collection[str] = (), sessions: Collection[str] = ()) -> None: ...

    async def search(self, vector: Sequence[float], *, limit: int, scope: Scope) -> Near: ...

    async def search_each(
        self, vector: Sequence[float], *, limit: int, scopes: Sequence[Scope]
    ) -> list[Near]:
        """As `search`, in each of the scopes."""
        ...

    async def count(self) -> int: ...

    async def clear(self) -> None: ...
