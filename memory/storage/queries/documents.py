"""Documents, their chunks and the folders they come from, as rows."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import hashlib
import json
import secrets
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import PurePath
from typing import Any

from memory.clock import micros, moment
from memory.documents.chunking import matched
from memory.documents.entities import (
    Chunk,
    CitedReply,
    Document,
    DocumentError,
    DocumentKind,
    DocumentState,
    DocumentSummary,
    ErasedDocuments,
    FileFacts,
    Heading,
    KnownFile,
    LoadedChunk,
    NewChunk,
    NewDocument,
    OnMissing,
    StoredCitation,
    StoredPassage,
    WatchedFolder,
)
from memory.errors import AmbiguousId, DocumentNotFound, FolderNotFound
from memory.storage.connection import Connection, id_range, new_id, one_line, storable
from memory.storage.queries import context as epochs
from memory.storage.queries import erasure, erasure_check, full_text, projects, tasks

_LISTED = "(SELECT value FROM json_each(?))"
_DIGEST_KEY = "left_files_key"
SEARCHED = ("indexed", "partial", "missing")
"""The states in which a document is searched."""

# --- folders ----------------------------------------------------------------------------------------

_FOLDERS = """
    SELECT f.id, f.path, f.location, p.name, f.include, f.exclude, f.on_missing, f.added_at, f.scanned_at,
        f.skipped
    FROM document_folders AS f LEFT JOIN projects AS p ON p.id = f.project_id
