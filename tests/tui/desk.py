"""A desk for tests: rooms in memory, a scripted model, a vault without cryptography."""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from atlas_desktop.paths import Paths
from atlas_desktop.services.desk import AppContext
from atlas_desktop.services.models import Model, ModelService
from atlas_desktop.services.vault import Created, VaultService
from atlas_desktop.settings.file import SettingsFile
from atlas_desktop.tui.app import AtlasApp
from atlas_desktop.tui.models.onboarding import Offer
from memory.clock import Clock, SystemClock
from memory.entities import MessageStatus, NewMessage, NewSession, RoomKind, Session, TitleSource
from memory.errors import KeyringUnavailable, WrongPassphrase, WrongRecoveryKey
from memory.storage.store import Store
from memory.vault.keys import RoomKey, Strength
from memory.vault.keyslots import PassphraseSlot, RecoverySlot
from memory.vault.status import SlotStatus
from memory.vault.vault import Keys
from models.errors import DownloadCancelled, ModelsError, NoModel
from models.library.files import Cancelled, Progress, Report
from models.messages import ModelInfo, Role
from tests.fakes.clock import FakeClock
from tests.fakes.models import ScriptedChatModel, WordCounter
from tests.fakes.vector_index import BruteForceVectorIndex
from tests.stores import InMemoryStore

NOW = datetime(2026, 3, 12, 15, 30, tzinfo=UTC)
PASSPHRASE = "four quiet green boats"
RECOVERY_KEY = "ABCD-EFGH-IJKL-MNOP-QRST-UVWX-YZ23-4567-AAAA"


Watch = Callable[[Callable[[Path], None]], Callable[[], None]]


@dataclass
class FakeStatus:
    keyring_backend: str | None = None
    recovery_unseen: bool = False
    slots: tuple[SlotStatus, ...] = (
        SlotStatus("1", PassphraseSlot.KIND, NOW - timedelta(days=400)),
        SlotStatus("2", RecoverySlot.KIND, NOW - timedelta(days=40)),
    )


