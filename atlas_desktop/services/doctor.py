"""Checks that need no passphrase: is everything in place, private, and able to work?"""

import asyncio
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from atlas_desktop.error_table import explain
from atlas_desktop.errors import size
from atlas_desktop.paths import Paths
from atlas_desktop.services.backup import BackupService
from atlas_desktop.services.models import ModelService
from atlas_desktop.services.vault import VaultService
from atlas_desktop.settings.file import SettingsFile, unknown_variables
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.phrases import freshness_text, spoilt, unknown_variable
from memory.kinds import RoomKind
from memory.vault.status import VaultStatus
from models.errors import ModelDamaged

LOW_DISK = 1_000_000_000
_OTHERS = 0o077


class Verdict(StrEnum):
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was found and, unless it is good, how to mend it."""

    check: str
    verdict: Verdict
    message: str
    next_step: str = ""


class Doctor:
    """Looks at everything and changes nothing."""

    def __init__(
        self,
        paths: Paths,
        settings: SettingsFile,
        vault: VaultService,
        models: ModelService,
        backups: BackupService | None = None,
    ) -> None:
        self._paths = paths
        self._settings = settings
        self._vault = vault
        self._models = models
        self._backups = backups

    async def examine(self) -> list[Finding]:
        found = [self._python(), self._model_process()]
        found += await asyncio.to_thread(self._home)
        found.append(self._guarded("settings", self._config))
        found += await self._vault_findings()
        found += await asyncio.to_thread(self._backup_findings)
        found += await asyncio.to_thread(self._model_findings)
        return found

    def _guarded(self, check: str, look: Callable[[], Finding]) -> Finding:
        try:
            return look()
        except Exception as error:  # noqa: BLE001 - a check that fails is a finding, with its words
            words = explain(error)
            return Finding(check, Verdict.BAD, f"{words.title}: {words.message}", words.next_step)

    def _python(self) -> Finding:
        from importlib.metadata import version

        text = f"Python {sys.version.split()[0]}, llama-cpp-python {version('llama-cpp-python')}"
        return Finding("program", Verdict.GOOD, text)

    def _model_process(self) -> Finding:
        """Which of their rights the processes that read files from outside can be made to give up here."""
        from models.confinement import available

        denied = available()
        if denied.complete:
            return Finding("model process", Verdict.GOOD, tr("doctor.confined"))
        lacking = "files" if denied.calls else "calls" if denied.files else "neither"
        linux = sys.platform == "linux"
        return Finding(
            "model process",
            Verdict.WARNING,
            tr(f"doctor.unconfined.{lacking}" if linux else "doctor.unconfined.system"),
            tr("doctor.landlock" if linux else "doctor.no_landlock"),
        )

    def _home(self) -> list[Finding]:
        home = self._paths.home
        if not home.is_dir():
            text = tr("doctor.no_home", home=home)
            return [Finding("home", Verdict.WARNING, text, tr("doctor.begin"))]
        found = [self._privacy(home)]
        free = shutil.disk_usage(home).free
        low = free < LOW_DISK
        found.append(
            Finding(
                "disk",
                Verdict.WARNING if low else Verdict.GOOD,
                tr("doctor.free", size=size(free)),
                tr("doctor.free_some") if low else "",
            )
        )
        return found

    def _privacy(self, home: Path) -> Finding:
        if sys.platform == "win32":
            return Finding("privacy", Verdict.GOOD, tr("doctor.profile"))
        open_to_others = [
            path
            for folder in (home, self._paths.rooms, self._paths.logs, self._paths.cache)
            if folder.exists()
            for path in (folder, *folder.glob("*"))
            if _open_to_others(path)
        ]
        if not open_to_others:
            return Finding("privacy", Verdict.GOOD, tr("doctor.private"))
        return Finding(
            "privacy",
            Verdict.WARNING,
            tr("amounts.open_to_others", count=len(open_to_others)),
            f"chmod -R go= {home}",
        )

    def _config(self) -> Finding:
        self._settings.load()
        if strange := unknown_variables(self._settings.environ):
            text = " ".join(unknown_variable(name, near) for name, near in strange.items())
            return Finding("settings", Verdict.WARNING, text, tr("doctor.variables"))
        there = self._paths.config.exists()
        return Finding("settings", Verdict.GOOD, tr("doctor.settings" if there else "doctor.defaults"))

    async def _vault_findings(self) -> list[Finding]:
        if not await self._vault.exists():
            return [Finding("vault", Verdict.WARNING, tr("doctor.no_vault"), tr("errors.no_vault.next"))]
        rooms: list[VaultStatus] = []
        for vault in self._vault.rooms:
            try:
                if await asyncio.to_thread(vault.exists):
                    rooms.append(await asyncio.to_thread(vault.status))
            except Exception as error:  # noqa: BLE001 - as above
                words = explain(error)
                found = f"{vault.room.value}.keys: {words.title}: {words.message}"
                return [Finding("vault", Verdict.BAD, found, words.next_step)]
        if await self._vault.private_missing() and not any(room.room is RoomKind.PRIVATE for room in rooms):
            return [Finding("vault", Verdict.BAD, freshness_text("private", "missing"), tr("doctor.restore"))]
        if spoilt := [finding for room in rooms if (finding := _spoilt(room)) is not None]:
            return spoilt
        if not all(room.copies_sound for room in rooms):
            return [Finding("vault", Verdict.WARNING, tr("doctor.copy"), tr("doctor.unlock"))]
        kinds = ", ".join(slot.kind for slot in rooms[0].slots)
        return [Finding("vault", Verdict.GOOD, tr("doctor.sound", kinds=kinds))]

    def _backup_findings(self) -> list[Finding]:
        """Whether the newest dated backup holds every room that an older one does."""
        try:
            lacking = () if self._backups is None else self._backups.lacking()
        except Exception as error:  # noqa: BLE001 - as above
            words = explain(error)
            return [Finding("backups", Verdict.BAD, f"{words.title}: {words.message}", words.next_step)]
        return [
            Finding("backups", Verdict.BAD, tr("doctor.lacking", room=room), tr("doctor.restore_older"))
            for room in lacking
        ]

    def _model_findings(self) -> list[Finding]:
        found = [self._guarded(f"{role} model", partial(self._model, role)) for role in ("chat", "embed")]
        # What another model stands in for is damaged all the same.
        for model, flaw in self._models.damaged():
            words = explain(ModelDamaged(str(model.roles[0]), model.id, model.path, flaw.detail))
            if not any(words.next_step == one.next_step for one in found):
                message = f"{words.title}: {words.message}"
                found.append(Finding(f"model {model.id}", Verdict.WARNING, message, words.next_step))
        return found

    def _model(self, role: str) -> Finding:
        model = self._models.sound_default(role)
        text = tr("doctor.model", model=model.id, size=size(model.bytes))
        return Finding(f"{role} model", Verdict.GOOD, text)


def _open_to_others(path: Path) -> bool:
    """Whether other people of this computer may do something with it; what has just gone is open to none."""
    try:
        return not path.is_symlink() and bool(path.stat().st_mode & _OTHERS)
    except FileNotFoundError:
        return False


def _spoilt(room: VaultStatus) -> Finding | None:
    said = spoilt(room)
    return None if said is None else Finding("vault", Verdict.BAD, *said)
