"""The complete check of a room. Reports contain names of tables, pages and counts, never content."""

from collections.abc import Callable

from sqlcipher3 import dbapi2 as sqlcipher

from memory.entities import Freshness, RoomKind, RoomReport
from memory.errors import RoomDamaged, StorageFull
from memory.storage.connection import Connection, fault_of
from memory.storage.database import Database
from memory.storage.migrations import version_of


async def verified(database: Database, room: RoomKind, freshness: Freshness) -> RoomReport:
    """Runs every check, even after another has found damage, and reports the findings."""
    problems: list[str] = []
    counted, version = (0, 0), 0
    try:
        counted = await database.read(counts)
        version = await database.read(version_of)
    except RoomDamaged as fault:
        problems.append(f"counts: {fault.detail}")
    # A crash may have torn a page in the file that is whole in the log; the page check reads the file.
    await database.fold()
    for run, checks in ((database.read, READING), (database.write, WRITING)):
        for one in checks:
            try:
                problems += await run(one)
            except RoomDamaged as fault:
                problems.append(f"{one.__name__}: {fault.detail}")
            except StorageFull:
                # SQLite treats FTS5's integrity check as a write.
                if not database.read_only:
                    raise
    return RoomReport(room, *counted, version, tuple(problems), freshness)


_MOST = 20


def pages(conn: Connection) -> list[str]:
    """Returns pages whose authentication code is wrong."""
    return [str(row[0]) for row in conn.execute("PRAGMA cipher_integrity_check").fetchmany(_MOST)]


def structure(conn: Connection) -> list[str]:
    """Returns the faults that SQLite finds in its trees, indexes and constraints."""
    rows = conn.execute(f"PRAGMA integrity_check({_MOST:d})").fetchall()
    return [f"structure: {line}" for row in rows if row[0] != "ok" for line in str(row[0]).splitlines()][
        :_MOST
    ]


_INDEX_CHECKS = tuple(
    (label, f"INSERT INTO {table} ({table}, rank) VALUES ('integrity-check', 1)")  # noqa: S608 - names of this package
    for label, table in (
        ("full text of messages", "messages_fts"),
        ("full text of messages' pieces", "messages_pieces"),
        ("full text of memories", "memories_fts"),
        ("full text of memories' pieces", "memories_pieces"),
        ("full text of documents", "chunks_fts"),
        ("full text of documents' pieces", "chunks_pieces"),
    )
)


def references(conn: Connection) -> list[str]:
    """Returns rows with references to rows that do not exist."""
    rows = conn.execute("PRAGMA foreign_key_check").fetchmany(_MOST)
    return [f"reference: {table} row {rowid} to {parent}" for table, rowid, parent, _ in rows]


def full_text(conn: Connection) -> list[str]:
    """Checks whether the full-text indexes match the texts. Needs a write transaction; writes nothing."""
    problems: list[str] = []
    for label, check in _INDEX_CHECKS:
        try:
            conn.execute(check)
        except sqlcipher.DatabaseError as error:
            if fault_of(error) is None:
                raise
            problems.append(f"{label}: the index does not match the texts")
    return problems


def contents(conn: Connection) -> list[str]:
    """Returns counts, branches, summaries, memories and turns that contradict the messages or each other."""
    problems: list[str] = []
    for label, sql in _CONTRADICTIONS:
        count = conn.execute(sql).fetchone()[0]
        if count:
            problems.append(f"{label}: {count}")
    return problems


