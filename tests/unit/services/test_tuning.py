"""A search over a made-up machine: what it keeps, what it survives, how it goes on."""

import asyncio
import shutil
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import msgspec
import pytest

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.models import ModelService
from atlas_desktop.services.tuning import TuneJobs, TuningService
from memory.jobs.foreground_gate import ForegroundGate
from memory.jobs.queue import Job, JobState
from memory.jobs.runner import Handler
from models.errors import ModelLoadFailed, NotEnoughDisk, WorkerCrashed, WrongChecksum
from models.library.catalog import Catalog
from models.library.download import ModelFetcher
from models.library.files import fingerprint
from models.library.installed import ModelLibrary
from models.tuning.plan import (
    LAYOUTS,
    Layout,
    Round,
    RunSettings,
    TunedStore,
    TuningPlan,
    is_tuned_file,
    tuned_words,
)
from tests.unit.models.gguf_files import write_gguf

MODEL = "small"
START = RunSettings(threads=2)
# The rows of the small file are shorter than any real layout needs.
PLAN = TuningPlan(layouts=tuple(msgspec.structs.replace(one, row=1) for one in LAYOUTS[:3]), threads=(2, 1))


@dataclass
class Machine:
    """How fast each file and each setting is here, and what goes wrong."""

    speeds: dict[str, float] = field(default_factory=dict)
    losses: dict[str, float] = field(default_factory=dict)
    crashes: Callable[[str, RunSettings], bool] = lambda _name, _settings: False
    speed_of: Callable[[RunSettings], float] = lambda _settings: 1.0
    decode: float = 50.0
    measured: list[tuple[str, str]] = field(default_factory=list)
    quantised: list[str] = field(default_factory=list)
    open_benches: int = 0
    stop_after: int | None = None

    def bench(self, path: Path) -> "Bench":
        self.open_benches += 1
        return Bench(self, path)


@dataclass
class Bench:
    machine: Machine
    path: Path

    @property
    def layout(self) -> str:
        return self.path.name.split(".tuned-")[1].removesuffix(".part") if is_tuned_file(self.path) else ""

    async def measure(self, settings: RunSettings, plan: TuningPlan) -> Round:
        if self.machine.stop_after is not None and len(self.machine.measured) >= self.machine.stop_after:
            raise asyncio.CancelledError
        if self.machine.crashes(self.layout, settings):
            raise WorkerCrashed(-11)
        self.machine.measured.append((self.layout, settings.key))
        speed = 100 * self.machine.speeds.get(self.layout, 1.0) * self.machine.speed_of(settings)
        return Round(speed, speed, self.machine.decode)

    async def perplexity(self, settings: RunSettings, plan: TuningPlan) -> float:
        return 20 * self.machine.losses.get(self.layout, 1.0)

    async def quantise(self, target: Path, layout: Layout, threads: int) -> None:
        self.machine.quantised.append(layout.name)
        if layout.name not in self.machine.speeds:
            raise ModelLoadFailed(self.path, "no")
        shutil.copyfile(self.path, target)

    async def close(self) -> None:
        self.machine.open_benches -= 1


@pytest.fixture
def library(tmp_path: Path) -> ModelLibrary:
    folder = tmp_path / "models"
    folder.mkdir(mode=0o700)
    write_gguf(folder / f"{MODEL}.gguf")
    library = ModelLibrary(folder, Catalog(()))
    assert [model.id for model in library.installed()] == [MODEL]
    return library


def service(library: ModelLibrary, machine: Machine) -> TuningService:
    return TuningService(
        library,
        TunedStore(library.folder, lambda: "machine A"),
        machine.bench,
        fingerprint=fingerprint,
        plan=PLAN,
        start=START,
    )


def files(library: ModelLibrary) -> set[str]:
    return {path.name for path in library.folder.iterdir()} - {".lock", "installed.toml", "tuned.toml"}


USUAL = {"q4_0": 2.4, "q8_0": 2.0, "iq4_nl": 2.5}
LOSSES = {"q4_0": 1.19, "q8_0": 1.004, "iq4_nl": 1.18}


