"""The application's end of the tuning process; messages are JSON, one per line."""

import asyncio
import sys
from importlib import resources
from pathlib import Path
from typing import TypeVar

import msgspec

from models.errors import ModelLoadFailed, ProtocolError, WorkerCrashed, WorkerUnresponsive
from models.tuning.kernels import FAULTS, Kernels
from models.tuning.plan import Layout, Round, RunSettings, TuningPlan
from models.worker.client import environment


class Message(msgspec.Struct, frozen=True, tag=True):
    """Base of requests and answers."""


class Open(Message, frozen=True):
    """Loads a file; answered by `Opened`."""

    path: str
    kernels: Kernels


class Measure(Message, frozen=True):
    """Measures one round with the loaded file; answered by `Measured`."""

    settings: RunSettings
    plan: TuningPlan


class Perplexity(Message, frozen=True):
    """Computes the perplexity of a text's first `limit` tokens; answered by `Predicted`."""

    text: str
    settings: RunSettings
    limit: int


class Quantise(Message, frozen=True):
    """Writes `source` in another layout to `target`; answered by `Done`.

    If the application ends meanwhile, the unfinished `target` is deleted.
    """

    source: str
    target: str
    ftype: int
    threads: int


class Opened(Message, frozen=True):
    """`row` is the length of the model's rows, `buffers` names the buffers that contain the weights."""

    row: int
    buffers: tuple[str, ...]


class Measured(Message, frozen=True):
    round: Round


class Predicted(Message, frozen=True):
    perplexity: float


class Done(Message, frozen=True):
    pass


class Refused(Message, frozen=True):
    """The request failed; `detail` is llama.cpp's reason or the type of an error."""

    detail: str


Request = Open | Measure | Perplexity | Quantise
Answer = Opened | Measured | Predicted | Done | Refused

_encoder = msgspec.json.Encoder()
_requests: msgspec.json.Decoder[Request] = msgspec.json.Decoder(Request)
_answers: msgspec.json.Decoder[Answer] = msgspec.json.Decoder(Answer)


def encode(message: Request | Answer) -> bytes:
    return _encoder.encode(message) + b"\n"


def decode_request(line: bytes) -> Request:
    return _requests.decode(line)


def decode_answer(line: bytes) -> Answer:
    """Decodes an answer. Raises `ProtocolError`."""
    try:
        return _answers.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise ProtocolError(str(error)) from None


def part_of(request: Request) -> Path | None:
    """The unfinished file that an interrupted request leaves behind, or None."""
    return Path(request.target) if isinstance(request, Quantise) else None


Told = TypeVar("Told", bound=Answer)
# Seconds; longer than any single request takes on a machine that can run the model at all.
LIMIT_S = 3600.0


class Bench:
    """A model file and the process that loads it, started at first use and again after a crash."""

    def __init__(self, path: Path, kernels: Kernels) -> None:
        self.path = path
        self._kernels = kernels
        self._process: asyncio.subprocess.Process | None = None
        self.opened: Opened | None = None

    @property
    def pid(self) -> int | None:
        """Process id of the running process, or None."""
        running = self._process is not None and self._process.returncode is None
        return self._process.pid if running and self._process is not None else None

    async def open(self) -> Opened:
        """Loads the file and tests it, with weaker kernels where the current ones fault.

        Raises `WorkerCrashed` or `ModelLoadFailed`.
        """
        while self.opened is None or self._process is None or self._process.returncode is not None:
            await self._start()
            try:
                self.opened = await self._ask(Open(str(self.path), self._kernels), Opened)
            except WorkerCrashed as crash:
                weaker = self._kernels.weaker
                if weaker is None or crash.code not in FAULTS:
                    raise
                self._kernels = weaker
        return self.opened

    async def measure(self, settings: RunSettings, plan: TuningPlan) -> Round:
        """Measures one round. Raises `WorkerCrashed` or `ModelLoadFailed`."""
        await self.open()
        return (await self._ask(Measure(settings, plan), Measured)).round

    async def perplexity(self, settings: RunSettings, plan: TuningPlan) -> float:
        """Perplexity of the fixed text. Raises `WorkerCrashed` or `ModelLoadFailed`."""
        await self.open()
        request = Perplexity(fixed_text(), settings, plan.perplexity_tokens)
        return (await self._ask(request, Predicted)).perplexity

    async def quantise(self, target: Path, layout: Layout, threads: int) -> None:
        """Writes the file in another layout to `target`. Raises `WorkerCrashed` or `ModelLoadFailed`."""
        await self._start(target.parent)
        request = Quantise(str(self.path), str(target), layout.ftype, threads)
        await self._ask(request, Done)

    async def close(self) -> None:
        """Ends the process; an unfinished file is deleted."""
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
        """Starts a process that may read the file and write in `writable`."""
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
            # Ctrl-C in the terminal is meant for the application.
            start_new_session=True,
        )

    async def _ask(self, request: Request, kind: type[Told]) -> Told:
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(encode(request))
            line = await asyncio.wait_for(process.stdout.readline(), LIMIT_S)
        except TimeoutError:
            await self.close()
            raise WorkerUnresponsive from None
        except ConnectionError:
            line = b""
        if not line:
            self.opened = None
            raise WorkerCrashed(await process.wait())
        answer = decode_answer(line)
        if not isinstance(answer, kind):
            detail = answer.detail if isinstance(answer, Refused) else type(answer).__name__
            raise ModelLoadFailed(self.path, detail)
        return answer


def fixed_text() -> str:
    """The text for comparing perplexities: prose, dialogue, figures, code, three languages."""
    return resources.files("models").joinpath("perplexity.txt").read_text(encoding="utf-8")
