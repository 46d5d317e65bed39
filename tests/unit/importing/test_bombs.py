"""Small files that would take all memory or time there is: each is refused in words, and costs little."""

import json
import struct
import tracemalloc
import zipfile
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from time import thread_time

import pytest

from atlas_desktop.importing.entities import ImportReport
from atlas_desktop.importing.importer import Importer
from atlas_desktop.importing.sources import _Shallow
from memory.storage.room import open_off_record
from tests.fakes.clock import FakeClock

LINE = (
    b'{"id":"s","title":"t","created_at":"2026-01-01T00:00:00Z",'
    b'"messages":[{"id":"m","role":"user","content":"hi"}]}\n'
)
OTHER = LINE.replace(b'"s"', b'"other"')
MOST_BYTES = 150 * 1024 * 1024
MOST_S = 10.0
DEEP = 100_000


async def taken(file: Path) -> ImportReport:
    """What becomes of a file, within the memory and the time that it may take."""
    store = await open_off_record(FakeClock())
    tracemalloc.start()
    began = thread_time()
    try:
        report = await Importer(store.transfer).take([file])
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
        assert thread_time() - began < MOST_S
        return report
    finally:
        tracemalloc.stop()
        await store.close()


def deep(before: bytes, opens: bytes, inner: bytes, closes: bytes, after: bytes = b"") -> bytes:
    return before + opens * DEEP + inner + closes * DEEP + after


BOMBS = {
    "list": (b"[" * DEEP, 0, "ends in the middle"),
    "closed list": (deep(b"", b"[", b"", b"]"), 0, "nested too deeply"),
    "object": (deep(b"", b'{"a":', b"1", b"}"), 0, "nested too deeply"),
    "wrapped": (deep(b'{"conversations":[', b'{"a":', b"1", b"}", b"]}"), 0, "nested too deeply"),
    "a field": (deep(LINE[:-2] + b',"a":', b"[", b"", b"]", b"}\n") + OTHER, 1, "nested too deeply"),
    "a line": (
        LINE + deep(b'{"id":"x","messages":', b"[", b"", b"]", b"}\n") + OTHER,
        2,
        "nested too deeply",
    ),
    "strings": (b'["\\' * 500_000, 0, "ends in the middle"),
    "quotes": (b'["' + b'\\"' * 1_000_000, 0, ""),
    "commas": (b"[" + b"," * 2_000_000, 0, ""),
    "a number": (b'{"id":' + b"9" * 1_000_000 + b',"messages":[]}\n', 0, "not JSON"),
    "objects": (b"[" + b"{}," * 500_000 + b"{}]", 0, ""),
}


@pytest.mark.parametrize("name", BOMBS)
async def test_json_that_explodes_is_refused_and_the_rest_comes_in(tmp_path: Path, name: str) -> None:
    data, sessions, why = BOMBS[name]
    file = tmp_path / "bomb.json"
    file.write_bytes(data)
    report = await taken(file)
    assert report.sessions == sessions
    told = [one.why for one in report.skipped]
    assert all(told)
    assert any(why in one for one in told) if why else report.unknown


def zipped(folder: Path, members: Iterable[tuple[str, bytes]]) -> Path:
    path = folder / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in members:
            out.writestr(name, data)
    return path


async def test_an_archive_in_an_archive_is_not_opened(tmp_path: Path) -> None:
    inner = BytesIO()
    with zipfile.ZipFile(inner, "w") as out:
        out.writestr("x.jsonl", LINE)
    report = await taken(zipped(tmp_path, [("in.zip", inner.getvalue()), ("as.json", inner.getvalue())]))
    assert report.sessions == 0
    assert report.unknown


@pytest.mark.filterwarnings("ignore:Duplicate name")
async def test_files_of_the_same_name_are_both_read(tmp_path: Path) -> None:
    report = await taken(zipped(tmp_path, [("x.jsonl", LINE), ("x.jsonl", OTHER)]))
    assert (report.sessions, report.skipped) == (2, [])


async def test_what_is_packed_too_tightly_is_refused_before_it_is_read(tmp_path: Path) -> None:
    report = await taken(zipped(tmp_path, [("x.jsonl", b" " * 50_000_000), ("ok.jsonl", LINE)]))
    assert report.sessions == 1
    assert [one.where for one in report.skipped] == ["bomb.zip/x.jsonl"]


async def test_an_archive_that_lies_about_a_size_gives_no_more_than_it_said(tmp_path: Path) -> None:
    path = zipped(tmp_path, [("x.jsonl", LINE * 200_000)])
    data = bytearray(path.read_bytes())
    at = data.rfind(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 100)
    path.write_bytes(bytes(data))
    report = await taken(path)
    assert report.sessions == 0
    assert report.skipped or report.unknown


def test_depth_is_counted_outside_of_strings_wherever_the_text_is_cut() -> None:
    value = {"a": ['"[[[', "\\", "]}" * 40, '\\"{'] * 3}
    for step in range(1, 9):
        stream = _Shallow(BytesIO(json.dumps(value).encode()))
        while stream.read(step):
            assert stream._depth <= 2
        assert (stream._depth, stream._in_string) == (0, False)