async def test_the_fastest_layout_that_loses_nothing_is_placed_beside_the_original(
    library: ModelLibrary,
) -> None:
    machine = Machine(USUAL, LOSSES)
    found = await service(library, machine).tune(MODEL)
    assert found.kept
    assert found.layout == "q8_0"
    assert found.prefill_ratio == pytest.approx(2.0)
    assert found.perplexity_ratio == pytest.approx(1.004)
    assert tuned_words(found) == "prefill 2.0 x, perplexity +0.4 %"
    assert files(library) == {"small.gguf", "small.tuned-q8_0.gguf"}
    assert (library.folder / found.file).stat().st_mode & 0o777 == 0o600
    # It is no model of its own, and the narrow layout like the lossy one was not even made.
    assert [model.id for model in library.installed()] == [MODEL]
    assert machine.quantised == ["q4_0", "q8_0"]
    assert machine.open_benches == 0


async def test_a_known_result_is_not_measured_again_unless_asked(library: ModelLibrary) -> None:
    machine = Machine(USUAL, LOSSES)
    first = await service(library, machine).tune(MODEL)
    count = len(machine.measured)
    assert await service(library, machine).tune(MODEL) == first
    assert len(machine.measured) == count
    slower = Machine(USUAL | {"q8_0": 1.0}, LOSSES)
    again = await service(library, slower).tune(MODEL, again=True)
    assert not again.kept
    assert files(library) == {"small.gguf"}


async def test_settings_win_one_by_one(library: ModelLibrary) -> None:
    def speed(settings: RunSettings) -> float:
        return (1.5 if settings.threads == 1 else 1.0) * (1.2 if settings.batch == 512 else 1.0)

    found = await service(library, Machine(speed_of=speed)).tune(MODEL)
    assert found.kept
    assert found.settings == RunSettings(threads=1, batch=512)
    assert found.file == ""
    assert found.prefill_ratio == pytest.approx(1.8)
    assert files(library) == {"small.gguf"}


async def test_what_crashes_costs_only_itself(library: ModelLibrary) -> None:
    losses = LOSSES | {"q4_0": 1.0}
    machine = Machine(USUAL, losses, crashes=lambda name, settings: name == "q8_0" or settings.flash)
    found = await service(library, machine).tune(MODEL)
    assert found.layout == "q4_0"
    assert not found.settings.flash
    store = TunedStore(library.folder, lambda: "machine A")
    outcomes = {step.key: step.outcome for step in store.search(MODEL, found.fingerprint).steps}
    assert outcomes["layout=q8_0"] == "crashed"


async def test_a_model_that_crashes_as_it_is_is_the_callers_to_hear_of(library: ModelLibrary) -> None:
    machine = Machine(USUAL, LOSSES, crashes=lambda name, _settings: not name)
    found = await service(library, Machine()).tune(MODEL)
    assert not found.kept
    with pytest.raises(WorkerCrashed):
        await service(library, machine).tune(MODEL, again=True)


@pytest.mark.parametrize("stop_after", [0, 1, 4, 9, 14, 20])
async def test_an_interrupted_search_leaves_nothing_half_and_goes_on(
    library: ModelLibrary, stop_after: int
) -> None:
    whole = Machine(USUAL, LOSSES)
    expected = await service(library, whole).tune(MODEL)
    service(library, whole).undo(MODEL)

    machine = Machine(USUAL, LOSSES, stop_after=stop_after)
    with pytest.raises(asyncio.CancelledError):
        await service(library, machine).tune(MODEL)
    assert files(library) == {"small.gguf"}
    assert TunedStore(library.folder, lambda: "machine A").result(MODEL) is None
    machine.stop_after = None
    assert await service(library, machine).tune(MODEL) == expected
    # A finished comparison is not repeated: at most the one that was broken off.
    assert len(machine.measured) < len(whole.measured) + 8


async def test_undo_removes_the_file_and_the_record(library: ModelLibrary) -> None:
    tuning = service(library, Machine(USUAL, LOSSES))
    await tuning.tune(MODEL)
    assert [path.name for path in tuning.undo(MODEL)] == ["small.tuned-q8_0.gguf"]
    assert tuning.result(MODEL) is None
    assert files(library) == {"small.gguf"}
    assert tuning.undo(MODEL) == ()


