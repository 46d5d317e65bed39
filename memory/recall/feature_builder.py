"""Builds evidence from the columns of a room, the places of words and the nearest vectors. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import repeat
from types import MappingProxyType
from typing import TYPE_CHECKING

from memory.memories.entities import MemoryTier
from memory.recall.catalogue import NOBODY, Catalogue, ItemIndex
from memory.recall.decay import RATES, base_of, retentions
from memory.recall.entities import Posting
from memory.recall.moments import Span
from memory.recall.needs import Need
from memory.recall.rows import K1, ItemRows, Rows, bm25_norm, of_place
from memory.recall.scoring import OWN_WORDS, Evidence
from memory.search.terms import is_unspaced
from memory.vectors.entities import Near

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_NO_FORMS: Mapping[str, Sequence[str]] = MappingProxyType({})
ACROSS = 0.5
"""How much a pair of letters that occurs nowhere counts: it may span two words."""


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
"""People often talk about a time some days later."""
LONG_SPAN_DAYS = 800.0
COMPARED = 20_000
"""Up to this many messages are all compared; of more, only those with evidence."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question apart from its words: whom it names, the times it names, whether it asks for the model's
    messages, for a time or for advice, the kind of answer it needs, how many words are searched for, its
    sentences, the other forms of its words, and whether it is a statement that asks nothing.
    """

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
    states: bool = False


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
