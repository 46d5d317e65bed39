"""Measures whether a question finds the preference it needs: `python -m benchmarks.preferences`.

Fifty users have stated twenty preferences each, over twenty everyday topics, one conversation each. They then
ask for something for which one preference matters, without naming it ("recommend a course" where "I dislike
online learning" was said). The figure is the share of questions whose preference is among the first results
from that user's messages. There are two sets of texts, both written for this project: half of the users of
each are for tuning, the other half, with other preferences and questions, are held out. The same is measured
over memories.
"""

import asyncio
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from atlas_desktop.bootstrap import build_host, model_library
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.services.recall import QueryEmbedder
from atlas_desktop.settings.schema import Settings
from benchmarks.recall import METHODS, WholeQuestion
from memory.clock import SystemClock
from memory.memories.entities import MemoryKind, MemoryOrigin, MemorySource, NewMemory
from memory.recall.engine import RecallEngine
from memory.recall.entities import RecallQuery
from memory.storage.room import open_off_record
from memory.storage.store import Store
from memory.transfer import TravellingMessage, TravellingSession
from memory.vectors.flat import FlatVectorIndex
from memory.vectors.indexing import IndexMirror, VectorMaker
from models.host import ModelHost
from models.messages import Role


@dataclass(frozen=True)
class Kind:
    """One set of texts; the preferences are put into `phrasings`."""

    name: str
    path: Path
    phrasings: tuple[str, ...]


PEOPLE = 50
KS = (1, 3, 5)
PHRASINGS = (
    "{}",
    "Just so you know, {}",
    "One thing about me: {}",
    "I should mention something. {}",
    "{} Please keep that in mind.",
)
KINDS = (
    Kind("as people tell an assistant", Path(__file__).with_name("preferences.toml"), ("{}",)),
    Kind("terse, and less alike", Path(__file__).with_name("preferences_terse.toml"), PHRASINGS),
)
REPLY = "Thanks for telling me, I will keep that in mind."
BEGINNING = datetime(2024, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Stated:
    """A preference of one user, and the question that needs it; `name` is that of its message."""

    name: str
    person: str
    topic: str
    text: str
    question: str
    held_out: bool


def stated(kind: Kind) -> Iterator[Stated]:
    """Yields every user's preferences; users in the second half have different ones."""
    topics: dict[str, list[tuple[str, str]]] = tomllib.loads(kind.path.read_text(encoding="utf-8"))["topics"]
    for person in range(PEOPLE):
        half, number = divmod(person, PEOPLE // 2)
        for at, (topic, pairs) in enumerate(topics.items()):
            own = pairs[half * len(pairs) // 2 :][: len(pairs) // 2]
            # The step from topic to topic changes every few users, so that no two have said the same.
            step, turn = divmod(number, len(own))
            preference, question = own[(turn + at * step) % len(own)]
            said = kind.phrasings[(step + at) % len(kind.phrasings)].format(preference)
            yield Stated(f"p{person}/{at}", f"p{person}", topic, said, question, held_out=bool(half))


def sessions(said: Sequence[Stated]) -> Iterator[TravellingSession]:
    """Yields one conversation per preference, in one project per user."""
    for number, one in enumerate(said):
        when = BEGINNING + timedelta(days=number % (len(said) // PEOPLE))
        message = TravellingMessage(one.name, None, Role.USER, "user", one.text, when)
        reply = TravellingMessage(f"{one.name}r", one.name, Role.ASSISTANT, "assistant", REPLY, when)
        yield TravellingSession(one.name, "chat", when, when, (message, reply), project=one.person)


async def learn(store: Store, said: Sequence[Stated]) -> None:
    """Adds the same preferences as memories, each learned from its message."""
    entries = await store.evidence.entries(limit=2 * len(said))
    texts = await store.evidence.texts([entry.seq for entry in entries if not entry.machine])
    people = {one.name: one.person for one in said}
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
    """Returns each question's rank of the needed hit, from 0; `max(KS)` if it is missing."""
    found = []
    for one in asked:
        hits = await engine.recall(RecallQuery(one.question, k=max(KS), kinds=[kind], project=one.person))
        names = [hit.source.external_id for hit in hits]
        found.append(names.index(one.name) if one.name in names else max(KS))
    return found


def shares(found: list[int]) -> list[float]:
    return [sum(place < k for place in found) / len(found) for k in KS]


async def measure(host: ModelHost, kind: Kind) -> None:
    said = list(stated(kind))
    store = await open_off_record(SystemClock())
    try:
        await store.transfer.take_many(list(sessions(said)), learn=False)
        await learn(store, said)
        await VectorMaker(store.vectors, host).make_missing()
        mirror = IndexMirror(store.vectors, FlatVectorIndex())
        await mirror.fill(await host.embedding_fingerprint())
        questions = QueryEmbedder(lambda: host)
        plain = WholeQuestion(questions)
        cosine = RecallEngine(
            store.evidence,
            SystemClock(),
            mirror=mirror,
            vectors=plain,
            scorer=METHODS["cosine"],
            refined=False,
        )
        ours = RecallEngine(store.evidence, SystemClock(), mirror=mirror, vectors=questions)
        print(f"\n{kind.name:<28}" + "".join(f"{f'top {k}':>8}" for k in KS))
        for half, asked in (
            ("tuning", [one for one in said if not one.held_out]),
            ("held out", [one for one in said if one.held_out]),
        ):
            for name, engine, hits in (
                ("cosine, messages", cosine, "message"),
                ("recall, messages", ours, "message"),
                ("recall, memories", ours, "memory"),
            ):
                found = []
                for one in asked:
                    plain.asked = one.question
                    found += await places(engine, [one], hits)
                print(f"{half + ': ' + name:<28}" + "".join(f"{share:>8.3f}" for share in shares(found)))
    finally:
        await store.close()


async def main() -> None:
    paths = Paths(find_home())
    host = build_host(paths, model_library(paths), Settings())
    try:
        for kind in KINDS:
            await measure(host, kind)
    finally:
        await host.close()


if __name__ == "__main__":
    asyncio.run(main())
