"""`VectorIndex` as one matrix in memory: every search compares all vectors, exactly.

For a hundred thousand passages, a user's lifetime, this is several times faster than the scan of a vector
database: one product of a matrix and a vector, without decoding. Calls run one after another in a separate
thread. A second thread computes half of each product; the product releases the interpreter lock.
"""

import asyncio
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from memory.vectors.entities import Near, Scope, VectorPage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

T = TypeVar("T")
_Compared = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.float32]"]

BLOCK = 8192
"""Rows allocated at a time, so that growth copies nothing."""
_DEAD_SHARE = 0.25
_DEAD_LEAST = 1000
_FEW_SHARE = 0.3
_NONE = -1


class _Codes:
    """Maps texts to numbers: the same text always has the same one; None is -1."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def of(self, texts: Sequence[str | None]) -> list[int]:
        known = self._known
        for text in texts:
            if text not in known and text is not None:
                known[text] = len(known)
        return [_NONE if text is None else known[text] for text in texts]

    def known(self, texts: Collection[str]) -> list[int]:
        return [code for text in texts if (code := self._known.get(text)) is not None]


class FlatVectorIndex:
    """An exact in-memory index. The first vector sets the length that all others must have."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="vectors")
        self._helper = ThreadPoolExecutor(max_workers=1, thread_name_prefix="vectors")
        self._clear()

    async def add(self, page: VectorPage) -> None:
        if len(page):
            await self._alone(lambda: self._add(page))

    async def remove(self, *, owners: Collection[str] = (), sessions: Collection[str] = ()) -> None:
        if owners or sessions:
            await self._alone(lambda: self._remove(frozenset(owners), sessions))

    async def search(self, vector: Sequence[float], *, limit: int, scope: Scope) -> Near:
        return (await self.search_each(vector, limit=limit, scopes=[scope]))[0]

    async def search_each(
        self, vector: Sequence[float], *, limit: int, scopes: Sequence[Scope]
    ) -> list[Near]:
        return await self._alone(lambda: self._search(vector, limit, scopes))

    async def count(self) -> int:
        return await self._alone(lambda: len(self._owners) - self._dead)

    async def mean(self) -> Sequence[float] | None:
        return await self._alone(self._mean)

    async def clear(self) -> None:
        await self._alone(self._clear)

    async def _alone(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _clear(self) -> None:
        self._blocks: list[NDArray[np.float32]] = []
        self._sum: NDArray[np.float64] | None = None
        self._columns: list[NDArray[np.int64]] = []
        self._owners: list[str] = []
        self._kinds, self._sessions, self._projects = _Codes(), _Codes(), _Codes()
        self._dimension = 0
        self._dead = 0

    def _add(self, page: VectorPage) -> None:
        import numpy as np

        count = len(page)
        self._dimension = self._dimension or page.dimension
        vectors = np.frombuffer(page.data, "<f4").reshape(count, self._dimension)
        added = vectors.sum(axis=0, dtype=np.float64)
        self._sum = added if self._sum is None else self._sum + added
        columns = np.array(
            [
                [1] * count,
                page.parts,
                self._kinds.of(page.kinds),
                self._sessions.of(page.sessions),
                self._projects.of(page.projects),
            ],
            np.int64,
        )
        done = 0
        while done < count:
            at = len(self._owners) % BLOCK
            if at == 0:
                self._blocks.append(np.zeros((BLOCK, self._dimension), np.float32))
                self._columns.append(np.zeros((len(columns), BLOCK), np.int64))
            take = min(BLOCK - at, count - done)
            self._blocks[-1][at : at + take] = vectors[done : done + take]
            self._columns[-1][:, at : at + take] = columns[:, done : done + take]
            self._owners += page.owners[done : done + take]
            done += take

    def _remove(self, owners: frozenset[str], sessions: Collection[str]) -> None:
        import numpy as np

        gone = {at for at, owner in enumerate(self._owners) if owner in owners} if owners else set()
        codes = self._sessions.known(sessions)
        for number, columns in enumerate(self._columns if codes else []):
            inside = np.flatnonzero((columns[0] > 0) & np.isin(columns[3], codes))
            gone.update(int(at) + number * BLOCK for at in inside)
        for at in gone:
            block, place = divmod(at, BLOCK)
            if self._sum is not None:
                self._sum -= self._blocks[block][place]
            self._dead += int(self._columns[block][0, place])
            self._columns[block][:, place] = 0
            self._blocks[block][place] = 0.0
            self._owners[at] = ""
        if self._dead > max(_DEAD_LEAST, _DEAD_SHARE * len(self._owners)):
            self._close_up()

    def _close_up(self) -> None:
        """Moves the remaining rows into new blocks."""
        import numpy as np

        blocks, columns, owners = self._blocks, self._columns, self._owners
        self._blocks, self._columns, self._owners, self._dead = [], [], [], 0
        kept = 0
        for number, own in enumerate(columns):
            for place in np.flatnonzero(own[0]):
                at = kept % BLOCK
                if at == 0:
                    self._blocks.append(np.zeros((BLOCK, self._dimension), np.float32))
                    self._columns.append(np.zeros_like(own))
                self._blocks[-1][at] = blocks[number][place]
                self._columns[-1][:, at] = own[:, place]
                self._owners.append(owners[number * BLOCK + int(place)])
                kept += 1

    def _mean(self) -> Sequence[float] | None:
        count = len(self._owners) - self._dead
        return None if self._sum is None or not count else tuple((self._sum / count).tolist())

    def _search(self, vector: Sequence[float], limit: int, scopes: Sequence[Scope]) -> list[Near]:
        import numpy as np

        if not self._owners or limit <= 0 or len(vector) != self._dimension:
            return [Near((), (), (), complete=not self._owners) for _ in scopes]
        blocks = self._compared(np.asarray(vector, np.float32), scopes)
        return [self._nearest([block[at] for block in blocks], limit) for at in range(len(scopes))]

    def _nearest(self, compared: Sequence[_Compared], limit: int) -> Near:
        import numpy as np

        found, parts, similarities = zip(*compared, strict=True)
        places, part, similarity = np.concatenate(found), np.concatenate(parts), np.concatenate(similarities)
        complete = len(places) < limit
        if len(places) > limit:
            best = np.argpartition(similarity, len(places) - limit)[len(places) - limit :]
            places, part, similarity = places[best], part[best], similarity[best]
        order = np.argsort(-similarity, kind="stable")
        owners = self._owners
        return Near(
            tuple([owners[at] for at in places[order].tolist()]),
            tuple(part[order].tolist()),
            tuple(similarity[order].tolist()),
            complete=complete,
        )

    def _compared(self, query: "NDArray[np.float32]", scopes: Sequence[Scope]) -> list[list[_Compared]]:
        """Returns for each block and scope the rows in scope, their passages, and their cosines. Two threads
        take one block after another, so on a busy machine the wait is at most the other thread's last
        block."""
        numbers = iter(range(len(self._blocks)))
        found: dict[int, list[_Compared]] = {}

        def work() -> None:
            for number in numbers:
                found[number] = self._compare(number, query, scopes)

        helper = self._helper.submit(work) if len(self._blocks) > 1 else None
        work()
        if helper is not None and not helper.cancel():
            helper.result()
        return [found[number] for number in range(len(self._blocks))]

    def _compare(self, number: int, query: "NDArray[np.float32]", scopes: Sequence[Scope]) -> list[_Compared]:
        import numpy as np

        block, columns = self._blocks[number], self._columns[number]
        insides = [np.flatnonzero(self._within(columns, scope)) for scope in scopes]
        # If few rows are in scope, only they are multiplied; otherwise all are, which is faster. Not `@`:
        # BLAS splits it among threads, and on a busy machine all wait for the last of them.
        few = sum(map(len, insides)) < _FEW_SHARE * BLOCK
        every = None if few else np.vecdot(block, query)
        return [
            (
                inside + number * BLOCK,
                columns[1][inside],
                np.vecdot(_picked(block, inside), query) if every is None else every[inside],
            )
            for inside in insides
        ]

    def _within(self, columns: "NDArray[np.int64]", scope: Scope) -> "NDArray[np.bool_]":
        """Returns which rows of one block a search may find."""
        alive, _, kinds, sessions, projects = columns
        found: NDArray[np.bool_] = alive > 0
        if scope.kinds is not None:
            found &= _is_one_of(kinds, self._kinds.known(scope.kinds))
        if scope.project is not None:
            found &= _is_one_of(projects, self._projects.known([scope.project]))
        if scope.session is not None:
            found &= _is_one_of(sessions, self._sessions.known([scope.session]))
        return found


def _picked(block: "NDArray[np.float32]", rows: "NDArray[np.int64]") -> "NDArray[np.float32]":
    """Returns these rows, copied only if they are not contiguous."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return block[rows[0] : rows[-1] + 1]
    return block[rows]


def _is_one_of(values: "NDArray[np.int64]", codes: Sequence[int]) -> "NDArray[np.bool_]":
    import numpy as np

    found = np.zeros(len(values), np.bool_)
    for code in codes:
        found |= values == code
    return found
