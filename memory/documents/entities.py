"""The values of documents: results of parsers, stored documents and chunks, and results of searches.

All positions are characters in the document's text, from 0; a range (begin, end) excludes its end. Pages and
lines count from 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING

from memory.attachments import Attachment
from memory.entities import RoomKind
from memory.search.entities import Snippet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: `level` 1 is the highest; `begin` is its position in the text."""

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

    The text has no control characters except newline and tab. `pages` are the positions at which the pages
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
    """queued: found, not read yet; partial: read, but some pages have no text; failed: cannot be read;
    missing: the file is gone; archived: the file is gone and the document is kept, but not searched.
    """

    QUEUED = "queued"
    INDEXED = "indexed"
    PARTIAL = "partial"
    FAILED = "failed"
    MISSING = "missing"
    ARCHIVED = "archived"


class DocumentKind(StrEnum):
    """document: the text of a file, or of a conversation; note: a text written in this program."""

    DOCUMENT = "document"
    NOTE = "note"


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
    """The facts that identify a file on disk: absolute path, size in bytes, time in nanoseconds, device and
    inode.
    """

    path: str
    size: int
    modified_ns: int
    device: int = 0
    inode: int = 0


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A stored document as the folder scan compares it with the disk; `document` is its id."""

    document: str
    facts: FileFacts
    sha256: str
    parser: str
    state: "DocumentState"
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class NewDocument:
    """The content read from a file, to be stored.

    `path` is as the user gave it, `facts.path` absolute. `document` is the id of the document that it
    replaces, None for a new one. With `error` the file could not be read, in full (`parsed` is None) or in
    part. `content` is a copy of the file.
    """

    path: str
    facts: FileFacts
    sha256: str
    media_type: str
    parser: str
    title: str
    parsed: ParsedText | None = None
    chunks: tuple[NewChunk, ...] = ()
    error: "DocumentError | None" = None
    project: str | None = None
    folder: str | None = None
    content: bytes | None = field(default=None, repr=False)
    document: str | None = None
    kind: DocumentKind = DocumentKind.DOCUMENT


@dataclass(frozen=True, slots=True)
class DocumentSummary:
    """A document in brief. `fallback`: made of its own sentences, because the model failed."""

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
    """A folder whose files are documents. `include` and `exclude` are patterns as in .gitignore files.

    `path` is as the user gave it, `location` absolute. `skipped` is what the last scan left out: places and
    reasons.
    """

    id: str
    path: str
    location: str
    project: str | None
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    on_missing: OnMissing
    added_at: datetime
    scanned_at: datetime | None
    skipped: tuple[tuple[str, str], ...] = ()


class Grain(StrEnum):
    """What a search returns: each chunk, page or document at most once."""

    CHUNK = "chunk"
    PAGE = "page"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class DocumentQuery:
    """What to look for, and where: in these documents, this project or this folder; None is everywhere.

    `kinds` are the kinds of documents that may be found, none of projects in `without`, and none of the
    documents in `excluded`.
    """

    text: str
    k: int = 10
    documents: tuple[str, ...] | None = None
    project: str | None = None
    folder: str | None = None
    grain: Grain = Grain.CHUNK
    kinds: frozenset[DocumentKind] = frozenset({DocumentKind.DOCUMENT})
    without: frozenset[str] = frozenset()
    excluded: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class LoadedChunk:
    """A chunk with what a hit contains about its document."""

    chunk: Chunk
    title: str
    path: str
    created_at: datetime
    kind: DocumentKind = DocumentKind.DOCUMENT
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """A chunk that was found, with the parts of its score (each 0 to 1) by name.

    `cosine` is its similarity to the query, None if that is unknown.
    """

    chunk: Chunk
    title: str
    path: str
    score: float
    parts: Mapping[str, float]
    created_at: datetime
    kind: DocumentKind = DocumentKind.DOCUMENT
    sha256: str = ""
    cosine: float | None = None


@dataclass(frozen=True, slots=True)
class DocumentMatch:
    """A document of a room, or a note. `chunk` is its best match; None when no text was searched for. `title`
    marks the words in the title. `matches` counts the matching chunks among those examined."""

    document: Document
    room: RoomKind
    title: Snippet
    score: float = 0.0
    chunk: Chunk | None = None
    snippet: Snippet | None = None
    matches: int = 0
    kind: DocumentKind = DocumentKind.DOCUMENT

    @property
    def dated(self) -> datetime:
        """When the file was last changed, or else when it was added."""
        return self.document.modified_at or self.document.added_at


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage in a prompt of a session, by the number (`marker`) under which a reply can cite it.

    `message` is the user's message that it was given with. `sha256` is that of the document's file then;
    `current`: it has not changed since.
    """

    marker: int
    document: str
    title: str
    page: int | None
    lines: tuple[int, int]
    begin: int
    end: int
    heading: tuple[str, ...]
    text: str = field(repr=False)
    sha256: str
    message: str
    header: str = ""
    kind: DocumentKind = DocumentKind.DOCUMENT
    current: bool = True


