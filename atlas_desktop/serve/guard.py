"""What every request passes before it is answered: host, origin, size, time, token and rate."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atlas_desktop.errors import DoorRefused, size
from atlas_desktop.serve.wire import error_response
from memory.clients import AccessKind, AccessOutcome, Client

MOST_BODY = 4 * 1024 * 1024
"""Bytes of a request."""
BODY_S = 20.0
"""Seconds within which a request has to be complete."""
_KINDS = {
    "/v1/models": AccessKind.MODELS,
    "/v1/embeddings": AccessKind.EMBEDDINGS,
    "/atlas/recall": AccessKind.RECALL,
    "/atlas/documents": AccessKind.DOCUMENTS,
    "/mcp": AccessKind.RECALL,
}
"""What is logged of a request that is refused before it is read; replies, for all other addresses."""


class Rates:
    """Token buckets: how many requests each client may make now. A bucket holds a minute's requests."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._left: dict[str, tuple[float, float]] = {}

    def take(self, client: Client) -> bool:
        """Takes one request from a client's bucket; returns False when it is empty."""
        now = self._now()
        left, at = self._left.get(client.id, (float(client.rate), now))
        left = min(float(client.rate), left + (now - at) * client.rate / 60)
        allowed = left >= 1
        self._left[client.id] = (left - 1 if allowed else left, now)
        return allowed


class Guard:
    """ASGI middleware that refuses requests in words, or passes them on with their client and whole body.

    `hosts` are the allowed values of the Host header; None allows all, for a Unix socket. `authenticate`
    returns a token's client.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Callable[[], Collection[str] | None],
        authenticate: Callable[[str], Awaitable[Client | None]],
        record: Callable[[Client, AccessKind, AccessOutcome], Awaitable[object]],
        body_s: float = BODY_S,
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._authenticate = authenticate
        self._record = record
        self._rates = Rates()
        self._body_s = body_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        try:
            client = await self._admitted(Headers(scope=scope), _KINDS.get(scope["path"], AccessKind.CHAT))
            body = await self._body(Headers(scope=scope), receive)
        except DoorRefused as refused:
            response = error_response(refused)
            # The rest of a refused body is not read.
            response.headers["connection"] = "close"
            await response(scope, receive, send)
            return
        scope.setdefault("state", {})["client"] = client
        await self._app(scope, _replay(body, receive), send)

    async def _admitted(self, headers: Headers, kind: AccessKind) -> Client:
        """Returns the client of a request; `kind` is for the log. Raises `DoorRefused`."""
        hosts = self._hosts()
        named = headers.getlist("host")
        if hosts is not None and (len(named) != 1 or named[0].lower() not in hosts):
            raise DoorRefused("host", 421)
        # Browsers send an origin with all that pages ask for; other programs send none.
        if headers.get("origin") is not None or headers.get("sec-fetch-site", "none") != "none":
            raise DoorRefused("origin", 403)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise DoorRefused("no_token", 401)
        client = await self._authenticate(token.strip())
        if client is None:
            raise DoorRefused("wrong_token", 401)
        if not self._rates.take(client):
            await self._record(client, kind, AccessOutcome.LIMITED)
            raise DoorRefused("rate", 429, rate=client.rate)
        return client

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """Returns the whole body. Raises `DoorRefused`."""
        given = headers.get("content-length", "")
        if given.isdecimal() and int(given[:20]) > MOST_BODY:
            raise DoorRefused("too_large", 413, limit=size(MOST_BODY))
        parts: list[bytes] = []
        length = 0
        try:
            async with asyncio.timeout(self._body_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise DoorRefused("bad_request", 400, why="")
                    parts.append(message.get("body", b""))
                    length += len(parts[-1])
                    if length > MOST_BODY:
                        raise DoorRefused("too_large", 413, limit=size(MOST_BODY))
                    if not message.get("more_body", False):
                        return b"".join(parts)
        except TimeoutError:
            raise DoorRefused("too_slow", 408, seconds=round(self._body_s)) from None


def _replay(body: bytes, receive: Receive) -> Receive:
    """Returns what gives the body once, and then what the connection says (that it was closed)."""
    given = False

    async def next_message() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message


async def until_left(receive: Receive) -> None:
    """Returns when the other side has closed the connection. The body has been read before."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def unless_left(receive: Receive, work: Awaitable[Response]) -> Response | None:
    """Returns the result of `work`, which is cancelled when the other side closes the connection."""
    doing = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(until_left(receive))
    try:
        await asyncio.wait({doing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        return None
    finally:
        for task in (doing, leaving):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
