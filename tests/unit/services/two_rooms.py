"""Several rooms and the service that moves sessions between them, without a vault or a real model."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from atlas_desktop.paths import Paths
from atlas_desktop.services.desk import AppContext, RoomsService
from atlas_desktop.services.models import Model
from atlas_desktop.services.room import RoomServices
from atlas_desktop.settings.file import SettingsFile
from memory.entities import RoomKind
from memory.errors import WrongPassphrase
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from memory.vault.vault import Keys
from tests.fakes.clock import FakeClock
from tests.fakes.models import HashEmbedder, ScriptedChatModel, WordCounter
from tests.fakes.vector_index import BruteForceVectorIndex
from tests.stores import InMemoryStore

if TYPE_CHECKING:
    from atlas_desktop.services.models import ModelService
    from atlas_desktop.services.vault import VaultService

PASSPHRASE = "four quiet green boats"
OTHER = "the private room has another one"


@dataclass
class OneKey:
    """A vault that opens with one passphrase; with `apart` the private room opens with another."""

    key: RoomKey = field(default_factory=RoomKey.generate)
    apart: bool = False

    async def unlock_both(self, passphrase: str) -> Keys:
        if passphrase != PASSPHRASE:
            raise WrongPassphrase
        return Keys(self.key, None if self.apart else self.key)

    async def unlock_private(self, passphrase: str) -> RoomKey:
        if passphrase != (OTHER if self.apart else PASSPHRASE):
            raise WrongPassphrase
        return self.key

    async def private_missing(self) -> bool:
        return False


async def _let_go() -> None:
    """A scripted model holds nothing that must be given back."""


class _OneModel:
    def default(self, role: str) -> SimpleNamespace:
        return SimpleNamespace(id="scripted")

    def sampling(self, ref: str) -> dict[str, int | float]:
        return {}


class TwoRooms:
    """A desk on stores of the test's choice, by room. Those in memory outlive the closing of a room."""

    def __init__(
        self,
        home: Path,
        make_store: Callable[[RoomKind], Store] | None = None,
        *,
        vault: OneKey | None = None,
    ) -> None:
        self.clock = FakeClock()
        self.model = ScriptedChatModel()
        self.stores: dict[RoomKind, InMemoryStore] = {}
        made = make_store or self._in_memory

        async def open_store(_key: RoomKey | None, room: RoomKind) -> Store:
            return made(room)

        async def no_snapshots(_key: RoomKey, _room: RoomKind) -> None:
            return None

        settings = SettingsFile(home / "config.toml", environ={})
        settings.load()
        self.desk = AppContext(
            paths=Paths(home),
            settings_file=settings,
            vault=cast("VaultService", vault or OneKey()),
            make_models=lambda: cast("ModelService", _OneModel()),
            open_store=open_store,
            start_model=lambda _settings, _chosen: Model(
                self.model, WordCounter(), _let_go, prefixes=self.model, embedder=HashEmbedder()
            ),
            watch_models=lambda _arrived: lambda: None,
            open_snapshots=no_snapshots,
            vector_index=lambda _passages: BruteForceVectorIndex(),
            clock=self.clock,
        )

    def _in_memory(self, room: RoomKind) -> Store:
        known = self.stores.get(room)
        if known is None or room is RoomKind.OFF_RECORD:
            known = InMemoryStore(self.clock, room)
        self.stores[room] = known.reopened() if known.closed else known
        return self.stores[room]

    @property
    def rooms(self) -> RoomsService:
        return self.desk.rooms

    async def open(self) -> RoomServices:
        return await self.desk.enter(RoomKey.generate())

    async def both(self) -> tuple[RoomServices, RoomServices]:
        private = await self.rooms.enter_both(PASSPHRASE)
        return self.desk.at(RoomKind.OPEN), private
