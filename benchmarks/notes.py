"""Measures suggested links: `python -m benchmarks.notes VAULT.json…`.

A vault, which is not part of this project, has `notes` (`path`, `text` without its links, `links`: the paths
they led to). The figures are the mean reciprocal rank of the first right note and the share of the right ones
among the first 10, beside those of BM25, of the cosine of means, of both, and of titles that are mentioned;
then without each part in turn.

With `--check`, the weights are fitted: on all notes, without a fifth of them in turn and measured on it, and
without each vault in turn if there are several. `--vectors FOLDER` keeps the vectors there for the next time.
`--scale N` measures the time for N made-up notes instead, `--import N` that to import them from a folder.
"""

import argparse
import asyncio
import json
import random
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from atlas_desktop.services.models import Model
from atlas_desktop.services.notes.notebook import read_note
from atlas_desktop.services.room import RoomFactory
from atlas_desktop.settings.schema import Settings
from benchmarks.documents import context_of, embed
from memory.clock import SystemClock
from memory.entities import RoomKind
from memory.jobs.foreground_gate import ForegroundGate
from memory.notes.markup import title_of
from memory.notes.names import NoteText
from memory.notes.suggesting import PARTS, WITH_PROPERTIES, LinkSuggester, SuggestionWeights
from memory.storage.room import open_room
from memory.vault.keys import RoomKey
from tests.fakes.models import HashEmbedder, ScriptedChatModel, WordCounter
from tests.fakes.vector_index import BruteForceVectorIndex

K = 10
FOLDS = 5
STEPS = 300
RATE = 0.15
RIDGE = 0.01
FITTED = tuple(name for name in PARTS if name not in {"linked", "tags"})
"""The parts that a vault without links can fit; tags are too seldom there."""
WORDS_IN_A_NOTE = 150
CHUNKS_IN_A_NOTE = 3
DIMENSIONS = 384
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """A note that links: the parts of all notes (rows in the order of `PARTS`), the cosines of their means
    with its own, scaled to between 0 and 1, its own row, the right rows, the fold that it is left out with,
    and whether it has properties."""

    parts: Values
    cosine: Values
    row: int
    right: NDArray[np.int64]
    fold: int
    properties: bool

    def order(self, values: Values) -> NDArray[np.int64]:
        values = values.copy()
        values[self.row] = -np.inf
        return np.asarray(np.argsort(-values, kind="stable")[:K])

    def figures(self, values: Values) -> tuple[float, float]:
        found = np.isin(self.order(values), self.right)
        first = int(found.argmax()) if found.any() else None
        return 0.0 if first is None else 1 / (1 + first), float(found.sum()) / min(K, len(self.right))


@dataclass(frozen=True)
class Vault:
    name: str
    notes: int
    asked: list[Asked]

    def figures(self, weights: Values, with_properties: Values | None = None) -> tuple[float, float]:
        """Returns the mean reciprocal rank, and the share among the first 10. `with_properties` are the
        weights for notes that have any."""
        found = [
            one.figures(
                (with_properties if one.properties and with_properties is not None else weights) @ one.parts
            )
            for one in self.asked
        ]
        mean = np.mean(found, axis=0)
        return float(mean[0]), float(mean[1])


