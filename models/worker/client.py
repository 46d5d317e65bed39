"""The application's end of a worker process: starts it, sends requests, restarts it when it dies."""

import asyncio
import contextlib
import itertools
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from models import errors
from models.confinement import child_environment
from models.llamacpp import templates
from models.messages import Completion, Lane, ModelState, TokenDelta
from models.tuning.kernels import FAULTS, Kernels, real_cores
from models.tuning.plan import RunSettings
from models.worker import protocol
from models.worker.protocol import completion, error_of

CLOSE_LIMIT_S = 2.0
Answers = asyncio.Queue[protocol.AnyAnswer | errors.ModelsError]
# Further variables passed to a worker: where its libraries are, how to use the processor and the graphics
# card.
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
        """Starts a worker that may read these files and, where the system can enforce it, no others."""
        files = frozenset(readable)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "models.worker.main",
            *map(str, sorted(files)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment(),
            # Ctrl-C in the terminal is meant for the application, which then cancels what it chooses.
            start_new_session=True,
            limit=1024 * 1024,
        )
        return cls(process, files)

    @property
    def alive(self) -> bool:
        return self._ended is None

    def send(self, request: protocol.AnyRequest) -> Answers:
        """Sends a request; the returned queue receives its answers, and an error of the connection."""
        queue = self._waiting.setdefault(request.id, asyncio.Queue())
        if self._ended is not None:
            queue.put_nowait(self._ended)
        else:
            self._stdin.write(protocol.frame(request))
        return queue

    async def write(self, request: protocol.AnyRequest) -> None:
        """Sends a part of an earlier request, and waits until the worker can take more.

        If the worker ends, the error is put in that request's queue.
        """
        if self._ended is None:
            self._stdin.write(protocol.frame(request))
            with contextlib.suppress(ConnectionError):
                await self._stdin.drain()

    async def ask(
        self, request: protocol.AnyRequest, kind: type[protocol.Answered], path: Path = Path()
    ) -> protocol.Answered:
        """Sends a request that has one answer and waits for it. `path` is the file that errors name."""
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
                if code in templates.ENDED
                else errors.WorkerCrashed(code)
            )
        self._ended = failure
        for queue in self._waiting.values():
            queue.put_nowait(failure)

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    async def end(self) -> None:
        """Kills the process; when this returns, everything that waited has received the error."""
        self.kill()
        await self._reader

    async def close(self) -> None:
        """Ends the process by closing its input; kills it after `CLOSE_LIMIT_S` seconds."""
        self._stdin.close()
        try:
            await asyncio.wait_for(asyncio.shield(self._reader), CLOSE_LIMIT_S)
        except TimeoutError:
            await self.end()


async def next_answer(
    queue: Answers, kind: type[protocol.Answered], path: Path = Path()
) -> protocol.Answered:
    """The next answer, which must be of type `kind`; raises the error that came instead."""
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


@dataclass(frozen=True, slots=True)
class HostSpec:
    """The configuration of a worker. `threads=0` uses the tuned number or all physical cores.

    `context_length=0` uses the model's own, at most 8192. `check` is called before a model is loaded and may
    refuse it (too little memory, a damaged file). `kernels` are the fastest that this machine is known to run
    (see `Supervisor.load`); `need_kernels` is called when only weaker ones run. `tuned` returns the fastest
    settings found for a file. `state_cache` is the limit in bytes for states of other prompts; -1 lets the
    worker choose. `speculation`: replies are written speculatively; `draft` returns the file of a small model
    that guesses for the one in a file, or None.
    """

    chat: Callable[[], tuple[str, Path]]
    embed: Callable[[], tuple[str, Path]] | None = None
    context_length: int = 0
    threads: int = 0
    gpu_layers: int = -1
    load_timeout_s: float = 300.0
    check: Callable[[Path, int], None] | None = None
    kernels: Kernels = Kernels.ALL
    need_kernels: Callable[[Kernels], None] | None = None
    tuned: Callable[[Path], RunSettings | None] | None = None
    state_cache: int = -1
    speculation: bool = True
    draft: Callable[[Path], Path | None] | None = None


