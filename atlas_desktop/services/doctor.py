"""Checks that need no passphrase: whether everything is present, private and working."""

import asyncio
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from atlas_desktop.error_table import explain
from atlas_desktop.errors import room_name, size
from atlas_desktop.locale import N_, _, ngettext
from atlas_desktop.paths import Paths
from atlas_desktop.phrases import freshness_text, spoilt, unknown_variable
from atlas_desktop.services.backup import BackupService
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.models import ModelService
from atlas_desktop.services.vault import VaultService
from atlas_desktop.settings.file import SettingsFile, unknown_variables
from memory.kinds import RoomKind
from memory.vault.status import VaultStatus
from models.errors import ModelDamaged

_UNCONFINED_TEXTS = {
    "neither": N_(
        "This kernel has neither Landlock nor system call filters (seccomp). The processes that "
        "run models and read PDFs do not have your keys, but could read your files and use the "
        "network."
    ),
    "files": N_(
        "This kernel has no Landlock. The processes that run models and read PDFs do not have "
        "your keys and cannot write, use the network or start programs, but could read your other "
        "files."
    ),
    "calls": N_(
        "This kernel has no system call filters (seccomp). The processes that run models and read "
        "PDFs do not have your keys and cannot read your other files, but could use the network."
    ),
    "system": N_(
        "The processes that run models and read PDFs do not have your keys, but this system does "
        "not sandbox them: they could read your files and use the network."
    ),
}

LOW_DISK = 1_000_000_000
_WAYS = {
    "passphrase": N_("the passphrase"),
    "recovery": N_("the recovery key"),
    "keyring": N_("the system keyring"),
}
_OTHERS = 0o077


