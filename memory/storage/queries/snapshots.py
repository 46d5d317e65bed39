"""States in their file: functions of a connection."""

from memory.context.snapshots import SnapshotInfo
from memory.storage.connection import Connection
from memory.storage.values import pack_tokens, unpack_tokens
from models.messages import ModelState

SCHEMA = (
    """CREATE TABLE snapshots (
        id INTEGER PRIMARY KEY,
        session_id TEXT NOT NULL,
        model TEXT NOT NULL,
        prefix_hash TEXT NOT NULL,
        tokens BLOB NOT NULL,
        size INTEGER NOT NULL,
        sha256 TEXT NOT NULL,
        used INTEGER NOT NULL,
        UNIQUE (session_id, model)
    ) STRICT""",
    """CREATE TABLE chunks (
        snapshot_id INTEGER NOT NULL REFERENCES snapshots (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        data BLOB NOT NULL,
        PRIMARY KEY (snapshot_id, number)
    ) STRICT""",
)


def touch(conn: Connection, session_id: str, model: str) -> None:
    conn.execute(
        "UPDATE snapshots SET used = (SELECT max(used) + 1 FROM snapshots)"
        " WHERE session_id = ? AND model = ?",
        (session_id, model),
    )


def find(conn: Connection, session_id: str, model: str) -> SnapshotInfo | None:
    row = conn.execute(
        "SELECT prefix_hash, size, tokens FROM snapshots WHERE session_id = ? AND model = ?",
        (session_id, model),
    ).fetchone()
    if row is None:
        return None
    tokens = unpack_tokens(row[2])
    return SnapshotInfo(session_id, model, row[0], len(tokens), row[1], tokens)


def load(conn: Connection, info: SnapshotInfo) -> ModelState | None:
    row = conn.execute(
        "SELECT id, sha256 FROM snapshots WHERE session_id = ? AND model = ? AND prefix_hash = ?",
        (info.session_id, info.model, info.prefix_hash),
    ).fetchone()
    if row is None:
        return None
    chunks = conn.execute("SELECT data FROM chunks WHERE snapshot_id = ? ORDER BY number", (row[0],))
    return ModelState(info.model, info.tokens, tuple(data for (data,) in chunks), row[1])


def put(conn: Connection, session_id: str, state: ModelState, limit: int) -> None:
    stored = find(conn, session_id, state.model)
    if stored is not None and stored.tokens[: len(state.tokens)] == state.tokens:
        touch(conn, session_id, state.model)
        return
    conn.execute("DELETE FROM snapshots WHERE session_id = ? AND model = ?", (session_id, state.model))
    total = conn.execute("SELECT coalesce(sum(size), 0) FROM snapshots").fetchone()[0] + state.size
    for number, size in conn.execute("SELECT id, size FROM snapshots ORDER BY used").fetchall():
        if total <= limit:
            break
        conn.execute("DELETE FROM snapshots WHERE id = ?", (number,))
        total -= size
    (number,) = conn.execute(
        "INSERT INTO snapshots (session_id, model, prefix_hash, tokens, size, sha256, used)"
        " VALUES (?, ?, ?, ?, ?, ?, (SELECT coalesce(max(used), 0) + 1 FROM snapshots)) RETURNING id",
        (
            session_id,
            state.model,
            state.prefix_hash,
            pack_tokens(state.tokens),
            state.size,
            state.sha256,
        ),
    ).fetchone()
    conn.executemany(
        "INSERT INTO chunks (snapshot_id, number, data) VALUES (?, ?, ?)",
        ((number, n, chunk) for n, chunk in enumerate(state.chunks)),
    )
    _shrink(conn)


def drop(conn: Connection, condition: str, values: tuple[str, ...]) -> tuple[int, int]:
    """How many states went, and how many are left; the last ones are left to the caller."""
    total = conn.execute("SELECT count(*) FROM snapshots").fetchone()[0]
    where = f"FROM snapshots WHERE {condition}"  # a constant of this module
    gone = conn.execute(f"SELECT count(*) {where}", values).fetchone()[0]
    if 0 < gone < total:
        conn.execute(f"DELETE {where}", values)
        _shrink(conn)
    return gone, total - gone


def _shrink(conn: Connection) -> None:
    """Gives the disk back what the file no longer needs."""
    conn.execute("PRAGMA incremental_vacuum").fetchall()


def problems(conn: Connection) -> tuple[str, ...]:
    found = [f"page check: {row[0]}" for row in conn.execute("PRAGMA cipher_integrity_check")]
    found += [str(row[0]) for row in conn.execute("PRAGMA integrity_check") if row[0] != "ok"]
    odd = conn.execute(
        "SELECT count(*) FROM snapshots AS s WHERE size <>"
        " (SELECT coalesce(sum(length(data)), 0) FROM chunks WHERE snapshot_id = s.id)"
    ).fetchone()[0]
    return (*found, *([f"{odd} incomplete states"] if odd else []))
