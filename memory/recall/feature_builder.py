"""Builds evidence from the columns of a room, the places of words and the nearest vectors."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import repeat
from types import MappingProxyType
from typing import TYPE_CHECKING

from memory.clock import micros
from memory.memories.entities import MemoryTier
from memory.recall.catalogue import NOBODY, Catalogue, ItemIndex
from memory.recall.decay import RATES, base_of, retentions
from memory.recall.entities import Posting
from memory.recall.moments import Span
from memory.recall.needs import Need
from memory.recall.scoring import OWN_WORDS, Evidence
from memory.search.terms import is_unspaced
from memory.vectors.entities import Near

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
    the bin, those that do not add to memory, and those of projects in `without` contribute no rows unless
    named by `session`."""
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
        # The last element stands for "nobody": index -1 reaches it.
        before, after = place[catalogue.before[rows]], place[catalogue.after[rows]]
        codes = catalogue.session[rows]
        present = np.zeros(len(catalogue.sessions) + 1, np.bool_)
        present[codes] = True
        # The place of each session of the room among the sessions here; -1 for none.
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


_NO_FORMS: Mapping[str, Sequence[str]] = MappingProxyType({})
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


def merged(places: Sequence[Places], forms: Mapping[str, Sequence[str]]) -> list[Places]:
    """Returns the places of words, each with those of its other forms."""
    import numpy as np

    known = {one.term: one for one in places}
    found = [one for one in places if not any(one.term in others for others in forms.values())]
    for word, others in forms.items():
        same = [known[term] for term in (word, *others) if term in known]
        if len(same) > int(word in known):
            rows, inverse = np.unique(np.concatenate([one.rows for one in same]), return_inverse=True)
            counts = np.bincount(inverse, np.concatenate([one.counts for one in same]), len(rows))
            whole = Places(word, rows, counts.astype(float), any(one.common for one in same))
            found = [one for one in found if one.term != word] + [whole]
    return found


