"""Evidence from words: BM25 of messages, of their neighbours and of their sessions. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.recall.catalogue import NOBODY, Catalogue
from memory.recall.entities import Posting
from memory.recall.rows import K1, NoteRows, Rows, bm25_norm, of_place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Places:
    """Where a stem occurs: rows of the catalogue, and how often in each."""

    term: str
    rows: "NDArray[np.int64]"
    counts: "NDArray[np.float64]"


def placed(catalogue: Catalogue, posting: Posting) -> Places:
    import numpy as np

    rows, counts = np.unique(catalogue.rows_of(posting.seqs), return_counts=True)
    known = rows != NOBODY
    return Places(posting.term, rows[known], counts[known].astype(float))


def lexical(
    rows: Rows,
    notes: NoteRows,
    looked_for: Sequence[str],
    places: Sequence[Places],
    asked: int,
) -> "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]":
    """Returns the BM25 of each message or note, of it with its neighbours, and of its session, and the share
    of the question's words that it contains. The share is 0 when `asked`, the number of these words, is 0. A
    note has no neighbours; its session is the one it was learned in."""
    import numpy as np

    n, m = len(rows.rows), len(notes.rows)
    words, windows, held = np.zeros(n + m), np.zeros(n + m), np.zeros(n + m)
    sessions = np.zeros(rows.sessions)
    note_norm = bm25_norm(notes.lengths)
    norm = np.concatenate([rows.norm, note_norm])
    window_norm = np.concatenate([rows.window_norm, note_norm])
    known = {one.term: one for one in places}
    whole = 0.0
    for word in looked_for:
        own, beside = known.get(word), notes.counts(word)
        if own is None and not beside.any():
            whole += _rarity(rows.total + m, 0)
            continue
        counts = np.zeros(n + m + 1)
        counts[n:-1] = beside
        if own is not None:
            inside = rows.place[own.rows]
            counts[inside[inside != NOBODY]] = own.counts[inside != NOBODY]
        # Most messages contain none of the words: only those that do, and their neighbours, are computed.
        at = np.flatnonzero(counts)
        rarity = _rarity(rows.total + m, len(at))
        held[at] += rarity
        whole += rarity
        words[at] += rarity * _saturated(counts[at], norm[at])
        around = rows.touched(counts)
        near = np.concatenate([around, at[at >= n]])
        total = counts[near]
        total[: len(around)] += counts[rows.before[around]] + counts[rows.after[around]]
        windows[near] += _rarity(rows.total + m, len(near)) * _saturated(total, window_norm[near])
        said = at[at < n]
        spoken = np.bincount(rows.session[said], counts[said], rows.sessions).astype(float)
        places_of = np.flatnonzero(spoken)
        sessions[places_of] += _rarity(rows.sessions, len(places_of)) * _saturated(
            spoken[places_of], rows.session_norm[places_of]
        )
    held = held / whole if asked and whole > 0 else np.zeros(n + m)
    of_sessions = np.concatenate([sessions[rows.session], of_place(sessions, notes.session, words[n:])])
    return words, windows, of_sessions, held


def _rarity(n: int, holders: int) -> float:
    return math.log(1 + (n - holders + 0.5) / (holders + 0.5))


def _saturated(counts: "NDArray[np.float64]", norm: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """BM25 without the word's rarity."""
    return counts * (K1 + 1) / (counts + norm)
