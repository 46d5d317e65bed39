"""Files from outside that are wrong in every way: nothing is raised, nothing is written beside the room."""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from atlas_desktop.services.importing import Format, Importer, ImportOptions, ImportReport
from memory.ports import SessionStore
from memory.storage.room import open_off_record
from memory.testing import FakeClock
from tests.security.figures import Figures

CASES = 80
SOAK_CASES = 10_000
MOST_MB = 512

Import = Callable[[SessionStore, Path], Awaitable[ImportReport]]


async def jsonl(store: SessionStore, file: Path) -> ImportReport:
    return await Importer(store.transfer).take([file], ImportOptions(Format.JSONL))


IMPORTERS: dict[str, Import] = {"jsonl": jsonl}
"""Every way in from outside, by the name of its format."""

_words = st.text(max_size=30) | st.sampled_from(
    ["\x00", "\ud800", "\x1b]52;c;AA\x07", "\u202e", "../../x", "9" * 400]
)
_scalars = st.none() | st.booleans() | st.integers() | st.floats() | _words
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_words, inner, max_size=4),
    max_leaves=8,
)
_moments = st.sampled_from(
    [
        "2024-02-03T04:05:06Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-12:00",
        "2024-02-30T00:00:00Z",
        "now",
    ]
)


def nearly(sound: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """What a field should hold, or anything else."""
    return sound | _values


_messages = st.fixed_dictionaries(
    {},
    optional={
        "id": nearly(st.sampled_from(["a", "b", "c"])),
        "role": nearly(st.sampled_from(["user", "assistant", "system"])),
        "content": nearly(_words),
        "speaker": nearly(_words),
        "created_at": nearly(_moments),
        "parent": nearly(st.sampled_from(["a", "b", None])),
        "status": nearly(st.sampled_from(["complete", "partial", "streaming"])),
        "important": nearly(st.booleans()),
        "extra": _values,
    },
)
_sessions = st.fixed_dictionaries(
    {"messages": nearly(st.lists(nearly(_messages), max_size=4))},
    optional={
        "id": nearly(st.sampled_from(["s", "t"])),
        "title": nearly(_words),
        "project": nearly(_words),
        "created_at": nearly(_moments),
        "updated_at": nearly(_moments),
        "tags": nearly(st.lists(_words, max_size=3)),
        "memory_mode": nearly(st.sampled_from(["normal", "off"])),
        "head": nearly(st.sampled_from(["a", "z"])),
        "extra": _values,
    },
)


def _encoded(value: object) -> bytes:
    return json.dumps(value).encode("utf-8", "surrogatepass")


_lines = (
    st.binary(max_size=200)
    | _sessions.map(_encoded)
    | _sessions.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
    | st.tuples(_sessions.map(_encoded), st.integers(0, 400)).map(lambda pair: pair[0][: pair[1]])
)
_files = st.lists(_lines, max_size=4).map(b"\n".join)


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
def opened() -> Opened:
    return Opened()


def take_in(how: Import, data: bytes, file: Path, opened: Opened) -> None:
    async def run() -> None:
        store = await open_off_record(FakeClock())
        try:
            opened.watching = True
            first = await how(store, file)
            opened.watching = False
            assert first.sessions == len(await store.list_sessions())
            again = await how(store, file)
            # The same file once more changes nothing.
            assert (again.sessions, again.messages) == (0, 0)
            assert (await store.verify()).problems == ()
        finally:
            opened.watching = False
            await store.close()

    file.write_bytes(data)
    asyncio.run(run())
    assert opened.paths == []


def attack(how: Import, cases: int, file: Path, opened: Opened) -> None:
    @settings(
        max_examples=cases,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(data=_files)
    @example(data=b"[" * 100_000)
    @example(data=b"\xff" * 10 + b"\n{}\n" * 50)
    @example(data=_encoded({"id": "s", "created_at": "2024-02-03T04:05:06Z", "messages": [{"id": "a"}] * 5}))
    def case(data: bytes) -> None:
        take_in(how, data, file, opened)

    case()


@pytest.mark.parametrize("name", IMPORTERS)
def test_no_file_is_too_strange(name: str, tmp_path: Path, opened: Opened, figures: Figures) -> None:
    attack(IMPORTERS[name], CASES, tmp_path / "in", opened)
    figures.add(f"strange files: {name}", attempts=CASES)


@pytest.mark.soak
@pytest.mark.parametrize("name", IMPORTERS)
def test_no_file_is_too_strange_in_a_long_run(
    name: str, tmp_path: Path, opened: Opened, figures: Figures
) -> None:
    attack(IMPORTERS[name], SOAK_CASES, tmp_path / "in", opened)
    if sys.platform != "win32":
        import resource

        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < MOST_MB * 1024
    figures.add(f"strange files: {name}", attempts=SOAK_CASES)
