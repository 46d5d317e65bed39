"""Reading the text out of a file that a person attaches, within limits."""

import asyncio
import signal
import sys
from enum import StrEnum
from pathlib import Path

import msgspec

from atlas_desktop.services.cleaning import clean, clean_line
from memory.attachments.entities import NewAttachment
from models.confinement import child_environment

MOST_BYTES = 50_000_000
MOST_CHARACTERS = 2_000_000
MOST_PAGES = 2_000
PDF_TIME_S = 40.0
MOST_MEMORY = 1_500_000_000
PDF = "application/pdf"
_PDF_CHILD = (sys.executable, "-m", "atlas_desktop.services.pdf_child")
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
# How the system ends a process that used more processor time than it may.
_OUT_OF_TIME = {-signal.SIGXCPU, -signal.SIGKILL} if sys.platform != "win32" else set[int]()
_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


class Refusal(StrEnum):
    """Why a file is not attached."""

    MISSING = "missing"
    UNREADABLE = "unreadable"
    NOT_A_FILE = "not_a_file"
    TOO_LARGE = "too_large"
    TOO_MUCH_TEXT = "too_much_text"
    TOO_MANY_PAGES = "too_many_pages"
    TOO_SLOW = "too_slow"
    TOO_MUCH_MEMORY = "too_much_memory"
    NOT_TEXT = "not_text"
    EMPTY = "empty"
    PICTURES = "pictures"
    ENCRYPTED = "encrypted"
    DAMAGED = "damaged"


_LIMITS = {
    Refusal.TOO_MANY_PAGES: MOST_PAGES,
    Refusal.TOO_MUCH_TEXT: MOST_CHARACTERS,
    Refusal.TOO_MUCH_MEMORY: MOST_MEMORY,
}


class AttachmentRefused(Exception):
    """A file that cannot be attached. `limit` is what it exceeds (bytes, characters, pages or seconds), 0
    where there is none."""

    def __init__(self, name: str, reason: Refusal, limit: int = 0) -> None:
        super().__init__(reason.value)
        self.name = name
        self.reason = reason
        self.limit = limit


class PdfText(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the child process read: the text of all pages, or why there is none."""

    text: str = ""
    refusal: Refusal | None = None


async def read_attachment(path: str | Path) -> NewAttachment:
    """What is to be stored of a file. Raises `AttachmentRefused`.

    Of a PDF only its text is read, by a process of its own that is ended when it takes too long.
    """
    given = _path(path)
    name = clean_line(given.name) or "file"
    data = await asyncio.to_thread(_bytes_of, given, name)
    if data.lstrip(b"\xef\xbb\xbf \t\r\n\0")[:5] == b"%PDF-":
        media_type, text = PDF, await _pdf_text(data, name)
    else:
        media_type = _MEDIA_TYPES.get(given.suffix.lower(), "text/plain")
        text = await asyncio.to_thread(_plain_text, data, name)
    if not text:
        raise AttachmentRefused(name, Refusal.PICTURES if media_type == PDF else Refusal.EMPTY)
    return NewAttachment(name, media_type, len(data), text)


def _path(given: str | Path) -> Path:
    """`~` is the person's home; what stands for no home is a name like any other."""
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
            # A file that grows meanwhile is not read for ever.
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
    """Nothing when it says nothing. Raises `AttachmentRefused` for more than a model could ever read."""
    tidy = clean(text.replace("\r\n", "\n")).strip("\n")
    if len(tidy) > MOST_CHARACTERS:
        raise AttachmentRefused(name, Refusal.TOO_MUCH_TEXT, MOST_CHARACTERS)
    return tidy if tidy.strip() else ""


async def _pdf_text(data: bytes, name: str) -> str:
    child = await asyncio.create_subprocess_exec(
        *_PDF_CHILD,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env=child_environment(),
        # Ctrl-C in the terminal is for the application.
        start_new_session=True,
    )
    try:
        answer, _ = await asyncio.wait_for(child.communicate(data), PDF_TIME_S)
    except TimeoutError:
        raise AttachmentRefused(name, Refusal.TOO_SLOW, int(PDF_TIME_S)) from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    try:
        read = msgspec.json.decode(answer, type=PdfText)
    except msgspec.DecodeError:
        if child.returncode in _OUT_OF_TIME:
            raise AttachmentRefused(name, Refusal.TOO_SLOW, int(PDF_TIME_S)) from None
        # It fell over: whatever the file did, it has no text for us.
        raise AttachmentRefused(name, Refusal.DAMAGED) from None
    if read.refusal is not None:
        raise AttachmentRefused(name, read.refusal, _LIMITS.get(read.refusal, 0))
    return await asyncio.to_thread(_tidy, read.text, name)
