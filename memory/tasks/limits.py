"""Limits in a text: "never more than 250 g", "at most 40 euros", "at least three days"."""

from dataclasses import dataclass

from memory.summaries.evidence import fold
from memory.tasks.lexicon import known, words
from memory.tasks.values import Value, values

_LOOKED = 40


@dataclass(frozen=True, slots=True)
class Limit:
    """A value that may not be exceeded, or with `least` not be undercut."""

    value: Value
    least: bool = False

    def allows(self, other: Value) -> bool | None:
        """Whether a value keeps to the limit; None if they cannot be compared."""
        if self.value.dimension == "date" and other.dimension == "date":
            return other.order >= self.value.order if self.least else other.order <= self.value.order
        if not self.value.comparable(other) or self.value.amount is None or other.amount is None:
            return None
        return other.amount >= self.value.amount if self.least else other.amount <= self.value.amount


def limits(text: str) -> list[Limit]:
    """Returns the limits that a sentence sets."""
    lists = known().limits
    found: list[Limit] = []
    last = 0
    for value in values(text):
        before = [fold(word) for word in words(text[max(last, value.begin - _LOOKED) : value.begin])]
        last = value.end
        denied = any(word in lists["denied"] for word in before)
        if any(word in lists["more"] for word in before):
            found.append(Limit(value, least=not denied))
        elif any(word in lists["least"] for word in before):
            found.append(Limit(value, least=True))
        elif any(word in lists["most"] for word in before[-3:]):
            found.append(Limit(value, least=denied and "less" in before))
    return [one for one in found if one.value.dimension != "count" or one.value.unit]
