"""The evidence of words: BM25 of messages, of their surroundings and of their sessions. Pure."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory.recall.catalogue import NOBODY, Catalogue
from memory.recall.entities import Posting
from memory.recall.rows import K1, NoteRows, Rows, bm25_norm, of_place

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def lexical(
    catalogue: Catalogue,
    rows: Rows,
    notes: NoteRows,
    looked_for: Sequence[str],
    postings: Sequence[Posting],
    asked: int,
) -> "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]":
    """BM25 of each message or note, of it with its neighbours, and of its session; and the share of the
    question's words (so many) that it holds. A note has no neighbours, and the session it was learned in."""
    import numpy as np

    n, m = len(rows.rows), len(notes.rows)
    words, windows, held = np.zeros(n + m), np.zeros(n + m), np.zeros(n + m)
    sessions = np.zeros(rows.sessions)
    note_norm = bm25_norm(notes.lengths)
    norm = np.concatenate([rows.norm, note_norm])
    window_norm = np.concatenate([rows.window_norm, note_norm])
    places = {posting.term: posting for posting in postings}
    whole = 0.0
    for word in looked_for:
        posting, beside = places.get(word), notes.counts(word)
        if posting is None and not beside.any():
            whole += _rarity(rows.total + m, 0)
            continue
        counts = np.zeros(n + m + 1)
        counts[n:-1] = beside
        if posting is not None:
            _put(counts, catalogue, rows, posting)
        # Most messages hold none of the words: only those that do, and their neighbours, are worked on.
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
        own = at[at < n]
        spoken = np.bincount(rows.session[own], counts[own], rows.sessions).astype(float)
        places_of = np.flatnonzero(spoken)
        sessions[places_of] += _rarity(rows.sessions, len(places_of)) * _saturated(
            spoken[places_of], rows.session_norm[places_of]
        )
    held = held / whole if asked and whole > 0 else np.zeros(n + m)
    of_sessions = np.concatenate([sessions[rows.session], of_place(sessions, notes.session, words[n:])])
    return words, windows, of_sessions, held


def _put(counts: "NDArray[np.float64]", catalogue: Catalogue, rows: Rows, posting: Posting) -> None:
    """Writes down how often the word occurs in each of the rows."""
    import numpy as np

    at = rows.place[catalogue.rows_of(posting.seqs)]
    inside = at != NOBODY
    counts[at[inside]] = np.asarray(posting.counts, float)[inside]


def _rarity(n: int, holders: int) -> float:
    return math.log(1 + (n - holders + 0.5) / (holders + 0.5))


def _saturated(counts: "NDArray[np.float64]", norm: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """BM25 without the word's rarity."""
    return counts * (K1 + 1) / (counts + norm)