"""


def _folder(row: Any) -> WatchedFolder:
    return WatchedFolder(
        id=row[0],
        path=row[1],
        location=row[2],
        project=row[3],
        include=tuple(json.loads(row[4])),
        exclude=tuple(json.loads(row[5])),
        on_missing=OnMissing(row[6]),
        added_at=moment(row[7]),
        scanned_at=None if row[8] is None else moment(row[8]),
        skipped=tuple((where, why) for where, why in json.loads(row[9])),
    )


def folders(conn: Connection) -> list[WatchedFolder]:
    return [_folder(row) for row in conn.execute(f"{_FOLDERS} ORDER BY f.seq")]


def folder(conn: Connection, ref: str) -> WatchedFolder:
    """Returns the folder of that id or absolute path. Raises `FolderNotFound`."""
    row = conn.execute(f"{_FOLDERS} WHERE f.id = ?1 OR f.location = ?1", (storable(ref),)).fetchone()
    if row is None:
        raise FolderNotFound(ref)
    return _folder(row)


def watch(
    conn: Connection,
    path: str,
    location: str,
    *,
    project: str | None,
    include: Sequence[str],
    exclude: Sequence[str],
    on_missing: OnMissing,
    now: datetime,
) -> WatchedFolder:
    """Adds a watched folder; one of the same location gets these rules instead of its own."""
    project_id = None if project is None else projects.project_named(conn, project, now)
    conn.execute(
        """
        INSERT INTO document_folders (id, path, location, project_id, include, exclude, on_missing, added_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (location) DO UPDATE SET project_id = excluded.project_id, include = excluded.include,
            exclude = excluded.exclude, on_missing = excluded.on_missing, path = excluded.path
        """,
        (
            new_id(),
            storable(path),
            storable(location),
            project_id,
            json.dumps(list(include)),
            json.dumps(list(exclude)),
            on_missing.value,
            micros(now),
        ),
    )
    return folder(conn, location)


def unwatch(conn: Connection, folder_id: str) -> None:
    """Forgets a folder; its documents stay, and belong to no folder."""
    conn.execute("DELETE FROM document_folders WHERE id = ?", (folder_id,))


def scanned(conn: Connection, folder_id: str, skipped: Sequence[tuple[str, str]], now: datetime) -> None:
    conn.execute(
        "UPDATE document_folders SET scanned_at = ?, skipped = ? WHERE id = ?",
        (micros(now), storable(json.dumps([list(one) for one in skipped])), folder_id),
    )


# --- documents --------------------------------------------------------------------------------------

_DOCUMENTS = """
    SELECT d.id, d.title, d.path, d.media_type, d.bytes, json_array_length(d.pages), p.name, d.folder_id,
        d.state, d.error, d.error_limit, d.sha256, d.parser,
        (SELECT count(*) FROM chunks WHERE document_id = d.id), d.added_at,
        coalesce(d.modified_ns, (SELECT 1000 * updated_at FROM notes WHERE document_id = d.id)), d.indexed_at,
        d.author, d.created, d.content IS NOT NULL, s.text, s.fallback, s.model,
        (SELECT json_group_array(session_id) FROM (
            SELECT sd.session_id FROM session_documents AS sd JOIN sessions AS t ON t.id = sd.session_id
            WHERE sd.document_id = d.id AND t.deleted_at IS NULL ORDER BY sd.added_at
        )), d.headings
    FROM documents AS d
    LEFT JOIN projects AS p ON p.id = d.project_id
    LEFT JOIN document_summaries AS s ON s.document_id = d.id AND s.sha256 IS d.sha256
"""


def _document(row: Any) -> Document:
    return Document(
        id=row[0],
        title=row[1],
        path=row[2],
        media_type=row[3],
        size=row[4],
        pages=row[5] or None,
        project=row[6],
        folder=row[7],
        state=DocumentState(row[8]),
        error=None if row[9] is None else DocumentError(row[9], row[10]),
        sha256=row[11],
        parser=row[12],
        chunks=row[13],
        added_at=moment(row[14]),
        modified_at=None if row[15] is None else moment(row[15] // 1000),
        indexed_at=None if row[16] is None else moment(row[16]),
        author=row[17],
        created=row[18],
        copied=bool(row[19]),
        summary=None if row[20] is None else DocumentSummary(row[20], bool(row[21]), row[22]),
        sessions=tuple(json.loads(row[23])),
        headings=tuple(Heading(*one) for one in json.loads(row[24])),
    )


def resolve(conn: Connection, ref: str) -> str:
    """Returns the id of a document by its id, a unique prefix of it, or its absolute path.

    Raises `DocumentNotFound`, `AmbiguousId`.
    """
    known = conn.execute("SELECT id FROM documents WHERE location = ?", (storable(ref),)).fetchone()
    if known is not None:
        return str(known[0])
    span = id_range(ref)
    if span is None:
        raise DocumentNotFound(ref)
    matches, first = conn.execute(
        "SELECT count(*), min(id) FROM documents WHERE id BETWEEN ? AND ?", span
    ).fetchone()
    if matches == 0:
        raise DocumentNotFound(ref)
    if matches > 1:
        raise AmbiguousId(ref, matches)
    return str(first)


def get(conn: Connection, document_id: str) -> Document:
    row = conn.execute(f"{_DOCUMENTS} WHERE d.id = ?", (document_id,)).fetchone()
    if row is None:
        raise DocumentNotFound(document_id)
    return _document(row)


def select(
    conn: Connection, *, project: str | None = None, state: str | None = None, folder_id: str | None = None
) -> list[Document]:
    """Returns documents by path; only those of a project (by name), in a state, in a watched folder."""
    conditions, parameters = ["d.kind = 'document'"], []
    if project is not None:
        conditions.append("d.project_id = ?")
        parameters.append(projects.resolve(conn, project))
    if state is not None:
        conditions.append("d.state = ?")
        parameters.append(state)
    if folder_id is not None:
        conditions.append("d.folder_id = ?")
        parameters.append(folder_id)
    where = " AND ".join(conditions)
    return [
        _document(row)
        for row in conn.execute(f"{_DOCUMENTS} WHERE {where} ORDER BY d.path, d.seq", parameters)
    ]


def text_of(conn: Connection, document_id: str, page: int | None = None) -> str | None:
    """Returns the text of a document, or of one of its pages (None if it has no such page)."""
    row = conn.execute("SELECT text, pages FROM documents WHERE id = ?", (document_id,)).fetchone()
    if row is None:
        raise DocumentNotFound(document_id)
    text, pages = str(row[0]), json.loads(row[1])
    if page is None:
        return text
    if not 1 <= page <= len(pages):
        return None
    end = pages[page] if page < len(pages) else len(text)
    return text[pages[page - 1] : end].rstrip("\n")


def pages_of(conn: Connection, document_id: str) -> tuple[int, ...]:
    row = conn.execute("SELECT pages FROM documents WHERE id = ?", (document_id,)).fetchone()
    return () if row is None else tuple(json.loads(row[0]))


_CHUNK = 'id, document_id, number, begin, "end", page, first_line, last_line, heading, header, text'


def _chunk(row: Any) -> Chunk:
    return Chunk(
        row[0],
        row[1],
        row[2],
        row[3],
        row[4],
        row[5],
        (row[6], row[7]),
        tuple(json.loads(row[8])),
        *row[9:11],
    )


def chunks_of(conn: Connection, document_id: str) -> list[Chunk]:
    rows = conn.execute(f"SELECT {_CHUNK} FROM chunks WHERE document_id = ? ORDER BY number", (document_id,))
    return [_chunk(row) for row in rows]


def hits(conn: Connection, seqs: Sequence[int]) -> dict[int, LoadedChunk]:
    """Returns chunks with what a hit contains about their documents, by `seq`."""
    names = ", ".join(f"c.{name.strip()}" for name in _CHUNK.split(","))
    rows = conn.execute(
        f"""
        SELECT {names}, c.seq, d.title, d.path,
            coalesce(
                d.modified_ns / 1000, (SELECT updated_at FROM notes WHERE document_id = d.id), d.added_at
            ),
            d.kind, d.sha256
        FROM chunks AS c JOIN documents AS d ON d.id = c.document_id WHERE c.seq IN {_LISTED}
        """,
        (json.dumps(list(seqs)),),
    )
    return {
        row[11]: LoadedChunk(_chunk(row), row[12], row[13], moment(row[14]), DocumentKind(row[15]), row[16])
        for row in rows.fetchall()
    }


_KNOWN = """
    SELECT id, location, bytes, modified_ns, device, inode, sha256, parser, state, folder_id
    FROM documents WHERE location IS NOT NULL
"""


def _known(row: Any) -> KnownFile:
    facts = FileFacts(row[1], row[2], row[3] or 0, row[4], row[5])
    return KnownFile(row[0], facts, row[6], row[7], DocumentState(row[8]), row[9])


def known_files(conn: Connection, folder_id: str | None) -> list[KnownFile]:
    """Returns the documents that come from files, of one watched folder or of all places."""
    rows = conn.execute(f"{_KNOWN} AND (?1 IS NULL OR folder_id = ?1) ORDER BY seq", (folder_id,))
    return [_known(row) for row in rows.fetchall()]


def same_content(conn: Connection, sha256: str) -> list[KnownFile]:
    rows = conn.execute(f"{_KNOWN} AND sha256 = ? ORDER BY seq", (sha256,))
    return [_known(row) for row in rows.fetchall()]


def context_of(title: str, chunk: NewChunk) -> str:
    """Returns the text that is indexed and embedded with a chunk: title, headings, header of its table."""
    return _context(title, chunk.heading, chunk.header)


def _context(title: str, heading: Sequence[str], header: str) -> str:
    parts = [title, " > ".join(heading), header]
    return "\n".join(dict.fromkeys(part for part in parts if part))


def _key(context: str, text: str) -> bytes:
    return hashlib.blake2b(f"{context}\0{text}".encode(), digest_size=16).digest()


def _at(conn: Connection, location: str) -> str | None:
    """Returns the document at this place: there is at most one."""
    row = conn.execute("SELECT id FROM documents WHERE location = ?", (storable(location),)).fetchone()
    return None if row is None else str(row[0])


def put(conn: Connection, new: NewDocument, now: datetime) -> str:
    """Stores the content read from a file; returns the document's id. A file at a known place replaces the
    earlier content.

    Chunks whose text and headings are unchanged keep their id and their vectors.
    """
    parsed, facts = new.parsed, new.facts
    state = DocumentState.INDEXED
    if new.error is not None:
        state = DocumentState.FAILED if parsed is None else DocumentState.PARTIAL
    title = one_line(new.title)
    row = {
        "folder_id": new.folder,
        "project_id": None if new.project is None else projects.project_named(conn, new.project, now),
        "path": storable(new.path),
        "location": storable(facts.path) or None,
        "title": title,
        "author": "" if parsed is None else one_line(parsed.author),
        "created": "" if parsed is None else one_line(parsed.created),
        "media_type": new.media_type,
        "bytes": facts.size,
        "modified_ns": facts.modified_ns if facts.path else None,
        "device": facts.device,
        "inode": facts.inode,
        "sha256": new.sha256,
        "parser": new.parser,
        "state": state.value,
        "error": None if new.error is None else new.error.reason,
        "error_limit": 0 if new.error is None else new.error.limit,
        "text": "" if parsed is None else parsed.text,
        "pages": json.dumps([] if parsed is None else parsed.pages),
        "headings": json.dumps(
            [] if parsed is None else [[one.level, one.text, one.begin] for one in parsed.headings]
        ),
        "blank_pages": json.dumps([] if parsed is None else parsed.blank_pages),
        "content": new.content,
        "kind": new.kind.value,
        "indexed_at": micros(now),
    }
    known = new.document or _at(conn, facts.path)
    document_id = known or new_id()
    if new.folder is None and facts.path:
        # Added by hand: the user wants it in this room, even if another room has it.
        readmit(conn, facts.path, new.sha256)
    if known is None:
        names = ["id", *row, "added_at"]
        conn.execute(
            f"INSERT INTO documents ({', '.join(names)}) VALUES ({', '.join('?' for _ in names)})",
            (document_id, *row.values(), micros(now)),
        )
    else:
        conn.execute(
            f"UPDATE documents SET {', '.join(f'{name} = ?' for name in row)} WHERE id = ?",
            (*row.values(), document_id),
        )
    _put_chunks(conn, document_id, title, "" if parsed is None else parsed.text, new.chunks)
    return document_id


def _put_chunks(
    conn: Connection, document_id: str, title: str, text: str, chunks: Sequence[NewChunk]
) -> None:
    contexts = [context_of(title, one) for one in chunks]
    keys = [_key(context, text[one.begin : one.end]) for context, one in zip(contexts, chunks, strict=True)]
    old = conn.execute(
        "SELECT id, hex(key) FROM chunks WHERE document_id = ? ORDER BY number", (document_id,)
    ).fetchall()
    kept = matched(old, [key.hex().upper() for key in keys])
    gone = {id_ for id_, _ in old} - set(kept)
    with full_text.purged(conn, "chunks", len(gone)):
        conn.execute(f"DELETE FROM chunks WHERE id IN {_LISTED}", (json.dumps(sorted(gone)),))
    for number, (one, context, key, known) in enumerate(zip(chunks, contexts, keys, kept, strict=True)):
        place = (number, one.begin, one.end, one.page, *one.lines)
        if known is not None:
            conn.execute(
                """
                UPDATE chunks SET number = ?, begin = ?, "end" = ?, page = ?, first_line = ?, last_line = ?
                WHERE id = ?
                """,
                (*place, known),
            )
            continue
        conn.execute(
            """
            INSERT INTO chunks (id, document_id, number, begin, "end", page, first_line, last_line, heading,
                header, context, text, key)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            (
                new_id(),
                document_id,
                *place,
                json.dumps(list(one.heading)),
                one.header,
                context,
                text[one.begin : one.end],
                key,
            ),
        )


