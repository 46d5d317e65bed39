"""Engines of a home: their settings, their keys, and what may be sent to them."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from atlas_desktop.bootstrap import _start_model
from atlas_desktop.paths import Paths
from atlas_desktop.services.engines import EngineService, UnavailableEngine, for_private_room
from atlas_desktop.services.models import Model
from atlas_desktop.settings.file import SettingsError, SettingsFile
from atlas_desktop.settings.schema import Settings
from memory.errors import KeyringUnavailable, RoomClosed
from memory.storage.store import Store
from memory.vault.keyring import KeyringPort
from models.engines.spec import EngineReport, EngineSpec, Family
from models.errors import (
    BadEngine,
    EngineKeyRefused,
    EngineNotAllowed,
    EngineNotLocal,
    EngineUnreachable,
    ModelsError,
    NoModel,
    UnknownEngine,
)
from models.messages import ChatMessage, GenerationParams, Role
from tests.fakes.models import ScriptedChatModel, WordCounter
from tests.stores import InMemoryStore

URL = "http://127.0.0.1:11434/v1"
FAR = "https://box.example/v1"
REPORT = EngineReport(
    Family.OTHER,
    ("small",),
    "small",
    stream=True,
    json_schema=True,
    embeddings=False,
    context=0,
    exact_tokens=False,
)


@dataclass
class Keyring:
    there: bool = True
    kept: dict[str, bytes] = field(default_factory=dict)

    def store(self, entry: str, secret: bytes) -> str:
        if not self.there:
            raise KeyringUnavailable("", "none")
        self.kept[entry] = secret
        return "some keyring"

    def fetch(self, entry: str) -> bytes | None:
        if not self.there:
            raise KeyringUnavailable("", "locked")
        return self.kept.get(entry)

    def remove(self, entry: str) -> None:
        self.kept.pop(entry, None)


class Home:
    """A service with everything around it; `probed` are the keys and addresses that were tried."""

    def __init__(self, folder: Path) -> None:
        self.settings = SettingsFile(folder / "config.toml", environ={})
        self.settings.load()
        self.keyring = Keyring()
        self.room: Store | None = InMemoryStore()
        self.probed: list[tuple[str, str, str]] = []
        self.answers: ModelsError | None = None
        self.engines = self.again()

    def again(self) -> EngineService:
        """The service as a new run has it."""
        return EngineService(self.settings, cast("KeyringPort", self.keyring), self._room, self._probe)

    def _room(self) -> Store:
        if self.room is None:
            raise RoomClosed
        return self.room

    async def _probe(self, spec: EngineSpec, model: str) -> EngineReport:
        self.probed.append((spec.url, await spec.key(), model))
        if self.answers is not None:
            raise self.answers
        return REPORT

    @property
    def text(self) -> str:
        return self.settings.path.read_text() if self.settings.path.exists() else ""


@pytest.fixture
async def home(tmp_path: Path) -> AsyncIterator[Home]:
    made = Home(tmp_path)
    yield made
    if made.room is not None:
        await made.room.close()


async def test_an_engine_is_tested_before_it_is_added(home: Home) -> None:
    engine, report = await home.engines.add("box", "127.0.0.1:11434", model="small")
    assert (engine.name, engine.url, engine.local, engine.allowed, engine.key_in) == (
        "box",
        URL,
        True,
        True,
        "",
    )
    assert report == REPORT
    assert home.probed == [(URL, "", "small")]
    assert [one.name for one in home.again().list()] == ["box"]
    home.answers = EngineUnreachable("other", "x")
    with pytest.raises(EngineUnreachable):
        await home.engines.add("other", URL, key="sk-1")
    assert [one.name for one in home.engines.list()] == ["box"]
    assert home.keyring.kept == {}


async def test_settings_of_an_engine_and_comments_stay_when_its_address_changes(home: Home) -> None:
    home.settings.path.write_text(
        f'# mine\n[engines.box]\nurl = "{URL}"\ncontext_length = 9000 # big\nstop = ["END"]\ntimeout_s = 20\n'
    )
    home.settings.load()
    await home.engines.add("box", "http://127.0.0.1:8080")
    assert "# mine" in home.text
    spec = home.engines.spec("box")
    assert (spec.url, spec.context_length, spec.stop, spec.timeout_s) == (
        "http://127.0.0.1:8080/v1",
        9000,
        ("END",),
        20,
    )
    await home.engines.remove("box")
    assert "engines" not in home.text
    assert "# mine" in home.text


@pytest.mark.parametrize("keyring", [True, False])
async def test_a_key_rests_in_the_keyring_or_the_room_and_never_in_the_settings(
    home: Home, keyring: bool
) -> None:
    home.keyring.there = keyring
    engine, _ = await home.engines.add("box", URL, key=" sk-secret\n")
    assert engine.key_in == ("keyring" if keyring else "room")
    assert "sk-secret" not in home.text
    later = home.again()
    assert await later.spec("box").key() == "sk-secret"
    await later.probe("box")
    assert home.probed == [(URL, "sk-secret", "")] * 2
    # The same address keeps its key; a new one takes the old one's place.
    await home.again().add("box", URL)
    assert home.probed[-1][1] == "sk-secret"
    engine, _ = await home.engines.add("box", URL, key="sk-other")
    assert await home.again().spec("box").key() == "sk-other"
    assert len(home.keyring.kept) == int(keyring)
    room = home.room
    assert room is not None
    key_id = engine.settings.key.partition(":")[2]
    assert (await room.clients.engine_key(key_id) is None) is keyring
    await home.engines.remove("box")
    assert home.keyring.kept == {}
    assert await room.clients.engine_key(key_id) is None


async def test_a_key_goes_only_to_the_address_that_it_was_given_for(home: Home) -> None:
    await home.engines.add("box", URL, key="sk-secret")
    home.settings.path.write_text(home.text.replace("11434", "6666"))
    home.settings.load()
    with pytest.raises(EngineKeyRefused):
        await home.again().spec("box").key()
    home.settings.path.write_text(home.text.replace("6666", "11434"))
    home.settings.load()
    await home.engines.add("box", "http://127.0.0.1:6666")
    assert home.probed[-1] == ("http://127.0.0.1:6666/v1", "", "")
    assert home.keyring.kept == {}


async def test_a_key_out_of_reach(home: Home) -> None:
    await home.engines.add("box", URL, key="sk-secret")
    home.keyring.there = False
    with pytest.raises(EngineKeyRefused):
        await home.again().spec("box").key()
    engine, _ = await home.engines.add("box", URL, key="sk-secret")
    assert engine.key_in == "room"
    room, home.room = home.room, None
    with pytest.raises(EngineKeyRefused):
        await home.again().spec("box").key()
    with pytest.raises(RoomClosed):
        await home.again().add("other", URL, key="sk-1")
    home.room = room


@pytest.mark.parametrize(
    ("name", "url", "key", "reason"),
    [
        ("a b", URL, None, "name"),
        ("a:b", URL, None, "name"),
        ("", URL, None, "name"),
        ("box", "ftp://x", None, "url"),
        ("box", URL, "two lines\nof key", "key"),
        ("box", URL, "schlüssel", "key"),
        ("box", URL, "x" * 5000, "key"),
    ],
)
async def test_what_cannot_be_added(home: Home, name: str, url: str, key: str | None, reason: str) -> None:
    with pytest.raises(BadEngine) as raised:
        await home.engines.add(name, url, key=key)
    assert raised.value.reason == reason
    assert home.probed == []
    assert home.text == ""


async def test_an_engine_on_another_computer_needs_consent_for_its_address(home: Home) -> None:
    with pytest.raises(EngineNotAllowed):
        await home.engines.add("far", FAR)
    assert home.probed == []
    engine, _ = await home.engines.add("far", FAR, allowed=True)
    assert (engine.local, engine.allowed, engine.host) == (False, True, "box.example")
    assert home.engines.check("far:big:7b") == (engine, "big:7b")
    # Another address in the file is not what was agreed to.
    home.settings.path.write_text(home.text.replace(f'url = "{FAR}"', 'url = "https://other.example/v1"'))
    home.settings.load()
    for use in (lambda: home.engines.check("far:big"), lambda: home.engines.spec("far")):
        with pytest.raises(EngineNotAllowed):
            use()
    assert not home.engines.get("far").allowed


async def test_models_of_engines_are_chosen_for_roles(home: Home) -> None:
    await home.engines.add("box", URL)
    for ref, error in (("none:small", UnknownEngine), ("box:", BadEngine), ("box: ", BadEngine)):
        with pytest.raises(error):
            home.engines.choose(ref, "chat")
    home.engines.choose("box:small", "chat")
    home.engines.choose("box:vectors", "embed")
    models = home.settings.settings.models
    assert (models.chat_engine, models.embed_engine) == ("box:small", "box:vectors")
    home.engines.choose("", "embed")
    await home.engines.remove("box")
    models = home.settings.settings.models
    assert (models.chat_engine, models.embed_engine) == ("", "")
    with pytest.raises(UnknownEngine):
        await home.engines.remove("box")


@pytest.mark.parametrize(
    "text",
    [
        '[engines.box]\nurl = "ftp://x"',
        "[engines.box]",
        '[engines.box]\nurl = "http://x"\nunknown = 1',
        '[engines."a b"]\nurl = "http://x"',
        '[engines.box]\nurl = "http://x"\ntemplate = "jinja"',
    ],
)
def test_settings_that_cannot_be_used(home: Home, text: str) -> None:
    home.settings.path.write_text(text)
    with pytest.raises(SettingsError, match="engines"):
        home.settings.load()


# --- the models that are started ------------------------------------------------------------------


def started(home: Home, tmp_path: Path, chosen: str | None = None) -> Model:
    return _start_model(Paths(tmp_path), home.settings.settings, chosen, lambda: home.engines)


async def first_event(model: Model) -> object:
    return await anext(aiter(model.chat.generate([ChatMessage(Role.USER, "x")], GenerationParams())))


async def test_each_role_is_served_by_an_engine_or_an_own_model(home: Home, tmp_path: Path) -> None:
    await home.engines.add("far", FAR, allowed=True)
    await home.engines.add("box", URL)
    own = started(home, tmp_path)
    assert (own.remote_chat, own.remote_embed) == ("", "")
    assert own.prefixes is not None
    near = started(home, tmp_path, "box:small")
    assert (near.remote_chat, near.prefixes) == ("", None)
    home.engines.choose("far:big", "chat")
    home.engines.choose("far:vectors", "embed")
    far = started(home, tmp_path)
    assert (far.remote_chat, far.remote_embed) == ("far", "far")
    # A model that is chosen for now takes precedence.
    assert started(home, tmp_path, "box:small").remote_chat == ""
    for model in (own, near, far):
        await model.close()


async def test_a_model_that_cannot_be_used_says_so_when_it_is_asked(home: Home, tmp_path: Path) -> None:
    home.settings.set("models.chat_engine", "gone:small")
    home.settings.set("models.embed_engine", "gone:vectors")
    model = started(home, tmp_path)
    assert model.embedder is not None
    for ask in (model.chat.info, lambda: model.counter.count(["x"]), lambda: model.embedder.embed(["x"])):
        with pytest.raises(UnknownEngine):
            await ask()
    with pytest.raises(UnknownEngine):
        await first_event(model)
    await model.close()


async def test_the_private_room_refuses_what_is_not_on_this_computer() -> None:
    async def close() -> None:
        """Nothing is open."""

    own = ScriptedChatModel()
    embedder = UnavailableEngine(NoModel("embed"))
    local = Model(own, WordCounter(), close, prefixes=own, embedder=embedder)
    assert for_private_room(local) is local
    far = Model(own, WordCounter(), close, embedder=embedder, remote_chat="far", remote_embed="far")
    refused = for_private_room(far)
    assert refused.embedder is None
    for ask in (refused.chat.info, lambda: refused.counter.count(["x"])):
        with pytest.raises(EngineNotLocal):
            await ask()
    with pytest.raises(EngineNotLocal):
        await first_event(refused)
    assert own.prompts == []


def test_a_home_has_no_engines_at_first() -> None:
    assert Settings().engines == {}
