"""One harness for every kill: it starts a process, knows what it acknowledged, kills it, and has the rest
looked at.

A process is forked from a server that has everything imported already, so that a kill costs milliseconds.
"""

import asyncio
import multiprocessing
import random
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import ClassVar

from memory.vault.keys import RoomKey
from tests.storage.conftest import Place

Said = tuple[str, ...]
Say = Callable[..., None]
"""`say("stored", message_id)`: what the process promises has been done when it is called."""

if sys.platform == "win32":
    CONTEXT = multiprocessing.get_context("spawn")
else:
    CONTEXT = multiprocessing.get_context("forkserver")
    CONTEXT.set_forkserver_preload(["tests.security.scenarios"])
_BLOW = -getattr(signal, "SIGKILL", signal.SIGTERM)


class Scenario(ABC):
    """Work that goes on until it is killed, and what has to be true afterwards, however often it was.

    One object lives in the test and sees every death; the process has another one, made from the same place.
    `steps` is the greatest number of acknowledgements that are waited for before the blow, `moment_s` the
    longest wait after them: together they put it anywhere in the work. `rounds` are so many that every kind
    of it is met once; `soak_rounds` are those of a long run.
    """

    name: ClassVar[str]
    steps: ClassVar[int] = 40
    moment_s: float = 0.004
    rounds: ClassVar[int] = 5
    soak_rounds: ClassVar[int] = 100

    def __init__(self, place: Place) -> None:
        self.place = place

    async def prepare(self) -> str:
        """Before each process is started, in the test. What it returns is given to the process."""
        return ""

    @abstractmethod
    async def act(self, given: str, say: Say) -> None:
        """In the process. Does not return before the process is killed, unless there is no more to do."""

    @abstractmethod
    async def look(self, said: Sequence[Said]) -> None:
        """In the test, after each death: asserts that all is as `said`, and sound."""


async def attack(scenario: Scenario, rounds: int, seed: int) -> int:
    """Kills the scenario's process `rounds` times and looks after each. Returns how many died by the blow
    rather than at the end of their work."""
    chance = random.Random(seed)
    blows = 0
    for _ in range(rounds):
        given = await scenario.prepare()
        steps = chance.randint(1, scenario.steps)
        said, code = kill(scenario, given, steps, chance.uniform(0, scenario.moment_s))
        assert code in {0, _BLOW}, f"the process failed by itself: {code}"
        blows += code != 0
        await scenario.look(said)
    return blows


def kill(scenario: Scenario, given: str, steps: int, moment_s: float) -> tuple[list[Said], int]:
    """What a process said before it was killed, `moment_s` after the last of `steps`; and its exit code."""
    reader, writer = CONTEXT.Pipe(duplex=False)
    where, secret = str(scenario.place.path), scenario.place.key.sqlcipher_hex()
    process = CONTEXT.Process(target=_live, args=(type(scenario), where, secret, given, writer), daemon=True)
    process.start()
    writer.close()
    said: list[Said] = []
    with reader:
        _hear(reader, said, steps)
        wait([process.sentinel], timeout=moment_s)
        process.kill()
        process.join()
        # What was said and not heard yet was promised all the same.
        _hear(reader, said, sys.maxsize)
    code = process.exitcode
    assert code is not None
    process.close()
    return said, code


def _hear(reader: Connection, said: list[Said], steps: int) -> None:
    for _ in range(steps):
        try:
            said.append(reader.recv())
        # A message without its end was cut off by the death of its writer and promises nothing.
        except (EOFError, OSError):
            return


def _live(kind: type[Scenario], where: str, secret: str, given: str, pipe: Connection) -> None:
    raw = bytes.fromhex(secret)
    scenario = kind(Place(Path(where), RoomKey(raw[:32], raw[32:])))
    asyncio.run(scenario.act(given, lambda *words: pipe.send(words)))
