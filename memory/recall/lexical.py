"""Evidence from words: BM25 of messages, of their neighbours and of their sessions. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.recall.catalogue import NOBODY, Catalogue
from memory.recall.entities import Posting
from memory.recall.rows import K1, ItemRows, Rows, bm25_norm, of_place
from memory.recall.scoring import OWN_WORDS
from memory.search.terms import is_unspaced

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


ACROSS = 0.5
"""How much a pair of letters that is nowhere counts: it may lie across the end of a word."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where a stem occurs: rows of the catalogue, and how often in each; no rows if it is too `common`."""

    term: str
    rows: "NDArray[np.int64]"
    counts: "NDArray[np.float64]"
    common: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """A sentence of a question: its stems, and how much it counts."""

    words: frozenset[str]
    weight: float


def placed(catalogue: Catalogue, posting: Posting) -> Places:
    import numpy as np

    rows, counts = np.unique(catalogue.rows_of(posting.seqs), return_counts=True)
    known = rows != NOBODY
    return Places(posting.term, rows[known], counts[known].astype(float), posting.common)


def lexical(
    rows: Rows,
    items: ItemRows,
    looked_for: Sequence[str],
    places: Sequence[Places],
    asked: int,
    parts: Sequence[Part] = (),
) -> "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]":
    """Returns the BM25 of each message or item, of it with its neighbours, and of its session, and the share
    of the question's words that it contains. The share is 0 when `asked`, the number of these words, is 0. A
    item has no neighbours; its session is the one it was learned in. With `parts`, the first two are those of
    the part of the question that fits best, each scaled to 0 … 1 and times its weight."""
    import numpy as np

    n, m = len(rows.rows), len(items.rows)
    parts = parts or [Part(frozenset(looked_for), 1.0)]
    words, windows, held = np.zeros((len(parts), n + m)), np.zeros((len(parts), n + m)), np.zeros(n + m)
    sessions = np.zeros(rows.sessions)
    item_norm = bm25_norm(items.lengths)
    norm = np.concatenate([rows.norm, item_norm])
    window_norm = np.concatenate([rows.window_norm, item_norm])
    known = {one.term: one for one in places}
    whole = 0.0
    for word in looked_for:
        own, beside = known.get(word), items.counts(word)
        if own is None and not beside.any():
            whole += _of_absent(word, rows.total + m)
            continue
        if own is not None and own.common and not beside.any():
            continue
        counts = np.zeros(n + m + 1)
        counts[n:-1] = beside
        if own is not None:
            inside = rows.place[own.rows]
            counts[inside[inside != NOBODY]] = own.counts[inside != NOBODY]
        # Most messages contain none of the words: only those that do, and their neighbours, are computed.
        at = np.flatnonzero(counts)
        if not len(at):
            whole += _of_absent(word, rows.total + m)
            continue
        rarity = _rarity(rows.total + m, len(at))
        held[at] += rarity
        whole += rarity
        held_by = np.flatnonzero([word in part.words for part in parts])[:, None]
        words[held_by, at] += rarity * _saturated(counts[at], norm[at])
        around = rows.touched(counts)
        near = np.concatenate([around, at[at >= n]])
        total = counts[near]
        total[: len(around)] += counts[rows.before[around]] + counts[rows.after[around]]
        of_windows = _rarity(rows.total + m, len(near)) * _saturated(total, window_norm[near])
        windows[held_by, near] += of_windows
        said = at[at < n]
        spoken = np.bincount(rows.session[said], counts[said], rows.sessions).astype(float)
        places_of = np.flatnonzero(spoken)
        sessions[places_of] += _rarity(rows.sessions, len(places_of)) * _saturated(
            spoken[places_of], rows.session_norm[places_of]
        )
    held = held / whole if asked and whole > 0 else np.zeros(n + m)
    alone = words.max(axis=0)[n:]
    of_sessions = np.concatenate([sessions[rows.session], of_place(sessions, items.session, alone)])
    return *of_best_part(words, windows, parts), of_sessions, held


def of_best_part(
    words: "NDArray[np.float64]", windows: "NDArray[np.float64]", parts: Sequence[Part]
) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """Returns the two values of each message for the part of the question that it fits best.

    `words` and `windows` have one row per part and no negative values. They are scaled so that the message
    that fits a part best has its weight; those of a single part are returned as they are."""
    import numpy as np

    if len(parts) == 1 or not words.size:
        return words[0], windows[0]
    own, around = stretched(words), stretched(windows)
    fit = OWN_WORDS * own + (1 - OWN_WORDS) * around
    highest = fit.max(axis=1, keepdims=True)
    scale = np.array([[part.weight] for part in parts]) / np.where(highest > 0, highest, 1.0)
    best = (fit * scale).argmax(axis=0)[None]
    return np.take_along_axis(own * scale, best, 0)[0], np.take_along_axis(around * scale, best, 0)[0]


def stretched(values: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Returns the values with each row scaled to 0 … 1; 0 for a row of equal values."""
    import numpy as np

    low, high = values.min(axis=1, keepdims=True), values.max(axis=1, keepdims=True)
    return np.asarray((values - low) / np.where(high > low, high - low, 1.0))


def _rarity(n: int, holders: int) -> float:
    return math.log(1 + (n - holders + 0.5) / (holders + 0.5))


def _of_absent(word: str, n: int) -> float:
    """Returns how much a word that no message contains counts in the question."""
    accidental = len(word) == 2 and is_unspaced(word)
    return (ACROSS if accidental else 1.0) * _rarity(n, 0)


def _saturated(counts: "NDArray[np.float64]", norm: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """BM25 without the word's rarity."""
    return counts * (K1 + 1) / (counts + norm)