@dataclass
class FakeVault:
    """One passphrase, one recovery key; `keyring` names the system keyring, None when there is none."""

    made: bool = True
    keyring: str | None = None
    keyring_slot: bool = False
    keyring_refuses: bool = False
    recovery_unseen: bool = False
    renewed: int = 0
    passphrase: str = PASSPHRASE
    gate: asyncio.Event | None = None
    key: RoomKey = field(default_factory=RoomKey.generate)

    async def exists(self) -> bool:
        return self.made

    async def private_missing(self) -> bool:
        return False

    async def status(self) -> FakeStatus:
        return FakeStatus(self.keyring if self.keyring_slot else None, self.recovery_unseen)

    async def strength(self, passphrase: str) -> Strength:
        return Strength(min(len(passphrase) // 6, 4), "centuries", "", ())

    async def keyring_backend(self) -> str:
        if self.keyring is None:
            raise KeyringUnavailable("", "none")
        return self.keyring

    async def create(self, passphrase: str, *, confirm: bool = False) -> Created:
        self.recovery_unseen = confirm
        self.made, self.passphrase = True, passphrase
        return Created(self.key, RECOVERY_KEY)

    async def recovery_key_seen(self) -> None:
        self.recovery_unseen = False

    async def new_recovery_key(self, key: RoomKey) -> str:
        self.renewed += 1
        return RECOVERY_KEY

    async def keyring_on(self, key: RoomKey) -> str:
        self.keyring_slot = True
        return await self.keyring_backend()

    async def unlock(self, passphrase: str) -> RoomKey:
        if self.gate is not None:
            await self.gate.wait()
        if passphrase != self.passphrase:
            raise WrongPassphrase
        return self.key

    async def unlock_private(self, passphrase: str) -> RoomKey:
        return await self.unlock(passphrase)

    async def unlock_both(self, passphrase: str) -> Keys:
        return Keys(await self.unlock(passphrase))

    async def unlock_both_with_recovery(self, key_text: str) -> Keys:
        if key_text != RECOVERY_KEY:
            raise WrongRecoveryKey
        return Keys(self.key)

    async def unlock_with_keyring(self) -> RoomKey:
        if self.keyring_refuses:
            raise KeyringUnavailable("Secret Service", "locked")
        return self.key


OFFERS = (
    Offer("smollm2-135m", "SmolLM2 135M Instruct", 98_362_432, "Apache-2.0", "fits", "small and quick"),
    Offer("qwen-3b", "Qwen2.5 3B Instruct", 2_100_000_000, "Apache-2.0", "may be slow"),
    Offer("big-70b", "Big 70B", 42_500_000_000, "Llama licence", "won't fit"),
)


class FakeModelService:
    """What a desk asks of the models before each turn."""

    def default(self, role: str) -> SimpleNamespace:
        return SimpleNamespace(id="scripted")

    def sampling(self, ref: str) -> dict[str, int | float]:
        return {}


@dataclass
class FakeShelf:
    """Models that are fetched step by step: each step waits for `gate`, when there is one."""

    chosen: str | None = "scripted"
    gate: asyncio.Event | None = None
    failure: ModelsError | None = None
    offered: tuple[Offer, ...] = OFFERS
    meaning: Offer | None = None
    pulled: list[str] = field(default_factory=list)

    async def chat_model(self) -> str | None:
        return self.chosen

    async def offers(self) -> Sequence[Offer]:
        return self.offered

    async def companion(self) -> Offer | None:
        return None if self.meaning is None or self.meaning.id in self.pulled else self.meaning

    async def pull(self, model_id: str, progress: Report, cancelled: Cancelled) -> None:
        offer = next(o for o in (*self.offered, self.meaning) if o is not None and o.id == model_id)
        for step in range(5):
            progress(Progress("download", offer.bytes * step // 4, offer.bytes))
            while self.gate is not None and not self.gate.is_set():
                if cancelled():
                    raise DownloadCancelled(model_id)
                await asyncio.sleep(0.01)
            if self.failure is not None:
                raise self.failure
        self.pulled.append(model_id)
        if offer is not self.meaning:
            self.chosen = model_id


class NamedModel(ScriptedChatModel):
    """A scripted model with a name of its own, or none installed at all."""

    def __init__(self, *args: object, name: str = "scripted", missing: bool = False, **kw: object) -> None:
        super().__init__(*args, **kw)  # type: ignore[arg-type]
        self.name = name
        self.missing = missing

    async def info(self) -> ModelInfo:
        from dataclasses import replace

        if self.missing:
            raise NoModel("chat")
        return replace(await super().info(), id=self.name)


@dataclass
class Stage:
    """Everything a test looks at."""

    app: AtlasApp
    desk: AppContext
    model: NamedModel
    store: InMemoryStore
    vault: FakeVault
    shelf: FakeShelf


def stage(
    home: Path,
    *,
    model: NamedModel | None = None,
    store: InMemoryStore | None = None,
    vault: FakeVault | None = None,
    shelf: FakeShelf | None = None,
    unlocked: bool = True,
    resume: str | None = None,
    private: bool = False,
    theme: str = "dark",
    titles: bool = False,
    watch: Watch | None = None,
    clock: Clock | None = None,
    demo_passphrase: str = "",
) -> Stage:
    """An application with everything around it faked. `unlocked` starts it in the conversation."""
    chat = model or NamedModel()
    room = store or InMemoryStore(FakeClock(NOW))
    keys = vault or FakeVault()
    models = shelf or FakeShelf()

    others: dict[RoomKind, InMemoryStore] = {}

    async def open_store(_key: RoomKey | None, kind: RoomKind) -> Store:
        if kind is room.room:
            return room
        # A room that is opened again holds what it held.
        known = others.get(kind) or InMemoryStore(FakeClock(NOW), kind)
        others[kind] = known.reopened() if known.closed else known
        return others[kind]

    async def close() -> None:
        return None

    async def no_snapshots(_key: RoomKey, _room: RoomKind) -> None:
        return None

    environ = {
        "ATLAS_UI_THEME": theme,
        "ATLAS_CHAT_AUTOMATIC_TITLES": str(titles).lower(),
        "ATLAS_CONTEXT_DATE_AND_TIME": "false",
        "ATLAS_UI_LOCALE": os.environ.get("ATLAS_TEST_LANGUAGE", ""),
    }
    settings = SettingsFile(home / "config.toml", environ={} if theme == "none" else environ)
    settings.load()
    desk = AppContext(
        paths=Paths(home),
        settings_file=settings,
        vault=cast("VaultService", keys),
        make_models=lambda: cast("ModelService", FakeModelService()),
        open_store=open_store,
        start_model=lambda _settings, _chosen: Model(chat, WordCounter(), close),
        watch_models=watch or (lambda _arrived: lambda: None),
        open_snapshots=no_snapshots,
        vector_index=lambda _passages: BruteForceVectorIndex(),
        clock=clock or SystemClock(),
    )
    key = keys.key if unlocked else None
    app = AtlasApp(
        desk,
        key=key,
        resume=resume,
        private=private,
        demo_passphrase=demo_passphrase,
        models=models,
        now=lambda: NOW,
    )
    return Stage(app, desk, chat, room, keys, models)


async def talk(
    store: InMemoryStore, title: str, turns: Sequence[tuple[str, str]], *, model: str = "scripted"
) -> Session:
    """Stores a finished conversation."""
    new = NewSession(title, title_source=TitleSource.PERSON)
    session, _ = await store.create_session(new, NewMessage(Role.USER, turns[0][0]))
    for number, (said, answered) in enumerate(turns):
        if number:
            await store.append_message(session.id, NewMessage(Role.USER, said))
        reply = NewMessage(Role.ASSISTANT, answered, status=MessageStatus.COMPLETE, model=model)
        await store.append_message(session.id, reply)
    return await store.get_session(session.id)


async def history(store_clock: FakeClock, store: InMemoryStore) -> list[Session]:
    """Conversations of several days, the newest last. Ends with the clock at `NOW`."""
    found = []
    for days, title in (
        (200, "Choosing a bicycle for the city"),
        (31, "Names for a small grey cat"),
        (5, "Letter to the housing office"),
        (3, "Sourdough that does not rise"),
        (1, "A weekend in the Lofoten islands, with ferries, huts and rain"),
        (0, "Tides, the moon, and why twice a day"),
    ):
        store_clock.advance(NOW - timedelta(days=days, hours=2) - store_clock.now())
        found.append(await talk(store, title, LOFOTEN if days == 1 else TIDES))
    store_clock.advance(NOW - store_clock.now())
    return found


TIDES = (
    ("Why are there two high tides a day?", "Because the Earth turns under **two bulges** of water."),
    ("And at new moon?", "Sun and moon pull in line then: *spring tides*, higher and lower than usual."),
)

LOFOTEN = (
    (
        "We have three days. What should we not miss?",
        """Three days are enough for the best of it:

## A plan

1. **Reine and Hamnøy** – walk up Reinebringen early, before the wind.
2. **Kvalvika** – a beach that is reached on foot, about an hour each way.
3. **Henningsvær** – galleries, fish soup, and a slow evening.

> Ferries are cancelled in strong wind: keep the last morning free.

| Day | Drive | Walk |
|-----|-------|------|
| 1   | 2 h   | 3 h  |
| 2   | 1 h   | 4 h  |
""",
    ),
    (
        "Can you make a packing list as a Python list?",
        """Of course:

```python
PACKING = [
    "rain jacket",   # it will rain
    "head torch",
    "wool socks",
]
```

Ask `len(PACKING)` when you are done.""",
    ),
)
