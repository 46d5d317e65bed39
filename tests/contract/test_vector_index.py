"""What every index of vectors does."""

import subprocess
import sys

import pytest

from memory.vectors.entities import Scope, StoredVector, VectorIndex, VectorPage
from memory.vectors.flat import FlatVectorIndex
from memory.vectors.indexing import packed
from memory.vectors.lance import LanceVectorIndex
from tests.fakes.vector_index import BruteForceVectorIndex

EVERYTHING = Scope()


@pytest.fixture(params=["fake", "lance", "flat"])
def index(request: pytest.FixtureRequest) -> VectorIndex:
    made: dict[str, type[VectorIndex]] = {
        "fake": BruteForceVectorIndex,
        "lance": LanceVectorIndex,
        "flat": FlatVectorIndex,
    }
    return made[request.param]()


def row(
    owner: str,
    vector: list[float],
    *,
    part: int = 0,
    kind: str = "message",
    session: str = "s",
    project: str | None = None,
) -> StoredVector:
    return StoredVector(kind, owner, part, session, project, packed(vector))


async def add(index: VectorIndex, *rows: StoredVector) -> None:
    await index.add(VectorPage.of(rows))


async def owners(index: VectorIndex, scope: Scope = EVERYTHING, limit: int = 10) -> list[str]:
    return list((await index.search([1.0, 0.0], limit=limit, scope=scope)).owners)


async def test_an_empty_index_finds_nothing_and_says_that_this_is_all(index: VectorIndex) -> None:
    near = await index.search([1.0, 0.0], limit=5, scope=EVERYTHING)
    assert (near.owners, near.complete) == ((), True)
    assert await index.count() == 0
    await index.remove(owners=["a"])
    await index.add(VectorPage())


async def test_the_mean_follows_every_change(index: VectorIndex) -> None:
    assert await index.mean() is None
    await add(index, row("a", [1.0, 0.0]), row("b", [0.0, 1.0], session="t"), row("c", [0.6, 0.8]))
    assert await index.mean() == pytest.approx((1.6 / 3, 1.8 / 3), abs=1e-6)
    await index.remove(owners=["a"])
    assert await index.mean() == pytest.approx((0.3, 0.9), abs=1e-6)
    await index.remove(sessions=["t"])
    await add(index, row("d", [1.0, 0.0]))
    assert await index.mean() == pytest.approx((0.8, 0.4), abs=1e-6)
    await index.clear()
    assert await index.mean() is None


async def test_the_nearest_come_first_with_their_cosine(index: VectorIndex) -> None:
    await add(index, row("far", [0.0, 1.0]), row("near", [0.8, 0.6]), row("same", [1.0, 0.0], part=3))
    near = await index.search([1.0, 0.0], limit=10, scope=EVERYTHING)
    assert near.owners == ("same", "near", "far")
    assert near.parts == (3, 0, 0)
    assert near.similarity == pytest.approx((1.0, 0.8, 0.0), abs=1e-6)
    assert near.complete


async def test_a_limit_cuts_and_says_so(index: VectorIndex) -> None:
    await add(index, *(row(f"m{n}", [1.0 - n / 10, 0.0]) for n in range(5)))
    near = await index.search([1.0, 0.0], limit=2, scope=EVERYTHING)
    assert near.owners == ("m0", "m1")
    assert not near.complete


async def test_filters(index: VectorIndex) -> None:
    await add(
        index,
        row("a", [1.0, 0.0], project="it's", session="one"),
        row("b", [0.9, 0.0], project="other", session="two"),
        row("c", [0.8, 0.0], kind="summary", session="two"),
    )
    assert await owners(index, Scope(project="it's")) == ["a"]
    assert await owners(index, Scope(session="two")) == ["b", "c"]
    assert await owners(index, Scope(kinds=frozenset({"summary"}))) == ["c"]
    assert await owners(index, Scope(kinds=frozenset())) == []
    assert await owners(index, Scope(project="' OR '1'='1")) == []
    scopes = [Scope(session="two"), Scope(kinds=frozenset({"summary"}))]
    each = await index.search_each([1.0, 0.0], limit=10, scopes=scopes)
    assert [near.owners for near in each] == [("b", "c"), ("c",)]


async def test_what_is_removed_is_not_found_again(index: VectorIndex) -> None:
    await add(index, row("a", [1.0, 0.0]), row("a", [0.9, 0.0], part=1), row("b", [0.8, 0.0], session="t"))
    await index.remove(owners=["a"])
    assert await owners(index) == ["b"]
    await index.remove(sessions=["t"])
    assert await owners(index) == []
    assert await index.count() == 0


async def test_many_small_changes_keep_it_right(index: VectorIndex) -> None:
    for n in range(30):
        await add(index, row(f"m{n:02}", [1.0 - n / 100, 0.0]))
        if n % 3 == 0:
            await index.remove(owners=[f"m{n:02}"])
    assert await index.count() == 20
    assert (await owners(index))[:3] == ["m01", "m02", "m04"]


async def test_cleared_it_takes_vectors_of_another_length(index: VectorIndex) -> None:
    await add(index, row("a", [1.0, 0.0]))
    await index.clear()
    await add(index, row("b", [1.0, 0.0, 0.0]))
    assert list((await index.search([1.0, 0.0, 0.0], limit=5, scope=EVERYTHING)).owners) == ["b"]


CHANGES_AND_HEAP = """
import asyncio, ctypes
from memory.vectors.indexing import packed
from memory.vectors.entities import StoredVector, VectorPage
from memory.vectors.lance import LanceVectorIndex

class Heap(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd",
        "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
    )]

async def change():
    index = LanceVectorIndex()
    for number in range(70):
        row = StoredVector("message", f"m{number}", 0, "s", None, packed([1.0, 0.0]))
        await index.add(VectorPage.of([row]))

asyncio.run(change())
heap = ctypes.CDLL(None).mallinfo2
heap.restype = Heap
print(heap().arena)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only glibc keeps what is freed in its heap")
def test_many_small_changes_do_not_fill_the_heap_with_large_buffers() -> None:
    done = subprocess.run(
        [sys.executable, "-c", CHANGES_AND_HEAP], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 100_000_000
