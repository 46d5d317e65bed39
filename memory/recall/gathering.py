"""From the columns of a room, the places of words and the nearest vectors to evidence. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import repeat
from typing import TYPE_CHECKING

from memory.knowledge.entities import MemoryTier
from memory.recall.catalogue import NOBODY, Catalogue
from memory.recall.entities import Posting
from memory.recall.moments import Span
from memory.recall.notes import Shelf
from memory.recall.scoring import Evidence
from memory.recall.temporal import RATES, base_of, retentions
from memory.vectors.entities import Near

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1, B = 1.2, 0.75
"""BM25's usual constants (Robertson and Zaragoza 2009)."""
DAY = 86_400_000_000
HOUR = 3_600_000_000
MARKED = base_of(1.0)
"""The importance of a message that was marked; that of the others is 1."""
SLACK_DAYS = 7.0
"""What was said about a time is often said some days after it."""
LONG_SPAN_DAYS = 800.0
_NEAREST_OF_SESSION = 3


@dataclass(frozen=True, slots=True)
class Question:
    """What the text of a question says, apart from its words: whom it names, when it was, whom it asks for
    what, and how many words are looked for."""

    speakers: frozenset[int]
    spans: tuple[Span, ...]
    asks_machine: bool
    asks_when: bool
    asks_advice: bool
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
        codes = catalogue.session[rows]
        present = np.zeros(len(catalogue.sessions) + 1, np.bool_)
        present[codes] = True
        # Which place among the sessions each session of the room has here; -1 for none.
        self.session_place = np.where(present, np.cumsum(present) - 1, NOBODY)
        self.session = self.session_place[codes]
        self.sessions = int(present.sum())
        machine = catalogue.machine[rows]
        self.with_machine = self.by_session(machine.astype(float))[self.session] > 0
        self.before = np.where(self.with_machine & ~machine, NOBODY, before)
        self.after = np.where(machine, NOBODY, after)
        self.lengths = catalogue.length[rows].astype(float)
        self.sizes = self.by_session(np.ones(len(rows)))
        # What BM25 divides by: it depends on no question.
        self.norm = bm25_norm(self.lengths)
        self.window_norm = bm25_norm(self.with_neighbours(self.lengths))
        self.session_lengths = self.by_session(self.lengths)
        self.session_norm = bm25_norm(self.session_lengths)

    def beside(self, values: "NDArray[np.float64]", neighbour: "NDArray[np.int64]") -> "NDArray[np.float64]":
        """The values of the neighbours; 0 where there is none."""
        import numpy as np

        return np.where(neighbour == NOBODY, 0.0, values[neighbour])

    def with_neighbours(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        return values + self.beside(values, self.before) + self.beside(values, self.after)

    def touched(self, counts: "NDArray[np.float64]") -> "NDArray[np.int64]":
        """The rows that hold a word or have a neighbour that does. `counts` is of the rows and whatever
        follows them; its last element, where -1 leads, is 0."""
        import numpy as np

        held = counts > 0
        n = len(self.rows)
        return np.flatnonzero(held[:n] | held[self.before] | held[self.after])

    def by_session(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """One sum a session."""
        import numpy as np

        return np.bincount(self.session, values, self.sessions).astype(float)


class NoteRows:
    """The memories and summaries that are compared, as rows of their shelf, with the place of the session
    that each was learned in among those of `rows` (-1: none of them)."""

    def __init__(self, shelf: Shelf, rows: "NDArray[np.int64]", catalogue: Catalogue, beside: Rows) -> None:
        import numpy as np

        self.shelf = shelf
        self.rows = rows
        self.place = np.full(len(shelf) + 1, NOBODY, np.int64)
        self.place[rows] = np.arange(len(rows))
        self.session = beside.session_place[shelf.session_codes(catalogue)[rows]]
        own = shelf.columns()
        self.lengths = own.length[rows]
        self.created, self.since = own.created[rows], own.since[rows]
        self.rate, self.importance = own.rate[rows], own.importance[rows]
        self.prefers, self.dated = own.prefers[rows], own.dated[rows]

    def counts(self, word: str) -> "NDArray[np.float64]":
        """How often a stem occurs in each."""
        import numpy as np

        counts = np.zeros(len(self.rows))
        if places := self.shelf.places(word):
            at = self.place[np.fromiter(places, np.int64, len(places))]
            inside = at != NOBODY
            counts[at[inside]] = np.fromiter(places.values(), float, len(places))[inside]
        return counts


def gather(
    catalogue: Catalogue,
    rows: Rows,
    notes: NoteRows,
    words: Sequence[str],
    postings: Sequence[Posting],
    near: Near | None,
    question: Question,
) -> Evidence:
    """What speaks for each of the rows, then for each of the notes. `words` are the stems looked for,
    `postings` where those of them that are not everywhere occur."""
    import numpy as np

    chosen = rows.rows
    own, around, session, held = _lexical(catalogue, rows, notes, words, postings, question.words)
    meaning = near_meaning = session_meaning = None
    if near is not None:
        meaning, near_meaning, session_meaning = _meanings(catalogue, rows, notes, near)
    now = question.now.timestamp() * 1e6
    important = catalogue.important[chosen]
    ages = np.concatenate([now - catalogue.time[chosen], now - notes.since]) / HOUR
    rates = np.concatenate([np.where(important, 0.0, RATES[MemoryTier.EPISODIC]), notes.rate])
    machine = catalogue.machine[chosen]
    none = np.zeros(len(notes.rows), np.bool_)
    lengths = rows.session_lengths
    return Evidence(
        words=own,
        near_words=around,
        session_words=session,
        session_length=np.concatenate(
            [lengths[rows.session], _of_place(lengths, notes.session, notes.lengths)]
        ),
        held=held,
        meaning=meaning,
        near_meaning=near_meaning,
        session_meaning=session_meaning,
        speaker=np.concatenate([_spoken_by(catalogue, chosen, question.speakers), none]),
        time=_fit(np.concatenate([catalogue.time[chosen], notes.created]), question.spans),
        dated=np.concatenate([catalogue.dated[chosen], notes.dated]) & question.asks_when,
        machine=np.concatenate([machine & (not question.asks_machine), none]),
        asks=np.concatenate([catalogue.asks[chosen] & ~rows.with_machine, none]),
        stated=np.concatenate([catalogue.prefers[chosen] & ~machine, notes.prefers]) & question.asks_advice,
        recency=retentions(ages, rates),
        importance=np.concatenate([np.where(important, MARKED, 1.0), notes.importance]),
    )


def _lexical(
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
            whole += _rarity(n + m, 0)
            continue
        counts = np.zeros(n + m + 1)
        counts[n:-1] = beside
        if posting is not None:
            _put(counts, catalogue, rows, posting)
        # Most messages hold none of the words: only those that do, and their neighbours, are worked on.
        at = np.flatnonzero(counts)
        rarity = _rarity(n + m, len(at))
        held[at] += rarity
        whole += rarity
        words[at] += rarity * _saturated(counts[at], norm[at])
        around = rows.touched(counts)
        near = np.concatenate([around, at[at >= n]])
        total = counts[near]
        total[: len(around)] += counts[rows.before[around]] + counts[rows.after[around]]
        windows[near] += _rarity(n + m, len(near)) * _saturated(total, window_norm[near])
        own = at[at < n]
        spoken = np.bincount(rows.session[own], counts[own], rows.sessions).astype(float)
        places_of = np.flatnonzero(spoken)
        sessions[places_of] += _rarity(rows.sessions, len(places_of)) * _saturated(
            spoken[places_of], rows.session_norm[places_of]
        )
    held = held / whole if asked and whole > 0 else np.zeros(n + m)
    of_sessions = np.concatenate([sessions[rows.session], _of_place(sessions, notes.session, words[n:])])
    return words, windows, of_sessions, held


def _spoken_by(
    catalogue: Catalogue, rows: "NDArray[np.int64]", speakers: frozenset[int]
) -> "NDArray[np.bool_]":
    import numpy as np

    asked = np.zeros(len(catalogue.speakers) + 1, np.bool_)
    asked[list(speakers)] = True
    return np.asarray(asked[catalogue.speaker[rows]], np.bool_)


def _of_place(
    values: "NDArray[np.float64]", places: "NDArray[np.int64]", otherwise: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    """The values of these places; where there is none, its own."""
    import numpy as np

    return np.where(places == NOBODY, otherwise, np.append(values, 0.0)[places])


def _put(counts: "NDArray[np.float64]", catalogue: Catalogue, rows: Rows, posting: Posting) -> None:
    """Writes down how often the word occurs in each of the rows."""
    import numpy as np

    at = rows.place[catalogue.rows_of(posting.seqs)]
    inside = at != NOBODY
    counts[at[inside]] = np.asarray(posting.counts, float)[inside]


def _rarity(n: int, holders: int) -> float:
    return math.log(1 + (n - holders + 0.5) / (holders + 0.5))


def bm25_norm(lengths: "NDArray[np.float64]") -> "NDArray[np.float64]":
    return K1 * (1 - B + B * lengths / max(float(lengths.mean()) if len(lengths) else 1.0, 1.0))


def _saturated(counts: "NDArray[np.float64]", norm: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """BM25 without the word's rarity."""
    return counts * (K1 + 1) / (counts + norm)


def _meanings(
    catalogue: Catalogue, rows: Rows, notes: NoteRows, near: Near
) -> "tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]":
    """The cosine of each message's or note's best passage, of it with its neighbours, and of its session.
    What the search left out is as far as its last."""
    import numpy as np

    n = len(rows.rows)
    meaning = np.full(n + len(notes.rows), np.nan)
    floor = None
    if near.owners:
        if not near.complete:
            floor = min(near.similarity)
            meaning[:] = floor
        at = rows.place[_found(catalogue.rows, near.owners)]
        if len(notes.rows):
            beside = notes.place[_found(notes.shelf.rows, near.owners)]
            at = np.where(beside == NOBODY, at, n + beside)
        inside = at != NOBODY
        np.fmax.at(meaning, at[inside], np.asarray(near.similarity)[inside])
    own, beside_own = meaning[:n], meaning[n:]
    sessions = _of_sessions(rows, own, floor)
    of_notes = beside_own if sessions is None else _of_place(sessions, notes.session, beside_own)
    return (
        meaning,
        np.concatenate([_around(rows, own), beside_own]),
        np.concatenate([own if sessions is None else sessions[rows.session], of_notes]),
    )


def _around(rows: Rows, meaning: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """The mean over a message and its neighbours."""
    import numpy as np

    known = ~np.isnan(meaning)
    if not known.any():
        return meaning
    filled = np.where(known, meaning, meaning[known].mean())
    return rows.with_neighbours(filled) / rows.with_neighbours(np.ones(len(filled)))


def _of_sessions(
    rows: Rows, meaning: "NDArray[np.float64]", floor: float | None
) -> "NDArray[np.float64] | None":
    """The mean of the three nearest messages of each session; None when nothing is known. With a `floor` all
    but a few are that far: only those few are looked at."""
    import numpy as np

    known = ~np.isnan(meaning)
    if not known.any():
        return None
    least = float(meaning[known].min()) if floor is None else floor
    few = np.flatnonzero(known & (meaning > least))
    order = few[np.lexsort((-meaning[few], rows.session[few]))]
    own = rows.session[order]
    rank = np.arange(len(order)) - np.searchsorted(own, own)
    top = order[rank < _NEAREST_OF_SESSION]
    sums = np.bincount(rows.session[top], meaning[top] - least, rows.sessions)
    return np.asarray(least + sums / np.minimum(rows.sizes, _NEAREST_OF_SESSION))


def _found(rows: Mapping[str, int], owners: Sequence[str]) -> "NDArray[np.int64]":
    """The row of each owner, -1 for those that are not there."""
    import numpy as np

    return np.fromiter(map(rows.get, owners, repeat(NOBODY)), np.int64, len(owners))


def _fit(times: "NDArray[np.int64]", spans: Sequence[Span]) -> "NDArray[np.float64] | None":
    """1 within one of the spans; outside it falls to 1/e in a week, or half its length if that is longer."""
    import numpy as np

    if not spans or not len(times):
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
