"""Pure functions that record what recall found for a turn, and why most of it was left out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from memory.recall.entities import Hit


class Outcome(StrEnum):
    """told: it is in the prompt; repeats: what it was learned from is in the prompt or among the hits; echo:
    it adds nothing to what was just asked; too_far: not close enough to what was asked; no_room: the tokens
    for recall were used up."""

    TOLD = "told"
    REPEATS = "repeats"
    ECHO = "echo"
    TOO_FAR = "too_far"
    NO_ROOM = "no_room"


@dataclass(frozen=True, slots=True)
class RecallDecision:
    """Something that recall found for a turn, without its text. `score` and `parts` are those of the hit."""

    kind: str
    id: str
    outcome: Outcome
    score: float
    parts: Mapping[str, float]


def unrepeated(hits: Sequence[Hit], shown: Collection[str]) -> list[Hit]:
    """Drops memories whose source messages are shown or among the hits: the messages themselves say more."""
    said = {*shown, *(hit.id for hit in hits if hit.kind == "message")}
    return [hit for hit in hits if said.isdisjoint(hit.sources)]


def considered(
    found: Sequence[Hit], new: Sequence[Hit], fresh: Sequence[Hit], worthy: Sequence[Hit], told: Sequence[Hit]
) -> tuple[RecallDecision, ...]:
    """Returns the outcome of every hit in `found`, in order.

    `new` adds something to what was asked, `fresh` repeats nothing, `worthy` was also close enough, and
    `told` fitted.
    """
    ids = [{hit.id for hit in hits} for hits in (new, fresh, worthy, told)]
    return tuple(RecallDecision(hit.kind, hit.id, _outcome(hit, *ids), hit.score, hit.parts) for hit in found)


def _outcome(hit: Hit, new: set[str], fresh: set[str], worthy: set[str], told: set[str]) -> Outcome:
    if hit.id in told:
        return Outcome.TOLD
    if hit.id in worthy:
        return Outcome.NO_ROOM
    if hit.id not in new:
        return Outcome.ECHO
    return Outcome.TOO_FAR if hit.id in fresh else Outcome.REPEATS
