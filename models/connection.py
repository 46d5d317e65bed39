"""One worker process, and the requests that wait for its answers."""

import asyncio
import contextlib
import sys
from collections.abc import Iterable
from pathlib import Path

from models import errors, protocol, template_limits
from models.confinement import child_environment
from models.wire import error_of

CLOSE_LIMIT_S = 2.0
Answers = asyncio.Queue[protocol.AnyAnswer | errors.ModelsError]
# What a worker is told besides: where its libraries are, how to use the processor and the card.
_ENVIRONMENT = (
    "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "LLAMA_CPP_LIB_PATH", "CUDA_PATH", "CUDA_VISIBLE_DEVICES",
    "HIP_PATH", "HIP_VISIBLE_DEVICES", "OMP_NUM_THREADS", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT",
    "OPENBLAS_CORETYPE",
)  # fmt: skip


class Connection:
    """One worker process and the requests that wait for its answers."""

    def __init__(self, process: asyncio.subprocess.Process, readable: frozenset[Path]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self.readable = readable
        self._stdin = process.stdin
        self._stdout = process.stdout
        self._waiting: dict[int, Answers] = {}
        self._ended: errors.ModelsError | None = None
        self._reader = asyncio.create_task(self._read(), name="worker-answers")

    @classmethod
    async def start(cls, readable: Iterable[Path]) -> "Connection":
        """Starts a worker that may read these files and, where the system can see to that, no others."""
        files = frozenset(readable)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "models.worker",
            *map(str, sorted(files)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment(),
            # Ctrl-C in the terminal is for the application, which then cancels what it wants to.
            start_new_session=True,
            limit=1024 * 1024,
        )
        return cls(process, files)

    @property
    def alive(self) -> bool:
        return self._ended is None

    def send(self, request: protocol.AnyRequest) -> Answers:
        """Sends a request; its answers arrive in the queue, an error of the connection too."""
        queue = self._waiting.setdefault(request.id, asyncio.Queue())
        if self._ended is not None:
            queue.put_nowait(self._ended)
        else:
            self._stdin.write(protocol.frame(request))
        return queue

    async def write(self, request: protocol.AnyRequest) -> None:
        """Sends what belongs to an earlier request, and waits until the worker can take more.

        An end of the worker is told in that request's queue.
        """
        if self._ended is None:
            self._stdin.write(protocol.frame(request))
            with contextlib.suppress(ConnectionError):
                await self._stdin.drain()

    async def ask(
        self, request: protocol.AnyRequest, kind: type[protocol.Answered], path: Path = Path()
    ) -> protocol.Answered:
        """Sends a request that has one answer, and waits for it. `path` is the file that errors will name."""
        queue = self.send(request)
        try:
            return await next_answer(queue, kind, path)
        finally:
            self.forget(request.id)

    def forget(self, request: int) -> None:
        self._waiting.pop(request, None)

    def cancel(self, request: int) -> None:
        if self._ended is None and request in self._waiting:
            self._stdin.write(protocol.frame(protocol.Cancel(request)))

    async def _read(self) -> None:
        failure: errors.ModelsError | None = None
        try:
            while True:
                header = await self._stdout.readexactly(4)
                body = await self._stdout.readexactly(protocol.body_length(header))
                answer = protocol.decode_answer(body)
                queue = self._waiting.get(answer.id)
                if queue is not None:
                    queue.put_nowait(answer)
        except (asyncio.IncompleteReadError, ConnectionResetError):
            pass
        except errors.ProtocolError as error:
            failure = error
            self.kill()
        code = await self.process.wait()
        if failure is None:
            failure = (
                errors.TemplateFailed("the template takes too long")
                if code in template_limits.ENDED
                else errors.WorkerCrashed(code)
            )
        self._ended = failure
        for queue in self._waiting.values():
            queue.put_nowait(failure)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    async def end(self) -> None:
        """Ends the process at once; when this returns, everything that waited has been told."""
        self.kill()
        await self._reader

    async def close(self) -> None:
        """Ends the process: politely by ending its input, then not."""
        self._stdin.close()
        try:
            await asyncio.wait_for(asyncio.shield(self._reader), CLOSE_LIMIT_S)
        except TimeoutError:
            await self.end()


async def next_answer(
    queue: Answers, kind: type[protocol.Answered], path: Path = Path()
) -> protocol.Answered:
    """The next answer, which must be of a kind; raises the error that came instead."""
    answer = await queue.get()
    if isinstance(answer, errors.ModelsError):
        raise answer
    if isinstance(answer, protocol.Failed):
        raise error_of(answer, path)
    if not isinstance(answer, kind):
        raise errors.ProtocolError(f"{type(answer).__name__} instead of {kind.__name__}")
    return answer


def environment() -> dict[str, str]:
    return child_environment(_ENVIRONMENT)
