"""`tuned.toml`: the fastest settings found for each model and machine, and the re-quantised files."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from models.errors import WrongChecksum
from models.library.files import (
    Cancelled,
    Report,
    exclusive,
    fingerprint,
    never,
    private_folder,
    sha256_of,
    silent,
    write_atomically,
)
from models.tuning.kernels import this_processor
from models.tuning.plan import Round, RunSettings, Step

TUNED_NAME = "tuned.toml"
_MARK = ".tuned-"


class Tuned(msgspec.Struct, frozen=True):
    """The result for one model on one machine.

    `file` is the name of the re-quantised file, empty where there is none. `fingerprint` is that of the file
    as downloaded. Ratios are after/before. `kept` says that the result is used, `thorough` that more than
    layouts was tried.
    """

    machine: str
    model: str
    fingerprint: str
    settings: RunSettings
    before: Round
    after: Round
    prefill_ratio: float
    decode_ratio: float
    perplexity_ratio: float
    kept: bool
    file: str = ""
    layout: str = ""
    bytes: int = 0
    sha256: str = ""
    thorough: bool = True


class Measured(msgspec.Struct, frozen=True):
    """The finished steps of a search for one model on one machine.

    `perplexity` is that of the file as downloaded, on the first `perplexity_tokens` of the fixed text.
    """

    machine: str
    model: str
    fingerprint: str
    steps: tuple[Step, ...] = ()
    perplexity: float = 0.0
    perplexity_tokens: int = 0


class Everything(msgspec.Struct, frozen=True):
    """The contents of the whole file."""

    tuned: tuple[Tuned, ...] = ()
    search: tuple[Measured, ...] = ()


class TunedStore:
    """The results of one models folder. Every call reads the file again, so two processes may share it.

    `machine` names processor, cores and build, so that a result applies nowhere else.
    """

    def __init__(self, folder: Path, machine: Callable[[], str] | None = None) -> None:
        self.folder = folder
        self._machine = machine or this_machine

    @property
    def machine(self) -> str:
        return self._machine()

    def result(self, model: str, fingerprint: str | None = None) -> Tuned | None:
        """The result for a model on this machine, or None.

        It is also None when the model's file has another `fingerprint`, or the re-quantised file is missing
        or has another size.
        """
        machine = self.machine
        for found in self._read().tuned:
            if (found.machine, found.model) != (machine, model):
                continue
            if fingerprint is not None and found.fingerprint != fingerprint:
                continue
            path = self.folder / found.file
            if not found.file or (path.is_file() and path.stat().st_size == found.bytes):
                return found
        return None

    def for_file(self, model: str, path: Path) -> Tuned | None:
        """The result in use for a model whose file is `path`; None also when the file has changed."""
        found = self.result(model)
        if found is None or not found.kept or found.fingerprint != fingerprint(path):
            return None
        return found

    def search(self, model: str, fingerprint: str) -> Measured:
        """The progress of the search for a model on this machine."""
        blank = Measured(self.machine, model, fingerprint)
        return next((one for one in self._read().search if _same(one, blank)), blank)

    def remember_search(self, value: Measured) -> None:
        def change(all_: Everything) -> Everything:
            others = tuple(one for one in all_.search if not _same(one, value))
            return msgspec.structs.replace(all_, search=(*others, value))

        self._change(change)

    def remember(self, value: Tuned) -> None:
        """Stores a result in place of an earlier one for the same model and machine."""

        def change(all_: Everything) -> Everything:
            others = tuple(o for o in all_.tuned if (o.machine, o.model) != (value.machine, value.model))
            return msgspec.structs.replace(all_, tuned=(*others, value))

        self._change(change)

    def forget(self, model: str) -> tuple[Path, ...]:
        """Removes a model's results for every machine and the files made for it; returns those files."""
        gone = [self.folder / one.file for one in self._read().tuned if one.model == model and one.file]

        def change(all_: Everything) -> Everything:
            return Everything(
                tuned=tuple(one for one in all_.tuned if one.model != model),
                search=tuple(one for one in all_.search if one.model != model),
            )

        self._change(change)
        self.remove_parts(model)
        deleted = [path for path in gone if path.is_file()]
        for path in deleted:
            path.unlink()
        return tuple(deleted)

    def verify(self, model: str, *, report: Report = silent, cancelled: Cancelled = never) -> None:
        """Checks the re-quantised file, if there is one, against its checksum. Raises `WrongChecksum`."""
        found = self.result(model)
        if found is None or not found.file:
            return
        path = self.folder / found.file
        digest = sha256_of(path, report=report, cancelled=cancelled)
        if digest != found.sha256:
            raise WrongChecksum(path, found.sha256, digest)

    def target(self, model: str, layout: str) -> Path:
        """Path of the model's file in that layout."""
        return self.folder / f"{model}{_MARK}{layout}.gguf"

    def part(self, model: str, layout: str) -> Path:
        """Path of the unfinished file: a name that is not taken for a model."""
        return self.folder / f".{model}{_MARK}{layout}.part"

    def remove_parts(self, model: str) -> None:
        """Deletes unfinished files of earlier searches."""
        for path in self.folder.glob(f".*{_MARK}*.part"):
            if path.name.startswith(f".{model}{_MARK}"):
                path.unlink(missing_ok=True)

    def _read(self) -> Everything:
        """The file's contents; empty when it is unreadable, because results can be found again."""
        try:
            raw: dict[str, Any] = tomllib.loads((self.folder / TUNED_NAME).read_text(encoding="utf-8"))
            return msgspec.convert(raw, Everything, strict=False)
        except (FileNotFoundError, tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError):
            return Everything()

    def _change(self, change: Callable[[Everything], Everything]) -> None:
        import tomlkit

        private_folder(self.folder)
        with exclusive(self.folder / ".lock"):
            before = self._read()
            after = change(before)
            if after != before:
                write_atomically(self.folder / TUNED_NAME, tomlkit.dumps(msgspec.to_builtins(after)))


def tuned_words(value: Tuned) -> str:
    """The gain from tuning, in figures."""
    loss = (value.perplexity_ratio - 1) * 100
    return f"prefill {value.prefill_ratio:.1f} x, perplexity {loss:+.1f} %"


def is_tuned_file(path: Path) -> bool:
    """Whether a file was made by tuning and is therefore not a separate model."""
    return _MARK in path.name


def this_machine() -> str:
    """Name of the processor, numbers of its cores and version of llama-cpp-python."""
    import psutil

    real, logical = psutil.cpu_count(logical=False), psutil.cpu_count()
    return f"{this_processor()}, {real}/{logical} cores"


def _same(a: Measured, b: Measured) -> bool:
    return (a.machine, a.model, a.fingerprint) == (b.machine, b.model, b.fingerprint)
