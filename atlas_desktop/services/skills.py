"""The skills of one room: writes, drafts, approves, rolls back and judges them."""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from difflib import unified_diff
from itertools import pairwise
from pathlib import Path

from atlas_desktop.error_table import fault_text, refusal_text
from atlas_desktop.errors import DocumentRefused, Refusal, Skipped
from atlas_desktop.locale import N_, _
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.documents.reading import read_file
from atlas_desktop.services.events import Replied
from atlas_desktop.settings.schema import MemorySettings
from memory.documents.entities import DocumentError
from memory.entities import Message, MessageStatus, RoomKind
from memory.errors import SkillHasNoDraft, SkillInvalid, SkillVersionNotFound
from memory.jobs.queue import Job
from memory.jobs.runner import Duty
from memory.learning.learner import may_learn
from memory.memories.entities import MemoryFilter, MemoryKind, MemoryState
from memory.recall.entities import QueryVectors
from memory.recall.words import confirms, content_words
from memory.skills.choosing import (
    SAME_REQUEST,
    SAME_WORDS,
    Request,
    is_remark,
    is_request,
    of_memory,
    of_requests,
    repeated,
)
from memory.skills.entities import (
    FILE_NAME,
    NewSkill,
    Skill,
    SkillAuthor,
    SkillState,
    SkillText,
    SkillUse,
    SkillVersion,
    UsedSkill,
    Verdict,
    checked_name,
    checked_text,
    read_skill,
    write_skill,
)
from memory.storage.store import Store
from models.messages import Role


