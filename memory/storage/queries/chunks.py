"""What the search in documents reads: chunks without their text, occurrences of stems, and vectors."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection, Sequence
from sys import intern
from typing import TYPE_CHECKING

from memory.documents.entities import (
    ALL_CHUNKS,
    ChunkEntry,
    ChunkPosting,
    DocumentEntry,
    DocumentKind,
    UnembeddedChunk,
)
from memory.storage.connection import Connection
from memory.storage.connection import columns as columns_of
from memory.storage.queries.documents import SEARCHED
from memory.storage.words import is_unspaced
from memory.vectors.entities import StoredVector, VectorPage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


def documents(conn: Connection, ids: Collection[str] | None) -> list[DocumentEntry]:
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
    """Returns where a term occurs; None if that is nowhere, or in more than `at_most` chunks.

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
    """Returns the chunks that match an FTS5 expression (`memory.documents.question.Looked`), as a posting of
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
    """Stores the vectors of chunks, by the chunk's id. A chunk that is gone meanwhile is left out."""
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