class Supervisor:
    """Runs one worker process at a time, which may read the files in use, and numbers its requests."""

    def __init__(self, spec: HostSpec) -> None:
        self._spec = spec
        self._ids = itertools.count(1)
        self._connection: Connection | None = None
        self._arriving: asyncio.Task[Connection] | None = None
        self._closed = False
        self._kernels = spec.kernels

    @property
    def connection(self) -> Connection | None:
        """The running worker, or None."""
        return self._connection if self._connection is not None and self._connection.alive else None

    def number(self) -> int:
        """A new request number."""
        return next(self._ids)

    def refuse_more(self) -> None:
        """Prevents further workers from being started."""
        self._closed = True

    async def close(self) -> None:
        """Ends the worker, even one that is still being started."""
        self.refuse_more()
        await self._arrived()
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _connect(self, path: Path) -> Connection:
        """The running worker if it may read `path`, else a new one for the files in use now."""
        await self._arrived()
        if self._closed:
            raise errors.WorkerCrashed(None)
        if self._connection is not None and self._connection.alive:
            if path in self._connection.readable:
                return self._connection
            await self._connection.end()
        self._arriving = asyncio.create_task(self._started(path))
        # Retrieves the exception in case no caller is left.
        self._arriving.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._arriving)

    async def _arrived(self) -> None:
        """Waits for a worker that is being started, whichever caller started it.

        asyncio never finishes the start of a process that is cancelled half-way, and the program would hang
        at exit.
        """
        if self._arriving is not None:
            await asyncio.wait({self._arriving})

    async def _started(self, path: Path) -> Connection:
        """Starts a worker; one that is ready only after `close` is ended again."""
        connection = await Connection.start({path, *await asyncio.to_thread(self._files)})
        if self._closed:
            await connection.end()
            raise errors.WorkerCrashed(None)
        self._connection = connection
        return connection

    def _files(self) -> list[Path]:
        """Files of the models in use that can be found."""
        found = []
        for find in (self._spec.chat, self._spec.embed):
            if find is not None:
                with suppress(errors.ModelsError):
                    found.append(find()[1])
        return [*found, *(draft for path in found if (draft := self._draft(path)) is not None)]

    def _draft(self, path: Path) -> Path | None:
        """The model that guesses for the one in a file; None if there is none."""
        return self._spec.draft(path) if self._spec.draft is not None and self._spec.speculation else None

    async def load(
        self, path: Path, role: str, *, vocab_only: bool = False
    ) -> tuple[Connection, protocol.Loaded]:
        """Loads a model and tests it.

        Some machines fault in some of the processor's units (see `models.tuning.kernels`). A worker that dies
        while it tests a model is therefore restarted with weaker kernels, as long as there are any. If none
        helps, the file is at fault, and other files keep the kernels that they had.
        """
        if not await asyncio.to_thread(path.is_file):
            raise errors.ModelFileMissing(path)
        if self._spec.check is not None:
            await asyncio.to_thread(self._spec.check, path, self._spec.context_length)
        tuned = await asyncio.to_thread(self._spec.tuned, path) if self._spec.tuned is not None else None
        threads = self._spec.threads or (tuned.threads if tuned else 0) or await asyncio.to_thread(real_cores)
        draft = await asyncio.to_thread(self._draft, path) if role == "chat" and not vocab_only else None
        fields: tuple[int, bool | None, str] = (0, None, "")
        if tuned is not None and role == "chat":
            fields = tuned.load_fields
        kernels = self._kernels
        while True:
            connection = await self._connect(path)
            request = protocol.Load(
                self.number(),
                str(path),
                role,
                self._spec.context_length,
                threads,
                self._spec.gpu_layers,
                vocab_only,
                kernels,
                self._spec.state_cache,
                self._spec.speculation,
                *fields,
                # A worker that was started before it was installed may not read it.
                str(draft) if draft is not None and draft in connection.readable else "",
            )
            try:
                answer = connection.ask(request, protocol.Loaded, path)
                loaded = await asyncio.wait_for(answer, self._spec.load_timeout_s)
            except TimeoutError:
                await connection.end()
                raise errors.WorkerUnresponsive from None
            except errors.WorkerCrashed as crash:
                weaker = kernels.weaker
                if weaker is None or vocab_only or crash.code not in FAULTS:
                    raise
                kernels = weaker
                continue
            self._kernels = kernels
            if self._kernels is not self._spec.kernels and self._spec.need_kernels is not None:
                await asyncio.to_thread(self._spec.need_kernels, self._kernels)
            return connection, loaded


