"""The process that runs llama.cpp: reads requests on stdin and answers on stdout.

It is given paths and text, never a key. It may read only the files that its arguments name
(`models.confinement`). It ends when its input ends, and on Linux the kernel kills it with the application, so
it never outlives the application.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from models.confinement import begin_child, confine
from models.errors import (
    ModelFileError,
    ModelsError,
    PromptTooLong,
    ProtocolError,
    StateRefused,
    TemplateFailed,
    UnknownArchitecture,
)
from models.llamacpp.templates import open_sizes, template_limits
from models.messages import Lane
from models.worker import protocol
from models.worker.scheduler import Job, Scheduler

if TYPE_CHECKING:
    from models.llamacpp.chat_runtime import ChatRuntime, Upload
    from models.llamacpp.jobs import Embedding

EXIT_PROTOCOL = 87
# Bytes of address space that libraries, and the stack and heap of each thread, reserve without using the
# memory.
_RESERVED, _RESERVED_BY_A_THREAD = 4 << 30, 256 << 20


class Worker:
    """Answers requests through `send`, which must be safe to call from any thread.

    `accept` runs on the reading thread; the jobs run on the thread that calls `scheduler.run`.
    """

    def __init__(self, send: Callable[[protocol.AnyAnswer], None]) -> None:
        from models.llamacpp.native import Interrupt

        self._send = send
        self._interrupt = Interrupt()
        self.scheduler = Scheduler(self._interrupt)
        self._chat: ChatRuntime | None = None
        self._embedding: Embedding | None = None
        self._uploads: dict[int, Upload] = {}

    def accept(self, request: protocol.AnyRequest) -> None:
        """Queues a request; called by the reading thread."""
        received = time.perf_counter()
        if isinstance(request, protocol.Cancel):
            self._uploads.pop(request.id, None)
            self.scheduler.cancel(request.id)
        elif not isinstance(request, protocol.LoadState | protocol.StatePiece) or self._arrived(request):
            self.scheduler.submit(request.id, _lane(request), self._guarded(request, received))

    def _arrived(self, request: protocol.LoadState | protocol.StatePiece) -> bool:
        """Accepts a state or a piece of it; returns True when it is complete and can be restored."""
        from models.llamacpp.chat_runtime import Upload

        try:
            if isinstance(request, protocol.LoadState):
                self._uploads[request.id] = Upload(request, self._runtime)
                return False
            upload = self._uploads.get(request.id)
            return upload is not None and upload.take(request.data)
        except ModelsError as error:
            self._uploads.pop(request.id, None)
            self._send(_failure(request.id, error))
            return False

    def _guarded(self, request: protocol.AnyRequest, received: float) -> Job:
        """The job of a request; exceptions become answers."""
        try:
            yield from self._job(request, received)
        except ModelsError as error:
            self._send(_failure(request.id, error))
        except Exception as error:  # noqa: BLE001 - the type is sent to the application, which reports it
            self._send(protocol.Failed(request.id, "worker", type(error).__name__))

    def _job(self, request: protocol.AnyRequest, received: float) -> Job:
        def cancelled() -> bool:
            return self.scheduler.cancelled(request.id)

        match request:
            case protocol.Generate():
                yield from self._generate(request, received, cancelled)
            case protocol.Prefill():
                runtime = self._runtime
                with template_limits():
                    prefix = runtime.prompts.stable_prefix(request.messages)
                yield from runtime.prefill(request, prefix, self._send, cancelled)
            case protocol.SaveState():
                from models.llamacpp.chat_runtime import send_state

                yield from send_state(request, self._runtime, self._send, cancelled)
            case protocol.Embed():
                if self._embedding is None:
                    raise ProtocolError("no embedding model was loaded")
                yield from self._embedding.embed(request, self._send, cancelled)
            case protocol.StatePiece():
                upload = self._uploads.pop(request.id, None)
                if upload is not None:
                    self._send(protocol.StateLoaded(request.id, upload.settle()))
            case _:
                self._send(self._answer(request))

    def _generate(self, request: protocol.Generate, received: float, cancelled: Callable[[], bool]) -> Job:
        runtime = self._runtime
        with template_limits():
            prompt = runtime.prompts.build(request.messages)
        if Lane(request.lane) is Lane.DOOR:
            yield from runtime.door.generate(request, prompt, received, self._send, cancelled)
            return
        if Lane(request.lane) is not Lane.CHAT:
            runner = runtime.task(len(prompt) + request.params.max_tokens)
            yield from runner.generate(request, prompt, received, self._send, cancelled)
            return
        try:
            yield from runtime.chat.generate(request, prompt, received, self._send, cancelled)
        finally:
            runtime.remember_chat()

    def _answer(self, request: protocol.AnyRequest) -> protocol.AnyAnswer:
        """The answer to a request that needs one step."""
        match request:
            case protocol.Load():
                return self._loaded(request)
            case protocol.Tokenize():
                prompts = self._runtime.prompts
                return protocol.Tokens(request.id, [prompts.plain(text) for text in request.texts])
            case protocol.Render():
                with template_limits():
                    return protocol.Tokens(request.id, [self._runtime.prompts.build(request.messages)])
            case protocol.DropStates():
                self._runtime.drop_states()
                return protocol.StatesDropped(request.id)
            case protocol.Vocabulary():
                return self._runtime.pieces(request.id)
        raise ProtocolError(f"no answer to {type(request).__name__}")

    @property
    def _runtime(self) -> "ChatRuntime":
        """The loaded chat model. Raises `ProtocolError` when there is none."""
        if self._chat is None:
            raise ProtocolError("no chat model was loaded")
        return self._chat

    def _loaded(self, load: protocol.Load) -> protocol.Loaded:
        from models.llamacpp import chat_runtime

        if load.vocab_only:
            return chat_runtime.load_vocabulary(load)
        if load.role == "embed":
            self._embedding, loaded = chat_runtime.load_embedding(load)
            return loaded
        # The old model is freed first: there may not be memory for both.
        if self._chat is not None:
            self._chat.close()
            self._chat = None
        self._chat, loaded = chat_runtime.load_chat(load, self._interrupt)
        return loaded


def _lane(request: protocol.AnyRequest) -> Lane:
    """How urgent a request is. States are small work that should not wait for a task to end."""
    match request:
        case protocol.Generate():
            return Lane(request.lane)
        case protocol.Prefill():
            return Lane.TASK
        case protocol.Embed() | protocol.SaveState() | protocol.StatePiece():
            return Lane.EMBED
        case protocol.Load(role="embed"):
            return Lane.EMBED
    return Lane.CHAT


def _failure(request: int, error: ModelsError) -> protocol.Failed:
    kind = type(error).__name__
    match error:
        case PromptTooLong():
            return protocol.Failed(request, kind, numbers=[error.tokens, error.limit])
        case UnknownArchitecture() | ModelFileError():
            return protocol.Failed(request, kind, error.detail)
        case TemplateFailed() | ProtocolError() | StateRefused():
            return protocol.Failed(request, kind, str(error))
    return protocol.Failed(request, kind)


def private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Takes over stdin and stdout for the protocol; anything that a library prints is discarded."""
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    return source, sink


