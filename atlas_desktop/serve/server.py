"""Serves HTTP on a listening socket, with limits for slow and many connections."""

import asyncio
import contextlib
import logging
import socket
import sys
from collections.abc import Callable, Collection, Generator
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from atlas_desktop.errors import DoorRefused
from atlas_desktop.locale import _
from atlas_desktop.serve.listening import names_of, url_of

HEADERS_S = 10.0
"""Seconds within which the headers of a request have to be complete."""
MOST_CONNECTIONS = 512
"""Open connections; further ones are closed at once."""
END_S = 2
"""Seconds that requests in progress get to end when the server ends."""
_FILES = 4_096
_LOGGERS = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "asyncio", "mcp")


class _TimedProtocol(H11Protocol):
    """HTTP whose headers have to come in time, on a limited number of connections."""

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
        """Whether the headers of a request have come, and it is not answered yet."""
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._answering:
            self._late.cancel()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # The next request on this connection has to come in time, too.
        self._late.cancel()
        self._late = asyncio.get_running_loop().call_later(HEADERS_S, self._end_if_waiting)

    def connection_lost(self, exc: Exception | None) -> None:
        _TimedProtocol.open_now -= 1
        self._late.cancel()
        super().connection_lost(exc)


_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nconnection: close\r\n"
    b"retry-after: 5\r\n\r\n"
    b'{"error": {"message": "Busy: too many connections are open.", "type": "server_error", '
    b'"code": "door_busy", "param": null}}'
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
        """The address while it listens; else None."""
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
        """Ends within seconds; requests in progress are cut off after `END_S`, or `at_once`."""
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
    """Turns off what the libraries log: it could name content."""
    for name in _LOGGERS:
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def allow_many_files() -> None:
    """Raises the limit of open files, because each connection is one."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _FILES if hard == resource.RLIM_INFINITY else min(_FILES, hard)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