def place(conn: Connection, document_id: str, path: str, facts: FileFacts, folder_id: str | None) -> None:
    """Records the place of a document's file; the text is unchanged. A missing file counts as found.

    A title that was only the name of the file becomes the new name.
    """
    title, before = conn.execute("SELECT title, path FROM documents WHERE id = ?", (document_id,)).fetchone()
    if title == _named(before) != _named(path):
        _retitle(conn, document_id, _named(path))
    conn.execute(
        """
        UPDATE documents SET path = ?, location = ?, bytes = ?, modified_ns = ?, device = ?, inode = ?,
            folder_id = coalesce(?, folder_id),
            state = CASE WHEN state NOT IN ('missing', 'archived') THEN state
                WHEN text = '' THEN 'failed' WHEN error IS NULL THEN 'indexed' ELSE 'partial' END
        WHERE id = ?
        """,
        (
            storable(path),
            storable(facts.path),
            facts.size,
            facts.modified_ns,
            facts.device,
            facts.inode,
            folder_id,
            document_id,
        ),
    )


def _named(path: str) -> str:
    """Returns the title of a file that has none of its own."""
    return " ".join(one_line(PurePath(path).name).split())


def _retitle(conn: Connection, document_id: str, title: str) -> None:
    """Changes a title, also in what is indexed of the chunks; their vectors are made again."""
    conn.execute("UPDATE documents SET title = ? WHERE id = ?", (title, document_id))
    conn.execute("DELETE FROM chunk_vectors WHERE document_id = ?", (document_id,))
    chunks = conn.execute(
        "SELECT id, heading, header, text FROM chunks WHERE document_id = ?", (document_id,)
    ).fetchall()
    with full_text.purged(conn, "chunks", len(chunks)):
        for chunk_id, heading, header, text in chunks:
            context = _context(title, json.loads(heading), header)
            conn.execute(
                "UPDATE chunks SET context = ?, key = ? WHERE id = ?",
                (context, _key(context, text), chunk_id),
            )


