"""Serves HTTP on a listening socket: the checks that every request passes first, and connection limits."""

import asyncio
import contextlib
import logging
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Generator
from contextlib import suppress
from pathlib import Path

import uvicorn
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from atlas_desktop.errors import DoorRefused, size
from atlas_desktop.locale import _
from atlas_desktop.serve.listening import names_of, url_of
from atlas_desktop.serve.wire import error_response
from memory.clients import AccessKind, AccessOutcome, Client

HEADERS_S = 10.0
"""Seconds within which the headers of a request have to be complete."""
MOST_CONNECTIONS = 512
"""Open connections; further ones are closed at once."""
END_S = 2
"""Seconds that requests in progress get to end when the server ends."""
_FILES = 4_096
_LOGGERS = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "asyncio", "mcp")


class _TimedProtocol(H11Protocol):
    """HTTP with a deadline for headers and a limited number of connections."""

    open_now = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        _TimedProtocol.open_now += 1
        self._late = asyncio.get_running_loop().call_later(HEADERS_S, self._end_if_waiting)
        if _TimedProtocol.open_now > MOST_CONNECTIONS:
            transport.write(_BUSY)
            transport.close()

    def _end_if_waiting(self) -> None:
        """Closes a connection that has sent only a part of its headers, or nothing at all."""
        if not self._answering:
            self.transport.close()

    @property
    def _answering(self) -> bool:
        """Whether the headers of a request have arrived and it is not answered yet."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._answering:
            self._late.cancel()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # The next request on this connection has the same deadline.
        self._late.cancel()
        self._late = asyncio.get_running_loop().call_later(HEADERS_S, self._end_if_waiting)

    def connection_lost(self, exc: Exception | None) -> None:
        _TimedProtocol.open_now -= 1
        self._late.cancel()
        super().connection_lost(exc)


_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"retry-after: 5\r\n\r\n"
    b'{"error": {"message": "Too many connections are open. Close some, or try again in 5 seconds.", '
    b'"type": "server_error", "code": "door_busy", "param": null}}'
)


class _Server(uvicorn.Server):
    """A server within a program that handles signals itself."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


class DoorServer:
    """Serves an application on one socket, from `start` to `stop`."""

    def __init__(self, app: Callable[[Callable[[], Collection[str] | None]], ASGIApp]) -> None:
        """`app` makes the application, from a function that returns the allowed hosts."""
        self._app = app
        self._server: _Server | None = None
        self._task: asyncio.Task[None] | None = None
        self._socket: socket.socket | None = None
        self._path: Path | None = None

    @property
    def url(self) -> str | None:
        """The address while it listens, otherwise None."""
        return None if self._socket is None else url_of(self._socket)

    async def start(self, listening: socket.socket, path: Path | None = None) -> str:
        """Starts answering on a listening socket; `path` is that of a Unix socket. Returns the address."""
        allow_many_files()
        quiet()
        self._socket, self._path = listening, path
        hosts = names_of(listening)
        config = uvicorn.Config(
            self._app(lambda: hosts),
            http=_TimedProtocol,
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            proxy_headers=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=END_S,
            h11_max_incomplete_event_size=64 * 1024,
        )
        self._server = _Server(config)
        self._task = asyncio.create_task(self._server.serve(sockets=[listening]), name="door")
        while not self._server.started:
            if self._task.done():
                await self._task
                raise DoorRefused("port", 400, where=url_of(listening), why=_("it could not be started"))
            await asyncio.sleep(0.01)
        return url_of(listening)

    async def stop(self, *, at_once: bool = False) -> None:
        """Stops within seconds; requests in progress are cut off after `END_S`, or `at_once`."""
        server, task = self._server, self._task
        self._server = self._task = None
        if server is not None and task is not None:
            server.should_exit = True
            server.force_exit = at_once
            await asyncio.wait({task}, timeout=END_S + 2)
            if not task.done():
                server.force_exit = True
                task.cancel()
                await asyncio.wait({task}, timeout=1)
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._path is not None:
            self._path.unlink(missing_ok=True)
            self._path = None


def quiet() -> None:
    """Turns off the logging of the libraries, because it could contain content."""
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def allow_many_files() -> None:
    """Raises the limit on open files, because each connection is one."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


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
"""The kind to log for a request that is refused before it is read; all other addresses count as replies."""


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
    """ASGI middleware that refuses requests with a message, or passes them on with their client and whole
    body.

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
        # Browsers send an origin with every request of a page; other programs send none.
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
    """Returns a function that yields the body once, and then the events of the connection (that it was
    closed)."""
    given = False

    async def next_message() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message


async def until_left(receive: Receive) -> None:
    """Returns when the other side has closed the connection. The body must have been read before."""
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
