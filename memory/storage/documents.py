"""The documents of one room: folders, texts, chunks, vectors, summaries and citations."""

import json
from collections.abc import Collection, Sequence
from sys import intern
from typing import TYPE_CHECKING

from memory.clock import Clock
from memory.documents.entities import (
    ALL_CHUNKS,
    Chunk,
    ChunkEntry,
    ChunkPosting,
    CitedReply,
    Document,
    DocumentChanges,
    DocumentEntry,
    DocumentKind,
    DocumentState,
    DocumentSummary,
    ErasedDocuments,
    FileFacts,
    KnownFile,
    LoadedChunk,
    Material,
    NewDocument,
    OnMissing,
    StoredCitation,
    StoredPassage,
    UnembeddedChunk,
    WatchedFolder,
)
from memory.documents.ranking import Looked
from memory.storage import skills as skills
from memory.storage.changes import ChangeNotes
from memory.storage.connection import Connection
from memory.storage.connection import columns as columns_of
from memory.storage.database import Database, Reader
from memory.storage.queries import context, documents, notes
from memory.storage.queries.documents import SEARCHED
from memory.storage.words import is_unspaced
from memory.vectors.entities import StoredVector, VectorChanges, VectorCounts, VectorPage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# ruff: noqa: S608  # the names put into SQL are all written in this module


_LISTED = "(SELECT value FROM json_each(?))"
_PLACES_A_CHUNK = 4
"""A letter in more places than this many for each chunk that a term may be in counts as too common."""

# The vocabularies list where each stem and each piece occurs; they store nothing themselves.
_VOCABULARIES = (
    "CREATE VIRTUAL TABLE temp.chunk_word_places USING fts5vocab(main, chunks_fts, instance)",
    "CREATE VIRTUAL TABLE temp.chunk_word_counts USING fts5vocab(main, chunks_fts, row)",
    "CREATE VIRTUAL TABLE temp.chunk_piece_places USING fts5vocab(main, chunks_pieces, instance)",
)


def know_vocabularies(conn: Connection) -> None:
    """Lets the connection query the full-text indexes of chunks for single words."""
    for statement in _VOCABULARIES:
        conn.execute(statement)


# FTS5 stores the length of a row as one variable-length number per column.
_ENTRY = """
    SELECT c.seq, c.id, c.document_id, c.number, c.page, hex(w.sz) AS words, hex(p.sz) AS pieces
    FROM chunks AS c
    LEFT JOIN chunks_fts_docsize AS w ON w.id = c.seq
    LEFT JOIN chunks_pieces_docsize AS p ON p.id = c.seq
"""
_ENTRY_COLUMNS = ("seq", "id", "document_id", "number", "page", "words", "pieces")


def entries(conn: Connection, after: int, limit: int) -> list[ChunkEntry]:
    """Returns chunks in storage order, from the first `seq` greater than `after`."""
    return _entries(conn, "WHERE c.seq > ? ORDER BY c.seq LIMIT ?", (after, max(limit, 0)))


def entries_of(conn: Connection, seqs: Collection[int]) -> list[ChunkEntry]:
    return _entries(conn, f"WHERE c.seq IN {_LISTED} ORDER BY c.seq", (json.dumps(list(seqs)),))


def _entries(conn: Connection, which: str, parameters: Sequence[object]) -> list[ChunkEntry]:
    found, _ = columns_of(conn, f"{_ENTRY} {which}", _ENTRY_COLUMNS, parameters)
    seqs, ids, documents, numbers, pages, words, pieces = found
    length = {size: sum(_numbers(size)) for size in {*words, *pieces}}
    lengths = [length[one] + length[other] for one, other in zip(words, pieces, strict=True)]
    return list(map(ChunkEntry, seqs, map(intern, ids), map(intern, documents), numbers, pages, lengths))


def _numbers(varints: str | None) -> list[int]:
    """Decodes SQLite's variable-length numbers in hex: seven bits a byte, the highest set if more follow."""
    found, value = [], 0
    for byte in bytes.fromhex(varints or ""):
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            found.append(value)
            value = 0
    return found