class Verdict(StrEnum):
    GOOD = "good"
    WARNING = "warning"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: its result and, if there is a problem, how to fix it."""

    check: str
    verdict: Verdict
    message: str
    next_step: str = ""


class Doctor:
    """Checks everything and changes nothing."""

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
        found.append(await asyncio.to_thread(self._guarded, "graphics", self._graphics))
        found += await self._vault_findings()
        found += await asyncio.to_thread(self._backup_findings)
        found += await asyncio.to_thread(self._model_findings)
        return found

    def _guarded(self, check: str, look: Callable[[], Finding]) -> Finding:
        try:
            return look()
        except Exception as error:  # noqa: BLE001 - a check that fails is a finding, with its text
            words = explain(error)
            return Finding(check, Verdict.BAD, f"{words.title}: {words.message}", words.next_step)

    def _python(self) -> Finding:
        from importlib.metadata import version

        text = f"Python {sys.version.split()[0]}, llama-cpp-python {version('llama-cpp-python')}"
        return Finding("program", Verdict.GOOD, text)

    def _model_process(self) -> Finding:
        """Checks which rights can be removed, on this system, from processes that read untrusted files."""
        from models.confinement import available

        denied = available()
        if denied.complete:
            return Finding(
                "model process",
                Verdict.GOOD,
                _(
                    "The processes that run models and read PDFs cannot read your other files, use the "
                    "network, start programs or access other processes."
                ),
            )
        lacking = "files" if denied.calls else "calls" if denied.files else "neither"
        linux = sys.platform == "linux"
        return Finding(
            "model process",
            Verdict.WARNING,
            (
                _(_UNCONFINED_TEXTS[lacking])
                if linux
                else _(
                    "The processes that run models and read PDFs do not have your keys, but this system does "
                    "not sandbox them: they could read your files and use the network."
                )
            ),
            (
                _("Use Linux 5.13 or later with Landlock and seccomp. Everything also works without them.")
                if linux
                else _("Use only models and files you trust. On Linux, these processes are sandboxed.")
            ),
        )

    def _graphics(self) -> Finding:
        """Checks whether the layers of a model run on a graphics card."""
        from models.library import catalog

        libraries = catalog.llama_libraries()
        built = ", ".join(catalog.built_for(libraries)) if libraries is not None else ""
        card = catalog.this_machine().gpu
        if not built:
            if card is None:
                text = _("No graphics card was found: models run on the processor.")
                return Finding("graphics", Verdict.GOOD, text)
            return Finding(
                "graphics",
                Verdict.WARNING,
                _(
                    "Models run on the processor: llama.cpp is not compiled for the graphics found ({card}).",
                    card=card,
                ),
                _("In a clone, `make run GPU=auto` compiles it again and says what is missing."),
            )
        if not catalog.card_responds():
            return Finding(
                "graphics",
                Verdict.WARNING,
                _(
                    "Models run on the processor: llama.cpp is compiled for {kind}, but no card responds.",
                    kind=built,
                ),
                _("Check the driver of the graphics card."),
            )
        layers = self._settings.load().models.gpu_layers
        if layers == 0:
            text = _(
                "Models run on the processor, because models.gpu_layers is 0 (llama.cpp: {kind}).", kind=built
            )
            return Finding("graphics", Verdict.GOOD, text)
        if layers < 0:
            text = _("All layers of a model run on the graphics card ({kind}).", kind=built)
        else:
            text = ngettext(
                "1 layer of a model runs on the graphics card ({kind}), the others on the processor.",
                "Up to {count} layers of a model run on the graphics card ({kind}), "
                "the others on the processor.",
                layers,
                kind=built,
            )
        return Finding("graphics", Verdict.GOOD, text)

    def _home(self) -> list[Finding]:
        home = self._paths.home
        if not home.is_dir():
            text = _("{home} does not exist yet.", home=home)
            return [Finding("home", Verdict.WARNING, text, _("Run `atlas` for the guided setup."))]
        found = [self._privacy(home)]
        free = shutil.disk_usage(home).free
        low = free < LOW_DISK
        found.append(
            Finding(
                "disk",
                Verdict.WARNING if low else Verdict.GOOD,
                _("{size} free.", size=size(free)),
                _("Free up some space: on a full disk, nothing new can be saved.") if low else "",
            )
        )
        return found

    def _privacy(self, home: Path) -> Finding:
        if sys.platform == "win32":
            return Finding("privacy", Verdict.GOOD, _("The home folder is in your private user profile."))
        open_to_others = [
            path
            for folder in (home, self._paths.rooms, self._paths.logs, self._paths.cache)
            if folder.exists()
            for path in (folder, *folder.glob("*"))
            if _open_to_others(path)
        ]
        if not open_to_others:
            return Finding("privacy", Verdict.GOOD, _("Only you can read the home folder."))
        return Finding(
            "privacy",
            Verdict.WARNING,
            ngettext(
                "Others can access a file or folder in the home folder.",
                "Others can access {count} files or folders in the home folder.",
                len(open_to_others),
            ),
            f"chmod -R go= {home}",
        )

    def _config(self) -> Finding:
        self._settings.load()
        if strange := unknown_variables(self._settings.environ):
            text = " ".join(unknown_variable(name, near) for name, near in strange.items())
            return Finding(
                "settings",
                Verdict.WARNING,
                text,
                _("`atlas config list --json` lists the variable of every setting."),
            )
        there = self._paths.config.exists()
        return Finding(
            "settings", Verdict.GOOD, (_("config.toml is valid.") if there else _("All defaults."))
        )

    async def _vault_findings(self) -> list[Finding]:
        if not await self._vault.exists():
            return [
                Finding(
                    "vault",
                    Verdict.WARNING,
                    _("There is no vault yet."),
                    _("Run `atlas` for guided setup, or `atlas vault create`."),
                )
            ]
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
            return [
                Finding(
                    "vault",
                    Verdict.BAD,
                    freshness_text("private", "missing"),
                    _("Restore a backup: `atlas vault restore`."),
                )
            ]
        if spoilt := [finding for room in rooms if (finding := _spoilt(room)) is not None]:
            return spoilt
        if not all(room.copies_sound for room in rooms):
            return [
                Finding(
                    "vault",
                    Verdict.WARNING,
                    _("One copy of a key file is damaged."),
                    _("Unlock once to repair the damaged copy from the other."),
                )
            ]
        kinds = ", ".join(_(_WAYS[slot.kind]) for slot in rooms[0].slots)
        return [
            Finding(
                "vault",
                Verdict.GOOD,
                _(
                    "The key files are intact and the room files start correctly. Opens with {kinds}. The "
                    "contents were not checked: run `atlas vault verify` (asks for the passphrase).",
                    kinds=kinds,
                ),
            )
        ]

    def _backup_findings(self) -> list[Finding]:
        """Checks whether the newest dated backup contains every room that an older one does."""
        try:
            lacking = () if self._backups is None else self._backups.lacking()
        except Exception as error:  # noqa: BLE001 - as above
            words = explain(error)
            return [Finding("backups", Verdict.BAD, f"{words.title}: {words.message}", words.next_step)]
        return [
            Finding(
                "backups",
                Verdict.BAD,
                _(
                    "The latest backup does not include the {room} room, but an older one does.",
                    room=room_name(room),
                ),
                _("If you need that room, restore the older backup: `atlas vault restore FILE`."),
            )
            for room in lacking
        ]

    def _model_findings(self) -> list[Finding]:
        found = [self._guarded(f"{role} model", partial(self._model, role)) for role in ("chat", "embed")]
        # A damaged model is reported even if another one replaces it.
        for model, flaw in self._models.damaged():
            words = explain(ModelDamaged(str(model.roles[0]), model.id, model.path, flaw.detail))
            if not any(words.next_step == one.next_step for one in found):
                message = f"{words.title}: {words.message}"
                found.append(Finding(f"model {model.id}", Verdict.WARNING, message, words.next_step))
        return found

    def _model(self, role: str) -> Finding:
        models = self._settings.settings.models
        if ref := models.chat_engine if role == "chat" else models.embed_engine:
            text = _(
                "{ref} serves this through an engine. `atlas engines probe {name}` tests it.",
                ref=clean_line(ref),
                name=ref.partition(":")[0],
            )
            return Finding(f"{role} model", Verdict.GOOD, text)
        model = self._models.sound_default(role)
        text = _("{model} ({size}) is ready.", model=model.id, size=size(model.bytes))
        return Finding(f"{role} model", Verdict.GOOD, text)


def _open_to_others(path: Path) -> bool:
    """Returns whether other users of this computer have access; False if the file has just been removed."""
    try:
        return not path.is_symlink() and bool(path.stat().st_mode & _OTHERS)
    except FileNotFoundError:
        return False


def _spoilt(room: VaultStatus) -> Finding | None:
    said = spoilt(room)
    return None if said is None else Finding("vault", Verdict.BAD, *said)
