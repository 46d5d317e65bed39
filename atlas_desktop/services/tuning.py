"""Finds the fastest way to run a model on this computer, and stores it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from atlas_desktop.locale import _
from atlas_desktop.services.background import BackgroundService
from memory.jobs.queue import Job
from models.errors import ModelLoadFailed, NoModel, UnknownModel, WorkerCrashed
from models.library.files import replace, require_space, sha256_of
from models.library.gguf import read_header
from models.library.installed import InstalledModel, ModelLibrary
from models.tuning.plan import (
    COORDINATES,
    MAX_GROWTH,
    MAX_LOSS,
    MIN_ROUNDS,
    Layout,
    Measured,
    Outcome,
    Round,
    RunSettings,
    Step,
    Tuned,
    TunedStore,
    TuningPlan,
    changes,
    gain,
    layouts_for,
    median,
    undecided,
)


class TuningBench(Protocol):
    """A model file in a separate process; if that crashes, the call raises `WorkerCrashed`."""

    async def measure(self, settings: RunSettings, plan: TuningPlan) -> Round: ...

    async def perplexity(self, settings: RunSettings, plan: TuningPlan) -> float: ...

    async def quantise(self, target: Path, layout: Layout, threads: int) -> None: ...

    async def close(self) -> None: ...


BenchFactory = Callable[[Path], TuningBench]
Told = Callable[[str], None]
"""Called with what is tried and the result."""
Checkpoint = Callable[[], Awaitable[None]]
"""Awaited between measurements; a job waits in it while something else needs the model."""


async def go_on() -> None:
    """Returns at once."""


def quiet(_text: str) -> None:
    """Discards the text."""


def available_memory() -> int:
    """Returns the bytes available without swapping."""
    import psutil

    return int(psutil.virtual_memory().available)


@dataclass(slots=True)
class Best:
    """The fastest combination so far: a file and its settings."""

    bench: TuningBench
    settings: RunSettings
    perplexity: float
    layout: Layout | None = None
    part: Path | None = None
    speed: float = 1.0


@dataclass(slots=True)
class Search:
    """One search, from its first step without a stored result."""

    store: TunedStore
    factory: BenchFactory
    plan: TuningPlan
    model: InstalledModel
    search: Measured
    tell: Told
    checkpoint: Checkpoint
    _benches: list[TuningBench] = field(default_factory=list)

    async def run(self, start: RunSettings) -> Tuned:
        await asyncio.to_thread(self.store.remove_parts, self.model.id)
        original = self._open(self.model.path)
        if not self.search.perplexity:
            self.tell(_("reading the sample text"))
            await self._remember(perplexity=await original.perplexity(start, self.plan))
        whole = self.search.perplexity
        best = await self._best_layout(Best(original, start, whole), whole)
        for kind in COORDINATES:
            for settings in changes(self.plan, best.settings, kind):
                # Part of the key under which a step is stored.
                name = best.layout.name if best.layout else "as downloaded"
                key = f"{name} {best.settings.key} -> {settings.key}"
                step = self._known(key) or await self._compare(
                    key, best, best.bench, settings, whole, quality=settings.kv_type != best.settings.kv_type
                )
                if step.outcome is Outcome.WON:
                    best.settings = settings
                    best.perplexity = step.perplexity * whole or best.perplexity
        return await self._conclude(original, start, best)

    async def close(self) -> None:
        for bench in self._benches:
            await bench.close()
        await asyncio.to_thread(self.store.remove_parts, self.model.id)

    # --- layouts ----------------------------------------------------------------------------------

    async def _best_layout(self, best: Best, whole: float) -> Best:
        """Returns the fastest layout with almost no loss; each is compared with the file as downloaded."""
        original = best
        header = await asyncio.to_thread(read_header, self.model.path)
        row, current = header.embedding_length or 0, header.file_type
        for layout, key in layouts_for(self.plan, row, lambda: self.search.steps, current=current):
            # Layouts with a stored result are only made again when they have won.
            step = self._known(key)
            if step is not None and step.outcome is not Outcome.WON:
                continue
            if step is not None and step.prefill <= best.speed:
                continue
            if self._most(layout) + self.model.bytes > available_memory():
                self.tell(
                    _("{layout}: not enough free memory to load it next to the model", layout=layout.name)
                )
                continue
            candidate = await self._made(layout, original)
            if candidate is None:
                await self._finish(Step(key, Outcome.CRASHED))
                continue
            if step is None:
                step = await self._compare(
                    key, original, candidate.bench, original.settings, whole, quality=True
                )
            if step.outcome is Outcome.WON and step.prefill > best.speed:
                await self._drop(best, original)
                candidate.speed, candidate.perplexity = step.prefill, step.perplexity * whole
                best = candidate
            else:
                await self._drop(candidate, original)
        return best

    def _most(self, layout: Layout) -> int:
        """Returns the maximum bytes of the model in that layout, assuming that it has four bits per weight
        now."""
        return int(self.model.bytes * max(1.0, layout.bits / 4))

    async def _made(self, layout: Layout, original: Best) -> Best | None:
        """Writes the model in another layout, under a name that is not recognised as a model.

        Returns None when that fails, or the file grows too much.
        """
        await self.checkpoint()
        self.tell(_("{layout}: writing the model in this layout", layout=layout.name))
        part = self.store.part(self.model.id, layout.name)
        await asyncio.to_thread(require_space, self.store.folder, self._most(layout))
        writer = self._open(self.model.path)
        try:
            await writer.quantise(part, layout, original.settings.threads)
        except (WorkerCrashed, ModelLoadFailed):
            part.unlink(missing_ok=True)
            return None
        finally:
            await self._end(writer)
        part.chmod(0o600)
        if part.stat().st_size > self.model.bytes * MAX_GROWTH:
            part.unlink()
            return None
        return Best(self._open(part), original.settings, original.perplexity, layout, part)

    async def _drop(self, loser: Best, original: Best) -> None:
        if loser is original or loser.part is None:
            return
        await self._end(loser.bench)
        loser.part.unlink(missing_ok=True)

    # --- comparing --------------------------------------------------------------------------------

    async def _compare(
        self,
        key: str,
        best: Best,
        bench: TuningBench,
        settings: RunSettings,
        whole: float,
        *,
        quality: bool,
    ) -> Step:
        """Measures both alternately; a faster candidate that may cost quality is checked on the fixed
        text."""
        self.tell(key)
        try:
            before, after = await self._rounds(best, bench, settings)
            found = gain(before, after)
            step = Step(key, Outcome.WON if found.wins else Outcome.SLOWER, found.prefill, found.decode)
            if found.wins and quality:
                await self.checkpoint()
                ratio = await bench.perplexity(settings, self.plan) / whole
                outcome = Outcome.WON if ratio <= MAX_LOSS else Outcome.LOSSY
                step = msgspec.structs.replace(step, perplexity=ratio, outcome=outcome)
        except (WorkerCrashed, ModelLoadFailed):
            step = Step(key, Outcome.CRASHED)
        self.tell(f"{key}: {step.outcome}")
        await self._finish(step)
        return step

    async def _rounds(
        self, best: Best, bench: TuningBench, settings: RunSettings
    ) -> tuple[list[Round], list[Round]]:
        before: list[Round] = []
        after: list[Round] = []
        while undecided(before, after):
            await self.checkpoint()
            # The candidate is first, so that no other measurement is wasted if it crashes.
            after.append(await bench.measure(settings, self.plan))
            before.append(await best.bench.measure(best.settings, self.plan))
        return before, after

    # --- result -----------------------------------------------------------------------------------

    async def _conclude(self, original: TuningBench, start: RunSettings, best: Best) -> Tuned:
        """Measures the original and the best found alternately, places the file, stores the result."""
        changed = best.part is not None or best.settings != start
        self.tell(_("comparing original and tuned"))
        before: list[Round] = []
        after: list[Round] = []
        for _unused in range(MIN_ROUNDS):
            await self.checkpoint()
            before.append(await original.measure(start, self.plan))
            after.append(await best.bench.measure(best.settings, self.plan) if changed else before[-1])
        found = gain(before, after)
        kept = changed and found.prefill > 1
        result = Tuned(
            machine=self.search.machine,
            model=self.model.id,
            fingerprint=self.search.fingerprint,
            settings=best.settings if kept else start,
            before=median(before),
            after=median(after),
            prefill_ratio=found.prefill,
            decode_ratio=found.decode,
            perplexity_ratio=best.perplexity / self.search.perplexity,
            kept=kept,
            thorough=self.plan.thorough,
        )
        if kept and best.part is not None and best.layout is not None:
            await self._end(best.bench)
            target = self.store.target(self.model.id, best.layout.name)
            digest = await asyncio.to_thread(sha256_of, best.part)
            await asyncio.to_thread(replace, best.part, target)
            result = msgspec.structs.replace(
                result,
                file=target.name,
                layout=best.layout.name,
                bytes=target.stat().st_size,
                sha256=digest,
            )
        await asyncio.to_thread(self._replace_result, result)
        return result

    def _replace_result(self, result: Tuned) -> None:
        earlier = self.store.result(self.model.id)
        self.store.remember(result)
        if earlier is not None and earlier.file and earlier.file != result.file:
            (self.store.folder / earlier.file).unlink(missing_ok=True)

    def _open(self, path: Path) -> TuningBench:
        bench = self.factory(path)
        self._benches.append(bench)
        return bench

    async def _end(self, bench: TuningBench) -> None:
        self._benches.remove(bench)
        await bench.close()

    def _known(self, key: str) -> Step | None:
        return next((step for step in self.search.steps if step.key == key), None)

    async def _finish(self, step: Step) -> None:
        await self._remember(steps=(*self.search.steps, step))

    async def _remember(
        self, *, steps: Sequence[Step] | None = None, perplexity: float | None = None
    ) -> None:
        self.search = msgspec.structs.replace(
            self.search,
            steps=self.search.steps if steps is None else tuple(steps),
            perplexity=self.search.perplexity if perplexity is None else perplexity,
        )
        await asyncio.to_thread(self.store.remember_search, self.search)


KIND = "tune"


class TuningService:
    """Tunes models. `fingerprint` identifies a file; `plan` is what is tried."""

    def __init__(
        self,
        library: ModelLibrary,
        store: TunedStore,
        bench: BenchFactory,
        *,
        fingerprint: Callable[[Path], str],
        plan: TuningPlan,
        start: RunSettings,
    ) -> None:
        self._library = library
        self._store = store
        self._bench = bench
        self._fingerprint = fingerprint
        self._plan = plan
        self._start = start

    def result(self, model_id: str) -> Tuned | None:
        """Returns the stored result for a model on this machine, or None."""
        return self._store.result(model_id)

    def undo(self, model_id: str) -> tuple[Path, ...]:
        """Restores the model as downloaded; returns the files deleted. Raises `UnknownModel`."""
        return self._store.forget(self._library.get(model_id).id)

    async def tune(
        self,
        model_id: str,
        progress: Told = quiet,
        *,
        again: bool = False,
        checkpoint: Checkpoint = go_on,
    ) -> Tuned:
        """Searches, or returns what was found before; `again` repeats all measurements.

        Raises `UnknownModel`, `NoModel` (it is not a chat model), `NotEnoughDisk`, or what the model as
        downloaded raises: only a candidate may crash.
        """
        model = self._library.get(model_id)
        if "chat" not in model.roles:
            raise NoModel("chat")
        fingerprint = await asyncio.to_thread(self._fingerprint, model.path)
        if not again:
            known = self._store.result(model.id, fingerprint)
            if known is not None and (known.thorough or not self._plan.thorough):
                return known
        search = self._store.search(model.id, fingerprint)
        tokens = self._plan.perplexity_tokens
        if again or search.perplexity_tokens != tokens:
            # Perplexities of texts of different length cannot be compared.
            search = msgspec.structs.replace(search, steps=(), perplexity=0.0, perplexity_tokens=tokens)
        run = Search(self._store, self._bench, self._plan, model, search, progress, checkpoint)
        try:
            return await run.run(self._start)
        finally:
            await run.close()


class TuneJobs:
    """Tunes models in the background, on request only."""

    def __init__(self, background: BackgroundService, tuning: Callable[[], TuningService]) -> None:
        self._background = background
        self._tuning = tuning
        background.register(KIND, self.tune)

    async def ask(self, model_id: str) -> None:
        """Queues the tuning of a model; requests for the same model are merged."""
        await self._background.add(KIND, model_id, payload={"model": model_id})

    async def tune(self, job: Job) -> None:
        """Runs a tuning job; a model removed meanwhile is skipped. Turns have priority."""
        tuning = self._tuning()
        try:
            await tuning.tune(job.payload["model"], checkpoint=self._background.gate.checkpoint)
        except UnknownModel:
            return
