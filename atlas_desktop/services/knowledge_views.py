"""A memory with what an interface shows of it."""

from dataclasses import dataclass

from memory.entities import Message
from memory.knowledge.entities import Memory, MemoryChange, MemorySource, MemoryUse, MemoryVersion


@dataclass(frozen=True, slots=True)
class SourceView:
    """The words behind a memory, with the message that they are in; None when it cannot be found any more."""

    source: MemorySource
    message: Message | None


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory with where it comes from, its weight now (without a floor), and how fast it fades."""

    memory: Memory
    sources: tuple[SourceView, ...]
    weight: float
    half_life_days: float


@dataclass(frozen=True, slots=True)
class MemoryDetails:
    """Everything about one memory."""

    view: MemoryView
    versions: tuple[MemoryVersion, ...]
    uses: tuple[MemoryUse, ...]
    parts: tuple[Memory, ...]
    changes: tuple[MemoryChange, ...]
