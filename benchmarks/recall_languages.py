"""Measures recall in German, Spanish and French: `python -m benchmarks.recall_languages [--without-model]`.

In a room with the statements of `recall_languages.toml` in all three languages, each is asked for with other
forms of its words ("Katzen", "Katze"). The figure is the share of questions whose statement is the first hit,
or among the first three: with the stems of English only, as the index has them, and with the forms and small
words of the question's language. Nothing is fitted to these texts.
"""

import argparse
import asyncio
import tomllib
from pathlib import Path
from unittest.mock import patch

from atlas_desktop.bootstrap import build_host, model_library
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.services.recall import QueryEmbedder
from atlas_desktop.settings.schema import Settings
from memory.clock import SystemClock
from memory.entities import NewMessage, NewSession
from memory.recall import engine as recall_engine
from memory.recall.engine import RecallEngine
from memory.recall.entities import RecallQuery
from memory.storage.room import open_off_record
from memory.vectors.flat import FlatVectorIndex
from memory.vectors.indexing import IndexMirror, VectorMaker
from models.messages import Role

KS = (1, 3)


def material() -> dict[str, list[tuple[str, str, str]]]:
    found = tomllib.loads((Path(__file__).parent / "recall_languages.toml").read_text("utf-8"))
    return {name: [(told, asked, other) for told, asked, other in rows] for name, rows in found.items()}


async def shares(engine: RecallEngine, rows: list[tuple[str, str, str]]) -> tuple[float, ...]:
    """Returns the share of questions whose statement is among the first k hits, for each of `KS`."""
    places = []
    for told, asked, _ in rows:
        found = [hit.text for hit in await engine.recall(RecallQuery(asked, k=max(KS)))]
        places.append(found.index(told) if told in found else max(KS))
    return tuple(sum(place < k for place in places) / len(rows) for k in KS)


async def main(*, with_model: bool) -> None:
    said = material()
    paths = Paths(find_home())
    host = build_host(paths, model_library(paths), Settings()) if with_model else None
    store = await open_off_record(SystemClock())
    try:
        for rows in said.values():
            for told, _, other in rows:
                for text in (told, other):
                    # A session each: neighbours would help to find them.
                    await store.create_session(NewSession("a"), NewMessage(Role.USER, text))
        mirror = None
        if host is not None:
            await VectorMaker(store.vectors, host).make_missing()
            mirror = IndexMirror(store.vectors, FlatVectorIndex())
            await mirror.fill(await host.embedding_fingerprint())
        vectors = None if host is None else QueryEmbedder(lambda: host)
        engine = RecallEngine(store.evidence, SystemClock(), mirror=mirror, vectors=vectors)
        print(f"{'':<10}{'English stems':>18}{'forms':>18}\n{'':<10}" + f"{'@1':>11}{'@3':>7}" * 2)
        for name, rows in said.items():
            with patch.object(recall_engine, "language_of", lambda _text: None):
                before = await shares(engine, rows)
            after = await shares(engine, rows)
            cells = (f"{one:>11.3f}{three:>7.3f}" for one, three in (before, after))
            print(f"{name:<10}" + "".join(cells))
    finally:
        await store.close()
        if host is not None:
            await host.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--without-model", action="store_true", help="words alone")
    asyncio.run(main(with_model=not parser.parse_args().without_model))
