"""The kind of answer a question needs, and the choice of messages for it.

Most questions need the best matches. One about conversations as a whole needs something from each of them:
the order in which subjects came up or, for a summary, whole exchanges.
"""

import re
from enum import StrEnum
from typing import TYPE_CHECKING

from memory.recall.catalogue import NOBODY
from memory.recall.rows import Rows, best_of
from memory.recall.words import sums_up, surveys

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Need(StrEnum):
    """best: the best matches; parts: parts from all sessions; order: the subjects brought up, from all
    sessions; summary: exchanges of a person with a model.
    """

    BEST = "best"
    PARTS = "parts"
    ORDER = "order"
    SUMMARY = "summary"


_ORDER = re.compile(
    r"\bin (?:what|which) order\b|\bthe order (?:in which|of)\b|\b(?:chronolog\w+|timeline)\b", re.IGNORECASE
)
POOL = 2
"""Where sessions take turns, this many times the requested hits are considered."""
SUBSTANCE = 0.1
"""The weight of length where it matters who brought something up. The scores it is added to are 0 … 1."""
LONG = 100.0
"""A message of this many words brings up as much as a longer one; "go on" brings up nothing."""


def need_of(question: str) -> Need:
    """Returns what a question needs, by its words."""
    if sums_up(question):
        return Need.SUMMARY
    if not surveys(question):
        return Need.BEST
    return Need.ORDER if _ORDER.search(question) else Need.PARTS


def chosen(
    need: Need,
    totals: "NDArray[np.float64]",
    allowed: "NDArray[np.bool_]",
    times: "NDArray[np.int64]",
    rows: Rows,
    sessions: "NDArray[np.int64]",
    k: int,
) -> "NDArray[np.int64]":
    """Returns the places of up to `k` messages and items, best first. The first of `totals` are those of
    `rows`; `sessions` has the session number of every place."""
    import numpy as np

    if need is Need.BEST:
        return best_of(totals, allowed, times, k)
    if need is Need.SUMMARY:
        return in_exchanges(totals, allowed, times, rows)[:k]
    if need is Need.ORDER:
        totals = totals.copy()
        totals[: len(rows.rows)] += SUBSTANCE * substance(rows.lengths)
    found = best_of(totals, allowed, times, k * POOL)
    return np.asarray(in_turns(found, sessions)[:k])


def substance(lengths: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Returns how much messages of these lengths (in words) bring up, 0 … 1."""
    import numpy as np

    return np.asarray(np.minimum(1.0, np.log1p(lengths) / np.log(LONG)))


def in_exchanges(
    totals: "NDArray[np.float64]", allowed: "NDArray[np.bool_]", times: "NDArray[np.int64]", rows: Rows
) -> "NDArray[np.int64]":
    """Returns all places, best first, with a person's message directly before the model's reply. An exchange
    counts as much as its reply, and more if the message brings something up."""
    import numpy as np

    n = len(rows.rows)
    asked = np.full(len(totals), NOBODY)
    asked[:n] = np.where(rows.with_machine, rows.before, NOBODY)
    replies = np.flatnonzero(asked != NOBODY)
    values = totals.copy()
    values[replies] += SUBSTANCE * substance(rows.lengths[asked[replies]])
    # Both messages of an exchange have its value; the message comes first.
    values[asked[replies]] = values[replies]
    exchange = np.arange(len(totals))
    exchange[replies] = asked[replies]
    order = np.lexsort((exchange != np.arange(len(totals)), -times[exchange], -values))
    return order[allowed[order]]


def in_turns(places: "NDArray[np.int64]", sessions: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Returns `places`, best first, in another order: the best of each session, then the second of each, and
    so on. `sessions` has the session number of every place."""
    import numpy as np

    own = sessions[places]
    order = np.argsort(own, kind="stable")
    rank = np.empty(len(own), np.int64)
    rank[order] = np.arange(len(own)) - np.searchsorted(own[order], own[order])
    return places[np.argsort(rank, kind="stable")]
