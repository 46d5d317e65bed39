"""The notes of one room: texts with links, names, tags, versions, and the folders they came from."""

from collections.abc import Collection, Sequence
from datetime import datetime

from memory.clock import Clock
from memory.notes.entities import (
    Backlink,
    ImportedNote,
    LinkTarget,
    NewNote,
    Note,
    NoteEntry,
    NoteFile,
    NoteFolder,
    NoteVersion,
)
from memory.storage.changes import ChangeNotes
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import documents, notes


class NoteStore:
    """The notes of one room. A `ref` is an id, a unique prefix of one, a path below an imported folder, or a
    title. Raises the errors of `Store`, `NoteNotFound`, `AmbiguousId`. A call that has returned is
    durable."""

    def __init__(self, database: Database, clock: Clock, changes: ChangeNotes) -> None:
        self._database = database
        self._clock = clock
        self._changes = changes

    async def put(self, new: Sequence[NewNote]) -> list[str]:
        """Stores notes in one transaction; returns their ids. Links that are new, or that led nowhere, are
        looked up; others keep their targets.
        """
        now = self._clock.now()
        return await self._database.write(lambda conn: notes.put(conn, new, now))

    async def get(self, ref: str) -> Note:
        """Returns a note, also one in the bin if `ref` is an id."""
        return await self._database.read(lambda conn: notes.get(conn, notes.resolve(conn, ref)))

    async def get_many(self, ids: Sequence[str], *, with_backlinks: bool = True) -> list[Note]:
        """Returns notes by id, in the requested order; those that do not exist are left out. Looking up the
        notes that link to them takes as long as everything else.
        """
        return await self._database.read(
            lambda conn: notes.get_many(conn, ids, with_backlinks=with_backlinks)
        )

    async def any(self) -> bool:
        """Whether there is a note outside the bin."""
        return await self._database.read(notes.any_note)

    async def titled(self, title: str) -> str | None:
        """Returns the id of the note of that title, if there is one outside the bin."""
        return await self._database.read(lambda conn: notes.titled(conn, title))

    async def content(self, note_id: str) -> bytes | None:
        """Returns the file that a note was imported from, if its bytes are not those of the text."""
        return await self._database.read(lambda conn: documents.content_of(conn, note_id))

    async def backlinks(self, target: str) -> list[Backlink]:
        """Returns the notes that link to a note, session, message, memory or document, by its id."""
        found = await self._database.read(lambda conn: notes.backlinks(conn, [target]))
        return found.get(target, [])

    async def linked(self, ids: Collection[str]) -> frozenset[str]:
        """Returns those of these ids that a note links to."""
        return await self._database.read(lambda conn: notes.linked(conn, ids))

    async def targets(self, words: str = "", *, limit: int = 20) -> list[LinkTarget]:
        """Returns the notes, documents and sessions that a link can name, by the words of their titles."""
        return await self._database.read(lambda conn: notes.targets(conn, words, limit=limit))

    async def link_counts(self, ids: Sequence[str]) -> tuple[int, int]:
        """Returns how many links these notes have, and how many of them lead nowhere."""
        return await self._database.read(lambda conn: notes.link_counts(conn, ids))

    async def tags(self) -> dict[str, int]:
        """Returns the tags of notes and how many notes have each, most used first."""
        return await self._database.read(notes.tags)

    async def versions(self, note_id: str) -> list[NoteVersion]:
        """Returns the earlier texts of a note, latest first."""
        return await self._database.read(lambda conn: notes.versions(conn, note_id))

    async def version(self, note_id: str, number: int) -> NoteVersion:
        """Returns an earlier text of a note. Raises `VersionNotFound`."""
        return await self._database.read(lambda conn: notes.version(conn, note_id, number))

    async def changes(self, since: int | None) -> tuple[int, frozenset[str]]:
        """Returns the notes written since a version, and the version to ask with next time; None starts
        tracking and reports nothing.
        """
        if since is None:
            await self._database.prepare(self._changes.listen)
            return self._changes.version, frozenset()

        def work(_conn: Connection) -> tuple[int, frozenset[str]]:
            return self._changes.version, frozenset(map(str, self._changes.since("note", since)))

        return await self._database.read(work)

    async def unlearned(self, *, limit: int = 20) -> list[tuple[str, int]]:
        """Returns ids and versions of notes that were written in this program and not learned from since."""
        return await self._database.read(lambda conn: notes.unlearned(conn, limit))

    async def mark_learned(self, note_id: str, version: int) -> None:
        await self._database.write(lambda conn: notes.mark_learned(conn, note_id, version))

    # --- bin --------------------------------------------------------------------------------------

    async def bin(self, ids: Collection[str]) -> int:
        """Moves notes to the bin; returns how many."""
        now = self._clock.now()
        return await self._database.write(lambda conn: notes.bin_notes(conn, ids, now))

    async def restore(self, ids: Collection[str]) -> int:
        """Takes notes out of the bin; returns how many."""
        return await self._database.write(lambda conn: notes.restore(conn, ids))

    async def binned_before(self, when: datetime) -> list[str]:
        return await self._database.read(lambda conn: notes.binned_before(conn, when))

    # --- imported folders -------------------------------------------------------------------------

    async def add_folder(self, path: str, location: str) -> NoteFolder:
        """Returns the imported folder of that absolute path; adds it if it is new."""
        now = self._clock.now()
        return await self._database.write(lambda conn: notes.add_folder(conn, path, location, now))

    async def folders(self) -> list[NoteFolder]:
        return await self._database.read(notes.folders)

    async def keep_in_step(self, folder_id: str, *, wanted: bool) -> None:
        """Sets whether changes of notes are written back to the folder."""
        await self._database.write(lambda conn: notes.keep_in_step(conn, folder_id, wanted=wanted))

    async def imported(self, folder_id: str) -> list[ImportedNote]:
        """Returns the files of the notes of an imported folder, including those in the bin."""
        return await self._database.read(lambda conn: notes.imported(conn, folder_id))

    async def on_disk(self, note_id: str, path: str, sha256: str, *, edited: bool) -> None:
        """Records the place of a note's file, its digest, and whether the note differs from it."""
        await self._database.write(lambda conn: notes.on_disk(conn, note_id, path, sha256, edited=edited))

    async def put_files(self, folder_id: str, files: Sequence[NoteFile]) -> None:
        """Stores other files of an imported folder."""
        await self._database.write(lambda conn: notes.put_files(conn, folder_id, files))

    async def files(self, folder_id: str) -> list[NoteFile]:
        return await self._database.read(lambda conn: notes.files(conn, folder_id))

    async def file_digests(self, folder_id: str) -> dict[str, str]:
        """Returns the SHA-256 of the other files of an imported folder, by path."""
        return await self._database.read(lambda conn: notes.file_digests(conn, folder_id))

    async def is_only(self, title: str) -> bool:
        """Whether one note outside the bin has this title, as title, alias or path, and no other."""
        return await self._database.read(lambda conn: notes.is_only(conn, title))

    async def list(
        self, *, project: str | None = None, tag: str | None = None, binned: bool = False
    ) -> list[NoteEntry]:
        """Returns notes, latest change first. Raises `ProjectNotFound`."""
        return await self._database.read(
            lambda conn: notes.select(conn, project=project, tag=tag, binned=binned)
        )
