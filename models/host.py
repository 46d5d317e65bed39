"""The application's interface to the worker process: requests and their answers."""

import asyncio
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

from models import errors
from models.messages import ChatMessage, GenerationParams, Lane, ModelInfo, ModelState, Prefilled
from models.tokens import ModelEncoding, build_encoding
from models.worker import protocol
from models.worker.client import (
    Answers,
    Connection,
    HostGeneration,
    HostSpec,
    Supervisor,
    receive_state,
    send_state,
    stoppable,
)
from models.worker.protocol import model_info, wire_messages, wire_params

_COUNTED_AT_ONCE = 20_000
"""Characters. Longer input is counted in a thread, so that it does not block the event loop."""


class ModelHost:
    """A `ChatModel`, `PrefixKeeper`, `TokenCounter` and `Embedder` that runs in a supervised process.

    The process starts at first use. When it dies, pending work raises `WorkerCrashed` and the next use starts
    a new process.
    """

    def __init__(self, spec: HostSpec) -> None:
        self._spec = spec
        self._worker = Supervisor(spec)
        self._starting = asyncio.Lock()
        self._chat_loaded: tuple[Connection, ModelInfo] | None = None
        self._embed_loaded: tuple[Connection, protocol.Loaded] | None = None
        self._encoding: ModelEncoding | None = None
        self._loading: asyncio.Task[tuple[Connection, ModelInfo]] | None = None
        self._encoding_task: asyncio.Task[None] | None = None

    # --- lifecycle --------------------------------------------------------------------------------

    @property
    def pid(self) -> int | None:
        """Process id of the running worker, or None."""
        connection = self._worker.connection
        return None if connection is None else connection.process.pid

    async def info(self) -> ModelInfo:
        """Describes the model, loading it if needed.

        Cancelling the caller does not cancel the load; later callers reuse it.
        """
        return (await self._chat())[1]

    async def _chat(self) -> tuple[Connection, ModelInfo]:
        """The worker with the chat model, which is loaded if needed."""
        if self._chat_loaded is not None and self._chat_loaded[0] is self._worker.connection:
            return self._chat_loaded
        if self._loading is None or self._loading.done():
            self._loading = asyncio.create_task(self._load_chat())
            # Retrieves the exception in case no caller is left; the next caller tries again.
            self._loading.add_done_callback(lambda task: task.cancelled() or task.exception())
        return await asyncio.shield(self._loading)

    async def _load_chat(self) -> tuple[Connection, ModelInfo]:
        async with self._starting:
            name, path = await asyncio.to_thread(self._spec.chat)
            connection, loaded = await self._worker.load(path, "chat")
            self._chat_loaded = connection, model_info(name, loaded)
            self._encoding_task = asyncio.create_task(self._learn_encoding(connection))
            return self._chat_loaded

    async def close(self) -> None:
        """Ends the worker and everything that waits for it."""
        self._worker.refuse_more()
        for task in (self._loading, self._encoding_task):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        await self._worker.close()

    # --- chat -------------------------------------------------------------------------------------

    def generate(
        self, messages: Sequence[ChatMessage], params: GenerationParams, lane: Lane = Lane.CHAT
    ) -> HostGeneration:
        return HostGeneration(self.start_generation, wire_messages(messages), wire_params(params), lane)

    async def start_generation(
        self, messages: list[protocol.WireMessage], params: protocol.WireParams, lane: Lane
    ) -> tuple[int, Connection, Answers]:
        """Sends the request of a `HostGeneration`; returns its id, the worker and the answer queue."""
        connection, _ = await self._chat()
        request = protocol.Generate(self._worker.number(), str(lane), messages, params)
        return request.id, connection, connection.send(request)

    async def render(self, messages: Sequence[ChatMessage]) -> list[int]:
        """The exact prompt, as token ids, that `generate` would evaluate."""
        return (await self._chat_lists(lambda n: protocol.Render(n, wire_messages(messages))))[0]

    # --- prompt states ----------------------------------------------------------------------------

    async def prefill(self, messages: Sequence[ChatMessage]) -> Prefilled:
        """Evaluates messages ahead of the turn after them; cancelling the caller stops it."""
        connection, _ = await self._chat()
        request = protocol.Prefill(self._worker.number(), wire_messages(messages))
        answer = await stoppable(connection, request, protocol.Prefilled)
        return Prefilled(answer.tokens, answer.evaluated, answer.held_hash)

    async def save_state(self, held_hash: str) -> ModelState:
        """The state after the completion that reported `held_hash`. Raises `StateNotHeld`."""
        connection, info = await self._chat()
        return await receive_state(
            connection, protocol.SaveState(self._worker.number(), held_hash), info.fingerprint
        )

    async def load_state(self, state: ModelState) -> None:
        """Restores a state. Raises `StateRefused`."""
        connection, info = await self._chat()
        await send_state(connection, self._worker.number(), state, info.fingerprint)

    async def drop_states(self) -> None:
        """Discards every evaluated prompt. Does nothing when no model is loaded."""
        if self._chat_loaded is not None and self._chat_loaded[0] is self._worker.connection:
            connection = self._chat_loaded[0]
            await connection.ask(protocol.DropStates(self._worker.number()), protocol.StatesDropped)

    # --- tokens -----------------------------------------------------------------------------------

    async def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of plain texts, from llama.cpp's own tokenizer."""
        return await self._chat_lists(lambda n: protocol.Tokenize(n, list(texts)))

    async def count(self, texts: Sequence[str]) -> list[int]:
        """Counts tokens with tiktoken where it agrees with llama.cpp on this model, else with llama.cpp."""
        await self.info()
        if self._encoding is not None:
            if sum(map(len, texts)) > _COUNTED_AT_ONCE:
                return await asyncio.to_thread(self._encoding.count, texts)
            return self._encoding.count(texts)
        return [len(tokens) for tokens in await self.tokenize(texts)]

    async def encoding(self) -> ModelEncoding | None:
        """The verified tiktoken encoding of the loaded model, or None; waits until it is verified."""
        await self.info()
        if self._encoding_task is not None:
            await asyncio.shield(self._encoding_task)
        return self._encoding

    async def _learn_encoding(self, connection: Connection) -> None:
        """Builds the encoding in the background; llama.cpp counts until it is ready, or if it disagrees."""
        self._encoding = None
        try:
            pieces = await connection.ask(protocol.Vocabulary(self._worker.number()), protocol.Pieces)
            self._encoding = await build_encoding(pieces, self.tokenize)
        except errors.ModelsError:
            # The worker ended, or has no such vocabulary: llama.cpp keeps counting.
            self._encoding = None

    async def _chat_lists(self, request: Callable[[int], protocol.AnyRequest]) -> list[list[int]]:
        connection, _ = await self._chat()
        answer = await connection.ask(request(self._worker.number()), protocol.Tokens)
        return answer.lists

    # --- embeddings -------------------------------------------------------------------------------

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        if self._spec.embed is None:
            raise errors.NoModel("embed")
        connection, _ = await self._load_embed(self._spec.embed)
        request = protocol.Embed(self._worker.number(), list(texts))
        answer = await connection.ask(request, protocol.Vectors)
        size = answer.dimension
        numbers = struct.unpack(f"<{len(answer.data) // 4}f", answer.data)
        return [list(numbers[at : at + size]) for at in range(0, len(numbers), size)]

    async def embedding_fingerprint(self) -> str:
        """The embedding model's fingerprint. Raises the same errors as `embed`."""
        if self._spec.embed is None:
            raise errors.NoModel("embed")
        return (await self._load_embed(self._spec.embed))[1].fingerprint

    async def _load_embed(self, find: Callable[[], tuple[str, Path]]) -> tuple[Connection, protocol.Loaded]:
        async with self._starting:
            if self._embed_loaded is None or self._embed_loaded[0] is not self._worker.connection:
                path = (await asyncio.to_thread(find))[1]
                self._embed_loaded = await self._worker.load(path, "embed")
            return self._embed_loaded

    async def try_vocabulary(self) -> None:
        """Loads only the vocabulary of the chat model. Raises `ModelFileError`."""
        async with self._starting:
            await self._worker.load(self._spec.chat()[1], "chat", vocab_only=True)


async def probe(path: Path) -> None:
    """Tests in a separate process whether llama.cpp can read a model file. Raises `ModelFileError`."""
    host = ModelHost(HostSpec(chat=lambda: ("", path), load_timeout_s=60))
    try:
        await host.try_vocabulary()
    finally:
        await host.close()
