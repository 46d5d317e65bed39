"""The import as a whole, apart from what each format holds."""

import asyncio
import threading
from pathlib import Path

import pytest

from atlas_desktop.importing.importer import Importer
from atlas_desktop.importing.sources import open_source
from tests.stores import InMemoryStore


async def test_who_stops_an_import_waits_for_the_thread_that_reads_and_hears_of_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "said.jsonl"
    file.write_text('{"session": "s", "role": "user", "content": "kayaks"}\n')
    reading, go_on = threading.Event(), threading.Event()

    def slowly(*given: object) -> object:
        reading.set()
        go_on.wait(10)
        return open_source(*given)  # type: ignore[arg-type]

    monkeypatch.setattr("atlas_desktop.importing.importer.open_source", slowly)
    taking = asyncio.create_task(Importer(InMemoryStore().transfer).take([file]))
    await asyncio.to_thread(reading.wait, 10)
    taking.cancel()
    asyncio.get_running_loop().call_soon(go_on.set)
    with pytest.raises(asyncio.CancelledError):
        await taking
