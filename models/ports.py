"""What the rest of the program may ask of a model. Adapters implement these; nobody else names them."""

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


class PrefixKeeper(Protocol):
    """A model whose memory of prompts can be filled ahead, taken out and put back.

    What is kept is a cache: it is empty after the model was loaded anew. All calls load the model when need
    be and raise `models.errors.ModelsError`.
    """

    async def render(self, messages: Sequence[ChatMessage]) -> list[int]:
        """The exact prompt, as token ids, that `generate` would evaluate."""
        ...

    async def prefill(self, messages: Sequence[ChatMessage]) -> Prefilled:
        """Reads these messages ahead of the turn that will follow them, beside the chat and behind it.

        A later `generate` whose prompt begins with them evaluates only what comes after. A caller that is
        cancelled stops it. Raises `PromptTooLong` when they leave no room.
        """
        ...

    async def save_state(self, held_hash: str) -> ModelState:
        """The state after the completion that told `held_hash`, or one that only appends to it.

        Raises `StateNotHeld` when it has been replaced since.
        """
        ...

    async def load_state(self, state: ModelState) -> None:
        """Puts a state back, so that a prompt that begins with its tokens evaluates only the rest.

        Its bytes must come from where nobody else can write. Raises `StateRefused` when they are not what
        they were, or belong to another model.
        """
        ...

    async def drop_states(self) -> None:
        """Forgets every prompt that was read."""
        ...


class Embedder(Protocol):
    """Turns text into vectors of unit length."""

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """`float[len(texts)][dimension]`, each of length 1."""
        ...

    async def embedding_fingerprint(self) -> str:
        """Identifies the weights (hex): vectors with different ones cannot be compared. Loads the model when
        need be."""
        ...