async def read(name: str, data: Sequence[dict[str, Any]], folder: Path | None) -> Vault:
    notes: list[NoteText] = []
    texts: list[str] = []
    owners: list[int] = []
    for number, one in enumerate(data):
        new = read_note(title_of(one["path"]), one["text"])
        notes.append(
            NoteText(
                one["path"],
                new.markup.title or new.title,
                new.parsed.text,
                new.markup.aliases,
                new.markup.tags,
                one["path"],
                new.markup.quiet,
                new.markup.properties,
            )
        )
        for chunk in new.chunks:
            texts.append(f"{context_of(notes[-1].title, chunk)}\n{new.parsed.text[chunk.begin : chunk.end]}")
            owners.append(number)
    vectors = await embed(texts, folder)
    suggester = LinkSuggester()
    for number, note in enumerate(notes):
        suggester.put(note, vectors[np.array(owners) == number])
    means = np.zeros((len(notes), vectors.shape[1]))
    np.add.at(means, owners, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    by_id = np.argsort([note.id for note in notes], kind="stable")
    asked = []
    for number, one in enumerate(data):
        ids, evidence = suggester.evidence(one["path"])
        right = [ids.index(link) for link in one["links"] if link in ids and link != one["path"]]
        if right:
            parts = np.array([evidence.parts[name] for name in PARTS])
            cosine = (means @ means[number])[by_id]
            cosine = (cosine - cosine.min()) / max(
                float(np.delete(cosine, ids.index(one["path"])).max() - cosine.min()), 1e-9
            )
            asked.append(
                Asked(
                    parts,
                    cosine,
                    ids.index(one["path"]),
                    np.array(right),
                    number % FOLDS,
                    evidence.properties,
                )
            )
    return Vault(name, len(notes), asked)


# --- weights ---------------------------------------------------------------------------------------


def array_of(weights: SuggestionWeights) -> Values:
    return np.array([getattr(weights, name) for name in PARTS])


def only(*names: str) -> Values:
    return np.array([1.0 if name in names else 0.0 for name in PARTS])


def fitted(groups: Sequence[Sequence[Asked]]) -> Values:
    """Fits weights of at least 0: the right notes get the highest share of a softmax over all. Each vault
    counts as much as another."""
    used = np.array([name in FITTED for name in PARTS])
    weights, mean, square = np.zeros(len(PARTS)), np.zeros(len(PARTS)), np.zeros(len(PARTS))
    for step in range(1, STEPS + 1):
        slope = RIDGE * weights
        for group in groups:
            slope += sum(_slope(one, weights) for one in group) / len(group) / len(groups)
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        change = mean / (1 - 0.9**step) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
        weights = np.where(used, np.maximum(weights - RATE * change, 0.0), 0.0)
    return weights


def _slope(one: Asked, weights: Values) -> Values:
    scores = weights @ one.parts
    scores[one.row] = -np.inf
    shares = np.exp(scores - scores.max())
    right = np.zeros(len(shares))
    right[one.right] = shares[one.right] / shares[one.right].sum()
    return np.asarray(one.parts @ (shares / shares.sum() - right))


def both(vaults: Sequence[Sequence[Asked]]) -> tuple[Values, Values]:
    """Returns the weights fitted to notes without properties, and to those with some."""
    found = []
    for wanted in (False, True):
        groups = [own for vault in vaults if (own := [one for one in vault if one.properties is wanted])]
        found.append(fitted(groups) if groups else array_of(SuggestionWeights()))
    return found[0], found[1]


def check(vaults: Sequence[Vault]) -> None:
    weights = both([vault.asked for vault in vaults])
    for name, values in zip(("without", "with"), weights, strict=True):
        shown = ", ".join(
            f"{part} {value:.2f}" for part, value in zip(PARTS, values / max(values.sum(), 1e-9), strict=True)
        )
        print(f"\nFitted on all notes {name} properties: {shown}")
    for vault in vaults:
        print(f"  {vault.name:<24}{_shown(vault.figures(*weights))}")
    print("Fitted without each fifth of the notes in turn, measured on it:")
    left_out: list[list[tuple[float, float]]] = [[] for _ in vaults]
    for fold in range(FOLDS):
        weights = both([[one for one in vault.asked if one.fold != fold] for vault in vaults])
        for vault, found in zip(vaults, left_out, strict=True):
            found.extend(
                one.figures(weights[one.properties] @ one.parts) for one in vault.asked if one.fold == fold
            )
    for vault, found in zip(vaults, left_out, strict=True):
        print(f"  {vault.name:<24}{_shown(np.mean(found, axis=0))}")
    if len(vaults) > 1:
        print("Fitted without each vault in turn, measured on it:")
        for vault in vaults:
            weights = both([one.asked for one in vaults if one is not vault])
            print(f"  {vault.name:<24}{_shown(vault.figures(*weights))}")


def table(vault: Vault) -> None:
    weights, special = array_of(SuggestionWeights()), array_of(WITH_PROPERTIES)
    print(f"\n{vault.name}: {vault.notes} notes, {len(vault.asked)} of them link; MRR, recall@{K}")
    rows: list[tuple[str, Values, Values | None]] = [
        ("BM25", only("words"), None),
        ("titles mentioned", only("mention"), None),
        ("suggestions", weights, special),
        ("  the same weights for all", weights, None),
        (
            "  without vectors",
            _without(weights, "chunk", "meaning"),
            _without(special, "chunk", "meaning"),
        ),
        *(
            (f"  without {name}", _without(weights, name), _without(special, name))
            for name in PARTS
            if name != "linked"
        ),
    ]
    for name, words in (("cosine of means", 0.0), ("both", 1.0)):
        found = [one.figures(one.cosine + words * (only("words") @ one.parts)) for one in vault.asked]
        print(f"  {name:<24}{_shown(np.mean(found, axis=0))}")
    for name, used, used_with in rows:
        print(f"  {name:<24}{_shown(vault.figures(used, used_with))}")


def _without(weights: Values, *names: str) -> Values:
    return np.where(np.isin(np.array(PARTS), names), 0.0, weights)


def _shown(figures: Sequence[float] | Values) -> str:
    return "".join(f"{float(value):>8.3f}" for value in figures)


# --- speed -----------------------------------------------------------------------------------------


def words_at_random(seed: int) -> Callable[[int], list[str]]:
    """Returns a function that makes so many words. As in real texts, the word of rank r is used as often as
    1/r says; a negative number makes words that are equally frequent."""
    chance = random.Random(seed)
    syllables = ["ba", "do", "ke", "li", "mu", "ra", "si", "to", "vu", "ne", "ga", "pi"]
    words = ["".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(20_000)]
    often = list(np.cumsum(1 / np.arange(1, len(words) + 1)))
    return lambda count: (
        chance.choices(words, k=-count) if count < 0 else chance.choices(words, cum_weights=often, k=count)
    )


def peak() -> float:
    """Returns the peak resident memory of this process so far, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Timer:
    """Wall clock and processor time, in seconds."""

    def __enter__(self) -> Self:
        self._began = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_error: object) -> None:
        self.wall = time.perf_counter() - self._began[0]
        self.used = time.process_time() - self._began[1]

    def __str__(self) -> str:
        return f"{self.wall:.1f} s, {self.used:.1f} s of processor time"


def shown(timers: Sequence[Timer]) -> str:
    walls, used = (
        [1000 * value for value in found] for found in zip(*((t.wall, t.used) for t in timers), strict=True)
    )
    return (
        f"p50 {np.median(walls):>4.0f} ms, p95 {np.percentile(walls, 95):>4.0f} ms, "
        f"processor time {np.median(used):>4.0f} ms"
    )


def scale(n: int) -> None:
    """Prints the time to build an index of made-up notes, to change it and to ask it."""
    words = words_at_random(1)
    numbers = np.random.default_rng(1)
    notes = []
    for number in range(n):
        title = " ".join(words(-(1 + number % 3)))
        text = " ".join(words(WORDS_IN_A_NOTE))
        notes.append(NoteText(str(number), title, text, path=f"{number % 50}/{title}.md"))
    vectors = numbers.normal(size=(n, CHUNKS_IN_A_NOTE, DIMENSIONS)).astype(np.float32)
    before = peak()
    suggester = LinkSuggester()
    with Timer() as first:
        for note, own in zip(notes, vectors, strict=True):
            suggester.put(note, own)
        suggester.suggest("0")
    print(f"{n:,} notes of {WORDS_IN_A_NOTE} words: first suggestions after {first}")

    def asked(change: Callable[[int], None], question: Callable[[str], object] = suggester.suggest) -> str:
        timers = []
        for number in range(0, n, max(1, n // 100)):
            with Timer() as timer:
                change(number)
                question(str(number))
            timers.append(timer)
        return shown(timers)

    def put(number: int, **changes: Any) -> None:
        links = [str((number + 7) % n)] if changes.pop("linked", False) else []
        suggester.put(replace(notes[number], **changes), vectors[(number + 1) % n], links)

    print(f"  suggestions             {asked(lambda _number: None)}")
    print(f"  after a changed text    {asked(lambda at: put(at, text=notes[(at + 1) % n].text))}")
    print(f"  after a changed title   {asked(lambda at: put(at, title=' '.join(words(-2))))}")
    print(f"  after a tag and a link  {asked(lambda at: put(at, tags=('a',), linked=True))}")
    print(f"  mentions                {asked(lambda _number: None, suggester.mentions)}")
    print(f"  {peak() - before:,.0f} MB of memory, {vectors.nbytes / 1e6:,.0f} of them vectors")


async def in_a_room(n: int) -> None:
    """Prints the time to import a made-up folder into an encrypted room, and to suggest links there."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "vault"
        write_vault(folder, n)
        with Timer() as bare:
            store_plainly(folder, Path(place) / "plain.db")
        store = await open_room(
            Path(place) / "rooms" / "open.db", RoomKey.generate(), RoomKind.OPEN, SystemClock(), create=True
        )
        model = Model(ScriptedChatModel(), WordCounter(), nothing, embedder=HashEmbedder())
        room = RoomFactory(
            clock=SystemClock(),
            gate=ForegroundGate(),
            power=None,
            model=lambda: model,
            settings=Settings,
            vector_index=lambda _passages: BruteForceVectorIndex(),
        ).room(store, None)
        with Timer() as taken:
            report = await room.note_folders.take(folder)
        print(f"{report.notes:,} notes, {report.links:,} links imported: {taken}")
        print(
            f"  {n / taken.wall:,.0f} notes/s to searchable by words, {n / taken.used:,.0f} a second of "
            f"processor time; {taken.wall / bare.wall:.1f} times as long as into a plain table of words"
        )
        hits = await room.notes.search((folder / "0").glob("*.md").__next__().stem, 1)
        print(f"  found by its words: {bool(hits.hits)}")
        before = peak()
        one, other, *_ = await room.notes.list()
        with Timer() as first:
            await room.notes.suggest(one.id)
        print(f"first suggestions, without vectors: {first}; {peak() - before:,.0f} MB")
        timers = []
        for number in range(20):
            await room.notes.edit(other.id, f"Rewritten {number} times, beside {one.title}.")
            with Timer() as timer:
                await room.notes.suggest(one.id)
            timers.append(timer)
        print(f"  after a changed note    {shown(timers)}")
        await store.close()


async def nothing() -> None:
    """Does nothing: no model is loaded that could be given back."""


def write_vault(folder: Path, n: int) -> None:
    """Writes made-up Markdown files, each with a heading, a tag and three links."""
    words = words_at_random(2)
    titles = [f"{' '.join(words(-2))} {number}" for number in range(n)]
    for number, title in enumerate(titles):
        linked = " ".join(f"[[{titles[(number * step + 1) % n]}]]" for step in (3, 5, 7))
        file = folder / str(number % 50) / f"{title}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"# {title}\n\n{' '.join(words(WORDS_IN_A_NOTE))}\n\n{linked} #{words(1)[0]}\n")


def store_plainly(folder: Path, database: Path) -> None:
    """Reads the files into a table of words, without encryption, structure or links."""
    with closing(sqlite3.connect(database)) as conn:
        conn.execute("CREATE VIRTUAL TABLE notes USING fts5 (title, text)")
        for path in sorted(folder.rglob("*.md")):
            conn.execute("INSERT INTO notes VALUES (?, ?)", (path.stem, path.read_text()))
        conn.commit()


async def main(read_in: Sequence[tuple[str, Any]], folder: Path | None, *, fit: bool) -> None:
    vaults = [await read(name, data["notes"], folder) for name, data in read_in]
    for vault in vaults:
        table(vault)
    if fit:
        check(vaults)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", metavar="VAULT.json", type=Path, nargs="*", help="the data")
    parser.add_argument("--vectors", metavar="FOLDER", type=Path, help="where vectors are kept")
    parser.add_argument("--check", action="store_true", help="also fit the weights, and leave parts out")
    parser.add_argument("--scale", metavar="N", type=int, help="measure the time for so many made-up notes")
    parser.add_argument(
        "--import", dest="imported", metavar="N", type=int, help="import so many made-up notes"
    )
    given = parser.parse_args()
    for file in given.paths:
        if not file.is_file():
            sys.exit(f"{file} is not a file")
    if given.vectors is not None and not given.vectors.is_dir():
        sys.exit(f"{given.vectors} is not a folder")
    if given.scale:
        scale(given.scale)
    elif given.imported:
        asyncio.run(in_a_room(given.imported))
    elif not given.paths:
        parser.error("give a vault, --scale or --import")
    else:
        data = [(file.stem, json.loads(file.read_text("utf-8"))) for file in given.paths]
        asyncio.run(main(data, given.vectors, fit=given.check))
