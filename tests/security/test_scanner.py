"""The search finds what is planted, in each form; otherwise its silence would mean nothing."""

import base64
import json
import os
import random
import struct
from pathlib import Path

import pytest

from memory.entities import NewMessage, NewSession
from models.messages import Role
from tests.security.figures import Figures
from tests.security.pages import log_pages, pages
from tests.security.scanner import (
    Needle,
    find,
    needles_of,
    scan,
    scan_written,
    text_needles,
    vector_needles,
)
from tests.storage.conftest import Place

TEXT = "The heron \u2708 nests at Vassdalen 47"
KEY = random.Random(3).randbytes(32)
VECTOR = [random.Random(5).gauss(0, 0.05) for _ in range(384)]
NEEDLES = [*needles_of({"text": TEXT}, {"key": KEY}), *vector_needles("vector", VECTOR)]


def half(values: list[float]) -> bytes:
    return struct.pack(f"<{len(values)}e", *values)


PLANTED: dict[str, bytes] = {
    "text": TEXT.encode(),
    "utf-16-le": TEXT.encode("utf-16-le"),
    "utf-16-be": TEXT.encode("utf-16-be"),
    "json": json.dumps({"a": TEXT}).encode(),
    "hexadecimal": TEXT.encode().hex().encode(),
    "capitals": TEXT.encode().hex().upper().encode(),
    **{f"base64+{n}": base64.b64encode(b"abcdefg"[:n] + TEXT.encode() + b"more") for n in range(6)},
    "urlsafe": base64.urlsafe_b64encode(b"a" + TEXT.encode()),
    "key": KEY,
    "key in hexadecimal": KEY.hex().encode(),
    "key in base64": base64.b64encode(KEY),
    "key reversed": KEY[::-1],
    "vector f64": struct.pack("<384d", *VECTOR),
    "vector f32": struct.pack("<384f", *VECTOR),
    "vector f16": half(VECTOR),
    "a piece of a vector": half(VECTOR)[100:300],
    "vector f32 in base64": base64.b64encode(b"x" + struct.pack("<384f", *VECTOR)),
    "vector f16 in hexadecimal": half(VECTOR).hex().encode(),
}


@pytest.mark.parametrize("form", PLANTED)
def test_every_planted_form_is_found(tmp_path: Path, form: str, figures: Figures) -> None:
    chance = random.Random(form)
    (tmp_path / "deep" / "er").mkdir(parents=True)
    planted = tmp_path / "deep" / "er" / "file.bin"
    planted.write_bytes(chance.randbytes(5000) + PLANTED[form] + chance.randbytes(3000))
    (tmp_path / "clean.bin").write_bytes(chance.randbytes(10_000))
    done = scan([tmp_path], NEEDLES)
    assert {hit.path for hit in done.hits} == {planted}
    assert done.files == 2
    assert all(5000 <= hit.offset < 5000 + len(PLANTED[form]) for hit in done.hits)
    figures.add("leak scanner: planted leaks found", attempts=1)


def test_nothing_is_found_where_nothing_is(tmp_path: Path) -> None:
    (tmp_path / "noise").write_bytes(random.Random(1).randbytes(2_000_000))
    (tmp_path / "empty").touch()
    (tmp_path / "near").write_text(TEXT[:-1])
    done = scan([tmp_path, tmp_path / "missing"], NEEDLES)
    assert done.hits == ()
    assert (done.files, done.bytes) == (3, 2_000_000 + len(TEXT[:-1].encode()))


def test_names_of_files_count_too(tmp_path: Path) -> None:
    (tmp_path / f"notes on {TEXT}.log").touch()
    assert [hit.offset for hit in scan([tmp_path], NEEDLES).hits] == [-1]


def test_what_lies_across_two_pieces_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.security.scanner.PIECE", 16)
    (tmp_path / "a").write_bytes(b"-" * 10 + b"quokka of the lake" + b"-" * 40)
    (hit,) = scan([tmp_path], [Needle("words", b"quokka of the lake")]).hits
    assert hit.offset == 10


def test_what_is_spared_or_older_is_left_out_and_links_are_not_followed(tmp_path: Path) -> None:
    for name in ("old", "own", "kept"):
        (tmp_path / name).write_text(TEXT)
    (tmp_path / "link").symlink_to(tmp_path / "own")
    old = (tmp_path / "old").stat().st_mtime - 100
    os.utime(tmp_path / "old", (old, old))
    done = scan([tmp_path], NEEDLES, since=old + 50, but=[tmp_path / "own"])
    assert {hit.path.name for hit in done.hits} == {"kept"}
    assert not any(TEXT in str(hit) for hit in done.hits)


def test_a_disk_with_holes_is_searched_where_it_was_written(tmp_path: Path) -> None:
    disk = tmp_path / "disk.img"
    with disk.open("wb") as file:
        file.truncate(200_000_000)
        file.seek(150_000_000)
        file.write(TEXT.encode())
    done = scan_written(disk, NEEDLES)
    assert [(hit.offset, hit.what) for hit in done.hits] == [(150_000_000, "text as it is")]
    assert 0 < done.bytes < 1_000_000


def test_what_is_too_short_or_empty_proves_nothing() -> None:
    with pytest.raises(ValueError, match="too short"):
        text_needles("word", "heron")
    with pytest.raises(ValueError, match="zeros"):
        vector_needles("vector", [0.0] * 64)


async def test_pages_of_a_room_are_read_beneath_its_encryption(place: Place) -> None:
    store = await place.open(create=True)
    await store.create_session(NewSession(TEXT), NewMessage(Role.USER, "x" * 5000 + TEXT))
    needle = [Needle("text", TEXT.encode())]
    assert any(any(find(page, needle)) for page in log_pages(place.path, place.key))
    assert scan([place.path.parent], NEEDLES).hits == ()
    await store.close()
    assert list(log_pages(place.path, place.key)) == []
    found = list(pages(place.path, place.key))
    assert len(found) == place.path.stat().st_size // 4096
    assert any(any(find(page, needle)) for page in found)
    assert scan([place.path.parent], NEEDLES).hits == ()
