"""Protocols through which the rest of the program uses a model.

Adapters implement them; other code does not name the adapters.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from models.messages import (
    ChatMessage,
    Completion,
    GenerationParams,
    Lane,
    ModelInfo,
    ModelState,
    Prefilled,
    TokenDelta,
)


class TokenCounter(Protocol):
    """Counts tokens of plain text exactly as the loaded model does; control tokens are never recognised."""

    async def count(self, texts: Sequence[str]) -> list[int]: ...


class Generation(Protocol):
    """A completion in progress: yields deltas and, last, one `Completion`.

    Iterating raises `models.errors.ModelsError` when the model fails.
    """

    def __aiter__(self) -> AsyncIterator[TokenDelta | Completion]: ...

    def cancel(self) -> None:
        """Ends it within one token, even while the prompt is evaluated; the `Completion` still follows."""
        ...


class ChatModel(Protocol):
    """A model that replies to messages."""

    async def info(self) -> ModelInfo:
        """Describes the model, loading it if needed. Raises `models.errors.ModelsError`."""
        ...

    def generate(
        self, messages: Sequence[ChatMessage], params: GenerationParams, lane: Lane = Lane.CHAT
    ) -> Generation: ...


class PrefixKeeper(Protocol):
    """A model whose prompt states can be filled ahead, saved and restored.

    The states are a cache, which is empty after the model is loaded again. All calls load the model if needed
    and raise `models.errors.ModelsError`.
    """

    async def render(self, messages: Sequence[ChatMessage]) -> list[int]:
        """The exact prompt, as token ids, that `generate` would evaluate."""
        ...

    async def prefill(self, messages: Sequence[ChatMessage]) -> Prefilled:
        """Evaluates these messages ahead of the turn after them, in parallel with the chat and less urgently.

        A later `generate` whose prompt begins with them evaluates only the rest. Cancelling the caller stops
        it. Raises `PromptTooLong` when they leave no room.
        """
        ...

    async def save_state(self, held_hash: str) -> ModelState:
        """The state after the completion that reported `held_hash`, or one that only appends to it.

        Raises `StateNotHeld` when it has been replaced since.
        """
        ...

    async def load_state(self, state: ModelState) -> None:
        """Restores a state, so that a prompt that begins with its tokens evaluates only the rest.

        Its bytes must come from a place where nobody else can write. Raises `StateRefused` when they have
        changed or belong to another model.
        """
        ...

    async def drop_states(self) -> None:
        """Discards every evaluated prompt."""
        ...


class Embedder(Protocol):
    """Turns text into vectors of unit length."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Returns `float[len(texts)][dimension]`, each vector of length 1."""
        ...

    async def embedding_fingerprint(self) -> str:
        """Identifies the weights (hex): vectors with different fingerprints cannot be compared.

        Loads the model if needed.
        """
        ...
