"""Messages between the application and the worker: length-prefixed, validated MessagePack."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Protocol, TypeVar

import msgspec

from models import errors
from models.errors import ProtocolError
from models.messages import (
    ChatMessage,
    Completion,
    GenerationParams,
    ModelInfo,
    PromptShape,
    Role,
    StopReason,
    Timings,
)
from models.tuning.kernels import Kernels

MAX_FRAME = 64 * 1024 * 1024
_HEADER = 4
T = TypeVar("T")
Answered = TypeVar("Answered", bound="Answer")


class WireMessage(msgspec.Struct, frozen=True, array_like=True):
    role: str
    content: str
    tokens: list[int] = []


class WireParams(msgspec.Struct, frozen=True, array_like=True):
    max_tokens: int
    temperature: float
    top_k: int
    top_p: float
    min_p: float
    repeat_penalty: float
    repeat_last_n: int
    seed: int | None
    stop: list[str]
    grammar: str | None
    json_schema: str | None = None
    gather_s: float | None = None


class Request(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Base of the application's requests; every answer to one repeats its `id`."""

    id: int


class Load(Request, frozen=True):
    """Loads a model for a role, `chat` or `embed`; with `vocab_only` the file is only tested.

    `kernels` names the processor units that llama.cpp may use (`models.tuning.kernels.Kernels`). `batch` is
    the number of tokens evaluated at once, `flash` turns flash attention on, and `kv_type` is how keys and
    values are stored (`f16`, `q8_0`); 0, None and an empty text let the worker choose. `state_cache` is the
    limit in bytes for states of other prompts; -1 lets the worker choose. `speculation`: replies are written
    speculatively where the model allows it. `draft` is the file of a small model that guesses for this one
    then; one with another vocabulary is not used.
    """

    path: str
    role: str
    context_length: int
    threads: int
    gpu_layers: int
    vocab_only: bool = False
    kernels: str = Kernels.ALL
    state_cache: int = -1
    speculation: bool = True
    batch: int = 0
    flash: bool | None = None
    kv_type: str = ""
    draft: str = ""


class Generate(Request, frozen=True):
    lane: str
    messages: list[WireMessage]
    params: WireParams


class Embed(Request, frozen=True):
    texts: list[str]


class Tokenize(Request, frozen=True):
    """Converts plain text to token ids; control tokens are never recognised."""

    texts: list[str]


class Render(Request, frozen=True):
    """Asks for the exact prompt that `Generate` would evaluate."""

    messages: list[WireMessage]


class Prefill(Request, frozen=True):
    """Evaluates messages ahead of the turn after them, and keeps the state."""

    messages: list[WireMessage]


class SaveState(Request, frozen=True):
    """Asks for the state whose tokens have that hash, or begin with those that had it at a `Done`."""

    held_hash: str


class LoadState(Request, frozen=True):
    """Announces a state of `size` bytes, which follow in `StatePiece`s with the same id."""

    model: str
    tokens: list[int]
    size: int
    sha256: str


class StatePiece(Request, frozen=True):
    """The next bytes of the state that the `LoadState` of this id announced."""

    data: bytes


class DropStates(Request, frozen=True):
    """Discards every evaluated prompt."""


class Vocabulary(Request, frozen=True):
    """Asks for everything needed to rebuild the tokenizer."""


class Cancel(Request, frozen=True):
    """Ends the request with that id within one token."""


class Answer(msgspec.Struct, frozen=True, tag=True, array_like=True):
    """Base of the worker's answers; `id` is that of the request."""

    id: int


class Loaded(Answer, frozen=True):
    fingerprint: str
    architecture: str
    context_length: int
    train_context: int
    vocabulary: int
    embedding_length: int
    prefix_stable: bool
    base: int
    overhead: dict[str, int]
    tokenizer: str
    parameters: int = 0


class Delta(Answer, frozen=True):
    text: str
    tokens: list[int]


class Done(Answer, frozen=True):
    text: str
    tokens: list[int]
    completion_tokens: int
    stop_reason: str
    first_token_ms: float
    total_ms: float
    prompt_tokens: int
    cached_tokens: int
    evaluated_tokens: int
    tokens_per_second: float
    prompt_hash: str
    held_hash: str
    held_tokens: int
    drafted_tokens: int = 0
    accepted_tokens: int = 0


class Prefilled(Answer, frozen=True):
    tokens: int
    evaluated: int
    held_hash: str


class State(Answer, frozen=True):
    """A state's tokens and size; its bytes follow in `StateChunk`s, then `StateSaved`."""

    tokens: list[int]
    size: int


class StateChunk(Answer, frozen=True):
    data: bytes


class StateSaved(Answer, frozen=True):
    """`sha256` is that of `models.messages.ModelState`."""

    sha256: str


class StateLoaded(Answer, frozen=True):
    tokens: int


class StatesDropped(Answer, frozen=True):
    pass


class Vectors(Answer, frozen=True):
    """Little-endian float32 vectors, one after the other, each of length 1."""

    dimension: int
    data: bytes


class Tokens(Answer, frozen=True):
    lists: list[list[int]]


