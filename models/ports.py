"""What the rest of the program may ask of a model. Adapters implement these; nobody else names them."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from models.messages import ChatMessage, Completion, GenerationParams, Lane, ModelInfo, TokenDelta


class TokenCounter(Protocol):
    """Counts tokens of plain text exactly as the loaded model would (control tokens are never recognised)."""

    async def count(self, texts: Sequence[str]) -> list[int]: ...


class Generation(Protocol):
    """A completion that is being made: deltas and, last, one `Completion`.

    Iterating raises `models.errors.ModelsError` when the model fails.
    """

    def __aiter__(self) -> AsyncIterator[TokenDelta | Completion]: ...

    def cancel(self) -> None:
        """Ends it within one token, also while the prompt is read; the `Completion` still comes."""
        ...


class ChatModel(Protocol):
    """A model that continues a conversation."""

    async def info(self) -> ModelInfo:
        """Loads the model when need be. Raises `models.errors.ModelsError`."""
        ...

    def generate(
        self, messages: Sequence[ChatMessage], params: GenerationParams, lane: Lane = Lane.CHAT
    ) -> Generation: ...


class Embedder(Protocol):
    """Turns text into vectors of unit length."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """`float[len(texts)][dimension]`, each of length 1."""
        ...