def document_entries(conn: Connection, ids: Collection[str] | None) -> list[DocumentEntry]:
    """Returns the entries of these documents, or of all."""
    where = "" if ids is None else f"WHERE d.id IN {_LISTED}"
    searched = ", ".join(f"'{state}'" for state in SEARCHED)
    rows = conn.execute(
        f"""
        SELECT d.id, coalesce(d.location, ''), p.name, d.folder_id,
            d.state IN ({searched}) AND n.deleted_at IS NULL, d.kind
        FROM documents AS d LEFT JOIN projects AS p ON p.id = d.project_id
        LEFT JOIN notes AS n ON n.document_id = d.id {where}
        """,
        () if ids is None else (json.dumps(list(ids)),),
    )
    return [
        DocumentEntry(intern(id_), location, project, folder, bool(searched), DocumentKind(kind))
        for id_, location, project, folder, searched, kind in rows.fetchall()
    ]


def posting(
    conn: Connection, term: str, at_most: int, within: tuple[int, int] = ALL_CHUNKS
) -> ChunkPosting | None:
    """Returns where a term occurs; None if it occurs nowhere, or in more than `at_most` chunks.

    `within` bounds the `seq` of the chunks that are read; such a bound lifts the one of their number.
    """
    if is_unspaced(term):
        return _piece_posting(conn, term, at_most)
    if within == ALL_CHUNKS:
        known = conn.execute("SELECT doc FROM temp.chunk_word_counts WHERE term = ?", (term,)).fetchone()
        if known is None or known[0] > at_most:
            return None
    # One text with all places is read several times faster than one row for each. Places in contexts are
    # negative: two texts take twice as long.
    (listed,) = conn.execute(
        """
        SELECT group_concat(CASE col WHEN 'text' THEN doc ELSE -doc END) FROM temp.chunk_word_places
        WHERE term = ? AND doc BETWEEN ? AND ?
        """,
        (term, *within),
    ).fetchone()
    places = _listed(listed)
    return ChunkPosting(term, places[places > 0], -places[places < 0]) if len(places) else None


def _listed(text: str | None) -> "NDArray[np.int64]":
    """Returns the numbers of a list with commas; None is an empty one."""
    import numpy as np

    return np.fromstring(text or "", np.int64, sep=",")


def matching(
    conn: Connection, match: str, name: str, weight: float, within: tuple[int, int]
) -> ChunkPosting | None:
    """Returns the chunks that match an FTS5 expression (`memory.documents.ranking.Looked`), as a posting of
    that name and weight; None if there are none."""
    (listed,) = conn.execute(
        """
        SELECT group_concat(rowid) FROM (
            SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid BETWEEN ? AND ?
        )
        """,
        (match, *within),
    ).fetchone()
    found = _listed(listed)
    return ChunkPosting(name, found, found[:0], weight) if len(found) else None


def _piece_posting(conn: Connection, term: str, at_most: int) -> ChunkPosting | None:
    # One or two letters are the beginning of pieces. Reading stops where it is clear that there are many.
    limit = _PLACES_A_CHUNK * at_most
    (listed,) = conn.execute(
        """
        SELECT group_concat(doc) FROM (
            SELECT doc FROM temp.chunk_piece_places WHERE term >= ?1 AND term < ?1 || char(0x10ffff) LIMIT ?2
        )
        """,
        (term, limit + 1),
    ).fetchone()
    found = _listed(listed)
    if not len(found) or len(found) > limit or len(set(found.tolist())) > at_most:
        return None
    return ChunkPosting(term, found, found[:0])


# --- vectors ----------------------------------------------------------------------------------------


def unembedded(conn: Connection, model: str, *, limit: int, after: int) -> list[UnembeddedChunk]:
    """Returns chunks without a vector of `model`, in storage order, from the first `seq` greater than
    `after`."""
    rows = conn.execute(
        """
        SELECT c.seq, c.id, c.document_id, c.context, c.text FROM chunks AS c
        WHERE c.seq > ? AND NOT EXISTS (
            SELECT 1 FROM chunk_vectors WHERE chunk_id = c.id AND model = ? AND part = 0
        )
        ORDER BY c.seq LIMIT ?
        """,
        (after, model, max(limit, 0)),
    )
    return [UnembeddedChunk(*row) for row in rows.fetchall()]


