"""The demonstration: sample material with adjusted dates, stored in a temporary home like real
conversations."""

import math
import os
import secrets
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from pathlib import Path
from typing import Literal, NoReturn, TypeVar

import msgspec

from atlas_desktop.parsing.client import DocumentParser
from atlas_desktop.paths import Paths
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.documents.reading import Incoming, read_all
from atlas_desktop.services.documents.search import DocumentSearchService, cited_reply
from atlas_desktop.services.memories import KnowledgeService
from atlas_desktop.services.notes.notebook import read_note
from atlas_desktop.services.projects import ProjectService
from atlas_desktop.services.recall import RecallService
from atlas_desktop.services.tasks.reporting import Wording
from atlas_desktop.services.tasks.service import TaskService
from atlas_desktop.services.tasks.teams import Research, Teams
from atlas_desktop.settings.schema import JobSettings, MemorySettings
from memory.clock import Clock, LocalZone
from memory.context.entities import Outcome, RecallDecision, TierUse, TurnRecord
from memory.documents.entities import DocumentSummary, NewDocument, StoredPassage
from memory.entities import Message, NewMessage, NewSession, RoomKind, Session, SessionPatch, TitleSource
from memory.errors import TaskInState
from memory.jobs.foreground_gate import ForegroundGate
from memory.learning.entities import Candidate
from memory.learning.learner import Learner
from memory.learning.memory_writer import MemoryWriter
from memory.memories.entities import (
    FINDABLE,
    Memory,
    MemoryFilter,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemoryState,
    MemoryTier,
    UseKind,
)
from memory.memories.lifetime import Retention
from memory.organising import MarksPatch, ProjectPatch
from memory.recall.engine import RecallEngine
from memory.recall.entities import RecallQuery
from memory.skills.entities import (
    NewSkill,
    SkillAuthor,
    SkillSource,
    SkillText,
    SourceKind,
    UsedSkill,
    Verdict,
    read_skill,
)
from memory.storage.store import Store
from memory.tasks.entities import NewTask
from models.errors import NoModel
from models.messages import Role, hash_tokens

_Kind = TypeVar("_Kind")


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One message of a sample conversation.

    `recalls` are words of the memories that the reply is based on, `cites` passages of the conversation's
    documents that it quotes, and `skill` is the skill that it follows.
    """

    role: Role
    content: str
    recalls: tuple[str, ...] = ()
    cites: tuple[str, ...] = ()
    skill: str = ""


class Conversation(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One sample conversation. `at` is a time of day, or on the day of the demonstration how long ago.

    `documents` are the titles of the documents that it is about.
    """

    title: str
    days_ago: int
    at: str
    messages: tuple[Line, ...]
    project: str | None = None
    room: RoomKind = RoomKind.OPEN
    tags: tuple[str, ...] = ()
    marks: tuple[Literal["star", "important", "bin"], ...] = ()
    documents: tuple[str, ...] = ()

    def begins(self, now: datetime) -> datetime:
        """Returns when it begins in the year before `now`."""
        at = time.fromisoformat(self.at)
        if not self.days_ago:
            return now - timedelta(hours=at.hour, minutes=at.minute)
        zone = LocalZone()
        day = now.astimezone(zone).date() - timedelta(days=self.days_ago)
        return datetime.combine(day, at, tzinfo=zone).astimezone(now.tzinfo)


class Rewording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The text that a memory was given later."""

    days_ago: int
    text: str


class KnownMemory(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The later state of a memory whose text begins with `text`.

    With a `kind`, a model's help is needed to learn it from the message that contains `text`; the others are
    learned by patterns.
    """

    text: str
    kind: MemoryKind | None = None
    importance: float = 0.5
    state: MemoryState | None = None
    tier: MemoryTier | None = None
    pinned: bool = False
    ends_in_days: int | None = None
    reworded: Rewording | None = None


