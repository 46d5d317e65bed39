"""The messages and notes that a question is compared with, and who stands beside whom."""

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING

from memory.clock import micros
from memory.recall.catalogue import NOBODY, Catalogue
from memory.recall.note_index import NoteIndex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def in_scope(
    catalogue: Catalogue,
    *,
    project: str | None,
    session: str | None,
    among: "NDArray[np.int64] | None" = None,
) -> "NDArray[np.int64]":
    """The rows of a session, of a project, or of all; only those `among` these, if any are given. Sessions in
    the bin, and those that add nothing to memory, lend no row unless they are the one that is named."""
    import numpy as np

    among = np.flatnonzero(catalogue.alive) if among is None else among
    if session is not None:
        code = catalogue.session_codes.get(session)
        wanted = np.zeros(len(catalogue.sessions), np.bool_)
        if code is not None:
            wanted[code] = True
    else:
        wanted = np.array(
            [one.lends and not one.binned and project in {None, one.project} for one in catalogue.sessions],
            np.bool_,
        )
    if not len(wanted):
        return np.zeros(0, np.int64)
    return among[wanted[catalogue.session[among]]]


def may_be_found(
    catalogue: Catalogue,
    rows: "NDArray[np.int64]",
    *,
    messages: Collection[str],
    sessions: Collection[str],
    since: datetime | None,
    before: datetime | None,
) -> "NDArray[np.bool_]":
    """Which of the rows are not excluded; `since` and `before` bound their times."""
    import numpy as np

    allowed = np.ones(len(rows), np.bool_)
    if messages:
        hidden = np.zeros(len(catalogue), np.bool_)
        hidden[[row for one in messages if (row := catalogue.rows.get(one)) is not None]] = True
        allowed &= ~hidden[rows]
    if sessions:
        away = np.zeros(len(catalogue.sessions), np.bool_)
        away[[code for one in sessions if (code := catalogue.session_codes.get(one)) is not None]] = True
        allowed &= ~away[catalogue.session[rows]]
    times = catalogue.time[rows]
    if since is not None:
        allowed &= times >= micros(since)
    if before is not None:
        allowed &= times < micros(before)
    return allowed


POOL = 2
"""Where sessions take turns, they do so among so many times what is asked for."""