def put_vectors(conn: Connection, model: str, made: Sequence[tuple[str, Sequence[bytes]]]) -> None:
    """Stores the vectors of chunks, by the chunk's id. A chunk that no longer exists is left out."""
    conn.executemany(
        """
        INSERT OR REPLACE INTO chunk_vectors (chunk_id, document_id, part, model, data)
        SELECT id, document_id, ?, ?, ? FROM chunks WHERE id = ?
        """,
        [(part, model, data, chunk_id) for chunk_id, parts in made for part, data in enumerate(parts)],
    )


_VECTORS = """
    SELECT v.chunk_id, v.part, v.document_id, p.name AS project, v.data, v.rowid AS place
    FROM chunk_vectors AS v JOIN documents AS d ON d.id = v.document_id
    LEFT JOIN projects AS p ON p.id = d.project_id
"""
_VECTOR_COLUMNS = ("chunk_id", "part", "document_id", "project", "place")


def scan(conn: Connection, model: str, after: int, limit: int) -> VectorPage:
    """Returns vectors in storage order. The session of each is the id of its document."""
    rows = f"{_VECTORS} WHERE v.rowid > ? AND v.model = ? ORDER BY v.rowid LIMIT ?"
    (owners, parts, documents, projects, places), data = columns_of(
        conn, rows, _VECTOR_COLUMNS, (after, model, limit), blobs="data"
    )
    if not places:
        return VectorPage()
    kinds = ["chunk"] * len(places)
    return VectorPage(
        kinds, list(map(intern, owners)), parts, list(map(intern, documents)), projects, data, last=places[-1]
    )


def vectors_of(
    conn: Connection, model: str, owners: Collection[str], documents: Collection[str]
) -> list[StoredVector]:
    rows = conn.execute(
        f"{_VECTORS} WHERE v.model = ? AND (v.chunk_id IN {_LISTED} OR v.document_id IN {_LISTED})",
        (model, json.dumps(list(owners)), json.dumps(list(documents))),
    )
    return [StoredVector("chunk", intern(row[0]), row[1], *row[2:5]) for row in rows.fetchall()]


def counts(conn: Connection) -> dict[str, int]:
    """Returns how many vectors there are of each model."""
    return dict(conn.execute("SELECT model, count(*) FROM chunk_vectors GROUP BY model").fetchall())


def drop_other_models(conn: Connection, model: str) -> int:
    return int(conn.execute("DELETE FROM chunk_vectors WHERE model <> ?", (model,)).rowcount)


