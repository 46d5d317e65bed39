"""Turns the text of a note into what is stored of it."""

from datetime import datetime

from atlas_desktop.parsing.markdown import structure
from atlas_desktop.services.cleaning import clean, clean_line
from memory.documents.chunking import chunks
from memory.documents.entities import ParsedText
from memory.notes.entities import NewNote, Note
from memory.notes.markup import front_matter, read_markup

MEDIA_TYPE = "text/markdown"


def read_note(
    title: str,
    text: str,
    *,
    note: str | None = None,
    project: str | None = None,
    folder: str | None = None,
    external_id: str = "",
    content: bytes | None = None,
    edited: bool = True,
    keep_version: bool = True,
    created_at: datetime | None = None,
    updated_at: datetime | None = None,
) -> NewNote:
    """Returns a note with its structure, links and chunks. Takes some milliseconds for a long text."""
    text = cleaned(text)
    headings, tables = structure(text, front_matter(text)[1])
    parsed = ParsedText(text, headings=headings, tables=tables, title=title)
    return NewNote(
        title=clean_line(title),
        parsed=parsed,
        markup=read_markup(text),
        chunks=tuple(chunks(parsed, MEDIA_TYPE)),
        note=note,
        project=project,
        folder=folder,
        external_id=external_id,
        content=content,
        edited=edited,
        keep_version=keep_version,
        created_at=created_at,
        updated_at=updated_at,
    )


def rewritten(note: Note, text: str, *, title: str | None = None, external_id: str | None = None) -> NewNote:
    """Returns a stored note with another text, or another title."""
    return read_note(
        note.title if title is None else title,
        text,
        note=note.id,
        project=note.project,
        folder=note.folder,
        external_id=note.external_id if external_id is None else external_id,
    )


def cleaned(text: str) -> str:
    r"""Returns text without control characters, whose lines end with \n."""
    return clean(text.replace("\r\n", "\n").replace("\r", "\n"))
