"""Turns files into documents: reads, parses and splits them, several at a time."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.parsing.client import DocumentParser
from atlas_desktop.parsing.formats import media_type_of, parser_of
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.documents.files import FileContent, read_file
from memory.documents.chunking import chunks
from memory.documents.entities import DocumentError, NewDocument

AT_A_TIME = 16
"""Files that are read and parsed at the same time."""
_HEAD = 4_096
PARTLY_PICTURES = "partly_pictures"


@dataclass(frozen=True, slots=True)
class Incoming:
    """A file to be read. `path` is as the user gave it; no link below `root` is followed. `document` is the
    id of the document that it replaces."""

    path: str
    location: Path
    root: Path | None = None
    document: str | None = None
    project: str | None = None
    folder: str | None = None
    copy: bool = False


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that could not be opened, so that nothing of it is stored."""

    incoming: Incoming
    error: DocumentRefused


async def read_all(
    files: Sequence[Incoming], parser: DocumentParser
) -> AsyncIterator[tuple[Incoming, NewDocument | DocumentRefused]]:
    """Yields each file with what was read from it, in order. A file that cannot be parsed is a document with
    an error; one that cannot be opened or is of no known format is refused."""
    running: list[asyncio.Task[NewDocument | DocumentRefused]] = []
    try:
        for at in range(len(files) + AT_A_TIME):
            if at < len(files):
                running.append(asyncio.create_task(_read(files[at], parser)))
            if at >= AT_A_TIME and running:
                yield files[at - AT_A_TIME], await running.pop(0)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def _read(one: Incoming, parser: DocumentParser) -> NewDocument | DocumentRefused:
    try:
        content = await asyncio.to_thread(read_file, one.location, one.root)
        return await parsed(one, content, parser)
    except DocumentRefused as refused:
        return refused


async def parsed(one: Incoming, content: FileContent, parser: DocumentParser) -> NewDocument:
    """Returns what a file contains. Raises `DocumentRefused` if it is of no known format."""
    name = one.location.name
    media_type = media_type_of(name, content.data[:_HEAD])
    if media_type is None:
        raise DocumentRefused(name, Refusal.UNKNOWN_FORMAT)

    def document(title: str = "", **rest: object) -> NewDocument:
        return NewDocument(
            path=one.path,
            facts=content.facts,
            sha256=content.sha256,
            media_type=media_type,
            parser=parser_of(media_type),
            title=title or clean_line(name) or "file",
            project=one.project,
            folder=one.folder,
            content=content.data if one.copy else None,
            document=one.document,
            **rest,  # type: ignore[arg-type]
        )

    try:
        text = await parser.parse(content.data, name)
    except DocumentRefused as refused:
        return document(error=DocumentError(refused.reason.value, refused.limit))
    pieces = await asyncio.to_thread(chunks, text, media_type)
    error = DocumentError(PARTLY_PICTURES, len(text.blank_pages)) if text.blank_pages else None
    return document(text.title, parsed=text, chunks=tuple(pieces), error=error)
