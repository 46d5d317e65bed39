"""The application's interface to the worker process: requests and answers, and counting tokens without it."""

import asyncio
import random
import struct
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from models import errors
from models.messages import ChatMessage, GenerationParams, Lane, ModelInfo, ModelState, Prefilled
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
from models.worker.protocol import Pieces, model_info, wire_messages, wire_params

if TYPE_CHECKING:
    import tiktoken


_PROSE = [
    "The",
    "ferry",
    "leaves",
    "at",
    "dawn;",
    "she'll",
    "be",
    "there,",
    "won't",
    "she?",
    "I've",
    "packed",
    "bread,",
    "cheese",
    "and",
    "two",
    "apples.",
    "Don't",
    "forget:",
    "they're",
    "late",
    "again,",
    "and",
    "it's",
    "raining.",
    "WE'RE",
    "DONE.",
    "Él",
    "dijo",
    "«mañana»,",
    "naïve",
    "façade,",
    "Straße,",
    "Übung,",
    "smörgåsbord.",
    "Привет,",
    "как",
    "дела?",
    "Καλημέρα",
    "κόσμε.",
    "שלום",
    "עולם.",
    "مرحبا",
    "بالعالم.",
    "नमस्ते",
    "दुनिया.",
]
_CODE = [
    "def f(x: int) -> str:",
    "    return f'{x:>10}'",
    "\tif (a && b) { c += 1; }",
    "// note",
    "SELECT * FROM t WHERE a='b';",
    '<div class="x">&amp;</div>',
    '{"k": [1, 2.5e-3, null]}',
    "#include <stdio.h>",
    "x = y ** 2 if z else -1",
    "  - item",
    "git commit -m 'x' --amend",
    "0xFFee10 ^ ~mask",
]
_EMOJI = ["😀", "👩‍💻", "🇫🇷", "👍🏽", "❤️", "🫠", "✈️", "①", "½", "™", "…", "—", "“quoted”", "‰"]
_CJK = [
    "漢字かな交じり文",
    "東京に行きました。",
    "你好，世界！",
    "안녕하세요 세계",
    "ｶﾀｶﾅ",
    "四二〇",
    "、",
    "。",
]
_SPACES = [" ", "  ", "   ", "\n", "\n\n", "\r\n", "\t", " \n ", "\u00a0", "\u3000", "\n    ", "\t\t "]
_MARKS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "[INST]", "<s>", "</s>", "<|", "|>", "im_end", "###"]
_ODD = ["\u0000", "\u0007", "\u200b", "\ufeff", "\u202e", "é", "e\u0301", "ﬁ", "𝔘", "\U0010fffd", "ߐ", "ª"]


def samples(count: int, seed: int = 20_240_229) -> list[str]:
    """`count` texts: prose, code, emoji, CJK, digits, white space, template marks, odd characters."""
    chance = random.Random(seed)  # noqa: S311 - these are examples, not secrets
    kinds = [_PROSE, _CODE, _EMOJI, _CJK, _SPACES, _MARKS, _ODD]
    texts = []
    for number in range(count):
        main = kinds[number % len(kinds)]
        parts = []
        for _ in range(chance.randint(1, 14)):
            kind = main if chance.random() < 0.6 else chance.choice(kinds)
            parts.append(chance.choice(kind))
            if chance.random() < 0.25:
                parts.append(_digits(chance))
            parts.append(chance.choice(["", " ", " ", "\n", chance.choice(_SPACES)]))
        texts.append("".join(parts))
    return texts


def _digits(chance: random.Random) -> str:
    number = str(chance.randrange(10 ** chance.randint(1, 12)))
    return chance.choice(
        [number, f"{number}.{number[:2]}", f"-{number}", f" {number}%", f"{number},{number}"]
    )


_BPE = 2
_NORMAL = 1 << 2
_USER_DEFINED = 1 << 4
_PROBES = 400

_CONTRACTIONS = r"'(?:s|t|re|ve|m|ll|d)"
_CONTRACTIONS_ANY_CASE = r"'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])"
_LLAMA3 = (
    _CONTRACTIONS_ANY_CASE + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{DIGITS}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
# How text is split before merging, by the name that GGUF files use. llama.cpp applies a list of patterns in
# sequence; each entry is the single pattern that splits in the same places. `smollm` splits off every digit
# first, so white space before a digit is a separate piece.
_PATTERNS = {
    "gpt-2": _CONTRACTIONS + r"| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "smollm": _CONTRACTIONS + r"|\p{N}| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?=\p{N})|\s+(?!\S)|\s+",
    "llama-bpe": _LLAMA3.replace("{DIGITS}", "{1,3}"),
    "qwen2": _LLAMA3.replace("{DIGITS}", ""),
}


class ModelEncoding:
    """Converts plain text to token ids with tiktoken. Keeps no reference to the model."""

    def __init__(self, encoding: "tiktoken.Encoding", vocabulary: int) -> None:
        self._encoding = encoding
        self._vocabulary = vocabulary

    def encode(self, text: str) -> list[int]:
        """Token ids as llama.cpp gives them without control tokens.

        Bytes that the vocabulary lacks yield no token, as in llama.cpp.
        """
        tokens = self._encoding.encode(text, allowed_special="all", disallowed_special=())
        return [token for token in tokens if token < self._vocabulary]

    def count(self, texts: Sequence[str]) -> list[int]:
        return [len(self.encode(text)) for text in texts]


async def build_encoding(
    pieces: Pieces, tokenize: Callable[[Sequence[str]], Awaitable[list[list[int]]]]
) -> ModelEncoding | None:
    """The encoding for a vocabulary, or None where tiktoken disagrees with llama.cpp.

    `tokenize` is llama.cpp's own tokenizer; the two are compared on a fixed set of varied samples.
    """
    encoding = await asyncio.to_thread(encoding_from, pieces)
    if encoding is None:
        return None
    probes = samples(_PROBES)
    theirs = await tokenize(probes)
    mine = await asyncio.to_thread(lambda: [encoding.encode(text) for text in probes])
    return encoding if mine == theirs else None


def encoding_from(pieces: Pieces) -> ModelEncoding | None:
    """The unverified encoding; None when the vocabulary is not byte-level BPE of a known kind."""
    pattern = _PATTERNS.get(pieces.pre)
    if pieces.kind != _BPE or pattern is None:
        return None
    import tiktoken

    alphabet = _byte_alphabet()
    ranks: dict[bytes, int] = {}
    special: dict[str, int] = {}
    for token, (raw, attributes) in enumerate(zip(pieces.raw, pieces.attributes, strict=True)):
        text = raw.decode("utf-8", "replace")
        if attributes & _USER_DEFINED:
            special[text] = token
        elif attributes & _NORMAL and all(c in alphabet for c in text):
            ranks.setdefault(bytes(alphabet[c] for c in text), token)
    beyond = len(pieces.raw)
    for byte in range(256):
        if bytes([byte]) not in ranks:
            ranks[bytes([byte])] = beyond
            beyond += 1
    encoding = tiktoken.Encoding(
        name="from-model", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special
    )
    return ModelEncoding(encoding, len(pieces.raw))


def _byte_alphabet() -> dict[str, int]:
    """Maps byte-level BPE's characters for bytes to the bytes (the reverse of GPT-2's `bytes_to_unicode`)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    alphabet = {chr(byte): byte for byte in printable}
    others = [byte for byte in range(256) if byte not in set(printable)]
    alphabet.update({chr(0x100 + n): byte for n, byte in enumerate(others)})
    return alphabet


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