class SkillService:
    """The skills of one room. Raises what the store raises, and `SkillInvalid`; texts are cleaned before they
    are stored. Text written by the user is approved automatically; text written by others waits for
    approval."""

    def __init__(self, store: Store) -> None:
        self._store = store

    # --- reading ----------------------------------------------------------------------------------

    async def list(self, state: SkillState | None = None) -> Sequence[Skill]:
        """Returns skills by name."""
        return await self._store.skills.list(None if state is None else [state])

    async def get(self, ref: str) -> Skill:
        return await self._store.skills.get(ref)

    async def versions(self, ref: str) -> Sequence[SkillVersion]:
        """Returns the kept versions, newest first."""
        return await self._store.skills.versions(ref)

    async def drafts(self) -> Sequence[Skill]:
        """Returns the skills that wait for approval, each as it would be in effect."""
        waiting = [one for one in await self._store.skills.list() if one.pending is not None]
        return [await self.waiting(one) for one in waiting]

    async def waiting(self, skill: Skill) -> Skill:
        """Returns a skill as it would be with its pending version. Raises `SkillHasNoDraft`."""
        if skill.pending is None:
            raise SkillHasNoDraft(skill.name)
        found = {one.version: one for one in await self._store.skills.versions(skill.id)}[skill.pending]
        return replace(
            skill,
            text=found.text,
            version=found.version,
            state=SkillState.DRAFT,
            author=found.author,
            approved_at=None,
            sources=found.sources,
        )

    async def uses(self, ref: str) -> Sequence[SkillUse]:
        """Returns the replies that used a skill, latest first."""
        return await self._store.skills.uses_of((await self.get(ref)).id)

    async def used_in(self, reply_id: str) -> tuple[UsedSkill, ...]:
        """Returns the skills that a reply used."""
        return (await self._store.skills.used_in([reply_id])).get(reply_id, ())

    async def diff(self, ref: str, older: int | None = None, newer: int | None = None) -> str:
        """Returns what changed from one version to another, as a unified diff of their files.

        By default, what approval would change or, without a pending version, what the newest version changed.
        A first version is compared with nothing. Raises `SkillVersionNotFound`.
        """
        skill = await self.get(ref)
        known = {one.version: one for one in await self._store.skills.versions(skill.id)}
        if newer is None:
            newer = skill.pending or skill.version
        if older is None:
            waits = skill.pending is not None and skill.pending != skill.version
            older = skill.version if waits else max((one for one in known if one < newer), default=0)
        numbers = (older, newer)
        for one in numbers:
            if one != 0 and one not in known:
                raise SkillVersionNotFound(one)
        before, after = (
            write_skill(skill.name, known[one].text).splitlines() if one in known else [] for one in numbers
        )
        names = [f"{skill.name} {one}" if one else "/dev/null" for one in numbers]
        return "\n".join(unified_diff(before, after, names[0], names[1], lineterm=""))

    # --- writing ----------------------------------------------------------------------------------

    async def new(self, name: str, description: str, body: str, *, draft: bool = False) -> Skill:
        """Stores a skill that the user wrote; it is approved unless `draft` is set. Raises
        `SkillNameTaken`."""
        text = checked_text(SkillText(clean_line(description), clean(body)))
        new = NewSkill(checked_name(clean_line(name)), text)
        return await self._store.skills.add(new, approved=not draft)

    async def edit(
        self,
        ref: str,
        *,
        body: str | None = None,
        description: str | None = None,
        name: str | None = None,
    ) -> Skill:
        """Changes a skill; a changed text is a new version, in effect at once unless the skill is a draft.

        Returns the skill; a draft stays one. Raises `SkillNameTaken`.
        """
        skill = await self.get(ref)
        old = skill.text
        text = checked_text(
            SkillText(
                old.description if description is None else clean_line(description),
                old.body if body is None else clean(body),
                old.front,
            )
        )
        if name is not None and checked_name(clean_line(name)) != skill.name:
            skill = await self._store.skills.rename(skill.id, checked_name(clean_line(name)))
        if text == old:
            return skill
        return await self._store.skills.write(skill.id, NewSkill(skill.name, text), in_effect=True)

    async def edit_draft(self, ref: str, body: str) -> Skill:
        """Changes the instructions of the pending version, which stays pending. Raises `SkillHasNoDraft`."""
        skill = await self.get(ref)
        old = (await self.waiting(skill)).text
        text = checked_text(SkillText(old.description, clean(body), old.front))
        if text == old:
            return skill
        return await self._store.skills.write(skill.id, NewSkill(skill.name, text), in_effect=False)

    async def propose(self, new: NewSkill) -> Skill | None:
        """Stores text by others for approval: a new skill, or a new version of the skill with the same name.

        Returns None if the skill already has this text.
        """
        known = await self._store.skills.named(new.name)
        if known is None:
            return await self._store.skills.add(new, approved=False)
        same = known if known.pending is None else await self.waiting(known)
        if new.text in (known.text, same.text):
            return None
        return await self._store.skills.write(known.id, new, in_effect=False)

    # --- what is decided --------------------------------------------------------------------------

    async def approve(self, ref: str) -> Skill:
        """Puts the pending version into effect, or uses a retired skill again. Raises `SkillHasNoDraft`."""
        return await self._store.skills.approve(ref)

    async def reject(self, ref: str) -> Skill | None:
        """Deletes the pending version; returns the skill if it has another. Raises `SkillHasNoDraft`."""
        return await self._store.skills.reject(ref)

    async def roll_back(self, ref: str, version: int | None = None) -> Skill:
        """Puts an earlier approved version into effect again. Raises `SkillVersionNotFound`."""
        return await self._store.skills.roll_back(ref, version)

    async def retire(self, ref: str) -> Skill:
        """Stops using a skill; it is kept, and `approve` brings it back."""
        return await self._store.skills.retire(ref)

    async def use_again(self, ref: str) -> Skill:
        """Uses a retired skill again, in the version that it had; one that waits for approval goes on
        waiting."""
        return await self._store.skills.use_again(ref)

    async def remove(self, ref: str) -> tuple[str, ...]:
        """Deletes a skill with its versions, and its text in prompts; returns the sessions of these
        prompts."""
        return await self._store.skills.erase(ref)

    async def judge(self, reply_id: str, verdict: Verdict | None) -> Sequence[str]:
        """Records whether the skills of a reply helped; returns their ids.

        Raises `MessageNotFound` for a reply that used no skill.
        """
        return await self._store.skills.judge(reply_id, verdict)


_LARGEST = 1_000_000
"""Bytes of the largest file that is read."""
_DEEPEST = 4
_MOST = 2000
"""The most files and folders that are checked."""
_NOT_TAKEN = N_("not part of the skill: only SKILL.md is taken")


@dataclass(slots=True)
class SkillImport:
    """The result of an import: IDs of skills that now have a pending version, and how many were known."""

    skills: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)


