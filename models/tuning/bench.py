"""The application's side of the process that tries out ways of running a model."""

import asyncio
import sys
from importlib import resources
from pathlib import Path
from typing import TypeVar

from models.errors import ModelLoadFailed, WorkerCrashed, WorkerUnresponsive
from models.tuning import protocol
from models.tuning.kernels import FAULTS, Kernels
from models.tuning.plan import Layout, Round, RunSettings, TuningPlan
from models.worker.client import environment

Told = TypeVar("Told", bound=protocol.Answer)
# Longer than any single request takes on a machine that can run the model at all.
LIMIT_S = 3600.0


class Bench:
    """A file and the process that has it loaded; starts at the first use and again after a crash."""

    def __init__(self, path: Path, kernels: Kernels) -> None:
        self.path = path
        self._kernels = kernels
        self._process: asyncio.subprocess.Process | None = None
        self.opened: protocol.Opened | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the process that runs now."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process is not None else None

    async def open(self) -> protocol.Opened:
        """Loads the file and tries it out, with weaker kernels where these fault.

        Raises `WorkerCrashed` or `ModelLoadFailed`.
        """
        while self.opened is None or self._process is None or self._process.returncode is not None:
            await self._start()
            try:
                self.opened = await self._ask(protocol.Open(str(self.path), self._kernels), protocol.Opened)
            except WorkerCrashed as crash:
                weaker = self._kernels.weaker
                if weaker is None or crash.code not in FAULTS:
                    raise
                self._kernels = weaker
        return self.opened

    async def measure(self, settings: RunSettings, plan: TuningPlan) -> Round:
        """One round. Raises `WorkerCrashed` or `ModelLoadFailed`."""
        await self.open()
        return (await self._ask(protocol.Measure(settings, plan), protocol.Measured)).round

    async def perplexity(self, settings: RunSettings, plan: TuningPlan) -> float:
        """On the fixed text. Raises `WorkerCrashed` or `ModelLoadFailed`."""
        await self.open()
        request = protocol.Perplexity(fixed_text(), settings, plan.perplexity_tokens)
        return (await self._ask(request, protocol.Predicted)).perplexity

    async def quantise(self, target: Path, layout: Layout, threads: int) -> None:
        """Writes the file in another layout. Raises `WorkerCrashed` or `ModelLoadFailed`."""
        await self._start(target.parent)
        request = protocol.Quantise(str(self.path), str(target), layout.ftype, threads)
        await self._ask(request, protocol.Done)

    async def close(self) -> None:
        """Ends the process; an unfinished file goes with it."""
        process, self._process, self.opened = self._process, None, None
        if process is None:
            return
        assert process.stdin is not None
        process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 5)
        except TimeoutError:
            process.kill()
            await process.wait()

    async def _start(self, *writable: Path) -> None:
        """A new process, which may read the file and write in `writable`."""
        await self.close()
        self._process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "models.tuning.worker",
            *map(str, (self.path, *writable)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=environment(),
            # Ctrl-C in the terminal is for the application.
            start_new_session=True,
        )

    async def _ask(self, request: protocol.Request, kind: type[Told]) -> Told:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(protocol.encode(request))
            line = await asyncio.wait_for(process.stdout.readline(), LIMIT_S)
        except TimeoutError:
            await self.close()
            raise WorkerUnresponsive from None
        except ConnectionError:
            line = b""
        if not line:
            self.opened = None
            raise WorkerCrashed(await process.wait())
        answer = protocol.decode_answer(line)
        if not isinstance(answer, kind):
            detail = answer.detail if isinstance(answer, protocol.Refused) else type(answer).__name__
            raise ModelLoadFailed(self.path, detail)
        return answer


def fixed_text() -> str:
    """The text that perplexities are compared on: prose, dialogue, figures, code, three languages."""
    return resources.files("models").joinpath("perplexity.txt").read_text(encoding="utf-8")
