"""Measures the search in documents: `python -m benchmarks.documents SCIFACT.json`.

Two kinds of questions are asked. SCIFACT.json, which is not part of this project, has `documents` (`id`,
`title`, `text`) and `queries` (`text`, `relevant`: ids); the figure is nDCG of the first 10 documents. The
others are about made-up annual reports (`benchmarks.reports`), each asked within its report; the figure is
the share of the right pages among the first. Both are compared with plain BM25 and plain cosine. The same
people wrote the reports and the table of financial terms: expect less of real reports. The rows without the
table show how much of the result is due to it.

`--vectors FOLDER` keeps the vectors there for the next time. `--check` also fits the weights without a fifth
of the questions, or of the reports, in turn, and measures on that fifth.
"""

import argparse
import asyncio
import hashlib
import json
import re
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas_desktop.bootstrap import build_host, model_library
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.settings.schema import Settings
from benchmarks.reports import YEAR, Report, reports
from memory.documents.chunking import chunks
from memory.documents.entities import ChunkEntry, ChunkPosting, Grain, Heading, NewChunk, ParsedText
from memory.documents.ranking import (
    ChunkColumns,
    GrainWeights,
    Looked,
    Parts,
    Weights,
    columns,
    everywhere,
    gather,
    looked_for,
    names,
    of_documents,
    of_pages,
    subject,
    total,
    weigh,
)
from memory.recall.words import carries_meaning, content_words, without_names

FOLDS = 5
KS = (1, 3, 5, 10, 20)
KEPT = 200
"""Pages or documents of a question that the fitting considers: the best of each part."""
Vector = NDArray[np.float32]


@dataclass(frozen=True)
class Asked:
    """A question with the pages or documents that answer it, by their number in the columns. `fold` says with
    which others it is left out."""

    text: str
    right: frozenset[int]
    fold: int
    kind: str


class Index:
    """Chunks with their full-text index, as a room has them, and their vectors."""

    def __init__(self, title: str, pieces: Sequence[tuple[int, str, str, int | None]]) -> None:
        """`pieces` are the document, context, text and page of each chunk."""
        self.title = title
        self.texts = [f"{context}\n{text}" for _, context, text, _ in pieces]
        self._conn = sqlite3.connect(":memory:")
        self._conn.executescript(
            """
            CREATE VIRTUAL TABLE chunks_fts USING fts5 (
                context, text, tokenize = 'porter unicode61 remove_diacritics 2'
            );
            CREATE VIRTUAL TABLE asked USING fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2');
            CREATE VIRTUAL TABLE temp.places USING fts5vocab (main, chunks_fts, instance);
            CREATE VIRTUAL TABLE temp.asked_places USING fts5vocab (main, asked, instance);
            """
        )
        rows = [(seq, context, text) for seq, (_, context, text, _) in enumerate(pieces)]
        self._conn.executemany("INSERT INTO chunks_fts (rowid, context, text) VALUES (?, ?, ?)", rows)
        self.columns: ChunkColumns = columns(
            ChunkEntry(
                seq, str(seq), f"{document:06}", seq, page, len(re.findall(r"\w+", f"{context} {text}"))
            )
            for seq, (document, context, text, page) in enumerate(pieces)
        )
        self.allowed = np.ones(len(pieces), np.bool_)
        self.vectors: Vector | None = None

    def stems(self, text: str) -> list[str]:
        self._conn.execute("DELETE FROM asked")
        self._conn.execute("INSERT INTO asked VALUES (?)", (text,))
        return [term for (term,) in self._conn.execute("SELECT term FROM asked_places ORDER BY offset")]

    def word(self, term: str) -> ChunkPosting:
        """Returns where a stem occurs."""
        found = dict(
            self._conn.execute(
                "SELECT col, json_group_array(doc) FROM temp.places WHERE term = ? GROUP BY col", (term,)
            ).fetchall()
        )
        text, context = (
            np.array(json.loads(found.get(column, "[]")), np.int64) for column in ("text", "context")
        )
        return ChunkPosting(term, text, context)

    def looked(self, one: Looked) -> ChunkPosting:
        rows = self._conn.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?", (one.match,))
        text = np.array(rows.fetchall(), np.int64).ravel()
        return ChunkPosting(one.phrases[0], text, text[:0], one.weight)

    def postings(self, question: str, *, table: bool = True) -> list[ChunkPosting]:
        """Returns those of a question; with `table`, also those of the lines of statements."""
        stems = content_words(self.stems(subject(question)))
        looked = looked_for(question, stems, lines=table)
        return [*map(self.word, dict.fromkeys(stems)), *map(self.looked, looked)]

    def embedded(self, question: str) -> str:
        """Returns the text of a question within a document whose vector is compared: without the names that
        the document has everywhere."""
        known = {name: set(self.stems(name)) for name in names(question)}
        postings = [self.word(stem) for stem in set().union(*known.values())]
        common = everywhere(self.columns, self.allowed, postings)
        return without_names(
            question, [name for name, stems in known.items() if carries_meaning(stems) and stems <= common]
        )

    def plain(self, question: str) -> list[ChunkPosting]:
        return [self.word(stem) for stem in dict.fromkeys(self.stems(question))]