def free_locations(conn: Connection, document_ids: Collection[str]) -> None:
    """Briefly removes the places of documents, so that several can exchange theirs."""
    conn.execute(
        f"UPDATE documents SET location = 'moving:' || id WHERE id IN {_LISTED}",
        (json.dumps(list(document_ids)),),
    )


def set_state(conn: Connection, document_ids: Collection[str], state: DocumentState) -> None:
    conn.execute(
        f"UPDATE documents SET state = ? WHERE id IN {_LISTED}",
        (state.value, json.dumps(list(document_ids))),
    )


def content_of(conn: Connection, document_id: str) -> bytes | None:
    """Returns the copy of a document's file, if there is one."""
    row = conn.execute("SELECT content FROM documents WHERE id = ?", (document_id,)).fetchone()
    return None if row is None or row[0] is None else bytes(row[0])


def location_of(conn: Connection, document_id: str) -> str | None:
    """Returns the absolute path of a document's file, if it has one."""
    row = conn.execute("SELECT location FROM documents WHERE id = ?", (document_id,)).fetchone()
    return None if row is None else row[0]


def counts(conn: Connection) -> dict[str, int]:
    """Returns how many documents are in each state."""
    return dict(
        conn.execute(
            "SELECT state, count(*) FROM documents WHERE kind = 'document' GROUP BY state ORDER BY state"
        ).fetchall()
    )


