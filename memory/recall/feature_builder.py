"""Builds evidence from the columns of a room, the places of words and the nearest vectors. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memory.memories.entities import MemoryTier
from memory.recall.catalogue import Catalogue
from memory.recall.decay import RATES, base_of, retentions
from memory.recall.lexical import Part, Places, lexical
from memory.recall.moments import Span
from memory.recall.rows import ItemRows, Rows, of_place
from memory.recall.scoring import Evidence
from memory.recall.semantic_scores import Nearest, meaning

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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
    model's messages, for a time or for advice, whether sessions take turns in the answer, how many words are
    searched for, and its sentences."""

    speakers: frozenset[int]
    spans: tuple[Span, ...]
    asks_machine: bool
    asks_when: bool
    asks_advice: bool
    now: datetime
    turns: bool = False
    words: int = 0
    parts: tuple[Part, ...] = ()


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
    own, around, session, held = lexical(rows, items, words, places, question.words, question.parts)
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
