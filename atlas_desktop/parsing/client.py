"""Has confined processes parse documents, and replaces processes that die."""

import asyncio
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TypeVar

import msgspec

from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.parsing import protocol
from atlas_desktop.parsing.protocol import (
    LENGTH,
    MOST_BYTES,
    MOST_CHARACTERS,
    MOST_PIXELS,
    PDF,
    Answer,
    PagePicture,
    PageView,
    Request,
    Unreadable,
    seconds_for,
)
from atlas_desktop.services.cleaning import clean
from memory.documents.entities import ParsedText
from models.confinement import child_environment

_AT_ONCE = 2
"""Documents of binary formats that are read at the same time: each takes memory."""
_IDLE_S = 30.0
_CHILD = (sys.executable, "-m", "atlas_desktop.parsing.child")
_PIECE = 1_000_000
# A character takes at most 4 bytes; titles, headings and tables add to that.
_LONGEST_ANSWER = 8 * MOST_CHARACTERS
_LARGE = 1_000_000
_DRAW_S = 20
"""Seconds within which a page has to be drawn."""
_T = TypeVar("_T")
# How the system ends a process that exceeded its processor time.
_OUT_OF_TIME = {-signal.SIGXCPU, -signal.SIGKILL} if sys.platform != "win32" else set[int]()


