"""Learning in a room: at once what is to be remembered, the rest by the job, nothing where it is unwanted."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest

from atlas_desktop.importing.entities import ImportOptions
from atlas_desktop.importing.importer import Importer
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.events import Notice
from atlas_desktop.services.learning import LearningService
from atlas_desktop.services.models import Model
from atlas_desktop.services.turns import TurnOptions
from atlas_desktop.settings.schema import JobSettings, MemorySettings
from memory.entities import MemoryMode, NewMessage, NewSession, SessionPatch
from memory.jobs.foreground_gate import ForegroundGate
from memory.memories.entities import MemoryKind, MemoryState
from models.errors import NoModel
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.fakes.models import HashEmbedder, ScriptedChatModel, WordCounter
from tests.stores import InMemoryStore
from tests.unit.services.test_turns import service


@dataclass
class Place:
    """A room in which something is said; `model` may be broken, `learn` is the setting."""

    learn: str = "on"
    model: ScriptedChatModel = field(default_factory=lambda: ScriptedChatModel(["[]"]))
    embedded: int = 0

    def __post_init__(self) -> None:
        clock = FakeClock()
        self.store = InMemoryStore(clock)
        self.background = BackgroundService(self.store, clock, ForegroundGate(), JobSettings())
        self.service = LearningService(
            self.store, clock, self.background, self.settings, self.parts, self.changed
        )

    def settings(self) -> MemorySettings:
        return msgspec.convert({"learn": self.learn}, MemorySettings)

    def parts(self) -> Model:
        async def close() -> None:
            return None

        return Model(self.model, WordCounter(), close, embedder=HashEmbedder())

    async def changed(self) -> None:
        self.embedded += 1

    async def say(self, text: str, mode: MemoryMode = MemoryMode.NORMAL) -> list[list[str]]:
        """A turn; returns the texts that were known when each of its events came."""
        turns = service(self.store, ScriptedChatModel(["Yes."]), self.background)
        turn = turns.turn(text, options=TurnOptions(memory_mode=mode))
        return [await self.known() async for _ in turn]

    async def notices(self, text: str, mode: MemoryMode) -> list[str]:
        turn = service(self.store, ScriptedChatModel(["Yes."]), self.background).turn(
            text, options=TurnOptions(memory_mode=mode)
        )
        return [event.code async for event in turn if isinstance(event, Notice)]

    async def known(self) -> list[str]:
        return sorted(one.text for one in await self.store.memories.select())


@pytest.fixture
async def place() -> AsyncIterator[Place]:
    made = Place()
    yield made
    await made.store.close()


async def test_what_is_to_be_remembered_is_known_before_the_reply(place: Place) -> None:
    seen = await place.say("Remember that my locker is 14B. I hate olives.")
    assert seen[0] == ["My locker is 14B."]
    report = await place.background.run()
    assert report.failed == 0
    assert await place.known() == ["I hate olives.", "My locker is 14B."]
    assert place.embedded


@pytest.mark.parametrize("mode", [MemoryMode.READS, MemoryMode.BLANK])
async def test_nothing_is_kept_in_modes_that_add_nothing(place: Place, mode: MemoryMode) -> None:
    await place.say("Remember that my locker is 14B. I hate olives.", mode)
    await place.service.everything()
    await place.background.run()
    assert await place.known() == []


@pytest.mark.parametrize("mode", [MemoryMode.READS, MemoryMode.BLANK])
async def test_who_asks_to_remember_where_nothing_is_kept_is_told(place: Place, mode: MemoryMode) -> None:
    assert await place.notices("Remember that my locker is 14B.", mode) == ["not_remembered"]
    assert await place.notices("I hate olives.", mode) == []
    assert await place.notices("Remember that my locker is 14B.", MemoryMode.NORMAL) == ["remembered"]


async def test_a_message_forgets_nothing_and_says_what_does(place: Place) -> None:
    await place.say("I hate olives.")
    await place.background.run()
    (before,) = await place.store.memories.select()
    assert await place.notices("Please forget that I hate olives.", MemoryMode.NORMAL) == ["not_forgotten"]
    assert await place.notices("Don't forget that I am here.", MemoryMode.BLANK) == ["not_remembered"]
    await place.background.run()
    (after,) = await place.store.memories.select()
    assert (after.text, after.importance) == ("I hate olives.", before.importance)
    assert len(await place.store.memories.sources(after.id)) == 1


async def test_what_was_said_while_it_was_off_is_never_learned() -> None:
    place = Place(learn="off")
    assert await place.say("Remember that my locker is 14B.") == [[], [], []]
    await place.background.run()
    place.learn = "on"
    await place.say("I hate olives.")
    await place.background.run()
    assert await place.known() == ["I hate olives."]


async def test_patterns_alone_ask_no_model() -> None:
    place = Place(learn="patterns")
    await place.say("I hate olives. My knee has been acting up since the marathon.")
    await place.background.run()
    assert await place.known() == ["I hate olives."]
    assert place.model.prompts == []


async def test_without_a_model_that_works_the_patterns_still_learn() -> None:
    place = Place(model=ScriptedChatModel(["[]"], fail_after=0, failure=NoModel("chat")))
    await place.say("I hate olives. My knee has been acting up since the marathon.")
    report = await place.background.run()
    assert report.failed == 0
    assert await place.known() == ["I hate olives."]
    assert len(place.model.prompts) == 1


async def test_remember_keeps_at_once_and_takes_the_place_of_what_it_contradicts(place: Place) -> None:
    await place.service.remember("I live in Ghent")
    made = await place.service.remember("I live in Graz now\x07")
    assert (made.text, made.state) == ("I live in Graz now", MemoryState.KEPT)
    assert await place.known() == ["I live in Graz now"]
    with pytest.raises(ValueError, match="empty"):
        await place.service.remember("  ")


async def test_an_important_session_gets_its_digest(place: Place) -> None:
    session, _ = await place.store.create_session(
        NewSession("The shed"), NewMessage(Role.USER, "We chose cedar for the shed.")
    )
    await place.store.append_message(session.id, NewMessage(Role.USER, "It costs 1400 euros."))
    await place.store.update_session(session.id, SessionPatch(important=True))
    await place.service.important(session.id)
    await place.background.run()
    (digest,) = [one for one in await place.store.memories.select() if one.kind is MemoryKind.DIGEST]
    assert "cedar" in digest.text


@pytest.mark.parametrize("learn", [True, False])
async def test_from_imports_is_learned_only_if_that_is_wished(
    place: Place, tmp_path: Path, *, learn: bool
) -> None:
    said = {"id": "m", "role": "user", "content": "I hate olives."}
    line = {"id": "c", "created_at": "2024-02-03T04:05:06Z", "messages": [said]}
    file = tmp_path / "talk.jsonl"
    file.write_bytes(msgspec.json.encode(line))
    await Importer(place.store.transfer).take([file], ImportOptions(learn=learn))
    await place.service.everything()
    await place.background.run()
    assert await place.known() == (["I hate olives."] if learn else [])
