"""Full-text search over messages."""
# ruff: noqa: S608  # the names put into SQL are all written in this package

from memory.entities import SearchHit
from memory.storage.connection import Connection
from memory.storage.queries.messages import COLUMNS, WIDTH, message_of
from memory.storage.words import match_expression

_SNIPPET_WORDS = 24
_VISIBLE = f"""
    SELECT {COLUMNS}, s.title FROM messages AS m JOIN sessions AS s ON s.id = m.session_id
    WHERE m.seq = ? AND s.deleted_at IS NULL
"""


def search(conn: Connection, query: str, limit: int) -> list[SearchHit]:
    """Best first by BM25; `score` is its value with the sign turned, so that higher is better.

    Raises `BadQuery`.
    """
    expression = match_expression(query)
    # Ranking needs the index alone. Messages are read one by one, best first, until there are enough, because
    # a common word is in most of them.
    ranked = conn.execute(
        "SELECT rowid, rank FROM messages_fts WHERE messages_fts MATCH ? ORDER BY rank, rowid DESC",
        (expression,),
    )
    hits: list[SearchHit] = []
    while len(hits) < limit and (match := ranked.fetchone()) is not None:
        row = conn.execute(_VISIBLE, (match[0],)).fetchone()
        if row is not None:
            hits.append(
                SearchHit(message_of(row), row[WIDTH], -match[1], _snippet(conn, expression, match[0]))
            )
    return hits


def _snippet(conn: Connection, expression: str, seq: int) -> str:
    """Made for the hits alone: in the query above it would be made for every match."""
    row = conn.execute(
        """
        SELECT snippet(messages_fts, 0, '', '', '…', ?) FROM messages_fts
        WHERE messages_fts MATCH ? AND rowid = ?
        """,
        (_SNIPPET_WORDS, expression, seq),
    ).fetchone()
    return str(row[0])
