"""Listens on this computer, at a loopback address or a Unix socket, within limits."""

import asyncio
import contextlib
import ipaddress
import logging
import os
import socket
import stat
import sys
from collections.abc import Callable, Collection, Generator
from pathlib import Path

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from atlas_desktop.errors import DoorRefused
from atlas_desktop.locale import _
from atlas_desktop.paths import PRIVATE_FILE

HEADERS_S = 10.0
"""Seconds within which the headers of a request have to be complete."""
MOST_CONNECTIONS = 512
"""Open connections; further ones are closed at once."""
END_S = 2
"""Seconds that requests in progress get to end when the server ends."""
_FILES = 4_096
_LOGGERS = ("uvicorn", "uvicorn.error", "uvicorn.access", "uvicorn.asgi", "asyncio", "mcp")


def listen_on(host: str, port: int) -> socket.socket:
    """Returns a listening socket on a loopback address. Raises `DoorRefused`."""
    address = "127.0.0.1" if host.lower() == "localhost" else host
    try:
        loopback = ipaddress.ip_address(address).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        raise DoorRefused("address", 400, host=host)
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name != "nt":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((address, port))
        found.listen(1_024)
    except (OSError, OverflowError) as error:
        found.close()
        why = getattr(error, "strerror", None) or _("the port is out of range")
        raise DoorRefused("port", 400, where=f"{host}:{port}", why=why) from None
    return found


def listen_at(path: Path) -> socket.socket:
    """Returns a listening Unix socket that only this user can connect to. Replaces a dead one. Raises
    `DoorRefused`."""
    if not hasattr(socket, "AF_UNIX"):
        raise DoorRefused("port", 400, where=str(path), why=_("this system has no Unix sockets"))
    found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        remove_dead(path)
        found.bind(str(path))
        path.chmod(PRIVATE_FILE)
        found.listen(1_024)
    except OSError as error:
        found.close()
        why = error.strerror or _("the path is too long")
        raise DoorRefused("port", 400, where=str(path), why=why) from None
    finally:
        os.umask(before)
    return found


def remove_dead(path: Path) -> None:
    """Removes a socket that nobody listens on. Raises OSError for a live one, and for any other file."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise FileExistsError(17, _("there is another file with this name"))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            path.unlink(missing_ok=True)
            return
    raise FileExistsError(17, _("another program listens there"))


def names_of(listening: socket.socket) -> Collection[str] | None:
    """Returns the allowed values of the Host header; None for a Unix socket, where none matters."""
    if listening.family not in (socket.AF_INET, socket.AF_INET6):
        return None
    address, port = listening.getsockname()[:2]
    shown = f"[{address}]" if ":" in address else address
    hosts = {shown, "localhost", "127.0.0.1", "[::1]"}
    return frozenset({f"{host}:{port}" for host in hosts} | (hosts if port == 80 else set()))


def url_of(listening: socket.socket) -> str:
    """Returns the address, without a path."""
    if listening.family not in (socket.AF_INET, socket.AF_INET6):
        return f"unix:{listening.getsockname()}"
    address, port = listening.getsockname()[:2]
    return f"http://{f'[{address}]' if ':' in address else address}:{port}"


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

    async def stop(self) -> None:
        """Ends within seconds; requests in progress are cut off after `END_S`."""
        server, task = self._server, self._task
        self._server = self._task = None
        if server is not None and task is not None:
            server.should_exit = True
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
