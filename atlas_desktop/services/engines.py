"""Engines: other model servers, their settings and keys, and the data that may be sent to them."""

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import msgspec

from atlas_desktop.services.models import Model
from atlas_desktop.settings.file import SettingsFile
from atlas_desktop.settings.schema import EngineSettings
from memory.errors import KeyringUnavailable, RoomClosed
from memory.storage.store import Store
from memory.vault.keyring import KeyringPort
from models.engines.spec import EngineReport, EngineSpec, full_url, is_local, is_name
from models.errors import (
    BadEngine,
    EngineKeyRefused,
    EngineNotAllowed,
    EngineNotLocal,
    ModelsError,
    UnknownEngine,
)
from models.messages import ChatMessage, Completion, GenerationParams, Lane, ModelInfo, TokenDelta

_KEYRING, _ROOM = "keyring", "room"
_LONGEST_KEY = 4096


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine from the settings. `key_in` is where its key is stored (keyring, room, or empty if it has
    none)."""

    name: str
    url: str
    local: bool
    allowed: bool
    key_in: str
    settings: EngineSettings

    @property
    def host(self) -> str:
        return EngineSpec(self.name, self.url).host


class Probe(Protocol):
    """Connects to an engine and tries what it can do; `model` may be empty. Raises `EngineError`."""

    def __call__(self, spec: EngineSpec, model: str) -> Awaitable[EngineReport]: ...


class EngineService:
    """The engines of one home.

    `open_room` returns the store of the open room, which keeps keys if there is no keyring, and raises
    `RoomClosed`. A key is stored together with the address that it was entered for, and is sent nowhere else.
    """

    def __init__(
        self,
        settings: SettingsFile,
        keyring: KeyringPort,
        open_room: Callable[[], Store],
        probe: Probe,
    ) -> None:
        self._settings = settings
        self._keyring = keyring
        self._open_room = open_room
        self._probe = probe
        self._keys: dict[str, str] = {}

    # --- queries ----------------------------------------------------------------------------------

    def list(self) -> Sequence[Engine]:
        """Returns the engines by name."""
        return [self.get(name) for name in sorted(self._settings.settings.engines, key=str.casefold)]

    def get(self, name: str) -> Engine:
        """Raises `UnknownEngine`."""
        engines = self._settings.settings.engines
        if (found := engines.get(name)) is None:
            raise UnknownEngine(name, tuple(sorted(engines, key=str.casefold)))
        url = full_url(found.url)
        local = is_local(url)
        return Engine(name, url, local, local or found.allowed == url, found.key.partition(":")[0], found)

    @staticmethod
    def is_ref(ref: str) -> bool:
        """Whether a model's name is that of an engine's model: `NAME:MODEL`."""
        name, colon, _ = ref.partition(":")
        return bool(colon) and is_name(name)

    def check(self, ref: str) -> tuple[Engine, str]:
        """Returns the engine and the model that `NAME:MODEL` names, if they may be used.

        Raises `UnknownEngine`, `BadEngine`, `EngineNotAllowed`.
        """
        name, _, model = ref.partition(":")
        engine = self.get(name)
        if not model.strip():
            raise BadEngine(name, "model")
        if not engine.allowed:
            raise EngineNotAllowed(name, engine.host)
        return engine, model.strip()

    def spec(self, name: str) -> EngineSpec:
        """Returns how to talk to an engine. Raises `UnknownEngine`, `EngineNotAllowed`."""
        engine = self.get(name)
        if not engine.allowed:
            raise EngineNotAllowed(name, engine.host)
        return _spec(name, engine.settings, lambda: self._key(engine))

    async def probe(self, name: str, model: str = "") -> EngineReport:
        """Tries what an engine can do. Raises `EngineError`."""
        return await self._probe(self.spec(name), model)

    # --- changes ----------------------------------------------------------------------------------

    async def add(
        self, name: str, url: str, *, key: str | None = None, model: str = "", allowed: bool = False
    ) -> tuple[Engine, EngineReport]:
        """Adds an engine that answers, or changes the address of one; its other settings stay.

        `key` None keeps the key if the address is the same. `model` is the one to try. `allowed`: the user
        has agreed that text leaves this computer.

        Raises `BadEngine`, `EngineNotAllowed`, `SettingsError`, the errors of `probe`; and `RoomClosed` if
        the key has to be kept in the room and the room is closed.
        """
        url = self.checked_url(name, url)
        if not is_local(url) and not allowed:
            raise EngineNotAllowed(name, EngineSpec(name, url).host)
        old = self._settings.settings.engines.get(name)
        own = msgspec.structs.replace(old, url=url) if old is not None else EngineSettings(url)
        own = msgspec.structs.replace(own, allowed="" if is_local(url) else url)
        if key is not None:
            key = _checked_key(name, key)
        elif old is not None and full_url(old.url) != url:
            key = ""

        async def given() -> str:
            return await self._key(self.get(name)) if key is None and old is not None else key or ""

        report = await self._probe(_spec(name, own, given), model)
        place = own.key if key is None else await self._keep(url, key) if key else ""
        self._settings.put_engine(name, msgspec.structs.replace(own, key=place))
        if old is not None and old.key != place:
            await self._forget(old.key)
        return self.get(name), report

    def checked_url(self, name: str, url: str) -> str:
        """Returns the whole address of an engine that is to be added. Raises `BadEngine`."""
        if not is_name(name):
            raise BadEngine(name, "name")
        try:
            return full_url(url)
        except ValueError:
            raise BadEngine(name, "url") from None

    async def remove(self, name: str) -> Engine:
        """Removes an engine and its key; roles that used it use Atlas's own model again. Raises
        `UnknownEngine`."""
        engine = self.get(name)
        for role in ("chat", "embed"):
            if self._settings.get(f"models.{role}_engine").partition(":")[0] == name:
                self._settings.set(f"models.{role}_engine", None)
        self._settings.put_engine(name, None)
        await self._forget(engine.settings.key)
        return engine

    def choose(self, ref: str, role: str) -> None:
        """Uses `NAME:MODEL` for chat or embed from now on; an empty `ref` switches back to Atlas's own
        model."""
        if ref:
            engine, model = self.check(ref)
            ref = f"{engine.name}:{model}"
        self._settings.set(f"models.{role}_engine", ref or None)

    # --- keys -------------------------------------------------------------------------------------

    async def _keep(self, url: str, key: str) -> str:
        """Stores a key in the keyring, or in the open room if there is none; returns where."""
        key_id, secret = secrets.token_hex(16), f"{url}\n{key}"
        try:
            await asyncio.to_thread(self._keyring.store, _entry(key_id), secret.encode())
        except KeyringUnavailable:
            await self._open_room().clients.keep_engine_key(key_id, secret)
            return f"{_ROOM}:{key_id}"
        return f"{_KEYRING}:{key_id}"

    async def _key(self, engine: Engine) -> str:
        """Returns an engine's key, empty for one without. Raises `EngineKeyRefused` if it cannot be read."""
        place = engine.settings.key
        if not place:
            return ""
        if place not in self._keys:
            kind, _, key_id = place.partition(":")
            secret = await (self._from_keyring(key_id) if kind == _KEYRING else self._from_room(key_id))
            url, _, key = (secret or "").partition("\n")
            if not key or url != engine.url:
                raise EngineKeyRefused(engine.name)
            self._keys[place] = key
        return self._keys[place]

    async def _from_keyring(self, key_id: str) -> str | None:
        try:
            found = await asyncio.to_thread(self._keyring.fetch, _entry(key_id))
        except KeyringUnavailable:
            return None
        return None if found is None else found.decode("ascii", "replace")

    async def _from_room(self, key_id: str) -> str | None:
        try:
            return await self._open_room().clients.engine_key(key_id)
        except RoomClosed:
            return None

    async def _forget(self, place: str) -> None:
        """Deletes a stored key if its place can be reached."""
        kind, _, key_id = place.partition(":")
        self._keys.pop(place, None)
        with contextlib.suppress(KeyringUnavailable, RoomClosed):
            if kind == _KEYRING:
                await asyncio.to_thread(self._keyring.remove, _entry(key_id))
            elif kind == _ROOM:
                await self._open_room().clients.keep_engine_key(key_id, None)


