"""What recall reads of a room: entries without their words, places of words, and the words of hits."""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Collection, Sequence
from sys import intern

from memory.clock import moment
from memory.recall.entities import Entry, Posting, SessionEntry, Source, Text, Wording
from memory.recall.moments import speaks_of_time
from memory.recall.words import AFTER_A_QUESTION, states_preference
from memory.storage.connection import Connection
from memory.storage.words import is_unspaced

_MACHINE = "m.role = 'assistant' AND (m.model IS NOT NULL OR lower(m.speaker) IN ('', 'assistant'))"
# The bytes of ? and of the full-width one.
_ASKS = """
    substr(CAST(rtrim(m.content, ?1) AS BLOB), -1) = x'3f'
    OR substr(CAST(rtrim(m.content, ?1) AS BLOB), -3) = x'efbc9f'
"""
_FINISHED = "m.status <> 'streaming' AND m.role <> 'system' AND m.content <> ''"
# FTS5 keeps the length of a row as one variable-length number a column, and there is one column.
_ENTRY = f"""
    SELECT m.seq, m.id, m.session_id, m.parent_id, m.speaker, {_MACHINE}, m.created_at, m.important, {_ASKS},
        w.sz, p.sz
    FROM messages AS m
    LEFT JOIN messages_fts_docsize AS w ON w.id = m.seq
    LEFT JOIN messages_pieces_docsize AS p ON p.id = m.seq
    WHERE {_FINISHED}
"""
_PIECE = 3

# The vocabularies tell where each stem and each piece occurs, and how often; they hold nothing of their own.
_VOCABULARIES = (
    "CREATE VIRTUAL TABLE temp.word_places USING fts5vocab(main, messages_fts, instance)",
    "CREATE VIRTUAL TABLE temp.word_counts USING fts5vocab(main, messages_fts, row)",
    "CREATE VIRTUAL TABLE temp.piece_places USING fts5vocab(main, messages_pieces, instance)",
    "CREATE VIRTUAL TABLE temp.piece_counts USING fts5vocab(main, messages_pieces, row)",
)


def know_vocabularies(conn: Connection) -> None:
    """Lets the connection ask the full-text indices for single words."""
    for statement in _VOCABULARIES:
        conn.execute(statement)


def entries(conn: Connection, after: int, limit: int) -> list[Entry]:
    rows = conn.execute(
        f"{_ENTRY} AND m.seq > ?2 ORDER BY m.seq LIMIT ?3", (AFTER_A_QUESTION, after, max(limit, 0))
    )
    return [_entry(*row) for row in rows.fetchall()]


def entries_of(conn: Connection, seqs: Collection[int]) -> list[Entry]:
    rows = conn.execute(
        f"{_ENTRY} AND m.seq IN (SELECT value FROM json_each(?2)) ORDER BY m.seq",
        (AFTER_A_QUESTION, json.dumps(list(seqs))),
    )
    return [_entry(*row) for row in rows.fetchall()]


def wordings(conn: Connection, seqs: Collection[int]) -> list[Wording]:
    rows = conn.execute(
        f"""
        SELECT m.seq, {_MACHINE}, m.content FROM messages AS m
        WHERE {_FINISHED} AND m.seq IN (SELECT value FROM json_each(?))
        """,
        (json.dumps(list(seqs)),),
    )
    return [
        Wording(seq, speaks_of_time(content), not machine and states_preference(content))
        for seq, machine, content in rows.fetchall()
    ]


def session_entries(conn: Connection, ids: Collection[str] | None) -> list[SessionEntry]:
    sql = """
        SELECT s.id, p.name, s.memory_mode IN ('normal', 'off'), s.deleted_at IS NOT NULL
        FROM sessions AS s LEFT JOIN projects AS p ON p.id = s.project_id
    """
    if ids is None:
        rows = conn.execute(sql)
    else:
        rows = conn.execute(f"{sql} WHERE s.id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),))
    return [SessionEntry(id_, project, bool(lends), bool(binned)) for id_, project, lends, binned in rows]


def posting(conn: Connection, term: str, at_most: int) -> Posting | None:
    """None for a term that occurs nowhere, or in more than `at_most` messages."""
    if is_unspaced(term) and len(term) < _PIECE:
        # Shorter than the pieces of the index: the few messages in such scripts are looked through.
        rows = conn.execute(
            "SELECT seq FROM unspaced WHERE instr(content, ?) LIMIT ?", (term, at_most + 1)
        ).fetchall()
        found = [seq for (seq,) in rows]
        if len(found) > at_most:
            return None
    else:
        kind = "piece" if is_unspaced(term) else "word"
        known = conn.execute(f"SELECT doc FROM temp.{kind}_counts WHERE term = ?", (term,)).fetchone()
        if known is None or known[0] > at_most:
            return None
        # One text with all places is read several times faster than as many rows.
        (places,) = conn.execute(
            f"SELECT json_group_array(doc) FROM temp.{kind}_places WHERE term = ?", (term,)
        ).fetchone()
        found = json.loads(places)
    return Posting(term, found) if found else None


def texts(conn: Connection, seqs: Sequence[int]) -> list[Text]:
    rows = conn.execute(
        """
        SELECT m.seq, m.content, m.session_id, m.id, m.external_id, m.created_at, m.speaker
        FROM messages AS m WHERE m.seq IN (SELECT value FROM json_each(?))
        """,
        (json.dumps(list(seqs)),),
    )
    found = {
        seq: Text(seq, content, Source(session, message, external, None, moment(created), speaker))
        for seq, content, session, message, external, created, speaker in rows
    }
    return [found[seq] for seq in seqs if seq in found]


def fixed(conn: Connection, name: str) -> str | None:
    row = conn.execute("SELECT value FROM meta WHERE key = ?", (f"fixed:{name}",)).fetchone()
    return None if row is None else str(row[0])


def keep_fixed(conn: Connection, name: str, value: str) -> None:
    conn.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (f"fixed:{name}", value))


def _entry(
    seq: int,
    id_: str,
    session: str,
    parent: str | None,
    speaker: str,
    machine: int,
    created: int,
    important: int,
    asks: int,
    words: bytes | None,
    pieces: bytes | None,
) -> Entry:
    return Entry(
        seq,
        intern(id_),
        session,
        parent,
        speaker,
        bool(machine),
        created,
        bool(important),
        bool(asks),
        _number(words) + _number(pieces),
    )


def _number(varint: bytes | None) -> int:
    """SQLite's variable-length number: seven bits a byte, the highest bit says that more follow."""
    if varint is None:
        return 0
    if len(varint) == 1:
        return varint[0]
    value = 0
    for byte in varint:
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return value
