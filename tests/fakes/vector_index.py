"""A vector index that looks at every vector."""

import struct
from collections.abc import Collection, Sequence
from statistics import fmean

from memory.vectors.entities import Near, Scope, StoredVector, VectorPage


class BruteForceVectorIndex:
    """`memory.vectors.entities.VectorIndex` in a list."""

    def __init__(self) -> None:
        self._rows: list[StoredVector] = []

    async def add(self, page: VectorPage) -> None:
        self._rows += page.rows()

    async def remove(self, *, owners: Collection[str] = (), sessions: Collection[str] = ()) -> None:
        self._rows = [
            row for row in self._rows if row.owner_id not in owners and row.session_id not in sessions
        ]

    async def search(self, vector: Sequence[float], *, limit: int, scope: Scope) -> Near:
        scored = [
            (sum(a * b for a, b in zip(_numbers(row.data), vector, strict=True)), row)
            for row in self._rows
            if _within(row, scope) and len(row.data) == 4 * len(vector)
        ]
        best = sorted(scored, key=lambda one: -one[0])[: max(limit, 0)]
        return Near(
            tuple(row.owner_id for _, row in best),
            tuple(row.part for _, row in best),
            tuple(similarity for similarity, _ in best),
            complete=len(scored) < limit,
        )

    async def search_each(
        self, vector: Sequence[float], *, limit: int, scopes: Sequence[Scope]
    ) -> list[Near]:
        return [await self.search(vector, limit=limit, scope=scope) for scope in scopes]

    async def count(self) -> int:
        return len(self._rows)

    async def mean(self) -> Sequence[float] | None:
        vectors = [_numbers(row.data) for row in self._rows]
        return tuple(map(fmean, zip(*vectors, strict=True))) if vectors else None

    async def clear(self) -> None:
        self._rows = []


def _numbers(data: bytes) -> tuple[float, ...]:
    return struct.unpack(f"<{len(data) // 4}f", data)


def _within(row: StoredVector, scope: Scope) -> bool:
    return (
        (scope.kinds is None or row.kind in scope.kinds)
        and scope.project in {None, row.project}
        and scope.session in {None, row.session_id}
    )