@dataclass(slots=True)
class SkillExport:
    """The result of an export: paths of the files written, and of those skipped because they exist with
    different content."""

    written: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)


class SkillFolders:
    """The folders from which skills of one room are imported, and to which they are exported."""

    def __init__(self, skills: SkillService) -> None:
        self._skills = skills

    async def take(self, paths: Sequence[str | Path]) -> SkillImport:
        """Imports `SKILL.md` files: those given, and those in or below given folders.

        Each waits for approval. Raises `DocumentRefused` for a path that does not exist.
        """
        report = SkillImport()
        for path in paths:
            for file, others in await asyncio.to_thread(_found, Path(path)):
                await self._take_file(file, report)
                report.skipped += [Skipped(str(one), _(_NOT_TAKEN)) for one in others]
        return report

    async def _take_file(self, file: Path, report: SkillImport) -> None:
        try:
            data = (await asyncio.to_thread(read_file, file, None, _LARGEST)).data
            name, text = await asyncio.to_thread(_read, data, file)
        except DocumentRefused as refused:
            why = refusal_text(refused.name, DocumentError(refused.reason.value, refused.limit)).message
            report.skipped.append(Skipped(clean_line(str(file)), why))
            return
        except SkillInvalid as error:
            report.skipped.append(Skipped(clean_line(str(file)), fault_text(error.fault)))
            return
        made = await self._skills.propose(NewSkill(name, text, SkillAuthor.IMPORT))
        if made is None:
            report.unchanged += 1
        else:
            report.skills.append(made.id)

    async def write(self, folder: str | Path, refs: Sequence[str] = ()) -> SkillExport:
        """Writes skills as folders with a `SKILL.md` each: those given, or all approved ones.

        An existing file with different content is not overwritten.
        """
        if refs:
            wanted: Sequence[Skill] = [await self._skills.get(ref) for ref in refs]
        else:
            wanted = await self._skills.list(SkillState.APPROVED)
        report = SkillExport()
        for skill in wanted:
            path = Path(folder) / skill.name / FILE_NAME
            text = write_skill(skill.name, skill.text)
            await asyncio.to_thread(_write, path, text, report)
        return report


def _read(data: bytes, file: Path) -> tuple[str, SkillText]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentRefused(FILE_NAME, Refusal.UNREADABLE) from error
    return read_skill(clean(text), clean_line(file.absolute().parent.name))


def _found(path: Path) -> list[tuple[Path, list[Path]]]:
    """Returns the files of skills, each with the other files of its folder. Raises `DocumentRefused`."""
    if not path.exists():
        raise DocumentRefused(clean_line(path.name) or "file", Refusal.MISSING)
    if not path.is_dir():
        return [(path, [])]
    found: list[tuple[Path, list[Path]]] = []
    seen = 0
    for folder, folders, files in os.walk(path):
        here = Path(folder)
        seen += len(folders) + len(files)
        if seen > _MOST or len(here.relative_to(path).parts) >= _DEEPEST:
            folders.clear()
        folders[:] = sorted(one for one in folders if not one.startswith("."))
        names = {one.lower(): one for one in files}
        own = names.get(FILE_NAME.lower())
        if own is not None:
            others = [here / one for one in sorted(files) if one != own]
            others += [here / one for one in folders]
            found.append((here / own, others))
            folders.clear()
    return found