_CONTRADICTIONS = (
    (
        "messages stored before their parent",
        "SELECT count(*) FROM messages AS m JOIN messages AS p ON p.id = m.parent_id WHERE p.seq >= m.seq",
    ),
    (
        "sessions with a wrong message count",
        """
        SELECT count(*) FROM sessions AS s
        WHERE s.message_count <> (SELECT count(*) FROM messages AS m WHERE m.session_id = s.id)
        """,
    ),
    (
        "vectors of another document's chunks",
        """
        SELECT count(*) FROM chunk_vectors AS v JOIN chunks AS c ON c.id = v.chunk_id
        WHERE v.document_id <> c.document_id
        """,
    ),
    (
        "summaries that cover nothing",
        """
        SELECT count(*) FROM summaries AS s
        WHERE NOT EXISTS (SELECT 1 FROM summary_messages AS c WHERE c.summary_id = s.id)
        """,
    ),
    (
        "summaries that cover another session's messages",
        """
        SELECT count(DISTINCT s.id) FROM summaries AS s JOIN summary_messages AS c ON c.summary_id = s.id
        WHERE c.session_id <> s.session_id
        """,
    ),
    (
        "summaries that are merged without a wider one",
        "SELECT count(*) FROM summaries WHERE state = 'merged' AND merged_into IS NULL",
    ),
    (
        "summaries that are current beside a wider one",
        "SELECT count(*) FROM summaries WHERE state = 'current' AND merged_into IS NOT NULL",
    ),
    (
        "summaries that are merged into one that is not wider",
        """
        SELECT count(*) FROM summaries AS s JOIN summaries AS w ON w.id = s.merged_into
        WHERE w.level <= s.level OR w.session_id <> s.session_id OR EXISTS (
            SELECT message_id FROM summary_messages WHERE summary_id = s.id
            EXCEPT SELECT message_id FROM summary_messages WHERE summary_id = w.id
        )
        """,
    ),
    (
        "turns of another session's epoch",
        """
        SELECT count(*) FROM turns AS t JOIN epochs AS e ON e.id = t.epoch_id
        WHERE e.session_id <> t.session_id
        """,
    ),
    (
        "memories that rest on nothing",
        """
        SELECT count(*) FROM memories AS m
        WHERE m.own_words = 0 AND m.origin <> 'consolidation'
            AND NOT EXISTS (SELECT 1 FROM memory_sources AS s WHERE s.memory_id = m.id)
            AND NOT EXISTS (SELECT 1 FROM memory_note_sources AS s WHERE s.memory_id = m.id)
        """,
    ),
    (
        "memories that are superseded by themselves",
        "SELECT count(*) FROM memories WHERE superseded_by = id",
    ),
    (
        "memories whose versions are not earlier",
        """
        SELECT count(DISTINCT m.id) FROM memories AS m JOIN memory_versions AS v ON v.memory_id = m.id
        WHERE v.version >= m.version
        """,
    ),
    (
        "vectors of messages that are not there",
        """
        SELECT count(*) FROM vectors AS v
        WHERE v.kind = 'message' AND NOT EXISTS (
            SELECT 1 FROM messages AS m WHERE m.id = v.owner_id AND m.session_id = v.session_id
        )
        """,
    ),
    (
        "vectors of summaries that are not there",
        """
        SELECT count(*) FROM vectors AS v
        WHERE v.kind = 'summary' AND NOT EXISTS (SELECT 1 FROM summaries AS s WHERE s.id = v.owner_id)
        """,
    ),
    (
        "models whose vectors have more than one length",
        """
        SELECT count(*) FROM (
            SELECT model FROM vectors GROUP BY model HAVING min(length(data)) <> max(length(data))
        )
        """,
    ),
    (
        "vectors of memories that are not there",
        """
        SELECT count(*) FROM vectors AS v
        WHERE v.kind = 'memory' AND NOT EXISTS (SELECT 1 FROM memories AS m WHERE m.id = v.owner_id)
        """,
    ),
    (
        "changes of memories that cannot be told",
        """
        SELECT count(*) FROM memory_changes AS c
        WHERE NOT EXISTS (SELECT 1 FROM memory_change_ids AS i WHERE i.change_id = c.id)
        """,
    ),
    (
        "turns of what is no reply",
        """
        SELECT count(*) FROM turns AS t JOIN messages AS m ON m.id = t.reply_id
        WHERE m.role <> 'assistant'
        """,
    ),
)

READING: tuple[Callable[[Connection], list[str]], ...] = (pages, structure, references, contents)
WRITING: tuple[Callable[[Connection], list[str]], ...] = (full_text,)


def counts(conn: Connection) -> tuple[int, int]:
    """Returns how many sessions and messages there are, including the bin."""
    row = conn.execute("SELECT (SELECT count(*) FROM sessions), (SELECT count(*) FROM messages)").fetchone()
    return int(row[0]), int(row[1])