class SampleProject(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A project. `archived` is how many days ago it was archived, None while it is in use."""

    name: str
    instructions: str = ""
    archived: int | None = None


class SampleDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A document: how many days ago it was added, and its summary."""

    added: int
    summary: str


class NoteDates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many days ago a note was written and last changed."""

    written: int
    changed: int


class SkillRevision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a skill got its last line; `learned` are words of the memory that this line is based on."""

    days_ago: int
    learned: str


class SkillEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A skill. A draft waits for approval; `drafted_from` are words of the messages that it comes from."""

    name: str
    written: int
    approved: bool
    drafted_from: tuple[str, ...] = ()
    revised: SkillRevision | None = None


class SampleTask(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A task that was finished `days_ago`. `documents` are the titles of the only documents that it read,
    `summary` is what its report says in short."""

    brief: str
    days_ago: int
    project: str
    documents: tuple[str, ...]
    summary: str


class Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Information that is not in the files themselves. Documents are named by path, notes by title."""

    projects: tuple[SampleProject, ...]
    documents: dict[str, SampleDocument]
    notes: dict[str, NoteDates]
    skills: tuple[SkillEntry, ...]
    tasks: tuple[SampleTask, ...]


@dataclass(frozen=True, slots=True)
class SampleNote:
    title: str
    project: str | None
    text: str
    dates: NoteDates


@dataclass(frozen=True, slots=True)
class SampleSkill:
    name: str
    text: SkillText
    entry: SkillEntry


@dataclass(frozen=True, slots=True)
class Material:
    """The whole material. Conversations are sorted by time, oldest first."""

    conversations: tuple[Conversation, ...]
    memories: tuple[KnownMemory, ...]
    notes: tuple[SampleNote, ...]
    skills: tuple[SampleSkill, ...]
    index: Index


@cache
def folder() -> Path:
    """Returns the folder of the material, in an installed package or in the source tree."""
    here = Path(__file__).parents[2] / "assets" / "demo"
    return here if here.is_dir() else Path(__file__).parents[3] / "assets" / "demo"


def read_material() -> Material:
    """Returns the material as written, with days counted backwards and without dates."""
    index = msgspec.json.decode((folder() / "index.json").read_bytes(), type=Index)
    files = sorted((folder() / "conversations").glob("*.jsonl"))
    conversations = [one for file in files for one in _lines(file, Conversation)]
    conversations.sort(key=lambda one: (-one.days_ago, one.at))
    return Material(
        tuple(conversations),
        tuple(_lines(folder() / "memories.jsonl", KnownMemory)),
        tuple(_note(file, index) for file in sorted((folder() / "notes").glob("*/*.md"))),
        tuple(_skill(entry) for entry in index.skills),
        index,
    )


def _lines(file: Path, kind: type[_Kind]) -> list[_Kind]:
    decoder = msgspec.json.Decoder(kind)
    return [decoder.decode(line) for line in file.read_bytes().splitlines()]


_NO_PROJECT = "General"


def _note(file: Path, index: Index) -> SampleNote:
    project = None if file.parent.name == _NO_PROJECT else file.parent.name
    return SampleNote(file.stem, project, file.read_text(encoding="utf-8"), index.notes[file.stem])


def _skill(entry: SkillEntry) -> SampleSkill:
    name, text = read_skill((folder() / "skills" / entry.name / "SKILL.md").read_text(encoding="utf-8"))
    return SampleSkill(name, text, entry)


def dated(text: str, today: date, memory_id: Callable[[str], str] | None = None) -> str:
    """Returns the text with its placeholders filled in.

    `{{-12}}` and `{{+12}}` are the day that many days before or after today (in words), `{{iso -12}}` is the
    same as a number, and `{{memory:words}}` is the id of the memory with these words, by `memory_id`.
    """
    first, *rest = text.split("{{")
    parts = [first]
    for piece in rest:
        place, _, after = piece.partition("}}")
        parts += [_place(place, today, memory_id), after]
    return "".join(parts)


def _place(place: str, today: date, memory_id: Callable[[str], str] | None) -> str:
    if memory_id is not None and place.startswith("memory:"):
        return f"memory:{memory_id(place.removeprefix('memory:'))}"
    day = today + timedelta(days=int(place.removeprefix("iso ")))
    return day.isoformat() if place.startswith("iso ") else f"{day.day} {_MONTHS[day.month - 1]}"


# Dates appear in English texts, whatever the language of the computer.
_MONTHS = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]


MODEL = "demo"
"""The model name of the sample replies; no real model has it."""
_LOOKED_AT_DAYS = 20
"""Memories of samples at least this many days old are already accepted in the inbox."""
_FOUND, _LEFT_OUT = 40, 6
"""How many memories are considered for a reply, and how many unused ones are recorded."""
_TOKENS_PER_WORD = 4 / 3
"""No model has read the samples, so the tokens of their prompts are estimated from the number of words."""
WATCHED = "Boat"
"""The folder of documents that is watched."""

_STEP = timedelta(seconds=4)
"""Between two steps of a task."""

OpenStore = Callable[[RoomKind, Clock], Awaitable[Store]]


def _no_model() -> NoReturn:
    raise NoModel("chat")


def _no_embedder() -> None:
    """The samples have no vectors, so words alone are searched."""


def _no_index(_passages: int) -> NoReturn:
    raise NoModel("embed")


async def _nothing_more() -> None:
    """A report gets its vectors with the other samples, when the room is first open."""


class PastClock:
    """A clock that returns the moment it was last set to."""

    def __init__(self) -> None:
        self.moment = datetime.now(UTC)

    def now(self) -> datetime:
        return self.moment


async def fill(open_store: OpenStore, papers: Path, now: datetime) -> int:
    """Stores the material in both rooms, with its documents as files in `papers`.

    Returns how many conversations there are.
    """
    material, clock = read_material(), PastClock()
    stores = {room: await open_store(room, clock) for room in (RoomKind.OPEN, RoomKind.PRIVATE)}
    try:
        for store in stores.values():
            # About two thousand writes; if one fails, the home is discarded.
            await store.relax()
        await _Filling(stores[RoomKind.OPEN], clock, material, papers, now).everything()
        private = tuple(one for one in material.conversations if one.room == RoomKind.PRIVATE)
        hidden = replace(material, conversations=private, memories=())
        await _Filling(stores[RoomKind.PRIVATE], clock, hidden, papers, now).conversations()
    finally:
        clock.moment = now
        for store in stores.values():
            await store.close()
    return len(material.conversations)


@dataclass(slots=True)
class _Filling:
    """Fills one room. Stored items are found again by title, by path or by their words."""

    store: Store
    clock: PastClock
    material: Material
    papers: Path
    now: datetime
    _documents: dict[str, str] = field(default_factory=dict)
    _skills: dict[str, tuple[str, int]] = field(default_factory=dict)
    _said: list[Message] = field(default_factory=list)

    @property
    def _today(self) -> date:
        return self.now.astimezone(LocalZone()).date()

    def _set(self, days_ago: float) -> None:
        self.clock.moment = self.now - timedelta(days=days_ago)

    async def everything(self) -> None:
        await self._add_documents()
        await self._add_approved_skills()
        await self.conversations()
        await self._add_projects()
        await self._review()
        await self._add_notes()
        await self._revise_skills()
        await self._add_drafts()
        await self._do_tasks()
        # The background work must not learn from the samples again.
        for note, version in await self.store.notes.unlearned(limit=len(self.material.notes)):
            await self.store.notes.mark_learned(note, version)

    # --- tasks ------------------------------------------------------------------------------------

    async def _do_tasks(self) -> None:
        """Carries the tasks out without a model: everything in their reports is taken from the documents."""
        gate = ForegroundGate()
        background = BackgroundService(self.store, self.clock, gate, JobSettings(enabled=False))
        search = DocumentSearchService(self.store, _no_embedder, _no_index)
        recall = RecallService(self.store, _no_embedder, _no_index, self.clock, background)
        research = Research(self.store, recall, search)
        teams = Teams(self.store, research, Wording(_no_model, _no_model, gate.checkpoint), self.clock.now)
        tasks = TaskService(self.store, teams, background, _nothing_more)
        for sample in self.material.index.tasks:
            self._set(sample.days_ago)
            read = tuple(self._documents[title] for title in sample.documents)
            task = await tasks.create(NewTask(sample.brief, project=sample.project, documents=read))
            while await tasks.advance(task.id):
                self.clock.moment += _STEP
            done = await tasks.get(task.id)
            if done.report is None or done.report.document is None:
                raise TaskInState(done.state.value)
            report = await self.store.documents.get(done.report.document)
            short = DocumentSummary(sample.summary, fallback=False, model=MODEL)
            await self.store.documents.put_summary(report.id, short, report.sha256)

    # --- documents --------------------------------------------------------------------------------

    async def _add_documents(self) -> None:
        files = {name: self._paper(name) for name in self.material.index.documents}
        self._set(max(one.added for one in self.material.index.documents.values()))
        watched = self.papers / WATCHED
        shown = f"{self.papers.name}/{WATCHED}"
        home = await self.store.documents.watch(shown, str(watched), project=WATCHED)
        incoming = [
            Incoming(
                f"{self.papers.name}/{name}",
                file,
                project=file.parent.name,
                folder=home.id if file.parent.name == WATCHED else None,
            )
            for name, file in files.items()
        ]
        parser = DocumentParser()
        try:
            read = [new async for _, new in read_all(incoming, parser)]
        finally:
            await parser.close()
        for name, new in zip(files, read, strict=True):
            if not isinstance(new, NewDocument):
                raise new
            sample = self.material.index.documents[name]
            self._set(sample.added)
            (document,) = await self.store.documents.put([new])
            self._documents[new.title] = document
            summary = DocumentSummary(sample.summary, fallback=False, model=MODEL)
            await self.store.documents.put_summary(document, summary, new.sha256)
        self._set(0)
        await self.store.documents.scanned(home.id, [])

    def _paper(self, name: str) -> Path:
        """Writes one document to the folder of papers, with its dates."""
        source, file = folder() / "documents" / name, self.papers / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if source.suffix in (".md", ".csv", ".html"):
            file.write_text(dated(source.read_text(encoding="utf-8"), self._today), encoding="utf-8")
        else:
            file.write_bytes(source.read_bytes())
        changed = (self.now - timedelta(days=self.material.index.documents[name].added)).timestamp()
        os.utime(file, (changed, changed))
        return file

    # --- conversations ----------------------------------------------------------------------------

    async def conversations(self) -> None:
        room = self.store.room
        recall = RecallEngine(self.store.evidence, self.clock)
        writer = MemoryWriter(self.store.memories, self.clock, Retention, self.store.projects)
        learner = Learner(self.store, writer)
        for one in self.material.conversations:
            if one.room != room:
                continue
            self.clock.moment = one.begins(self.now)
            session = await self._converse(one, recall)
            learned = await learner.learn(session.id)
            learned += await self._learn_more(writer, session)
            if one.days_ago >= _LOOKED_AT_DAYS:
                accepted = [memory.id for memory in learned if memory.state is MemoryState.INBOX]
                if accepted:
                    await self._knowledge.accept(accepted)
            await self._mark(session, one)

    async def _converse(self, one: Conversation, recall: RecallEngine) -> Session:
        session: Session | None = None
        asked: Message | None = None
        for line in one.messages:
            text = dated(line.content, self._today)
            self.clock.moment += _takes(line.role, text)
            new = NewMessage(line.role, text, model=None if line.role is Role.USER else MODEL)
            if session is None:
                first = NewSession(one.title, title_source=TitleSource.PERSON, project=one.project)
                session, message = await self.store.create_session(first, new)
                if one.documents:
                    bound = [self._documents[title] for title in one.documents]
                    await self.store.documents.bind(session.id, bound)
            else:
                message = await self.store.append_message(session.id, new)
            if line.role is Role.USER:
                asked = message
                self._said.append(message)
            elif asked is not None:
                await self._settle(one, line, asked, message, recall)
        assert session is not None
        return session

    async def _settle(
        self, one: Conversation, line: Line, asked: Message, reply: Message, recall: RecallEngine
    ) -> None:
        """Stores what the reply is based on."""
        if line.cites:
            await self._cite(one, line, asked, reply)
        if line.skill:
            skill, version = self._skills[line.skill]
            body = next(skill.text.body for skill in self.material.skills if skill.name == line.skill)
            used = UsedSkill(skill, line.skill, version, asked.id, _tokens(body))
            await self.store.skills.begin_use(reply.session_id, reply.id, used)
            await self.store.skills.count_uses(reply.id)
            await self.store.skills.judge(reply.id, Verdict.HELPED)
        if line.recalls:
            await self._recall(line, asked, reply, recall)

    async def _cite(self, one: Conversation, line: Line, asked: Message, reply: Message) -> None:
        known = await self.store.documents.passages(reply.session_id)
        for quote in line.cites:
            for title in one.documents:
                document = await self.store.documents.get(self._documents[title])
                for chunk in await self.store.documents.chunks(document.id):
                    there = any(p.document == document.id and p.begin == chunk.begin for p in known)
                    if quote not in chunk.text or there:
                        continue
                    known.append(
                        StoredPassage(
                            marker=len(known) + 1,
                            document=document.id,
                            title=document.title,
                            page=chunk.page,
                            lines=chunk.lines,
                            begin=chunk.begin,
                            end=chunk.end,
                            heading=chunk.heading,
                            text=chunk.text,
                            sha256=document.sha256,
                            message=asked.id,
                            header=chunk.header,
                        )
                    )
        await self.store.documents.put_passages(reply.session_id, known)
        cited = await cited_reply(reply.content, known)
        await self.store.documents.put_citations(
            reply.session_id, reply.id, cited.citations, cited.unsupported
        )

    async def _recall(self, line: Line, asked: Message, reply: Message, recall: RecallEngine) -> None:
        """Records the memories behind a reply: those that its words find, and those of the profile."""
        wanted = {(await self._memory(words)).id for words in line.recalls}
        query = RecallQuery(asked.content, k=_FOUND, kinds=("memory",), now=reply.created_at)
        hits = await recall.recall(query)
        decided = [
            RecallDecision(
                hit.kind,
                hit.id,
                Outcome.TOLD if hit.id in wanted else Outcome.TOO_FAR,
                hit.score,
                hit.parts,
            )
            for hit in hits
        ]
        left = [one for one in decided if one.outcome is not Outcome.TOLD][:_LEFT_OUT]
        decided = [one for one in decided if one.outcome is Outcome.TOLD or one in left]
        told = [one.id for one in decided if one.outcome is Outcome.TOLD]
        profile = sorted(wanted - set(told))
        before = await self.store.branch(reply.session_id, asked.id)
        texts = {one.id: one.text for one in await self.store.memories.get_many([*told, *profile])}
        parts = (
            TierUse("profile", sum(_tokens(texts[key]) for key in profile), tuple(profile)),
            TierUse("recent", sum(_tokens(m.content) for m in before[:-1]), tuple(m.id for m in before[:-1])),
            TierUse("recall", sum(_tokens(texts[key]) for key in told), tuple(told)),
            TierUse("user", _tokens(asked.content), (asked.id,)),
        )
        total = sum(part.tokens for part in parts)
        record = TurnRecord(reply.id, reply.session_id, None, MODEL, hash_tokens(()), total, parts)
        await self.store.context.record_turn(record)
        await self.store.context.record_considered(reply.session_id, reply.id, decided)
        for how, ids in ((UseKind.RECALLED, set(told)), (UseKind.CITED, wanted)):
            await self.store.memories.use(ids, reply_id=reply.id, session_id=reply.session_id, how=how)

    async def _mark(self, session: Session, one: Conversation) -> None:
        if one.tags:
            await self.store.organising.apply([session.id], MarksPatch(add_tags=one.tags))
        if {"star", "important"} & set(one.marks):
            marked = SessionPatch(starred="star" in one.marks, important="important" in one.marks)
            await self.store.update_session(session.id, marked)
        if "bin" in one.marks:
            await self.store.bin_session(session.id)

    # --- memories ---------------------------------------------------------------------------------

    @property
    def _knowledge(self) -> KnowledgeService:
        return KnowledgeService(self.store, self.clock, MemorySettings, _nothing)

    async def _learn_more(self, writer: MemoryWriter, session: Session) -> list[Memory]:
        """Learns from a conversation what patterns alone do not find."""
        said = [message for message in self._said if message.session_id == session.id]
        candidates = [
            Candidate(
                known.kind,
                _sentence(text),
                text,
                message.id,
                session.id,
                message.created_at,
                origin=MemoryOrigin.MODEL,
                importance=known.importance,
                model=MODEL,
            )
            for known in self.material.memories
            if known.kind is not None
            for text in [dated(known.text, self._today)]
            for message in said
            if text in message.content
        ]
        return await writer.add(candidates, project=session.project)

    async def _memory(self, words: str, states: frozenset[MemoryState] | None = FINDABLE) -> Memory:
        """Returns the one memory that contains these words. Raises `LookupError`."""
        words = dated(words, self._today).casefold()
        known = await self.store.memories.select(MemoryFilter(states=states))
        found = [one for one in known if words in one.text.casefold()]
        if not found:
            raise LookupError(f"no memory of the demonstration contains {words!r}")
        return min(found, key=lambda one: len(one.text))

    async def _review(self) -> None:
        """Applies the user's actions to the memories."""
        knowledge = self._knowledge
        for known in self.material.memories:
            memory = await self._memory(known.text.removesuffix("."), None)
            self.clock.moment = memory.updated_at + timedelta(minutes=5)
            if known.reworded:
                self._set(known.reworded.days_ago)
                await knowledge.edit(memory.id, MemoryPatch(text=known.reworded.text))
            if known.state is MemoryState.REJECTED:
                await knowledge.reject([memory.id])
            elif known.state is not None:
                await self.store.memories.change(memory.id, MemoryPatch(state=known.state))
            if known.tier or known.ends_in_days:
                self._set(0)
                patch = MemoryPatch(tier=known.tier)
                if known.ends_in_days:
                    patch = replace(patch, expires_at=self.now + timedelta(days=known.ends_in_days))
                await knowledge.edit(memory.id, patch)
            if known.pinned:
                await knowledge.pin([memory.id])

    # --- projects, skills, notes ------------------------------------------------------------------

    async def _add_projects(self) -> None:
        projects = ProjectService(self.store, self._knowledge, self.clock)
        for one in self.material.index.projects:
            if one.instructions:
                await projects.change(one.name, ProjectPatch(instructions=one.instructions))
            if one.archived is not None:
                self._set(one.archived)
                await projects.archive(one.name)

    async def _add_approved_skills(self) -> None:
        for one in self.material.skills:
            if one.entry.approved:
                self._set(one.entry.written)
                first = one.text
                if one.entry.revised:
                    first = replace(first, body=first.body.rstrip().rpartition("\n")[0].rstrip() + "\n")
                made = await self.store.skills.add(NewSkill(one.name, first), approved=True)
                self._skills[one.name] = made.id, made.version

    async def _revise_skills(self) -> None:
        for one in self.material.skills:
            if (revised := one.entry.revised) is not None:
                self._set(revised.days_ago)
                source = SkillSource(SourceKind.MEMORY, (await self._memory(revised.learned)).id)
                whole = NewSkill(one.name, one.text, sources=(source,))
                await self.store.skills.write(self._skills[one.name][0], whole, in_effect=True)

    async def _add_drafts(self) -> None:
        for one in self.material.skills:
            if not one.entry.approved:
                self._set(one.entry.written)
                sources = tuple(
                    SkillSource(SourceKind.MESSAGE, message.id)
                    for words in one.entry.drafted_from
                    for message in self._said
                    if words in message.content
                )
                draft = NewSkill(one.name, one.text, SkillAuthor.ATLAS, sources)
                await self.store.skills.add(draft, approved=False)

    async def _add_notes(self) -> None:
        known = await self.store.memories.select(MemoryFilter(states=None))

        def memory_id(words: str) -> str:
            return next(one.id for one in known if words in one.text)

        await self.store.notes.put(
            [
                read_note(
                    one.title,
                    dated(one.text, self._today, memory_id),
                    project=one.project,
                    created_at=self.now - timedelta(days=one.dates.written, minutes=20),
                    updated_at=self.now - timedelta(days=one.dates.changed, minutes=10),
                )
                for one in self.material.notes
            ]
        )


async def _nothing() -> None:
    """Vectors of changed memories are made later."""


def _takes(role: Role, text: str) -> timedelta:
    """Returns how long it takes to write a message."""
    return timedelta(seconds=20 + len(text) / 4 if role is Role.USER else 2 + len(text) / 60)


def _tokens(text: str) -> int:
    return math.ceil(len(text.split()) * _TOKENS_PER_WORD)


def _sentence(text: str) -> str:
    """Returns the words as a sentence, as memories are worded."""
    return text[0].upper() + text[1:] + ("" if text.endswith(("?", "!")) else ".")


_WORDS = tuple(
    """
    anchor apple barrel bell boat bottle bread button candle chalk clover copper corner daisy ember feather
    ferry fiddle garden ginger gravel hammer harbour hazel island ivory jumper kettle ladder lantern lemon
    linen maple marble mitten mustard needle oar olive paper pebble pepper pillow plum pocket quarry rain
    ribbon river saddle salt saucer shovel silver spoon tide timber velvet walnut willow window
    """.split()  # noqa: SIM905 - a list of words reads better this way
)
_WORDS_IN_PASSPHRASE = 4


def demo_home(paths: Paths) -> Paths:
    """Creates an empty home in the cache, which shares the models of the real one."""
    home = Paths(paths.cache / "demo")
    shutil.rmtree(home.home, ignore_errors=True)
    home.home.mkdir(mode=0o700, parents=True)
    home.models.symlink_to(paths.models, target_is_directory=True)
    home.ensure()
    return home


def demo_passphrase() -> str:
    """Returns a new passphrase of four words. The demonstration shows it, because it also opens the private
    room."""
    return " ".join(secrets.choice(_WORDS) for _ in range(_WORDS_IN_PASSPHRASE))
