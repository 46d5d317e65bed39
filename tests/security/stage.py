"""A real room with all its services, and a scripted model: what an attack is made on."""

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from atlas_desktop.services.events import Accepted, Replied
from atlas_desktop.services.models import Model
from atlas_desktop.services.room import RoomFactory, RoomServices
from atlas_desktop.services.turns import TurnOptions
from atlas_desktop.settings.file import parse
from memory.clock import SystemClock
from memory.jobs.foreground_gate import ForegroundGate
from memory.storage.snapshots import SnapshotStore, open_snapshots
from memory.storage.store import Store
from models.messages import GenerationParams
from tests.fakes.models import HashEmbedder, ScriptedChatModel, WordCounter
from tests.fakes.vector_index import BruteForceVectorIndex
from tests.storage.conftest import Place

OPTIONS = TurnOptions(params=GenerationParams(max_tokens=200), continues=True)


@dataclass
class Stage:
    """A room that is open. The model repeats the last words that it heard, at some length."""

    store: Store
    room: RoomServices

    @classmethod
    async def open(cls, place: Place, *, create: bool = False, states: bool = True) -> "Stage":
        store = await place.open(create=create)
        snapshots: SnapshotStore | None = None
        if states:
            snapshots = await open_snapshots(place.path.with_name("open-states.db"), place.key)
        model = ScriptedChatModel(lambda prompt: f"You say: {prompt[-1].content[-120:]}", context_length=8192)
        settings = parse({})
        parts = RoomFactory(
            clock=SystemClock(),
            gate=ForegroundGate(),
            power=None,
            model=lambda: Model(model, WordCounter(), _let_go, prefixes=model, embedder=HashEmbedder()),
            settings=lambda: settings,
            vector_index=lambda _passages: BruteForceVectorIndex(),
        )
        return cls(store, parts.room(store, snapshots))

    async def turn(
        self, text: str, session: str | None = None, heard: Callable[[Accepted | Replied], None] | None = None
    ) -> tuple[Accepted, Replied]:
        """`heard` is told what is acknowledged in the moment when it is."""
        accepted = replied = None
        turn = self.room.chat.turn(text, session=session, options=OPTIONS)
        async with aclosing(aiter(turn)) as events:
            async for event in events:
                if heard is not None and isinstance(event, (Accepted, Replied)):
                    heard(event)
                if isinstance(event, Accepted):
                    accepted = event
                elif isinstance(event, Replied):
                    replied = event
        assert accepted is not None
        assert replied is not None
        return accepted, replied

    async def close(self) -> None:
        await self.room.close()


async def _let_go() -> None:
    """A scripted model holds nothing that must be given back."""
