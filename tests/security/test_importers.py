"""Files from outside that are wrong in every way: nothing is raised, nothing is written beside the room."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, seed, settings
from hypothesis import strategies as st

from atlas_desktop.importing.entities import ImportOptions, ImportReport
from atlas_desktop.importing.formats import FORMATS, Format
from atlas_desktop.importing.importer import Importer
from memory.entities import RoomKind
from memory.storage import connection, migrations
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.store import Store
from tests.fakes.clock import FakeClock
from tests.security.figures import Figures
from tests.security.strange import FILES, SHAPES, database, encoded
from tests.stores import InMemoryStore

CASES = 6
SHAPED_CASES = 40
SOAK_CASES = 10_000
SOAK_PARTS = 4
HALF = {"id": "\ud800", "created_at": "2024-02-03T04:05:06Z"}
"""A session whose id no UTF-8 can hold."""
MOST_MB = 512

Import = Callable[[Store, Path], Awaitable[ImportReport]]


def importer(kind: Format | None) -> Import:
    """Takes in a file as one of that format, or as what it looks like."""

    async def take(store: Store, file: Path) -> ImportReport:
        return await Importer(store.transfer).take([file], ImportOptions(kind))

    return take


IMPORTERS: dict[str, Import] = {
    **{name: importer(kind) for name, kind in FORMATS.items()},
    "auto": importer(None),
}
"""Every way in from outside, by the name of its format."""


class Opened:
    """What this process opens for writing, while it is asked to watch."""

    def __init__(self) -> None:
        self.watching = False
        self.paths: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT
        if self.watching and event == "open" and isinstance(given[2], int) and given[2] & writing:
            self.paths.append(str(given[0]))


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    """Modules that are imported with the first file write what Python has made of them; that is no trace."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    yield Opened()
    sys.dont_write_bytecode = before


@cache
def made_once() -> Any:
    conn = connection.open_memory()
    migrations.migrate(conn, FakeClock().now())
    return conn


async def empty_room() -> Store:
    """A room in memory: a copy of one that was made once, because making it costs more than an import."""

    def connect() -> Connection:
        copy = connection.open_memory()
        made_once().backup(copy)
        return copy

    return Store(await Database.open(connect), RoomKind.OFF_RECORD, FakeClock())


def take_in(runner: asyncio.Runner, how: Import, data: bytes, file: Path, opened: Opened) -> None:
    async def run() -> None:
        store = await empty_room()
        try:
            opened.watching = True
            first = await how(store, file)
            opened.watching = False
            assert first.sessions == len(await store.list_sessions())
            again = await how(store, file)
            # The same file once more changes nothing.
            assert (again.sessions, again.messages) == (0, 0)
            if first.sessions:
                assert (await store.verify()).problems == ()
        finally:
            opened.watching = False
            await store.close()

    file.write_bytes(data)
    runner.run(run())
    assert opened.paths == []


def attack(cases: int, file: Path, opened: Opened, part: int = 0) -> int:
    """How many files every importer took in without opening another one; the first that does it fails.

    Each of the parts is made of other files.
    """
    tried = 0

    @seed(part)
    @settings(max_examples=cases, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(data=FILES)
    @example(data=b"[" * 100_000)
    @example(data=b"\xff" * 10 + b"\n{}\n" * 50)
    @example(data=encoded({"id": "s", "created_at": "2024-02-03T04:05:06Z", "messages": [{"id": "a"}] * 5}))
    @example(data=encoded([{"id": "\ud800", "chat": {"messages": [{"content": "0"}]}}]))
    @example(data=encoded({**HALF, "messages": [{"id": "\udfff", "role": "user", "content": "x"}]}))
    def case(data: bytes) -> None:
        nonlocal tried
        for how in IMPORTERS.values():
            take_in(runner, how, data, file, opened)
        tried += 1

    with asyncio.Runner() as runner:
        case()
    return tried


def count_files(figures: Figures, cases: int) -> None:
    for name in IMPORTERS:
        figures.add(f"strange files: {name}", attempts=cases)


def test_no_file_is_too_strange(tmp_path: Path, opened: Opened, figures: Figures) -> None:
    assert attack(CASES, tmp_path / "in", opened) >= CASES
    count_files(figures, CASES)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(SOAK_PARTS))
def test_no_file_is_too_strange_in_a_long_run(
    tmp_path: Path, opened: Opened, figures: Figures, part: int
) -> None:
    cases = SOAK_CASES // SOAK_PARTS
    assert attack(cases, tmp_path / "in", opened, part) >= cases
    if sys.platform != "win32":
        import resource

        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < MOST_MB * 1024
    count_files(figures, cases)


def attack_with_objects(kind: str, cases: int, file: Path) -> int:
    """How many files were taken in, and a second time with nothing new; the first that is not fails."""
    tried = 0

    async def run() -> None:
        store = InMemoryStore()
        first = await IMPORTERS[kind](store, file)
        assert first.sessions == len(await store.list_sessions())
        again = await IMPORTERS[kind](store, file)
        assert (again.sessions, again.messages) == (0, 0)

    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(objects=st.lists(SHAPES[kind], max_size=3))
    def case(objects: list[Any]) -> None:
        nonlocal tried
        for data in map(database, objects[:1]) if kind == "llm" else [encoded(objects)]:
            file.write_bytes(data)
            runner.run(run())
        tried += 1

    with asyncio.Runner() as runner:
        case()
    return tried


@pytest.mark.parametrize("kind", SHAPES)
def test_no_object_of_a_format_is_too_strange(kind: str, tmp_path: Path) -> None:
    """Many more objects of one format, into a store that costs next to nothing."""
    # What a database holds takes longer to make up.
    cases = SHAPED_CASES // 4 if kind == "llm" else SHAPED_CASES
    assert attack_with_objects(kind, cases, tmp_path / "in") >= cases


@pytest.mark.soak
@pytest.mark.parametrize("kind", SHAPES)
def test_no_object_of_a_format_is_too_strange_in_a_long_run(
    kind: str, tmp_path: Path, figures: Figures
) -> None:
    assert attack_with_objects(kind, SOAK_CASES, tmp_path / "in") >= SOAK_CASES
    figures.add(f"strange objects: {kind}", attempts=SOAK_CASES)
