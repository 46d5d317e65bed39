"""Changes the model that answers without losing the conversation, and announces new model files."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atlas_desktop.errors import Explained
from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.keymap import how_to
from models.errors import EngineError, ModelFileMissing, NoModel, UnknownModel, WorkerCrashed

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp


class ModelSwitcher:
    """`choose` opens the choice of a model; its argument says why one is needed."""

    def __init__(self, app: "BaseApp", choose: Callable[[Explained], Coroutine[Any, Any, None]]) -> None:
        self._app = app
        self._choose = choose
        self._due = False
        """Whether to change the model when the current reply has ended."""

    async def use(self, ref: str, role: str | None = None) -> str:
        """Chooses a model for its purpose, and says when it will be used: an installed one, or `NAME:MODEL`
        of an engine, for `role`.

        The running model stops now, or when its reply has ended. Raises `UnknownModel`, `EngineError`.
        """
        used = await asyncio.to_thread(self._app.desk.use_model, ref, role)
        name = clean_line(used.id)
        if "chat" not in used.roles:
            return _("{model} will be used for search by meaning after you restart Atlas.", model=name)
        self._app.desk.chosen_model = None
        return await self._changed(name)

    async def use_for_now(self, ref: str) -> str:
        """Like `use`, but only until another model is chosen or Atlas ends; the settings stay as they are."""
        self._app.desk.chosen_model = self._app.desk.check_model(ref)
        return await self._changed(clean_line(ref))

    async def _changed(self, name: str) -> str:
        now = await self.change_soon()
        return (
            _("The next reply will come from {model}. The conversation is unchanged.", model=name)
            if now
            else _("{model} takes over after this reply.", model=name)
        )

    async def use_named(self, name: str) -> None:
        """Like `use`; shows the result, or that there is no such model."""
        try:
            said = await self.use(name)
        except UnknownModel:
            said = _(
                "No model called {name} is installed. {key} lists all models.",
                name=clean_line(name),
                key=how_to("models.show", self._app.keys),
            )
        except EngineError as error:
            words = self._app.explain(error)
            said = f"{words.title}. {words.message} {words.next_step}"
        self._app.say(said)

    async def change_soon(self) -> bool:
        """Starts the chosen model once no reply is in progress. Returns whether it started at once."""
        if self._app.replying:
            self._due = True
            return False
        await self._change()
        return True

    async def _change(self) -> None:
        await self._app.desk.switch_model()
        self.start()

    def work_ended(self) -> None:
        """Called when any work has ended: changes the model if that waited for the end of a reply."""
        if self._due and not self._app.replying and not self._app.leaving:
            self._due = False
            self._app.attempt(self._change(), group="model-switch")

    async def settings_changed(self) -> None:
        """Restarts the model for the next reply; a reply in progress continues."""
        if not self._app.replying:
            await self._app.desk.switch_model()

    def start(self) -> None:
        """Starts the model's process in the background, so that the first reply does not wait for it."""
        self._app.attempt(self._start, group="model", exclusive=True)

    async def _start(self) -> None:
        app = self._app
        app.background = _("loading the model")
        app.tell_chat()
        try:
            info = await app.desk.model.chat.info()
        except NoModel:
            app.model_missing = True
            raise
        except WorkerCrashed:
            # A reply that waits for the model reports this error in the conversation.
            if app.replying:
                return
            raise
        finally:
            app.background = ""
            app.tell_chat()
        app.model_id = app.model_name = info.id
        app.model_missing = False
        app.context_length = info.context_length
        app.tokens_estimated = info.estimated
        app.tell_chat()
        # The recall index is filled in the background once the model is loaded.
        app.room.recall.start(app.background_failed)

    def needed(self, error: BaseException) -> None:
        """Opens the choice of a model if one is missing."""
        if isinstance(error, NoModel | ModelFileMissing):
            self._app.attempt(self._choose(self._app.explain(error)), group="model")


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
