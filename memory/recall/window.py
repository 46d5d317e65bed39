"""Session memory: the messages of the last hours, searched first and without a model."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memory.clock import micros
from memory.recall.catalogue import Catalogue
from memory.recall.entities import Posting, Text
from memory.recall.lexical import Places, placed
from memory.recall.rows import in_scope
from memory.storage.evidence import EvidenceStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ANSWERS = 0.75
"""From this share of the question's words on, a recent message counts as the answer."""


@dataclass(frozen=True, slots=True)
class Span:
    """How far session memory reaches: hours, and at most this many turns (of two messages each) within
    them."""

    hours: float = 2.0
    turns: int = 50


class Window:
    """The stems of the newest messages, each text read once."""

    def __init__(self, evidence: EvidenceStore) -> None:
        self._evidence = evidence
        self._stems: dict[str, list[str]] = {}

    async def places(
        self, catalogue: Catalogue, rows: "NDArray[np.int64]", wanted: Collection[str]
    ) -> list[Places]:
        """Returns where each of these words occurs in these messages. Raises the errors of storage."""
        texts = await self._evidence.texts([int(seq) for seq in catalogue.seq[rows]])
        await self._read(texts)
        places: dict[str, list[int]] = {}
        for text in texts:
            for word in self._stems[text.text]:
                if word in wanted:
                    places.setdefault(word, []).append(text.seq)
        return [placed(catalogue, Posting(word, own)) for word, own in places.items()]

    async def _read(self, texts: Sequence[Text]) -> None:
        held = {text.text: self._stems[text.text] for text in texts if text.text in self._stems}
        new = [text.text for text in texts if text.text not in held]
        if new:
            held.update(zip(new, await self._evidence.stems_of(new), strict=True))
        # Drops texts that have left the window.
        self._stems = held


def recent(
    catalogue: Catalogue,
    span: Span,
    now: datetime,
    *,
    project: str | None,
    session: str | None,
    without: Collection[str] = (),
) -> "NDArray[np.int64]":
    """Returns the rows of the newest messages within the span, oldest first, without those of projects in
    `without`."""
    times = catalogue.time
    since = micros(now - timedelta(hours=span.hours))
    # By time first, so that few rows are left for the scope check.
    late = (catalogue.alive & (times >= since) & (times <= micros(now))).nonzero()[0]
    inside = in_scope(catalogue, project=project, session=session, without=without, among=late)
    order = catalogue.time[inside].argsort(kind="stable")
    return inside[order][max(0, len(inside) - 2 * span.turns) :]