def lexical(
    rows: Rows,
    items: ItemRows,
    looked_for: Sequence[str],
    places: Sequence[Places],
    asked: int,
    parts: Sequence[Part] = (),
    forms: Mapping[str, Sequence[str]] = _NO_FORMS,
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
        own, beside = known.get(word), items.counts(word, *forms.get(word, ()))
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


SPREAD = 0.5
"""The share of the mean of a message's passages in its meaning. One of the many passages of a long message is
more likely to be near by accident."""
_NEAREST_OF_SESSION = 3


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest passages, highest cosine first: of messages by their catalogue rows (`at`, -1 for unknown
    ones), of items by their rows (`beside`). `complete` means that nothing searched was left out."""

    at: "NDArray[np.int64]"
    similarity: "NDArray[np.float64]"
    parts: tuple[int, ...]
    beside: "NDArray[np.int64]"
    beside_similarity: "NDArray[np.float64]"
    complete: bool

    def floor(self) -> float | None:
        """Returns the cosine assumed for what was left out, the lowest one found; None where nothing was."""
        if self.complete:
            return None
        return float(min(own.min() for own in (self.similarity, self.beside_similarity) if len(own)))

    def part(self, row: int) -> int:
        """Returns which passage of a message is the nearest; 0 where none was found."""
        found = (self.at == row).nonzero()[0]
        return self.parts[int(found[0])] if len(found) else 0


@dataclass(frozen=True, slots=True)
class Meaning:
    """Cosines, NaN where there is no vector: of the best passage; of the whole message (with `SPREAD`); of
    the message with its neighbours; of its session."""

    best: "NDArray[np.float64]"
    whole: "NDArray[np.float64]"
    near: "NDArray[np.float64]"
    session: "NDArray[np.float64]"


def nearest(catalogue: Catalogue, item_index: ItemIndex, messages: Near, items: Near) -> Nearest:
    import numpy as np

    return Nearest(
        _found(catalogue.rows, messages.owners),
        np.asarray(messages.similarity, float),
        messages.parts,
        _found(item_index.rows, items.owners),
        np.asarray(items.similarity, float),
        (messages.complete or not messages.owners) and (items.complete or not items.owners),
    )


def meaning(rows: Rows, items: ItemRows, near: Nearest) -> Meaning:
    """Returns the cosines of the rows and items. What the search left out gets the lowest cosine it found."""
    import numpy as np

    n = len(rows.rows)
    floor = near.floor()
    best = np.full(n + len(items.rows), np.nan if floor is None else floor)
    at, beside = rows.place[near.at], items.place[near.beside]
    at, similarity = at[at != NOBODY], near.similarity[at != NOBODY]
    np.fmax.at(best, at, similarity)
    inside = beside != NOBODY
    np.fmax.at(best, n + beside[inside], near.beside_similarity[inside])
    own, of_items = best[:n], best[n:]
    count = np.bincount(at, minlength=n)
    mean = np.bincount(at, similarity, n) / np.maximum(count, 1)
    whole = np.where(count > 0, own + SPREAD * (mean - own), own)
    sessions = _of_sessions(rows, whole, floor)
    if sessions is None:
        return Meaning(best, best, best, best)
    return Meaning(
        best,
        np.concatenate([whole, of_items]),
        np.concatenate([_around(rows, whole, floor), of_items]),
        np.concatenate([sessions[rows.session], of_place(sessions, items.session, of_items)]),
    )


def _around(rows: Rows, values: "NDArray[np.float64]", floor: float | None) -> "NDArray[np.float64]":
    """Returns the mean over a message and its neighbours; neighbours left out count as `floor`."""
    import numpy as np

    known = ~np.isnan(values)
    filled = np.where(known, values, values[known].mean())
    sums = rows.with_neighbours(filled) + rows.outside * (0.0 if floor is None else floor)
    beside = (rows.before != NOBODY).astype(float) + (rows.after != NOBODY)
    return np.asarray(sums / (1 + beside + rows.outside))


def _of_sessions(
    rows: Rows, values: "NDArray[np.float64]", floor: float | None
) -> "NDArray[np.float64] | None":
    """Returns the mean of the three nearest messages of each session; None when nothing is known. With a
    `floor`, all but a few messages have that value, so only those few are examined."""
    import numpy as np

    known = ~np.isnan(values)
    if not known.any():
        return None
    least = float(values[known].min()) if floor is None else floor
    few = np.flatnonzero(known & (values > least))
    order = few[np.lexsort((-values[few], rows.session[few]))]
    own = rows.session[order]
    rank = np.arange(len(order)) - np.searchsorted(own, own)
    top = order[rank < _NEAREST_OF_SESSION]
    sums = np.bincount(rows.session[top], values[top] - least, rows.sessions)
    return np.asarray(least + sums / np.minimum(rows.sizes, _NEAREST_OF_SESSION))


def _found(rows: Mapping[str, int], owners: Sequence[str]) -> "NDArray[np.int64]":
    """Returns the row of each owner, -1 for unknown ones."""
    import numpy as np

    return np.fromiter(map(rows.get, owners, repeat(NOBODY)), np.int64, len(owners))


DAY = 86_400_000_000
HOUR = 3_600_000_000
MARKED = base_of(1.0)
"""The importance of a message marked as important; that of others is 1."""
SLACK_DAYS = 7.0
"""A time is often talked about some days after it."""
LONG_SPAN_DAYS = 800.0
COMPARED = 20_000
"""Up to this many messages are all compared; of more, only those with evidence."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a question asks, apart from its words: whom it names, the times it names, whether it asks for the
    model's messages, for a time or for advice, what kind of answer it needs, how many words are
    searched for, its sentences, and the other forms of its words."""

    speakers: frozenset[int]
    spans: tuple[Span, ...]
    asks_machine: bool
    asks_when: bool
    asks_advice: bool
    now: datetime
    need: Need = Need.BEST
    words: int = 0
    parts: tuple[Part, ...] = ()
    forms: Mapping[str, Sequence[str]] = field(default_factory=dict)


def gather(
    catalogue: Catalogue,
    rows: Rows,
    items: ItemRows,
    words: Sequence[str],
    places: Sequence[Places],
    near: Nearest | None,
    question: Question,
) -> Evidence:
    """Returns the evidence for each of the rows, then for each of the items. `words` are the stems searched
    for, `places` the places of those that are not too common."""
    import numpy as np

    chosen = rows.rows
    own, around, session, held = lexical(
        rows, items, words, places, question.words, question.parts, question.forms
    )
    said = None if near is None else meaning(rows, items, near)
    now = question.now.timestamp() * 1e6
    important = catalogue.important[chosen]
    ages = np.concatenate([now - catalogue.time[chosen], now - items.since]) / HOUR
    rates = np.concatenate([np.where(important, 0.0, RATES[MemoryTier.EPISODIC]), items.rate])
    machine = catalogue.machine[chosen]
    none = np.zeros(len(items.rows), np.bool_)
    lengths = rows.session_lengths
    return Evidence(
        words=own,
        near_words=around,
        session_words=session,
        session_length=np.concatenate(
            [lengths[rows.session], of_place(lengths, items.session, items.lengths)]
        ),
        held=held,
        meaning=None if said is None else said.best,
        whole_meaning=None if said is None else said.whole,
        near_meaning=None if said is None else said.near,
        session_meaning=None if said is None else said.session,
        speaker=np.concatenate([_spoken_by(catalogue, chosen, question.speakers), none]),
        time=_fit(np.concatenate([catalogue.time[chosen], items.created]), question.spans),
        dated=np.concatenate([catalogue.dated[chosen], items.dated]) & question.asks_when,
        machine=np.concatenate([machine & (not question.asks_machine), none]),
        asks=np.concatenate([catalogue.asks[chosen] & ~rows.with_machine, none]),
        stated=np.concatenate([catalogue.prefers[chosen] & ~machine, items.prefers]) & question.asks_advice,
        standing=np.concatenate([catalogue.instructs[chosen] & rows.with_machine & ~machine, items.instructs])
        & (question.asks_advice and question.need is Need.BEST),
        recency=retentions(ages, rates),
        importance=np.concatenate([np.where(important, MARKED, 1.0), items.importance]),
    )


def narrowed(
    catalogue: Catalogue, rows: Rows, places: Sequence[Places], near: Nearest | None, spans: Sequence[Span]
) -> Rows:
    """Returns the rows to compare. In a large room these are the rows that contain a word, have a near vector
    or lie in the time asked for, with their neighbours. All rows, if there are few or none contains a word or
    has a near vector."""
    import numpy as np

    if len(rows.rows) <= COMPARED or (near is not None and near.complete):
        return rows
    found = [rows.place[own.rows] for own in places]
    if near is not None:
        found.append(rows.place[near.at])
    spoken_for = np.zeros(len(rows.rows) + 1, np.bool_)
    for at in found:
        spoken_for[at] = True
    spoken_for = spoken_for[:-1]
    if not spoken_for.any():
        return rows
    if (fit := _fit(catalogue.time[rows.rows], spans)) is not None:
        spoken_for |= fit >= 1
    return rows.narrowed(spoken_for)


def _spoken_by(
    catalogue: Catalogue, rows: "NDArray[np.int64]", speakers: frozenset[int]
) -> "NDArray[np.bool_]":
    import numpy as np

    asked = np.zeros(len(catalogue.speakers) + 1, np.bool_)
    asked[list(speakers)] = True
    return np.asarray(asked[catalogue.speaker[rows]], np.bool_)


def _fit(times: "NDArray[np.int64]", spans: Sequence[Span]) -> "NDArray[np.float64] | None":
    """Returns 1 within one of the spans; outside, a value that falls to 1/e in a week, or in half the span's
    length if that is longer (but not for spans over `LONG_SPAN_DAYS`)."""
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
