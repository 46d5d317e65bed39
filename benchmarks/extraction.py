"""Measures how well Atlas learns facts about users: `python -m benchmarks.extraction [--language de]`.

Dialogues with known facts (`benchmarks.dialogues`) are stored through the public interface. The job that the
program runs learns from them, with the small model and the embedding model, and the memories that are valid
afterwards are compared with the facts. A fact is found if all its words are in a memory that was learned from
the message that states it. Recall is the share of facts found. Precision is the share of memories that were
learned from a message that states a fact and contain its words or some of them ("My sister's name is Maja"
beside "My sister Maja lives in Cork"). Memories of anything else, and of what has ended by the end of the
dialogue (`outdated`), are wrong. Phrasings used while writing the rules (tuning) and others (held out) are
counted separately.
"""

import argparse
import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from atlas_desktop.bootstrap import build_host, model_library
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.settings.schema import Settings
from benchmarks.dialogues import Dialogue, Fact, Half, dialogues
from memory.clock import SystemClock
from memory.learning.extraction import ModelReader
from memory.learning.learner import Learner
from memory.learning.memory_writer import Meaning, MemoryWriter
from memory.memories.entities import Memory, MemoryFilter
from memory.memories.lifetime import Retention
from memory.storage.room import open_off_record
from memory.storage.store import Store
from memory.transfer import TravellingMessage, TravellingSession
from models.host import ModelHost
from models.messages import Role

HEADER = "phrasings              facts  memories  precision  recall      F1 right kind  outdated"
LANGUAGES = ("en", "de", "es", "fr", "zh")
BEGINNING = datetime(2025, 3, 3, 9, tzinfo=UTC)


@dataclass(slots=True)
class Score:
    """Counts over dialogues; `wrong` counts the sources of memories that state no fact."""

    facts: int = 0
    told: int = 0
    memories: int = 0
    right: int = 0
    kinds: int = 0
    outdated: int = 0
    wrong: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)

    @property
    def precision(self) -> float:
        return self.right / self.memories if self.memories else 1.0

    @property
    def recall(self) -> float:
        return self.told / self.facts if self.facts else 1.0

    @property
    def f1(self) -> float:
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0


def session_of(dialogue: Dialogue, name: str) -> TravellingSession:
    rows: list[TravellingMessage] = []
    for turn, (said, reply) in enumerate(zip(dialogue.said, dialogue.replies, strict=True)):
        for role, text in ((Role.USER, said), (Role.ASSISTANT, reply)):
            rows.append(
                TravellingMessage(
                    id=f"{name}-{turn}-{role}",
                    parent=rows[-1].id if rows else None,
                    role=role,
                    speaker="",
                    content=text,
                    created_at=BEGINNING + timedelta(minutes=2 * turn),
                )
            )
    return TravellingSession(
        id=name, title=name, created_at=BEGINNING, updated_at=rows[-1].created_at, messages=tuple(rows)
    )


async def learned(
    dialogue: Dialogue, name: str, host: ModelHost | None
) -> tuple[list[tuple[int, Memory]], Store]:
    """Returns the memories valid after a dialogue, and the store.

    Each memory comes with the turn it was first learned from.
    """
    store = await open_off_record(SystemClock())
    arrival = await store.transfer.take(session_of(dialogue, name))
    learner = Learner(
        store,
        MemoryWriter(store.memories, SystemClock(), Retention),
        model=ModelReader(host) if host else None,
        meaning=Meaning(store.vectors, host) if host else None,
    )
    await learner.learn()
    turns = {message.id: number // 2 for number, message in enumerate(await store.branch(arrival.session_id))}
    found = []
    for memory in await store.memories.select(MemoryFilter()):
        source = (await store.memories.sources(memory.id))[-1]
        found.append((turns[source.message_id], memory))
    return found, store


def count(score: Score, dialogue: Dialogue, found: Sequence[tuple[int, Memory]]) -> None:
    score.facts += len(dialogue.facts)
    score.memories += len(found)
    known = {fact.turn: fact for fact in dialogue.facts}
    for turn, memory in found:
        fact = known.get(turn)
        if fact is not None and (_tells(memory, fact) or _part_of(memory, fact)):
            score.right += 1
        else:
            score.wrong[dialogue.distractors.get(turn, "part of a fact" if fact else "outdated")] += 1
            score.outdated += turn not in dialogue.distractors and fact is None
    for fact in dialogue.facts:
        telling = [memory for turn, memory in found if turn == fact.turn and _tells(memory, fact)]
        score.told += bool(telling)
        score.kinds += any(not fact.kind or memory.kind == fact.kind for memory in telling)
        if not telling:
            score.missed[fact.name] += 1


def _tells(memory: Memory, fact: Fact) -> bool:
    text = memory.text.casefold()
    return all(word.casefold() in text for word in fact.words)


def _part_of(memory: Memory, fact: Fact) -> bool:
    """Returns whether a memory contains any of a fact's words.

    A message may give such a memory ("my sister's name is Maja") beside one that contains all of them.
    """
    text = memory.text.casefold()
    return any(word.casefold() in text for word in (*fact.words, *fact.gone))


async def measure(half: Half, how_many: int, host: ModelHost | None, language: str = "en") -> Score:
    score = Score()
    for number, dialogue in enumerate(dialogues(half, how_many, language=language)):
        found, store = await learned(dialogue, f"{half}-{number}", host)
        count(score, dialogue, found)
        await store.close()
    return score


def row(name: str, score: Score) -> str:
    return (
        f"{name:<22}{score.facts:>6}{score.memories:>10}{score.precision:>11.3f}{score.recall:>8.3f}{score.f1:>8.3f}"
        f"{score.kinds / max(score.told, 1):>11.3f}{score.outdated:>10}"
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dialogues", type=int, default=120, help="of each half (%(default)s)")
    parser.add_argument("--language", choices=LANGUAGES, default="en", help="of the dialogues (%(default)s)")
    parser.add_argument("--without-model", action="store_true", help="patterns alone")
    parser.add_argument(
        "--details",
        action="store_true",
        help="what was missed, and what was wrong, in the phrasings used for tuning",
    )
    given = parser.parse_args()
    host = None
    if not given.without_model:
        paths = Paths(find_home())
        host = build_host(paths, model_library(paths), Settings())
    try:
        print(HEADER)
        for half in Half:
            began = time.perf_counter()
            score = await measure(half, given.dialogues, host, given.language)
            print(row(half.replace("_", " "), score), f"  {time.perf_counter() - began:.0f} s", flush=True)
            # What the held-out half misses would no longer be held out once somebody has read it.
            if given.details and half is Half.TUNING:
                print("  missed:", dict(score.missed.most_common()))
                print("  wrong: ", dict(score.wrong.most_common()))
    finally:
        if host is not None:
            await host.close()


if __name__ == "__main__":
    asyncio.run(main())