def waiting(conn: Connection) -> tuple[int, int, int]:
    """Returns the numbers of chunks, of chunks without any vector, and of documents without a summary."""
    row = conn.execute(
        """
        SELECT (SELECT count(*) FROM chunks),
            (SELECT count(*) FROM chunks WHERE id NOT IN (SELECT chunk_id FROM chunk_vectors)),
            (SELECT count(*) FROM documents AS d LEFT JOIN document_summaries AS s ON s.document_id = d.id
                WHERE d.kind = 'document' AND d.text <> '' AND d.state IN ('indexed', 'partial')
                    AND s.sha256 IS NOT d.sha256)
        """
    ).fetchone()
    return int(row[0]), int(row[1]), int(row[2])


# --- files of documents that have left -----------------------------------------------------------------


def _digest(conn: Connection, name: str) -> bytes:
    """Returns a digest, keyed so that lists of two rooms cannot be compared."""
    return hashlib.blake2b(storable(name).encode(), key=_digest_key(conn), digest_size=16).digest()


def _digest_key(conn: Connection) -> bytes:
    row = conn.execute("SELECT value FROM meta WHERE key = ?", (_DIGEST_KEY,)).fetchone()
    if row is not None:
        return bytes.fromhex(row[0])
    made = secrets.token_bytes(32)
    conn.execute("INSERT INTO meta (key, value) VALUES (?, ?)", (_DIGEST_KEY, made.hex()))
    return made


def exclude(conn: Connection, location: str, sha256: str) -> None:
    """Records that scans must not add the file again: by its absolute path, and by its content, because it
    may be renamed."""
    conn.executemany(
        "INSERT OR IGNORE INTO left_files (digest) VALUES (?)",
        [(_digest(conn, location),), (_digest(conn, sha256),)],
    )


def readmit(conn: Connection, location: str, sha256: str) -> None:
    """Lets scans add the file with this absolute path or content again."""
    if conn.execute("SELECT EXISTS (SELECT 1 FROM left_files)").fetchone()[0]:
        conn.executemany(
            "DELETE FROM left_files WHERE digest = ?",
            [(_digest(conn, location),), (_digest(conn, sha256),)],
        )


def excluded(conn: Connection, names: Collection[str]) -> frozenset[str]:
    """Returns those of these absolute paths, or SHA-256 of contents, that scans must not add."""
    left = {bytes(row[0]) for row in conn.execute("SELECT digest FROM left_files")}
    return frozenset(one for one in names if _digest(conn, one) in left) if left else frozenset()


def excludes_any(conn: Connection) -> bool:
    """Whether there are files that scans must not add. Their names are not stored."""
    return bool(conn.execute("SELECT EXISTS (SELECT 1 FROM left_files)").fetchone()[0])


# --- removal ----------------------------------------------------------------------------------------


