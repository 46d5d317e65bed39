"""Files, folders and archives: what is looked into, what is refused, and how far a broken file is read."""

import io
import json
import os
import stat
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.error_table import explain
from atlas_desktop.errors import UnknownExport
from atlas_desktop.importing.entities import ImportReport, Meter
from atlas_desktop.importing.formats import FORMATS
from atlas_desktop.importing.importer import Importer
from atlas_desktop.importing.sources import Piece, pieces
from atlas_desktop.phrases import left_out, passed_over
from tests.stores import InMemoryStore
from tests.unit.importing.exports import (
    chatgpt,
    claude,
    everything,
    node,
    spoken,
    take,
    taken,
    write,
)


def talk(name: str) -> dict[str, Any]:
    return chatgpt(node(f"{name}-u", "root", "user", f"Hello {name}"), conversation_id=name)


def sizes(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_size for path in folder.rglob("*")}


async def from_archive(
    folder: Path, members: dict[Any, bytes], **options: Any
) -> tuple[list[str], ImportReport]:
    archive = folder / "export.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as out:
        for name, data in members.items():
            out.writestr(name, data)
    before = sizes(folder)
    store = InMemoryStore()
    report = await take(store, archive, **options)
    assert sizes(folder) == before
    return [one.id for one in await everything(store)], report


def encoded(*names: str) -> bytes:
    return json.dumps([talk(name) for name in names]).encode()


async def test_an_archive_is_read_without_being_unpacked(tmp_path: Path) -> None:
    members = {
        "conversations.json": encoded("a"),
        "user.json": b'{"id": "me"}',
        "message_feedback.json": b"[]",
        "chat.html": b"<p>",
        "deep/er/conversations-001.json": encoded("b"),
        "picture.png": b"\x89PNG",
    }
    ids, report = await from_archive(tmp_path, members)
    assert (sorted(ids), report.skipped, report.unknown) == (["a", "b"], [], {})
    assert report.passed_over == ["export.zip/message_feedback.json", "export.zip/user.json"]
    assert passed_over(report) == [
        "Ignored (no conversations): export.zip/message_feedback.json, export.zip/user.json"
    ]


