"""Whether a question finds the preference it needs: `python -m benchmarks.preferences`.

Fifty people have stated twenty preferences each, over twenty everyday topics, one conversation each, and
then ask for something that one of them matters to and that does not name it ("recommend a course" where it
was said "I dislike online learning"). The figure is the share of questions whose preference is among the
first of what that person has said. The texts are this project's own: half of the people are for tuning, the
other half, with other preferences and questions, are held out. The same is measured over memories.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from atlas_desktop.bootstrap import build_host, model_library
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.services.recall import QueryEmbedder
from atlas_desktop.setting_types import Settings
from benchmarks.preferences_said import SAID
from benchmarks.recall import METHODS, WholeQuestion
from memory.clock import SystemClock
from memory.knowledge.entities import MemoryKind, MemoryOrigin, MemorySource, NewMemory
from memory.ports import SessionStore
from memory.recall.engine import RecallEngine
from memory.storage.room import open_off_record
from memory.transfer.entities import TravellingMessage, TravellingSession
from memory.vectors.embedding import VectorMaker
from memory.vectors.flat import FlatVectorIndex
from memory.vectors.mirror import IndexMirror
from models.messages import Role

PEOPLE = 50
KS = (1, 3, 5)
PHRASINGS = (
    "{}",
    "Just so you know, {}",
    "One thing about me: {}",
    "I should mention something. {}",
    "{} Please keep that in mind.",
)
REPLY = "Thanks for telling me, I will keep that in mind."
BEGINNING = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Stated:
    """A preference of one person, and the question that needs it. `name` is that of its message."""

    name: str
    person: str
    topic: str
    text: str
    question: str
    held_out: bool


def topics() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for line in SAID.strip().splitlines():
        if line.startswith("# "):
            current = found.setdefault(line[2:], [])
        elif not line.startswith(" "):
            said = line
        else:
            current.append((said, line.strip()))
    return found


def stated() -> Iterator[Stated]:
    """Every person's preferences; the people of the second half have other ones."""
    for person in range(PEOPLE):
        half, number = divmod(person, PEOPLE // 2)
        for at, (topic, pairs) in enumerate(topics().items()):
            own = pairs[half * len(pairs) // 2 :][: len(pairs) // 2]
            preference, question = own[(number + at) % len(own)]
            said = PHRASINGS[(number // len(own) + at) % len(PHRASINGS)].format(preference)
            name = f"p{person}/{at}"
            yield Stated(name, f"p{person}", topic, said, question, held_out=bool(half))


def sessions() -> Iterator[TravellingSession]:
    """One conversation a preference, in a project a person."""
    for number, one in enumerate(stated()):
        when = BEGINNING + timedelta(days=number % len(topics()))
        said = TravellingMessage(one.name, None, Role.USER, "user", one.text, when)
        reply = TravellingMessage(f"{one.name}r", one.name, Role.ASSISTANT, "assistant", REPLY, when)
        yield TravellingSession(one.name, "chat", when, when, (said, reply), project=one.person)


async def fill(store: SessionStore) -> None:
    for session in sessions():
        await store.transfer.take(session)


async def learn(store: SessionStore) -> None:
    """The same as memories, each learned from its message."""
    entries = await store.evidence.entries(limit=2 * PEOPLE * len(topics()))
    texts = await store.evidence.texts([entry.seq for entry in entries if not entry.machine])
    people = {one.name: one.person for one in stated()}
    for text in texts:
        source = MemorySource(text.source.message or "", text.source.session or "", text.text)
        await store.memories.add(
            NewMemory(
                MemoryKind.PREFERENCE,
                text.text,
                MemoryOrigin.PATTERN,
                (source,),
                project=people[text.source.external_id or ""],
            )
        )


async def places(engine: RecallEngine, asked: list[Stated], kind: str = "message") -> list[int]:
    """For each question the place of what it needs among the hits, from 0; `max(KS)` when it is not there."""
    found = []
    for one in asked:
        hits = await engine.recall(one.question, k=max(KS), kinds=[kind], project=one.person)
        names = [hit.source.external_id for hit in hits]
        found.append(names.index(one.name) if one.name in names else max(KS))
    return found


def shares(found: list[int]) -> list[float]:
    return [sum(place < k for place in found) / len(found) for k in KS]


async def main() -> None:
    paths = Paths(find_home())
    host = build_host(paths, model_library(paths), Settings())
    store = await open_off_record(SystemClock())
    try:
        await fill(store)
        await learn(store)
        await VectorMaker(store.vectors, host).make_missing()
        mirror = IndexMirror(store.vectors, FlatVectorIndex())
        await mirror.fill(await host.embedding_fingerprint())
        questions = QueryEmbedder(lambda: host)
        everyone = list(stated())
        print(f"{'':<28}" + "".join(f"{f'top {k}':>8}" for k in KS))
        for half, asked in (
            ("tuning", [one for one in everyone if not one.held_out]),
            ("held out", [one for one in everyone if one.held_out]),
        ):
            plain = WholeQuestion(questions)
            cosine = RecallEngine(
                store.evidence,
                SystemClock(),
                mirror=mirror,
                vectors=plain,
                scorer=METHODS["cosine"],
                echoes=False,
            )
            ours = RecallEngine(store.evidence, SystemClock(), mirror=mirror, vectors=questions)
            for name, engine, kind in (
                ("cosine, messages", cosine, "message"),
                ("recall, messages", ours, "message"),
                ("recall, memories", ours, "memory"),
            ):
                found = []
                for one in asked:
                    plain.asked = one.question
                    found += await places(engine, [one], kind)
                print(f"{half + ': ' + name:<28}" + "".join(f"{share:>8.3f}" for share in shares(found)))
    finally:
        await host.close()
        await store.close()


if __name__ == "__main__":
    asyncio.run(main())
