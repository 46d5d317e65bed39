"""What the interface needs of the models behind it, and of the time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from models.library.files import Cancelled, Report

Now = Callable[[], datetime]
"""The present moment in the person's own time zone (aware)."""


@dataclass(frozen=True, slots=True)
class Offer:
    """A model that can be had. `fit` says in words how it suits this machine; `bytes` is its size.

    `program` is the one that has its file on this computer; empty for what is downloaded.
    """

    id: str
    name: str
    bytes: int
    licence: str
    fit: str
    note: str = ""
    program: str = ""


class ModelShelf(Protocol):
    """The models of this home. Raises `models.errors`."""

    async def chat_model(self) -> str | None:
        """The id of the chat model that is installed and chosen, or None."""
        ...

    async def offers(self) -> Sequence[Offer]:
        """The one to start with now, files of other programs, then what is recommended for this machine."""
        ...

    async def companion(self) -> Offer | None:
        """The model that finds by meaning, when there is none yet."""
        ...

    async def pull(self, model_id: str, progress: Report, cancelled: Cancelled) -> None:
        """Fetches a model, or takes in the file of one, and chooses it for what it is made for.

        `progress` is called from a thread.
        """
        ...
