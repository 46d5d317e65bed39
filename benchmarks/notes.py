"""Measures suggested links: `python -m benchmarks.notes VAULT.json…`.

A vault, which is not part of this project, has `notes` (`path`, `text` without its links, `links`: the paths
they led to). The figures are the mean reciprocal rank of the first right note and the share of the right ones
among the first 10, beside those of BM25, of the cosine of means, of both, and of titles that are mentioned;
then without each part in turn.

With `--check`, the weights are fitted: on all notes, without a fifth of them in turn and measured on it, and
without each vault in turn if there are several. `--vectors FOLDER` keeps the vectors there for the next time.
`--scale N` measures the time for N made-up notes instead.
"""

import argparse
import asyncio
import json
import random
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atlas_desktop.services.notes.reading import read_note
from benchmarks.documents import context_of, embed
from memory.notes.markup import title_of
from memory.notes.names import NoteText
from memory.notes.suggesting import PARTS, LinkSuggester, SuggestionWeights

K = 10
FOLDS = 5
STEPS = 300
RATE = 0.15
RIDGE = 0.01
FITTED = tuple(name for name in PARTS if name not in {"linked", "tags"})
"""The parts that a vault without links can fit; tags are too seldom there."""
WORDS_IN_A_NOTE = 250
CHUNKS_IN_A_NOTE = 3
DIMENSIONS = 384
Values = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """A note that links: the parts of all notes (rows in the order of `PARTS`), the cosines of their means
    with its own, scaled to between 0 and 1, its own row, the right rows, and the fold that it is left out
    with."""

    parts: Values
    cosine: Values
    row: int
    right: NDArray[np.int64]
    fold: int

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

    def figures(self, weights: Values, among: Sequence[Asked] | None = None) -> tuple[float, float]:
        """Returns the mean reciprocal rank, and the share among the first 10."""
        found = [one.figures(weights @ one.parts) for one in (self.asked if among is None else among)]
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
            asked.append(Asked(parts, cosine, ids.index(one["path"]), np.array(right), number % FOLDS))
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


def check(vaults: Sequence[Vault]) -> None:
    weights = fitted([vault.asked for vault in vaults])
    shown = ", ".join(
        f"{name} {value:.2f}" for name, value in zip(PARTS, weights / weights.sum(), strict=True)
    )
    print(f"\nFitted on all: {shown}")
    for vault in vaults:
        print(f"  {vault.name:<24}{_shown(vault.figures(weights))}")
    print("Fitted without each fifth of the notes in turn, measured on it:")
    left_out: list[list[tuple[float, float]]] = [[] for _ in vaults]
    for fold in range(FOLDS):
        weights = fitted([[one for one in vault.asked if one.fold != fold] for vault in vaults])
        for vault, found in zip(vaults, left_out, strict=True):
            found.extend(one.figures(weights @ one.parts) for one in vault.asked if one.fold == fold)
    for vault, found in zip(vaults, left_out, strict=True):
        print(f"  {vault.name:<24}{_shown(np.mean(found, axis=0))}")
    if len(vaults) > 1:
        print("Fitted without each vault in turn, measured on it:")
        for vault in vaults:
            weights = fitted([one.asked for one in vaults if one is not vault])
            print(f"  {vault.name:<24}{_shown(vault.figures(weights))}")


def table(vault: Vault) -> None:
    weights = array_of(SuggestionWeights())
    print(f"\n{vault.name}: {vault.notes} notes, {len(vault.asked)} of them link; MRR, recall@{K}")
    rows = [
        ("BM25", only("words")),
        ("titles mentioned", only("mention")),
        ("suggestions", weights),
        ("  without vectors", array_of(replace(SuggestionWeights(), chunk=0.0, meaning=0.0))),
        *(
            (f"  without {name}", np.where(np.array(PARTS) == name, 0.0, weights))
            for name in PARTS
            if name != "linked"
        ),
    ]
    for name, words in (("cosine of means", 0.0), ("both", 1.0)):
        found = [one.figures(one.cosine + words * (only("words") @ one.parts)) for one in vault.asked]
        print(f"  {name:<24}{_shown(np.mean(found, axis=0))}")
    for name, used in rows:
        print(f"  {name:<24}{_shown(vault.figures(used))}")


def _shown(figures: Sequence[float] | Values) -> str:
    return "".join(f"{float(value):>8.3f}" for value in figures)


# --- speed -----------------------------------------------------------------------------------------


def scale(n: int) -> None:
    """Prints the time to build an index of made-up notes, to change it and to ask it."""
    chance = random.Random(1)
    numbers = np.random.default_rng(1)
    syllables = ["ba", "do", "ke", "li", "mu", "ra", "si", "to", "vu", "ne", "ga", "pi"]
    words = ["".join(chance.choices(syllables, k=chance.randint(2, 4))) for _ in range(20_000)]
    # As in real texts, the word of rank r is used as often as 1/r says.
    often = np.cumsum(1 / np.arange(1, len(words) + 1))
    notes = []
    for number in range(n):
        title = " ".join(chance.choices(words, k=chance.randint(1, 3)))
        text = " ".join(chance.choices(words, cum_weights=list(often), k=WORDS_IN_A_NOTE))
        notes.append(NoteText(str(number), title, text, path=f"{number % 50}/{title}.md"))
    vectors = numbers.normal(size=(n, CHUNKS_IN_A_NOTE, DIMENSIONS)).astype(np.float32)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    suggester = LinkSuggester()
    began = time.perf_counter()
    for note, own in zip(notes, vectors, strict=True):
        suggester.put(note, own)
    read_in = time.perf_counter() - began
    suggester.suggest("0")
    built = time.perf_counter() - began
    took = []
    for number in range(0, n, max(1, n // 200)):
        began = time.perf_counter()
        suggester.suggest(str(number))
        took.append(1000 * (time.perf_counter() - began))
    suggester.put(notes[0], vectors[0])
    began = time.perf_counter()
    suggester.suggest("0")
    again = time.perf_counter() - began
    began = time.perf_counter()
    suggester.mentions("1")
    mentioned = time.perf_counter() - began
    used = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{n:,} notes: read {read_in:.1f} s, first suggestions after {built:.1f} s, {used:,.0f} MB")
    print(f"  suggestions {np.median(took):.0f} ms, p95 {np.percentile(took, 95):.0f} ms")
    print(f"  suggestions after a change {1000 * again:.0f} ms, mentions {1000 * mentioned:.0f} ms")


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
    given = parser.parse_args()
    for file in given.paths:
        if not file.is_file():
            sys.exit(f"{file} is not a file")
    if given.vectors is not None and not given.vectors.is_dir():
        sys.exit(f"{given.vectors} is not a folder")
    if given.scale:
        scale(given.scale)
    elif not given.paths:
        parser.error("give a vault, or --scale")
    else:
        data = [(file.stem, json.loads(file.read_text("utf-8"))) for file in given.paths]
        asyncio.run(main(data, given.vectors, fit=given.check))
