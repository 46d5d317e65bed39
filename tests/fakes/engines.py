"""An OpenAI-compatible server that does what a test says, faults included."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

MODEL = "small"


@dataclass(slots=True)
class Asked:
    """One request, and the connection to answer it on."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any
    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader

    async def until_gone(self) -> None:
        """Waits until the client closes the connection."""
        assert await self.reader.read() == b""

    async def answer(self, value: object, status: int = 200, *, headers: str = "") -> None:
        """Sends JSON, or bytes as they are."""
        body = value if isinstance(value, bytes) else json.dumps(value).encode()
        head = f"HTTP/1.1 {status} x\r\nContent-Type: application/json\r\n{headers}"
        await self.send(f"{head}Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode() + body)

    async def begin_stream(self) -> None:
        await self.send(b"HTTP/1.1 200 x\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")

    async def event(self, value: object) -> None:
        text = value if isinstance(value, str) else json.dumps(value)
        await self.send(f"data: {text}\n\n".encode())

    async def word(self, text: str, **more: object) -> None:
        await self.event({"choices": [{"index": 0, "delta": {"content": text, **more}}]})

    async def end(self, reason: str = "stop", **more: object) -> None:
        await self.event({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}], **more})
        await self.event("[DONE]")

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()


Handler = Callable[[Asked], Awaitable[None]]


async def reply(asked: Asked, *words: str, reason: str = "stop") -> None:
    """Streams a sound reply."""
    await asked.begin_stream()
    for word in words:
        await asked.word(word)
    await asked.end(reason)


@dataclass(slots=True)
class FakeEngine:
    """`chat` answers requests for a reply, `routes` others by their path. `asked` is what came, in order."""

    chat: Handler = reply
    routes: dict[str, Handler] = field(default_factory=dict)
    models: Sequence[str] = (MODEL,)
    asked: list[Asked] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def bodies(self, path: str = "/v1/chat/completions") -> list[Any]:
        return [one.body for one in self.asked if one.path == path]

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            asked = await _read(reader, writer)
            self.asked.append(asked)
            if asked.path in self.routes:
                await self.routes[asked.path](asked)
            elif asked.path in ("/v1/chat/completions", "/v1/completions"):
                await self.chat(asked)
            elif asked.path == "/v1/models":
                await asked.answer({"object": "list", "data": [{"id": name} for name in self.models]})
            else:
                await asked.answer({"error": {"message": "no such address"}}, 404)
        except (ConnectionError, asyncio.IncompleteReadError):
            # The client has gone, as some tests want it to.
            return
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    method, path, _ = first.split(" ")
    headers = {name.lower(): text.strip() for name, _, text in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, json.loads(body) if body else None, writer, reader)


@asynccontextmanager
async def running(engine: FakeEngine) -> AsyncIterator[FakeEngine]:
    """Runs the server; connections that are still open at the end are cut."""
    tasks: set[asyncio.Task[None]] = set()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(engine.connected(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, limit=64 * 1024 * 1024)
    engine.port = server.sockets[0].getsockname()[1]
    try:
        yield engine
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