def in_turns(places: "NDArray[np.int64]", sessions: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """`places`, best first, in another order: the best of each session, then the second of each, and so on.
    `sessions` has the number of the session of every place."""
    import numpy as np

    own = sessions[places]
    order = np.argsort(own, kind="stable")
    rank = np.empty(len(own), np.int64)
    rank[order] = np.arange(len(own)) - np.searchsorted(own[order], own[order])
    return places[np.argsort(rank, kind="stable")]


def best_of(
    totals: "NDArray[np.float64]", allowed: "NDArray[np.bool_]", times: "NDArray[np.int64]", k: int
) -> "NDArray[np.int64]":
    """The places of the `k` highest totals that are allowed, best first; of equals the later one."""
    import numpy as np

    places = np.flatnonzero(allowed)
    if k < len(places):
        # Equals at the edge are all kept until they are sorted by time.
        least = np.partition(totals[places], len(places) - k)[len(places) - k]
        places = places[totals[places] >= least]
    order = np.lexsort((-times[places], -totals[places]))
    return places[order][:k]


K1, B = 1.2, 0.75
"""BM25's usual constants (Robertson and Zaragoza 2009)."""


BACKGROUND = 200
"""So many of the messages that nothing speaks for are compared as well, so that every kind of evidence begins
at what most messages have."""


class Rows:
    """The messages that are compared, as rows of the catalogue, with their neighbours among them.

    Between people, what was said just before and just after belongs to a message. With a model the unit is
    the exchange: what a person says and what the model answers.
    """

    def __init__(self, catalogue: Catalogue, rows: "NDArray[np.int64]") -> None:
        import numpy as np

        self.rows = rows
        self.total = len(rows)
        self.place = place = _places(len(catalogue), rows)
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
        self.outside = np.zeros(len(rows))
        self.lengths = catalogue.length[rows].astype(float)
        self.sizes = self.by_session(np.ones(len(rows)))
        # What BM25 divides by: it depends on no question.
        self.norm = bm25_norm(self.lengths)
        self.window_norm = bm25_norm(self.with_neighbours(self.lengths))
        self.session_lengths = self.by_session(self.lengths)
        self.session_norm = bm25_norm(self.session_lengths)

    def narrowed(self, spoken_for: "NDArray[np.bool_]") -> "Rows":
        """The rows marked, what stands beside them, and some others. What BM25 divides by, and how many there
        are, remain those of all; `outside` tells how many neighbours of each are left out."""
        import numpy as np

        n = len(self.rows)
        held = np.append(spoken_for, False)
        held[:n] |= held.take(self.before) | held.take(self.after)
        held[: n : max(1, n // BACKGROUND)] = True
        chosen = np.flatnonzero(held[:n])
        found = object.__new__(Rows)
        found.rows, found.total = self.rows[chosen], self.total
        found.place = _places(len(self.place) - 1, found.rows)
        inside = np.append(_places(n - 1, chosen), NOBODY)
        before, after = self.before.take(chosen), self.after.take(chosen)
        found.before, found.after = inside.take(before), inside.take(after)
        lost = (before != NOBODY) & (found.before == NOBODY), (after != NOBODY) & (found.after == NOBODY)
        found.outside = lost[0].astype(float) + lost[1]
        found.session, found.with_machine = self.session[chosen], self.with_machine[chosen]
        found.lengths, found.norm = self.lengths[chosen], self.norm[chosen]
        found.window_norm = self.window_norm[chosen]
        found.session_place, found.sessions, found.sizes = self.session_place, self.sessions, self.sizes
        found.session_lengths, found.session_norm = self.session_lengths, self.session_norm
        return found

    def beside(self, values: "NDArray[np.float64]", neighbour: "NDArray[np.int64]") -> "NDArray[np.float64]":
        """The values of the neighbours; 0 where there is none."""
        found = values.take(neighbour)
        found[neighbour == NOBODY] = 0.0
        return found

    def with_neighbours(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        return values + self.beside(values, self.before) + self.beside(values, self.after)

    def touched(self, counts: "NDArray[np.float64]") -> "NDArray[np.int64]":
        """The rows that hold a word or have a neighbour that does. `counts` is of the rows and whatever
        follows them; its last element, where -1 leads, is 0."""
        import numpy as np

        held = counts > 0
        n = len(self.rows)
        return np.flatnonzero(held[:n] | held.take(self.before) | held.take(self.after))

    def by_session(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """One sum a session."""
        import numpy as np

        return np.bincount(self.session, values, self.sessions).astype(float)


class NoteRows:
    """The memories and summaries that are compared, as rows of their shelf, with the place of the session
    that each was learned in among those of `rows` (-1: none of them)."""

    def __init__(
        self, shelf: NoteIndex, rows: "NDArray[np.int64]", catalogue: Catalogue, beside: Rows
    ) -> None:
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


def _places(last: int, rows: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Which place among `rows` each number up to `last` has; -1 for none."""
    import numpy as np

    found = np.full(last + 1, NOBODY, np.int64)
    found[rows] = np.arange(len(rows))
    return found


def of_place(
    values: "NDArray[np.float64]", places: "NDArray[np.int64]", otherwise: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    """The values of these places; where there is none, its own."""
    import numpy as np

    return np.where(places == NOBODY, otherwise, np.append(values, 0.0)[places])


def bm25_norm(lengths: "NDArray[np.float64]") -> "NDArray[np.float64]":
    return K1 * (1 - B + B * lengths / max(float(lengths.mean()) if len(lengths) else 1.0, 1.0))