def settle_in(readable: Sequence[Path], *, writable: Sequence[Path] = ()) -> None:
    """Loads what is needed, then gives up access to all files but these and the installed code.

    Call it before other threads exist: it applies to the calling thread and those that it starts.
    """
    import sysconfig

    from models.llamacpp.native import has_graphics, start_backend

    start_backend()
    open_sizes()
    if not has_graphics():
        bound_memory(readable)
    # Codecs and what templates use are loaded on first use, so installed code stays readable.
    code = {Path(sysconfig.get_path(kind)) for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    confine([*readable, *code, Path(__file__).parents[1]], writable=writable, graphics=has_graphics())


def bound_memory(files: Sequence[Path]) -> None:
    """Sets a limit on address space (RLIMIT_AS) that no sound model reaches.

    The limit is the sum of all memory and swap of the computer, the files mapped and copied once, and the
    space that libraries and threads only reserve. Drivers of graphics cards map far more than there is, so no
    limit is set with them.
    """
    if sys.platform != "linux":
        return
    import resource

    import psutil

    there = psutil.virtual_memory().total + psutil.swap_memory().total
    mapped = 2 * sum(file.stat().st_size for file in files if file.is_file())
    most = there + mapped + _RESERVED + _RESERVED_BY_A_THREAD * (os.cpu_count() or 1)
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main() -> int:
    begin_child()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "nice"):
        # A key press must not wait for the model's threads to give up the processor.
        os.nice(5)
    source, sink = private_pipes()
    sending = threading.Lock()

    def send(answer: protocol.AnyAnswer) -> None:
        data = memoryview(protocol.frame(answer))
        with sending:
            try:
                while data:
                    data = data[sink.write(data) :]
            except BrokenPipeError:
                os._exit(0)

    settle_in([Path(argument) for argument in sys.argv[1:]])
    worker = Worker(send)

    def listen() -> None:
        try:
            while (request := protocol.read_request(source)) is not None:
                worker.accept(request)
        except ProtocolError:
            os._exit(EXIT_PROTOCOL)
        finally:
            # The application has ended or closed the pipe, or memory ran out while reading. There is nothing
            # to save.
            os._exit(0)

    threading.Thread(target=listen, name="listen", daemon=True).start()
    worker.scheduler.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
