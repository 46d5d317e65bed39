"""Measures how much of the evidence recall finds: `python -m benchmarks.recall FILE`.

FILE is one of three public kinds of data, which are not part of this project: LoCoMo (`conversation`, `qa`),
chats with an assistant (`sessions`, `questions`), or the Chinese diaries of MemSim (`trajectories`). Each
conversation is one project of one room, stored through the public interface and embedded by the real model;
no language model takes part. The figure is the mean over questions of |evidence ∩ first k| / |evidence|. It
is compared with plain BM25 over messages, plain cosine of the whole question, and their equal reciprocal
ranks, all over the same store and vectors. `--check` also fits the weights without each conversation in turn
and measures on it (not of MemSim, to which no weight is fitted); `--decay` asks on the day after each
conversation ended, with every preset of decay. `--ablate` leaves out one feature at a time.
"""

import argparse
import asyncio
import json
import re
import statistics
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from atlas_desktop.bootstrap import build_host, model_library
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.services.recall import QueryEmbedder
from atlas_desktop.settings.schema import Settings
from memory.clock import SystemClock
from memory.recall import engine as engine_module
from memory.recall import question as question_module
from memory.recall.decay import PRESETS
from memory.recall.engine import RecallEngine
from memory.recall.entities import Entry, QueryVector, QueryVectors, RecallQuery
from memory.recall.needs import Need
from memory.recall.scoring import Evidence, Scores, Weights, score
from memory.storage.room import open_off_record
from memory.storage.store import Store
from memory.transfer import TravellingMessage, TravellingSession
from memory.vectors.flat import FlatVectorIndex
from memory.vectors.indexing import IndexMirror, VectorMaker
from models.messages import Role

