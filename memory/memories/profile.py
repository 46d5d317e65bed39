"""The profile: a short page of pinned memories and the strongest lasting ones about the user."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from memory.clock import Clock
from memory.memories.entities import Memory, MemoryFilter, MemoryKind, MemoryTier, reading
from memory.memories.lifetime import in_use
from memory.recall.decay import BOUNDED, Decay, memory_weight
from memory.storage.memories import MemoryStore
from memory.storage.organising import ProjectStore
from models.ports import TokenCounter

KINDS = (
    MemoryKind.FACT,
    MemoryKind.PREFERENCE,
    MemoryKind.DECISION,
    MemoryKind.EVENT,
    MemoryKind.PROCEDURE,
)
"""In page order. Code, open questions and digests are too long or too transient, unless they are pinned."""
MOST = 40
"""The most memories considered; more would not fit on a page."""


@dataclass(frozen=True, slots=True)
class Profile:
    """The memories on the page, by kind in page order; `tokens` is the size of their lines, if counted."""

    memories: tuple[Memory, ...] = ()
    tokens: int = 0

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(line_of(memory) for memory in self.memories)


def line_of(memory: Memory) -> str:
    return "- " + " ".join(reading(memory.subject, memory.text).split())


def candidates(
    memories: Iterable[Memory],
    now: datetime,
    *,
    decay: Decay = BOUNDED,
    project: str | None = None,
    isolated: bool = False,
    ask_first: bool = False,
) -> list[Memory]:
    """Returns the memories eligible for the page, best first: pinned ones, then by temporal weight.

    Of projects' memories only those of `project` are eligible, and if it is `isolated` no others; expired or
    no longer true ones are not.
    """
    found = [
        one
        for one in memories
        if in_use(one, ask_first=ask_first)
        and (one.pinned or (one.tier is MemoryTier.LONG_TERM and one.kind in KINDS))
        and (one.project == project or (one.project is None and not isolated))
        and (one.expires_at is None or one.expires_at > now)
        and (one.valid_until is None or one.valid_until > now)
    ]
    found.sort(key=lambda one: (one.pinned, memory_weight(one, now, decay), one.updated_at), reverse=True)
    return found[:MOST]


def in_order(memories: Sequence[Memory]) -> tuple[Memory, ...]:
    """Groups memories by kind; within a kind the order stays."""
    places = {kind: at for at, kind in enumerate(KINDS)}
    return tuple(sorted(memories, key=lambda one: places.get(one.kind, len(KINDS))))


class ProfileMaker:
    """Makes the page of one room each time it is requested."""

    def __init__(
        self,
        memories: MemoryStore,
        counter: TokenCounter,
        clock: Clock,
        *,
        decay: Callable[[], Decay] = lambda: BOUNDED,
        ask_first: Callable[[], bool] = lambda: False,
        projects: ProjectStore | None = None,
    ) -> None:
        """Without `projects`, none is isolated."""
        self._memories = memories
        self._projects = projects
        self._counter = counter
        self._clock = clock
        self._decay = decay
        self._ask_first = ask_first

    async def page(self, most: int | None, *, project: str | None = None) -> Profile:
        """Returns the best memories whose lines take at most `most` tokens (None: all that fit on a page).

        Raises what storage raises.
        """
        wanted = MemoryFilter(project=project)
        isolated = await self._projects.isolated() if project is not None and self._projects else frozenset()
        found = candidates(
            await self._memories.select(wanted),
            self._clock.now(),
            decay=self._decay(),
            project=project,
            isolated=project in isolated,
            ask_first=self._ask_first(),
        )
        if not found or most is None:
            return Profile(in_order(found))
        costs = await self._counter.count([line_of(one) + "\n" for one in found])
        kept: list[Memory] = []
        used = 0
        for memory, cost in zip(found, costs, strict=True):
            if used + cost <= most:
                kept.append(memory)
                used += cost
        return Profile(in_order(kept), used)