StartGeneration = Callable[
    [list[protocol.WireMessage], protocol.WireParams, Lane], Awaitable[tuple[int, Connection, Answers]]
]


class HostGeneration:
    """A reply that the worker is generating."""

    def __init__(
        self,
        start: StartGeneration,
        messages: list[protocol.WireMessage],
        params: protocol.WireParams,
        lane: Lane,
    ) -> None:
        self._start = start
        self._messages = messages
        self._params = params
        self._lane = lane
        self._cancelled = False
        self._cancel_sent: Callable[[], None] | None = None

    def cancel(self) -> None:
        self._cancelled = True
        if self._cancel_sent is not None:
            self._cancel_sent()

    async def __aiter__(self) -> AsyncIterator[TokenDelta | Completion]:
        number, connection, queue = await self._start(self._messages, self._params, self._lane)
        self._cancel_sent = lambda: connection.cancel(number)
        if self._cancelled:
            connection.cancel(number)
        done = False
        try:
            while not done:
                answer = await queue.get()
                if isinstance(answer, protocol.Delta):
                    yield TokenDelta(answer.text, tuple(answer.tokens))
                    continue
                done = True
                yield completion(answer)
        finally:
            if not done:
                connection.cancel(number)
            self._cancel_sent = None
            connection.forget(number)


PIECE = 1024 * 1024


async def stoppable(
    connection: Connection, request: protocol.AnyRequest, kind: type[protocol.Answered]
) -> protocol.Answered:
    """The one answer to a request; cancelling the caller stops the work for it."""
    queue = connection.send(request)
    done = False
    try:
        answer = await next_answer(queue, kind)
        done = True
    finally:
        if not done:
            connection.cancel(request.id)
        connection.forget(request.id)
    return answer


async def receive_state(connection: Connection, request: protocol.SaveState, fingerprint: str) -> ModelState:
    """The requested state. Raises `StateNotHeld`."""
    queue = connection.send(request)
    done = False
    try:
        header = await next_answer(queue, protocol.State)
        chunks, came = list[bytes](), 0
        while came < header.size:
            chunk = await next_answer(queue, protocol.StateChunk)
            chunks.append(chunk.data)
            came += len(chunk.data)
        end = await next_answer(queue, protocol.StateSaved)
        done = True
    finally:
        if not done:
            connection.cancel(request.id)
        connection.forget(request.id)
    return ModelState(fingerprint, tuple(header.tokens), tuple(chunks), end.sha256)


async def send_state(connection: Connection, number: int, state: ModelState, fingerprint: str) -> None:
    """Sends a state; when this returns the worker has it. Raises `StateRefused`."""
    if state.model != fingerprint:
        raise errors.StateRefused("model")
    announced = protocol.LoadState(number, state.model, list(state.tokens), state.size, state.sha256)
    queue = connection.send(announced)
    done = False
    try:
        for chunk in state.chunks:
            for at in range(0, len(chunk), PIECE):
                # An answer before the end is a refusal, so the rest need not be sent.
                if queue.empty():
                    await connection.write(protocol.StatePiece(number, chunk[at : at + PIECE]))
        await next_answer(queue, protocol.StateLoaded)
        done = True
    finally:
        if not done:
            connection.cancel(number)
        connection.forget(number)