async def test_what_is_dangerous_in_an_archive_is_refused_by_name(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("link.json")
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    members = {
        "good.json": encoded("a"),
        "../up.json": encoded("b"),
        "/root.json": encoded("c"),
        "C:\\windows.json": encoded("d"),
        link: b"/etc/passwd",
        "bomb.json": b"[" + b" " * 5_000_000 + b"]",
    }
    ids, report = await from_archive(tmp_path, members)
    assert ids == ["a"]
    assert {one.why for one in report.skipped} == {
        "its path points outside the archive",
        "it is a link",
        "its compression is too high for a conversation",
    }
    assert len(report.skipped) == 5


async def test_too_many_or_too_large_files_are_refused_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in ("MOST_MEMBERS", "LARGEST_ARCHIVE"):
        with monkeypatch.context() as patch:
            patch.setattr(f"atlas_desktop.importing.sources.{limit}", 1)
            ids, report = await from_archive(tmp_path, {"a.json": encoded("a"), "b.json": encoded("b")})
        assert ids == []
        assert report.skipped[0].why.startswith("an archive ")
        assert "than 1 " in report.skipped[0].why
        with pytest.raises(UnknownExport):
            report.require_known()


@pytest.mark.parametrize("at", [30, 200, -40])
async def test_a_damaged_archive_is_told(tmp_path: Path, at: int) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as out:
        out.writestr("conversations.json", encoded(*(f"t{n}" for n in range(40))))
    data = bytearray(buffer.getvalue())
    data[at : at + 8] = b"\xff" * 8
    sessions, report = await taken(tmp_path / "x.zip", bytes(data))
    assert report.skipped or report.unknown or len(sessions) == 40


async def test_an_encrypted_file_is_told(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as out:
        out.writestr("a.json", encoded("a"))
    data = bytearray(buffer.getvalue())
    data[6] |= 1
    data[data.rindex(b"PK\x01\x02") + 8] |= 1
    _, report = await taken(tmp_path / "x.zip", bytes(data))
    assert [one.why for one in report.skipped] == ["it is encrypted"]


async def test_a_folder_is_read_without_following_links(tmp_path: Path) -> None:
    folder, outside = tmp_path / "all", tmp_path / "outside"
    for path in (folder, outside):
        path.mkdir()
        write(path / "talk.json", [talk(path.name)])
    (folder / "link.json").symlink_to(outside / "talk.json")
    (folder / "away").symlink_to(outside, target_is_directory=True)
    (folder / "notes.md").write_text("## User\n\nHi\n\n## Assistant\n\nHey")
    store = InMemoryStore()
    report = await take(store, folder)
    assert sorted(one.title for one in await everything(store)) == ["A trip", "notes"]
    assert report.skipped == []


async def test_nobody_waits_at_a_pipe_or_reads_a_device(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    write(tmp_path / "chat.json", [talk("a")])
    paths = tmp_path / "pipe", Path(os.devnull), tmp_path / "chat.json"
    report = await take(InMemoryStore(), *paths)
    assert [(one.where, one.why) for one in report.skipped] == [
        (name, "it is not a file") for name in ("pipe", "null")
    ]
    assert report.sessions == 1


async def test_what_nobody_knows_is_named(tmp_path: Path) -> None:
    for data in (b"", b"hello", b"{}", b"[1, 2]", b"\x00\x01", b'{"a": 1}\n{"b": 2}', b"[" * 3000):
        sessions, report = await taken(tmp_path / "x.json", data)
        assert (sessions, [*report.unknown]) == ([], ["x.json"])


@pytest.mark.parametrize(
    ("data", "nature"),
    [
        (b"", "it is empty"),
        (b"\xef\xbb\xbf \n\n", "it contains only spaces"),
        (b"\x9c\xff\x00\x07" * 99, "it is not text"),
        (b"hello\x00", "it is not text"),
        ("[]".encode("utf-16"), "its text is UTF-16, but exports are UTF-8: save it as UTF-8"),
        (b"hello", "Atlas cannot read its format"),
        # Cut within a character by what is looked at.
        (b"a" + "é".encode() * 70_000, "Atlas cannot read its format"),
    ],
    ids=["empty", "blank", "noise", "zero", "wide", "prose", "accents"],
)
async def test_what_is_no_export_is_told_what_it_is_and_what_exports_there_are(
    tmp_path: Path, data: bytes, nature: str
) -> None:
    _, report = await taken(tmp_path / "x.json", data)
    with pytest.raises(UnknownExport) as caught:
        report.require_known()
    words = explain(caught.value)
    assert words.message == f"x.json: {nature}. No changes were made."
    assert "ChatGPT, Claude, Open WebUI, LM Studio, Jan or llm" in words.next_step


async def test_an_archive_without_a_file_to_read_says_so(tmp_path: Path) -> None:
    ids, report = await from_archive(tmp_path, {"picture.png": b"\x89PNG"})
    assert ids == []
    assert left_out(report)[0].startswith("Skipped: export.zip: it contains no file ending in .json,")


async def test_an_empty_file_is_no_export_of_whoever_is_named(tmp_path: Path) -> None:
    _, report = await taken(tmp_path / "x.json", b"", format=FORMATS["chatgpt"])
    assert report.unknown == {"x.json": "it is empty"}


async def test_files_beside_those_with_conversations_are_counted_where_they_are_many(tmp_path: Path) -> None:
    members = {"talk.json": encoded("a"), **{f"{n:02}.txt": b"milk" for n in range(12)}, "torn.json": b'{"a'}
    _, report = await from_archive(tmp_path, members)
    (line,) = passed_over(report)
    assert line.endswith("export.zip/08.txt, export.zip/09.txt and 2 more")
    assert [one.where for one in report.skipped] == ["export.zip/torn.json"]


async def test_an_export_of_which_nothing_can_be_read_is_a_failure(tmp_path: Path) -> None:
    _, report = await taken(tmp_path / "x.json", [{"mapping": 7, "current_node": "a"}] * 5)
    assert report.formats
    with pytest.raises(UnknownExport) as caught:
        report.require_known()
    message = explain(caught.value).message
    assert "x.json:1: not a conversation: no `mapping`, where ChatGPT stores messages." in message
    assert "2 more cannot be read either." in message


# --- objects of a JSON file ---------------------------------------------------------------------------


class Trickle(io.BytesIO):
    """A stream that gives a few bytes at a time."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(7, size or 0))


def found(data: bytes, longest: int = 1000) -> list[Any]:
    values: Iterator[Piece] = pieces(Trickle(data), longest)
    whole = [one.value if not one.why else one.why for one in pieces(io.BytesIO(data), longest)]
    assert [one.value if not one.why else one.why for one in values] == whole
    return whole


BARE = "not a conversation: a bare value"
TORN = "the file ends in the middle of it"
DOCUMENTS: list[tuple[bytes, list[Any]]] = [
    (b"", []),
    (b"[]", []),
    (b'[{"a": 1}, {"b": [2]}] trailing {', [{"a": 1}, {"b": [2]}]),
    (b'{"a": 1}\n{"b": 2}', [{"a": 1}, {"b": 2}]),
    (b'\xef\xbb\xbf[ {"a": "}]\\"{"} ]', [{"a": '}]"{'}]),
    (b'[null, 7, "x{", {"a": 1}]', ["not conversations: 3 bare values", {"a": 1}]),
    (b'[{"a": 1}, "\\"", {"b": 2}, 42', [{"a": 1}, BARE, {"b": 2}, BARE]),
    (b'[{"a": bad}, {"b": 2}]', ["not JSON", {"b": 2}]),
    (b'[{"a": [1, 2}, {"b": 2}]', ["not JSON", {"b": 2}]),
    (b'[{"a": 1]}, {"b": 2}]', ["not JSON", {"b": 2}]),
    (b'[{"a": 1}, {"b": ', [{"a": 1}, TORN]),
    (b'[{"a": 1}, {"b": "x', [{"a": 1}, TORN]),
    (b'[{"a": "\xff"}, {"b": 2}]', ["not UTF-8", {"b": 2}]),
    (b'[{"a": "\\ud800"}, {"n": NaN}]', [{"a": "\ud800"}, None]),
    (b'[{"a": "' + b"x" * 1200 + b'"}, {"b": 2}]', ["longer than 1000 bytes", {"b": 2}]),
    (b'[{"a": [' + b"1," * 600 + b'1]}, {"b": 2}]', ["longer than 1000 bytes", {"b": 2}]),
    (b'[{"a": "' + b"x" * 3000, ["longer than 1000 bytes; the rest was skipped too"]),
    (b"[" + b'{"a":' * 30 + b"1" + b"}" * 30 + b',{"b":2}]', [None, {"b": 2}]),
]


@pytest.mark.parametrize(("data", "values"), DOCUMENTS, ids=range(len(DOCUMENTS)))
def test_objects_are_found_one_by_one_and_a_broken_one_costs_only_itself(
    data: bytes, values: list[Any]
) -> None:
    whole = found(data)
    assert len(whole) == len(values)
    assert all(expected is None or one == expected for one, expected in zip(whole, values, strict=True))


def braces(key: str) -> str:
    said = {"id": key, "text": 'A "quote", a { and [brackets]'}
    return json.dumps({"id": key, "title": "Braces {", "said": [said, {"id": "x", "text": "}"}]})


@pytest.mark.parametrize("place", [0, 1, 3])
def test_one_that_is_cut_short_does_not_swallow_those_behind_it(place: int) -> None:
    """Wherever it is cut: within a string, a key, or a list that is never closed."""
    for end in range(20, len(braces("torn"))):
        texts = [braces(str(number)) for number in range(3)]
        texts.insert(place, braces("torn")[:end])
        document = f"[{','.join(texts)}]".encode()
        read = list(pieces(io.BytesIO(document), 10_000))
        assert [one.number for one in read if one.why] == [place + 1], document
        assert [one.value["id"] for one in read if not one.why] == ["0", "1", "2"]


def test_what_is_broken_is_not_read_again_without_end() -> None:
    broken = b'[{"a": "b", "c": 1}' + b', {"a": "b", "c": [' * 20_000
    read = list(pieces(io.BytesIO(broken), 300_000))
    assert read[0].value == {"a": "b", "c": 1}
    assert 1 < len(read) < 20
    assert all(one.why for one in read[1:])


# --- the whole of it ----------------------------------------------------------------------------------


async def test_progress_is_told_and_a_trial_counts_what_comes_twice_once(tmp_path: Path) -> None:
    write(tmp_path / "a.json", [talk(f"t{n}") for n in range(5)])
    told: list[tuple[int, int, int]] = []

    def tell(report: ImportReport, meter: Meter) -> None:
        told.append((report.messages, meter.done, meter.total))

    store = InMemoryStore()
    importer = Importer(store.transfer, tell)
    path = tmp_path / "a.json"
    tried = await take(store, path, path, dry_run=True)
    assert (tried.sessions, tried.messages, tried.already_there) == (5, 5, 5)
    assert await everything(store) == []
    report = await importer.take([path, path])
    assert (report.sessions, report.messages, report.already_there) == (5, 5, 5)
    assert (report.known_sessions, report.formats) == (5, {"a.json": FORMATS["chatgpt"]})
    assert told[-1] == (5, 2 * path.stat().st_size, 2 * path.stat().st_size)


async def test_what_is_in_another_room_stays_there(tmp_path: Path) -> None:
    here, there = InMemoryStore(), InMemoryStore()
    write(tmp_path / "a.json", [talk("a")])
    await take(there, tmp_path / "a.json")
    write(tmp_path / "a.json", [talk("a"), talk("b")])
    report = await Importer(here.transfer, elsewhere=[there.transfer]).take([tmp_path / "a.json"])
    assert [one.id for one in await everything(here)] == ["b"]
    assert [(one.where, one.why) for one in report.skipped] == [("a.json:1", "it is already in another room")]
    write(tmp_path / "a.json", [talk("a")])
    again = await Importer(here.transfer, elsewhere=[there.transfer]).take([tmp_path / "a.json"])
    assert again.elsewhere == 1
    again.require_known()


def test_the_remaining_time_follows_from_the_speed() -> None:
    assert Meter(total=100, done=90, stored=25, seconds=10).remaining == 30
    assert Meter(total=100, done=90, stored=0, seconds=10).remaining is None
    assert Meter(total=100, done=90, stored=50, seconds=0.5).remaining is None
    assert Meter(total=100, done=100, stored=100, seconds=10).remaining is None


async def test_what_is_read_but_not_stored_is_not_done(tmp_path: Path) -> None:
    """Reading is far ahead of storing in a file that fits into one buffer."""
    write(tmp_path / "a.json", [talk(f"t{n}") for n in range(20)])
    told: list[Meter] = []
    importer = Importer(
        InMemoryStore().transfer, lambda _report, meter: told.append(replace(meter)), at_once=2
    )
    await importer.take([tmp_path / "a.json"])
    shares = [meter.share for meter in told]
    assert shares == sorted(shares)
    assert shares[0] < 0.2
    assert shares[-2] < shares[-1] == 1.0


async def test_what_is_not_read_does_not_count(tmp_path: Path) -> None:
    """The users of an export are in none of its conversations; its projects are read twice."""
    given = {
        "conversations.json": [claude(spoken("m1", "human", "Hello" * 50))],
        "projects.json": [{"uuid": "p", "name": "Boat", "prompt_template": "", "docs": []}],
        "users.json": [{"uuid": "u", "full_name": "Kim" * 500}],
    }
    told: list[Meter] = []
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as out:
        for name, held in given.items():
            out.writestr(name, json.dumps(held))
    importer = Importer(InMemoryStore().transfer, lambda _report, meter: told.append(replace(meter)))
    await importer.take([tmp_path / "x.zip"])
    assert (told[-1].share, told[-1].done) == (1.0, told[-1].total)


async def test_the_reason_why_there_is_nothing_is_told_once(tmp_path: Path) -> None:
    broken = b'[{"uuid": "c", "name": "secret", "chat_messages": [{"uu'
    _, report = await taken(tmp_path / "x.json", broken)
    assert (report.unexplained, [(one.where, one.why) for one in report.skipped]) == (
        [],
        [("x.json", "the file ends in the middle of it")],
    )
    with pytest.raises(UnknownExport) as caught:
        report.require_known()
    words = explain(caught.value)
    assert "x.json: the file ends in the middle of it." in words.message
    assert "secret" not in words.message
    assert left_out(report) == ["Skipped: x.json: the file ends in the middle of it"]


async def test_many_files_without_anything_are_counted(tmp_path: Path) -> None:
    paths = [tmp_path / f"{n}.json" for n in range(9)]
    for path in paths:
        write(path, b'{"a": [' if path.name < "5" else b"hello")
    report = await take(InMemoryStore(), *paths)
    with pytest.raises(UnknownExport) as caught:
        report.require_known()
    message = explain(caught.value).message
    assert "2.json: the file ends in the middle of it. 2 more cannot be read either." in message
    assert "5.json, 6.json, 7.json and 1 more: Atlas cannot read its format" in message
