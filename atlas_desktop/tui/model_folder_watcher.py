"""Watches the folder of models while the program runs."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp


class ModelFolderWatcher:
    """Announces each new model. If the user is choosing the first model, the conversation begins."""

    def __init__(self, app: "BaseApp") -> None:
        self._app = app
        self._end: Callable[[], None] | None = None
        self._turning = asyncio.Lock()

    async def start(self) -> None:
        """Starts to watch, in a thread: the imports are slow."""
        async with self._turning:
            if self._end is None and not self._app.leaving:
                try:
                    self._end = await asyncio.to_thread(self._app.desk.watch_models, self._arrived)
                except OSError:
                    # The system cannot watch the folder. Models are still found when the list is read.
                    return

    async def stop(self) -> None:
        """Stops watching; no model is announced after this returns."""
        async with self._turning:
            if self._end is not None:
                end, self._end = self._end, None
                await asyncio.to_thread(end)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """Pauses watching, so that users get no notice of models that they download themselves."""
        await self.stop()
        try:
            yield
        finally:
            await self.start()

    def _arrived(self, path: Path) -> None:
        # Called in a thread of the watcher.
        self._app.call_later(self._tell, path)

    def _tell(self, path: Path) -> None:
        if not self._app.leaving:
            self._app.attempt(self._take_in(path), group="arrivals")

    async def _take_in(self, path: Path) -> None:
        name = clean_line(path.stem)
        if self._app.choosing_model and await self._app.models.chat_model() is not None:
            self._app.say(_("New model: {name}. You can start.", name=name), anywhere=True)
            await self._app.model_chosen()
        else:
            self._app.say(
                _("New model: {name}. Switch to it with `/model {name}`.", name=name), anywhere=True
            )