KS = (5, 10, 25, 50)
RRF = 60
Scorer = Callable[[Evidence, Weights], Scores]
BEGINNING = datetime(2024, 3, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Asked:
    """A question with the ids of the messages that answer it."""

    project: str
    text: str
    category: str
    evidence: frozenset[str]


# --- data ------------------------------------------------------------------------------------------


def sessions_of(sample: dict[str, Any]) -> Iterator[TravellingSession]:
    if "message_list" in sample:
        return _diary(sample)
    return _people(sample) if "conversation" in sample else _assistant(sample)


def _people(sample: dict[str, Any]) -> Iterator[TravellingSession]:
    talk = sample["conversation"]
    names = sorted((key for key in talk if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:]))
    for name in names:
        begun = datetime.strptime(talk[f"{name}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
        said = [
            (
                turn["dia_id"],
                Role.USER if turn["speaker"] == talk["speaker_a"] else Role.ASSISTANT,
                turn["speaker"],
                turn["text"] + (f" [photo: {turn['blip_caption']}]" if turn.get("blip_caption") else ""),
            )
            for turn in talk[name]
        ]
        yield _session(sample["sample_id"], name, begun, said, timedelta(seconds=30))


def _assistant(sample: dict[str, Any]) -> Iterator[TravellingSession]:
    for number, session in enumerate(sample["sessions"]):
        said = [(str(m["id"]), Role(m["role"]), m["role"], m["content"] or " ") for m in session]
        begun = BEGINNING + timedelta(days=20 * number)
        yield _session(sample["id"], str(number), begun, said, timedelta(minutes=3))


def _diary(sample: dict[str, Any]) -> Iterator[TravellingSession]:
    messages: list[TravellingMessage] = []
    for one in sample["message_list"]:
        # For example 2024年04月01日 周一 08:12.
        year, month, day, hour, minute = map(int, re.findall(r"\d+", one["time"]))
        written = datetime(year, month, day, hour, minute, tzinfo=UTC)
        parent = messages[-1].id if messages else None
        own = f"{sample['id']}#{one['mid']}"
        messages.append(TravellingMessage(own, parent, Role.USER, "user", one["message"], written))
    begun = messages[0].created_at
    yield TravellingSession(sample["id"], "", begun, begun, tuple(messages), project=sample["id"])


def samples_of(data: Any) -> list[dict[str, Any]]:
    """Returns the conversations of a file of any of the three kinds."""
    if isinstance(data, list):
        return data
    return [
        {**sample, "id": f"{kind}-{number}", "kind": kind}
        for number, (kind, sample) in enumerate(data["trajectories"])
    ]


def _session(
    project: str, name: str, begun: datetime, said: list[tuple[str, Role, str, str]], step: timedelta
) -> TravellingSession:
    messages: list[TravellingMessage] = []
    for number, (own, role, speaker, text) in enumerate(said):
        parent = messages[-1].id if messages else None
        messages.append(
            TravellingMessage(f"{project}#{own}", parent, role, speaker, text, begun + number * step)
        )
    return TravellingSession(f"{project}/{name}", name, begun, begun, tuple(messages), project=project)


def questions_of(sample: dict[str, Any]) -> Iterator[Asked]:
    if "message_list" in sample:
        for one in sample["question_list"]:
            targets = frozenset(f"{sample['id']}#{number}" for number in one["target_step_id"])
            yield Asked(sample["id"], one["question"], sample["kind"], targets)
        return
    if "conversation" not in sample:
        for one in sample["questions"]:
            evidence = frozenset(f"{sample['id']}#{number}" for number in one["evidence"])
            if evidence:
                yield Asked(sample["id"], one["question"], one["type"], evidence)
        return
    project = sample["sample_id"]
    known = {message.id for session in sessions_of(sample) for message in session.messages}
    for one in sample["qa"]:
        named = re.findall(r"D:?(\d+):0*(\d+)", " ".join(one.get("evidence", [])))
        evidence = frozenset(f"{project}#D{int(a)}:{int(b)}" for a, b in named) & known
        if evidence:
            yield Asked(project, one["question"], str(one["category"]), evidence)


# --- ways of scoring -------------------------------------------------------------------------------


def _ranked_by(
    values: Callable[[Evidence], NDArray[np.float64]],
) -> Scorer:
    return lambda evidence, _weights: Scores(values(evidence), {})


def _meaning(evidence: Evidence) -> NDArray[np.float64]:
    assert evidence.meaning is not None
    return evidence.meaning


def _equal_ranks(evidence: Evidence) -> NDArray[np.float64]:
    ranks = [
        np.argsort(np.argsort(-values, kind="stable")) for values in (evidence.words, _meaning(evidence))
    ]
    return np.asarray(sum(1.0 / (RRF + rank + 1) for rank in ranks))


METHODS: dict[str, Scorer] = {
    "BM25": _ranked_by(lambda evidence: evidence.words),
    "cosine": _ranked_by(_meaning),
    "both, equal ranks": _ranked_by(_equal_ranks),
    "recall": score,
}


PLAIN = [scorer for scorer in METHODS.values() if scorer is not score]


class WholeQuestion:
    """Embeds the question as it was asked, including names, as plain cosine search does."""

    def __init__(self, embedder: QueryEmbedder) -> None:
        self._embedder = embedder
        self.asked = ""

    async def vector(self, _text: str) -> QueryVector | None:
        return await self._embedder.vector(self.asked)


# --- measuring -------------------------------------------------------------------------------------


@dataclass
class Measured:
    """Results of one method, per question: shares of the evidence in the first k, and milliseconds."""

    found: list[tuple[float, ...]]
    took: list[float]


def share(evidence: frozenset[str], order: list[str]) -> tuple[float, ...]:
    return tuple(len(evidence & set(order[:k])) / len(evidence) for k in KS)


async def measure(
    engine: RecallEngine,
    asked: list[Asked],
    plain: WholeQuestion,
    asked_at: dict[str, datetime] | None = None,
) -> Measured:
    measured = Measured([], [])
    for question in asked:
        plain.asked = question.text
        now = None if asked_at is None else asked_at[question.project]
        answer = await engine.answer(RecallQuery(question.text, k=max(KS), project=question.project, now=now))
        order = [hit.source.external_id or "" for hit in answer.hits]
        measured.found.append(share(question.evidence, order))
        measured.took.append(answer.took_ms)
    return measured


async def fill(store: Store, samples: list[dict[str, Any]]) -> None:
    for sample in samples:
        for session in sessions_of(sample):
            await store.transfer.take(session)


def table(rows: dict[str, Measured]) -> None:
    print(f"{'':<20}" + "".join(f"{f'@{k}':>8}" for k in KS) + f"{'p50 ms':>10}{'p95 ms':>8}")
    for name, measured in rows.items():
        means = np.mean(measured.found, axis=0)
        took = statistics.quantiles(measured.took, n=20)
        print(
            f"{name:<20}" + "".join(f"{mean:>8.3f}" for mean in means) + f"{took[9]:>10.0f}{took[18]:>8.0f}"
        )


def by_category(asked: list[Asked], measured: Measured) -> None:
    print("\nby category, @10:")
    for category in sorted({question.category for question in asked}):
        own = [
            found[1]
            for question, found in zip(asked, measured.found, strict=True)
            if question.category == category
        ]
        print(f"  {category:<28}{statistics.mean(own):>7.3f}  ({len(own)} questions)")


class Recorder:
    """Records the evidence of every question, so that other weights can be tried on it."""

    def __init__(self) -> None:
        self.seen: list[Evidence] = []

    def __call__(self, evidence: Evidence, weights: Weights) -> Scores:
        self.seen.append(evidence)
        return score(evidence, weights)


def objective(cases: list[tuple[Evidence, NDArray[np.bool_]]], weights: Weights) -> float:
    """Returns the mean share of the evidence in the first 10."""
    found = []
    for evidence, relevant in cases:
        order = np.argsort(-score(evidence, weights).total, kind="stable")[: KS[1]]
        found.append(relevant[order].sum() / relevant.sum())
    return float(np.mean(found))


def fitted(cases: list[tuple[Evidence, NDArray[np.bool_]]], start: Weights) -> Weights:
    """Fits the weights in one round of steps of a fifth, down and up, each kept if it helps."""
    best, value = start, objective(cases, start)
    for field in fields(start):
        if field.name == "decay":
            continue
        for factor in (0.8, 1.25):
            tried = replace(best, **{field.name: getattr(best, field.name) * factor})
            if (reached := objective(cases, tried)) > value:
                best, value = tried, reached
                break
    return best


async def check(engine_of: Callable[[Recorder], RecallEngine], store: Store, asked: list[Asked]) -> None:
    recorder = Recorder()
    engine = engine_of(recorder)
    cases: list[tuple[str, Evidence, NDArray[np.bool_]]] = []
    entries = [entry async for entry in _entries(store)]
    names = {
        text.source.message: text.source.external_id
        for text in await store.evidence.texts([e.seq for e in entries])
    }
    sessions = {one.id: one.project for one in await store.evidence.session_entries()}
    members = {
        project: [names[entry.id] for entry in entries if sessions[entry.session_id] == project]
        for project in {question.project for question in asked}
    }
    for question in asked:
        await engine.recall(RecallQuery(question.text, k=1, project=question.project))
        relevant = np.array([name in question.evidence for name in members[question.project]])
        cases.append((question.project, recorder.seen[-1], relevant))
    held: list[float] = []
    for project in sorted(members):
        weights = fitted([(e, r) for p, e, r in cases if p != project], Weights())
        own = [(e, r) for p, e, r in cases if p == project]
        held.append(objective(own, weights))
        print(f"  without {project}: {held[-1]:.3f} on it, {objective(own, Weights()):.3f} with the defaults")
    print(f"  mean of conversations: {statistics.mean(held):.3f}")


@contextmanager
def without(feature: str) -> Iterator[Weights]:
    """Leaves out a feature: a weight by its name, or one of `REFINEMENTS`."""
    off: dict[str, Any] = {feature: 0.0} if feature in WEIGHED else {}
    weights = replace(Weights(), **off)
    if feature in REFINEMENTS:
        owner, name, other = REFINEMENTS[feature]
        with patch.object(owner, name, other):
            yield weights
    else:
        yield weights


WEIGHED = tuple(one.name for one in fields(Weights) if one.name != "decay")
REFINEMENTS: dict[str, tuple[Any, str, Any]] = {
    "second search": (engine_module, "ECHO", 0.0),
    "need": (question_module, "need_of", lambda _text: Need.BEST),
    "sentences": (engine_module, "sentences", lambda text: [text]),
    "small words and forms": (engine_module, "language_of", lambda _text: None),
}
"""Features without a weight: where they are, and what takes their place."""


async def ablate(
    engine_of: Callable[[Weights], RecallEngine], asked: list[Asked], plain: WholeQuestion
) -> None:
    found = {}
    for feature in ("nothing", *WEIGHED, *REFINEMENTS):
        with without(feature) as weights:
            found[feature] = (await measure(engine_of(weights), asked, plain)).found
    whole = np.mean(found["nothing"], axis=0)
    print(f"\n{'without':<24}" + "".join(f"{f'@{k}':>8}" for k in KS) + "     change")
    for feature, shares in found.items():
        means = np.mean(shares, axis=0)
        changes = " ".join(f"{mean - one:+.3f}" for mean, one in zip(means[:2], whole[:2], strict=True))
        print(f"{feature:<24}" + "".join(f"{mean:>8.3f}" for mean in means) + f"   {changes}")


async def _entries(store: Store) -> AsyncIterator[Entry]:
    after = 0
    while page := await store.evidence.entries(after=after):
        for entry in page:
            yield entry
        after = page[-1].seq


def day_after(samples: list[dict[str, Any]]) -> dict[str, datetime]:
    """Returns when each conversation (by its project) is asked about: a day after its last message."""
    found: dict[str, datetime] = {}
    for session in (session for sample in samples for session in sessions_of(sample)):
        latest = max(message.created_at for message in session.messages) + timedelta(days=1)
        found[session.project or ""] = max(latest, found.get(session.project or "", latest))
    return found


async def main(samples: list[dict[str, Any]], *, cross_validate: bool, decays: bool, ablation: bool) -> None:
    asked = [question for sample in samples for question in questions_of(sample)]
    paths = Paths(find_home())
    host = build_host(paths, model_library(paths), Settings())
    store = await open_off_record(SystemClock())
    try:
        await fill(store, samples)
        made = await VectorMaker(store.vectors, host).make_missing()
        mirror = IndexMirror(store.vectors, FlatVectorIndex())
        passages = await mirror.fill(await host.embedding_fingerprint())
        print(f"{len(samples)} conversations, {made} messages, {passages} passages, {len(asked)} questions\n")
        questions = QueryEmbedder(lambda: host)

        plain = WholeQuestion(questions)

        def engine(
            scorer: Scorer, vectors: QueryVectors = questions, weights: Weights | None = None
        ) -> RecallEngine:
            return RecallEngine(
                store.evidence,
                SystemClock(),
                mirror=mirror,
                vectors=vectors,
                scorer=scorer,
                refined=scorer not in PLAIN,
                weights=weights,
            )

        engines = {
            name: engine(scorer, questions if scorer is score else plain) for name, scorer in METHODS.items()
        }
        for one in engines.values():
            await one.warm()
        rows = {name: await measure(one, asked, plain) for name, one in engines.items()}
        table(rows)
        by_category(asked, rows["recall"])
        if decays:
            print("\nasked on the day after:")
            moments = day_after(samples)
            table(
                {
                    f"decay {name}": await measure(
                        engine(score, weights=Weights(decay=preset)), asked, plain, moments
                    )
                    for name, preset in PRESETS.items()
                }
            )
        if ablation:
            await ablate(lambda weights: engine(score, weights=weights), asked, plain)
        if cross_validate:
            print("\nweights fitted without one conversation, measured on it, @10:")
            await check(engine, store, asked)
    finally:
        await host.close()
        await store.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", metavar="FILE", type=Path, help="the data")
    parser.add_argument("--check", action="store_true", help="also leave one conversation out")
    parser.add_argument("--decay", action="store_true", help="also compare the presets of decay")
    parser.add_argument("--ablate", action="store_true", help="also leave out one feature at a time")
    given = parser.parse_args()
    if not given.path.is_file():
        sys.exit(f"{given.path} is not a file")
    data = json.loads(given.path.read_text(encoding="utf-8"))
    check_weights = given.check and isinstance(data, list)
    asyncio.run(
        main(samples_of(data), cross_validate=check_weights, decays=given.decay, ablation=given.ablate)
    )
