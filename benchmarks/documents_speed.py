"""Measures search among 100,000 chunks: `python -m benchmarks.documents_speed [--chunks N]`.

Two encrypted rooms are made up, always the same: one of annual reports, in which nearly every word of a
question stands in every document, and one of texts with word frequencies as uneven as in a language. The
chunks have random vectors, because the comparison takes as long with any; the question is embedded by the
embedding model. A search is measured from the question to the loaded hits: wall clock, and processor time of
this process, which a busy machine changes less. The model works in another process.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from atlas_desktop.bootstrap import build_host, model_library
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.services.recall import QueryEmbedder
from atlas_desktop.settings.schema import Settings
from benchmarks.documents import parsed_report
from benchmarks.recall_speed import DIMENSION, Words
from benchmarks.reports import reports
from memory.clock import SystemClock
from memory.documents.chunking import chunks
from memory.documents.entities import DocumentQuery, FileFacts, Grain, NewDocument, ParsedText
from memory.documents.search import DocumentSearch
from memory.entities import RoomKind
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vault.keys import RoomKey
from memory.vectors.flat import FlatVectorIndex
from memory.vectors.indexing import IndexMirror

QUESTIONS = 60
A_REPORT = 240
WRITTEN_AT_ONCE = 20
PARAGRAPHS, PARAGRAPH_WORDS = 60, 150


@dataclass(frozen=True)
class Made:
    """A made-up library: its documents, questions for all of them, and the ones for the first document."""

    name: str
    documents: Iterator[NewDocument]
    questions: Sequence[str]
    within: Sequence[str]


def of_reports(count: int) -> Made:
    made = reports(max(count // A_REPORT, 1))
    asked = [question.text for one in made for question in one.questions]
    documents = (document(number, parsed_report(one), "application/pdf") for number, one in enumerate(made))
    step = max(len(asked) // QUESTIONS, 1)
    own = [question.text for question in made[0].questions]
    return Made("annual reports", documents, asked[::step][:QUESTIONS], own)


def of_words(count: int) -> Made:
    words = Words()
    questions = [f"what about {words.text(5)}" for _ in range(QUESTIONS)]

    def texts() -> Iterator[NewDocument]:
        number = 0
        while True:
            text = "\n\n".join(words.text(PARAGRAPH_WORDS) for _ in range(PARAGRAPHS))
            yield document(number, ParsedText(text, title=words.text(3)), "text/plain")
            number += 1

    a_text = len(next(texts()).chunks)
    return Made("uneven words", islice(texts(), max(count // a_text, 1)), questions, questions)


def document(number: int, parsed: ParsedText, media_type: str) -> NewDocument:
    path = f"/made-up/{number:06}"
    return NewDocument(
        path=path,
        facts=FileFacts(path, len(parsed.text), 1),
        sha256=f"{number:064}",
        media_type=media_type,
        parser="made-up",
        title=parsed.title,
        parsed=parsed,
        chunks=tuple(chunks(parsed, media_type)),
    )


async def fill(store: Store, documents: Iterator[NewDocument], model: str) -> tuple[str, int]:
    """Returns the id of the first document and the number of chunks."""
    first, count = "", 0
    while batch := list(islice(documents, WRITTEN_AT_ONCE)):
        ids = await store.documents.put(batch)
        first = first or ids[0]
        count += sum(len(one.chunks) for one in batch)
    numbers = np.random.default_rng(1)
    after = 0
    vectors = store.documents.vectors
    while found := await vectors.unembedded(model, limit=1000, after=after):
        after = found[-1].seq
        made = numbers.standard_normal((len(found), DIMENSION)).astype(np.float32)
        made /= np.linalg.norm(made, axis=1, keepdims=True)
        await vectors.put(model, [(one.id, [row.tobytes()]) for one, row in zip(found, made, strict=True)])
    return first, count


async def measure(made: Made, folder: Path, embedder: QueryEmbedder, model: str) -> None:
    store = await open_room(
        folder / f"{made.name}.db", RoomKey.generate(), RoomKind.OPEN, SystemClock(), create=True
    )
    try:
        first, count = await fill(store, made.documents, model)
        mirror = IndexMirror(store.documents.vectors, FlatVectorIndex())
        search = DocumentSearch(store, embedder)
        began = time.perf_counter()
        await search.follow()
        await mirror.fill(model)
        search.use(mirror)
        print(f"\n{made.name}: {count:,} chunks, read in {time.perf_counter() - began:.1f} s")
        print(f"  {'milliseconds':<22}{'p50':>8}{'p95':>8}{'busy p50':>12}{'p95':>8}")
        for name, questions, documents in (
            ("in all documents", made.questions, None),
            ("within one document", made.within, (first,)),
        ):
            await timed(name, search, [DocumentQuery(one, documents=documents) for one in questions])
        await timed("pages, in all", search, [DocumentQuery(one, grain=Grain.PAGE) for one in made.questions])
    finally:
        await store.close()


async def timed(name: str, search: DocumentSearch, queries: Sequence[DocumentQuery]) -> None:
    await search.answer(queries[0])
    took: list[float] = []
    busy: list[float] = []
    for query in queries:
        wall, processor = time.perf_counter(), time.process_time()
        found = await search.answer(query)
        took.append(1000 * (time.perf_counter() - wall))
        busy.append(1000 * (time.process_time() - processor))
        if not found.hits or not found.semantic:
            raise SystemExit(f"nothing found, or not by meaning: {query.text}")
    wall_q, busy_q = statistics.quantiles(took, n=20), statistics.quantiles(busy, n=20)
    print(f"  {name:<22}{wall_q[9]:>8.1f}{wall_q[18]:>8.1f}{busy_q[9]:>12.1f}{busy_q[18]:>8.1f}")


async def main(count: int) -> None:
    paths = Paths(find_home())
    host = build_host(paths, model_library(paths), Settings())
    try:
        embedder = QueryEmbedder(lambda: host)
        model = await host.embedding_fingerprint()
        for make in (of_reports, of_words):
            with tempfile.TemporaryDirectory() as folder:
                await measure(make(count), Path(folder), embedder, model)
    finally:
        await host.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chunks", type=int, default=100_000)
    asyncio.run(main(parser.parse_args().chunks))
