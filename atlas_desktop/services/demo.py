"""A temporary home with sample conversations, to try the program without personal data.

Its memories are learned from the samples, as from any message.
"""

import json
import secrets
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from atlas_desktop.parsing.client import DocumentParser
from atlas_desktop.paths import Paths
from atlas_desktop.services.documents.reading import Incoming, read_all
from memory.clock import Clock
from memory.documents.entities import NewDocument
from memory.entities import NewMessage, NewSession, TitleSource
from memory.learning.learner import Learner
from memory.learning.memory_writer import MemoryWriter
from memory.memories.entities import MemoryPatch, MemoryState
from memory.memories.lifetime import Retention
from memory.storage.store import Store
from models.messages import Role

_MINUTE = timedelta(minutes=1)
_LOOKED_AT_DAYS = 3
"""Memories of samples at least this many days old are already accepted in the inbox."""


class PastClock:
    """A clock that returns the moment it was last set to, 20 seconds later with each call."""

    def __init__(self) -> None:
        self.moment = datetime.now(UTC)

    def now(self) -> datetime:
        self.moment += timedelta(seconds=20)
        return self.moment


@dataclass(frozen=True, slots=True)
class Turn:
    say: str
    reply: str


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample conversation, and how many days ago it took place."""

    title: str
    days_ago: int
    turns: tuple[Turn, ...]


def demo_home(paths: Paths) -> Paths:
    """Creates an empty home in the cache, which shares the models of the real one."""
    home = Paths(paths.cache / "demo")
    shutil.rmtree(home.home, ignore_errors=True)
    home.home.mkdir(mode=0o700, parents=True)
    home.models.symlink_to(paths.models, target_is_directory=True)
    home.ensure()
    return home


def demo_passphrase() -> str:
    """Returns a random passphrase. The user never needs it: the home ends with the program."""
    return secrets.token_urlsafe(24)


def _samples() -> Path:
    """Returns the folder of the samples, in an installed package or in the source tree."""
    here = Path(__file__).parents[1] / "assets" / "demo"
    return here if here.is_dir() else Path(__file__).parents[2] / "assets" / "demo"


def sample_conversations() -> list[Sample]:
    lines = (_samples() / "conversations.jsonl").read_text(encoding="utf-8").splitlines()
    return [_sample(json.loads(line)) for line in lines]


def _sample(line: dict[str, object]) -> Sample:
    turns = line["turns"]
    assert isinstance(turns, list)
    return Sample(
        title=str(line["title"]),
        days_ago=int(str(line["days_ago"])),
        turns=tuple(Turn(turn["say"], turn["reply"]) for turn in turns),
    )


async def _fill_library(store: Store) -> None:
    """Adds the sample documents; their files stay where they are."""
    files = sorted((_samples() / "library").iterdir())
    parser = DocumentParser()
    try:
        read = [new async for _, new in read_all([Incoming(str(one), one) for one in files], parser)]
    finally:
        await parser.close()
    await store.documents.put([new for new in read if isinstance(new, NewDocument)])


async def fill(open_store: Callable[[Clock], Awaitable[Store]], now: datetime) -> int:
    """Stores the samples as if they had taken place; returns how many there are."""
    clock = PastClock()
    store = await open_store(clock)
    samples = sample_conversations()
    learner = Learner(store, MemoryWriter(store.memories, clock, Retention))
    try:
        for sample in samples:
            clock.moment = now - timedelta(days=sample.days_ago) - 30 * _MINUTE
            new = NewSession(title=sample.title, title_source=TitleSource.PERSON)
            first, *others = sample.turns
            session, _ = await store.create_session(new, NewMessage(Role.USER, first.say))
            await store.append_message(session.id, NewMessage(Role.ASSISTANT, first.reply))
            for turn in others:
                await store.append_message(session.id, NewMessage(Role.USER, turn.say))
                await store.append_message(session.id, NewMessage(Role.ASSISTANT, turn.reply))
            learned = await learner.learn(session.id)
            if sample.days_ago >= _LOOKED_AT_DAYS:
                for memory in learned:
                    await store.memories.change(memory.id, MemoryPatch(state=MemoryState.KEPT))
        clock.moment = now
        await _fill_library(store)
    finally:
        await store.close()
    return len(samples)
