"""A processor that faults in the fastest code is given weaker code, with the real small model."""

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from models.errors import WorkerCrashed
from models.host import ModelHost
from models.tuning.kernels import Kernels, can_hide_amx
from models.worker.client import Connection, HostSpec, Supervisor

pytestmark = pytest.mark.real_model


@pytest.mark.parametrize(
    ("number", "deaths"), [(signal.SIGKILL, 1), (signal.SIGSEGV, 1), (signal.SIGSEGV, 2)]
)
async def test_only_a_fault_of_the_processor_leads_to_weaker_kernels(
    spec: HostSpec, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, deaths: int
) -> None:
    ask, died, asked, noted = Connection.ask, list[int](), list[str](), list[Kernels]()
    levels = (
        [Kernels.ALL, Kernels.WITHOUT_AMX, Kernels.PLAIN] if can_hide_amx() else [Kernels.ALL, Kernels.PLAIN]
    )
    deaths = min(deaths, len(levels) - 1)

    async def dying(self, request, kind, path=Path()):  # type: ignore[no-untyped-def]
        asked.append(request.kernels)
        if len(died) < deaths:
            died.append(self.process.pid)
            os.kill(self.process.pid, number)
        return await ask(self, request, kind, path)

    host = ModelHost(replace(spec, kernels=Kernels.ALL, need_kernels=noted.append))
    with monkeypatch.context() as patch:
        patch.setattr(Connection, "ask", dying)
        patch.setattr(host, "_learn_encoding", lambda _connection: asyncio.sleep(0))
        if number == signal.SIGSEGV:
            assert (await host.info()).context_length == 2048
        else:
            with pytest.raises(WorkerCrashed):
                await host.info()
    tried = levels[: deaths + 1] if number == signal.SIGSEGV else levels[:1]
    assert asked == tried
    assert noted == tried[1:][-1:]
    await host.close()


async def test_a_file_that_always_kills_leaves_other_files_their_kernels(
    spec: HostSpec, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, chat_model: Path
) -> None:
    ask, asked, noted = Connection.ask, list[tuple[str, str]](), list[Kernels]()
    hostile = tmp_path / "hostile.gguf"
    hostile.symlink_to(chat_model)

    async def dying(self, request, kind, path=Path()):  # type: ignore[no-untyped-def]
        asked.append((path.name, request.kernels))
        if path == hostile:
            os.kill(self.process.pid, signal.SIGSEGV)
        return await ask(self, request, kind, path)

    monkeypatch.setattr(Connection, "ask", dying)
    worker = Supervisor(replace(spec, kernels=Kernels.ALL, need_kernels=noted.append))
    with pytest.raises(WorkerCrashed):
        await worker.load(hostile, "chat")
    assert asked[-1] == (hostile.name, Kernels.PLAIN)
    await worker.load(chat_model, "chat")
    assert asked[-1] == (chat_model.name, Kernels.ALL)
    assert noted == []
    await worker.close()