# --- data ------------------------------------------------------------------------------------------


def pieces_of(parsed: ParsedText, media_type: str) -> Iterator[tuple[str, str, int | None]]:
    """Yields context, text and page of each chunk."""
    for one in chunks(parsed, media_type):
        yield context_of(parsed.title, one), parsed.text[one.begin : one.end], one.page


def context_of(title: str, chunk: NewChunk) -> str:
    parts = (title, " > ".join(chunk.heading), chunk.header)
    return "\n".join(dict.fromkeys(part for part in parts if part))


def scifact(data: dict[str, Any]) -> tuple[Index, list[Asked]]:
    pieces: list[tuple[int, str, str, int | None]] = []
    for number, one in enumerate(data["documents"]):
        text = f"# {one['title']}\n\n{one['text']}"
        parsed = ParsedText(text, headings=(Heading(1, one["title"], 0),), title=one["title"])
        pieces.extend((number, *piece) for piece in pieces_of(parsed, "text/markdown"))
    numbers = {one["id"]: number for number, one in enumerate(data["documents"])}
    asked = [
        Asked(one["text"], frozenset(numbers[id_] for id_ in one["relevant"]), at % FOLDS, "claim")
        for at, one in enumerate(data["queries"])
    ]
    return Index("", pieces), asked


def parsed_report(one: Report) -> ParsedText:
    begins = [sum(len(page) + 1 for page in one.pages[:at]) for at in range(len(one.pages))]
    text = "".join(f"{page}\n" for page in one.pages)
    headings = []
    for level, title, page in one.outline:
        at = text.upper().find(title.upper(), begins[page - 1])
        headings.append(Heading(level, title, at))
    headings.sort(key=lambda heading: heading.begin)
    return ParsedText(text, tuple(begins), tuple(headings), title=f"{one.company} {YEAR} annual report")


def report(one: Report, number: int) -> tuple[Index, list[Asked]]:
    parsed = parsed_report(one)
    found = Index(parsed.title, [(0, *piece) for piece in pieces_of(parsed, "application/pdf")])
    # Pages without text have no number in the columns; these reports have none.
    asked = [
        Asked(question.text, frozenset(page - 1 for page in question.pages), number % FOLDS, question.kind)
        for question in one.questions
    ]
    return found, asked


# --- vectors ---------------------------------------------------------------------------------------


async def embed(texts: Sequence[str], folder: Path | None) -> Vector:
    paths = Paths(find_home())
    host = build_host(paths, model_library(paths), Settings())
    try:
        key = hashlib.sha256("\0".join((await host.embedding_fingerprint(), *texts)).encode()).hexdigest()[
            :16
        ]
        file = None if folder is None else folder / f"{key}.npy"
        if file is not None and file.is_file():
            return np.asarray(np.load(file), np.float32)
        made: list[list[float]] = []
        for at in range(0, len(texts), 16):
            made.extend(await host.embed(texts[at : at + 16]))
        vectors = np.array(made, np.float32)
        if file is not None:
            np.save(file, vectors)
        return vectors
    finally:
        await host.close()


# --- measuring -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """The parts of the best pages or documents for a question, and which of them are right."""

    asked: Asked
    owners: NDArray[np.int64]
    parts: Parts

    def order(self, weights: GrainWeights) -> list[int]:
        best = np.argsort(-total(self.parts, weights), kind="stable")[: max(KS)]
        return [int(owner) for owner in self.owners[best]]


def ndcg(right: frozenset[int], order: Sequence[int], k: int = 10) -> float:
    gains = 1 / np.log2(np.arange(2, k + 2))
    reached = sum(float(gains[at]) for at, one in enumerate(order[:k]) if one in right)
    return reached / float(gains[: len(right)].sum())


def recall(right: frozenset[int], order: Sequence[int], k: int = 10) -> float:
    return len(right.intersection(order[:k])) / len(right)


def case(
    index: Index, asked: Asked, vector: Vector | None, grain: Grain, postings: Sequence[ChunkPosting]
) -> Case:
    cosine = None
    if vector is not None and index.vectors is not None:
        cosine = (index.vectors @ vector).astype(float)
    evidence = gather(index.columns, index.allowed, postings, cosine)
    parts = weigh(index.columns, evidence, Weights()).parts
    of = of_pages if grain is Grain.PAGE else of_documents
    owned = of(index.columns, parts, index.allowed)
    chosen = np.unique(
        np.concatenate([np.argsort(-values, kind="stable")[:KEPT] for values in owned.values()])
    )
    return Case(asked, chosen, {name: values[chosen] for name, values in owned.items()})


