"""Shared parts of the context benchmarks: a temporary home, turns, and text for long sessions."""

import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from atlas_desktop.bootstrap import build_desk
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.services.desk import AppContext
from atlas_desktop.services.events import Replied
from atlas_desktop.services.models import Model
from atlas_desktop.services.room import RoomServices

PASSPHRASE = "a lamp by the harbour"
_TOPICS = (
    "the garden behind the house",
    "trains through the Alps",
    "baking bread on Sundays",
    "winter by the sea",
    "a chess club in town",
    "rivers and their bridges",
    "learning the cello",
    "old maps and compasses",
    "tea from the mountains",
    "the birds at the feeder",
    "repairing clocks",
    "painting with water colours",
)
_REMARKS = (
    "I went there with my sister and we stayed until it got dark.",
    "It was quieter than I had thought, and the light was lovely.",
    "What would you look at first, if you had only one afternoon?",
    "My neighbour says it is all a matter of patience.",
    "I keep thinking about how the others would have liked it.",
    "Tell me in one sentence what you make of that.",
    "There was a smell of rain, and somebody was playing music.",
)


def small_talk(number: int) -> str:
    """Returns the user's message of a turn; no two turns of one session are the same."""
    topic = _TOPICS[number % len(_TOPICS)]
    first, second = _REMARKS[number % len(_REMARKS)], _REMARKS[(number * 3 + 1) % len(_REMARKS)]
    return f"Let us talk about {topic} again, for the {number}. time. {first} {second}"


def default_chat_model() -> Path:
    return next(iter(sorted(Paths(find_home()).models.glob("smollm2-135m-instruct.gguf"))))


@dataclass
class Place:
    """A desk in a separate home, with the models of the real one."""

    desk: AppContext
    room: RoomServices


@asynccontextmanager
async def place(
    home: Path, *, new: bool = True, model: Callable[[Model], Model] | None = None
) -> AsyncIterator[Place]:
    """Opens a home: a new vault in it, or (`new` False) the one of an earlier `place`.

    `model` returns the model to use in place of the one given.
    """
    paths = Paths(home)
    if new:
        paths.ensure()
        paths.models.rmdir()
        paths.models.symlink_to(Paths(find_home()).models)
    desk = build_desk(paths)
    if model is not None:
        start = desk.start_model
        desk.start_model = lambda settings, chosen: model(start(settings, chosen))
    try:
        if new:
            key = (await desk.vault.create(PASSPHRASE)).key
        else:
            key = await desk.vault.unlock(PASSPHRASE)
        yield Place(desk, await desk.enter(key))
    finally:
        await desk.close()


def scratch() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="atlas-bench-")


async def say(
    place: Place, text: str, session: str | None, *, max_tokens: int = 16, documents: tuple[str, ...] = ()
) -> Replied:
    """Runs one turn, greedily so that two runs give the same reply. The session is about `documents` from
    then on."""
    options = replace(place.desk.turn_options(), documents=documents)
    options = replace(options, params=replace(options.params, max_tokens=max_tokens, temperature=0.0, seed=1))
    turn = place.room.chat.turn(text, session=session, options=options)
    done: Replied | None = None
    async with aclosing(aiter(turn)) as events:
        async for event in events:
            if isinstance(event, Replied):
                done = event
    if done is None:
        raise RuntimeError("a turn ended without its end")
    return done


async def idle(place: Place) -> None:
    """Runs all background work that is due, as when nobody waits."""
    await place.room.background.run()