async def test_a_result_is_of_one_machine_one_file_and_its_own_bytes(library: ModelLibrary) -> None:
    found = await service(library, Machine(USUAL, LOSSES)).tune(MODEL)
    store = TunedStore(library.folder, lambda: "machine A")
    original = library.folder / "small.gguf"
    assert store.for_file(MODEL, original) == found
    assert TunedStore(library.folder, lambda: "machine B").result(MODEL) is None
    store.verify(MODEL)

    data = original.read_bytes()
    original.write_bytes(data + b"\0" * 64)
    assert store.for_file(MODEL, original) is None
    original.write_bytes(data)

    tuned = library.folder / found.file
    whole = bytearray(tuned.read_bytes())
    whole[-1] ^= 1
    tuned.write_bytes(whole)
    with pytest.raises(WrongChecksum):
        store.verify(MODEL)
    tuned.write_bytes(whole[:-8])
    assert store.for_file(MODEL, original) is None


async def test_damaged_records_are_no_records(library: ModelLibrary) -> None:
    (library.folder / "tuned.toml").write_text("tuned = 3 [")
    store = TunedStore(library.folder, lambda: "machine A")
    assert store.result(MODEL) is None
    await service(library, Machine(USUAL, LOSSES)).tune(MODEL)
    assert store.result(MODEL) is not None


async def test_a_full_disk_is_told_before_anything_is_written(
    library: ModelLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(folder: Path, needed: int) -> None:
        raise NotEnoughDisk(needed, 0, folder)

    monkeypatch.setattr("atlas_desktop.services.tuning.require_space", full)
    machine = Machine(USUAL, LOSSES)
    with pytest.raises(NotEnoughDisk):
        await service(library, machine).tune(MODEL)
    assert machine.quantised == []
    assert files(library) == {"small.gguf"}


async def test_a_layout_that_memory_cannot_hold_beside_the_model_is_left_for_another_day(
    library: ModelLibrary, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = Machine(USUAL, LOSSES)
    monkeypatch.setattr("atlas_desktop.services.tuning.available_memory", lambda: 10)
    assert not (await service(library, machine).tune(MODEL)).kept
    assert machine.quantised == []


async def test_removing_a_model_removes_what_tuning_made_and_verifying_reads_it(
    library: ModelLibrary, tmp_path: Path
) -> None:
    store = TunedStore(library.folder, lambda: "machine A")
    found = await service(library, Machine(USUAL, LOSSES)).tune(MODEL)
    models = ModelService(
        library,
        Catalog(()),
        ModelFetcher(library, Catalog(()), tmp_path / "cache"),
        person=tmp_path,
        environment={},
        tuned=store,
    )
    assert [one.tuned for one in models.summaries()] == ["prefill 2.0 x, perplexity +0.4 %"]
    await models.verify(MODEL)
    path = library.folder / found.file
    path.write_bytes(bytes(found.bytes))
    with pytest.raises(WrongChecksum):
        await models.verify(MODEL)
    models.remove(MODEL)
    assert files(library) == set()
    assert store.result(MODEL) is None


async def test_slower_writing_is_too_high_a_price(library: ModelLibrary) -> None:
    class SlowWriter(Bench):
        async def measure(self, settings: RunSettings, plan: TuningPlan) -> Round:
            done = await super().measure(settings, plan)
            return Round(done.near, done.far, done.decode * (0.8 if self.layout else 1.0))

    machine = Machine(USUAL, LOSSES)
    machine.bench = lambda path: SlowWriter(machine, path)  # type: ignore[method-assign]
    assert not (await service(library, machine).tune(MODEL)).kept


@dataclass
class Background:
    """Where handlers are registered."""

    gate: ForegroundGate = field(default_factory=ForegroundGate)
    handlers: dict[str, Handler] = field(default_factory=dict)

    def register(self, kind: str, handler: Handler) -> None:
        self.handlers[kind] = handler


def job(model: str) -> Job:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Job("1", "tune", model, None, {"model": model}, 0, JobState.RUNNING, 1, now, None, now, now)


async def test_as_a_job_it_lets_turns_go_first_and_survives_a_removed_model(library: ModelLibrary) -> None:
    machine, background = Machine(USUAL, LOSSES), Background()
    tuning = service(library, machine)
    TuneJobs(cast("BackgroundService", background), lambda: tuning)
    await background.handlers["tune"](job("gone"))
    assert machine.measured == []

    async def work() -> None:
        await background.handlers["tune"](job(MODEL))

    async with background.gate.foreground():
        running = asyncio.create_task(work(), context=Context())
        await asyncio.wait([running], timeout=0.05)
        assert not running.done()
        assert machine.measured == []
    await running
    found = tuning.result(MODEL)
    assert found is not None
    assert found.kept
