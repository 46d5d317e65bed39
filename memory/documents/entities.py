"""The values of documents: what a parser returns, what is stored, and what a search finds.

All positions are characters in the document's text, from 0; a range (begin, end) excludes its end. Pages and
lines count from 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: `level` 1 is the highest; `begin` is where it stands in the text."""

    level: int
    text: str
    begin: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table, one line per row. Its header is the text from `begin` to `header_end`, or empty."""

    begin: int
    end: int
    header_end: int


@dataclass(frozen=True, slots=True)
class ParsedText:
    r"""The text of a file and its structure.

    The text has no control characters but newline and tab. `pages` are the positions at which the pages
    begin, the first one 0; empty for formats without pages. `blank_pages` are the pages without any text, by
    number: usually pictures of scanned text. `created` is the date that the file states, in ISO 8601, or
    empty.
    """

    text: str = field(repr=False)
    pages: tuple[int, ...] = ()
    headings: tuple[Heading, ...] = ()
    tables: tuple[Table, ...] = ()
    blank_pages: tuple[int, ...] = ()
    title: str = ""
    author: str = ""
    created: str = ""


class DocumentState(StrEnum):
    """queued: seen, not read yet; partial: read, but some pages have no text; failed: cannot be read;
    missing: the file is gone; archived: the file is gone and the document is kept, but not searched."""

    QUEUED = "queued"
    INDEXED = "indexed"
    PARTIAL = "partial"
    FAILED = "failed"
    MISSING = "missing"
    ARCHIVED = "archived"


class OnMissing(StrEnum):
    """What happens to a document of a watched folder when its file is gone."""

    KEEP = "keep"
    ARCHIVE = "archive"
    REMOVE = "remove"


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A piece of a document's text: the characters from `begin` to `end`, exactly.

    `page` is the page on which it begins, None without pages. `lines` are its first and last line. `heading`
    is the path of headings above it. `header` is the header of the table whose rows it contains, if the
    header is not in the piece itself.
    """

    begin: int
    end: int
    page: int | None
    lines: tuple[int, int]
    heading: tuple[str, ...] = ()
    header: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A stored chunk. `document` is the document's id."""

    id: str
    document: str
    number: int
    begin: int
    end: int
    page: int | None
    lines: tuple[int, int]
    heading: tuple[str, ...]
    header: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What identifies a file on disk: absolute path, size in bytes, time in nanoseconds, device and inode."""

    path: str
    size: int
    modified_ns: int
    device: int = 0
    inode: int = 0


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """What a document says, in short. `fallback`: made of its own sentences, because the model failed."""

    text: str
    fallback: bool
    model: str | None


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a room, without its text.

    `path` is the file's path as it was given. `project` is a name, `folder` the id of the watched folder.
    `error` is a code with its facts. `sessions` are the sessions that are bound to the document.
    """

    id: str
    title: str
    path: str
    media_type: str
    size: int
    pages: int | None
    project: str | None
    folder: str | None
    state: DocumentState
    error: "DocumentError | None"
    sha256: str
    parser: str
    chunks: int
    added_at: datetime
    modified_at: datetime | None
    indexed_at: datetime | None
    author: str = ""
    created: str = ""
    copied: bool = False
    summary: DocumentSummary | None = None
    sessions: tuple[str, ...] = ()
    headings: tuple[Heading, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentError:
    """Why a file could not be read, in full or in part. `limit` is what it exceeds, 0 where there is none."""

    reason: str
    limit: int = 0


@dataclass(frozen=True, slots=True)
class WatchedFolder:
    """A folder whose files are documents. `include` and `exclude` are patterns as in .gitignore files."""

    id: str
    path: str
    project: str | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    on_missing: OnMissing
    added_at: datetime
    scanned_at: datetime | None


class Grain(StrEnum):
    """What a search returns: each chunk, page or document at most once."""

    CHUNK = "chunk"
    PAGE = "page"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class DocumentQuery:
    """What to look for, and where: in these documents, this project or this folder; None is everywhere."""

    text: str
    k: int = 10
    documents: tuple[str, ...] | None = None
    project: str | None = None
    folder: str | None = None
    grain: Grain = Grain.CHUNK


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """A chunk that was found, with the parts of its score (each 0 to 1) by name."""

    chunk: Chunk
    title: str
    path: str
    score: float
    parts: Mapping[str, float]
    created_at: datetime
