"""Has documents parsed by confined processes, and replaces those that die."""

import asyncio
import signal
import sys
from contextlib import suppress

import msgspec

from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.parsing import formats
from memory.documents.entities import ParsedText
from models.confinement import child_environment

LENGTH = 4
"""Bytes of the length before a request and an answer, big-endian."""
MOST_MEMORY = 1_000_000_000
"""Bytes of address space: half of it is code and what libraries reserve."""
_SECONDS = 30
_BYTES_A_SECOND = 2_000_000
_MOST_SECONDS = 120
_AT_ONCE = 2
_HEAD = 4_096
_CHILD = (sys.executable, "-m", "atlas_desktop.parsing.child")
# How the system ends a process that exceeded its CPU time.
_OUT_OF_TIME = {-signal.SIGXCPU, -signal.SIGKILL} if sys.platform != "win32" else set[int]()


class Request(msgspec.Struct, array_like=True):
    """A document to parse: `size` bytes follow. `seconds` is the processor time it may take."""

    name: str
    media_type: str
    size: int
    seconds: int


class Answer(msgspec.Struct, omit_defaults=True):
    """The text of a document, or why it has none."""

    parsed: ParsedText | None = None
    refusal: str | None = None
    limit: int = 0


class _Process:
    """One confined process, which parses one document at a time."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls) -> "_Process":
        return cls(
            await asyncio.create_subprocess_exec(
                *_CHILD,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=child_environment(),
                # Ctrl-C in the terminal is for the application.
                start_new_session=True,
            )
        )

    async def parse(self, request: Request, data: bytes) -> Answer:
        """Raises `DocumentRefused` when the process does not survive the document; it is of no use then."""
        seconds = request.seconds
        try:
            async with asyncio.timeout(2 * seconds):
                return await self._asked(request, data)
        except TimeoutError:
            await self.kill()
            raise DocumentRefused(request.name, Refusal.TOO_SLOW, seconds) from None
        except (OSError, asyncio.IncompleteReadError, msgspec.DecodeError):
            await self.kill()
            slow = self._process.returncode in _OUT_OF_TIME
            reason = Refusal.TOO_SLOW if slow else Refusal.DAMAGED
            raise DocumentRefused(request.name, reason, seconds if slow else 0) from None
        except BaseException:
            await self.kill()
            raise

    async def _asked(self, request: Request, data: bytes) -> Answer:
        source, answers = self._process.stdin, self._process.stdout
        if source is None or answers is None:
            raise RuntimeError("the process has no pipes")
        head = msgspec.msgpack.encode(request)
        source.write(len(head).to_bytes(LENGTH) + head)
        source.write(data)
        await source.drain()
        length = int.from_bytes(await answers.readexactly(LENGTH))
        return msgspec.msgpack.decode(await answers.readexactly(length), type=Answer)

    async def kill(self) -> None:
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()


class DocumentParser:
    """Parses documents. Close it after use.

    Text formats share a process. A document of a binary format gets one that has read no other document: a
    parser that it takes over can affect nothing else. The next such process is started in advance.
    """

    def __init__(self) -> None:
        self._shared: _Process | None = None
        self._one_at_a_time = asyncio.Lock()
        self._spare: asyncio.Task[_Process] | None = None
        self._busy: set[_Process] = set()
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def parse(self, data: bytes, name: str) -> ParsedText:
        """Returns the text of a document. Raises `DocumentRefused`."""
        media_type = formats.media_type_of(name, data[:_HEAD])
        if media_type is None:
            raise DocumentRefused(name, Refusal.UNKNOWN_FORMAT)
        if not data:
            raise DocumentRefused(name, Refusal.EMPTY)
        seconds = min(_SECONDS + len(data) // _BYTES_A_SECOND, _MOST_SECONDS)
        request = Request(name, media_type, len(data), seconds)
        own = media_type in formats.OWN_PROCESS
        answer = await (self._alone(request, data) if own else self._together(request, data))
        if answer.parsed is None:
            raise DocumentRefused(name, Refusal(answer.refusal or Refusal.DAMAGED.value), answer.limit)
        return answer.parsed

    async def close(self) -> None:
        """Ends the processes."""
        spare, self._spare = self._spare, None
        processes = [*self._busy, *([self._shared] if self._shared else [])]
        if spare is not None:
            processes += [
                one
                for one in await asyncio.gather(spare, return_exceptions=True)
                if isinstance(one, _Process)
            ]
        self._shared = None
        for one in processes:
            await one.kill()

    async def _together(self, request: Request, data: bytes) -> Answer:
        async with self._one_at_a_time:
            if self._shared is None:
                self._shared = await _Process.start()
            try:
                return await self._shared.parse(request, data)
            except BaseException:
                self._shared = None
                raise

    async def _alone(self, request: Request, data: bytes) -> Answer:
        async with self._slots:
            waiting, self._spare = self._spare, asyncio.create_task(_Process.start())
            process = await (waiting or _Process.start())
            self._busy.add(process)
            try:
                return await process.parse(request, data)
            finally:
                self._busy.discard(process)
                await process.kill()
