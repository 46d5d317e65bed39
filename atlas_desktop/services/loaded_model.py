"""The loaded model and what belongs to it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from models.errors import ModelDamaged
from models.ports import ChatModel, Embedder, PrefixKeeper, TokenCounter


@dataclass(frozen=True, slots=True)
class Model:
    """A chat model with its token counter, optional parts, and `close`, which releases all of them.

    `prefixes` prefills prompts and saves states, `embedder` turns text into vectors; either may be None.
    `damaged` is set when there is no embedder because its file is damaged.
    """

    chat: ChatModel
    counter: TokenCounter
    close: Callable[[], Awaitable[None]]
    prefixes: PrefixKeeper | None = None
    embedder: Embedder | None = None
    damaged: ModelDamaged | None = None
