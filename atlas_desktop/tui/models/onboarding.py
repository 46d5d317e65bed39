"""The models that this computer can get, for the choice of the first one."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from models.errors import NoModel
from models.library.files import Cancelled, Report

if TYPE_CHECKING:
    from atlas_desktop.services.models import ModelService
    from models.library.catalog import Recommendation
    from models.library.installed import FoundModel


FIT_STYLES = {"fits": "$success", "may be slow": "$warning", "won't fit": "$error"}


@dataclass(frozen=True, slots=True)
class Offer:
    """A model to choose. `fit` says how it suits this machine; `bytes` is its size.

    `program` is the program that already has its file; empty for a download.
    """

    id: str
    name: str
    bytes: int
    licence: str
    fit: str
    note: str = ""
    program: str = ""


class ModelOnboarding(Protocol):
    """The models of this home. Its methods raise `models.errors`."""

    async def chat_model(self) -> str | None:
        """The id of the chat model that is installed and chosen, or None."""
        ...

    async def offers(self) -> Sequence[Offer]:
        """Returns the model to start with now, files of other programs, then recommendations for this
        computer."""
        ...

    async def companion(self) -> Offer | None:
        """Returns the embedding model, if there is none yet."""
        ...

    async def pull(self, model_id: str, progress: Report, cancelled: Cancelled) -> None:
        """Downloads a model or imports its file, and chooses it for its purpose.

        `progress` is called from a thread.
        """
        ...


SHOWN = 6
_FILE = "file:"


class HomeModelOnboarding:
    """Implements `ModelOnboarding` with the model service."""

    def __init__(self, models: "ModelService") -> None:
        self._models = models

    async def chat_model(self) -> str | None:
        return await self._models.chat_model()

    async def offers(self) -> list[Offer]:
        """Returns the smallest first, because it arrives soonest; then what needs no download; then the
        best."""
        recommended = await asyncio.to_thread(self._models.recommend)
        offers = [_offer(one) for one in start_now_first(recommended)[:SHOWN]]
        files = [_file(one) for one in await asyncio.to_thread(self._models.discover)]
        return [*offers[:1], *files[:SHOWN], *offers[1:]]

    async def companion(self) -> Offer | None:
        try:
            await asyncio.to_thread(self._models.default, "embed")
        except NoModel:
            defaults = {entry.id for entry in self._models.defaults()}
            found = await asyncio.to_thread(self._models.recommend, "embed")
            return next((_offer(one) for one in found if one.entry.id in defaults), None)
        return None

    async def pull(self, model_id: str, progress: Report, cancelled: Cancelled) -> None:
        if model_id.startswith(_FILE):
            path = Path(model_id.removeprefix(_FILE))
            model = await self._models.import_file(path, progress, cancelled, link=True)
            await asyncio.to_thread(self._models.use, model.id)
            return
        await self._models.pull(model_id, progress, cancelled, choose=True)


def start_now_first(found: "tuple[Recommendation, ...]") -> "list[Recommendation]":
    """Returns the recommendations with the smallest download first."""
    if not found:
        return []
    smallest = min(found, key=lambda r: r.entry.bytes)
    return [smallest, *(r for r in found if r is not smallest)]


def _offer(found: "Recommendation") -> Offer:
    entry = found.entry
    return Offer(entry.id, entry.name, entry.bytes, entry.licence, str(found.fit), entry.note)


def _file(found: "FoundModel") -> Offer:
    return Offer(f"{_FILE}{found.path}", found.name, found.bytes, "", "", program=found.program)