def erase(conn: Connection, document_ids: Collection[str], *, for_good: bool = False) -> ErasedDocuments:
    """Deletes documents and everything made from them, then checks that nothing of them is left.

    Prefaces of prompts that contain passages of them are emptied, and the epochs that follow end. Messages
    stay, including those that quote a document. Unknown ids are ignored. `for_good`: scans of watched folders
    do not add the files again.
    """
    listed = json.dumps(sorted(set(document_ids)))
    found = conn.execute(
        f"SELECT id, folder_id, location, sha256, kind FROM documents WHERE id IN {_LISTED}", (listed,)
    ).fetchall()
    ids = [row[0] for row in found]
    if for_good:
        for _, folder_id, location, sha256, _ in found:
            if folder_id is not None and location is not None:
                exclude(conn, location, sha256)
        for location, sha256 in _files_of_notes(conn, listed):
            exclude(conn, location, sha256)
    listed = json.dumps(ids)
    entries = conn.execute(
        f"SELECT seq, id, context || char(10) || text FROM chunks WHERE document_id IN {_LISTED}", (listed,)
    ).fetchall()
    count = erasure_check.count
    counts = {
        name: count(conn, f"SELECT count(*) FROM {name} WHERE document_id IN {_LISTED}", listed)
        for name in ("chunk_vectors", "document_summaries", "citations", "passages")
    }
    jobs = erasure_check.jobs_naming(conn, ids)
    conn.execute(f"DELETE FROM jobs WHERE id IN {_LISTED}", (json.dumps(jobs),))
    epochs.drop_prefaces_of(conn, ids)
    tasks.forget_documents(conn, ids)
    recalled_in = epochs.forget_recalled(conn, ids, gone=ids)
    learned = erasure.take_memories(conn, _learned_only_from(conn, listed))
    with full_text.purged(conn, "chunks", len(entries)):
        conn.execute(f"DELETE FROM documents WHERE id IN {_LISTED}", (listed,))
    marks = erasure_check.Marks(
        ids, (), tuple(erasure_check.Entry("chunks", seq, text) for seq, _, text in entries)
    )
    left = erasure_check.left(conn, marks) + erasure_check.documents_left(conn, ids)
    return ErasedDocuments(
        documents=len(ids),
        chunks=len(entries),
        vectors=counts["chunk_vectors"],
        summaries=counts["document_summaries"],
        citations=counts["citations"],
        jobs=len(jobs),
        recalled_in=tuple(dict.fromkeys([*recalled_in, *learned.recalled_in])),
        verified=left == 0 and learned.verified,
        memories=learned.memories,
        notes=sum(row[4] == DocumentKind.NOTE for row in found),
    )


def _files_of_notes(conn: Connection, listed: str) -> list[tuple[str, str]]:
    """Returns the absolute paths and SHA-256 of the files that notes were read from or written to."""
    rows = conn.execute(
        f"""
        SELECT f.location || '/' || n.disk_path, n.disk_sha256 FROM notes AS n
        JOIN note_folders AS f ON f.id = n.note_folder_id
        WHERE n.document_id IN {_LISTED} AND n.disk_path <> ''
        """,
        (listed,),
    )
    return [(str(row[0]), str(row[1])) for row in rows.fetchall()]


def _learned_only_from(conn: Connection, listed: str) -> list[str]:
    """Returns the memories that were learned from these notes and from nothing else."""
    rows = conn.execute(
        f"""
        SELECT DISTINCT s.memory_id FROM memory_note_sources AS s JOIN memories AS m ON m.id = s.memory_id
        WHERE s.document_id IN {_LISTED} AND m.own_words = 0
            AND NOT EXISTS (SELECT 1 FROM memory_sources WHERE memory_id = s.memory_id)
            AND NOT EXISTS (
                SELECT 1 FROM memory_note_sources AS o
                WHERE o.memory_id = s.memory_id AND o.document_id NOT IN {_LISTED}
            )
        """,
        (listed, listed),
    )
    return [row[0] for row in rows.fetchall()]


def told_in(conn: Connection, document_ids: Collection[str]) -> tuple[str, ...]:
    """Returns the sessions whose prompts may contain text of these documents."""
    listed = json.dumps(list(document_ids))
    rows = conn.execute(
        f"""
        SELECT session_id FROM session_documents WHERE document_id IN {_LISTED}
        UNION SELECT session_id FROM passages WHERE document_id IN {_LISTED}
        """,
        (listed, listed),
    )
    turns = epochs.turns_naming(conn, document_ids)
    return tuple(dict.fromkeys([*(row[0] for row in rows), *(turn.session_id for turn in turns)]))


def used_in(conn: Connection, session_ids: Collection[str]) -> int:
    """Returns how many documents these sessions are about, have in their prompts, or cite."""
    listed = json.dumps(list(session_ids))
    tables = ("session_documents", "passages", "citations")
    used = " UNION ".join(f"SELECT document_id FROM {one} WHERE session_id IN {_LISTED}" for one in tables)
    (count,) = conn.execute(f"SELECT count(*) FROM ({used})", (listed,) * len(tables)).fetchone()
    return int(count)


# --- sessions ---------------------------------------------------------------------------------------


def bind(conn: Connection, session_id: str, document_ids: Sequence[str], now: datetime) -> None:
    """Binds these documents to a session."""
    conn.executemany(
        "INSERT OR IGNORE INTO session_documents (session_id, document_id, added_at) VALUES (?, ?, ?)",
        [(session_id, document_id, micros(now)) for document_id in document_ids],
    )


