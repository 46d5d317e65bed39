"""Programs that may access one room: their tokens, their permissions, and a log of their requests."""

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from datetime import timedelta

from atlas_desktop.errors import BadClient
from memory.clients import (
    MOST_RATE,
    NAME,
    Access,
    AccessEntry,
    AccessKind,
    AccessOutcome,
    Client,
    NewClient,
    Scope,
)
from memory.clock import Clock
from memory.errors import StorageBusy, StorageFull
from memory.storage.store import Store

_PREFIX = "atlas-"
"""Lets people, and programs that look for leaked secrets, recognise a token."""
_BYTES = 32
LOGGED = timedelta(days=90)
"""How long the log is kept."""


def digest(token: str) -> bytes:
    """Returns the SHA-256 of a token. Tokens have 256 random bits, so a slow hash would add nothing."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


def scopes_of(text: str) -> frozenset[Scope]:
    """Reads scopes separated by commas. Raises `BadClient`."""
    try:
        found = frozenset(Scope(one.strip().lower()) for one in text.split(",") if one.strip())
    except ValueError:
        raise BadClient("scopes") from None
    if not found:
        raise BadClient("scopes")
    return found


class ClientService:
    """The clients of one room. A `ref` is a name, an id, or a unique prefix; raises what `ClientStore`
    raises."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def list(self, *, revoked: bool = False) -> Sequence[Client]:
        return await self._store.clients.list(revoked=revoked)

    async def get(self, ref: str) -> Client:
        return await self._store.clients.get(ref)

    async def add(self, new: NewClient) -> tuple[Client, str]:
        """Stores a client; returns it with its token, which is not stored. Raises `BadClient`,
        `NameTaken`."""
        if NAME.fullmatch(new.name) is None:
            raise BadClient("name")
        if not new.scopes:
            raise BadClient("scopes")
        if not 1 <= new.rate <= MOST_RATE:
            raise BadClient("rate")
        token = _PREFIX + secrets.token_urlsafe(_BYTES)
        return await self._store.clients.add(new, digest(token)), token

    async def revoke(self, ref: str) -> Client:
        return await self._store.clients.revoke(ref)

    async def allowed(self, client: Client) -> bool:
        """Whether the client's token is still accepted."""
        return any(one.id == client.id for one in await self.list())

    async def authenticate(self, token: str, *, name: str | None = None) -> Client | None:
        """Returns the client with this token, and this name if given; None if there is none."""
        if not token:
            return None
        found = await self._store.clients.by_token(digest(token))
        if found is None or name is None:
            return found
        same = hmac.compare_digest(name.casefold().encode(), found.name.casefold().encode())
        return found if same else None

    async def log(self, ref: str | None = None, *, limit: int = 100) -> Sequence[AccessEntry]:
        return await self._store.clients.accesses(ref, limit=limit)

    async def record(
        self,
        client: Client,
        kind: AccessKind,
        outcome: AccessOutcome = AccessOutcome.DONE,
        *,
        items: int = 0,
        tokens: int = 0,
    ) -> bool:
        """Adds a request to the log; returns False if it cannot be stored now."""
        try:
            await self._store.clients.record([Access(client.id, kind, outcome, items, tokens)])
        except (StorageFull, StorageBusy):
            return False
        return True

    async def drop_old(self) -> int:
        """Removes entries older than `LOGGED` from the log; returns the number of entries."""
        return await self._store.clients.drop_accesses(self._clock.now() - LOGGED)
