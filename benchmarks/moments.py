"""Measures whether a remark brings back what it is reminiscent of: `python -m benchmarks.moments FILE`.

FILE contains conversations in the form of LoCoMo. One person in them tells something (`moments.toml`), and
weeks later somebody says something else that asks nothing and shares as few words with it as possible. The
figure is the share of these remarks for which the message is among the first results. The first half of the
pairs is for tuning, the second is held out.

Recall in a turn is sparing: it also counts how many remarks would get their message, and how many would get
another if theirs did not exist.
"""

import argparse
import asyncio
import json
import random
import sys
import tomllib
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atlas_desktop.bootstrap import build_host, model_library
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.services.recall import QueryEmbedder
from atlas_desktop.settings.schema import Settings
from benchmarks.recall import (
    METHODS,
    PLAIN,
    Asked,
    Measured,
    WholeQuestion,
    by_category,
    fill,
    measure,
    table,
)
from memory.clock import SystemClock
from memory.context.recalling import KINDS, LOOKED_AT, novel_hits, worthwhile
from memory.recall.engine import RecallEngine
from memory.recall.entities import RecallQuery
from memory.recall.scoring import score
from memory.storage.room import open_off_record
from memory.vectors.flat import FlatVectorIndex
from memory.vectors.indexing import IndexMirror, VectorMaker

REPLIES = (
    "That makes sense.",
    "Oh, I see!",
    "Thanks for telling me.",
    "I can understand that.",
    "Really? Good to know.",
    "Wow, okay!",
)
SEED = 7


@dataclass(frozen=True)
class Remark:
    """A remark, the message it is reminiscent of (`named` as in the data), and the reply to that message."""

    asked: Asked
    named: str
    reply: str
    held_out: bool


def with_moments(samples: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[Remark]]:
    """Returns the conversations with what was told at random places of random sessions, and the remarks."""
    path = Path(__file__).with_suffix(".toml")
    kinds: dict[str, list[tuple[str, str]]] = tomllib.loads(path.read_text(encoding="utf-8"))
    pairs = [
        (kind, told, said, at >= len(own) // 2)
        for kind, own in kinds.items()
        for at, (told, said) in enumerate(own)
    ]
    chance = random.Random(SEED)
    filled, remarks = deepcopy(samples), []
    for number, (kind, told, said, held_out) in enumerate(pairs):
        sample = filled[number % len(filled)]
        talk = sample["conversation"]
        sessions = [key for key, turns in talk.items() if isinstance(turns, list) and turns]
        turns = talk[chance.choice(sessions)]
        speakers = [talk["speaker_a"], talk["speaker_b"]]
        chance.shuffle(speakers)
        at = chance.randrange(len(turns) + 1)
        turns[at:at] = [
            {"dia_id": f"M{number}:1", "speaker": speakers[0], "text": told},
            {"dia_id": f"M{number}:2", "speaker": speakers[1], "text": chance.choice(REPLIES)},
        ]
        project = sample["sample_id"]
        named, reply = f"{project}#M{number}:1", f"{project}#M{number}:2"
        remarks.append(Remark(Asked(project, said, kind, frozenset({named})), named, reply, held_out))
    return filled, remarks


async def in_turns(engine: RecallEngine, remarks: list[Remark]) -> tuple[float, float]:
    """Returns the share of remarks whose turn would get their message, and of those whose turn would get
    another one if theirs did not exist."""
    found = harmful = 0
    for remark in remarks:
        query = RecallQuery(remark.asked.text, k=LOOKED_AT + 2, kinds=KINDS, project=remark.asked.project)
        hits = novel_hits(query.text, await engine.recall(query))
        names = [hit.source.external_id for hit in worthwhile(query.text, hits)]
        found += remark.named in names
        others = [hit for hit in hits if hit.source.external_id not in {remark.named, remark.reply}]
        harmful += bool(worthwhile(query.text, others))
    return found / len(remarks), harmful / len(remarks)


async def main(samples: list[dict[str, Any]]) -> None:
    filled, remarks = with_moments(samples)
    paths = Paths(find_home())
    host = build_host(paths, model_library(paths), Settings())
    store = await open_off_record(SystemClock())
    try:
        await fill(store, filled)
        made = await VectorMaker(store.vectors, host).make_missing()
        mirror = IndexMirror(store.vectors, FlatVectorIndex())
        await mirror.fill(await host.embedding_fingerprint())
        print(f"{len(filled)} conversations, {made} messages, {len(remarks)} remarks")
        questions = QueryEmbedder(lambda: host)
        plain = WholeQuestion(questions)
        engines = {
            name: RecallEngine(
                store.evidence,
                SystemClock(),
                mirror=mirror,
                vectors=questions if scorer is score else plain,
                scorer=scorer,
                refined=scorer not in PLAIN,
            )
            for name, scorer in METHODS.items()
        }
        for held_out in (False, True):
            asked = [remark.asked for remark in remarks if remark.held_out is held_out]
            print(f"\n{'held out' if held_out else 'for tuning'}")
            rows: dict[str, Measured] = {
                name: await measure(engine, asked, plain) for name, engine in engines.items()
            }
            table(rows)
            by_category(asked, rows["recall"])
        found, harmful = await in_turns(engines["recall"], remarks)
        print(f"\nin turns: {found:.3f} get their message, {harmful:.3f} get another one")
    finally:
        await host.close()
        await store.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", metavar="FILE", type=Path, help="conversations in the form of LoCoMo")
    given = parser.parse_args()
    if not given.path.is_file():
        sys.exit(f"{given.path} is not a file")
    asyncio.run(main(json.loads(given.path.read_text(encoding="utf-8"))))
