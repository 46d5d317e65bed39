"""An export from beginning to end, and what is left when it ends in the middle."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.error_table import explain
from atlas_desktop.errors import ExportFault, NothingToExport, TargetExists, TargetRefused
from atlas_desktop.exporting.redaction import KINDS, Redaction
from atlas_desktop.exporting.service import (
    Chosen,
    ExportService,
    FileTarget,
    FolderTarget,
    Order,
    StreamTarget,
)
from atlas_desktop.importing.lines import read_line
from memory.attachments import NewAttachment
from memory.errors import SessionNotFound
from memory.memories.entities import MemoryKind, MemoryOrigin, MemorySource, NewMemory
from tests.contract.talk import talk
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore

REDACT = Redaction(frozenset(KINDS))


async def room(talks: int = 2) -> tuple[InMemoryStore, list[str]]:
    """A room with conversations; the first is remembered by its first message."""
    store = InMemoryStore(FakeClock())
    ids = []
    for number in range(talks):
        session, said = await talk(store, 3)
        ids.append(session.id)
        if not number:
            source = MemorySource(said[0].id, session.id, said[0].content)
            new = NewMemory(MemoryKind.FACT, "Writes to dana@example.org", MemoryOrigin.PERSON, (source,))
            await store.memories.add(new)
    await store.memories.add(NewMemory(MemoryKind.FACT, "Likes rain", MemoryOrigin.PERSON))
    return store, ids


def left_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def chosen(store: InMemoryStore, ids: Sequence[str], **more: Any) -> list[Chosen]:
    return [Chosen(store, tuple(ids), **more)]


async def test_everything_goes_into_one_file_with_what_is_remembered_of_it(tmp_path: Path) -> None:
    store, ids = await room()
    steps: list[tuple[int, int]] = []
    service = ExportService(chosen(store, ids), progress=lambda done, total: steps.append((done, total)))
    report = await service.write(Order("json", memories=True), FileTarget(tmp_path / "a.json"))
    assert (report.sessions, report.messages, report.memories) == (2, 6, 1)
    assert steps[-1] == (2, 2)
    whole = json.loads((tmp_path / "a.json").read_bytes())
    assert [one["id"] for one in whole["sessions"]] == ids
    assert [one["text"] for one in whole["memories"]] == ["Writes to dana@example.org"]
    assert len(whole["memories"][0]["sources"]) == 1


async def test_each_goes_into_a_file_of_its_own(tmp_path: Path) -> None:
    store, ids = await room()
    order = Order("md", each=True, memories=True, redaction=REDACT)
    report = await ExportService(chosen(store, ids, everything=True)).write(
        order, FolderTarget(tmp_path / "a")
    )
    assert report.memories == 2
    assert [path.name for path in report.files][-1] == "memories.md"
    assert len({path.name for path in (tmp_path / "a").iterdir()}) == 3
    assert "[email 1]" in (tmp_path / "a" / "memories.md").read_text(encoding="utf-8")
    assert report.redacted == {"emails": 1}


async def test_lines_and_memories_stand_apart(tmp_path: Path) -> None:
    store, ids = await room()
    target = FileTarget(tmp_path / "a.jsonl")
    report = await ExportService(chosen(store, ids)).write(Order("jsonl", memories=True), target)
    assert [path.name for path in report.files] == ["a.jsonl", "a-memories.jsonl"]
    assert len((tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()) == 2


async def test_a_preview_tells_and_writes_nothing(tmp_path: Path) -> None:
    store, ids = await room()
    report = await ExportService(chosen(store, ids)).preview(Order("md", memories=True, redaction=REDACT))
    assert (report.sessions, report.memories, report.files) == (2, 1, ())
    assert [(one.text, one.mark) for one in report.found] == [("dana@example.org", "[email 1]")]
    assert left_in(tmp_path) == []


async def test_the_messages_that_are_written_are_counted(tmp_path: Path) -> None:
    store, ids = await room(1)
    branch = await store.branch(ids[0])
    await store.edit_message(branch[-1].id, "Another version")
    for form, count in (("jsonl", len(branch) + 1), ("md", len(branch)), ("html", len(branch))):
        service = ExportService(chosen(store, ids))
        assert (await service.preview(Order(form))).messages == count
        assert (await service.write(Order(form), FileTarget(tmp_path / f"b.{form}"))).messages == count
    assert f"messages: {len(branch)}\n" in (tmp_path / "b.md").read_text("utf-8")


async def test_nothing_is_no_export(tmp_path: Path) -> None:
    with pytest.raises(NothingToExport):
        await ExportService([]).write(Order("md"), FileTarget(tmp_path / "a.md"))
    assert left_in(tmp_path) == []


async def test_a_session_that_has_gone_leaves_no_half_file(tmp_path: Path) -> None:
    store, ids = await room()
    with pytest.raises(SessionNotFound):
        await ExportService(chosen(store, [*ids, "gone"])).write(Order("md"), FileTarget(tmp_path / "a.md"))
    assert left_in(tmp_path) == []


async def test_who_is_interrupted_leaves_no_half_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("atlas_desktop.exporting.service._BATCH", 1)
    store, ids = await room(4)
    begun = asyncio.Event()
    service = ExportService(chosen(store, ids), progress=lambda _done, _total: begun.set())
    work = asyncio.create_task(service.write(Order("html"), FileTarget(tmp_path / "a.html")))
    await begun.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert left_in(tmp_path) == []


async def test_a_stream_gets_it_all(tmp_path: Path) -> None:
    store, ids = await room()
    path = tmp_path / "stream"
    with path.open("wb") as out:
        report = await ExportService(chosen(store, ids)).write(Order("txt"), StreamTarget(out))
        assert not out.closed
    assert report.files == ()
    assert path.read_text(encoding="utf-8").count("You:") >= 2


async def test_files_that_were_attached_are_named_and_lines_stay_the_same(tmp_path: Path) -> None:
    store, ids = await room(1)
    await store.attachments.attach(
        ids[0], NewAttachment("plan *b*.pdf", "application/pdf", 1200, "long text")
    )
    service = ExportService(chosen(store, ids))
    for name in ("jsonl", "md", "html", "txt", "pdf"):
        await service.write(Order(name), FileTarget(tmp_path / f"a.{name}"))
    line = (tmp_path / "a.jsonl").read_text(encoding="utf-8")
    (listed,) = json.loads(line)["attachments"]
    assert (listed["name"], listed["type"], listed["bytes"]) == ("plan *b*.pdf", "application/pdf", 1200)
    assert listed["text"] == "long text"
    for name in ("md", "html", "txt"):
        text = (tmp_path / f"a.{name}").read_text(encoding="utf-8")
        assert "plan *b*.pdf" in text
        assert "long text" not in text
    # Taken in elsewhere it is attached there, and goes out as it came.
    other = InMemoryStore(FakeClock())
    taken = await other.transfer.take(read_line(line.encode()))
    assert [one.text for one in await other.attachments.attached(taken.session_id)] == ["long text"]
    await ExportService(chosen(other, [taken.session_id])).write(
        Order("jsonl"), FileTarget(tmp_path / "b.jsonl")
    )
    assert (tmp_path / "b.jsonl").read_text(encoding="utf-8") == line


@pytest.mark.parametrize("fault", ExportFault.__subclasses__())
def test_every_fault_has_words_of_its_own(fault: type[ExportFault]) -> None:
    facts = (Path("/x/a.md"), "no space left") if fault is TargetRefused else (Path("/x/a.md"),)
    told = explain(fault(*facts) if fault in (TargetExists, TargetRefused) else fault())
    assert told.code != "unexpected"
    assert "nothing was written" in told.message.lower()
    assert told.next_step