def _spec(name: str, own: EngineSettings, key: Callable[[], Awaitable[str]]) -> EngineSpec:
    return EngineSpec(
        name=name,
        url=full_url(own.url),
        key=key,
        context_length=own.context_length,
        template=own.template,
        stop=tuple(own.stop),
        stream=own.stream,
        sampling=own.sampling,
        reasoning=own.reasoning,
        timeout_s=own.timeout_s,
    )


def _checked_key(name: str, key: str) -> str:
    """Returns a key in the form in which it can be sent. Raises `BadEngine`."""
    key = key.strip()
    if len(key) > _LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise BadEngine(name, "key")
    return key


def _entry(key_id: str) -> str:
    return f"engine {key_id}"


# --- models that cannot be used -------------------------------------------------------------------


class UnavailableEngine:
    """A placeholder for a chat model, token counter and embedder that cannot be used: each request raises the
    reason.

    This lets a room open without them.
    """

    def __init__(self, error: ModelsError) -> None:
        self._error = error

    async def info(self) -> ModelInfo:
        raise self._error.with_traceback(None)

    async def count(self, _texts: Sequence[str]) -> list[int]:
        raise self._error.with_traceback(None)

    async def embed(self, _texts: Sequence[str]) -> list[list[float]]:
        raise self._error.with_traceback(None)

    async def embedding_fingerprint(self) -> str:
        raise self._error.with_traceback(None)

    def generate(
        self, _messages: Sequence[ChatMessage], _params: GenerationParams, _lane: Lane = Lane.CHAT
    ) -> "UnavailableEngine":
        return self

    def cancel(self) -> None:
        """There is nothing to cancel."""

    def __aiter__(self) -> AsyncIterator[TokenDelta | Completion]:
        return self

    async def __anext__(self) -> TokenDelta | Completion:
        raise self._error.with_traceback(None)


def for_private_room(model: Model) -> Model:
    """Returns the model for the private room, which refuses engines on other computers.

    Without an embedder, it searches by words.
    """
    if model.remote_chat:
        refused = UnavailableEngine(EngineNotLocal(model.remote_chat))
        model = replace(model, chat=refused, counter=refused, prefixes=None)
    return replace(model, embedder=None) if model.remote_embed else model
