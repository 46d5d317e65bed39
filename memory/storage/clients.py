"""The clients of one room: their tokens as digests, the sessions they began, and their requests."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from memory.clients import Access, AccessEntry, AccessKind, AccessOutcome, Client, NewClient, Scope
from memory.clock import Clock, micros, moment
from memory.errors import ClientNotFound, NameTaken
from memory.personas import found_among
from memory.storage.connection import Connection, new_id, storable
from memory.storage.database import Database
from memory.storage.queries.projects import project_id as known_project
from memory.storage.queries.projects import project_named

_MINUTE = 60_000_000
_ENGINE_KEY = "engine_key:"
_SELECT = """
    SELECT c.id, c.name, c.scopes, c.rate, c.created_at, p.name, c.bound, c.used_at, c.revoked_at
    FROM clients AS c LEFT JOIN projects AS p ON p.id = c.project_id
"""


def _client(row: tuple[Any, ...]) -> Client:
    return Client(
        id=row[0],
        name=row[1],
        scopes=frozenset(map(Scope, row[2].split(","))),
        rate=row[3],
        created_at=moment(row[4]),
        project=row[5],
        bound=bool(row[6]),
        used_at=None if row[7] is None else moment(row[7]),
        revoked_at=None if row[8] is None else moment(row[8]),
    )


def all_clients(conn: Connection, *, revoked: bool = False) -> list[Client]:
    """Returns the clients by name; with `revoked`, also those that are no longer allowed."""
    where = "" if revoked else "WHERE c.revoked_at IS NULL"
    return [_client(row) for row in conn.execute(f"{_SELECT} {where} ORDER BY fold(c.name), c.created_at")]


def client(conn: Connection, ref: str) -> Client:
    """Returns a client that is not revoked. Raises `ClientNotFound`, `AmbiguousId`."""
    found = found_among(all_clients(conn), ref)
    if found is None:
        raise ClientNotFound(ref)
    return found


def by_token(conn: Connection, token_hash: bytes) -> Client | None:
    """Returns the client with this token, unless it was revoked."""
    row = conn.execute(f"{_SELECT} WHERE c.token_hash = ? AND c.revoked_at IS NULL", (token_hash,)).fetchone()
    return None if row is None else _client(row)


def insert(conn: Connection, new: NewClient, token_hash: bytes, now: datetime) -> Client:
    """Stores a client, and its project if that is new. Raises `NameTaken`."""
    if any(one.name.casefold() == new.name.casefold() for one in all_clients(conn)):
        raise NameTaken(new.name)
    project = None
    if new.project is not None:
        project = known_project(conn, new.project) or project_named(conn, new.project, now)
    client_id = new_id()
    conn.execute(
        """
        INSERT INTO clients (id, name, token_hash, scopes, project_id, bound, rate, created_at)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """,
        (
            client_id,
            storable(new.name),
            token_hash,
            ",".join(scope for scope in Scope if scope in new.scopes),
            project,
            int(project is not None),
            new.rate,
            micros(now),
        ),
    )
    return client(conn, client_id)


def revoke(conn: Connection, client_id: str, now: datetime) -> None:
    conn.execute(
        "UPDATE clients SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (micros(now), client_id)
    )


def record(conn: Connection, accesses: Iterable[Access], now: datetime) -> None:
    """Adds accesses to the log."""
    minute = micros(now) // _MINUTE
    for one in accesses:
        conn.execute(
            """
            INSERT INTO client_accesses (client_id, minute, kind, outcome, requests, items, tokens)
            SELECT id, ?, ?, ?, 1, ?, ? FROM clients WHERE id = ?
            ON CONFLICT (client_id, minute, kind, outcome) DO UPDATE SET requests = requests + 1,
                items = items + excluded.items, tokens = tokens + excluded.tokens
            """,
            (minute, one.kind.value, one.outcome.value, one.items, one.tokens, one.client_id),
        )
        conn.execute("UPDATE clients SET used_at = ? WHERE id = ?", (micros(now), one.client_id))


def accesses(conn: Connection, client_id: str | None, limit: int) -> list[AccessEntry]:
    """Returns the newest entries of the log first, of one client or of all."""
    rows = conn.execute(
        """
        SELECT c.name, a.minute, a.kind, a.outcome, a.requests, a.items, a.tokens
        FROM client_accesses AS a JOIN clients AS c ON c.id = a.client_id
        WHERE ?1 IS NULL OR a.client_id = ?1
        ORDER BY a.minute DESC, c.name, a.kind, a.outcome LIMIT ?2
        """,
        (client_id, limit),
    )
    return [
        AccessEntry(name, moment(minute * _MINUTE), AccessKind(kind), AccessOutcome(outcome), *numbers)
        for name, minute, kind, outcome, *numbers in rows
    ]


def drop_accesses(conn: Connection, before: datetime) -> int:
    """Removes older entries of the log; returns how many."""
    return int(
        conn.execute("DELETE FROM client_accesses WHERE minute < ?", (micros(before) // _MINUTE,)).rowcount
    )


def own_session(conn: Connection, client_id: str, session_id: str) -> bool:
    """Whether the client began the session."""
    row = conn.execute(
        "SELECT 1 FROM client_sessions WHERE session_id = ? AND client_id = ?", (session_id, client_id)
    ).fetchone()
    return row is not None


def put_session(conn: Connection, client_id: str, session_id: str) -> None:
    conn.execute(
        "INSERT OR IGNORE INTO client_sessions (session_id, client_id) VALUES (?, ?)", (session_id, client_id)
    )


def engine_key(conn: Connection, key_id: str) -> str | None:
    """Returns a key that was stored for another server."""
    row = conn.execute("SELECT value FROM meta WHERE key = ?", (f"{_ENGINE_KEY}{key_id}",)).fetchone()
    return None if row is None else str(row[0])


def keep_engine_key(conn: Connection, key_id: str, secret: str | None) -> None:
    """Stores a key for another server; None deletes it."""
    if secret is None:
        conn.execute("DELETE FROM meta WHERE key = ?", (f"{_ENGINE_KEY}{key_id}",))
        return
    values = (f"{_ENGINE_KEY}{key_id}", storable(secret))
    conn.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", values)


class ClientStore:
    """The clients of one room. A `ref` is a name (in any case), an id, or a unique prefix of either.

    Raises `ClientNotFound`, `AmbiguousId`, and the errors of `Store`.
    """

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def list(self, *, revoked: bool = False) -> Sequence[Client]:
        return await self._database.read(lambda conn: all_clients(conn, revoked=revoked))

    async def get(self, ref: str) -> Client:
        return await self._database.read(lambda conn: client(conn, ref))

    async def by_token(self, token_hash: bytes) -> Client | None:
        """Returns the client whose token has this SHA-256; None if there is none, or it was revoked."""
        return await self._database.read(lambda conn: by_token(conn, token_hash))

    async def add(self, new: NewClient, token_hash: bytes) -> Client:
        """Raises `NameTaken`."""
        now = self._clock.now()
        return await self._database.write(lambda conn: insert(conn, new, token_hash, now))

    async def revoke(self, ref: str) -> Client:
        """Its token is refused from now on; its log stays."""
        now = self._clock.now()

        def work(conn: Connection) -> Client:
            gone = client(conn, ref)
            revoke(conn, gone.id, now)
            return gone

        return await self._database.write(work)

    async def record(self, accesses: Sequence[Access]) -> None:
        now = self._clock.now()
        await self._database.write(lambda conn: record(conn, accesses, now))

    async def accesses(self, ref: str | None = None, *, limit: int = 100) -> Sequence[AccessEntry]:
        """Returns the log, newest first. A revoked client is also found, by its full name or id."""

        def work(conn: Connection) -> Sequence[AccessEntry]:
            if ref is None:
                return accesses(conn, None, limit)
            gone = [one for one in all_clients(conn, revoked=True) if ref in (one.name, one.id)]
            found = gone[-1].id if len(gone) == 1 else client(conn, ref).id
            return accesses(conn, found, limit)

        return await self._database.read(work)

    async def drop_accesses(self, before: datetime) -> int:
        """Removes older entries of the log; returns how many."""
        return await self._database.erase(lambda conn: drop_accesses(conn, before))

    async def began(self, client_id: str, session_id: str) -> bool:
        """Whether the client began the session."""
        return await self._database.read(lambda conn: own_session(conn, client_id, session_id))

    async def begins(self, client_id: str, session_id: str) -> None:
        """Records that the client began the session."""
        await self._database.write(lambda conn: put_session(conn, client_id, session_id))

    async def engine_key(self, key_id: str) -> str | None:
        """Returns the key that this room keeps for another model server; None if there is none."""
        return await self._database.read(lambda conn: engine_key(conn, key_id))

    async def keep_engine_key(self, key_id: str, secret: str | None) -> None:
        """Stores a key for another server, or deletes it."""
        await self._database.write(lambda conn: keep_engine_key(conn, key_id, secret))
