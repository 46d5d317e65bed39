"""The HTTP client of one engine: bounded answers, streams, errors as exceptions, one request at a time."""

import asyncio
import heapq
import itertools
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx2

from models import errors
from models.engines.spec import EngineSpec
from models.messages import Lane

CONNECT_S = 5.0
PROBE_S = 10.0
"""Seconds for a question about the server itself, which no model has to answer."""
MOST_BYTES = 32 * 1024 * 1024
"""The largest answer that is not a stream: vectors of 32 texts take some megabytes."""
LONGEST_LINE = 1024 * 1024
_DETAIL = 300
_PRIORITY = {Lane.CHAT: 0, Lane.EMBED: 1, Lane.DOOR: 2, Lane.TASK: 3}


_Running = tuple[Lane, Callable[[], object]]


class EngineClient:
    """Requests to one engine, one at a time.

    The server of llama-cpp-python ends a reply when the next request arrives, and other servers only get
    slower. The most urgent request is sent first, and interrupts background work, which is sent again.

    Nothing is sent through a proxy, no redirect is followed, and only plain answers are read.
    """

    def __init__(self, spec: EngineSpec) -> None:
        self.spec = spec
        self._http: httpx2.AsyncClient | None = None
        self._numbers = itertools.count()
        self._waiting: list[tuple[int, int, asyncio.Future[None], _Running]] = []
        self._running: _Running | None = None

    async def close(self) -> None:
        if self._http is not None:
            http, self._http = self._http, None
            await http.aclose()

    # --- one at a time ----------------------------------------------------------------------------

    @asynccontextmanager
    async def turn(self, lane: Lane, interrupt: Callable[[], object] | None = None) -> AsyncIterator[None]:
        """Waits for this request's turn. `interrupt` is called when a more urgent one waits for it to end."""
        mine = lane, interrupt or _nothing
        if self._running is None:
            self._running = mine
        else:
            place = asyncio.get_running_loop().create_future()
            heapq.heappush(self._waiting, (_PRIORITY[lane], next(self._numbers), place, mine))
            running, stop = self._running
            if running is Lane.TASK and lane is not Lane.TASK:
                stop()
            try:
                await place
            except asyncio.CancelledError:
                if place.done() and not place.cancelled():
                    self._next()
                raise
        try:
            yield
        finally:
            self._next()

    def _next(self) -> None:
        """Lets the most urgent waiting request run."""
        self._running = None
        while self._waiting:
            _, _, place, waiting = heapq.heappop(self._waiting)
            if not place.done():
                # Set already here: another request may come before this one wakes up.
                self._running = waiting
                place.set_result(None)
                return

    # --- requests ---------------------------------------------------------------------------------

    async def get(self, path: str, *, root: bool = False) -> Any:
        """Returns the JSON at a path. Raises `EngineError`."""
        return await self._asked("GET", path, None, PROBE_S, root=root)

    async def post(self, path: str, body: object, *, root: bool = False, limit_s: float | None = None) -> Any:
        """Returns the JSON that answers a body. Raises `EngineError`, `PromptTooLong`."""
        return await self._asked("POST", path, body, limit_s or self.spec.timeout_s, root=root)

    async def offers(self, path: str, body: object = None) -> Any:
        """Returns the JSON of an address that only some servers have; None if this one does not.

        Raises only `EngineUnreachable`, `EngineSilent` and `EngineKeyRefused`.
        """
        try:
            if body is None:
                return await self.get(path, root=True)
            return await self.post(path, body, root=True, limit_s=PROBE_S)
        except (errors.EngineUnreachable, errors.EngineSilent, errors.EngineKeyRefused):
            raise
        except (errors.EngineError, errors.PromptTooLong):
            return None

    async def _asked(self, method: str, path: str, body: object, limit_s: float, *, root: bool) -> Any:
        async with self._sent(method, path, body, limit_s, root=root) as response:
            found = await self._whole(response)
            if response.status_code >= 400:
                raise self._refused(response.status_code, found)
            return self._json(found)

    async def events(self, path: str, body: object) -> AsyncGenerator[dict[str, Any], None]:
        """Yields the events of a stream, or the one answer of a server that does not stream.

        Raises `EngineError`, `PromptTooLong`; `EngineCutOff` if the stream ends without its end mark.
        """
        async with self._sent("POST", path, body, self.spec.timeout_s, root=False) as response:
            if response.status_code >= 400:
                raise self._refused(response.status_code, await self._whole(response))
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "application/json":
                yield self._object(await self._whole(response))
                return
            async with aclosing(self._lines(response)) as lines:
                async for line in lines:
                    # Other lines are comments that keep the connection open, and names of events.
                    name, _, data = line.partition(b":")
                    if name not in (b"data", b"error"):
                        continue
                    if data.strip() == b"[DONE]":
                        return
                    event = self._object(data)
                    if name == b"error" or event.get("error"):
                        raise self._refused(_status(event), data)
                    yield event
        # The reader of the events knows whether the last one was marked as the last.

    @asynccontextmanager
    async def _sent(
        self, method: str, path: str, body: object, limit_s: float, *, root: bool
    ) -> AsyncIterator[httpx2.Response]:
        """Sends a request and yields the answer, of which only the head has been read."""
        if self._http is None:
            self._http = httpx2.AsyncClient(
                trust_env=False,
                follow_redirects=False,
                headers={"Accept-Encoding": "identity", "User-Agent": "atlas-desktop"},
            )
        headers = {"Authorization": f"Bearer {key}"} if (key := await self.spec.key()) else {}
        url = f"{self.spec.root if root else self.spec.url}/{path}"
        try:
            async with self._http.stream(
                method,
                url,
                json=body,
                headers=headers,
                timeout=httpx2.Timeout(limit_s, connect=CONNECT_S),
            ) as response:
                if response.is_redirect:
                    raise errors.EngineBadAnswer(self.spec.name, "redirect")
                if response.headers.get("content-encoding", "identity").lower() != "identity":
                    raise errors.EngineBadAnswer(self.spec.name, "encoding")
                yield response
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.UnsupportedProtocol) as error:
            raise errors.EngineUnreachable(self.spec.name, self.spec.host) from error
        except httpx2.TimeoutException as error:
            raise errors.EngineSilent(self.spec.name, limit_s) from error
        except (httpx2.TransportError, httpx2.StreamError) as error:
            raise errors.EngineCutOff(self.spec.name) from error

    async def _whole(self, response: httpx2.Response) -> bytes:
        found = bytearray()
        async for piece in response.aiter_raw():
            found += piece
            if len(found) > MOST_BYTES:
                raise errors.EngineBadAnswer(self.spec.name, "size")
        return bytes(found)

    async def _lines(self, response: httpx2.Response) -> AsyncGenerator[bytes, None]:
        """Yields lines that are not empty, without their ends. Raises `EngineBadAnswer` for a huge one."""
        held = b""
        async for piece in response.aiter_raw():
            *whole, held = (held + piece).split(b"\n")
            if len(held) > LONGEST_LINE or any(len(line) > LONGEST_LINE for line in whole):
                raise errors.EngineBadAnswer(self.spec.name, "line")
            for line in whole:
                if line.strip():
                    yield line.rstrip(b"\r")
        if held.strip():
            yield held

    # --- answers ----------------------------------------------------------------------------------

    def _json(self, found: bytes) -> Any:
        try:
            return json.loads(found)
        except (ValueError, RecursionError) as error:
            raise errors.EngineBadAnswer(self.spec.name, "json") from error

    def _object(self, found: bytes) -> dict[str, Any]:
        value = self._json(found)
        if not isinstance(value, dict):
            raise errors.EngineBadAnswer(self.spec.name, "shape")
        return value

    def _refused(self, status: int, found: bytes) -> errors.ModelsError:
        """Returns the exception for an answer that reports an error."""
        code, detail, told = _reported(found)
        if status in (401, 403):
            return errors.EngineKeyRefused(self.spec.name)
        if "context" in code or "context length" in detail or "context window" in detail:
            tokens, limit = _sizes(told, detail)
            if tokens:
                return errors.PromptTooLong(tokens, limit)
        kind = errors.EngineBusy if status in (429, 503) else errors.EngineFailed
        return kind(self.spec.name, status, detail[:_DETAIL])


