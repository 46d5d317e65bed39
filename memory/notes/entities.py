"""The values of notes: what is read from their text, what is stored, and where links lead.

All positions are characters in the note's text, from 0; a range (begin, end) excludes its end.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from memory.documents.entities import NewChunk, ParsedText


class LinkKind(StrEnum):
    """The kinds of a link's target."""

    NOTE = "note"
    SESSION = "session"
    MESSAGE = "message"
    MEMORY = "memory"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class WrittenLink:
    """A link as written in a text, from `begin` to `end`.

    `target` is the title, path or id of what it leads to; `heading` is the part of it that is meant. `kind`
    is known where the link states it; otherwise it may lead to anything with that title. `relative`: the
    target is a path from the folder of the note. `embedded`: it shows what it leads to.
    """

    begin: int
    end: int
    target: str
    shown: str = ""
    heading: str = ""
    kind: LinkKind | None = None
    relative: bool = False
    embedded: bool = False


@dataclass(frozen=True, slots=True)
class Markup:
    """What the text of a note contains in addition to its words.

    `properties` are the names of its fields (`platforms:: …`), as often as they occur; those that every note
    program knows, like tags, are left out. `quiet` are ranges of code, front matter, addresses and links, in
    order: words there mention nothing. `quoted` are ranges of quotations and of code: they are not the user's
    own words.
    """

    title: str = ""
    links: tuple[WrittenLink, ...] = ()
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    properties: tuple[str, ...] = ()
    quiet: tuple[tuple[int, int], ...] = ()
    quoted: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class NewNote:
    """A note to be stored, with what was read from its text.

    `note` is the id of the note that it replaces, None for a new one. `content` is the file that it was
    imported from, if its bytes are not those of the text. `edited`: the text is no longer that of the file.
    `keep_version`: the text that it replaces can be restored.
    """

    title: str
    parsed: ParsedText = field(repr=False)
    markup: Markup = field(repr=False)
    chunks: tuple[NewChunk, ...] = field(default=(), repr=False)
    note: str | None = None
    project: str | None = None
    folder: str | None = None
    external_id: str = ""
    content: bytes | None = field(default=None, repr=False)
    edited: bool = True
    keep_version: bool = True
    created_at: datetime | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NoteLink:
    """A link of a note. `to` is the id of what it leads to, None if there is no such thing.

    `text` is the link's target as written, `title` the target's present title (empty if unknown).
    """

    to: str | None
    kind: LinkKind
    text: str
    begin: int
    end: int
    title: str = ""
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Backlink:
    """A note that links to something: `snippet` is the line around the link, which begins at `begin`."""

    note: str
    title: str
    snippet: str = field(repr=False)
    begin: int


@dataclass(frozen=True, slots=True)
class Note:
    """A note. `external_id` is its path below the folder `folder` that it was imported from."""

    id: str
    title: str
    text: str = field(repr=False)
    aliases: tuple[str, ...]
    project: str | None
    tags: tuple[str, ...]
    created_at: datetime
    updated_at: datetime
    version: int
    links: tuple[NoteLink, ...] = ()
    backlinks: tuple[Backlink, ...] = ()
    external_id: str = ""
    folder: str | None = None
    edited: bool = False
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """A note in a list: `words` is the beginning of its text."""

    id: str
    title: str
    words: str = field(repr=False)
    project: str | None
    tags: tuple[str, ...]
    updated_at: datetime
    external_id: str = ""
    deleted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class NoteVersion:
    """An earlier text of a note."""

    version: int
    title: str
    text: str = field(repr=False)
    written_at: datetime


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """Something that a link can lead to, by its title. `alias` is the other name that was asked for."""

    id: str
    kind: LinkKind
    title: str
    alias: str = ""


@dataclass(frozen=True, slots=True)
class NoteFolder:
    """A folder that notes were imported from. `in_step`: it is kept in sync, so changes are written back to
    it.
    """

    id: str
    path: str
    location: str
    in_step: bool
    added_at: datetime


@dataclass(frozen=True, slots=True)
class NoteFile:
    """Another file of such a folder, by its path below it."""

    path: str
    content: bytes = field(repr=False)
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class ImportedNote:
    """The file of an imported note. `disk_path` is where it was when it was last read or written (empty if it
    never was), `sha256` what it contained.
    """

    note: str
    external_id: str
    disk_path: str
    sha256: str
    edited: bool
    deleted: bool


LEAST_COSINE = 0.2
"""Notes about different things are below this; of the right suggestions of a vault, none was."""


class LinkReason(StrEnum):
    """The strongest reason for a link.

    mention: this note names the other. mentioned: the other names this one. linked: the same notes are linked
    with both. words: they share rare words. property: the other is about a property of this note. meaning:
    they are about similar things.
    """

    MENTION = "mention"
    MENTIONED = "mentioned"
    LINKED = "linked"
    WORDS = "words"
    PROPERTY = "property"
    MEANING = "meaning"


@dataclass(frozen=True, slots=True)
class Reason:
    """The fact that is the strongest reason for a link.

    `at` is the place of the mention, in this note for `MENTION` and in the other for `MENTIONED`. `words` are
    up to three words that both have, the rarest first; `notes` are up to three notes linked with both.
    """

    why: LinkReason
    at: tuple[int, int] | None = None
    words: tuple[str, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LinkSuggestion:
    """A note to link to. `score` and each of `parts`, named as in `SuggestionWeights`, are 0 … 1.

    Both compare the notes of a room with each other, so some note always comes first. `cosine` is that of the
    nearest chunks of both, which does not depend on other notes; None without vectors.
    """

    note: str
    score: float
    parts: Mapping[str, float]
    reason: Reason
    cosine: float | None = None

    @property
    def likely(self) -> bool:
        """Whether there is reason enough to suggest the link unasked: a fact, or else a similar passage."""
        fact = self.reason.why not in {LinkReason.WORDS, LinkReason.MEANING}
        return fact or self.cosine is None or self.cosine >= LEAST_COSINE
