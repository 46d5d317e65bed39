"""The search for the fastest way to run a model: its plan, and its results in `tuned.toml`."""

import statistics
import tomllib
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
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

# A change must be faster by more than the noise of a machine that also does other work.
MIN_GAIN = 1.05
# Generation may become slower down to MIN_DECODE when prompts are evaluated faster. Down to LEAST_DECODE, a
# whole turn of this many evaluated and generated tokens must also become faster.
MIN_DECODE, LEAST_DECODE = 0.97, 0.85
_TURN_READ, _TURN_WRITTEN = 512, 128
# The most by which the perplexity on the fixed text may rise, as a ratio.
MAX_LOSS = 1.01
# An untried layout is skipped when another with as few bits lost this much.
HOPELESS = 1.05
MAX_GROWTH = 2.2
MIN_ROUNDS, MAX_ROUNDS = 3, 9


class RunSettings(msgspec.Struct, frozen=True):
    """How a model is run. `batch` is tokens evaluated at once; `kv_type` is `f16` or `q8_0`."""

    threads: int
    batch: int = 256
    flash: bool = False
    kv_type: str = "f16"

    @property
    def load_fields(self) -> tuple[int, bool, str]:
        """The fields `batch`, `flash` and `kv_type` of `protocol.Load`."""
        return (self.batch, self.flash, self.kv_type)

    @property
    def key(self) -> str:
        flash = "on" if self.flash else "off"
        return f"threads={self.threads} batch={self.batch} flash={flash} kv={self.kv_type}"


class Layout(msgspec.Struct, frozen=True):
    """A layout that a model can be re-quantised to. `ftype` is llama.cpp's number for it.

    Layouts with the same `bits` lose about as much as each other. The length of the weights' rows must be a
    multiple of `row`.
    """

    name: str
    ftype: int
    bits: int
    row: int = 32


# Layouts for which llama.cpp has fast code on the usual processors, the quickest to make first. Measurements
# show which is the fastest on this machine.
LAYOUTS = (
    Layout("q4_0", 2, 4),
    Layout("q8_0", 7, 8),
    Layout("iq4_nl", 25, 4),
    Layout("q4_k_m", 15, 4, row=256),
)


class Round(msgspec.Struct, frozen=True):
    """One measurement, in tokens per second.

    `near` is prompt evaluation at the start of the context, `far` prompt evaluation after many tokens,
    `decode` generation at its best.
    """

    near: float
    far: float
    decode: float

    @property
    def prefill(self) -> float:
        """Speed of evaluating as many tokens near as far: the harmonic mean."""
        return 2 / (1 / self.near + 1 / self.far)

    def turn(self, decode: float = 1.0) -> float:
        """Seconds of a turn if generation ran at `decode` times its speed."""
        return _TURN_READ / self.prefill + _TURN_WRITTEN / (self.decode * decode)


class Gain(msgspec.Struct, frozen=True):
    """A change compared with what it changes, as ratios over the rounds (see `gain`)."""

    prefill: float
    decode: float
    turn: float
    rounds: int
    steady: bool

    @property
    def wins(self) -> bool:
        worth = self.decode >= LEAST_DECODE and self.turn > MIN_GAIN
        return self.steady and self.prefill > MIN_GAIN and (self.decode >= MIN_DECODE or worth)


def gain(before: Sequence[Round], after: Sequence[Round]) -> Gain:
    """Compares rounds that were measured alternately, so that a disturbance affects both sides.

    `steady`: the change was faster in two rounds of three, since one lucky round is not a gain. Generation
    waits for memory and is disturbed most, so it counts as slower only if it is slower in the median and at
    its best.
    """
    prefill = [b.prefill / a.prefill for a, b in zip(before, after, strict=True)]
    faster = sum(ratio > MIN_GAIN for ratio in prefill)
    usual = statistics.median(b.decode / a.decode for a, b in zip(before, after, strict=True))
    best = max(b.decode for b in after) / max(a.decode for a in before)
    decode = max(usual, min(best, 1.0))
    middle = median(before)
    read = statistics.median(prefill)
    faster_read = msgspec.structs.replace(middle, near=middle.near * read, far=middle.far * read)
    return Gain(
        prefill=read,
        decode=decode,
        turn=middle.turn() / faster_read.turn(decode),
        rounds=len(prefill),
        steady=3 * faster >= 2 * len(prefill),
    )


