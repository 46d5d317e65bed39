"""Reads skills from folders of `SKILL.md` files, and writes them as such folders."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from atlas_desktop.errors import DocumentRefused, Refusal, Skipped
from atlas_desktop.locale import N_, _
from atlas_desktop.phrases.documents import refusal_text
from atlas_desktop.phrases.skills import fault_text
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.documents.files import read_file
from atlas_desktop.services.skills.library import SkillService
from memory.documents.entities import DocumentError
from memory.errors import SkillInvalid
from memory.skills.entities import NewSkill, Skill, SkillAuthor, SkillState, SkillText
from memory.skills.markdown import FILE_NAME, read_skill, write_skill

_LARGEST = 1_000_000
"""Bytes of the largest file that is read."""
_DEEPEST = 4
_MOST = 2000
"""Files and folders that are looked at."""
_NOT_TAKEN = N_("not part of the skill: only SKILL.md is taken")


@dataclass(slots=True)
class SkillImport:
    """What became of the files: ids of skills with a version that waits now, and how many were known."""

    skills: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)


@dataclass(slots=True)
class SkillExport:
    """What was written: paths of the files. Skipped are files that exist and say something else."""

    written: list[str] = field(default_factory=list)
    unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)


class SkillFolders:
    """The folders that skills of one room come from and go to."""

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
        """Writes skills as folders with a `SKILL.md` each: those given, or all that are approved.

        A file that exists and says something else is not overwritten.
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
