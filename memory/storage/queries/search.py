"""Full-text search over messages."""
# ruff: noqa: S608  # the names put into SQL are all written in this package

from memory.entities import SearchHit
from memory.storage.connection import Connection
from memory.storage.queries.messages import COLUMNS, WIDTH, message_of
from memory.storage.words import match_expression

_SNIPPET_WORDS = 24


def search(conn: Connection, query: str, limit: int) -> list[SearchHit]:
    """Best first by BM25; `score` is its value with the sign turned, so that higher is better.

    Raises `BadQuery`.
    """
    expression = match_expression(query)
    rows = conn.execute(
        f"""
        SELECT {COLUMNS}, s.title, -bm25(messages_fts), m.seq
        FROM messages_fts
        JOIN messages AS m ON m.seq = messages_fts.rowid
        JOIN sessions AS s ON s.id = m.session_id
        WHERE messages_fts MATCH ? AND s.deleted_at IS NULL
        ORDER BY bm25(messages_fts), m.seq DESC LIMIT ?
        """,
        (expression, max(limit, 0)),
    ).fetchall()
    return [
        SearchHit(
            message=message_of(row),
            session_title=row[WIDTH],
            score=row[WIDTH + 1],
            snippet=_snippet(conn, expression, row[WIDTH + 2]),
        )
        for row in rows
    ]


def _snippet(conn: Connection, expression: str, seq: int) -> str:
    """Made for the hits alone: in the query above it would be made for every match before sorting."""
    row = conn.execute(
        """
        SELECT snippet(messages_fts, 0, '', '', '…', ?) FROM messages_fts
        WHERE messages_fts MATCH ? AND rowid = ?
        """,
        (_SNIPPET_WORDS, expression, seq),
    ).fetchone()
    return str(row[0])
