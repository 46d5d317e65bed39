"""Memories that go out come back: in a file of their own, and in a JSON document beside the sessions."""

import json
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.exporting.service import Chosen, ExportService, FileTarget, Order
from atlas_desktop.importing.entities import ImportOptions, ImportReport
from atlas_desktop.importing.importer import Importer
from memory.entities import NewMessage, NewSession
from memory.memories.entities import (
    Memory,
    MemoryFilter,
    MemoryKind,
    MemoryOrigin,
    MemorySource,
    MemoryState,
    NewMemory,
)
from memory.storage.room import open_off_record
from memory.storage.store import Store
from models.messages import Role
from tests.fakes.clock import FakeClock

SAID = "I am allergic to walnuts, and I live in Bergen."
WORDS = "I am allergic to walnuts."
SAME = (
    "id", "kind", "state", "subject", "importance", "confidence", "pinned", "project", "created_at",
    "updated_at",
)  # fmt: skip


async def furnished() -> Store:
    """A room with a memory that rests on what was said, one that was told, and one that was rejected."""
    store = await open_off_record(FakeClock())
    session, said = await store.create_session(
        NewSession("Food", project="Home"), NewMessage(Role.USER, SAID)
    )
    source = MemorySource(said.id, session.id, "I am allergic to walnuts")
    await store.memories.add(
        NewMemory(
            MemoryKind.FACT,
            WORDS,
            MemoryOrigin.PATTERN,
            sources=(source,),
            state=MemoryState.KEPT,
            subject="I",
            importance=0.85,
            confidence=0.9,
            pinned=True,
            project="Home",
        )
    )
    await store.memories.add(NewMemory(MemoryKind.PREFERENCE, "I like tea.", MemoryOrigin.PERSON))
    rejected = NewMemory(MemoryKind.FACT, "I own a boat.", MemoryOrigin.PATTERN, state=MemoryState.REJECTED)
    await store.memories.add(rejected)
    return store


async def exported(store: Store, folder: Path, kind: str) -> list[Path]:
    ids = tuple(await store.transfer.all_ids())
    service = ExportService([Chosen(store, ids, everything=True)])
    report = await service.write(Order(kind, memories=True), FileTarget(folder / f"out.{kind}"))
    return list(report.files)


async def taken(store: Store, files: list[Path], **options: Any) -> ImportReport:
    return await Importer(store.transfer).take(files, ImportOptions(**options))


async def known(store: Store) -> dict[str, Memory]:
    return {one.text: one for one in await store.memories.select(MemoryFilter(states=None))}


@pytest.mark.parametrize("kind", ["jsonl", "json"])
async def test_memories_come_back_as_they_went_out(tmp_path: Path, kind: str) -> None:
    first, second = await furnished(), await open_off_record(FakeClock())
    files = await exported(first, tmp_path, kind)
    report = await taken(second, files, dry_run=True)
    assert (report.memories, await known(second)) == (3, {})
    report = await taken(second, files)
    assert (report.sessions, report.memories, report.known_memories) == (1, 3, 0)
    before, after = await known(first), await known(second)
    assert after.keys() == before.keys()
    for text, one in before.items():
        back = after[text]
        same = (
            "id",
            "kind",
            "state",
            "subject",
            "importance",
            "confidence",
            "pinned",
            "project",
            "created_at",
            "updated_at",
        )
        assert [getattr(back, name) for name in same] == [getattr(one, name) for name in same]
    assert await second.memories.sources(after[WORDS].id) == await first.memories.sources(before[WORDS].id)
    again = await taken(second, files)
    assert (again.memories, again.known_memories, len(await known(second))) == (0, 3, 3)
    sent = [file.read_bytes() for file in files]
    (tmp_path / "again").mkdir()
    returned = [file.read_bytes() for file in await exported(second, tmp_path / "again", kind)]
    assert kind == "json" or returned == sent
    await first.close()
    await second.close()


async def test_evidence_that_does_not_hold_is_left_out(tmp_path: Path) -> None:
    first = await furnished()
    _, file = await exported(first, tmp_path, "jsonl")
    alone = await open_off_record(FakeClock())
    report = await taken(alone, [file])
    assert report.memories == 3
    found = (await known(alone))[WORDS]
    assert await alone.memories.sources(found.id) == []
    await alone.close()
    forged = [json.loads(line) for line in file.read_text().splitlines()]
    for one in forged:
        for each in one["evidence"]:
            each["quote"] = "I am allergic to everything"
    file.write_text("".join(json.dumps(one) + "\n" for one in forged))
    second = await open_off_record(FakeClock())
    await taken(second, [tmp_path / "out.jsonl", file])
    assert await second.memories.sources((await known(second))[WORDS].id) == []
    await second.close()
    await first.close()


async def test_what_says_the_same_is_known_and_what_is_broken_is_named(tmp_path: Path) -> None:
    store = await furnished()
    good = {
        "id": "other", "kind": "fact", "state": "inbox", "text": "i am allergic to WALNUTS.", "subject": "i",
        "confidence": 1.0, "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
    }  # fmt: skip
    bad = [{**good, "kind": "spell"}, {**good, "confidence": 7}, {**good, "text": "x" * 30_000}]
    new = {**good, "text": "I\x1b[31m ski.", "subject": "a\nb"}
    file = tmp_path / "m.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in (good, *bad, new, new)))
    report = await taken(store, [file])
    assert (report.memories, report.known_memories) == (1, 2)
    assert [one.where for one in report.skipped] == ["m.jsonl:2", "m.jsonl:3", "m.jsonl:4"]
    assert (await known(store))["I[31m ski."].subject == "a b"
    await store.close()
