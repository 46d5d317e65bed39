"""A simulation: devices with a room and a folder each, random work on them, and a tool that copies badly.

One history, which follows from its seed:

- Each device has a room and its own copy of the folder. Its clock is right, or three years off.
- Each step is one operation on one device: talking, editing, marking, remembering, notes, documents, skills,
  projects, merging, forking, moving to the private room and back, forgetting in every way, or sync (a fifth
  of the steps, `_WORK`). A sync first copies a part of another device's folder, in any order, and sometimes
  only the beginning of a file.
- Files are lost, doubled, changed by a bit, exchanged, replaced by old ones, and joined by foreign ones. A
  sync in five is killed before or after one of its writes, or between two, and the program is started again.
- At the end all folders are copied completely and every device syncs until nothing is new. Then all rooms
  must be equal and whole, nothing acknowledged may be missing that nobody has forgotten, and nothing that
  was forgotten may be there (`Simulation.faults`).
"""

import asyncio
import os
import random
import secrets
import shutil
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import uuid_utils

from atlas_desktop.services.notes.notebook import read_note, rewritten
from memory.documents.entities import FileFacts, NewDocument, ParsedText
from memory.entities import MessagePatch, NewMessage, NewSession, RoomKind, SessionPatch, Target, TitleSource
from memory.errors import MemoryFault
from memory.memories.entities import (
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    NewMemory,
)
from memory.organising import MarksPatch
from memory.personas import NewPersona
from memory.skills.entities import NewSkill, SkillText
from memory.storage.changes import key_of
from memory.storage.connection import Connection
from memory.sync import folder
from memory.sync.entities import KeySet, SyncReport
from memory.sync.exchange import Exchange
from memory.sync.folder import SyncFolder
from memory.sync.tables import ALL
from models.messages import Role
from tests.fakes.clock import FakeClock
from tests.stores import InMemoryStore

_WORDS = [
    "anchor",
    "buoy",
    "chart",
    "deck",
    "ebb",
    "fender",
    "gale",
    "halyard",
    "inlet",
    "jetty",
    "keel",
    "ledge",
    "mast",
    "neap",
    "oar",
    "pier",
    "quay",
    "reef",
]
_PROJECTS = ("Boat", "House", "Garden")
_YEARS = (0, 0, 0, 0, 3, -3)


