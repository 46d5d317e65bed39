"""Pure functions for how age and use weight a memory.

    retention  = floor + (1 - floor) · e^(-λ · age in hours)
    importance = min(base · (1 + 0.1 · ln(uses + 1)), 5)
    weight     = retention · (1 + reach · (importance - 1))

With floor 0 and reach 1 the weight is retention times importance. This is the published formula, kept as the
preset `published`. It hides everything old: after a month an episode has a thousandth of its weight. The
default is bounded on both sides: age takes away at most `1 - floor`, and use adds at most `4 · reach`, so
they only decide between otherwise equal answers.

Age counts from when something was written or last used in a reply, so useful content stays. Being retrieved
does not count as use. Pinned and important items do not age.
"""

import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from memory.memories.entities import Memory, MemoryTier

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Weights = TypeVar("Weights", float, "NDArray[np.float64]")

RATES = {
    MemoryTier.WORKING: 0.5,
    MemoryTier.SHORT_TERM: 0.1,
    MemoryTier.EPISODIC: 0.01,
    MemoryTier.LONG_TERM: 0.001,
    MemoryTier.PROCEDURAL: 0.001,
}
"""λ per hour. Conversation content (messages and their summaries) is episodic."""
REINFORCEMENT = 0.1
MOST = 5.0
"""The highest importance that use can reach."""
THRESHOLD = 0.01
"""Below this weight (by the published formula) a memory is fading."""


@dataclass(frozen=True, slots=True)
class Decay:
    """A preset. `floor` is what age leaves at least, `reach` how much of the importance acts; both 0 … 1."""

    name: str
    floor: float
    reach: float

    @property
    def highest(self) -> float:
        """The greatest possible weight."""
        return 1.0 + self.reach * (MOST - 1.0)


PUBLISHED = Decay("published", floor=0.0, reach=1.0)
BOUNDED = Decay("bounded", floor=0.97, reach=0.04)
NONE = Decay("none", floor=1.0, reach=0.04)
PRESETS = {preset.name: preset for preset in (PUBLISHED, BOUNDED, NONE)}


def floored(kept: Weights, floor: float) -> Weights:
    """Raises what age leaves (0 … 1) to `floor` … 1. Accepts numbers and arrays."""
    return floor + (1.0 - floor) * kept


def retention(age_hours: float, rate: float, floor: float = 0.0) -> float:
    """Returns what age leaves, `floor` … 1. A negative age (the clock was set back) counts as 0."""
    return floored(math.exp(-rate * max(age_hours, 0.0)), floor)


def retentions(
    age_hours: "NDArray[np.float64]", rate: "NDArray[np.float64] | float", floor: float = 0.0
) -> "NDArray[np.float64]":
    """Like `retention`, for arrays of one length."""
    import numpy as np

    return np.asarray(floored(np.exp(-rate * np.maximum(age_hours, 0.0)), floor), float)


def importance(base: float, uses: int) -> float:
    """Returns the multiplier: `base` ≥ 0 grows with the logarithm of the useful uses, up to `MOST`."""
    return min(base * (1.0 + REINFORCEMENT * math.log(max(uses, 0) + 1)), MOST)


def base_of(importance_of_memory: float) -> float:
    """Returns the base for an importance of 0 … 1: 0.5 … 1.5, and 1 for an ordinary memory."""
    return 0.5 + importance_of_memory


def importance_factor(multiplier: Weights, decay: Decay) -> Weights:
    """Returns the factor that the importance applies to a weight; `multiplier` is from `importance`."""
    return 1.0 + decay.reach * (multiplier - 1.0)


def weight(kept: float, multiplier: float, decay: Decay) -> float:
    """Returns the weight. `kept` is from `retention` with the preset's floor, `multiplier` from
    `importance`."""
    return kept * importance_factor(multiplier, decay)


def half_life_days(tier: MemoryTier) -> float:
    """Returns the number of days without use after which half of what decays is left."""
    return math.log(2) / RATES[tier] / 24


def fresh_at(memory: Memory) -> datetime:
    """Returns when its age began: it was learned or last used."""
    return memory.created_at if memory.used_at is None else max(memory.created_at, memory.used_at)


def age_hours(memory: Memory, now: datetime) -> float:
    """Returns the hours since the memory was learned or last used, at least 0."""
    return max((now - fresh_at(memory)) / timedelta(hours=1), 0.0)


def memory_weight(memory: Memory, now: datetime, decay: Decay) -> float:
    """Returns the weight of a memory now, 0 … `decay.highest`."""
    rate = 0.0 if memory.pinned else RATES[memory.tier]
    kept = retention(age_hours(memory, now), rate, decay.floor)
    return weight(kept, importance(base_of(memory.importance), memory.uses), decay)


def strength(memory: Memory, now: datetime) -> float:
    """Returns the weight by the published formula, which decides whether a memory is fading whatever preset
    ranks."""
    return memory_weight(memory, now, PUBLISHED)


def is_fading(memory: Memory, now: datetime, threshold: float = THRESHOLD) -> bool:
    return strength(memory, now) < threshold


def weak_from(memory: Memory, threshold: float = THRESHOLD) -> datetime | None:
    """Returns when the strength falls below `threshold` if the memory is not used again; None if it is
    pinned."""
    if memory.pinned:
        return None
    at_first = strength(memory, fresh_at(memory))
    hours = math.log(max(at_first / threshold, 1.0)) / RATES[memory.tier]
    return fresh_at(memory) + timedelta(hours=hours)


@dataclass(frozen=True, slots=True)
class StrengthCurve:
    """The strength of a memory over time, by its present tier and importance.

    `used` are the times of its useful uses that are known, earliest first.
    """

    memory: Memory
    now: datetime
    used: tuple[datetime, ...] = ()
    threshold: float = THRESHOLD

    def at(self, moment: datetime) -> float:
        """Returns the strength at a moment, in the past or, if it is not used again, in the future."""
        later = sum(moment < one for one in self.used)
        last = max((one for one in self.used if one <= moment), default=None)
        used_at = last if later else self.memory.used_at
        uses = max(self.memory.uses - later, 0)
        return strength(replace(self.memory, uses=uses, used_at=used_at), moment)

    @property
    def if_pinned(self) -> float:
        """The strength that it would keep while it is pinned."""
        return strength(replace(self.memory, pinned=True), self.now)

    @property
    def ends_at(self) -> datetime | None:
        """When it expires, or else when it is weaker than the threshold; None while it is pinned."""
        if self.memory.pinned:
            return None
        return self.memory.expires_at or weak_from(self.memory, self.threshold)