def fitted(cases: Sequence[Case], measure: Any, start: GrainWeights) -> GrainWeights:
    """Fits the weights by steps up and down, each kept if it helps by more than chance rounding does."""

    def reached(weights: GrainWeights) -> float:
        found = [measure(one.asked.right, one.order(weights)) for one in cases]
        return float(np.mean(found))

    best, value = start, reached(start)
    for step in (0.2, 0.1, 0.05):
        for one in fields(GrainWeights):
            for change in (step, -step):
                while True:
                    tried = replace(best, **{one.name: round(getattr(best, one.name) + change, 3)})
                    if getattr(tried, one.name) < 0 or (now := reached(tried)) <= value + 1e-4:
                        break
                    best, value = tried, now
    return best


@dataclass(frozen=True)
class Kind:
    """One kind of questions: how a result is measured, and its cases with and without vectors."""

    name: str
    grain: Grain
    cases: list[Case]
    words_only: list[Case]
    untabled: list[Case]
    plain: list[Case]

    def figures(self, cases: Sequence[Case], weights: GrainWeights) -> tuple[float, ...]:
        orders = [(one.asked.right, one.order(weights)) for one in cases]
        if self.grain is Grain.DOCUMENT:
            return (float(np.mean([ndcg(right, order) for right, order in orders])),)
        return tuple(float(np.mean([recall(right, order, k) for right, order in orders])) for k in KS)

    def table(self, weights: GrainWeights) -> None:
        own = "document" if self.grain is Grain.DOCUMENT else "page"
        print(f"\n{self.name}: {len(self.cases)} questions, {self.head}")
        for name, cases, used in (
            (f"BM25 of the {own}", self.plain, GrainWeights(**{own: 1.0})),
            ("cosine of the best chunk", self.plain, GrainWeights(semantic=1.0)),
            ("ranking, words only", self.words_only, weights),
            ("ranking, without the table", self.untabled, weights),
            ("ranking", self.cases, weights),
        ):
            print(f"  {name:<28}" + "".join(f"{value:>8.3f}" for value in self.figures(cases, used)))

    @property
    def head(self) -> str:
        return (
            "nDCG@10"
            if self.grain is Grain.DOCUMENT
            else f"share of the right pages @{', '.join(map(str, KS))}"
        )

    def check(self, start: GrainWeights) -> None:
        measure = ndcg if self.grain is Grain.DOCUMENT else recall
        print(f"\n{self.name}, fitted on all: {_shown(fitted(self.cases, measure, start))}")
        left_out: list[float] = []
        for fold in range(FOLDS):
            used = fitted([one for one in self.cases if one.asked.fold != fold], measure, start)
            left_out.extend(
                measure(one.asked.right, one.order(used)) for one in self.cases if one.asked.fold == fold
            )
        print(f"  fitted without each fifth in turn, measured on it, @10: {np.mean(left_out):.3f}")


def _shown(weights: GrainWeights) -> str:
    return ", ".join(f"{one.name}={getattr(weights, one.name)}" for one in fields(weights))


async def kind(
    name: str, grain: Grain, parts: Sequence[tuple[Index, list[Asked]]], folder: Path | None
) -> Kind:
    vectors = await embed([text for index, _ in parts for text in index.texts], folder)
    questions = [one.text for _, asked in parts for one in asked]
    whole = await embed(questions, folder)
    about = await embed([index.embedded(one.text) for index, asked in parts for one in asked], folder)
    found = Kind(name, grain, [], [], [], [])
    first = 0
    for index, asked in parts:
        index.vectors = vectors[first : first + len(index.texts)]
        first += len(index.texts)
        for one in asked:
            number = len(found.cases)
            postings = index.postings(one.text)
            untabled = index.postings(one.text, table=False)
            found.cases.append(case(index, one, about[number], grain, postings))
            found.words_only.append(case(index, one, None, grain, postings))
            found.untabled.append(case(index, one, about[number], grain, untabled))
            found.plain.append(case(index, one, whole[number], grain, index.plain(one.text)))
    return found


async def main(data: dict[str, Any], folder: Path | None, *, check: bool) -> None:
    weights = Weights()
    made_up = [report(one, number) for number, one in enumerate(reports())]
    pages = await kind("Made-up annual reports", Grain.PAGE, made_up, folder)
    pages.table(weights.page)
    documents = await kind("SciFact", Grain.DOCUMENT, [scifact(data)], folder)
    documents.table(weights.document)
    if check:
        pages.check(weights.page)
        documents.check(weights.document)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", metavar="SCIFACT.json", type=Path, help="the data")
    parser.add_argument("--vectors", metavar="FOLDER", type=Path, help="where vectors are kept")
    parser.add_argument("--check", action="store_true", help="also leave parts out and measure on them")
    given = parser.parse_args()
    if not given.path.is_file():
        sys.exit(f"{given.path} is not a file")
    if given.vectors is not None and not given.vectors.is_dir():
        sys.exit(f"{given.vectors} is not a folder")
    asyncio.run(main(json.loads(given.path.read_text("utf-8")), given.vectors, check=given.check))
