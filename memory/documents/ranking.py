"""Scores chunks, pages and documents for a question: by words at three grains, by meaning, by neighbours. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from memory.documents.catalogue import NOBODY, ChunkColumns
from memory.documents.entities import ChunkPosting, Grain

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1 = 1.2
B = 0.75
CONTEXT = 0.5
"""How much a word in title or headings counts, compared with one in the text."""


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each part of a score counts; the parts are between 0 and 1."""

    lexical: float = 0.35
    semantic: float = 0.55
    neighbour: float = 0.1
    page: float = 0.0
    document: float = 0.35


@dataclass(frozen=True, slots=True)
class Scores:
    """The score of each row, and its parts by name, each between 0 and 1."""

    total: "NDArray[np.float64]"
    parts: Mapping[str, "NDArray[np.float64]"] = field(repr=False)


def score(
    columns: ChunkColumns,
    allowed: "NDArray[np.bool_]",
    postings: Sequence[ChunkPosting],
    cosine: "NDArray[np.float64] | None",
    weights: Weights,
) -> Scores:
    """Returns the scores of all rows; those not `allowed` neither get one nor influence others.

    `cosine` is that of each row, NaN where it is not known.
    """
    import numpy as np

    n = len(columns)
    chunk, page, document = (
        np.zeros(n),
        np.zeros(len(columns.page_words)),
        np.zeros(len(columns.document_words)),
    )
    grains = (
        (chunk, np.arange(n), columns.words),
        (page, columns.page, columns.page_words),
        (document, columns.document, columns.document_words),
    )
    norms = [K1 * (1 - B + B * length / max(length.mean(), 1.0)) for _, _, length in grains] if n else []
    for one in postings:
        counts = np.zeros(n)
        np.add.at(counts, columns.rows_of(np.asarray(one.text, np.int64)), 1.0)
        np.add.at(counts, columns.rows_of(np.asarray(one.context, np.int64)), CONTEXT)
        counts[~allowed] = 0.0
        at = np.flatnonzero(counts)
        for (into, of, _), norm in zip(grains, norms, strict=True):
            total = np.bincount(of[at], counts[at], len(into))
            holders = np.flatnonzero(total)
            rarity = math.log(1 + (len(into) - len(holders) + 0.5) / (len(holders) + 0.5))
            into[holders] += rarity * total[holders] * (K1 + 1) / (total[holders] + norm[holders])
    lexical = _scaled(chunk)
    parts = {
        "lexical": lexical,
        "page": _scaled(page)[columns.page],
        "document": _scaled(document)[columns.document],
        "semantic": np.zeros(n) if cosine is None else _between(cosine, allowed),
    }
    both = parts["lexical"] + parts["semantic"]
    beside = np.zeros(n)
    for neighbours in (columns.before, columns.after):
        there = neighbours != NOBODY
        beside[there] = np.maximum(beside[there], both[neighbours[there]])
    parts["neighbour"] = beside / 2
    total = sum(getattr(weights, name) * values for name, values in parts.items())
    total = np.where(allowed, total, -np.inf)
    return Scores(np.asarray(total), parts)


def best(columns: ChunkColumns, scores: Scores, grain: Grain, k: int) -> "NDArray[np.int64]":
    """Returns the rows of the best chunks, best first; with a wider grain, the best of each page or document."""
    import numpy as np

    found = np.flatnonzero(np.isfinite(scores.total) & (scores.total > 0))
    order = found[np.lexsort((found, -scores.total[found]))]
    if grain is not Grain.CHUNK:
        owner = columns.page if grain is Grain.PAGE else columns.document
        _, first = np.unique(owner[order], return_index=True)
        order = order[np.sort(first)]
    return np.asarray(order[:k])


def _scaled(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    most = values.max(initial=0.0)
    return values / most if most > 0 else values


def _between(cosine: "NDArray[np.float64]", allowed: "NDArray[np.bool_]") -> "NDArray[np.float64]":
    """Scales the cosines of allowed rows to between 0 and 1; unknown ones are 0."""
    import numpy as np

    known = allowed & ~np.isnan(cosine)
    if not known.any():
        return np.zeros(len(cosine))
    low, high = float(cosine[known].min()), float(cosine[known].max())
    scaled = (cosine - low) / (high - low) if high > low else np.ones(len(cosine))
    return np.where(known, np.clip(scaled, 0.0, 1.0), 0.0)
