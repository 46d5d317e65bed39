"""Attachments of a room's sessions: parses typed paths, reads files within limits, stores and embeds them."""

import asyncio
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

from atlas_desktop.errors import AttachmentRefused, DocumentRefused, Refusal
from atlas_desktop.locale import _, formats, number
from atlas_desktop.parsing.client import DocumentParser
from atlas_desktop.parsing.protocol import HEAD, OWN_PROCESS, media_type_of
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.context import EpochService
from atlas_desktop.services.events import Notice
from memory.attachments import Attachment, Document, NewAttachment
from memory.context.library import DocumentReading, DocumentUse
from memory.storage.store import Store
from models.errors import ModelsError
from models.ports import Embedder

_QUOTES = "'\""
_LONGEST = 4_096


def typed_path(text: str) -> str:
    """Returns the path in a text: quoted, with backslash-escaped spaces, a `file:` URL, or plain."""
    given = text.strip()
    if given.startswith("file://"):
        return unquote(urlsplit(given).path)
    if given[:1] in _QUOTES or re.search(r"\\[^\\]", given):
        try:
            parts = shlex.split(given)
        except ValueError:
            return given
        return parts[0] if len(parts) == 1 else given
    return given


def pasted_file(text: str) -> Path | None:
    """Returns the file that a pasted text names, if it is only the full path of an existing file.

    Accesses the disk.
    """
    given = text.strip()
    if not given or "\n" in given or len(given) > _LONGEST:
        return None
    named = typed_path(given)
    if not named.startswith(("/", "~")) and not re.match(r"[A-Za-z]:\\", named):
        return None
    try:
        path = Path(named).expanduser()
        return path if path.is_file() else None
    except (OSError, RuntimeError, ValueError):
        # The home folder is unknown, or the text is not a path on this system.
        return None


MOST_BYTES = 50_000_000
MOST_CHARACTERS = 2_000_000
_MEDIA_TYPES = {
    ".md": "text/markdown",
    ".markdown": "text/markdown",
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".py": "text/x-python",
    ".toml": "application/toml",
    ".xml": "text/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
}
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


async def read_attachment(path: str | Path) -> NewAttachment:
    """Reads a file as an attachment to be stored. Raises `AttachmentRefused`.

    PDFs and the documents of office programs are parsed by a confined process of their own; any other file
    is read as plain text.
    """
    given = _path(path)
    name = clean_line(given.name) or "file"
    data = await asyncio.to_thread(_bytes_of, given, name)
    media_type = media_type_of(given.name, data[:HEAD])
    if media_type in OWN_PROCESS:
        text = await _parsed(data, name)
    else:
        media_type = _MEDIA_TYPES.get(given.suffix.lower(), "text/plain")
        text = await asyncio.to_thread(_plain_text, data, name)
    if not text:
        raise AttachmentRefused(name, Refusal.EMPTY)
    return NewAttachment(name, media_type, len(data), text)


def _path(given: str | Path) -> Path:
    """Expands `~` to the user's home; if the home folder is unknown, `~` is an ordinary name."""
    try:
        return Path(given).expanduser()
    except RuntimeError:
        return Path(given)


def _bytes_of(path: Path, name: str) -> bytes:
    try:
        if not path.exists():
            raise AttachmentRefused(name, Refusal.MISSING)
        if not path.is_file():
            raise AttachmentRefused(name, Refusal.NOT_A_FILE)
        if path.stat().st_size > MOST_BYTES:
            raise AttachmentRefused(name, Refusal.TOO_LARGE, MOST_BYTES)
        with path.open("rb") as file:
            # Do not read endlessly from a file that keeps growing.
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        # ValueError: a path that no system accepts, such as one with a null character.
        raise AttachmentRefused(name, Refusal.UNREADABLE) from error
    if len(data) > MOST_BYTES:
        raise AttachmentRefused(name, Refusal.TOO_LARGE, MOST_BYTES)
    return data


