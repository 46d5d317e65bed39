"""Which model answers, and what is done with the others, while the program runs."""

import asyncio
from typing import TYPE_CHECKING

from textual.worker import Worker

from atlas_desktop.error_table import explain
from atlas_desktop.errors import Explained
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.looks import Looks
from atlas_desktop.words.catalogue import tr
from models.errors import ModelFileMissing, NoModel, WorkerCrashed

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.app import AtlasApp
    from atlas_desktop.tui.model_work import ModelWork


class Modelling(Looks):
    """Switches models without losing the conversation."""

    _model_work: "ModelWork | None" = None
    _switch_due = False

    if TYPE_CHECKING:
        background: str
        context_length: int
        model_id: str
        model_name: str

        @property
        def room(self) -> "RoomServices": ...

        async def choose_model(self, because: Explained | None = None) -> None: ...

        async def show_chat(self, *, warm: bool = True) -> None: ...

        def _tell_chat(self) -> None: ...

    @property
    def model_work(self) -> "ModelWork":
        if self._model_work is None:
            from atlas_desktop.tui.model_work import ModelWork

            self._model_work = ModelWork(self._atlas)
        return self._model_work

    @property
    def _atlas(self) -> "AtlasApp":
        from atlas_desktop.tui.app import AtlasApp

        assert isinstance(self, AtlasApp)
        return self

    @property
    def replying(self) -> bool:
        """Whether a reply is under way, in any conversation."""
        return self._turns is not None and any(self._turns.active)

    def action_show_models(self) -> None:
        from atlas_desktop.tui.screens.models_screen import ModelsScreen

        if not isinstance(self.screen, ModelsScreen):
            self.push_screen(ModelsScreen(self._atlas))

    def action_use_model(self, name: str) -> None:
        if not name:
            self.action_show_models()
        else:
            self.attempt(self._use_named(name), group="model-choice")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("show_models", "use_model") and (self.desk.room is None or self.leaving):
            return False
        return super().check_action(action, parameters)

    async def _use_named(self, name: str) -> None:
        from models.errors import UnknownModel

        try:
            said = await self.use_model(name)
        except UnknownModel:
            said = tr("models.unknown", name=clean_line(name))
        self.say(said)

    async def use_model(self, ref: str) -> str:
        """Chooses an installed model for what it is made for, and says from when on it is used.

        The running one is let go of: now, or when the reply that it is making has ended. Raises
        `UnknownModel`.
        """
        model = await asyncio.to_thread(self.desk.models.use, ref)
        name = clean_line(model.id)
        if "chat" not in model.roles:
            return tr("models.embed_now", model=name)
        self.desk.chosen_model = None
        now = await self.change_model_soon()
        return tr("models.used_now" if now else "models.used_soon", model=name)

    async def change_model_soon(self) -> bool:
        """As `change_model`, but no reply is cut: False when one is waited for."""
        if self.replying:
            self._switch_due = True
            return False
        await self.change_model()
        return True

    async def change_model(self) -> None:
        """Lets go of the running model; the one that is chosen now is started in the background."""
        await self.desk.switch_model()
        self.attempt(self.warm_up, group="model", exclusive=True)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        # Textual calls the handler of the base class, too.
        if self._switch_due and event.worker.is_finished and not self.replying and not self.leaving:
            self._switch_due = False
            self.attempt(self.change_model(), group="model-switch")

    # --- the one that answers --------------------------------------------------------------------

    async def warm_up(self) -> None:
        """Starts the model's process, so that the first reply does not wait for it."""
        self.background = tr("program.loading_model")
        self._tell_chat()
        try:
            info = await self.desk.model.chat.info()
        except WorkerCrashed:
            # A reply that waits for it tells of it, in its place in the conversation.
            if self.replying:
                return
            raise
        finally:
            self.background = ""
            self._tell_chat()
        self.model_id = self.model_name = info.id
        self.context_length = info.context_length
        self._tell_chat()
        # The index of what was said is filled beside the conversation, once the model is there.
        self.room.recall.start(self.background_failed)

    def model_needed(self, error: BaseException) -> None:
        """Leads to the choice of a model when that is what is missing."""
        if isinstance(error, NoModel | ModelFileMissing):
            self.attempt(self.choose_model(explain(error)), group="model")

    async def model_chosen(self) -> None:
        """A model has been fetched: use it from now on."""
        await self.desk.switch_model()
        await self.show_chat()

    @property
    def choosing_model(self) -> bool:
        """Whether the choice of a model is shown, or lies below a window."""
        from atlas_desktop.tui.screens.model import ModelScreen

        return any(isinstance(screen, ModelScreen) for screen in self.screen_stack)