@dataclass(frozen=True, slots=True)
class Material:
    """What a session can read: attachments, documents that it is about, and passages in its prompts.

    `notes`, `skills`: the room has notes, or skills in use, which every session can use.
    """

    attachments: tuple[Attachment, ...] = ()
    documents: tuple[Document, ...] = ()
    passages: tuple[StoredPassage, ...] = ()
    notes: bool = False
    skills: bool = False


@dataclass(frozen=True, slots=True)
class StoredCitation:
    """A citation of a reply. `quote` is the document's text from `begin` to `end` if it is `verified`.

    `current`: the document has not changed since.
    """

    marker: int
    document: str
    title: str
    page: int | None
    lines: tuple[int, int]
    begin: int
    end: int
    quote: str = field(repr=False)
    verified: bool
    sha256: str
    current: bool = True
    kind: DocumentKind = DocumentKind.DOCUMENT


@dataclass(frozen=True, slots=True)
class CitedReply:
    """The citations of a reply, and the ranges of its text that no passage supports.

    `last_passage` is the highest number of a passage that the reply could cite; 0 if that is not known.
    """

    citations: tuple[StoredCitation, ...] = ()
    unsupported: tuple[tuple[int, int], ...] = ()
    last_passage: int = 0


@dataclass(frozen=True, slots=True)
class ErasedDocuments:
    """What was erased with documents, of which `notes` were notes; `memories` were learned from these alone.

    `recalled_in` are the sessions whose prompts had passages of them. `verified`: nothing of them was found
    afterwards.
    """

    documents: int
    chunks: int
    vectors: int
    summaries: int
    citations: int
    jobs: int
    recalled_in: tuple[str, ...]
    verified: bool
    notes: int = 0
    memories: int = 0


@dataclass(frozen=True, slots=True)
class ChunkEntry:
    """A chunk as search reads it: `words` is the number of its words, with those of title and headings."""

    seq: int
    id: str
    document: str
    number: int
    page: int | None
    words: int


@dataclass(frozen=True, slots=True)
class DocumentEntry:
    """A document as search reads it. `searched`: it may be found."""

    id: str
    location: str
    project: str | None
    folder: str | None
    searched: bool
    kind: DocumentKind = DocumentKind.DOCUMENT


ALL_CHUNKS = (0, 2**62)
"""The first and last `seq` that a chunk can have."""


@dataclass(frozen=True, slots=True)
class ChunkPosting:
    """Where a stem or a phrase occurs: the `seq` of chunks, once for each time; in their texts, and in their
    contexts. `weight` is how much it counts, compared with a word of the question."""

    term: str
    text: "NDArray[np.int64]"
    context: "NDArray[np.int64]"
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class DocumentChanges:
    """The changes since a version: chunks by `seq`, documents by id. `version` is the one to ask with next
    time.
    """

    version: int
    chunks: frozenset[int]
    documents: frozenset[str]


@dataclass(frozen=True, slots=True)
class UnembeddedChunk:
    """A chunk without a vector. `context` is embedded together with `text`."""

    seq: int
    id: str
    document: str
    context: str = field(repr=False)
    text: str = field(repr=False)
