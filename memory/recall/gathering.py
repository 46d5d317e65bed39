"""From the columns of a room, the places of words and the nearest vectors to evidence. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import repeat
from typing import TYPE_CHECKING

from memory.knowledge.entities import MemoryTier
from memory.recall.catalogue import NOBODY, Catalogue
from memory.recall.entities import Posting
from memory.recall.lexical import lexical
from memory.recall.moments import Span
from memory.recall.rows import NoteRows, Rows, of_place
from memory.recall.scoring import Evidence
from memory.recall.temporal import RATES, base_of, retentions
from memory.vectors.entities import Near

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DAY = 86_400_000_000
HOUR = 3_600_000_000
MARKED = base_of(1.0)
"""The importance of a message that was marked; that of the others is 1."""
SLACK_DAYS = 7.0
"""What was said about a time is often said some days after it."""
LONG_SPAN_DAYS = 800.0
_NEAREST_OF_SESSION = 3
COMPARED = 20_000
"""So many messages are all compared; of more, those that something speaks for."""


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
    own, around, session, held = lexical(catalogue, rows, notes, words, postings, question.words)
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
            [lengths[rows.session], of_place(lengths, notes.session, notes.lengths)]
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


def narrowed(
    catalogue: Catalogue, rows: Rows, postings: Sequence[Posting], near: Near | None, spans: Sequence[Span]
) -> Rows:
    """In a large room only what something speaks for is compared: what holds a word or lies near or in the
    time asked for, with its neighbours. All rows where there are few, or nothing speaks for any."""
    import numpy as np

    if len(rows.rows) <= COMPARED or (near is not None and near.complete):
        return rows
    places = [rows.place[catalogue.rows_of(posting.seqs)] for posting in postings]
    if near is not None:
        places.append(rows.place[_found(catalogue.rows, near.owners)])
    spoken_for = np.zeros(len(rows.rows) + 1, np.bool_)
    for own in places:
        spoken_for[own] = True
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
    of_notes = beside_own if sessions is None else of_place(sessions, notes.session, beside_own)
    return (
        meaning,
        np.concatenate([_around(rows, own, floor), beside_own]),
        np.concatenate([own if sessions is None else sessions[rows.session], of_notes]),
    )


def _around(rows: Rows, meaning: "NDArray[np.float64]", floor: float | None) -> "NDArray[np.float64]":
    """The mean over a message and its neighbours; those that were left out are as far as `floor`."""
    import numpy as np

    known = ~np.isnan(meaning)
    if not known.any():
        return meaning
    filled = np.where(known, meaning, meaning[known].mean())
    sums = rows.with_neighbours(filled) + rows.outside * (0.0 if floor is None else floor)
    return np.asarray(sums / (rows.with_neighbours(np.ones(len(filled))) + rows.outside))


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
