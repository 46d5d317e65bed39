"""Immutable values that pass between the application and a model."""

import hashlib
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

# Lists are compared in blocks, which costs a tenth of comparing item by item.
_BLOCK = 512


def pack_tokens(tokens: Sequence[int]) -> bytes:
    """Packs token ids, each as four little-endian bytes."""
    return struct.pack(f"<{len(tokens)}I", *tokens)


def hash_tokens(tokens: Sequence[int]) -> str:
    """Hex SHA-256 of `pack_tokens`."""
    return hashlib.sha256(pack_tokens(tokens)).hexdigest()


def common_tokens(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the common beginning of two token lists."""
    size = min(len(first), len(second))
    at = 0
    while at + _BLOCK <= size and first[at : at + _BLOCK] == second[at : at + _BLOCK]:
        at += _BLOCK
    while at < size and first[at] == second[at]:
        at += 1
    return at


ESTIMATE = "estimate"
"""The `ModelInfo.tokenizer` of a model whose tokens are estimated."""


class Role(StrEnum):
    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


class StopReason(StrEnum):
    STOP = "stop"
    LENGTH = "length"
    CANCELLED = "cancelled"
    ERROR = "error"


class Lane(StrEnum):
    """Which context of the worker handles a request. Chat pre-empts the others within one token.

    `door` is for other programs that talk to the model: behind the user's own chat, before tasks.
    """

    CHAT = "chat"
    DOOR = "door"
    TASK = "task"
    EMBED = "embed"


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of a prompt.

    `tokens` are the exact tokens that this same model produced for `content`. When given, the prompt uses
    them unchanged, so that a reply which is already in the model's cache is never evaluated again (tokenising
    the text again may split it differently).
    """

    role: Role
    content: str
    tokens: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class GenerationParams:
    """Sampling parameters. `seed=None` draws a random seed; `temperature=0` is greedy.

    `grammar` is GBNF text that the completion must match, `json_schema` the text of a JSON schema that it
    must match. Only one of the two may be given. `gather_s` is for how many seconds tokens are gathered into
    one delta; None lets the worker choose.
    """

    max_tokens: int = 512
    temperature: float = 0.7
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    repeat_penalty: float = 1.0
    repeat_last_n: int = 64
    seed: int | None = None
    stop: tuple[str, ...] = ()
    grammar: str | None = None
    json_schema: str | None = None
    gather_s: float | None = None


@dataclass(frozen=True, slots=True)
class TokenDelta:
    """The next piece of a reply, one or more tokens. `text` is whole characters and may be empty."""

    text: str
    tokens: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Timings:
    """Milliseconds and counts of one completion; `cached_tokens` were already in the model's state.

    Of the `completion_tokens`, `accepted_tokens` had been guessed; `drafted_tokens` are all guesses that were
    evaluated.
    """

    first_token_ms: float = 0.0
    total_ms: float = 0.0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    evaluated_tokens: int = 0
    completion_tokens: int = 0
    tokens_per_second: float = 0.0
    drafted_tokens: int = 0
    accepted_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Completion:
    """The end of a reply: the text, why it ended, and the exact tokens where they match the text.

    Hashes are hex SHA-256 over token ids, each as four little-endian bytes. `prompt_hash` is that of the
    prompt, `held_hash` that of the `held_tokens` tokens in the model's context at the end (empty and 0 when
    unknown).
    """

    text: str
    tokens: tuple[int, ...]
    stop_reason: StopReason
    timings: Timings
    prompt_hash: str = ""
    held_hash: str = ""
    held_tokens: int = 0


@dataclass(frozen=True, slots=True)
class PromptShape:
    """Token costs of the chat template itself: `base` once, `overhead[role]` for each message."""

    base: int
    overhead: dict[Role, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The worker's report about a loaded model.

    `fingerprint` identifies the weights and the template (hex). `context_length` is the size of the chat
    context in tokens. `prefix_stable`: the template only appends when a turn is added. `parameters` is the
    number of weights (0: unknown).
    """

    id: str
    fingerprint: str
    architecture: str
    context_length: int
    train_context: int
    vocabulary: int
    embedding_length: int
    prefix_stable: bool
    shape: PromptShape
    tokenizer: str
    parameters: int = 0

    @property
    def estimated(self) -> bool:
        """Whether tokens are estimated, because the model's own tokenizer is not available."""
        return self.tokenizer == ESTIMATE


@dataclass(frozen=True, slots=True)
class Prefilled:
    """The result of a prefill: the prompt's stable beginning, and how much of it had to be evaluated.

    `held_hash` is `hash_tokens` of the `tokens` that are now kept. `tokens` is 0 when the state cache has no
    room for them.
    """

    tokens: int
    evaluated: int
    held_hash: str = ""


@dataclass(frozen=True, slots=True)
class ModelState:
    """A model's state after evaluating `tokens`; valid for that model only.

    `model` is its fingerprint. `chunks` are the state's bytes, in order. `sha256` (hex) is over the
    fingerprint's text, `pack_tokens(tokens)` and all chunks. Tokens and chunks are content, so no repr shows
    them.
    """

    model: str
    tokens: tuple[int, ...] = field(repr=False)
    chunks: tuple[bytes, ...] = field(repr=False)
    sha256: str

    @property
    def size(self) -> int:
        """Total bytes of all chunks."""
        return sum(map(len, self.chunks))

    @property
    def prefix_hash(self) -> str:
        return hash_tokens(self.tokens)
