"""Tuning with the real small model: other layouts of its weights, what they lose, what faults."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from atlas_desktop.bootstrap import build_host, model_library
from atlas_desktop.paths import Paths
from atlas_desktop.services.tuning import TuningService
from atlas_desktop.settings.schema import Settings
from models.errors import ModelLoadFailed, WorkerCrashed
from models.library.files import fingerprint
from models.tuning.bench import Bench
from models.tuning.kernels import Kernels, KernelsNote, can_hide_amx
from models.tuning.plan import LAYOUTS, MAX_LOSS, Layout, Outcome, Round, RunSettings, TunedStore, TuningPlan
from tests.conftest import CHAT_MODEL
from tests.e2e.conftest import Program

pytestmark = pytest.mark.real_model

_PROCESSOR = Path("/proc/cpuinfo").read_text() if can_hide_amx() else ""
ONE = RunSettings(threads=1)
SMALL = TuningPlan(tokens=16, held=0, written=2, perplexity_tokens=200)
Q4_0, Q8_0 = LAYOUTS[0], LAYOUTS[1]
Q2_K = Layout("q2_k", 10, 2)


@pytest.fixture
def kernels(chat_model: Path) -> Kernels:
    return KernelsNote.beside(chat_model.parent).read()


@pytest.fixture
async def bench(chat_model: Path, kernels: Kernels) -> AsyncIterator[Bench]:
    made = Bench(chat_model, kernels)
    yield made
    await made.close()


async def test_without_amx_weights_are_still_packed_for_the_processor(bench: Bench, tmp_path: Path) -> None:
    if not can_hide_amx():
        pytest.skip("AMX can be hidden on x86-64 Linux alone")
    if "avx2" not in _PROCESSOR:
        pytest.skip("this processor has no AVX2, which the packed layouts are for")
    part = tmp_path / "small.part"
    await bench.quantise(part, Q4_0, 2)
    packed, plain = Bench(part, Kernels.WITHOUT_AMX), Bench(part, Kernels.PLAIN)
    try:
        buffers = (await packed.open()).buffers
        assert any("REPACK" in name for name in buffers)
        assert not any("AMX" in name for name in buffers)
        assert not any("REPACK" in name for name in (await plain.open()).buffers)
        assert (await packed.measure(ONE, SMALL)).prefill > 0
    finally:
        await packed.close()
        await plain.close()


def test_only_the_request_for_amx_is_refused() -> None:
    if not can_hide_amx():
        pytest.skip("AMX can be hidden on x86-64 Linux alone")
    # ARCH_GET_XCOMP_PERM (0x1022) is answered still, ARCH_REQ_XCOMP_PERM (0x1023) is not: EPERM.
    script = (
        "import ctypes; from models.tuning.kernels import hide_amx\n"
        "libc = ctypes.CDLL(None, use_errno=True); mask = ctypes.c_ulong()\n"
        "assert hide_amx() and hide_amx()\n"
        "get = libc.syscall(158, 0x1022, ctypes.byref(mask)); ask = libc.syscall(158, 0x1023, 18)\n"
        "print(get, ask, ctypes.get_errno(), libc.prctl(39, 0, 0, 0, 0))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "-1", "1", "1"]


class Tilted(Bench):
    """The real process with made-up speeds: the outcome must not hang on how busy the machine is."""

    async def measure(self, settings: RunSettings, plan: TuningPlan) -> Round:
        real = await super().measure(settings, plan)
        assert min(real.near, real.far, real.decode) > 0
        speed = 200.0 if self.path.suffix == ".part" else 100.0
        return Round(speed, speed, 50.0)


def service(paths: Paths, kernels: Kernels, *layouts: Layout) -> TuningService:
    plan = TuningPlan(
        layouts=layouts, batches=(), attention=False, tokens=16, held=0, written=2, perplexity_tokens=200
    )
    return TuningService(
        model_library(paths),
        TunedStore(paths.models),
        lambda path: Tilted(path, kernels),
        fingerprint=fingerprint,
        plan=plan,
        start=ONE,
    )


async def test_the_tuned_file_is_used_shown_and_taken_back(
    home_with_models: Paths, program: Program, kernels: Kernels
) -> None:
    found = await service(home_with_models, kernels, Q2_K, Q8_0).tune(CHAT_MODEL)
    steps = TunedStore(home_with_models.models).search(CHAT_MODEL, found.fingerprint).steps
    outcomes = {step.key: step for step in steps}
    # Two bits lose far too much, however fast they are.
    assert outcomes["layout=q2_k"].outcome is Outcome.LOSSY
    assert outcomes["layout=q2_k"].perplexity > 1.2
    assert outcomes["layout=q8_0"].outcome is Outcome.WON
    assert 0.98 < found.perplexity_ratio <= MAX_LOSS
    assert found.file == f"{CHAT_MODEL}.tuned-q8_0.gguf"

    host = build_host(home_with_models, model_library(home_with_models), Settings())
    try:
        info = await host.info()
        assert info.id == CHAT_MODEL
        assert info.fingerprint == fingerprint(home_with_models.models / found.file) != found.fingerprint
    finally:
        await host.close()

    listed = {one["id"]: one for one in program.json("models", "list")}
    assert listed[CHAT_MODEL]["tuned"].startswith("prefill 2.0 x, perplexity ")
    assert len(listed) == 2
    assert "prefill 2.0 x" in program.run("models", "info", CHAT_MODEL).stdout
    told = program.json("models", "tune", CHAT_MODEL, "--quick")
    assert told["file"] == found.file
    assert told["prefill_ratio"] == 2.0
    assert program.json("models", "tune", "--undo", CHAT_MODEL)["deleted"] == [found.file]
    assert not list(home_with_models.models.glob("*tuned-*"))


async def test_killed_in_the_midst_of_writing_it_leaves_no_file(
    bench: Bench, tmp_path: Path, kernels: Kernels
) -> None:
    # What the application's end does to the process: its input ends, whatever it is doing.
    others = set(psutil.Process().children())
    part = tmp_path / ".small.tuned-iq4_nl.part"
    writing = asyncio.create_task(bench.quantise(part, LAYOUTS[2], 1))
    while not part.exists():
        assert not writing.done()
        await asyncio.wait([writing], timeout=0.01)
    writing.cancel()
    await asyncio.gather(writing, return_exceptions=True)
    await bench.close()
    assert not part.exists()
    assert not set(psutil.Process().children()) - others


async def test_a_process_that_faults_is_started_again(bench: Bench) -> None:
    await bench.open()
    assert bench.pid is not None
    os.kill(bench.pid, signal.SIGKILL)
    first = await asyncio.gather(bench.measure(ONE, SMALL), return_exceptions=True)
    assert isinstance(first[0], WorkerCrashed | Round)
    assert (await bench.measure(ONE, SMALL)).prefill > 0
    nothing = Bench(bench.path.with_name("nothing.gguf"), Kernels.PLAIN)
    with pytest.raises(ModelLoadFailed):
        await nothing.open()
    await nothing.close()
