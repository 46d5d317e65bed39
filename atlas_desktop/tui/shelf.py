"""The models of a home as the first run shows them: what to start with, and what suits this machine."""

import asyncio
from typing import TYPE_CHECKING

from atlas_desktop.tui.ports import Offer
from models.progress import Cancelled, Report

if TYPE_CHECKING:
    from atlas_desktop.services.models import ModelService
    from models.hardware import Recommendation

SHOWN = 6


class HomeShelf:
    """`atlas_desktop.tui.ports.ModelShelf` on the model service."""

    def __init__(self, models: "ModelService") -> None:
        self._models = models

    async def chat_model(self) -> str | None:
        return await self._models.chat_model()

    async def offers(self) -> list[Offer]:
        """The smallest model first, because it is here soonest; then the best for this machine."""
        found = await asyncio.to_thread(self._models.recommend)
        return [_offer(r) for r in start_now_first(found)[:SHOWN]]

    async def pull(self, model_id: str, progress: Report, cancelled: Cancelled) -> None:
        await self._models.pull(model_id, progress, cancelled, choose=True)


def start_now_first(found: "tuple[Recommendation, ...]") -> "list[Recommendation]":
    """The recommendations in their order, but the smallest download in front."""
    if not found:
        return []
    smallest = min(found, key=lambda r: r.entry.bytes)
    return [smallest, *(r for r in found if r is not smallest)]


def _offer(found: "Recommendation") -> Offer:
    entry = found.entry
    return Offer(entry.id, entry.name, entry.bytes, entry.licence, str(found.fit), entry.note)