class _Process:
    """One confined process, which parses one document at a time. After an exception it has ended."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._killed = False

    @classmethod
    async def start(cls) -> "_Process":
        return cls(
            await asyncio.create_subprocess_exec(
                *_CHILD,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                limit=_PIECE,
                env=child_environment(),
                # Ctrl-C in the terminal is for the application.
                start_new_session=True,
            )
        )

    @property
    def alive(self) -> bool:
        return self._process.returncode is None

    async def parse(self, media_type: str, data: bytes) -> ParsedText:
        """Raises `Unreadable`; CancelledError if the process is killed meanwhile."""
        answer = await self._ask(Request(media_type, len(data), seconds_for(len(data))), data)
        if answer.parsed is None:
            raise Unreadable(answer.refusal or Refusal.DAMAGED, answer.limit)
        return answer.parsed

    async def draw(self, data: bytes, view: PageView) -> PagePicture:
        """Raises `Unreadable`; CancelledError if the process is killed meanwhile."""
        answer = await self._ask(Request(PDF, len(data), _DRAW_S, view), data)
        if answer.picture is None:
            raise Unreadable(answer.refusal or Refusal.DAMAGED, answer.limit)
        return answer.picture

    async def _ask(self, request: Request, data: bytes) -> Answer:
        seconds = request.seconds
        try:
            async with asyncio.timeout(seconds):
                answer = await self._asked(request, data)
        except TimeoutError:
            await self.kill()
            raise Unreadable(Refusal.TOO_SLOW, seconds) from None
        except (OSError, asyncio.IncompleteReadError, msgspec.DecodeError, ValueError):
            if self._killed:
                raise asyncio.CancelledError from None
            if await self._ended() in _OUT_OF_TIME:
                raise Unreadable(Refusal.TOO_SLOW, seconds) from None
            raise Unreadable(Refusal.CRASHED) from None
        except BaseException:
            await self.kill()
            raise
        if answer.refusal is Refusal.TOO_MUCH_MEMORY:
            # The remaining memory may be too little for the next document.
            await self.kill()
        return answer

    async def _asked(self, request: Request, data: bytes) -> Answer:
        source, answers = self._process.stdin, self._process.stdout
        if source is None or answers is None:
            raise RuntimeError("the process has no pipes")
        head = msgspec.msgpack.encode(request)
        source.write(len(head).to_bytes(LENGTH) + head)
        whole = memoryview(data)
        for at in range(0, len(data), _PIECE):
            source.write(whole[at : at + _PIECE])
            await source.drain()
        length = int.from_bytes(await answers.readexactly(LENGTH))
        if length > _LONGEST_ANSWER:
            raise ValueError("the answer is longer than any document allows")
        answer = await answers.readexactly(length)
        return _decoded(answer) if length < _LARGE else await asyncio.to_thread(_decoded, answer)

    async def _ended(self) -> int:
        """Ends the process. Returns its exit code if it has already ended by itself."""
        with suppress(TimeoutError):
            # Its pipe may close a moment before the exit code is known.
            return await asyncio.wait_for(self._process.wait(), 1)
        await self.kill()
        return 0

    async def kill(self) -> None:
        self._killed = True
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


def _decoded(answer: bytes) -> Answer:
    """Decodes an answer. Raises ValueError if it is not in the form that a sound process writes.

    A parser taken over by a document could answer anything.
    """
    decoded = msgspec.msgpack.decode(answer, type=Answer)
    if decoded.parsed is not None and not _is_sound(decoded.parsed):
        raise ValueError("the positions or characters of a text are wrong")
    if decoded.picture is not None and not _is_whole(decoded.picture):
        raise ValueError("a picture has another size than it says")
    return decoded


def _is_whole(picture: PagePicture) -> bool:
    pixels = picture.pixels
    return (
        min(pixels.width, pixels.height) > 0
        and pixels.width * pixels.height <= MOST_PIXELS + pixels.width + pixels.height
        and len(pixels.rgb) == 3 * pixels.width * pixels.height
        and picture.pages > 0
        and (picture.marked is None or 0 <= picture.marked < pixels.height)
    )


def _is_sound(parsed: ParsedText) -> bool:
    size = len(parsed.text)
    facts = (parsed.title, parsed.author, parsed.created, *(one.text for one in parsed.headings))
    return (
        0 < size <= MOST_CHARACTERS
        and all(clean(text) == text for text in (parsed.text, *facts))
        and _ordered((0, *parsed.pages, size))
        and _ordered((0, *(one.begin for one in parsed.headings), size))
        and all(_ordered((0, one.begin, one.header_end, one.end, size)) for one in parsed.tables)
        and all(1 <= page <= len(parsed.pages) for page in parsed.blank_pages)
    )


def _ordered(positions: Iterable[int]) -> bool:
    before = 0
    for position in positions:
        if position < before:
            return False
        before = position
    return True


class DocumentParser:
    """Parses documents, several at a time. Close it after use.

    Text formats share a process. A document of a binary format gets one that has read no other document, so a
    parser taken over by it can affect nothing else. With `ahead` the next such process is started in
    advance. Processes end after `idle_s` seconds without use.
    """

    def __init__(self, *, idle_s: float = _IDLE_S, ahead: bool = True) -> None:
        self._idle_s = idle_s
        self._ahead = ahead
        self._shared: _Process | None = None
        self._one_at_a_time = asyncio.Lock()
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._spare: asyncio.Task[_Process] | None = None
        self._busy: set[_Process] = set()
        self._in_use = 0
        self._timer: asyncio.TimerHandle | None = None
        self._resting: asyncio.Task[None] | None = None

    async def parse(self, data: bytes, name: str) -> ParsedText:
        """Returns the text of a document. Raises `DocumentRefused`."""
        media_type = protocol.media_type_of(name, data[: protocol.HEAD])
        if not data:
            raise DocumentRefused(name, Refusal.EMPTY)
        if media_type is None:
            raise DocumentRefused(name, Refusal.UNKNOWN_FORMAT)
        if len(data) > MOST_BYTES:
            raise DocumentRefused(name, Refusal.TOO_LARGE, MOST_BYTES)
        with self._using(name):
            if media_type in protocol.OWN_PROCESS:
                return await self._alone(lambda process: process.parse(media_type, data))
            return await self._together(media_type, data)

    async def draw(self, data: bytes, name: str, view: PageView) -> PagePicture:
        """Returns a page of a PDF as a picture. Raises `DocumentRefused`."""
        if protocol.media_type_of(name, data[: protocol.HEAD]) != PDF:
            raise DocumentRefused(name, Refusal.DAMAGED)
        if len(data) > MOST_BYTES:
            raise DocumentRefused(name, Refusal.TOO_LARGE, MOST_BYTES)
        with self._using(name):
            return await self._alone(lambda process: process.draw(data, view))

    @contextmanager
    def _using(self, name: str) -> Iterator[None]:
        self._begin_use()
        try:
            yield
        except Unreadable as error:
            raise DocumentRefused(name, error.reason, error.limit) from None
        finally:
            self._end_use()

    async def close(self) -> None:
        """Ends the processes. The reading of documents is cancelled."""
        self._stop_timer()
        await self._rest()
        for one in list(self._busy):
            await one.kill()

    async def _together(self, media_type: str, data: bytes) -> ParsedText:
        async with self._one_at_a_time:
            if self._shared is None or not self._shared.alive:
                self._shared = await _Process.start()
            return await self._shared.parse(media_type, data)

    async def _alone(self, ask: "Callable[[_Process], Awaitable[_T]]") -> _T:
        async with self._slots:
            waiting, self._spare = self._spare, None
            process = await (waiting or _Process.start())
            self._busy.add(process)
            if self._ahead:
                self._spare = asyncio.create_task(_Process.start())
            try:
                return await ask(process)
            finally:
                await process.kill()
                self._busy.discard(process)

    def _begin_use(self) -> None:
        self._in_use += 1
        self._stop_timer()

    def _end_use(self) -> None:
        self._in_use -= 1
        if not self._in_use:
            self._timer = asyncio.get_running_loop().call_later(self._idle_s, self._begin_rest)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _begin_rest(self) -> None:
        self._resting = asyncio.create_task(self._rest())

    async def _rest(self) -> None:
        """Ends the processes that wait for documents."""
        spare, self._spare = self._spare, None
        shared, self._shared = self._shared, None
        for process in (shared, await spare if spare is not None else None):
            if process is not None:
                await process.kill()
