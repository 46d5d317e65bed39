"""A room with everything that can be done in it, on fakes: no file, no process, a clock that tests move."""

from contextlib import aclosing

from atlas_desktop.services.events import Notice, Replied, TurnEvent
from atlas_desktop.services.models import Model
from atlas_desktop.services.room import RoomFactory, RoomServices
from atlas_desktop.services.turns import Turn, TurnOptions
from atlas_desktop.settings.file import parse
from atlas_desktop.settings.schema import Settings
from memory.entities import Session
from memory.jobs.foreground_gate import ForegroundGate
from tests.fakes.clock import FakeClock
from tests.fakes.models import HashEmbedder, ScriptedChatModel, WordCounter
from tests.fakes.vector_index import BruteForceVectorIndex
from tests.stores import InMemorySnapshots, InMemoryStore


class Scene:
    """`settings` are as in config.toml, by section."""

    def __init__(
        self,
        settings: dict[str, dict[str, object]] | None = None,
        *,
        model: ScriptedChatModel | None = None,
        snapshots: bool = True,
    ) -> None:
        self.clock = FakeClock()
        self.store = InMemoryStore(self.clock)
        self.model = model or ScriptedChatModel()
        self.embedder = HashEmbedder()
        self.counter = WordCounter()
        self.snapshots = InMemorySnapshots() if snapshots else None
        self.settings: Settings = parse(settings or {})
        self.room: RoomServices = RoomFactory(
            clock=self.clock,
            gate=ForegroundGate(),
            power=None,
            model=self._model,
            settings=lambda: self.settings,
            vector_index=lambda _passages: BruteForceVectorIndex(),
        ).room(self.store, self.snapshots)

    def _model(self) -> Model:
        return Model(self.model, self.counter, self._let_go, prefixes=self.model, embedder=self.embedder)

    async def _let_go(self) -> None:
        """A scripted model holds nothing that must be given back."""

    async def run(self, turn: Turn) -> list[TurnEvent]:
        """All events of a turn, with the hooks after it."""
        async with aclosing(aiter(turn)) as events:
            return [event async for event in events]

    async def say(
        self, text: str, session: Session | str | None = None, options: TurnOptions | None = None
    ) -> tuple[Replied, list[Notice]]:
        """The end of a turn, and what was told on the way."""
        ref = session.id if isinstance(session, Session) else session
        events = await self.run(self.room.chat.turn(text, session=ref, options=options))
        assert isinstance(events[-1], Replied)
        return events[-1], [event for event in events if isinstance(event, Notice)]