class _NothingThere(Exception):
    """There is nothing of this kind to choose from."""


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Makes ids, names of folders and keys follow from the seed; later ids are greater, as ever. Nothing is
    left to threads, and no file is forced to the disk: no power fails here."""
    rnd = random.Random(f"ids {seed}")
    last = 0x01A2_19C0_0000_0000_0000_0000_0000_0000

    def later() -> uuid.UUID:
        nonlocal last
        last += rnd.randrange(1 << 64, 1 << 80)
        return uuid.UUID(int=last)

    with (
        patch.object(uuid_utils, "uuid7", later),
        patch.object(uuid, "uuid4", lambda: uuid.UUID(int=rnd.getrandbits(128))),
        patch.object(secrets, "token_bytes", rnd.randbytes),
        patch.object(secrets, "token_hex", lambda length: rnd.randbytes(length).hex()),
        patch.object(asyncio, "to_thread", _at_once),
        patch.object(os, "fsync", lambda _file: None),
    ):
        yield


async def _at_once(work: Callable[..., Any], *args: Any) -> Any:
    return work(*args)


class Killed(Exception):
    """The program was killed."""


class Dying:
    """Passes calls on, and kills the program at one of those that change something: before or after it."""

    def __init__(self, wrapped: Any, life: "Life") -> None:
        self._wrapped = wrapped
        self._life = life

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._wrapped, name)
        if name not in _CHANGING:
            return found
        if asyncio.iscoroutinefunction(found):

            async def later(*args: Any, **kwargs: Any) -> Any:
                self._life.spend()
                result = await found(*args, **kwargs)
                self._life.spend()
                return result

            return later

        def now(*args: Any, **kwargs: Any) -> Any:
            self._life.spend()
            result = found(*args, **kwargs)
            self._life.spend()
            return result

        return now


_CHANGING = frozenset(
    {
        *(
            "apply",
            "begin_file",
            "drop_files",
            "end_file",
            "know",
            "mark_stale",
            "renew",
            "retry",
            "set_device",
        ),
        *("set_state", "skip", "synced", "take_up_stale", "make_place", "remove", "remove_drafts", "write"),
    }
)


@dataclass
class Life:
    """How many moments are left before the program is killed."""

    left: int

    def spend(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Killed


@dataclass
class Device:
    """One device. Messages up to the number `noticed` are known to have been acknowledged."""

    number: int
    path: Path
    clock: FakeClock
    store: InMemoryStore
    place: str = ""
    errors: int = 0
    killed: int = 0
    noticed: int = 0

    @property
    def connection(self) -> Connection:
        return self.store._connection

    @property
    def folder(self) -> SyncFolder:
        return SyncFolder(self.path)

    async def sync(self) -> SyncReport:
        try:
            report = await Exchange(self.store.sync, self.folder, self.clock).run()
        except MemoryFault as error:
            raise AssertionError("a sync is never refused") from error
        self._look_up_place()
        return report

    async def sync_and_die(self, moments: int) -> None:
        """Syncs, but is killed after some moments if it takes longer, and starts again."""
        life = Life(moments)
        store: Any = Dying(self.store.sync, life)
        files: Any = Dying(self.folder, life)
        try:
            await Exchange(store, files, self.clock).run()
        except Killed:
            self.killed += 1
            await self.store.close()
            self.store = self.store.reopened()
            await self.store.sync.listen()
        self._look_up_place()

    def _look_up_place(self) -> None:
        (self.place,) = self.connection.execute("SELECT place FROM sync_state").fetchone()


@dataclass
class Promises:
    """What the devices have acknowledged, and what was forgotten."""

    texts: dict[str, str] = field(default_factory=dict)
    """Of messages, by id."""
    sessions: dict[str, set[str]] = field(default_factory=dict)
    """In which each message has been."""
    documents: set[str] = field(default_factory=set)
    forgotten: set[tuple[str, str]] = field(default_factory=set)
    """Tables and ids."""
    joined: dict[str, str] = field(default_factory=dict)
    """Sessions that were merged, with the one that they became."""

    def notice(self, device: Device) -> None:
        """Takes note of what is new on a device."""
        rows = device.connection.execute(
            """
            SELECT seq, id, session_id, content FROM messages
            WHERE seq > ? AND status <> 'streaming' AND content <> '' ORDER BY seq
            """,
            (device.noticed,),
        )
        for device.noticed, key, session, content in rows:
            self.texts.setdefault(key, content)
            self.sessions.setdefault(key, set()).add(session)
        self.documents |= {row[0] for row in device.connection.execute("SELECT id FROM documents")}

    def became(self, session: str) -> str:
        while session in self.joined:
            session = self.joined[session]
        return session

    def missing(self, conn: Connection) -> Iterator[str]:
        """What was acknowledged, and is not there although nobody has forgotten it."""
        texts = dict(conn.execute("SELECT id, content FROM messages").fetchall())
        ended = {self.became(key) for table, key in self.forgotten if table == "sessions"}
        for key, text in self.texts.items():
            excused = ("messages", key) in self.forgotten or any(
                self.became(session) in ended for session in self.sessions[key]
            )
            if not excused and texts.get(key) != text:
                yield f"message {key} is lost"
        documents = {row[0] for row in conn.execute("SELECT id FROM documents")}
        for key in self.documents - documents:
            if ("documents", key) not in self.forgotten:
                yield f"document {key} is lost"

    def returned(self, conn: Connection) -> Iterator[str]:
        """What was forgotten, and is there."""
        for table, key in sorted(self.forgotten & present(conn)):
            yield f"{table} {key} came back"


def present(conn: Connection) -> set[tuple[str, str]]:
    """What can be forgotten, by table and id; what waits for other rows as well."""
    return {
        (table, key)
        for table, key in conn.execute(
            """
            SELECT 'messages', id FROM messages WHERE content <> ''
            UNION ALL SELECT 'sessions', id FROM sessions UNION ALL SELECT 'documents', id FROM documents
            UNION ALL SELECT tbl, key FROM sync_waiting
                WHERE tbl IN ('sessions', 'documents') AND change NOT LIKE '%"?%'
            UNION ALL SELECT tbl, key FROM sync_waiting
                WHERE tbl = 'messages' AND json_extract(change, '$[5].content') <> ''
            """
        )
    }


@dataclass
class Simulation:
    """One history. `base` is an empty folder."""

    base: Path
    seed: int
    devices: int = 3
    badly: bool = True
    keys: KeySet = field(init=False)
    rnd: random.Random = field(init=False)
    all: list[Device] = field(default_factory=list)
    marks: int = 0
    promises: Promises = field(default_factory=Promises)
    kept: Path = field(init=False)

    def __post_init__(self) -> None:
        self.rnd = random.Random(self.seed)
        self.kept = self.base / "earlier"

    async def begin(self) -> None:
        self.keys = folder.new_keys()
        for number in range(self.devices):
            path = self.base / f"device{number}"
            path.mkdir()
            years = self.rnd.choice(_YEARS) if self.badly else 0
            clock = FakeClock(datetime(2026, 1, 1, 12, tzinfo=UTC) + timedelta(days=365 * years))
            device = Device(number, path, clock, InMemoryStore(clock))
            device.place = device.folder.make_place()
            await device.store.sync.begin(
                str(path),
                f"device {number}",
                device.place,
                self.keys,
                folder.signing_pair(),
                folder.sealing_pair(),
                device_id=folder.new_device_id(),
            )
            self.all.append(device)

    async def run(self, steps: int) -> list[str]:
        """Does random things, lets the devices settle, and returns what is wrong then."""
        with seeded(self.seed):
            await self.begin()
            for _ in range(steps):
                await self._step()
            await self.settle()
            return await self.faults()

    async def _step(self) -> None:
        device = self.rnd.choice(self.all)
        device.clock.advance(timedelta(seconds=self.rnd.randrange(1, 4000)))
        work = self.rnd.choices(list(_WORK), weights=list(_WORK.values()))[0]
        before = present(device.connection) if work in _FORGETTING else set()
        try:
            await work(self, device)
        except (MemoryFault, _NothingThere):
            # Refused here and now: something of a random choice does not go together.
            device.errors += 1
        if work in _FORGETTING:
            self.promises.forgotten |= before - present(device.connection)
        self.promises.notice(device)

    async def settle(self) -> None:
        quiet = 0
        for _ in range(30):
            news = 0
            for device in self.all:
                report = await device.sync()
                news += report.sent_changes + report.received_changes + report.sent_bytes
            self._copy_everything()
            quiet = quiet + 1 if not news else 0
            if quiet == 2:
                return
        raise AssertionError("the devices never come to rest")

    async def faults(self) -> list[str]:
        """What is wrong after all devices have settled."""
        first, *others = (dump(device.connection) for device in self.all)
        found = [f"{table} differs" for room in others for table in first if room[table] != first[table]]
        for device in self.all:
            found += self.promises.missing(device.connection)
            found += self.promises.returned(device.connection)
            found += (await device.store.verify()).problems
        return found

    # --- the tool that copies --------------------------------------------------------------------

    def _copy_everything(self) -> None:
        for device in self.all:
            for source in self.all:
                if source is not device and (source.path / source.place).exists():
                    shutil.rmtree(device.path / source.place, ignore_errors=True)
                    shutil.copytree(source.path / source.place, device.path / source.place)

    def copy_some(self, target: Device) -> None:
        """Copies some files from another device, in any order, perhaps not completely."""
        source = self.rnd.choice(self.all)
        if source is target:
            return
        for place in sorted(one.name for one in source.path.iterdir()):
            if place == target.place or not (source.path / place).is_dir():
                continue
            (target.path / place).mkdir(exist_ok=True)
            for name in sorted(one.name for one in (source.path / place).iterdir()):
                if self.rnd.random() < 0.3:
                    continue
                data = (source.path / place / name).read_bytes()
                cut = self.badly and self.rnd.random() < 0.05 and data
                (target.path / place / name).write_bytes(
                    data[: self.rnd.randrange(len(data))] if cut else data
                )

    def damage(self, device: Device) -> None:
        """Does one of the things that happen to folders."""
        files = [file for file in sorted(device.path.rglob("*")) if file.is_file()]
        if not files:
            return
        file = self.rnd.choice(files)
        what = self.rnd.randrange(6)
        if what == 0:
            file.unlink()
        elif what == 1:
            file.with_name(f"{file.name}.sync-conflict-1").write_bytes(file.read_bytes())
        elif what == 2:
            data = bytearray(file.read_bytes())
            if data:
                data[self.rnd.randrange(len(data))] ^= 1
            file.write_bytes(data)
        elif what == 3:
            other = self.rnd.choice(files)
            one, two = file.read_bytes(), other.read_bytes()
            file.write_bytes(two)
            other.write_bytes(one)
        elif what == 4:
            (device.path / "notes.txt").write_text("of another program")
        elif self.kept.exists():
            for old in self.kept.rglob("*"):
                if old.is_file():
                    to = device.path / old.relative_to(self.kept)
                    to.parent.mkdir(exist_ok=True)
                    shutil.copy2(old, to)
        else:
            shutil.copytree(device.path, self.kept)

    # --- what is in a room -----------------------------------------------------------------------

    def text(self) -> str:
        """Returns words with a mark that occurs nowhere else."""
        self.marks += 1
        return f"{' '.join(self.rnd.choices(_WORDS, k=4))} mark{self.seed}x{self.marks}"

    def pick(self, device: Device, query: str) -> Any:
        rows = device.store._connection.execute(query).fetchall()
        if not rows:
            raise _NothingThere
        return self.rnd.choice(rows)[0]

    def session(self, device: Device) -> str:
        return str(self.pick(device, "SELECT id FROM sessions WHERE deleted_at IS NULL ORDER BY id"))


def dump(conn: Connection) -> dict[str, list[dict[str, Any]]]:
    """Returns all rows that are synced, without what is of one device."""
    found: dict[str, list[dict[str, Any]]] = {}
    for table in ALL:
        names = (*table.key, *table.columns)
        listed = ", ".join(f't."{name}"' for name in names)
        only = table.only.format(row="t") or "1"
        rows = conn.execute(
            f"SELECT {listed} FROM {table.name} AS t WHERE {only} ORDER BY {key_of(table, 't')}"
        ).fetchall()
        found[table.name] = [dict(zip(names, row, strict=True)) for row in rows]
    return found


# --- random work -----------------------------------------------------------------------------------


async def _new_session(of: Simulation, device: Device) -> None:
    new = NewSession(title=of.text(), project=of.rnd.choice([None, *_PROJECTS]))
    session, _ = await device.store.create_session(new, NewMessage(Role.USER, of.text()))
    await device.store.append_message(session.id, NewMessage(Role.ASSISTANT, of.text()))


async def _say(of: Simulation, device: Device) -> None:
    session = of.session(device)
    parent = None
    if of.rnd.random() < 0.3:
        parent = of.pick(device, f"SELECT id FROM messages WHERE session_id = '{session}' ORDER BY id")
    said = await device.store.append_message(session, NewMessage(Role.USER, of.text()), parent_id=parent)
    await device.store.append_message(session, NewMessage(Role.ASSISTANT, of.text()), parent_id=said.id)


async def _stream(of: Simulation, device: Device) -> None:
    from memory.entities import MessageStatus

    session = of.session(device)
    _, _, reply = await device.store.begin_turn(
        session,
        None,
        NewMessage(Role.USER, of.text()),
        NewMessage(Role.ASSISTANT, "", status=MessageStatus.STREAMING),
    )
    if of.rnd.random() < 0.3:
        await device.sync()
    await device.store.update_message(reply.id, MessagePatch(content=of.text()))
    await device.store.update_message(
        reply.id, MessagePatch(content=of.text(), status=MessageStatus.COMPLETE, stop_reason="stop")
    )


async def _edit(of: Simulation, device: Device) -> None:
    await device.store.edit_message(of.pick(device, "SELECT id FROM messages ORDER BY id"), of.text())


async def _rename(of: Simulation, device: Device) -> None:
    await device.store.update_session(
        of.session(device), SessionPatch(title=of.text(), title_source=TitleSource.PERSON)
    )


async def _mark(of: Simulation, device: Device) -> None:
    rnd = of.rnd
    patch = rnd.choice(
        [
            MarksPatch(add_tags=(rnd.choice(_WORDS),)),
            MarksPatch(add_tags=(rnd.choice(_WORDS),)),
            MarksPatch(remove_tags=(rnd.choice(_WORDS),)),
            MarksPatch(starred=rnd.random() < 0.5),
            MarksPatch(important=rnd.random() < 0.5),
            MarksPatch(pinned=rnd.random() < 0.5),
            MarksPatch(archived=rnd.random() < 0.5),
            MarksPatch(binned=rnd.random() < 0.3),
            MarksPatch(project=rnd.choice(["", *_PROJECTS])),
            MarksPatch(category=rnd.choice(["", *_WORDS])),
        ]
    )
    session = of.pick(device, "SELECT id FROM sessions ORDER BY id")
    await device.store.organising.apply([session], patch)


async def _important(of: Simulation, device: Device) -> None:
    message = of.pick(device, "SELECT id FROM messages ORDER BY id")
    await device.store.update_message(message, MessagePatch(important=of.rnd.random() < 0.7))


async def _remember(of: Simulation, device: Device) -> None:
    sources: tuple[MemorySource, ...] = ()
    if of.rnd.random() < 0.6:
        message = of.pick(device, "SELECT id FROM messages WHERE content <> '' AND role = 'user' ORDER BY id")
        session, content = device.store._connection.execute(
            "SELECT session_id, content FROM messages WHERE id = ?", (message,)
        ).fetchone()
        sources = (MemorySource(message, session, content),)
    new = NewMemory(
        MemoryKind.FACT,
        sources[0].quote if sources else of.text(),
        MemoryOrigin.PATTERN if sources else MemoryOrigin.PERSON,
        sources=sources,
        project=of.rnd.choice([None, *_PROJECTS]),
    )
    await device.store.memories.add(new)


async def _change_memory(of: Simulation, device: Device) -> None:
    memory = of.pick(device, "SELECT id FROM memories ORDER BY id")
    patch = of.rnd.choice(
        [
            MemoryPatch(text=of.text()),
            MemoryPatch(state=of.rnd.choice(list(MemoryState)[:3])),
            MemoryPatch(pinned=of.rnd.random() < 0.5),
            MemoryPatch(importance=of.rnd.random()),
        ]
    )
    await device.store.memories.change(memory, patch)


async def _supersede(of: Simulation, device: Device) -> None:
    memory = of.pick(device, "SELECT id FROM memories ORDER BY id")
    await device.store.memories.add(
        NewMemory(MemoryKind.FACT, of.text(), MemoryOrigin.PERSON, supersedes=(memory,))
    )


async def _undo_memory(of: Simulation, device: Device) -> None:
    await device.store.memories.undo(of.pick(device, "SELECT id FROM memory_changes ORDER BY id"))


async def _forget_memory(of: Simulation, device: Device) -> None:
    memory = of.pick(device, "SELECT id FROM memories ORDER BY id")
    await device.store.forget(Target(memories=(memory,)))


async def _forget_session(of: Simulation, device: Device) -> None:
    session = of.pick(device, "SELECT id FROM sessions ORDER BY id")
    await device.store.forget(Target(sessions=(session,)))


async def _erase_session(of: Simulation, device: Device) -> None:
    await device.store.erase_session(of.pick(device, "SELECT id FROM sessions ORDER BY id"))


async def _forget_message(of: Simulation, device: Device) -> None:
    message = of.pick(device, "SELECT id FROM messages WHERE content <> '' ORDER BY id")
    await device.store.forget(Target(messages=(message,)))


async def _forget_words(of: Simulation, device: Device) -> None:
    await device.store.forget(Target(about=f"{of.rnd.choice(_WORDS)} {of.rnd.choice(_WORDS)}"))


async def _project(of: Simulation, device: Device) -> None:
    projects = device.store.projects
    name = of.rnd.choice(_PROJECTS)
    match of.rnd.randrange(5):
        case 0 | 1:
            await projects.create(name)
        case 2:
            await projects.rename(name, of.rnd.choice(_PROJECTS))
        case 3:
            await projects.archive(name)
        case _:
            await projects.delete(name)


async def _persona(of: Simulation, device: Device) -> None:
    name = of.rnd.choice(_WORDS[:4])
    match of.rnd.randrange(3):
        case 0:
            await device.store.personas.add_persona(NewPersona(name, of.text()))
        case 1:
            await device.store.personas.change_persona(name, NewPersona(of.rnd.choice(_WORDS[:4]), of.text()))
        case _:
            await device.store.personas.remove_persona(name)


async def _skill(of: Simulation, device: Device) -> None:
    name = of.rnd.choice(_WORDS[:4])
    new = NewSkill(name, SkillText(of.text(), of.text()))
    if of.rnd.random() < 0.5:
        await device.store.skills.add(new, approved=True)
    else:
        await device.store.skills.write(name, new, in_effect=True)


async def _note(of: Simulation, device: Device) -> None:
    text = f"{of.text()} [[{of.rnd.choice(_WORDS)}]] #{of.rnd.choice(_WORDS)}"
    await device.store.notes.put([read_note(f"{of.rnd.choice(_WORDS)} {of.marks}", text)])


async def _edit_note(of: Simulation, device: Device) -> None:
    note = await device.store.notes.get(of.pick(device, "SELECT document_id FROM notes ORDER BY document_id"))
    await device.store.notes.put([rewritten(note, f"{of.text()} #{of.rnd.choice(_WORDS)}")])


async def _document(of: Simulation, device: Device) -> None:
    text = of.text() * of.rnd.choice([1, 1, 2000])
    await device.store.documents.put(
        [
            NewDocument(
                f"{of.marks}.txt",
                FileFacts(f"/{device.number}/{of.marks}.txt", len(text), 1),
                "0" * 64,
                "text/plain",
                "plain-1",
                of.text(),
                ParsedText(text),
            )
        ]
    )


async def _forget_document(of: Simulation, device: Device) -> None:
    await device.store.forget(Target(ids=(of.pick(device, "SELECT id FROM documents ORDER BY id"),)))


async def _merge(of: Simulation, device: Device) -> None:
    target, source = of.session(device), of.session(device)
    await device.store.organising.merge(target, [source])
    joined = of.promises
    if joined.became(source) != joined.became(target):
        joined.joined[joined.became(source)] = joined.became(target)


async def _restore(of: Simulation, device: Device) -> None:
    await device.store.restore_session(
        of.pick(device, "SELECT id FROM sessions WHERE deleted_at IS NOT NULL ORDER BY id")
    )


async def _fork(of: Simulation, device: Device) -> None:
    session = of.session(device)
    leaf = of.pick(device, f"SELECT id FROM messages WHERE session_id = '{session}' ORDER BY id")
    await device.store.fork_session(session, leaf)


async def _away_and_back(of: Simulation, device: Device) -> None:
    """Moves a session to the private room and, perhaps after a sync, back."""
    session = of.session(device)
    sealer = await device.store.moves.sealer()
    await device.store.moves.depart(session, RoomKind.PRIVATE, sealer)
    if of.rnd.random() < 0.5:
        await device.sync()
    await device.store.moves.take_back(session, sealer)


async def _sync(of: Simulation, device: Device) -> None:
    of.copy_some(device)
    if of.badly and of.rnd.random() < 0.2:
        await device.sync_and_die(of.rnd.randrange(1, 60))
    else:
        await device.sync()


async def _damage(of: Simulation, device: Device) -> None:
    if of.badly:
        of.damage(device)


_WORK: dict[Callable[[Simulation, Device], Awaitable[None]], int] = {
    _new_session: 8,
    _say: 20,
    _stream: 4,
    _edit: 4,
    _rename: 5,
    _mark: 15,
    _important: 3,
    _remember: 6,
    _change_memory: 5,
    _supersede: 2,
    _undo_memory: 2,
    _forget_memory: 2,
    _forget_session: 2,
    _erase_session: 1,
    _forget_message: 3,
    _forget_words: 1,
    _project: 3,
    _persona: 3,
    _skill: 3,
    _note: 3,
    _edit_note: 3,
    _document: 2,
    _forget_document: 1,
    _merge: 2,
    _restore: 2,
    _fork: 2,
    _away_and_back: 2,
    _sync: 25,
    _damage: 5,
}
_FORGETTING = {
    _forget_memory,
    _forget_session,
    _erase_session,
    _forget_message,
    _forget_words,
    _forget_document,
}
