"""Everything an interface needs, in one object, built in one place and handed to the TUI or a command."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from atlas_desktop.paths import Paths
from atlas_desktop.services.vault import VaultService
from atlas_desktop.setting_types import Settings
from atlas_desktop.settings import SettingsFile
from memory.clock import SystemClock
from memory.errors import RoomClosed, StorageBusy, StorageFull
from memory.gate import ForegroundGate, Power
from memory.kinds import Freshness, RoomKind
from memory.vault.keys import RoomKey
from models.errors import NoModel

if TYPE_CHECKING:
    from atlas_desktop.services.backup import BackupService
    from atlas_desktop.services.models import ModelService
    from atlas_desktop.services.retention import HeldBack
    from atlas_desktop.services.room import Model, OpenRoom, RoomParts
    from atlas_desktop.services.rooms import RoomsService
    from atlas_desktop.services.tuning import TuningService
    from atlas_desktop.services.turn import TurnOptions
    from memory.context.snapshots import SnapshotStore
    from memory.ports import Clock, SessionStore
    from memory.vectors.ports import VectorIndex

T = TypeVar("T")


@dataclass(slots=True)
class Desk:
    """The program without a face. What opens, starts and watches is given by the composition root.

    `chosen_model` names a model other than the default. `watch_models` takes what to call (in a thread of its
    own) with each model file that is put into the folder of models, and returns how to end the watching.
    `on_stale` is told of a room that is older than it was when it was last used, or may be, or is missing;
    `on_held_back` of what is not erased for its age because the clock may have been set ahead.
    `gate` keeps the background work of every room behind the turns; `power` tells it of the battery.
    """

    paths: Paths
    settings_file: SettingsFile
    vault: VaultService
    make_models: Callable[[], "ModelService"]
    open_store: Callable[[RoomKey | None, RoomKind], Awaitable["SessionStore"]]
    start_model: Callable[[Settings, str | None], "Model"]
    watch_models: Callable[[Callable[[Path], None]], Callable[[], None]]
    open_snapshots: Callable[[RoomKey, RoomKind], Awaitable["SnapshotStore | None"]]
    vector_index: Callable[[int], "VectorIndex"]
    room: "OpenRoom | None" = None
    chosen_model: str | None = None
    clock: "Clock" = field(default_factory=SystemClock)
    gate: ForegroundGate = field(default_factory=ForegroundGate)
    power: Power | None = None
    tuning: Callable[[Settings], "TuningService"] | None = None
    make_backups: Callable[[], "BackupService"] | None = None
    on_stale: Callable[[RoomKind, Freshness], None] = lambda _room, _freshness: None
    on_held_back: "Callable[[RoomKind, HeldBack], None]" = lambda _room, _held: None
    _models: "ModelService | None" = field(default=None, repr=False)
    _model: "Model | None" = field(default=None, repr=False)
    _rooms_service: "RoomsService | None" = field(default=None, repr=False)
    _rooms: list["OpenRoom"] = field(default_factory=list, repr=False)

    @property
    def settings(self) -> Settings:
        return self.settings_file.settings

    @property
    def models(self) -> "ModelService":
        """The models of the home. Made when first asked for: no first screen needs their catalogue."""
        if self._models is None:
            self._models = self.make_models()
        return self._models

    @property
    def backups(self) -> "BackupService":
        if self.make_backups is None:
            raise RuntimeError("this desk was built without backups")
        return self.make_backups()

    @property
    def model(self) -> "Model":
        """The model's process is started by the first use of the model, not by this."""
        if self._model is None:
            self._model = self.start_model(self.settings, self.chosen_model)
        return self._model

    async def enter(self, key: RoomKey | None, room: RoomKind = RoomKind.OPEN) -> "OpenRoom":
        """Opens a room with its key (none for one that lives in memory only). The first one is `room`."""
        store = await self.open_store(key, room)
        try:
            snapshots = None if key is None else await self.open_snapshots(key, room)
            opened = self._parts().room(store, snapshots)
        except BaseException:
            await store.close()
            raise
        if room is RoomKind.OPEN and key is not None and self.make_backups is not None:
            from atlas_desktop.services.scheduled_backup import ScheduledBackups

            ScheduledBackups(
                opened.background,
                self.make_backups,
                key,
                lambda: self.settings.backup,
                lambda missing: self.on_stale(missing, Freshness.MISSING),
            )
            await asyncio.to_thread(self.backups.remove_drafts)
        if room is RoomKind.OPEN and key is not None and await self.vault.private_missing():
            self.on_stale(RoomKind.PRIVATE, Freshness.MISSING)
        if store.freshness is not Freshness.CURRENT:
            self.on_stale(room, store.freshness)
        if key is not None:
            await self._look_at_clock(opened)
        self._rooms.append(opened)
        if self.room is None:
            self.room = opened
        return opened

    async def _look_at_clock(self, room: "OpenRoom") -> None:
        room.retention.on_held_back = lambda held: self.on_held_back(room.store.room, held)
        # A disk that takes nothing must not keep anyone out.
        with suppress(StorageFull, StorageBusy):
            await room.retention.tell_held_back()

    async def leave(self, room: "OpenRoom") -> None:
        """Closes one of several rooms. What the model still holds of it goes too."""
        self._rooms.remove(room)
        if self.room is room:
            self.room = self._rooms[0] if self._rooms else None
        try:
            await room.close()
        finally:
            if self._model is not None and self._model.prefixes is not None:
                await self._model.prefixes.drop_states()

    @property
    def open_rooms(self) -> "tuple[OpenRoom, ...]":
        """In the order in which they were opened."""
        return tuple(self._rooms)

    async def of_each(self, ask: "Callable[[OpenRoom], Awaitable[T]]", nothing: T) -> list[T]:
        """What each room that is open answers, in their order; `nothing` for one that closes meanwhile."""
        return [await self._answer(room, ask, nothing) for room in self.open_rooms]

    async def _answer(self, room: "OpenRoom", ask: "Callable[[OpenRoom], Awaitable[T]]", nothing: T) -> T:
        try:
            return await ask(room)
        except RoomClosed:
            if room in self._rooms:
                raise
            return nothing

    def at(self, kind: RoomKind) -> "OpenRoom":
        """Raises `RoomClosed`."""
        for room in self._rooms:
            if room.store.room is kind:
                return room
        raise RoomClosed

    @property
    def rooms(self) -> "RoomsService":
        """The private room, what is off the record, and moves between them."""
        if self._rooms_service is None:
            from atlas_desktop.services.rooms import RoomsService

            self._rooms_service = RoomsService(self)
        return self._rooms_service

    def _parts(self) -> "RoomParts":
        # What a room is made of takes a while to import, and no first screen needs it.
        from atlas_desktop.services.room import RoomParts

        tuning = self.tuning
        return RoomParts(
            clock=self.clock,
            gate=self.gate,
            power=self.power,
            model=lambda: self.model,
            settings=lambda: self.settings,
            vector_index=self.vector_index,
            tuning=None if tuning is None else lambda: tuning(self.settings),
        )

    def turn_options(self) -> "TurnOptions":
        """How the settings, and the makers of the model in use, would have a turn made."""
        from atlas_desktop.services.turn import TurnOptions
        from models.messages import GenerationParams

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
        parts = self._parts()
        async with AsyncExitStack() as stack:
            for room in self._rooms:
                await stack.enter_async_context(room.background.stopped())
            if self._model is not None:
                old, self._model = self._model, None
                await old.close()
            for room in self._rooms:
                room.chat = parts.chat(room.store, room.background, room.recall, room.continuity, room.epochs)
                # A better model may find the words that an older one did not.
                await room.summaries.improve()

    async def close(self) -> None:
        """Ends background work, closes every room, and ends the model's process."""
        if self._rooms_service is not None:
            self._rooms_service.stop_watching()
        while self._rooms:
            await self._rooms.pop().close()
        if self._model is not None:
            # Let go of when it is closed: who comes after one that was cut short here closes the rest.
            await self._model.close()
            self._model = None
        self.room = None
