"""The process that holds llama.cpp: it reads requests on stdin and answers on stdout.

It is given paths and text, never a key. It ends when its input ends, so it never outlives the application.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from models import protocol
from models.errors import (
    ModelFileError,
    ModelsError,
    PromptTooLong,
    ProtocolError,
    TemplateFailed,
    UnknownArchitecture,
)
from models.messages import Lane
from models.scheduler import Job, Scheduler

if TYPE_CHECKING:
    from models.llamacpp.jobs import Embedding, Speaker

# A template that runs longer than this is taken for a trap; the process ends with this status.
TEMPLATE_LIMIT_S = 10.0
EXIT_TEMPLATE = 86
EXIT_PROTOCOL = 87
TASK_CONTEXT = 4096
EMBED_CONTEXT = 512


class Worker:
    """Answers requests. `send` may be called from any thread, `run` does all the work in the calling one."""

    def __init__(self, send: Callable[[protocol.AnyAnswer], None]) -> None:
        from models.llamacpp.interrupt import Interrupt

        self._send = send
        self._interrupt = Interrupt()
        self.scheduler = Scheduler(self._interrupt)
        self._speakers: dict[Lane, Speaker] = {}
        self._embedding: Embedding | None = None
        self._load: protocol.Load | None = None

    def accept(self, request: protocol.AnyRequest) -> None:
        """Queues a request; called by the reading thread."""
        received = time.perf_counter()
        if isinstance(request, protocol.Cancel):
            self.scheduler.cancel(request.id)
            return
        lane = Lane.CHAT
        if isinstance(request, protocol.Generate):
            lane = Lane(request.lane)
        elif isinstance(request, protocol.Embed) or (
            isinstance(request, protocol.Load) and request.role == "embed"
        ):
            lane = Lane.EMBED
        self.scheduler.submit(request.id, lane, self._guarded(request, received))

    def _guarded(self, request: protocol.AnyRequest, received: float) -> Job:
        """The job of a request; whatever it raises becomes an answer."""
        try:
            yield from self._job(request, received)
        except ModelsError as error:
            self._send(_failure(request.id, error))
        except Exception as error:  # noqa: BLE001 - the type is told to the application, which reports it
            self._send(protocol.Failed(request.id, "worker", type(error).__name__))

    def _job(self, request: protocol.AnyRequest, received: float) -> Job:
        def cancelled() -> bool:
            return self.scheduler.cancelled(request.id)

        match request:
            case protocol.Load():
                self._send(self._loaded(request))
            case protocol.Generate():
                speaker = self._speaker(Lane(request.lane))
                with _time_limit():
                    prompt = speaker.prompts.build(request.messages)
                yield from speaker.generate(request, prompt, received, self._send, cancelled)
            case protocol.Embed():
                if self._embedding is None:
                    raise ProtocolError("no embedding model was loaded")
                yield from self._embedding.embed(request, self._send, cancelled)
            case protocol.Tokenize():
                prompts = self._speaker(Lane.CHAT).prompts
                self._send(protocol.Tokens(request.id, [prompts.plain(text) for text in request.texts]))
            case protocol.Render():
                with _time_limit():
                    tokens = self._speaker(Lane.CHAT).prompts.build(request.messages)
                self._send(protocol.Tokens(request.id, [tokens]))
            case protocol.Vocabulary():
                self._send(self._pieces(request.id))

    def _speaker(self, lane: Lane) -> "Speaker":
        """The chat model with the context of a lane; the task context is made when it is first needed."""
        from models.llamacpp.jobs import Speaker
        from models.llamacpp.native import Context

        speaker = self._speakers.get(lane)
        if speaker is not None:
            return speaker
        chat = self._speakers.get(Lane.CHAT)
        if self._load is None or chat is None:
            raise ProtocolError("no chat model was loaded")
        context = Context(
            chat.model,
            length=min(TASK_CONTEXT, chat.context.length),
            threads=self._load.threads,
            interrupt=self._interrupt,
        )
        made = self._speakers[lane] = Speaker(chat.model, chat.prompts, context)
        return made

    def _loaded(self, load: protocol.Load) -> protocol.Loaded:
        from models.llamacpp.jobs import Embedding, Speaker
        from models.llamacpp.native import Context, Model, fingerprint
        from models.llamacpp.prompts import PromptBuilder

        path = Path(load.path)
        if load.role == "chat" and not load.vocab_only:
            self._let_go()
        model = Model(
            path,
            gpu_layers=load.gpu_layers,
            vocab_only=load.vocab_only,
            plain_kernels=load.plain_kernels,
        )
        base, overhead, stable, length = 0, dict[str, int](), True, 0
        if load.vocab_only:
            model.close()
        elif load.role == "embed":
            length = min(EMBED_CONTEXT, model.train_context)
            context = Context(
                model,
                length=length,
                threads=load.threads,
                batch=length,
                embeddings=True,
            )
            context.embed(model.vocab.framed("one two three four"), model.embedding_length)
            self._embedding = Embedding(model, context)
        else:
            with _time_limit():
                prompts = PromptBuilder(model)
                base, overhead = prompts.shape()
                stable = prompts.only_appends() and not model.keeps_whole_state
            wanted = load.context_length or min(8192, model.train_context)
            context = Context(
                model,
                length=min(wanted, model.train_context),
                threads=load.threads,
                interrupt=self._interrupt,
            )
            context.try_out(max(0, model.vocab.bos))
            length = context.length
            self._load = load
            self._speakers = {Lane.CHAT: Speaker(model, prompts, context)}
        return protocol.Loaded(
            load.id,
            fingerprint=fingerprint(path),
            architecture=model.architecture if not load.vocab_only else "",
            context_length=length,
            train_context=model.train_context if not load.vocab_only else 0,
            vocabulary=model.vocab.size,
            embedding_length=model.embedding_length if not load.vocab_only else 0,
            prefix_stable=stable,
            base=base,
            overhead=overhead,
            tokenizer=model.metadata("tokenizer.ggml.pre") or "" if not load.vocab_only else "",
            parameters=model.parameters if not load.vocab_only else 0,
        )

    def _let_go(self) -> None:
        """Frees the chat model and its contexts."""
        models = {id(s.model): s.model for s in self._speakers.values()}
        for speaker in self._speakers.values():
            speaker.context.close()
        for model in models.values():
            model.close()
        self._speakers = {}

    def _pieces(self, request: int) -> protocol.Pieces:
        chat = self._speaker(Lane.CHAT)
        vocab = chat.model.vocab
        tokens = range(vocab.size)
        return protocol.Pieces(
            request,
            kind=vocab.kind,
            pre=chat.model.metadata("tokenizer.ggml.pre") or "",
            raw=[vocab.raw_text(t) for t in tokens],
            attributes=[vocab.attributes(t) for t in tokens],
        )


class _time_limit:  # noqa: N801 - a context manager, used like a function
    """Ends the process when a template takes too long: Python cannot stop it in any other way."""

    def __enter__(self) -> None:
        self._timer = threading.Timer(TEMPLATE_LIMIT_S, os._exit, (EXIT_TEMPLATE,))
        self._timer.daemon = True
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()


def _failure(request: int, error: ModelsError) -> protocol.Failed:
    kind = type(error).__name__
    match error:
        case PromptTooLong():
            return protocol.Failed(request, kind, numbers=[error.tokens, error.limit])
        case UnknownArchitecture() | ModelFileError():
            return protocol.Failed(request, kind, error.detail)
        case TemplateFailed() | ProtocolError():
            return protocol.Failed(request, kind, str(error))
    return protocol.Failed(request, kind)


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Takes stdin and stdout for the protocol; whatever a library prints goes nowhere."""
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
    return source, sink


def main() -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, sink = _private_pipes()
    sending = threading.Lock()

    def send(answer: protocol.AnyAnswer) -> None:
        data = memoryview(protocol.frame(answer))
        with sending:
            try:
                while data:
                    data = data[sink.write(data) :]
            except BrokenPipeError:
                os._exit(0)

    from models.llamacpp.native import start_backend

    start_backend()
    worker = Worker(send)

    def listen() -> None:
        try:
            while (request := protocol.read_request(source)) is not None:
                worker.accept(request)
        except ProtocolError:
            os._exit(EXIT_PROTOCOL)
        # The application is gone, or wants this process gone: nothing here needs saving.
        os._exit(0)

    threading.Thread(target=listen, name="listen", daemon=True).start()
    worker.scheduler.run()
    return 0


if __name__ == "__main__":
    sys.exit(main())
