"""Everything an interface needs, in one object, built in one place and handed to the TUI or a command."""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

from atlas_desktop.paths import Paths
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.chat import ChatService
from atlas_desktop.services.models import ModelService
from atlas_desktop.services.sessions import SessionService
from atlas_desktop.services.titles import Titler
from atlas_desktop.services.turn import TurnOptions
from atlas_desktop.services.vault import VaultService
from atlas_desktop.setting_types import Settings
from atlas_desktop.settings import SettingsFile
from memory.clock import SystemClock
from memory.entities import RoomKind
from memory.gate import ForegroundGate, Power
from memory.ports import Clock, SessionStore
from memory.vault.keys import RoomKey
from models.errors import NoModel
from models.messages import GenerationParams
from models.ports import ChatModel, TokenCounter


@dataclass(frozen=True, slots=True)
class Model:
    """A chat model, the counter that goes with it, and how to let go of both."""

    chat: ChatModel
    counter: TokenCounter
    close: Callable[[], Awaitable[None]]


@dataclass(slots=True)
class OpenRoom:
    """An unlocked room and what can be done in it."""

    store: SessionStore
    sessions: SessionService
    chat: ChatService
    background: BackgroundService


@dataclass(slots=True)
class Desk:
    """The program without a face. `open_store`, `start_model` and `watch_models` are given by the
    composition root.

    `chosen_model` names a model other than the default. `watch_models` takes what to call (in a thread of its
    own) with each model file that is put into the folder of models, and returns how to end the watching.
    `gate` keeps the background work of every room behind the turns; `power` tells it of the battery.
    """

    paths: Paths
    settings_file: SettingsFile
    vault: VaultService
    models: ModelService
    open_store: Callable[[RoomKey | None, RoomKind], Awaitable[SessionStore]]
    start_model: Callable[[Settings, str | None], Model]
    watch_models: Callable[[Callable[[Path], None]], Callable[[], None]]
    room: OpenRoom | None = None
    chosen_model: str | None = None
    clock: Clock = field(default_factory=SystemClock)
    gate: ForegroundGate = field(default_factory=ForegroundGate)
    power: Power | None = None
    _model: Model | None = field(default=None, repr=False)
    _stores: list[SessionStore] = field(default_factory=list, repr=False)
    _rooms: list[OpenRoom] = field(default_factory=list, repr=False)

    @property
    def settings(self) -> Settings:
        return self.settings_file.settings

    @property
    def model(self) -> Model:
        """The model's process is started by the first use of the model, not by this."""
        if self._model is None:
            self._model = self.start_model(self.settings, self.chosen_model)
        return self._model

    async def enter(self, key: RoomKey | None, room: RoomKind = RoomKind.OPEN) -> OpenRoom:
        """Opens a room with its key (none for one that lives in memory only). The first one is `room`."""
        store = await self.open_store(key, room)
        self._stores.append(store)
        opened = OpenRoom(store, SessionService(store), self._chat(store), self._background(store))
        self._rooms.append(opened)
        if self.room is None:
            self.room = opened
        return opened

    def _chat(self, store: SessionStore) -> ChatService:
        model = self.model
        return ChatService(store, model.chat, model.counter, default_system=self.settings.chat.system_prompt)

    def _background(self, store: SessionStore) -> BackgroundService:
        """The background work of a room, with everything registered that can be done in it."""
        background = BackgroundService(store, self.clock, self.gate, self.settings.jobs, power=self.power)
        Titler(
            store,
            lambda: self.model.chat,
            background,
            wanted=lambda: self.settings.chat.automatic_titles,
        )
        return background

    def turn_options(self) -> TurnOptions:
        """How the settings, and the makers of the model in use, would have a turn made."""
        model_id = self.chosen_model or self._default_model()
        makers = self.models.sampling(model_id)
        given = self.settings_file.given
        recommended = {name: value for name, value in makers.items() if f"chat.{name}" not in given}
        chat = self.settings.chat_for(model_id, recommended)
        params = GenerationParams(
            max_tokens=chat.max_tokens,
            temperature=chat.temperature,
            top_k=chat.top_k,
            top_p=chat.top_p,
            min_p=chat.min_p,
            repeat_penalty=chat.repeat_penalty,
            seed=chat.seed,
            stop=tuple(chat.stop),
        )
        return TurnOptions(params=params)

    def _default_model(self) -> str:
        try:
            return self.models.default("chat").id
        except NoModel:
            # The turn will say so, once it has saved what the person said.
            return ""

    async def switch_model(self) -> None:
        """Lets go of the running model; the next turn starts the one that is chosen by then."""
        async with AsyncExitStack() as stack:
            for room in self._rooms:
                await stack.enter_async_context(room.background.stopped())
            if self._model is not None:
                old, self._model = self._model, None
                await old.close()
            for room in self._rooms:
                room.chat = self._chat(room.store)

    async def close(self) -> None:
        """Ends background work and the model's process, and closes every room."""
        while self._rooms:
            await self._rooms.pop().background.stop()
        if self._model is not None:
            model, self._model = self._model, None
            await model.close()
        while self._stores:
            await self._stores.pop().close()
        self.room = None