def unbind(conn: Connection, session_id: str, document_id: str) -> None:
    conn.execute(
        "DELETE FROM session_documents WHERE session_id = ? AND document_id = ?", (session_id, document_id)
    )


def bound(conn: Connection, session_id: str) -> list[Document]:
    """Returns the documents that a session is about, in the order in which they were added."""
    rows = conn.execute(
        f"""
        {_DOCUMENTS} JOIN session_documents AS own ON own.document_id = d.id
        WHERE own.session_id = ? ORDER BY own.added_at, d.seq
        """,
        (session_id,),
    )
    return [_document(row) for row in rows]


# --- passages and citations -------------------------------------------------------------------------

_PASSAGE = (
    'p.marker, p.document_id, d.title, p.page, p.first_line, p.last_line, p.begin, p."end", p.heading, '
    "p.text, p.sha256, p.message_id, p.header, d.kind, "
    "p.sha256 = d.sha256 AND NOT EXISTS ("
    "SELECT 1 FROM notes WHERE document_id = d.id AND deleted_at IS NOT NULL)"
)


def _passage(row: Any) -> StoredPassage:
    return StoredPassage(
        marker=row[0],
        document=row[1],
        title=row[2],
        page=row[3],
        lines=(row[4], row[5]),
        begin=row[6],
        end=row[7],
        heading=tuple(json.loads(row[8])),
        text=row[9],
        sha256=row[10],
        message=row[11],
        header=row[12],
        kind=DocumentKind(row[13]),
        current=bool(row[14]),
    )


def passages_of(conn: Connection, session_id: str) -> list[StoredPassage]:
    """Returns the passages in the prompts of a session, by their numbers."""
    rows = conn.execute(
        f"""
        SELECT {_PASSAGE} FROM passages AS p JOIN documents AS d ON d.id = p.document_id
        WHERE p.session_id = ? ORDER BY p.marker
        """,
        (session_id,),
    )
    return [_passage(row) for row in rows]


def put_passages(conn: Connection, session_id: str, passages: Sequence[StoredPassage]) -> None:
    """Stores the passages given to a message; replaces those that it had."""
    for message_id in {one.message for one in passages}:
        conn.execute("DELETE FROM passages WHERE session_id = ? AND message_id = ?", (session_id, message_id))
    conn.executemany(
        """
        INSERT OR REPLACE INTO passages (session_id, marker, message_id, document_id, begin, "end", page,
            first_line, last_line, heading, header, text, sha256)
        SELECT ?, ?, ?, id, ?, ?, ?, ?, ?, ?, ?, ?, ? FROM documents WHERE id = ?
        """,
        [
            (
                session_id,
                one.marker,
                one.message,
                one.begin,
                one.end,
                one.page,
                *one.lines,
                json.dumps(list(one.heading)),
                storable(one.header),
                storable(one.text),
                one.sha256,
                one.document,
            )
            for one in passages
        ],
    )


def put_citations(
    conn: Connection,
    session_id: str,
    reply_id: str,
    citations: Sequence[StoredCitation],
    unsupported: Sequence[tuple[int, int]],
) -> None:
    """Stores the citations of a reply, and the ranges of its text without support; replaces earlier ones."""
    for table in ("citations", "unsupported"):
        conn.execute(f"DELETE FROM {table} WHERE reply_id = ?", (reply_id,))
    conn.executemany(
        """
        INSERT INTO citations (session_id, reply_id, number, marker, document_id, begin, "end", page,
            first_line, last_line, quote, verified, sha256)
        SELECT ?, ?, ?, ?, id, ?, ?, ?, ?, ?, ?, ?, ? FROM documents WHERE id = ?
        """,
        [
            (
                session_id,
                reply_id,
                number,
                one.marker,
                one.begin,
                one.end,
                one.page,
                *one.lines,
                storable(one.quote),
                int(one.verified),
                one.sha256,
                one.document,
            )
            for number, one in enumerate(citations)
        ],
    )
    conn.executemany(
        'INSERT INTO unsupported (session_id, reply_id, begin, "end") VALUES (?, ?, ?, ?)',
        [(session_id, reply_id, begin, end) for begin, end in unsupported],
    )


def here(conn: Connection, citations: Sequence[StoredCitation]) -> tuple[StoredCitation, ...] | None:
    """Returns citations with the versions of their documents; None unless the room has each of them, with
    the text that is cited as verified."""
    found = []
    for one in citations:
        row = conn.execute("SELECT sha256, text FROM documents WHERE id = ?", (one.document,)).fetchone()
        if row is None or (one.verified and row[1][one.begin : one.end] != one.quote):
            return None
        found.append(replace(one, sha256=row[0]))
    return tuple(found)


