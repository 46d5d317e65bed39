"""The written material of the demonstration, and the rooms that are filled with it."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from atlas_desktop.services.demo import (
    MODEL,
    WATCHED,
    Material,
    dated,
    demo_passphrase,
    fill,
    folder,
    read_material,
)
from memory.clock import Clock
from memory.context.entities import Outcome
from memory.entities import RoomKind
from memory.memories.entities import MemoryFilter, MemoryState, MemoryTier
from memory.skills.entities import SkillState
from memory.storage.store import Store
from memory.tasks.entities import EvidenceKind, StepState, TaskState, Team
from models.messages import Role
from tests.stores import InMemoryStore

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)
YEAR = timedelta(days=366)
EVERYTHING = MemoryFilter(states=None)


class LastingStore(InMemoryStore):
    """Can be looked at when it has been closed."""

    async def close(self) -> None:
        pass


@dataclass
class Filled:
    """The rooms of the demonstration, the folder of its papers, and how many conversations were stored."""

    open: Store
    private: Store
    papers: Path
    count: int


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Filled:
    """Filled once: these tests only read."""
    papers = tmp_path_factory.mktemp("demo") / "papers"
    stores: dict[RoomKind, Store] = {}

    async def opened(room: RoomKind, clock: Clock) -> Store:
        stores[room] = LastingStore(clock, room)
        return stores[room]

    count = asyncio.run(fill(opened, papers, NOW))
    return Filled(stores[RoomKind.OPEN], stores[RoomKind.PRIVATE], papers, count)


@pytest.fixture(scope="module")
def material() -> Material:
    return read_material()


async def test_a_finished_task_is_there_with_its_report_and_citations_that_open(filled: Filled) -> None:
    (task,) = await filled.open.tasks.list()
    assert (task.state, task.project) == (TaskState.DONE, "Boat")
    assert NOW - timedelta(days=3) < task.created_at < (task.ended_at or NOW) < NOW - timedelta(days=1)
    task = await filled.open.tasks.get(task.id)
    assert [step.team for step in task.steps] == list(Team)
    assert all(step.state is StepState.DONE and step.context for step in task.steps)
    assert task.report is not None
    assert len(task.report.citations) >= 8
    for citation in task.report.citations:
        assert citation.verified
        assert citation.kind is EvidenceKind.DOCUMENT
        document = await filled.open.documents.get(citation.source)
        assert document.title == citation.title
        chunks = await filled.open.documents.chunks(citation.source)
        assert any(citation.quote in chunk.text for chunk in chunks)
    assert task.report.document is not None
    report = await filled.open.documents.get(task.report.document)
    assert report.project == "Boat"
    assert [one.id for one in await filled.open.tasks.list(project="Boat")] == [task.id]


# --- the material ---------------------------------------------------------------------------------


def test_there_is_a_year_of_everything(material: Material) -> None:
    rooms = Counter(one.room for one in material.conversations)
    assert rooms[RoomKind.OPEN] >= 60
    assert rooms[RoomKind.PRIVATE] == 4
    assert len(material.index.projects) == 6
    assert len(material.index.documents) == 12
    assert len(material.notes) == 25
    assert Counter(one.entry.approved for one in material.skills) == {True: 3, False: 1}
    ages = [one.days_ago for one in material.conversations]
    assert max(ages) > 350
    assert min(ages) == 0
    assert all(0 <= age < 366 for age in ages)


def test_conversations_alternate_and_are_long_enough_to_read(material: Material) -> None:
    for one in material.conversations:
        roles = [line.role for line in one.messages]
        assert roles == [Role.USER, Role.ASSISTANT] * (len(roles) // 2), one.title
        assert 4 <= len(roles) <= 14, one.title
        assert all(line.content.strip() == line.content for line in one.messages), one.title


def test_titles_are_unique_and_projects_exist(material: Material) -> None:
    titles = [one.title for one in material.conversations] + [one.title for one in material.notes]
    assert [title for title, count in Counter(titles).items() if count > 1] == []
    projects = {one.name for one in material.index.projects}
    assert {one.project for one in material.conversations} - {None} == projects
    assert {one.project for one in material.notes} - {None} <= projects
    assert {name.partition("/")[0] for name in material.index.documents} <= projects


def test_every_file_of_the_material_is_used(material: Material) -> None:
    documents = {
        file.relative_to(folder() / "documents").as_posix()
        for file in (folder() / "documents").rglob("*")
        if file.is_file()
    }
    assert documents == set(material.index.documents)
    assert {one.title for one in material.notes} == set(material.index.notes)
    assert {one.name for one in material.skills} == {one.name for one in (folder() / "skills").iterdir()}


def test_notes_change_after_they_were_written(material: Material) -> None:
    for note in material.notes:
        assert 0 <= note.dates.changed <= note.dates.written < 366, note.title


def test_dates_are_those_of_the_day_of_the_demonstration() -> None:
    today = date(2026, 5, 4)
    assert dated("on {{+23}}, not {{-4}}; {{iso -351}}", today) == "on 27 May, not 30 April; 2025-05-18"
    assert dated("[[{{memory:rash}}|x]]", today, lambda words: f"id of {words}") == "[[memory:id of rash|x]]"
    assert dated("no date", today) == "no date"


def test_the_costs_of_the_boat_are_what_the_conversations_say(material: Material) -> None:
    rows = (folder() / "documents" / WATCHED / "costs.csv").read_text(encoding="utf-8").splitlines()[1:]
    costs = sum(float(row.rpartition(",")[0].rpartition(",")[2]) for row in rows)
    assert costs == 5412
    assert 6000 - costs == 588
    said = "\n".join(line.content for one in material.conversations for line in one.messages)
    assert "5,412 euro" in said
    assert "588 euro" in said


def test_the_passphrase_has_four_words_and_differs_each_time() -> None:
    made = {demo_passphrase() for _ in range(20)}
    assert len(made) > 15
    assert all(len(words.split()) == 4 for words in made)


# --- the rooms that are filled --------------------------------------------------------------------


async def test_conversations_are_in_their_rooms_with_their_marks(filled: Filled, material: Material) -> None:
    listed = await filled.open.list_sessions()
    binned = await filled.open.list_sessions(binned=True)
    private = await filled.private.list_sessions()
    assert len(listed) + len(binned) + len(private) == filled.count == len(material.conversations)
    assert len(binned) == 3
    assert len(private) == 4
    assert any(one.starred for one in listed)
    assert any(one.important for one in listed)
    assert all(NOW - YEAR < one.created_at <= one.updated_at <= NOW for one in [*listed, *private])
    assert max(one.updated_at for one in listed) > NOW - timedelta(hours=1)
    archived = await filled.open.projects.list(archived=True)
    assert [one.name for one in archived] == ["Kitchen"]


async def test_no_place_for_a_date_is_left(filled: Filled) -> None:
    for store in (filled.open, filled.private):
        for session in await store.list_sessions():
            assert not any("{{" in message.content for message in await store.branch(session.id))
    texts = [
        note.text for one in await filled.open.notes.list() for note in [await filled.open.notes.get(one.id)]
    ]
    texts += [
        file.read_text(encoding="utf-8") for file in filled.papers.rglob("*.*") if file.suffix != ".docx"
    ]
    assert not any("{{" in text for text in texts)


async def test_memories_are_in_every_state_and_tier_with_their_sources(filled: Filled) -> None:
    known = await filled.open.memories.select(EVERYTHING)
    assert len(known) >= 80
    assert {one.state for one in known} == set(MemoryState)
    assert {one.tier for one in known} == set(MemoryTier)
    assert sum(one.pinned for one in known) >= 4
    assert any(one.version > 1 for one in known)
    assert all(one.superseded_by for one in known if one.state is MemoryState.SUPERSEDED)
    for one in known:
        (source, *_) = await filled.open.memories.sources(one.id)
        message = (await filled.open.branch(source.session_id, source.message_id))[-1]
        assert source.quote in message.content
        assert one.created_at <= NOW
    assert await filled.open.memories.unlearned() == []


async def test_replies_record_the_memories_that_they_rest_on(filled: Filled, material: Material) -> None:
    lines = [line for one in material.conversations for line in one.messages if line.recalls]
    uses = Counter[str]()
    for session in await filled.open.list_sessions():
        for message in await filled.open.branch(session.id):
            considered = await filled.open.context.considered(message.id)
            record = await filled.open.context.turn(message.id)
            if record is not None:
                told = {one.id for one in considered if one.outcome is Outcome.TOLD}
                profile = {one for part in record.parts if part.tier == "profile" for one in part.ids}
                assert told | profile
                assert record.model == MODEL
                uses["replies"] += 1
                uses["told"] += len(told)
    assert uses["replies"] == len(lines) >= 20
    assert uses["told"] >= 20
    newest = (await filled.open.list_sessions(limit=1))[0]
    reply = (await filled.open.branch(newest.id))[-1]
    decided = await filled.open.context.considered(reply.id)
    ids = [one.id for one in decided if one.outcome is Outcome.TOLD]
    texts = {one.text for one in await filled.open.memories.get_many(ids)}
    assert "I get a rash from epoxy." in texts


async def test_citations_are_found_in_the_documents_letter_by_letter(
    filled: Filled, material: Material
) -> None:
    citing = [line for one in material.conversations for line in one.messages if line.cites]
    found = 0
    for session in await filled.open.list_sessions():
        for message in await filled.open.branch(session.id):
            cited = await filled.open.documents.cited(message.id)
            found += bool(cited.citations)
            for one in cited.citations:
                text = await filled.open.documents.text(one.document)
                assert one.verified, (session.title, one.quote)
                assert text is not None
                assert text[one.begin : one.end] == one.quote
                assert f"[{one.marker}]" in message.content
    assert found == len(citing) >= 8


async def test_documents_are_files_of_four_kinds_that_can_be_searched(filled: Filled) -> None:
    everything = await filled.open.documents.list()
    documents = [one for one in everything if one.path]
    assert len(documents) == 12
    (report,) = [one for one in everything if one not in documents]
    assert report.summary
    assert Counter(Path(one.path).suffix for one in documents) == {
        ".md": 5,
        ".csv": 3,
        ".html": 3,
        ".docx": 1,
    }
    assert all(one.state == "indexed" and one.chunks and one.summary for one in documents)
    (watched,) = await filled.open.documents.folders()
    assert watched.path.endswith(WATCHED)
    assert sum(one.folder == watched.id for one in documents) == 5


async def test_every_link_of_a_note_leads_somewhere(filled: Filled) -> None:
    notes = [await filled.open.notes.get(one.id) for one in await filled.open.notes.list()]
    assert len(notes) == 25
    links = [link for note in notes for link in note.links]
    assert [link for link in links if link.to is None] == []
    assert {link.kind for link in links} >= {"note", "session", "document", "memory"}
    assert all(note.links or note.backlinks for note in notes)
    assert any(note.aliases for note in notes)
    assert any(note.tags for note in notes)


async def test_three_skills_are_approved_with_uses_and_one_is_a_draft(filled: Filled) -> None:
    skills = await filled.open.skills.list()
    assert Counter(one.state for one in skills) == {SkillState.APPROVED: 3, SkillState.DRAFT: 1}
    assert all(one.uses for one in skills if one.state is SkillState.APPROVED)
    assert any(one.version > 1 for one in skills)
    (draft,) = [one for one in skills if one.state is SkillState.DRAFT]
    assert len(draft.sources) == 3
