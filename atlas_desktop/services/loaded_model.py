"""The model that is loaded, with what belongs to it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from models.errors import ModelDamaged
from models.ports import ChatModel, Embedder, PrefixKeeper, TokenCounter


@dataclass(frozen=True, slots=True)
class Model:
    """A chat model with what goes with it, and how to let go of all of it.

    `prefixes` reads prompts ahead and keeps states, `embedder` turns text into vectors; either may be
    missing. `damaged` says that there is no embedder because its file is damaged.
    """

    chat: ChatModel
    counter: TokenCounter
    close: Callable[[], Awaitable[None]]
    prefixes: PrefixKeeper | None = None
    embedder: Embedder | None = None
    damaged: ModelDamaged | None = None