class DocumentStore:
    """The documents of one room. A `ref` is an id, a unique prefix of one, or an absolute path. Raises the
    errors of `Store`, `DocumentNotFound`, `FolderNotFound`. A call that has returned is durable."""

    def __init__(
        self, database: Database, clock: Clock, changes: ChangeNotes, reads: Reader | Database
    ) -> None:
        self._database = database
        self._clock = clock
        self.evidence = ChunkEvidenceStore(database, changes)
        self.vectors = ChunkVectorStore(database, changes, reads)

    # --- folders ----------------------------------------------------------------------------------

    async def folders(self) -> list[WatchedFolder]:
        return await self._database.read(documents.folders)

    async def folder(self, ref: str) -> WatchedFolder:
        """Returns a watched folder by its id or absolute path."""
        return await self._database.read(lambda conn: documents.folder(conn, ref))

    async def watch(
        self,
        path: str,
        location: str,
        *,
        project: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        on_missing: OnMissing = OnMissing.KEEP,
    ) -> WatchedFolder:
        """Adds a watched folder, or gives a known one these rules. `location` is its absolute path."""
        now = self._clock.now()
        return await self._database.write(
            lambda conn: documents.watch(
                conn,
                path,
                location,
                project=project,
                include=include,
                exclude=exclude,
                on_missing=on_missing,
                now=now,
            )
        )

    async def unwatch(self, folder_id: str) -> None:
        """Ends watching a folder. Its documents stay, and belong to no folder."""
        await self._database.erase(lambda conn: documents.unwatch(conn, folder_id))

    async def scanned(self, folder_id: str, skipped: Sequence[tuple[str, str]]) -> None:
        """Records that a folder was scanned, and what was left out."""
        now = self._clock.now()
        await self._database.write(lambda conn: documents.scanned(conn, folder_id, skipped, now))

    async def known_files(self, folder_id: str | None = None) -> list[KnownFile]:
        """Returns the documents that come from files, of one watched folder or of all places."""
        return await self._database.read(lambda conn: documents.known_files(conn, folder_id))

    async def same_content(self, sha256: str) -> list[KnownFile]:
        """Returns the documents that come from files with that content."""
        return await self._database.read(lambda conn: documents.same_content(conn, sha256))

    # --- documents --------------------------------------------------------------------------------

    async def get(self, ref: str) -> Document:
        return await self._database.read(lambda conn: documents.get(conn, documents.resolve(conn, ref)))

    async def get_many(self, refs: Sequence[str]) -> list[Document]:
        """Returns documents in the requested order, each once."""

        def work(conn: Connection) -> list[Document]:
            ids = dict.fromkeys(documents.resolve(conn, ref) for ref in refs)
            return [documents.get(conn, one) for one in ids]

        return await self._database.read(work)

    async def text(self, document_id: str, page: int | None = None) -> str | None:
        """Returns the text of a document, or of one of its pages; None if it has no such page."""
        return await self._database.read(lambda conn: documents.text_of(conn, document_id, page))

    async def pages(self, document_id: str) -> tuple[int, ...]:
        """Returns where the pages of a document begin; empty without pages."""
        return await self._database.read(lambda conn: documents.pages_of(conn, document_id))

    async def chunks(self, document_id: str) -> list[Chunk]:
        return await self._database.read(lambda conn: documents.chunks_of(conn, document_id))

    async def hits(self, seqs: Sequence[int]) -> dict[int, LoadedChunk]:
        """Returns chunks with what a hit contains about their documents, by `seq`."""
        return await self._database.read(lambda conn: documents.hits(conn, seqs))

    async def content(self, document_id: str) -> bytes | None:
        """Returns the copy of a document's file, if there is one."""
        return await self._database.read(lambda conn: documents.content_of(conn, document_id))

    async def location(self, document_id: str) -> str | None:
        """Returns the absolute path of a document's file, if it has one."""
        return await self._database.read(lambda conn: documents.location_of(conn, document_id))

    async def counts(self) -> dict[str, int]:
        """Returns how many documents are in each state."""
        return await self._database.read(documents.counts)

    async def waiting(self) -> tuple[int, int, int]:
        """Returns the numbers of chunks, of chunks without any vector, and of documents without a summary."""
        return await self._database.read(documents.waiting)

    async def put(self, new: Sequence[NewDocument]) -> list[str]:
        """Stores the content read from files, in one transaction; returns the ids. Unchanged chunks keep
        their ids and vectors.
        """
        now = self._clock.now()
        return await self._database.write(lambda conn: [documents.put(conn, one, now) for one in new])

    async def place(self, moved: Sequence[tuple[str, str, FileFacts, str | None]]) -> None:
        """Records where the files of documents are now: id, path as given, facts, watched folder.

        Their texts are unchanged. Documents may exchange their places.
        """

        def work(conn: Connection) -> None:
            documents.free_locations(conn, [one[0] for one in moved])
            for document_id, path, facts, folder_id in moved:
                documents.place(conn, document_id, path, facts, folder_id)

        await self._database.write(work)

    async def set_state(self, document_ids: Collection[str], state: DocumentState) -> None:
        await self._database.write(lambda conn: documents.set_state(conn, document_ids, state))

    async def excluded(self, names: Collection[str]) -> frozenset[str]:
        """Returns those of these absolute paths, or SHA-256 of contents, that a scan of a folder must not
        add: their documents were removed for good, or have left for another room."""
        return await self._database.read(lambda conn: documents.excluded(conn, names))

    async def excludes_any(self) -> bool:
        """Whether there are files that scans must not add."""
        return await self._database.read(documents.excludes_any)

    async def told_in(self, document_ids: Collection[str]) -> tuple[str, ...]:
        """Returns the sessions whose prompts may contain text of these documents."""
        return await self._database.read(lambda conn: documents.told_in(conn, document_ids))

    async def used_in(self, session_ids: Collection[str]) -> int:
        """Returns how many documents these sessions are about, have in their prompts, or cite."""
        return await self._database.read(lambda conn: documents.used_in(conn, session_ids))

    async def erase(self, document_ids: Collection[str], *, for_good: bool = False) -> ErasedDocuments:
        """Erases documents and everything made from them, in one transaction, and checks whether anything of
        them is left. Messages stay, including those that quote a document. `for_good`: scans of watched
        folders do not add the files again.
        """
        return await self._database.erase(lambda conn: documents.erase(conn, document_ids, for_good=for_good))

    # --- sessions ---------------------------------------------------------------------------------

    async def bind(self, session_id: str, document_ids: Sequence[str]) -> None:
        """Binds these documents to a session, in addition to others."""
        now = self._clock.now()
        await self._database.write(lambda conn: documents.bind(conn, session_id, document_ids, now))

    async def unbind(self, session_id: str, document_id: str) -> None:
        await self._database.write(lambda conn: documents.unbind(conn, session_id, document_id))

    async def bound(self, session_id: str) -> list[Document]:
        """Returns the documents that a session is about, in the order in which they were added."""
        return await self._database.read(lambda conn: documents.bound(conn, session_id))

    async def material(self, session_id: str) -> Material:
        """Returns everything that a session can read, at once."""

        def work(conn: Connection) -> Material:
            attached = context.attachments_of_session(conn, session_id)
            bound = documents.bound(conn, session_id)
            has_notes = notes.any_note(conn)
            passages = documents.passages_of(conn, session_id) if bound or has_notes else []
            return Material(
                tuple(attached), tuple(bound), tuple(passages), has_notes, skills.any_in_use(conn, session_id)
            )

        return await self._database.read(work)

    async def passages(self, session_id: str) -> list[StoredPassage]:
        """Returns the passages in the prompts of a session, by their numbers."""
        return await self._database.read(lambda conn: documents.passages_of(conn, session_id))

    async def put_passages(self, session_id: str, passages: Sequence[StoredPassage]) -> None:
        """Stores the passages given to a message; replaces those that it had."""
        await self._database.write(lambda conn: documents.put_passages(conn, session_id, passages))

    async def cited(self, reply_id: str) -> CitedReply:
        return await self._database.read(lambda conn: documents.cited(conn, reply_id))

    async def put_citations(
        self,
        session_id: str,
        reply_id: str,
        citations: Sequence[StoredCitation],
        unsupported: Sequence[tuple[int, int]],
    ) -> None:
        """Stores a reply's citations and the ranges of its text without support; replaces earlier ones."""
        await self._database.write(
            lambda conn: documents.put_citations(conn, session_id, reply_id, citations, unsupported)
        )

    # --- summaries --------------------------------------------------------------------------------

    async def put_summary(self, document_id: str, summary: DocumentSummary, sha256: str) -> bool:
        """Stores a summary of the text with that digest; False if the text of the document has changed."""
        now = self._clock.now()
        return await self._database.write(
            lambda conn: documents.put_summary(conn, document_id, summary, sha256, now)
        )

    async def summary_parts(self, document_id: str) -> dict[bytes, DocumentSummary]:
        """Returns the summaries of the parts of a text, by the digests of the parts."""
        return await self._database.read(lambda conn: documents.summary_parts(conn, document_id))

    async def put_summary_part(self, document_id: str, hash_: bytes, part: DocumentSummary) -> None:
        await self._database.write(lambda conn: documents.put_summary_part(conn, document_id, hash_, part))

    async def drop_summary_parts(self, document_id: str, *, but: Collection[bytes]) -> None:
        await self._database.write(lambda conn: documents.drop_summary_parts(conn, document_id, but=but))

    async def unsummarised(self, *, limit: int = 100) -> list[tuple[str, int]]:
        """Returns documents without a summary of their present text, and the lengths of these, latest
        first."""
        return await self._database.read(lambda conn: documents.unsummarised(conn, limit=limit))

    async def list(
        self, *, project: str | None = None, state: DocumentState | None = None, folder: str | None = None
    ) -> list[Document]:
        """Returns documents by path; only those of a project, in a state, in a watched folder (by id).

        Raises `ProjectNotFound`.
        """
        return await self._database.read(
            lambda conn: documents.select(
                conn, project=project, state=None if state is None else state.value, folder_id=folder
            )
        )