def _plain_text(data: bytes, name: str) -> str:
    encoding = next((found for mark, found in _MARKS.items() if data.startswith(mark)), "utf-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise AttachmentRefused(name, Refusal.NOT_TEXT) from None
    if "\0" in text:
        raise AttachmentRefused(name, Refusal.NOT_TEXT)
    return _tidy(text, name)


def _tidy(text: str, name: str) -> str:
    """Returns the cleaned text; empty if it is blank.

    Raises `AttachmentRefused` for more text than a model could ever read.
    """
    tidy = clean(text.replace("\r\n", "\n")).strip("\n")
    if len(tidy) > MOST_CHARACTERS:
        raise AttachmentRefused(name, Refusal.TOO_MUCH_TEXT, MOST_CHARACTERS)
    return tidy if tidy.strip() else ""


async def _parsed(data: bytes, name: str) -> str:
    parser = DocumentParser(ahead=False)
    try:
        parsed = await parser.parse(data, name)
    except DocumentRefused as error:
        raise AttachmentRefused(name, error.reason, error.limit) from None
    finally:
        await parser.close()
    return await asyncio.to_thread(_tidy, parsed.text, name)


class AttachmentService:
    """The attachments of one room's sessions. Raises what `AttachmentStore` raises."""

    def __init__(self, store: Store, epochs: EpochService) -> None:
        self._store = store
        self._epochs = epochs

    async def attach_file(self, session_id: str, path: str | Path) -> Attachment:
        """Reads a file and attaches it. Raises `AttachmentRefused` as well."""
        return await self.attach(session_id, await read_attachment(path))

    async def attach(self, session_id: str, new: NewAttachment) -> Attachment:
        return await self._store.attachments.attach(session_id, new)

    async def attached(self, session_id: str) -> list[Attachment]:
        return await self._store.attachments.attached(session_id)

    async def documents(self) -> list[Document]:
        """Returns every file that is attached to a session of the room, by name."""
        return await self._store.attachments.documents()

    async def detach(self, session_id: str, ref: str) -> Attachment:
        """Removes a file from the session, its prompts, and the model's states of them.

        No reply may be in progress in it.
        """
        gone = await self._store.attachments.detach(session_id, ref)
        await self._epochs.forget([session_id])
        return gone


DOCUMENTS = "documents"
"""The code of the notice that reports how much is read."""


class PassageEmbedder:
    """`memory.context.library.PassageVectors`. `embedder` is called for each use, because it can change."""

    def __init__(self, embedder: Callable[[], Embedder | None]) -> None:
        self._embedder = embedder

    async def model(self) -> str | None:
        embedder = self._embedder()
        if embedder is None:
            return None
        try:
            return await embedder.embedding_fingerprint()
        except ModelsError:
            # Text search alone still finds a lot. The background work reports a broken model.
            return None

    async def vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | None:
        embedder = self._embedder()
        if embedder is None:
            return None
        try:
            return await embedder.embed(texts)
        except ModelsError:
            return None


def reading_of(use: DocumentUse) -> str:
    """Describes how much of an attachment is read."""
    if use.of:
        if use.reading is DocumentReading.UNREAD:
            return _("none of the {count} passages fit in the context", count=number(use.of))
        return _(
            "{passages} of {count} passages, the closest to your message",
            count=number(use.of),
            passages=formats().number(use.passages),
        )
    if use.reading is DocumentReading.UNREAD:
        return _("no space left in the context")
    return _("in full, {count} tokens", count=number(use.tokens))


def documents_notice(uses: Sequence[DocumentUse]) -> Notice | None:
    """Returns the notice about a turn's attachments; None if all are in the prompt since an earlier turn."""
    told = [use for use in uses if use.reading is not DocumentReading.STANDING]
    if not told:
        return None
    each = "; ".join(
        _("{name} ({reading})", name=clean_line(use.name), reading=reading_of(use)) for use in told
    )
    return Notice(DOCUMENTS, _("Read: {each}.", each=each))
