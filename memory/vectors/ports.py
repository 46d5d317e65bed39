"""Where vectors are searched."""

from collections.abc import Collection, Sequence
from typing import Protocol

from memory.vectors.entities import (
    Near,
    Scope,
    VectorPage,
)


class VectorIndex(Protocol):
    """Vectors in memory, with ids and what is filtered by, never text. Nothing of it is ever written."""

    async def add(self, page: VectorPage) -> None:
        """Owners that are added must not be in the index."""
        ...

    async def remove(self, *, owners: Collection[str] = (), sessions: Collection[str] = ()) -> None: ...

    async def search(self, vector: Sequence[float], *, limit: int, scope: Scope) -> Near: ...

    async def search_each(
        self, vector: Sequence[float], *, limit: int, scopes: Sequence[Scope]
    ) -> list[Near]:
        """As `search`, in each of the scopes."""
        ...

    async def count(self) -> int: ...

    async def clear(self) -> None: ...
