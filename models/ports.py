"""What the rest of the program may ask of a model. Adapters implement these; nobody else names them."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from models.messages import ChatMessage, Completion, GenerationParams, Lane, ModelInfo, TokenDelta


class TokenCounter(Protocol):
    """Counts tokens of plain text exactly as the loaded model would (control tokens are never recognised)."""

    async def count(self, texts: Sequence[str]) -> list[int]: ...


class ChatModel(Protocol):
    """A model that continues a conversation."""

    async def info(self) -> ModelInfo:
        """Loads the model when need be. Raises `models.errors.ModelsError`."""
        ...

    def stream(
        self, messages: Sequence[ChatMessage], params: GenerationParams, lane: Lane = Lane.CHAT
    ) -> AsyncIterator[TokenDelta | Completion]:
        """Yields deltas and, last, one `Completion`. Closing the iterator cancels within one token."""
        ...


class Embedder(Protocol):
    """Turns text into vectors of unit length."""

    @property
    def dimension(self) -> int: ...

    @property
    def fingerprint(self) -> str: ...

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """`float[len(texts)][dimension]`, each of length 1."""
        ...
