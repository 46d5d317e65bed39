"""Reads the written material of the demonstration, with its dates moved to the year before a given day."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from memory.clock import LocalZone
from memory.kinds import RoomKind
from memory.memories.entities import MemoryKind, MemoryState, MemoryTier
from memory.skills.entities import SkillText
from memory.skills.markdown import read_skill
from models.messages import Role

_Kind = TypeVar("_Kind")


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One message of a sample conversation.

    `recalls` are words of the memories that the reply rests on, `cites` passages of the conversation's
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
    """What became of a memory whose text begins with `text`.

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
    """A document: how many days ago it was added, and what it says in short."""

    added: int
    summary: str


class NoteDates(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many days ago a note was written and last changed."""

    written: int
    changed: int


class SkillRevision(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When a skill got its last line; `learned` are words of the memory that this rests on."""

    days_ago: int
    learned: str


class SkillEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A skill. A draft waits for approval; `drafted_from` are words of the messages that it comes from."""

    name: str
    written: int
    approved: bool
    drafted_from: tuple[str, ...] = ()
    revised: SkillRevision | None = None


class Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the files do not say themselves. Documents are named by path, notes by title."""

    projects: tuple[SampleProject, ...]
    documents: dict[str, SampleDocument]
    notes: dict[str, NoteDates]
    skills: tuple[SkillEntry, ...]


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
    """All of it. Conversations are sorted by time, oldest first."""

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
    """Returns the material as it is written, with days counted backwards and without dates."""
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
    """Returns the text with its places filled in.

    `{{-12}}` and `{{+12}}` are the day so many days from today (in words), `{{iso -12}}` is the same as a
    number, and `{{memory:words}}` is the id of the memory with these words, by `memory_id`.
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


# Dates stand in English texts, whatever the language of the computer is.
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
