"""From the columns of a room, the places of words and the nearest vectors to evidence. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memory.recall.catalogue import NOBODY, Catalogue
from memory.recall.entities import Posting
from memory.recall.moments import Span
from memory.recall.scoring import Evidence
from memory.vectors.entities import Near

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1, B = 1.2, 0.75
"""BM25's usual constants (Robertson and Zaragoza 2009)."""
RECENT_HOURS = 100.0
"""Recency falls to 1/e in this time (0.01 an hour, that of episodes)."""
DAY = 86_400_000_000
SLACK_DAYS = 7.0
"""What was said about a time is often said some days after it."""
LONG_SPAN_DAYS = 800.0
_NEAREST_OF_SESSION = 3


@dataclass(frozen=True, slots=True)
class Question:
    """What the text of a question says, apart from its words: whom it names, when it was, whom it asks, and
    how many words are looked for."""

    speakers: frozenset[int]
    spans: tuple[Span, ...]
    asks_machine: bool
    asks_when: bool
    now: datetime
    words: int = 0


class Rows:
    """The messages that are compared, as rows of the catalogue, with their neighbours among them.

    Between people, what was said just before and just after belongs to a message. With a model the unit is
    the exchange: what a person says and what the model answers.
    """

    def __init__(self, catalogue: Catalogue, rows: "NDArray[np.int64]") -> None:
        import numpy as np

        self.rows = rows
        place = np.full(len(catalogue) + 1, NOBODY, np.int64)
        place[rows] = np.arange(len(rows))
        self.place = place
        # The last element stands for "nobody": it is where -1 leads.
        before, after = place[catalogue.before[rows]], place[catalogue.after[rows]]
        sessions, self.session = np.unique(catalogue.session[rows], return_inverse=True)
        self.sessions = len(sessions)
        machine = catalogue.machine[rows]
        self.with_machine = self.by_session(machine.astype(float))[self.session] > 0
        self.before = np.where(self.with_machine & ~machine, NOBODY, before)
        self.after = np.where(machine, NOBODY, after)
        self.lengths = catalogue.length[rows].astype(float)

    def beside(self, values: "NDArray[np.float64]", neighbour: "NDArray[np.int64]") -> "NDArray[np.float64]":
        """The values of the neighbours; 0 where there is none."""
        import numpy as np

        return np.where(neighbour == NOBODY, 0.0, values[neighbour])

    def with_neighbours(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        return values + self.beside(values, self.before) + self.beside(values, self.after)

    def by_session(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """One sum a session."""
        import numpy as np

        return np.bincount(self.session, values, self.sessions).astype(float)


def gather(
    catalogue: Catalogue, rows: Rows, postings: Sequence[Posting], near: Near | None, question: Question
) -> Evidence:
    """What speaks for each of the rows."""
    import numpy as np

    chosen = rows.rows
    words, near_words, session_words = _lexical(catalogue, rows, postings)
    meaning = None if near is None else _meaning(catalogue, rows, near)
    ages = question.now.timestamp() * 1e6 - catalogue.time[chosen]
    machine = catalogue.machine[chosen]
    return Evidence(
        words=words,
        near_words=near_words,
        session_words=session_words,
        session_length=rows.by_session(rows.lengths)[rows.session],
        meaning=meaning,
        near_meaning=None if meaning is None else _around(rows, meaning),
        session_meaning=None if meaning is None else _of_session(rows, meaning),
        speaker=np.isin(catalogue.speaker[chosen], list(question.speakers)),
        time=_fit(catalogue.time[chosen], question.spans),
        dated=catalogue.dated[chosen] & question.asks_when,
        machine=np.zeros_like(machine) if question.asks_machine else machine,
        asks=catalogue.asks[chosen] & ~rows.with_machine,
        recency=np.exp(-np.maximum(ages, 0.0) / (RECENT_HOURS * DAY / 24)),
        important=catalogue.important[chosen],
    )


def _lexical(
    catalogue: Catalogue, rows: Rows, postings: Sequence[Posting]
) -> "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]":
    """BM25 of each message, of it with its neighbours, and of its session."""
    import numpy as np

    n = len(rows.rows)
    words, windows, sessions = np.zeros(n), np.zeros(n), np.zeros(rows.sessions)
    norm = _norm(rows.lengths)
    window_norm = _norm(rows.with_neighbours(rows.lengths))
    session_norm = _norm(rows.by_session(rows.lengths))
    for posting in postings:
        counts = _counts(catalogue.by_seq, rows, posting, n)
        words += _bm25(counts, norm)
        windows += _bm25(rows.with_neighbours(counts), window_norm)
        sessions += _bm25(rows.by_session(counts), session_norm)
    return words, windows, sessions[rows.session]


def _counts(by_seq: Mapping[int, int], rows: Rows, posting: Posting, n: int) -> "NDArray[np.float64]":
    import numpy as np

    counts = np.zeros(n)
    at = rows.place[np.fromiter((by_seq.get(seq, NOBODY) for seq in posting.seqs), np.int64)]
    inside = at != NOBODY
    counts[at[inside]] = np.asarray(posting.counts, float)[inside]
    return counts


def shared(
    catalogue: Catalogue, rows: Rows, postings: Sequence[Posting], words: int
) -> "NDArray[np.float64]":
    """The share of the question's words (so many) that each message holds, each weighed by its rarity."""
    import numpy as np

    n = len(rows.rows)
    if not words:
        return np.zeros(n)
    held, whole = np.zeros(n), (words - len(postings)) * _rarity(n, 0)
    for posting in postings:
        present = _counts(catalogue.by_seq, rows, posting, n) > 0
        weight = _rarity(n, int(present.sum()))
        held += weight * present
        whole += weight
    return held / whole if whole > 0 else held


def _rarity(n: int, holders: int) -> float:
    return math.log(1 + (n - holders + 0.5) / (holders + 0.5))


def _norm(lengths: "NDArray[np.float64]") -> "NDArray[np.float64]":
    return K1 * (1 - B + B * lengths / max(float(lengths.mean()), 1.0))


def _bm25(counts: "NDArray[np.float64]", norm: "NDArray[np.float64]") -> "NDArray[np.float64]":
    weight = _rarity(len(counts), int((counts > 0).sum()))
    return weight * counts * (K1 + 1) / (counts + norm)


def _meaning(catalogue: Catalogue, rows: Rows, near: Near) -> "NDArray[np.float64]":
    """The cosine of each message's best passage. What the search left out is as far as its last."""
    import numpy as np

    meaning = np.full(len(rows.rows), np.nan)
    if not near.owners:
        return meaning
    if not near.complete:
        meaning[:] = min(near.similarity)
    at = rows.place[np.fromiter((catalogue.rows.get(owner, NOBODY) for owner in near.owners), np.int64)]
    inside = at != NOBODY
    np.fmax.at(meaning, at[inside], np.asarray(near.similarity)[inside])
    return meaning


def _around(rows: Rows, meaning: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """The mean over a message and its neighbours."""
    import numpy as np

    known = ~np.isnan(meaning)
    if not known.any():
        return meaning
    filled = np.where(known, meaning, meaning[known].mean())
    return rows.with_neighbours(filled) / rows.with_neighbours(np.ones(len(filled)))


def _of_session(rows: Rows, meaning: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """The mean of the three nearest messages of each message's session."""
    import numpy as np

    known = ~np.isnan(meaning)
    if not known.any():
        return meaning
    filled = np.where(known, meaning, meaning[known].min())
    order = np.lexsort((-filled, rows.session))
    starts = np.searchsorted(rows.session[order], np.arange(rows.sessions))
    rank = np.arange(len(order)) - starts[rows.session[order]]
    top = order[rank < _NEAREST_OF_SESSION]
    sums = np.bincount(rows.session[top], filled[top], rows.sessions)
    counts = np.bincount(rows.session[top], minlength=rows.sessions)
    return np.asarray((sums / counts)[rows.session])


def _fit(times: "NDArray[np.int64]", spans: Sequence[Span]) -> "NDArray[np.float64] | None":
    """1 within one of the spans; outside it falls to 1/e in a week, or half its length if that is longer."""
    import numpy as np

    if not spans:
        return None
    best = np.zeros(len(times))
    latest = datetime.fromtimestamp(float(times.max()) / 1e6, UTC)
    for named in spans:
        span = named.not_after(latest)
        start, end = span.start.timestamp() * 1e6, span.end.timestamp() * 1e6
        days = (end - start) / DAY
        slack = SLACK_DAYS if days > LONG_SPAN_DAYS else max(SLACK_DAYS, days / 2)
        outside = np.maximum(0.0, np.maximum(start - times, times - end)) / DAY
        best = np.maximum(best, np.exp(-outside / slack))
    return best