class ChunkEvidenceStore:
    """The data of one room that the search in documents reads. Raises the errors of `Store`."""

    def __init__(self, database: Database, notes: ChangeNotes) -> None:
        self._database = database
        self._notes = notes

    async def entries(self, *, after: int = 0, limit: int = 10_000) -> list[ChunkEntry]:
        """Returns chunks in storage order, from the first `seq` greater than `after`."""
        return await self._database.read(lambda conn: entries(conn, after, limit))

    async def entries_of(self, seqs: Collection[int]) -> list[ChunkEntry]:
        """Returns those of these chunks that exist."""
        return await self._database.read(lambda conn: entries_of(conn, seqs))

    async def documents(self, ids: Collection[str] | None = None) -> list[DocumentEntry]:
        """Returns the entries of these documents, or of all."""
        return await self._database.read(lambda conn: document_entries(conn, ids))

    async def postings(
        self,
        terms: Sequence[str],
        *,
        at_most: int,
        within: tuple[int, int] = ALL_CHUNKS,
        phrases: Sequence[Looked] = (),
    ) -> list[ChunkPosting]:
        """Returns where each of these stems and phrases occurs, without stems in more than `at_most` chunks.

        `within` are the first and last `seq` of the chunks that are read; then no stem is too common.
        """
        await self._database.prepare(know_vocabularies)

        def work(conn: Connection) -> list[ChunkPosting]:
            found = [posting(conn, term, at_most, within) for term in terms]
            found += [matching(conn, one.match, one.phrases[0], one.weight, within) for one in phrases]
            return [one for one in found if one is not None]

        return await self._database.read(work)

    async def changes(self, since: int | None) -> DocumentChanges:
        """Returns the changes since a version; None starts tracking and reports nothing."""
        if since is None:
            await self._database.prepare(self._notes.listen)
            return DocumentChanges(self._notes.version, frozenset(), frozenset())
        return await self._database.read(lambda _conn: self._since(since))

    def _since(self, since: int) -> DocumentChanges:
        return DocumentChanges(
            self._notes.version,
            frozenset(map(int, self._notes.since("chunk", since))),
            frozenset(map(str, self._notes.since("document", since))),
        )