def _nothing() -> None:
    """The default for requests that are not background work: they are never interrupted."""


def _status(event: Mapping[str, Any]) -> int:
    """The status that an error within a stream reports."""
    told = event.get("error", event)
    code = told.get("code") if isinstance(told, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 500


def _reported(found: bytes) -> tuple[str, str, dict[str, Any]]:
    """Returns the code, the first line of the text, and all of an error that a server reports."""
    try:
        value = json.loads(found)
    except (ValueError, RecursionError):
        return "", "", {}
    told = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(told, str):
        return "", told.strip().partition("\n")[0], {}
    if not isinstance(told, dict):
        return "", "", {}
    text = told.get("message") or told.get("detail") or ""
    code = " ".join(str(told[name]) for name in ("code", "type") if name in told)
    return code, str(text).strip().partition("\n")[0], told


def _sizes(told: Mapping[str, Any], detail: str) -> tuple[int, int]:
    """Returns the tokens of a prompt that was too long, and the limit; 0 where it is not reported."""
    tokens, limit = told.get("n_prompt_tokens"), told.get("n_ctx")
    if isinstance(tokens, int) and isinstance(limit, int):
        return tokens, limit
    # Two numbers, in either order: the larger one is what the prompt needs.
    numbers = [int(word) for word in _words(detail) if word.isascii() and word.isdigit() and len(word) < 10]
    return (max(numbers[:2]), min(numbers[:2])) if len(numbers) > 1 else (0, 0)


def _words(text: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in text).split()
