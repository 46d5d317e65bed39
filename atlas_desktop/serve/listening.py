"""Sockets on this computer: loopback addresses, Unix sockets, and the socket in the home for other
terminals."""

import asyncio
import ipaddress
import json
import os
import socket
import stat
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

from atlas_desktop.errors import DoorRefused
from atlas_desktop.locale import _
from atlas_desktop.paths import PRIVATE_FILE, Paths


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
    # With the protocol named, asyncio sends each piece of an answer at once. Otherwise the second one waits
    # 40 ms until the other side has confirmed the first.
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
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
    """Removes a socket on which no program listens. Raises OSError for a live one, and for any other file."""
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
    """Returns the allowed values of the Host header; None for a Unix socket, which does not check it."""
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


LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of one line, either way."""
MOST_COMMANDS = 32
"""Maximum number of commands answered at the same time."""
_LONGEST_PATH = 100
"""Maximum bytes: the system allows little more in the name of a socket."""


class Exchange:
    """The connection of one command: its input and output."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.on_stop: Callable[[int], None] | None = None

    async def begin(self) -> dict[str, Any]:
        """Returns the command. Raises ValueError."""
        first = json.loads(await self._reader.readline())
        if not isinstance(first, dict):
            raise TypeError("not a command")
        return first

    async def follow(self) -> None:
        """Reads what follows the command until the other side has disconnected."""
        with suppress(ConnectionError, ValueError, asyncio.LimitOverrunError):
            while raw := await self._reader.readline():
                message = json.loads(raw)
                if "line" in message:
                    self._lines.put_nowait(str(message["line"]))
                elif "stop" in message and self.on_stop is not None:
                    self.on_stop(int(message["stop"]))
                elif "end" in message:
                    self._lines.put_nowait(None)
        self._lines.put_nowait(None)

    async def lines(self) -> AsyncIterator[str]:
        """Yields the lines of the command's standard input."""
        while (line := await self._lines.get()) is not None:
            yield line

    def send(self, **message: object) -> None:
        """Writes a line of output (`out`, `aside`), or the exit status (`exit`)."""
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message).encode() + b"\n")

    async def sent(self) -> None:
        with suppress(ConnectionError):
            await self._writer.drain()


Answer = Callable[[Exchange], Awaitable[int]]


class HomeSocket:
    """Answers commands from `start` to `stop`; `answer` runs one and returns its exit status."""

    def __init__(self, paths: Paths, answer: Answer) -> None:
        self._path = socket_path(paths)
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._running: set[asyncio.Task[None]] = set()
        self._folder: int | None = None

    async def start(self) -> bool:
        """Starts to listen; returns False if the system does not support it, and commands are then
        refused."""
        if not hasattr(socket, "AF_UNIX"):
            return False
        try:
            path, self._folder = _short(self._path)
            listening = listen_at(path)
        except (DoorRefused, OSError):
            return False
        self._server = await asyncio.start_unix_server(self._connected, sock=listening, limit=LONGEST_LINE)
        return True

    async def stop(self) -> None:
        """Ends all commands in progress, and removes the socket."""
        server, self._server = self._server, None
        if server is None:
            return
        server.close()
        for task in list(self._running):
            task.cancel()
        if self._running:
            await asyncio.wait(self._running, timeout=1)
        with suppress(OSError):
            self._path.unlink(missing_ok=True)
        if self._folder is not None:
            os.close(self._folder)
            self._folder = None

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if not _is_own(writer) or len(self._running) >= MOST_COMMANDS:
            writer.close()
            return
        self._running.add(task)
        exchange = Exchange(reader, writer)
        try:
            working = asyncio.ensure_future(self._answer(exchange))
            try:
                status = await working
            finally:
                working.cancel()
            exchange.send(exit=status)
            await exchange.sent()
        except (ValueError, TypeError, ConnectionError):
            # Not a command of this program, or the other side has disconnected.
            return
        finally:
            self._running.discard(task)
            writer.close()


def socket_path(paths: Paths) -> Path:
    return paths.home / "commands"


def _short(path: Path) -> tuple[Path, int | None]:
    """Returns a short name for a socket whose path is too long, and the open folder through which it is
    reached."""
    if len(os.fsencode(path)) <= _LONGEST_PATH or sys.platform != "linux":
        return path, None
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    return Path(f"/proc/self/fd/{folder}/{path.name}"), folder


def _is_own(writer: asyncio.StreamWriter) -> bool:
    """Whether the process at the other end is this user's."""
    if sys.platform != "linux":
        # The socket's mode and its folder's keep others out.
        return True
    connection: socket.socket = writer.get_extra_info("socket")
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _process, user, _group = struct.unpack("3i", raw)
    return bool(user == os.geteuid())


async def connect(paths: Paths) -> "tuple[asyncio.StreamReader, asyncio.StreamWriter] | None":
    """Connects to the program that holds the home; None if no program answers commands."""
    if not hasattr(socket, "AF_UNIX"):
        return None
    path = socket_path(paths)
    try:
        found = path.lstat()
        if found.st_uid != os.geteuid():
            return None
        short, folder = _short(path)
        try:
            return await asyncio.open_unix_connection(str(short), limit=LONGEST_LINE)
        finally:
            if folder is not None:
                os.close(folder)
    except OSError:
        return None
