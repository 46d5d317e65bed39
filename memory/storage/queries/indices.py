"""Taking many texts out of the full-text indices so that no word of them stays behind."""
# ruff: noqa: S608  # the names put into SQL are all written in this package

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from memory.storage.connection import Connection

MANY = 25
"""Texts. Fewer are taken out of an index word by word sooner than the whole index is written anew."""


@contextmanager
def purged(conn: Connection, owner: str, texts: int) -> Iterator[None]:
    """While inside, deleting so many texts from the indices of `owner` (messages, memories) is fast; at the
    end nothing of them is in these.

    FTS5's own secure deletion looks every word of every row up in the index. For many rows it is some twenty
    times faster to mark them as deleted and then merge the whole index, which leaves the marked out.
    """
    if texts < MANY:
        yield
        return
    indices = (f"{owner}_fts", f"{owner}_pieces")
    _configure(conn, indices, secure=False)
    try:
        yield
        for index in indices:
            conn.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")
    finally:
        if conn.in_transaction:
            _configure(conn, indices, secure=True)


def _configure(conn: Connection, indices: Collection[str], *, secure: bool) -> None:
    for index in indices:
        conn.execute(f"INSERT INTO {index} ({index}, rank) VALUES ('secure-delete', {int(secure)})")