def cited(conn: Connection, reply_id: str) -> CitedReply:
    """Returns the citations of a reply."""
    rows = conn.execute(
        """
        SELECT c.marker, c.document_id, d.title, c.page, c.first_line, c.last_line, c.begin, c."end", c.quote,
            c.verified, c.sha256, c.sha256 = d.sha256, d.kind
        FROM citations AS c JOIN documents AS d ON d.id = c.document_id WHERE c.reply_id = ? ORDER BY c.number
        """,
        (reply_id,),
    )
    citations = tuple(
        StoredCitation(
            marker=row[0],
            document=row[1],
            title=row[2],
            page=row[3],
            lines=(row[4], row[5]),
            begin=row[6],
            end=row[7],
            quote=row[8],
            verified=bool(row[9]),
            sha256=row[10],
            current=bool(row[11]),
            kind=DocumentKind(row[12]),
        )
        for row in rows.fetchall()
    )
    ranges = conn.execute(
        'SELECT begin, "end" FROM unsupported WHERE reply_id = ? ORDER BY begin', (reply_id,)
    )
    unsupported = tuple((begin, end) for begin, end in ranges.fetchall())
    # A reply without any of them may have had no passages, although its session has some.
    last = _last_passage(conn, reply_id) if citations or unsupported else 0
    return CitedReply(citations, unsupported, last)


def _last_passage(conn: Connection, reply_id: str) -> int:
    """Returns the highest number of a passage that the session of a reply had when the reply was begun."""
    (last,) = conn.execute(
        """
        SELECT coalesce(max(p.marker), 0) FROM messages AS reply
        JOIN passages AS p ON p.session_id = reply.session_id
        JOIN messages AS asked ON asked.id = p.message_id AND asked.created_at <= reply.created_at
        WHERE reply.id = ?
        """,
        (reply_id,),
    ).fetchone()
    return int(last)


# --- summaries --------------------------------------------------------------------------------------


def put_summary(
    conn: Connection, document_id: str, summary: DocumentSummary, sha256: str, now: datetime
) -> bool:
    """Stores the summary of a document, if the document is still the one that was summarised."""
    row = conn.execute("SELECT sha256 FROM documents WHERE id = ?", (document_id,)).fetchone()
    if row is None or row[0] != sha256:
        return False
    conn.execute(
        """
        INSERT OR REPLACE INTO document_summaries (document_id, text, fallback, model, sha256, created_at)
        VALUES (?, ?, ?, ?, ?, ?)
        """,
        (document_id, storable(summary.text), int(summary.fallback), summary.model, sha256, micros(now)),
    )
    return True


def summary_parts(conn: Connection, document_id: str) -> dict[bytes, DocumentSummary]:
    rows = conn.execute(
        "SELECT hash, text, fallback, model FROM document_summary_parts WHERE document_id = ?",
        (document_id,),
    )
    return {bytes(row[0]): DocumentSummary(row[1], bool(row[2]), row[3]) for row in rows.fetchall()}


def put_summary_part(conn: Connection, document_id: str, hash_: bytes, part: DocumentSummary) -> None:
    conn.execute(
        """
        INSERT OR REPLACE INTO document_summary_parts (document_id, hash, text, fallback, model)
        SELECT id, ?, ?, ?, ? FROM documents WHERE id = ?
        """,
        (hash_, storable(part.text), int(part.fallback), part.model, document_id),
    )


def drop_summary_parts(conn: Connection, document_id: str, *, but: Collection[bytes]) -> None:
    conn.execute(
        """
        DELETE FROM document_summary_parts
        WHERE document_id = ? AND hex(hash) NOT IN (SELECT value FROM json_each(?))
        """,
        (document_id, json.dumps([one.hex().upper() for one in but])),
    )


def unsummarised(conn: Connection, *, limit: int) -> list[tuple[str, int]]:
    """Returns documents with a text, but without a summary of it, and the lengths of their texts, latest
    first."""
    rows = conn.execute(
        """
        SELECT d.id, length(d.text)
        FROM documents AS d LEFT JOIN document_summaries AS s ON s.document_id = d.id
        WHERE d.kind = 'document' AND d.text <> '' AND d.state IN ('indexed', 'partial')
            AND s.sha256 IS NOT d.sha256
        ORDER BY d.seq DESC LIMIT ?
        """,
        (limit,),
    )
    return [(row[0], row[1]) for row in rows.fetchall()]
