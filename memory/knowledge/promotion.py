"""What has proved to matter is kept for good: a pure rule over how a memory has fared."""

from dataclasses import dataclass
from enum import StrEnum

from memory.knowledge.entities import Memory, MemoryPatch, MemoryState, MemoryTier
from memory.knowledge.retention import PASSING, Retention


class Ground(StrEnum):
    """Why a memory is promoted. lasting_theme: a session that is over spoke of what lasting memories are
    about."""

    USED = "used"
    IMPORTANT = "important"
    LASTING_THEME = "lasting_theme"


@dataclass(frozen=True, slots=True)
class Standing:
    """How a memory has fared. `ended_turns` is the number of turns of the longest session it was learned in
    that is over (0: none is), `similarity` its cosine to the nearest lasting memory."""

    memory: Memory
    ended_turns: int = 0
    similarity: float = 0.0


def ground(standing: Standing, rules: Retention) -> Ground | None:
    """None: it stays where it is. What waits for the person's approval is never promoted past it."""
    memory = standing.memory
    if memory.tier not in PASSING or memory.state not in (MemoryState.INBOX, MemoryState.KEPT):
        return None
    if memory.uses > rules.promote_uses:
        return Ground.USED
    if memory.importance >= rules.promote_importance:
        return Ground.IMPORTANT
    themed = standing.similarity >= rules.promote_similarity
    if themed and standing.ended_turns >= rules.promote_turns:
        return Ground.LASTING_THEME
    return None


def promoted(memory: Memory, why: Ground) -> MemoryPatch:
    """For good from now on; what was of use often is kept, what was not looked at stays in the inbox."""
    state = MemoryState.KEPT if why is Ground.USED else memory.state
    return MemoryPatch(tier=MemoryTier.LONG_TERM, state=state, expires_at=None)
