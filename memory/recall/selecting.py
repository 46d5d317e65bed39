"""Which messages a question is compared with, and which of them it may find."""

from collections.abc import Collection
from datetime import datetime
from typing import TYPE_CHECKING

from memory.clock import micros
from memory.recall.catalogue import Catalogue

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
