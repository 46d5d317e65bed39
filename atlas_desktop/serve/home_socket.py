"""The socket in the home: commands in other terminals are answered by the program that holds the home.

One connection is one command. Both sides write lines of JSON: the command first, then lines of its standard
input one way, and its output the other way. Only processes of the same user are answered: the socket is
theirs alone, and on Linux the kernel says who has connected.
"""

import asyncio
import json
import os
import socket
import struct
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from atlas_desktop.errors import DoorRefused
from atlas_desktop.paths import Paths
from atlas_desktop.serve.listening import listen_at

LONGEST_LINE = 16 * 1024 * 1024
"""Bytes of one line, either way."""
MOST_COMMANDS = 32
"""Commands that are answered at the same time."""
_LONGEST_PATH = 100
"""Bytes: the system allows little more in the name of a socket."""


class Exchange:
    """One command's connection: what it reads and writes."""

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
        """Takes what comes after the command, until the other side has left."""
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
        """Begins to listen; returns False where the system cannot: commands are then refused."""
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
            # Not a command of this program, or the other side has left.
            return
        finally:
            self._running.discard(task)
            writer.close()


def socket_path(paths: Paths) -> Path:
    return paths.home / "commands"


def _short(path: Path) -> tuple[Path, int | None]:
    """Returns a short name for a socket whose path is too long, and the open folder that it goes through."""
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
    """Connects to the program that holds the home; None if there is none that answers commands."""
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
