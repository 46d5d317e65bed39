"""The life of the supervised process: how it starts, fails, ends, and what it is given."""

import asyncio
import os
import resource
import signal
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from models.errors import (
    ModelFileMissing,
    ModelLoadFailed,
    TemplateFailed,
    UnknownArchitecture,
    WorkerCrashed,
)
from models.host import ModelHost, probe
from models.messages import Lane, TokenDelta
from models.worker.client import Connection, HostSpec
from tests.e2e.test_worker import GREEDY, complete, host, says

__all__ = ["host"]

pytestmark = [pytest.mark.real_model, pytest.mark.asyncio(loop_scope="module")]


async def test_a_killed_worker_costs_one_reply_and_comes_back(host: ModelHost) -> None:
    async def kill_at_the_first_word() -> None:
        pids = [host.pid]
        async for event in host.generate(says("Tell me a story."), replace(GREEDY, max_tokens=400)):
            while isinstance(event, TokenDelta) and pids:
                pid = pids.pop()
                assert pid is not None
                os.kill(pid, signal.SIGKILL)

    await host.info()
    with pytest.raises(WorkerCrashed) as caught:
        await kill_at_the_first_word()
    assert caught.value.code == -signal.SIGKILL
    assert (await complete(host, says("Hello")))[1].text


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds the memory of another process")
async def test_a_worker_out_of_memory_says_so_and_the_talk_goes_on(spec: HostSpec) -> None:
    """llama.cpp says that memory is short, or dies of it: as it comes, by which piece is missing."""
    host = ModelHost(spec)
    try:
        await host.info()
        worker = host.pid
        assert worker is not None
        most = psutil.Process(worker).memory_info().vms + 24_000_000
        bound = resource.prlimit(worker, resource.RLIMIT_AS)[1]
        assert bound > most
        assert bound != resource.RLIM_INFINITY
        resource.prlimit(worker, resource.RLIMIT_AS, (most, bound))
        async with asyncio.timeout(10):
            with pytest.raises((ModelLoadFailed, WorkerCrashed), match=r"memory|status -") as caught:
                await complete(host, says("word " * 900), lane=Lane.TASK)
            if isinstance(caught.value, ModelLoadFailed):
                with pytest.raises(ModelLoadFailed, match="memory"):
                    await host.embed(["some words"])
        assert (await complete(host, says("Hello")))[1].text
        assert (host.pid == worker) is isinstance(caught.value, ModelLoadFailed)
    finally:
        await host.close()


async def test_closing_ends_the_process_at_once(spec: HostSpec) -> None:
    host = ModelHost(spec)
    await host.info()
    process = psutil.Process(host.pid)
    await host.close()
    assert not process.is_running()
    with pytest.raises(WorkerCrashed):
        await complete(host, says("Hello"))


async def test_closing_leaves_no_process_on_its_way(spec: HostSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """A start that asyncio cancels half-way never ends, and the program would wait for it at its end."""
    started: list[Connection] = []
    begun, go_on = asyncio.Event(), asyncio.Event()
    start = Connection.start

    async def slowly(readable: Iterable[Path]) -> Connection:
        begun.set()
        await go_on.wait()
        started.append(await start(readable))
        return started[0]

    monkeypatch.setattr(Connection, "start", slowly)
    before = asyncio.all_tasks()
    host = ModelHost(spec)
    asked = asyncio.create_task(host.info())
    await begun.wait()
    asked.cancel()
    closing = asyncio.create_task(host.close())
    await asyncio.wait({asked})
    assert not closing.done()
    go_on.set()
    await asyncio.wait_for(closing, 10)
    assert not started[0].alive
    assert asyncio.all_tasks() <= before


async def test_the_worker_ends_when_the_application_is_gone(spec: HostSpec) -> None:
    host = ModelHost(spec)
    await host.info()
    process = psutil.Process(host.pid)
    assert host._worker.connection is not None
    host._worker.connection._stdin.close()
    await asyncio.to_thread(process.wait, 10)
    assert not process.is_running()
    await host.close()


async def test_garbage_on_its_input_ends_the_worker_not_the_application(spec: HostSpec) -> None:
    host = ModelHost(spec)
    await host.info()
    assert host._worker.connection is not None
    host._worker.connection._stdin.write(b"\xff" * 64)
    with pytest.raises(WorkerCrashed) as caught:
        await complete(host, says("Hello"))
    assert caught.value.code == 87
    assert (await complete(host, says("Hello")))[1].text
    await host.close()


@pytest.fixture
def torn_model(tmp_path: Path, chat_model: Path) -> Path:
    torn = tmp_path / "torn.gguf"
    torn.write_bytes(chat_model.read_bytes()[:200_000])
    return torn


@pytest.fixture
def strange_model(tmp_path: Path, chat_model: Path) -> Path:
    strange = tmp_path / "strange.gguf"
    data = bytearray(chat_model.read_bytes())
    at = data.index(b"general.architecture") + len(b"general.architecture") + 12
    data[at : at + 5] = b"zzzzz"
    strange.write_bytes(data)
    return strange


def with_template(model: Path, template: str, folder: Path) -> Path:
    """A copy of a model with another template of the same length."""
    data = model.read_bytes()
    key = data.index(b"tokenizer.chat_template") + len(b"tokenizer.chat_template") + 4
    size = int.from_bytes(data[key : key + 8], "little")
    copy = folder / "template.gguf"
    copy.write_bytes(data[: key + 8] + template.encode().ljust(size) + data[key + 8 + size :])
    return copy


async def test_a_template_that_holds_the_interpreter_is_told(
    spec: HostSpec, tmp_path: Path, chat_model: Path
) -> None:
    trap = with_template(chat_model, "{{ 9 ** (9 ** 9) }}{{ messages[-1].content }}", tmp_path)
    host = ModelHost(replace(spec, chat=lambda: ("trap", trap)))
    async with asyncio.timeout(60):
        with pytest.raises(TemplateFailed, match="too large"):
            await host.info()
    await host.close()


async def test_files_that_are_no_models_are_refused(
    tmp_path: Path, chat_model: Path, torn_model: Path, strange_model: Path
) -> None:
    with pytest.raises(ModelFileMissing):
        await probe(tmp_path / "nothing.gguf")
    with pytest.raises(ModelLoadFailed):
        await probe(torn_model)
    strange = strange_model
    with pytest.raises(UnknownArchitecture):
        await probe(strange)
    await probe(chat_model)


async def test_the_worker_sees_little_of_the_environment(
    spec: HostSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_SECRET_TOKEN", "plover")
    host = ModelHost(spec)
    await host.info()
    environment = psutil.Process(host.pid).environ()
    await host.close()
    assert "SOME_SECRET_TOKEN" not in environment
    assert "HOME" not in environment


async def test_a_caller_that_is_cancelled_leaves_the_load_to_the_next(spec: HostSpec) -> None:
    # Other tests may keep workers of their own.
    before = set(psutil.Process().children())
    host = ModelHost(spec)
    first = asyncio.create_task(host.info())
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    info = await host.info()
    assert info.context_length == 2048
    assert host.pid is not None
    assert len(set(psutil.Process().children()) - before) == 1
    await host.close()
    assert set(psutil.Process().children()) <= before
