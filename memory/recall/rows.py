"""The messages and items that a question is compared with, and the neighbours of each message."""

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING

from memory.clock import micros
from memory.recall.catalogue import NOBODY, Catalogue, ItemIndex

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def in_scope(
    catalogue: Catalogue,
    *,
    project: str | None,
    session: str | None,
    without: Collection[str] = (),
    among: "NDArray[np.int64] | None" = None,
) -> "NDArray[np.int64]":
    """Returns the rows of a session, of a project, or of all; only those in `among`, if given. Sessions in
    the bin, sessions that do not add to memory, and those of projects in `without` contribute no rows unless
    named by `session`.
    """
    import numpy as np

    among = np.flatnonzero(catalogue.alive) if among is None else among
    if session is not None:
        code = catalogue.session_codes.get(session)
        wanted = np.zeros(len(catalogue.sessions), np.bool_)
        if code is not None:
            wanted[code] = True
    else:
        wanted = np.array(
            [
                one.lends and not one.binned and project in {None, one.project} and one.project not in without
                for one in catalogue.sessions
            ],
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
    """Returns which of the rows are not excluded; `since` (inclusive) and `before` (exclusive) bound their
    times."""
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


def best_of(
    totals: "NDArray[np.float64]", allowed: "NDArray[np.bool_]", times: "NDArray[np.int64]", k: int
) -> "NDArray[np.int64]":
    """Returns the places of the `k` highest totals that are allowed, best first; of equals the later one
    first."""
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
"""About this many messages without evidence are compared as well, so that every kind of evidence starts from
what most messages have."""


class Rows:
    """The messages compared, as rows of the catalogue, with their neighbours among them.

    Between people, the messages just before and just after belong to a message. With a model the unit is the
    exchange: a person's message and the model's reply.
    """

    def __init__(self, catalogue: Catalogue, rows: "NDArray[np.int64]") -> None:
        import numpy as np

        self.rows = rows
        self.total = len(rows)
        self.place = place = _places(len(catalogue), rows)
        # The last element means "nobody": index -1 reaches it.
        before, after = place[catalogue.before[rows]], place[catalogue.after[rows]]
        codes = catalogue.session[rows]
        present = np.zeros(len(catalogue.sessions) + 1, np.bool_)
        present[codes] = True
        # The place of each session of the room among the sessions compared; -1 for none.
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
        # The BM25 denominators depend on no question.
        self.norm = bm25_norm(self.lengths)
        self.window_norm = bm25_norm(self.with_neighbours(self.lengths))
        self.session_lengths = self.by_session(self.lengths)
        self.session_norm = bm25_norm(self.session_lengths)

    def narrowed(self, spoken_for: "NDArray[np.bool_]") -> "Rows":
        """Returns the marked rows, their neighbours and some others. The BM25 denominators and the total
        remain those of all rows. `outside` is how many neighbours of each row are left out."""
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
        """Returns the values of the neighbours; 0 where there is none."""
        found = values.take(neighbour)
        found[neighbour == NOBODY] = 0.0
        return found

    def with_neighbours(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        return values + self.beside(values, self.before) + self.beside(values, self.after)

    def touched(self, counts: "NDArray[np.float64]") -> "NDArray[np.int64]":
        """Returns the rows that contain a word or have a neighbour that does. `counts` covers the rows and
        whatever follows them; its last element, which index -1 reaches, is 0."""
        import numpy as np

        held = counts > 0
        n = len(self.rows)
        return np.flatnonzero(held[:n] | held.take(self.before) | held.take(self.after))

    def by_session(self, values: "NDArray[np.float64]") -> "NDArray[np.float64]":
        """Returns one sum per session."""
        import numpy as np

        return np.bincount(self.session, values, self.sessions).astype(float)


class ItemRows:
    """The memories and summaries compared, as rows of their index. `session` is the place of the session that
    each was learned in among those of `beside` (-1 for none of them)."""

    def __init__(
        self, item_index: ItemIndex, rows: "NDArray[np.int64]", catalogue: Catalogue, beside: Rows
    ) -> None:
        import numpy as np

        self.item_index = item_index
        self.rows = rows
        self.place = np.full(len(item_index) + 1, NOBODY, np.int64)
        self.place[rows] = np.arange(len(rows))
        self.session = beside.session_place[item_index.session_codes(catalogue)[rows]]
        own = item_index.columns()
        self.lengths = own.length[rows]
        self.created, self.since = own.created[rows], own.since[rows]
        self.rate, self.importance = own.rate[rows], own.importance[rows]
        self.prefers, self.dated, self.instructs = own.prefers[rows], own.dated[rows], own.instructs[rows]

    def counts(self, *words: str) -> "NDArray[np.float64]":
        """Returns how often any of these stems occurs in each item."""
        import numpy as np

        counts = np.zeros(len(self.rows))
        for places in filter(None, map(self.item_index.places, words)):
            at = self.place[np.fromiter(places, np.int64, len(places))]
            inside = at != NOBODY
            counts[at[inside]] += np.fromiter(places.values(), float, len(places))[inside]
        return counts


def _places(last: int, rows: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Returns the place among `rows` of each number up to `last`; -1 for none."""
    import numpy as np

    found = np.full(last + 1, NOBODY, np.int64)
    found[rows] = np.arange(len(rows))
    return found


def of_place(
    values: "NDArray[np.float64]", places: "NDArray[np.int64]", otherwise: "NDArray[np.float64]"
) -> "NDArray[np.float64]":
    """Returns the values at these places; where there is none, that of `otherwise`."""
    import numpy as np

    return np.where(places == NOBODY, otherwise, np.append(values, 0.0)[places])


def bm25_norm(lengths: "NDArray[np.float64]") -> "NDArray[np.float64]":
    return K1 * (1 - B + B * lengths / max(float(lengths.mean()) if len(lengths) else 1.0, 1.0))