def _write(path: Path, text: str, report: SkillExport) -> None:
    try:
        if path.exists():
            if path.read_text(encoding="utf-8") == text:
                report.unchanged += 1
            else:
                report.skipped.append(Skipped(str(path), _("the file exists and has another text")))
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
        report.written.append(str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        report.skipped.append(Skipped(str(path), reason or _("cannot be written")))


KIND = "draft_skills"
_DAILY = timedelta(days=1)
_SESSIONS = 100
"""How many of the latest conversations are read."""
_MESSAGES = 200
"""How many of the latest messages of each are read."""
_REQUESTS = 300
_HOW_TO = MemoryFilter(states=frozenset({MemoryState.KEPT}), kinds=frozenset({MemoryKind.PROCEDURE}))


class SkillDrafter:
    """Drafts skills of one room once a day. Registers its job and its hook with `background`."""

    def __init__(
        self,
        store: Store,
        background: BackgroundService,
        skills: SkillService,
        vectors: QueryVectors,
        settings: Callable[[], MemorySettings],
    ) -> None:
        self._store = store
        self._background = background
        self._skills = skills
        self._vectors = vectors
        self._settings = settings
        if store.room is not RoomKind.OFF_RECORD:
            background.register(KIND, self._run)
            background.register_duty(Duty("drafts of skills", _DAILY, KIND))
        background.register_hook(self.after_reply)

    async def after_reply(self, replied: Replied) -> None:
        """Counts the skill of the previous reply as helpful if the user agreed with it."""
        if not any(part.tier == "skill" for part in replied.context):
            return
        branch = await self._store.branch(replied.session.id, replied.message.id, newest=3)
        if len(branch) < 3 or not confirms(branch[1].content):
            return
        before = branch[0].id
        used = (await self._store.skills.used_in([before])).get(before, ())
        if used and all(one.verdict is None for one in used):
            await self._store.skills.judge(before, Verdict.HELPED)

    async def draft(self) -> int:
        """Proposes skills, and returns how many."""
        if self._settings().learn == "off":
            return 0
        known = {one.name for one in await self._store.skills.list()}
        used = await self._store.skills.drafted_from()
        made = 0
        for memory in await self._store.memories.select(_HOW_TO):
            await self._background.gate.checkpoint()
            if memory.id not in used:
                made += await self._proposed(of_memory(memory, known), known)
        requests = [one for one in await self._requests() if one.message not in used]
        for group in await self._repeated(requests):
            await self._background.gate.checkpoint()
            made += await self._proposed(of_requests(group, known), known)
        return made

    async def _run(self, _job: Job) -> None:
        await self.draft()

    async def _proposed(self, new: NewSkill | None, known: set[str]) -> bool:
        if new is None or await self._store.skills.was_rejected([one.id for one in new.sources]):
            return False
        await self._skills.propose(new)
        known.add(new.name)
        return True

    # --- requests ---------------------------------------------------------------------------------

    async def _requests(self) -> list[Request]:
        """Returns requests whose replies were kept, oldest first."""
        found: list[Request] = []
        for session in await self._store.list_sessions(limit=_SESSIONS):
            await self._background.gate.checkpoint()
            if may_learn(session.memory_mode):
                found += await self._of_session(await self._store.branch(session.id, newest=_MESSAGES))
        found.sort(key=lambda one: one.message)
        return found[-_REQUESTS:]

    async def _of_session(self, branch: Sequence[Message]) -> list[Request]:
        found = []
        for at, (said, reply) in enumerate(pairwise(branch)):
            if said.role is not Role.USER or not is_request(said.content):
                continue
            if reply.role is not Role.ASSISTANT or reply.status is not MessageStatus.COMPLETE:
                continue
            if not await self._kept(said, reply):
                continue
            later = [one for one in branch[at + 2 :] if one.role is Role.USER][:2]
            remarks = tuple((one.id, one.content) for one in later if is_remark(one.content))
            found.append(Request(said.id, said.session_id, said.content, remarks))
        return found

    async def _kept(self, said: Message, reply: Message) -> bool:
        """Whether neither the message was edited nor the reply made again."""
        return len(await self._store.variants(said.id)) == 1 == len(await self._store.variants(reply.id))

    async def _repeated(self, requests: Sequence[Request]) -> list[tuple[Request, ...]]:
        if len(requests) < 2:
            return []
        stems = await self._store.evidence.stems_of([one.text for one in requests])
        words = {one.message: frozenset(content_words(own)) for one, own in zip(requests, stems, strict=True)}
        vectors: dict[str, Sequence[float]] = {}
        for one in requests:
            await self._background.gate.checkpoint()
            vector = await self._vectors.vector(one.text)
            if vector is None:
                vectors.clear()
                break
            vectors[one.message] = vector.numbers

        def alike(a: Request, b: Request) -> bool:
            if vectors:
                pairs = zip(vectors[a.message], vectors[b.message], strict=True)
                return sum(x * y for x, y in pairs) >= SAME_REQUEST
            both = words[a.message] | words[b.message]
            return len(words[a.message] & words[b.message]) >= SAME_WORDS * len(both)

        return repeated(requests, alike)
