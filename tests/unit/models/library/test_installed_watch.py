import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.library.gguf import GgufHeader, read_header
from models.library.installed import ModelWatcher
from tests.unit.models.gguf_files import write_gguf

PATIENCE = 10


@pytest.fixture
def arrivals() -> "queue.Queue[Path]":
    return queue.Queue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "models"


@pytest.fixture
def watcher(folder: Path, arrivals: "queue.Queue[Path]") -> Iterator[ModelWatcher]:
    watcher = ModelWatcher(folder, arrivals.put, quiet=0.05)
    yield watcher
    watcher.stop()


def test_a_file_that_is_moved_in_is_noticed_once(
    watcher: ModelWatcher, folder: Path, arrivals: "queue.Queue[Path]", tmp_path: Path
) -> None:
    write_gguf(folder / "old.gguf")
    ready = write_gguf(tmp_path / "new.gguf")
    watcher.start()
    ready.rename(folder / "new.gguf")
    assert arrivals.get(timeout=PATIENCE) == folder / "new.gguf"
    watcher.stop()
    assert arrivals.empty()


def test_a_file_that_grows_is_noticed_when_it_is_whole(
    watcher: ModelWatcher, folder: Path, arrivals: "queue.Queue[Path]", tmp_path: Path
) -> None:
    content = write_gguf(tmp_path / "source.gguf").read_bytes()
    watcher.start()
    with (folder / "slow.gguf").open("wb") as file:
        file.write(content[:200])
        file.flush()
        whole = write_gguf(tmp_path / "whole.gguf")
        whole.rename(folder / "whole.gguf")
        assert arrivals.get(timeout=PATIENCE) == folder / "whole.gguf"
        file.write(content[200:])
    assert arrivals.get(timeout=PATIENCE) == folder / "slow.gguf"


def test_other_files_do_not_matter(
    watcher: ModelWatcher, folder: Path, arrivals: "queue.Queue[Path]", tmp_path: Path
) -> None:
    watcher.start()
    (folder / "installed.toml").write_text("")
    (folder / ".hidden.gguf").write_text("")
    write_gguf(tmp_path / "m.gguf").rename(folder / "m.gguf")
    assert arrivals.get(timeout=PATIENCE).name == "m.gguf"
    assert arrivals.empty()


def test_nothing_is_reported_after_the_end(folder: Path) -> None:
    called = threading.Event()
    watcher = ModelWatcher(folder, lambda _path: called.set(), quiet=30)
    watcher.start()
    watcher.notice(write_gguf(folder / "late.gguf"))
    watcher.stop()
    assert not called.is_set()
    watcher.stop()


def test_a_file_that_is_no_model_is_read_once(
    watcher: ModelWatcher,
    folder: Path,
    arrivals: "queue.Queue[Path]",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: queue.Queue[Path] = queue.Queue()

    def look(path: Path) -> GgufHeader:
        try:
            return read_header(path)
        finally:
            looked.put(path)

    monkeypatch.setattr("models.library.installed.read_header", look)
    watcher.start()
    (folder / "bad.gguf").write_bytes(b"GGUF no model")
    assert looked.get(timeout=PATIENCE).name == "bad.gguf"
    # What comes of reading it has been seen before the next file is.
    for name in ("one.gguf", "two.gguf"):
        write_gguf(tmp_path / name).rename(folder / name)
        assert arrivals.get(timeout=PATIENCE).name == name
        assert looked.get(timeout=PATIENCE).name == name
    assert looked.empty()
