"""`VectorIndex` on LanceDB, opened in memory: nothing is written to disk.

Its calls block, so they run one after another in a separate thread.
"""

import asyncio
import ctypes
import os
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from memory.vectors.entities import Near, Scope, VectorPage

T = TypeVar("T")

# Every change makes a new version, and a search goes through all of them.
_CHANGES_BEFORE_OPTIMIZING = 20
_IDS_A_FILTER = 500
_TABLE = "vectors"
_CACHE_BYTES = 4 << 20
"""The size of each of LanceDB's two caches, which contain facts about every version of the table. By default
they may take gigabytes: after 3,000 changes the process had grown by 86 MB, and with these bounds by 28
MB."""
_M_MMAP_THRESHOLD = -3
_OWN_MAPPING_BYTES = 1 << 20


class LanceVectorIndex:
    """An index on LanceDB. The first vector creates the table and sets the length that all others must
    have."""

    def __init__(self) -> None:
        # A call whose caller was cancelled still ends before the next one begins.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="vectors")
        self._connection: Any = None
        self._table: Any = None
        self._dimension = 0
        self._changes = 0
        self._known_mean: tuple[float, ...] | None = None

    async def add(self, page: VectorPage) -> None:
        if len(page):
            await self._alone(lambda: self._add(page))

    async def remove(self, *, owners: Collection[str] = (), sessions: Collection[str] = ()) -> None:
        if owners or sessions:
            await self._alone(lambda: self._remove(owners, sessions))

    async def search(self, vector: Sequence[float], *, limit: int, scope: Scope) -> Near:
        return await self._alone(lambda: self._search(vector, limit, scope))

    async def search_each(
        self, vector: Sequence[float], *, limit: int, scopes: Sequence[Scope]
    ) -> list[Near]:
        return [await self.search(vector, limit=limit, scope=scope) for scope in scopes]

    async def count(self) -> int:
        return await self._alone(lambda: 0 if self._table is None else int(self._table.count_rows()))

    async def mean(self) -> Sequence[float] | None:
        return await self._alone(self._mean)

    async def clear(self) -> None:
        await self._alone(self._clear)

    async def _alone(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _add(self, page: VectorPage) -> None:
        arrow = _load()
        dimension = page.dimension
        schema = arrow.schema(
            [
                ("owner", arrow.string()),
                ("part", arrow.int32()),
                ("kind", arrow.string()),
                ("session", arrow.string()),
                ("project", arrow.string()),
                ("vector", arrow.list_(arrow.float32(), dimension)),
            ]
        )
        numbers = arrow.py_buffer(page.data)
        flat = arrow.Array.from_buffers(arrow.float32(), len(page) * dimension, [None, numbers])
        batch = arrow.table(
            [
                arrow.array(page.owners, arrow.string()),
                arrow.array(page.parts, arrow.int32()),
                arrow.array(page.kinds, arrow.string()),
                arrow.array(page.sessions, arrow.string()),
                arrow.array(page.projects, arrow.string()),
                arrow.FixedSizeListArray.from_arrays(flat, dimension),
            ],
            schema=schema,
        )
        if self._table is None:
            import lancedb

            self._connection = lancedb.connect(
                "memory://",
                session=lancedb.Session(
                    index_cache_size_bytes=_CACHE_BYTES, metadata_cache_size_bytes=_CACHE_BYTES
                ),
            )
            self._table = self._connection.create_table(_TABLE, schema=schema)
            self._dimension = dimension
        self._table.add(batch)
        self._changed()

    def _remove(self, owners: Collection[str], sessions: Collection[str]) -> None:
        if self._table is None:
            return
        for column, values in (("owner", sorted(owners)), ("session", sorted(sessions))):
            for at in range(0, len(values), _IDS_A_FILTER):
                self._table.delete(f"{column} IN ({_list(values[at : at + _IDS_A_FILTER])})")
                self._changed()

    def _search(self, vector: Sequence[float], limit: int, scope: Scope) -> Near:
        if self._table is None or limit <= 0 or len(vector) != self._dimension:
            return Near((), (), (), complete=self._table is None)
        # Vectors have length 1, so the dot product is the cosine; `_distance` is 1 minus it.
        query = self._table.search(list(vector)).distance_type("dot").limit(limit)
        if conditions := _conditions(scope):
            query = query.where(" AND ".join(conditions), prefilter=True)
        found = query.select(["owner", "part", "_distance"]).to_arrow()
        return Near(
            tuple(found["owner"].to_pylist()),
            tuple(found["part"].to_pylist()),
            tuple(1.0 - distance for distance in found["_distance"].to_pylist()),
            complete=found.num_rows < limit,
        )

    def _mean(self) -> Sequence[float] | None:
        """Reads all vectors after a change: 20,000, the most that this index is used for, take some 30 ms."""
        if self._known_mean is None and self._table is not None and self._table.count_rows():
            import numpy as np

            column = self._table.search().select(["vector"]).to_arrow()["vector"].combine_chunks()
            rows = np.asarray(column.flatten(), np.float32).reshape(-1, self._dimension)
            self._known_mean = tuple(rows.mean(axis=0, dtype=np.float64).tolist())
        return self._known_mean

    def _changed(self) -> None:
        self._known_mean = None
        self._changes += 1
        if self._changes >= _CHANGES_BEFORE_OPTIMIZING:
            from datetime import timedelta

            # Older versions still contain what was removed since.
            self._table.optimize(cleanup_older_than=timedelta(milliseconds=1), delete_unverified=True)
            self._changes = 0

    def _clear(self) -> None:
        if self._connection is not None:
            self._connection.drop_table(_TABLE)
        self._connection = self._table = self._known_mean = None
        self._dimension = self._changes = 0


def _load() -> Any:
    """Imports pyarrow, after setting the native libraries not to log to the terminal."""
    os.environ.setdefault("LANCEDB_LOG", "off")
    os.environ.setdefault("LANCE_LOG", "off")
    _map_large_buffers()
    import pyarrow as pa

    return pa


def _map_large_buffers() -> None:
    """Makes glibc map every allocation of 1 MiB or more separately, and unmap it when it is freed.

    LanceDB 0.40 keeps each of the three small files of a change in the 5 MiB buffer that it was written with,
    until the next `optimize`. When such a buffer is freed, glibc raises its threshold: later buffers come
    from the heap, which other objects then keep from shrinking. From the first to the seventh minute of
    constant use the program grew by 23 MB with this, and by 68 MB without.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _OWN_MAPPING_BYTES)


def _conditions(scope: Scope) -> list[str]:
    found = []
    if scope.kinds is not None:
        found.append(f"kind IN ({_list(sorted(scope.kinds))})")
    if scope.project is not None:
        found.append(f"project = {_text(scope.project)}")
    if scope.session is not None:
        found.append(f"session = {_text(scope.session)}")
    return found


def _list(values: Sequence[str]) -> str:
    return ", ".join(map(_text, values)) or "NULL"


def _text(value: str) -> str:
    doubled = value.replace("'", "''")
    return f"'{doubled}'"