def undecided(before: Sequence[Round], after: Sequence[Round]) -> bool:
    """Whether another round could change the outcome.

    It could where the rounds disagree. It also could where slow generation is the only reason against a
    change: another program may be using the memory, which more rounds would show.
    """
    if len(before) < MIN_ROUNDS:
        return True
    if len(before) >= MAX_ROUNDS:
        return False
    so_far = gain(before, after)
    if so_far.steady and so_far.prefill > MIN_GAIN and not so_far.wins:
        return True
    verdicts = {gain([a], [b]).wins for a, b in zip(before, after, strict=True)}
    return len(verdicts) > 1


def median(rounds: Sequence[Round]) -> Round:
    """The median of each figure."""
    return Round(
        near=statistics.median(r.near for r in rounds),
        far=statistics.median(r.far for r in rounds),
        decode=statistics.median(r.decode for r in rounds),
    )


class Outcome(StrEnum):
    """The result of trying a change."""

    WON = "won"
    SLOWER = "slower"
    LOSSY = "lossy"
    CRASHED = "crashed"


class Step(msgspec.Struct, frozen=True):
    """A finished comparison: `key` names the change and what it changes; ratios are after/before."""

    key: str
    outcome: Outcome
    prefill: float = 0.0
    decode: float = 0.0
    perplexity: float = 0.0


class TuningPlan(msgspec.Struct, frozen=True):
    """The changes that a search tries. `held` tokens are evaluated before `far` is measured."""

    layouts: tuple[Layout, ...] = LAYOUTS
    threads: tuple[int, ...] = ()
    batches: tuple[int, ...] = (64, 128, 256, 512)
    attention: bool = True
    tokens: int = 256
    held: int = 1500
    written: int = 32
    perplexity_tokens: int = 4096

    @property
    def thorough(self) -> bool:
        """Whether it tries more than layouts."""
        return bool(self.threads or self.batches or self.attention)


def thread_counts(real: int, logical: int) -> tuple[int, ...]:
    """Thread counts worth trying: all physical cores, one fewer, half of them, one, and all logical ones."""
    counts = (real, real - 1, real // 2, 1, logical)
    return tuple(sorted({n for n in counts if n >= 1}, reverse=True))


def layouts_for(
    plan: TuningPlan, row: int, steps: Callable[[], Sequence[Step]], *, current: int | None
) -> Iterator[tuple[Layout, str]]:
    """The layouts to try and the keys of their steps; `row` is the length of the model's rows.

    `steps` is called before each layout and returns the finished steps. The file's own layout (`current`,
    llama.cpp's number) is left out. So is an untried layout with as few bits as one that lost too much, and
    one whose rows do not fit.
    """
    for layout in plan.layouts:
        if row % layout.row or layout.ftype == current:
            continue
        lost = {step.key for step in steps() if step.perplexity > HOPELESS}
        if any(other.bits == layout.bits and layout_key(other) in lost for other in plan.layouts):
            known = layout_key(layout) in {step.key for step in steps()}
            if not known:
                continue
        yield layout, layout_key(layout)


def layout_key(layout: Layout) -> str:
    return f"layout={layout.name}"


def changes(plan: TuningPlan, settings: RunSettings, kind: str) -> tuple[RunSettings, ...]:
    """The neighbours of `settings` in one coordinate: `threads`, `batch` or `attention`."""
    match kind:
        case "threads":
            found = [msgspec.structs.replace(settings, threads=n) for n in plan.threads]
        case "batch":
            found = [msgspec.structs.replace(settings, batch=n) for n in plan.batches]
        case _:
            pairs = ((True, "f16"), (True, "q8_0")) if plan.attention else ()
            found = [msgspec.structs.replace(settings, flash=flash, kv_type=kv) for flash, kv in pairs]
    return tuple(one for one in found if one != settings)


COORDINATES = ("threads", "batch", "attention")


TUNED_NAME = "tuned.toml"
_MARK = ".tuned-"


class Tuned(msgspec.Struct, frozen=True):
    """The result for one model on one machine.

    `file` is the name of the re-quantised file, empty where there is none. `fingerprint` is that of the file
    as downloaded. Ratios are after/before. `kept`: the result is used; `thorough`: more than layouts was
    tried.
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
