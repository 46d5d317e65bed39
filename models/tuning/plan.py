"""The plan of a search for the fastest way to run a model, and what counts as faster.

Pure: measuring is done elsewhere. A search compares the current settings with one change at a time and keeps
a change that wins. Results are a list of steps, so that an interrupted search continues after them.
"""

import statistics
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

import msgspec

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
        """The last fields of `protocol.Load`."""
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


# Layouts for which llama.cpp has fast code on the usual processors, the quickest to make first. Which is the
# fastest here is measured.
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

    `steady` says that the change was faster in two rounds of three: one lucky round is no gain. Generation
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

    It could where the rounds disagree. It also could where only slow generation speaks against a change:
    another program may be using the memory, which more rounds would show.
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
    """What a search tries. `held` tokens are evaluated before `far` is measured."""

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
