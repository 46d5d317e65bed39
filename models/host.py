"""The application's side of the worker: starts it, talks to it, and starts it again when it dies."""

import asyncio
import itertools
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from models import errors, protocol
from models.connection import Answers, Connection
from models.generation import HostGeneration
from models.kernels import FAULTS, Kernels, real_cores
from models.messages import ChatMessage, GenerationParams, Lane, ModelInfo, ModelState, Prefilled
from models.tokens import ModelEncoding, build_encoding
from models.transfer import receive_state, send_state, stoppable
from models.tuning import RunSettings
from models.wire import model_info, wire_messages, wire_params


@dataclass(frozen=True, slots=True)
class HostSpec:
    """What to run. `threads=0` takes all real cores, `context_length=0` the model's own, at most 8192.

    `check` is called before a model is loaded and may refuse it (too little memory, a damaged file).
    `kernels` are the fastest that this machine is known to run (see `_load`); `need_kernels` is called when
    only weaker ones do. `tuned` tells the settings that were found to be the fastest for a file.
    `state_cache` is how many bytes of memory states of other prompts may take; -1 leaves it to the worker.
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


class ModelHost:
    """A `ChatModel`, `PrefixKeeper`, `TokenCounter` and `Embedder` whose model lives in a supervised process.

    The process starts at the first use. When it dies, the work under way raises `WorkerCrashed` and the next
    use starts a new one.
    """

    def __init__(self, spec: HostSpec) -> None:
        self._spec = spec
        self._ids = itertools.count(1)
        self._connection: Connection | None = None
        self._starting = asyncio.Lock()
        self._info: ModelInfo | None = None
        self._embed_info: protocol.Loaded | None = None
        self._encoding: ModelEncoding | None = None
        self._loading: asyncio.Task[ModelInfo] | None = None
        self._encoding_task: asyncio.Task[None] | None = None
        self._arriving: asyncio.Task[Connection] | None = None
        self._closed = False
        self._kernels = spec.kernels

    # --- life -------------------------------------------------------------------------------------

    @property
    def pid(self) -> int | None:
        """Process id of the worker that runs now."""
        connection = self._connection
        return connection.process.pid if connection is not None and connection.alive else None

    async def info(self) -> ModelInfo:
        """Loads the model if need be. A caller that is cancelled leaves the load to those who come after."""
        if self._info is not None and self._connection is not None and self._connection.alive:
            return self._info
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._load_chat())
            # Nobody may be left to hear of a failure; the next caller tries anew.
            self._loading.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._loading)

    async def _load_chat(self) -> ModelInfo:
        async with self._starting:
            name, path = await asyncio.to_thread(self._spec.chat)
            connection, loaded = await self._load(path, "chat")
            self._info = model_info(name, loaded)
            self._encoding_task = asyncio.create_task(self._learn_encoding(connection))
            return self._info

    async def close(self) -> None:
        """Ends the worker, and everything that waits for it."""
        self._closed = True
        for task in (self._loading, self._encoding_task):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await self._arrived()
        if self._connection is not None:
            await self._connection.close()
            self._connection = None

    async def _connect(self, path: Path) -> Connection:
        """The worker that runs, if it may read `path`; else a new one, for the files in use now."""
        await self._arrived()
        if self._closed:
            raise errors.WorkerCrashed(None)
        if self._connection is not None and self._connection.alive:
            if path in self._connection.readable:
                return self._connection
            await self._connection.end()
        self._info = self._embed_info = None
        self._arriving = asyncio.create_task(self._started(path))
        # Nobody may be left to hear of a failure.
        self._arriving.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._arriving)

    async def _arrived(self) -> None:
        """Waits for a worker that is being started, whoever asked for it: asyncio never finishes the start of
        a process that is cancelled half-way, and the program would hang at its end."""
        if self._arriving is not None:
            await asyncio.wait({self._arriving})

    async def _started(self, path: Path) -> Connection:
        """A new worker; one that comes too late, after `close`, is ended again."""
        connection = await Connection.start({path, *await asyncio.to_thread(self._files)})
        if self._closed:
            await connection.end()
            raise errors.WorkerCrashed(None)
        self._connection = connection
        return connection

    def _files(self) -> list[Path]:
        """The models in use, as far as they are there."""
        found = []
        for find in (self._spec.chat, self._spec.embed):
            if find is not None:
                with suppress(errors.ModelsError):
                    found.append(find()[1])
        return found

    async def _load(
        self, path: Path, role: str, *, vocab_only: bool = False
    ) -> tuple[Connection, protocol.Loaded]:
        """Loads a model and tries it out.

        Some machines fault in some of the processor's units (see `models.kernels`). A worker that dies while
        it tries a model is therefore started again with weaker kernels, as long as there are any.
        """
        if not await asyncio.to_thread(path.is_file):
            raise errors.ModelFileMissing(path)
        if self._spec.check is not None:
            await asyncio.to_thread(self._spec.check, path, self._spec.context_length)
        tuned = await asyncio.to_thread(self._spec.tuned, path) if self._spec.tuned is not None else None
        threads = self._spec.threads or (tuned.threads if tuned else 0) or await asyncio.to_thread(real_cores)
        while True:
            connection = await self._connect(path)
            request = protocol.Load(
                next(self._ids),
                str(path),
                role,
                self._spec.context_length,
                threads,
                self._spec.gpu_layers,
                vocab_only,
                self._kernels,
                self._spec.state_cache,
                *(tuned.load_fields if tuned is not None and role == "chat" else ()),
            )
            try:
                answer = connection.ask(request, protocol.Loaded, path)
                loaded = await asyncio.wait_for(answer, self._spec.load_timeout_s)
            except TimeoutError:
                await connection.end()
                raise errors.WorkerUnresponsive from None
            except errors.WorkerCrashed as crash:
                weaker = self._kernels.weaker
                if weaker is None or vocab_only or crash.code not in FAULTS:
                    raise
                self._kernels = weaker
                continue
            if self._kernels is not self._spec.kernels and self._spec.need_kernels is not None:
                await asyncio.to_thread(self._spec.need_kernels, self._kernels)
            return connection, loaded

    # --- chat -------------------------------------------------------------------------------------

    def generate(
        self, messages: Sequence[ChatMessage], params: GenerationParams, lane: Lane = Lane.CHAT
    ) -> HostGeneration:
        return HostGeneration(self.start_generation, wire_messages(messages), wire_params(params), lane)

    async def start_generation(
        self, messages: list[protocol.WireMessage], params: protocol.WireParams, lane: Lane
    ) -> tuple[int, Connection, Answers]:
        """Sends the request; used by `HostGeneration`."""
        connection, _ = await self._chat()
        request = protocol.Generate(next(self._ids), str(lane), messages, params)
        return request.id, connection, connection.send(request)

    async def render(self, messages: Sequence[ChatMessage]) -> list[int]:
        """The exact prompt, as token ids, that `generate` would evaluate."""
        return (await self._chat_lists(lambda n: protocol.Render(n, wire_messages(messages))))[0]

    # --- what the model has read --------------------------------------------------------------------

    async def prefill(self, messages: Sequence[ChatMessage]) -> Prefilled:
        """Reads messages ahead of the turn after them; a caller that is cancelled stops it."""
        connection, _ = await self._chat()
        request = protocol.Prefill(next(self._ids), wire_messages(messages))
        answer = await stoppable(connection, request, protocol.Prefilled)
        return Prefilled(answer.tokens, answer.evaluated, answer.held_hash)

    async def save_state(self, held_hash: str) -> ModelState:
        """The state after the completion that told `held_hash`. Raises `StateNotHeld`."""
        connection, info = await self._chat()
        return await receive_state(
            connection, protocol.SaveState(next(self._ids), held_hash), info.fingerprint
        )

    async def load_state(self, state: ModelState) -> None:
        """Puts a state back. Raises `StateRefused`."""
        connection, info = await self._chat()
        await send_state(connection, next(self._ids), state, info.fingerprint)

    async def drop_states(self) -> None:
        """Forgets every prompt that was read. Does nothing when no model is loaded."""
        if self._connection is not None and self._connection.alive and self._info is not None:
            await self._connection.ask(protocol.DropStates(next(self._ids)), protocol.StatesDropped)

    async def _chat(self) -> tuple[Connection, ModelInfo]:
        info = await self.info()
        assert self._connection is not None
        return self._connection, info

    # --- tokens -----------------------------------------------------------------------------------

    async def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of plain texts, by llama.cpp's own tokenizer."""
        return await self._chat_lists(lambda n: protocol.Tokenize(n, list(texts)))

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Counts by tiktoken where it agrees with llama.cpp on this model, else by llama.cpp."""
        await self.info()
        if self._encoding is not None:
            return self._encoding.count(texts)
        return [len(tokens) for tokens in await self.tokenize(texts)]

    async def encoding(self) -> ModelEncoding | None:
        """The tiktoken encoding of the loaded model, once it is checked; None where there is none."""
        await self.info()
        if self._encoding_task is not None:
            await asyncio.shield(self._encoding_task)
        return self._encoding

    async def _learn_encoding(self, connection: Connection) -> None:
        """Builds the encoding beside the work; until it is there (or when it disagrees) llama.cpp counts."""
        self._encoding = None
        try:
            pieces = await connection.ask(protocol.Vocabulary(next(self._ids)), protocol.Pieces)
            self._encoding = await build_encoding(pieces, self.tokenize)
        except errors.ModelsError:
            # The worker went away meanwhile, or has no such vocabulary: then llama.cpp goes on counting.
            self._encoding = None

    async def _chat_lists(self, request: Callable[[int], protocol.AnyRequest]) -> list[list[int]]:
        connection, _ = await self._chat()
        answer = await connection.ask(request(next(self._ids)), protocol.Tokens)
        return answer.lists

    # --- embeddings -------------------------------------------------------------------------------

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self._spec.embed is None:
            raise errors.NoModel("embed")
        connection, _ = await self._load_embed(self._spec.embed)
        request = protocol.Embed(next(self._ids), list(texts))
        answer = await connection.ask(request, protocol.Vectors)
        size = answer.dimension
        numbers = struct.unpack(f"<{len(answer.data) // 4}f", answer.data)
        return [list(numbers[at : at + size]) for at in range(0, len(numbers), size)]

    async def embedding_fingerprint(self) -> str:
        """Raises as `embed`."""
        if self._spec.embed is None:
            raise errors.NoModel("embed")
        return (await self._load_embed(self._spec.embed))[1].fingerprint

    async def _load_embed(self, find: Callable[[], tuple[str, Path]]) -> tuple[Connection, protocol.Loaded]:
        async with self._starting:
            connection = self._connection
            if connection is None or not connection.alive or self._embed_info is None:
                path = (await asyncio.to_thread(find))[1]
                connection, self._embed_info = await self._load(path, "embed")
            return connection, self._embed_info

    async def try_vocabulary(self) -> None:
        """Loads only the vocabulary of the chat model. Raises `ModelFileError`."""
        async with self._starting:
            await self._load(self._spec.chat()[1], "chat", vocab_only=True)


async def probe(path: Path) -> None:
    """Tries whether llama.cpp can read a model file, in a process of its own. Raises `ModelFileError`."""
    host = ModelHost(HostSpec(chat=lambda: ("", path), load_timeout_s=60))
    try:
        await host.try_vocabulary()
    finally:
        await host.close()