class Pieces(Answer, frozen=True):
    """`raw[i]` is token i as stored, `attributes[i]` llama.cpp's flags for it, `kind` its vocabulary type."""

    kind: int
    pre: str
    raw: list[bytes]
    attributes: list[int]


class Failed(Answer, frozen=True):
    """`kind` names an error of `models.errors`; `numbers` and `detail` are its facts, never content."""

    kind: str
    detail: str = ""
    numbers: list[int] = []


AnyRequest = (
    Load
    | Generate
    | Embed
    | Tokenize
    | Render
    | Prefill
    | SaveState
    | LoadState
    | StatePiece
    | DropStates
    | Vocabulary
    | Cancel
)
AnyAnswer = (
    Loaded
    | Delta
    | Done
    | Prefilled
    | State
    | StateChunk
    | StateSaved
    | StateLoaded
    | StatesDropped
    | Vectors
    | Tokens
    | Pieces
    | Failed
)

_encoder = msgspec.msgpack.Encoder()
_requests: msgspec.msgpack.Decoder[AnyRequest] = msgspec.msgpack.Decoder(AnyRequest)
_answers: msgspec.msgpack.Decoder[AnyAnswer] = msgspec.msgpack.Decoder(AnyAnswer)


class Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


def frame(message: AnyRequest | AnyAnswer) -> bytes:
    body = _encoder.encode(message)
    return len(body).to_bytes(_HEADER, "big") + body


def body_length(header: bytes) -> int:
    """Number of bytes after a header. Raises `ProtocolError` unless it is from 1 to `MAX_FRAME`."""
    length = int.from_bytes(header, "big")
    if not 0 < length <= MAX_FRAME:
        raise ProtocolError(f"a frame of {length} bytes")
    return length


def _decode(decode: Callable[[bytes], T], body: bytes) -> T:
    try:
        return decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ProtocolError(str(error)) from None


def read_request(stream: Readable) -> AnyRequest | None:
    """The next request; None at the end of the stream."""
    header = stream.read(_HEADER)
    if len(header) < _HEADER:
        return None
    length = body_length(header)
    body = stream.read(length)
    if len(body) < length:
        return None
    return _decode(_requests.decode, body)


def decode_answer(body: bytes) -> AnyAnswer:
    return _decode(_answers.decode, body)


def model_info(name: str, loaded: Loaded) -> ModelInfo:
    return ModelInfo(
        id=name,
        fingerprint=loaded.fingerprint,
        architecture=loaded.architecture,
        context_length=loaded.context_length,
        train_context=loaded.train_context,
        vocabulary=loaded.vocabulary,
        embedding_length=loaded.embedding_length,
        prefix_stable=loaded.prefix_stable,
        shape=PromptShape(loaded.base, {Role(r): n for r, n in loaded.overhead.items()}),
        tokenizer=loaded.tokenizer,
        parameters=loaded.parameters,
    )


def completion(answer: AnyAnswer | errors.ModelsError) -> Completion:
    if isinstance(answer, errors.ModelsError):
        raise answer
    if isinstance(answer, Failed):
        raise error_of(answer, Path())
    if not isinstance(answer, Done):
        raise errors.ProtocolError(f"{type(answer).__name__} instead of Done")
    return Completion(
        text=answer.text,
        tokens=tuple(answer.tokens),
        stop_reason=StopReason(answer.stop_reason),
        timings=Timings(
            first_token_ms=answer.first_token_ms,
            total_ms=answer.total_ms,
            prompt_tokens=answer.prompt_tokens,
            cached_tokens=answer.cached_tokens,
            evaluated_tokens=answer.evaluated_tokens,
            completion_tokens=answer.completion_tokens,
            tokens_per_second=answer.tokens_per_second,
            drafted_tokens=answer.drafted_tokens,
            accepted_tokens=answer.accepted_tokens,
        ),
        prompt_hash=answer.prompt_hash,
        held_hash=answer.held_hash,
        held_tokens=answer.held_tokens,
    )


def error_of(failed: Failed, path: Path) -> errors.ModelsError:
    """The exception for a failure that the worker reported."""
    kind = getattr(errors, failed.kind, None)
    if kind is errors.PromptTooLong:
        return errors.PromptTooLong(*failed.numbers)
    if isinstance(kind, type) and issubclass(kind, errors.ModelFileError):
        return kind(path, failed.detail)
    if kind is errors.TemplateFailed:
        return errors.TemplateFailed(failed.detail)
    if kind is errors.ProtocolError:
        return errors.ProtocolError(failed.detail)
    if kind is errors.StateNotHeld:
        return errors.StateNotHeld()
    if kind is errors.BadGrammar:
        return errors.BadGrammar()
    if kind is errors.StateRefused:
        return errors.StateRefused(failed.detail)
    return errors.WorkerFault(failed.detail)


def wire_messages(messages: Sequence[ChatMessage]) -> list[WireMessage]:
    return [WireMessage(str(m.role), m.content, list(m.tokens)) for m in messages]


def wire_params(params: GenerationParams) -> WireParams:
    values = {f.name: getattr(params, f.name) for f in fields(params)}
    return WireParams(**{**values, "stop": list(params.stop)})
