"""Scores chunks, pages and documents for a question: by words, by meaning, by phrases and names."""

import math
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cache, cached_property
from importlib.resources import files
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from memory.documents.entities import ChunkEntry, ChunkPosting, DocumentEntry, Grain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


NOBODY = -1


@dataclass(slots=True)
class ChunkColumns:
    """The chunks in the order of their documents and numbers. A row is a chunk.

    `document` and `page` number the documents and the pages (a document without pages is one page).
    `before` and `after` are the rows of the neighbours in the document, `NOBODY` at its ends. `words` are the
    lengths of chunks, `page_words` and `document_words` those of all chunks of a page and a document.
    `by_seq` is the row of each `seq`, or `NOBODY`.
    """

    seq: "NDArray[np.int64]"
    document: "NDArray[np.int64]"
    page: "NDArray[np.int64]"
    before: "NDArray[np.int64]"
    after: "NDArray[np.int64]"
    words: "NDArray[np.float64]"
    page_words: "NDArray[np.float64]"
    document_words: "NDArray[np.float64]"
    ids: tuple[str, ...]
    documents: tuple[str, ...]
    rows: dict[str, int] = field(repr=False)
    by_seq: "NDArray[np.int64]"

    def __len__(self) -> int:
        return len(self.ids)

    def rows_of(self, seqs: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Returns the rows of chunks, by `seq` (0 and more); those that are unknown are left out."""
        import numpy as np

        rows = self.by_seq[seqs[seqs < len(self.by_seq)]]
        return np.asarray(rows[rows != NOBODY])


@dataclass(frozen=True, slots=True)
class _Block:
    """The chunks of one document, in order; `page` numbers its pages from 0."""

    seq: "NDArray[np.int64]"
    page: "NDArray[np.int64]"
    words: "NDArray[np.float64]"
    pages: int
    ids: tuple[str, ...]


def columns(entries: Iterable[ChunkEntry]) -> ChunkColumns:
    """Returns the columns of chunks, in any order."""
    library = Library()
    library.add(entries)
    return library.columns


def _block(entries: Iterable[ChunkEntry]) -> _Block:
    import numpy as np

    ordered = sorted(entries, key=lambda one: one.number)
    pages: dict[int | None, int] = {}
    page = [pages.setdefault(one.page, len(pages)) for one in ordered]
    return _Block(
        np.array([one.seq for one in ordered], np.int64),
        np.array(page, np.int64),
        np.array([one.words for one in ordered], np.float64),
        len(pages),
        tuple(one.id for one in ordered),
    )


def _joined(blocks: Mapping[str, _Block]) -> ChunkColumns:
    import numpy as np

    names = tuple(sorted(blocks))
    ordered = [blocks[name] for name in names]
    sizes = np.array([len(one.ids) for one in ordered], np.int64)
    pages = np.array([one.pages for one in ordered], np.int64)
    document = np.repeat(np.arange(len(names)), sizes)
    page = _concatenated([one.page for one in ordered], np.int64)
    page += np.repeat(np.cumsum(pages) - pages, sizes)
    words = _concatenated([one.words for one in ordered], np.float64)
    seq = _concatenated([one.seq for one in ordered], np.int64)
    rows = np.arange(len(seq))
    same = np.flatnonzero(document[1:] == document[:-1])
    before, after = np.full(len(seq), NOBODY), np.full(len(seq), NOBODY)
    after[same], before[same + 1] = same + 1, same
    by_seq = np.full(int(seq.max(initial=-1)) + 1, NOBODY)
    by_seq[seq] = rows
    ids = tuple(chain.from_iterable(one.ids for one in ordered))
    return ChunkColumns(
        seq=seq,
        document=document,
        page=page,
        before=before,
        after=after,
        words=words,
        page_words=np.asarray(np.bincount(page, words, int(pages.sum())), np.float64),
        document_words=np.asarray(np.bincount(document, words, len(names)), np.float64),
        ids=ids,
        documents=names,
        rows=dict(zip(ids, range(len(ids)), strict=True)),
        by_seq=by_seq,
    )


def _concatenated(parts: "Sequence[NDArray[Any]]", kind: Any) -> "NDArray[Any]":
    import numpy as np

    return np.concatenate([np.zeros(0, kind), *parts])


class Library:
    """The chunks and documents of a room in memory, kept in sync with it.

    Only the documents that have changed are sorted again: a change among 100,000 chunks takes about 20 ms.
    """

    def __init__(self) -> None:
        self._chunks: dict[str, dict[int, ChunkEntry]] = {}
        self._document_of: dict[int, str] = {}
        self._blocks: dict[str, _Block] = {}
        self.documents: dict[str, DocumentEntry] = {}
        self._columns: ChunkColumns | None = None

    @property
    def columns(self) -> ChunkColumns:
        if self._columns is None:
            for name, chunks in self._chunks.items():
                if name not in self._blocks:
                    self._blocks[name] = _block(chunks.values())
            self._columns = _joined(self._blocks)
        return self._columns

    def add(self, entries: Iterable[ChunkEntry]) -> None:
        """Adds chunks. One that is known already, by `seq`, is replaced."""
        for one in entries:
            if self._document_of.get(one.seq, one.document) != one.document:
                self._remove(one.seq)
            self._document_of[one.seq] = one.document
            self._chunks.setdefault(one.document, {})[one.seq] = one
            self._blocks.pop(one.document, None)
        self._columns = None

    def replace(self, changed: Collection[int], entries: Sequence[ChunkEntry]) -> None:
        """Removes chunks (by `seq`) and adds those of them that still exist."""
        for seq in changed:
            self._remove(seq)
        self.add(entries)

    def replace_documents(self, changed: Collection[str], entries: Sequence[DocumentEntry]) -> None:
        for one in changed:
            self.documents.pop(one, None)
        self.documents.update((one.id, one) for one in entries)

    def _remove(self, seq: int) -> None:
        document = self._document_of.pop(seq, None)
        if document is None:
            return
        chunks = self._chunks[document]
        del chunks[seq]
        if not chunks:
            del self._chunks[document]
        self._blocks.pop(document, None)


K1 = 1.2
B = 0.75
CONTEXT = 0.5
"""How much a word in title or headings counts, compared with one in the text."""


@dataclass(frozen=True, slots=True)
class GrainWeights:
    """How much each part of a score counts, for one grain. All parts are between 0 and 1.

    `lexical` is BM25 of the chunk, `window` of it with its neighbours, `page` and `document` of its whole
    page and document. `title` is the share of the question's words that its title and headings have.
    `semantic` is its cosine, `neighbour` the mean one of its neighbours. A page or document has those of its
    best chunk.
    """

    lexical: float = 0.0
    window: float = 0.0
    title: float = 0.0
    page: float = 0.0
    document: float = 0.0
    semantic: float = 0.0
    neighbour: float = 0.0


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights of each grain, fitted by `benchmarks.documents`."""

    chunk: GrainWeights = GrainWeights(
        lexical=0.2, window=0.2, page=0.2, document=0.3, semantic=0.8, neighbour=0.1
    )
    page: GrainWeights = GrainWeights(
        lexical=0.2, window=0.2, title=0.1, page=0.3, semantic=0.8, neighbour=0.2
    )
    document: GrainWeights = GrainWeights(lexical=0.2, window=0.2, document=0.4, semantic=0.7, neighbour=0.1)


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for each chunk, one element per row: BM25 of the chunk, of it with its neighbours, of its
    page and of its document (0 and more), the share of the question in its title and headings (0 … 1), its
    cosine and the mean cosine of its neighbours (None without vectors). `allowed` are the rows that may be
    found.
    """

    allowed: "NDArray[np.bool_]"
    lexical: "NDArray[np.float64]"
    window: "NDArray[np.float64]"
    title: "NDArray[np.float64]"
    page: "NDArray[np.float64]"
    document: "NDArray[np.float64]"
    semantic: "NDArray[np.float64] | None"
    neighbour: "NDArray[np.float64] | None"


def gather(
    columns: ChunkColumns,
    allowed: "NDArray[np.bool_]",
    postings: Sequence[ChunkPosting],
    cosine: "NDArray[np.float64] | None",
) -> Evidence:
    """Returns the evidence for each row; see `score`.

    Only the rows that contain a word, and their neighbours, are computed: most contain none.
    """
    import numpy as np

    n = len(columns)
    lexical, window, title = np.zeros(n), np.zeros(n), np.zeros(n)
    pages, documents = np.zeros(len(columns.page_words)), np.zeros(len(columns.document_words))
    before, after = columns.before, columns.after
    # NOBODY is the last element of an array that is one longer.
    words = np.append(np.where(allowed, columns.words, 0.0), 0.0)
    window_words = np.where(allowed, words[:-1] + words[before] + words[after], 0.0)
    page_words = _summed(columns.page, words[:-1], len(pages))
    document_words = _summed(columns.document, words[:-1], len(documents))
    norm, window_norm, page_norm, document_norm = map(
        _norm, (words[:-1], window_words, page_words, document_words)
    )
    size, page_size, document_size = (
        int(np.count_nonzero(lengths)) for lengths in (words[:-1], page_words, document_words)
    )
    whole = 0.0
    # Used for every word, and emptied after it: clearing 100,000 rows for each would take most of the time.
    counts, touched = np.zeros(n + 1), np.zeros(n + 1, np.bool_)
    for one in postings:
        text, context = (_found(columns, allowed, seqs) for seqs in (one.text, one.context))
        touched[context] = True
        titled = np.flatnonzero(touched[:-1])
        touched[text] = True
        at = np.flatnonzero(touched[:-1])
        rarity = one.weight * _rarity(size, len(at))
        whole += rarity
        if not len(at):
            continue
        np.add.at(counts, text, 1.0)
        np.add.at(counts, context, CONTEXT)
        own = counts[at]
        lexical[at] += rarity * _saturated(own, norm[at])
        title[titled] += rarity
        touched[before[at]] = touched[after[at]] = True
        near = np.flatnonzero(touched[:-1] & allowed)
        total = counts[near] + counts[before[near]] + counts[after[near]]
        window[near] += one.weight * _rarity(size, len(near)) * _saturated(total, window_norm[near])
        touched[:] = False
        counts[at] = 0.0
        for into, of, of_norm, of_size in (
            (pages, columns.page, page_norm, page_size),
            (documents, columns.document, document_norm, document_size),
        ):
            total = _summed(of[at], own, len(into))
            holders = np.flatnonzero(total)
            into[holders] += (
                one.weight * _rarity(of_size, len(holders)) * _saturated(total[holders], of_norm[holders])
            )
    beside = None
    if cosine is not None:
        known = np.append(np.where(allowed, cosine, np.nan), np.nan)
        both = np.stack([known[before], known[after]])
        there = ~np.isnan(both)
        held = there.sum(0)
        beside = np.where(held > 0, np.where(there, both, 0.0).sum(0) / np.maximum(held, 1), np.nan)
    return Evidence(
        allowed=allowed,
        lexical=lexical,
        window=window,
        title=title / whole if whole > 0 else title,
        page=pages[columns.page],
        document=documents[columns.document],
        semantic=cosine,
        neighbour=beside,
    )


def _found(
    columns: ChunkColumns, allowed: "NDArray[np.bool_]", seqs: "NDArray[np.int64]"
) -> "NDArray[np.int64]":
    """Returns the rows of chunks that may be found, as often as they are listed."""
    rows = columns.rows_of(seqs)
    return rows[allowed[rows]]


def _norm(lengths: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Returns how much a length (0: not allowed) slows the growth of BM25 with the count."""
    import numpy as np

    known = lengths[lengths > 0]
    mean = float(known.mean()) if len(known) else 1.0
    return np.asarray(K1 * (1 - B + B * lengths / mean))


def everywhere(
    columns: ChunkColumns, allowed: "NDArray[np.bool_]", postings: Sequence[ChunkPosting]
) -> frozenset[str]:
    """Returns the terms that occur in more than half of the pages that may be found, such as the name of a
    company in its annual report. They do not distinguish pages, but dominate the meaning of a question.
    """
    import numpy as np

    pages = len(np.unique(columns.page[allowed]))
    found = set()
    for one in postings:
        rows = _found(columns, allowed, np.concatenate([one.text, one.context]))
        if 2 * len(np.unique(columns.page[rows])) > pages:
            found.add(one.term)
    return frozenset(found)


def _summed(owner: "NDArray[np.int64]", values: "NDArray[np.float64]", size: int) -> "NDArray[np.float64]":
    import numpy as np

    return np.asarray(np.bincount(owner, values, size), np.float64)


def _rarity(n: int, holders: int) -> float:
    return math.log(1 + (n - holders + 0.5) / (holders + 0.5))


def _saturated(counts: "NDArray[np.float64]", norm: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """BM25 without the word's rarity."""
    return counts * (K1 + 1) / (counts + norm)


# --- scores ----------------------------------------------------------------------------------------


Parts = Mapping[str, "NDArray[np.float64]"]


@dataclass(frozen=True)
class Scores:
    """Scores between 0 and 1: one for each row, each page and each document of the columns; -inf where none
    of the rows may be found. `parts` are the reasons of each row, by the names in `GrainWeights`."""

    columns: ChunkColumns = field(repr=False)
    allowed: "NDArray[np.bool_]" = field(repr=False)
    parts: Parts = field(repr=False)
    weights: Weights

    # Each takes a few milliseconds, and a search needs one or two of them.

    @cached_property
    def chunk(self) -> "NDArray[np.float64]":
        import numpy as np

        return np.where(self.allowed, total(self.parts, self.weights.chunk), -np.inf)

    @cached_property
    def page(self) -> "NDArray[np.float64]":
        import numpy as np

        there = np.bincount(self.columns.page[self.allowed], minlength=len(self.columns.page_words)) > 0
        parts = of_pages(self.columns, self.parts, self.allowed)
        return np.where(there, total(parts, self.weights.page), -np.inf)

    @cached_property
    def document(self) -> "NDArray[np.float64]":
        import numpy as np

        known = (
            np.bincount(self.columns.document[self.allowed], minlength=len(self.columns.document_words)) > 0
        )
        parts = of_documents(self.columns, self.parts, self.allowed)
        return np.where(known, total(parts, self.weights.document), -np.inf)

    def of(self, columns: ChunkColumns, grain: Grain) -> "NDArray[np.float64]":
        """Returns the score of each row's chunk, page or document."""
        if grain is Grain.PAGE:
            return self.page[columns.page]
        return self.document[columns.document] if grain is Grain.DOCUMENT else self.chunk


def score(
    columns: ChunkColumns,
    allowed: "NDArray[np.bool_]",
    postings: Sequence[ChunkPosting],
    cosine: "NDArray[np.float64] | None",
    weights: Weights,
) -> Scores:
    """Returns the scores for a question. Rows that are not `allowed` neither get one nor influence others.

    `postings` are those of its words and phrases, each with its weight. `cosine` has one element per row, NaN
    where it is not known; None without vectors.
    """
    return weigh(columns, gather(columns, allowed, postings, cosine), weights)


def weigh(columns: ChunkColumns, evidence: Evidence, weights: Weights) -> Scores:
    """Returns the scores that follow from the evidence."""
    allowed = evidence.allowed
    parts = {
        name: _scaled(getattr(evidence, name), allowed) for name in ("lexical", "window", "page", "document")
    }
    parts["title"] = evidence.title
    parts["semantic"] = _between(evidence.semantic, allowed)
    parts["neighbour"] = _between(evidence.neighbour, allowed)
    return Scores(columns, allowed, parts, weights)


def best(columns: ChunkColumns, scores: Scores, grain: Grain, k: int) -> "NDArray[np.int64]":
    """Returns the rows of the best chunks, best first; with a wider grain, the best chunk of each of the best
    pages or documents. Rows, pages and documents that score 0 are left out."""
    import numpy as np

    if grain is Grain.CHUNK:
        return _first(scores.chunk, k)
    owner, of_owners = (
        (columns.page, scores.page) if grain is Grain.PAGE else (columns.document, scores.document)
    )
    chosen = _first(of_owners, k)
    place = np.full(len(of_owners), NOBODY)
    place[chosen] = np.arange(len(chosen))
    rows = np.flatnonzero((place[owner] != NOBODY) & np.isfinite(scores.chunk))
    order = rows[np.lexsort((rows, -scores.chunk[rows], place[owner[rows]]))]
    _, first = np.unique(place[owner[order]], return_index=True)
    return np.asarray(order[first])


def _first(values: "NDArray[np.float64]", k: int) -> "NDArray[np.int64]":
    """Returns where the `k` highest values above 0 are, highest first, earlier ones before equal later
    ones."""
    import numpy as np

    found = np.flatnonzero(values > 0)
    if 0 < k < len(found):
        # A full sort of 100,000 rows takes 10 ms.
        least = np.partition(values[found], len(found) - k)[len(found) - k]
        found = found[values[found] >= least]
    return np.asarray(found[np.argsort(-values[found], kind="stable")][: max(k, 0)])


def total(parts: Parts, weights: GrainWeights) -> "NDArray[np.float64]":
    """Returns the weighted mean of the parts, between 0 and 1."""
    import numpy as np

    known = {one.name: float(getattr(weights, one.name)) for one in fields(weights)}
    found = np.zeros(len(parts["lexical"]))
    for name, weight in known.items():
        if weight:
            found += weight * parts[name]
    return found / (sum(known.values()) or 1.0)


def of_pages(columns: ChunkColumns, parts: Parts, allowed: "NDArray[np.bool_]") -> Parts:
    """Returns the parts of each page: each is that of the best of its chunks."""
    return _highest(parts, columns.page, len(columns.page_words), allowed)


def of_documents(columns: ChunkColumns, parts: Parts, allowed: "NDArray[np.bool_]") -> Parts:
    """Returns the parts of each document: each is that of the best of its chunks."""
    return _highest(parts, columns.document, len(columns.document_words), allowed)


def _highest(parts: Parts, owner: "NDArray[np.int64]", size: int, allowed: "NDArray[np.bool_]") -> Parts:
    import numpy as np

    found = {}
    for name, values in parts.items():
        found[name] = np.zeros(size)
        rows = np.flatnonzero(allowed & (values > 0))
        np.maximum.at(found[name], owner[rows], values[rows])
    return found


def _scaled(values: "NDArray[np.float64]", allowed: "NDArray[np.bool_]") -> "NDArray[np.float64]":
    """Divides by the highest value of an allowed row; 0 where a row is not allowed."""
    import numpy as np

    values = np.where(allowed, values, 0.0)
    most = values.max(initial=0.0)
    return values / most if most > 0 else values


def _between(cosine: "NDArray[np.float64] | None", allowed: "NDArray[np.bool_]") -> "NDArray[np.float64]":
    """Scales the cosines of allowed rows to between 0 and 1; unknown ones are 0."""
    import numpy as np

    if cosine is None:
        return np.zeros(len(allowed))
    known = allowed & ~np.isnan(cosine)
    if not known.any():
        return np.zeros(len(allowed))
    low, high = float(cosine[known].min()), float(cosine[known].max())
    scaled = (cosine - low) / (high - low) if high > low else np.ones(len(cosine))
    return np.where(known, np.clip(scaled, 0.0, 1.0), 0.0)


PHRASE = 0.4
"""The weight of two words of the question next to each other; that of a single word is 1."""
LINE = 1.0
NAMED_STATEMENT = 4.0
LIKELY_STATEMENT = 2.0
"""The weight of all marks of a statement together, where the question names it and where it asks for one of
its lines."""
LINES_AMONG = 20_000
_PHRASE_GAP = 2
_LINE_GAP = 4
"""The most other words between the words of a phrase, and of the name of a line."""

# Instructions on how to answer, as in "Round your answer to two decimals". Documents do not contain them, and
# their rare words would outweigh the question.
_INSTRUCTS = re.compile(
    r"\b(?:answer|respond|response|reply)\b|\bround (?:it|to|up|down|your|the)\b"
    r"|\byour (?:\w+ )?(?:only )?(?:judg|resource)|\b(?:this|following|the) question\b"
    r"|\b(?:assume|imagine|pretend) (?:that )?you\b|\byou are an?\b|\bhere's\b"
    r"|\bplease (?:state|explain|base|rely|use)\b|\b(?:then|please) (?:\w+ ){0,2}state\b|\bexplain why\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.?!:;]*(?:[.:](?=\S)[^.?!:;]*)*[.?!:;]*\s*")
_UNITS = re.compile(
    r"\((?:in )?(?:usd?|us\$|\$|eur|gbp)?\s*(?:thousand|million|billion)s?\)|\(in %\)"
    r"|\bin (?:(?:usd?|us\$|us dollars?|eur|gbp) )?(?:thousand|million|billion)s\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:fy|cy|fiscal(?: year)?)\s*'?((?:19|20)?\d\d)\b", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W_]+")
_WORD = re.compile(r"[\w&]+")


@dataclass(frozen=True, slots=True)
class Looked:
    """Something to look for: `phrases` are alternatives that mean the same, in words without quotation marks.

    The words of a phrase may be in any order, with at most `gap` other words between them. `weight` is
    relative to that of a word of the question.
    """

    phrases: tuple[str, ...]
    weight: float
    gap: int = _LINE_GAP

    @property
    def match(self) -> str:
        """The expression with which FTS5 finds it in the texts of chunks."""
        return f"text : ({' OR '.join(map(self._near, self.phrases))})"

    def _near(self, phrase: str) -> str:
        words = [f'"{word}"' for word in phrase.split()]
        return words[0] if len(words) == 1 else f"NEAR({' '.join(words)}, {self.gap})"


@dataclass(frozen=True, slots=True)
class _Line:
    asked: tuple[str, ...]
    called: tuple[str, ...]
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Statement:
    asked: tuple[str, ...]
    marks: tuple[str, ...]


def subject(question: str) -> str:
    """Returns the question without sentences that say how to answer it, with years in full ("FY18" becomes
    "2018"). Returns all of it if nothing else is left."""
    kept = [part for part in _SENTENCE.findall(question) if part and not _INSTRUCTS.search(part)]
    left = _UNITS.sub(" ", "".join(kept))
    left = " ".join(_YEAR.sub(lambda match: _full_year(match[1]), left).split())
    return left if re.search(r"\w{2}", left) else question


def names(question: str) -> list[str]:
    """Returns the words of the question that may be names: those with a capital letter or a digit."""
    words = dict.fromkeys(_TOKEN.findall(question))
    return [word for word in words if any(char.isupper() or char.isdigit() for char in word)]


def looked_for(question: str, stems: Sequence[str], *, lines: bool = True) -> list[Looked]:
    """Returns what to look for in addition to the words themselves: `stems`, those of the question's subject
    that carry meaning, in order, two by two; and with `lines`, the names that statements have for what it
    asks.

    These are up to 45 phrases. Among 100,000 chunks of reports they take 35 ms, so use them for searches
    among at most `LINES_AMONG` chunks.
    """
    pairs = dict.fromkeys(f"{one} {other}" for one, other in pairwise(stems) if one != other)
    found = [Looked((pair,), PHRASE, _PHRASE_GAP) for pair in pairs]
    return found + _financial(question) if lines else found


def _financial(question: str) -> list[Looked]:
    """Returns the names of the lines that the question asks for, and the marks of the statements that it
    names, or else of those that contain the lines. Empty for most questions.
    """
    statements, lines = _known()
    text = _spaced(question)
    asked = [line for line in lines if any(_spaced(one) in text for one in line.asked)]
    named = {name for name, one in statements.items() if any(_spaced(said) in text for said in one.asked)}
    wanted = named or {name for line in asked for name in line.statements}
    found = [Looked(line.called, LINE) for line in asked]
    for name in sorted(wanted):
        marks = statements[name].marks
        weight = (NAMED_STATEMENT if named else LIKELY_STATEMENT) / len(wanted) / len(marks)
        found.extend(Looked((mark,), weight) for mark in marks)
    return found


def _full_year(year: str) -> str:
    return year if len(year) == len("2018") else f"20{year}"


def _spaced(text: str) -> str:
    """Returns the words of the text in lower case, with spaces around each."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


@cache
def _known() -> tuple[dict[str, _Statement], tuple[_Line, ...]]:
    data = tomllib.loads((files(__package__) / "terms.toml").read_text("utf-8"))
    statements = {
        name: _Statement(tuple(one["asked"]), tuple(one["marks"])) for name, one in data["statements"].items()
    }
    lines = (
        _Line(tuple(one["asked"]), tuple(one["called"]), tuple(one["statements"])) for one in data["lines"]
    )
    return statements, tuple(lines)