class ChunkVectorStore:
    """The vectors of chunks. `model` is the fingerprint of an embedding model. A session of `VectorStore` is
    a document in this store.
    """

    def __init__(self, database: Database, notes: ChangeNotes, reader: Reader | Database) -> None:
        self._database = database
        self._notes = notes
        self._reader = reader

    async def unembedded(self, model: str, *, limit: int = 64, after: int = 0) -> list[UnembeddedChunk]:
        """Returns chunks without a vector of that model, in storage order."""
        return await self._database.read(lambda conn: unembedded(conn, model, limit=limit, after=after))

    async def put(self, model: str, made: Sequence[tuple[str, Sequence[bytes]]]) -> None:
        """Stores the vectors of chunks, by the chunk's id."""
        await self._database.write(lambda conn: put_vectors(conn, model, made))

    async def scan(self, model: str, *, after: int = 0, limit: int = 2000) -> VectorPage:
        return await self._reader.read(lambda conn: scan(conn, model, after, limit))

    async def of(
        self, model: str, *, owners: Collection[str] = (), sessions: Collection[str] = ()
    ) -> list[StoredVector]:
        return await self._database.read(lambda conn: vectors_of(conn, model, owners, sessions))

    async def counts(self) -> VectorCounts:
        return VectorCounts(await self._database.read(counts))

    async def drop_others(self, model: str) -> int:
        return await self._database.write(lambda conn: drop_other_models(conn, model))

    async def changes(self, since: int | None) -> VectorChanges:
        """Returns the changes since a version; None starts tracking and reports nothing."""
        if since is None:
            await self._database.prepare(self._notes.listen)
            return VectorChanges(self._notes.version, frozenset(), frozenset())

        def work(_conn: Connection) -> VectorChanges:
            owners = frozenset(map(str, self._notes.since("chunk_vector", since)))
            moved = frozenset(map(str, self._notes.since("document", since)))
            return VectorChanges(self._notes.version, owners, moved)

        return await self._database.read(work)
