"""Watching folders, with real files and events. Waits are for events and have a limit."""

import asyncio
import errno
import logging
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from watchdog.observers import Observer

from atlas_desktop.errors import DocumentRefused
from atlas_desktop.services.documents import watching
from atlas_desktop.services.documents.reading import read_file
from atlas_desktop.services.documents.scanning import (
    FolderRules,
    HashedFile,
    KnownDocument,
    compare,
    plan,
    scan,
)
from atlas_desktop.services.documents.watching import Changes, FolderWatcher, has_events, settled
from memory.documents.entities import FileFacts

PATIENCE = 20
SECOND = 1_000_000_000


@dataclass
class Told:
    """The batches that came."""

    batches: "asyncio.Queue[Changes]" = field(default_factory=asyncio.Queue)
    threads: set[int] = field(default_factory=set)

    def __call__(self, changes: Changes) -> None:
        self.threads.add(threading.get_ident())
        self.batches.put_nowait(changes)

    async def next(self) -> Changes:
        return await asyncio.wait_for(self.batches.get(), PATIENCE)

    async def assert_everything(self) -> None:
        """Waits for a batch that says: scan everything."""
        while await self.next() is not None:
            pass

    async def paths(self, *wanted: Path) -> frozenset[Path]:
        """Waits until all wanted paths were told; returns all that were."""
        seen: frozenset[Path] = frozenset()
        while not seen >= set(wanted):
            seen |= await self.next() or frozenset()
        return seen


@asynccontextmanager
async def watch(*roots: Path, **options: float) -> AsyncIterator[Told]:
    told = Told()
    watcher = FolderWatcher(roots, told, **({"quiet": 0.05, "longest": 0.5} | options))
    await watcher.start()
    try:
        await told.assert_everything()
        yield told
    finally:
        await watcher.stop()
    assert told.threads == {threading.get_ident()}


def old(path: Path, content: str = "x") -> Path:
    """Writes a file that is long complete."""
    path.write_text(content)
    os.utime(path, (1_000_000, 1_000_000))
    return path


def change(make: Callable[[], object]) -> None:
    """Changes the folder at once, in the loop: nothing else is to happen meanwhile."""
    make()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_CHECK_ROOTS_S", 0.05)
    monkeypatch.setattr(watching, "_POLL_S", 0.05)


async def test_what_changes_is_told(root: Path) -> None:
    old(root / "a.md")
    old(root / "b.md")
    (root / "sub").mkdir()
    async with watch(root) as told:
        old(root / "sub" / "new.md")
        (root / "a.md").write_text("changed")
        (root / "b.md").rename(root / "moved.md")
        await told.paths(root / "sub" / "new.md", root / "a.md", root / "b.md", root / "moved.md")
        (root / "moved.md").unlink()
        assert await told.paths(root / "moved.md") == {root / "moved.md"}


async def test_files_in_new_and_moved_folders_are_told(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside" / "deep").mkdir(parents=True)
    old(tmp_path / "outside" / "deep" / "a.md")
    async with watch(root) as told:
        (root / "x" / "y").mkdir(parents=True)
        old(root / "x" / "y" / "z.md")
        (tmp_path / "outside").rename(root / "inside")
        seen = await told.paths(root / "x" / "y" / "z.md", root / "inside")
        assert all(path.is_relative_to(root) for path in seen)
        old(root / "inside" / "deep" / "b.md")
        await told.paths(root / "inside" / "deep" / "b.md")


async def test_many_changes_come_in_few_batches(root: Path) -> None:
    async with watch(root, quiet=0.5, longest=5) as told:
        wanted = {old(root / f"{number}.md") for number in range(200)}
        seen, batches = frozenset[Path](), 0
        while not seen >= wanted:
            seen |= await told.next() or frozenset()
            batches += 1
        assert batches <= 5


async def test_reading_and_hidden_files_are_not_told(root: Path) -> None:
    old(root / "a.md")
    (root / ".git").mkdir()
    async with watch(root) as told:
        (root / "a.md").read_text()
        scan(root, FolderRules(lambda _name: True))
        old(root / ".git" / "index")
        old(root / ".hidden.md")
        old(root / "last.md")
        assert await told.paths(root / "last.md") == {root / "last.md"}


async def test_a_changed_ignore_file_is_told_as_its_folder(root: Path) -> None:
    (root / "sub").mkdir()
    async with watch(root) as told:
        old(root / "sub" / ".gitignore", "*.log")
        assert await told.paths(root / "sub") == {root / "sub"}


async def test_links_are_not_followed_but_the_root_may_be_one(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (root / "out").symlink_to(tmp_path / "outside")
    (tmp_path / "link").symlink_to(root)
    async with watch(tmp_path / "link") as told:
        old(tmp_path / "outside" / "secret.md")
        old(root / "a.md")
        assert await told.paths(tmp_path / "link" / "a.md") == {tmp_path / "link" / "a.md"}


async def test_a_growing_file_is_told_when_it_is_complete(root: Path) -> None:
    async with watch(root) as told:
        with (root / "slow.md").open("w") as file:
            for number in range(5):
                file.write("more")
                file.flush()
                old(root / f"other {number}.md")
                # Its time is now, so that each batch comes within a second of the last write.
                seen = await told.paths(root / f"other {number}.md")
                if root / "slow.md" in seen:
                    state = (root / "slow.md").stat()
                    assert state.st_size == 4 * (number + 1)
        await told.paths(root / "slow.md")


async def test_a_file_that_grows_between_two_looks_waits(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    real = watching._facts

    def growing(path: Path) -> FileFacts | None:
        if path.name == "slow.md" and len(looks) < 3:
            with path.open("a") as file:
                file.write("more")
            looks.append(path.stat().st_size)
        return real(path)

    monkeypatch.setattr(watching, "_facts", growing)
    async with watch(root) as told:
        (root / "slow.md").write_text("start")
        await told.paths(root / "slow.md")
        assert len(looks) == 3


async def test_a_root_that_vanishes_and_comes_back_means_everything(root: Path, fast: None) -> None:
    async with watch(root) as told:
        change(root.rmdir)
        await told.assert_everything()
        change(root.mkdir)
        await told.assert_everything()
        old(root / "a.md")
        await told.paths(root / "a.md")


async def test_a_root_that_is_replaced_is_watched_anew(root: Path, tmp_path: Path, fast: None) -> None:
    (tmp_path / "other").mkdir()
    async with watch(root) as told:
        change(lambda: root.rename(tmp_path / "away"))
        change(lambda: (tmp_path / "other").rename(root))
        await told.assert_everything()
        old(tmp_path / "away" / "no.md")
        old(root / "a.md")
        seen = await told.paths(root / "a.md")
        assert root / "no.md" not in seen


async def test_a_root_that_is_not_there_yet_does_not_stop_the_others(
    root: Path, tmp_path: Path, fast: None
) -> None:
    async with watch(tmp_path / "later", root) as told:
        old(root / "a.md")
        await told.paths(root / "a.md")
        (tmp_path / "later").mkdir()
        await told.assert_everything()
        old(tmp_path / "later" / "b.md")
        await told.paths(tmp_path / "later" / "b.md")


async def test_lost_events_mean_everything_and_nothing_is_printed(
    root: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    async with watch(root) as told:
        logging.getLogger("watchdog.observers.inotify_c").warning("Inotify queue overflowed")
        await told.assert_everything()
    assert capfd.readouterr().err == ""
    assert logging.getLogger("watchdog").handlers == []


@pytest.mark.skipif(sys.platform != "linux", reason="a queue of Linux")
def test_a_queue_that_really_overflows_means_everything(root: Path) -> None:
    queue = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if queue > 100_000:
        pytest.skip("the queue of this system is too long to fill")
    command = [sys.executable, "-m", "tests.unit.services.documents.watching_child", str(root)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == b"everything\n"
        os.kill(child.pid, signal.SIGSTOP)
        try:
            with (root / "a.md").open("w") as one, (root / "b.md").open("w") as other:
                for _ in range(queue):
                    # Equal events in a row would be one.
                    os.write(one.fileno(), b"x")
                    os.write(other.fileno(), b"x")
        finally:
            os.kill(child.pid, signal.SIGCONT)
        while (line := child.stdout.readline()) != b"everything\n":
            assert line
        output, errors = child.communicate(timeout=PATIENCE)
    assert (child.returncode, errors) == (0, b"")
    assert b"Traceback" not in output


async def test_too_many_paths_mean_everything(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_MOST_PATHS", 10)
    async with watch(root, quiet=0.5) as told:
        for number in range(30):
            old(root / f"{number}.md")
        await told.assert_everything()


async def test_everything_is_told_from_time_to_time(root: Path) -> None:
    async with watch(root, full_every=0.1) as told:
        await told.assert_everything()
        await told.assert_everything()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_watch_that_breaks_down_is_started_again(
    root: Path, fast: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = watching._told_as

    def failing(path: Path) -> Path | None:
        if path.name == "break.md":
            raise RuntimeError("as if by a fault of the library")
        return real(path)

    monkeypatch.setattr(watching, "_told_as", failing)
    async with watch(root) as told:
        old(root / "break.md")
        await told.assert_everything()
        old(root / "a.md")
        await told.paths(root / "a.md")


def no_events(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "has_events", lambda _path: False)


def no_observer(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> None:
        raise OSError(errno.EMFILE, "inotify instance limit reached")

    monkeypatch.setattr(watching, "Observer", failing)


def no_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Observer

    def limited() -> Any:
        observer = real()
        schedule = observer.schedule

        def full(handler: Any, path: str, **options: Any) -> Any:
            if path == os.sep:
                raise OSError(errno.ENOSPC, "inotify watch limit reached")
            return schedule(handler, path, **options)

        monkeypatch.setattr(observer, "schedule", full)
        return observer

    monkeypatch.setattr(watching, "Observer", limited)


@pytest.mark.parametrize(
    "limit",
    [
        no_events,
        no_observer,
        pytest.param(
            no_watches, marks=pytest.mark.skipif(sys.platform != "linux", reason="a limit of Linux")
        ),
    ],
)
async def test_without_events_folders_are_looked_through(
    root: Path,
    tmp_path: Path,
    fast: None,
    monkeypatch: pytest.MonkeyPatch,
    limit: Callable[[pytest.MonkeyPatch], None],
) -> None:
    limit(monkeypatch)
    (tmp_path / "outside").mkdir()
    (root / "out").symlink_to(tmp_path / "outside")
    async with watch(root) as told:
        assert [thread.name for thread in threading.enumerate() if "olling" in type(thread).__name__]
        old(tmp_path / "outside" / "secret.md")
        (root / "sub").mkdir()
        old(root / "sub" / "a.md")
        seen = await told.paths(root / "sub" / "a.md")
        assert not [path for path in seen if "secret" in path.name]
        (root / "sub" / "a.md").unlink()
        await told.paths(root / "sub" / "a.md")


async def test_all_threads_end_and_nothing_is_told_after_the_end(root: Path) -> None:
    before = set(threading.enumerate())
    told = Told()
    watcher = FolderWatcher([root], told, quiet=0.01)
    await watcher.start()
    await told.assert_everything()
    old(root / "a.md")
    await watcher.stop()
    # Threads of the loop's own executor stay for the next call.
    left = {thread for thread in set(threading.enumerate()) - before if "asyncio" not in thread.name}
    assert left == set()
    count = told.batches.qsize()
    old(root / "b.md")
    await asyncio.sleep(0)
    assert told.batches.qsize() == count
    await watcher.stop()
    await watcher.start()
    await told.assert_everything()
    old(root / "c.md")
    await told.paths(root / "c.md")
    await watcher.stop()


@pytest.mark.parametrize(
    ("kind", "events"),
    [("ext4", True), ("", True), ("fuseblk", True), ("nfs4", False), ("CIFS", False), ("fuse.sshfs", False)],
)
def test_network_file_systems_have_no_events(
    monkeypatch: pytest.MonkeyPatch, kind: str, events: bool
) -> None:
    mounts = [SimpleNamespace(mountpoint="/", fstype="ext4"), SimpleNamespace(mountpoint="/m", fstype=kind)]
    monkeypatch.setattr(psutil, "disk_partitions", lambda all: mounts)  # noqa: A006 - its name there
    assert has_events(Path("/m/folder")) is events
    assert has_events(Path("/more")) is True


FACTS = st.builds(FileFacts, st.just("/a"), st.integers(0, 3), st.integers(0, 5 * SECOND))


@given(st.one_of(st.none(), FACTS), FACTS, st.integers(0, 7 * SECOND))
def test_a_file_is_settled_when_it_is_old_or_did_not_change(
    before: FileFacts | None, after: FileFacts, now: int
) -> None:
    equal = before is not None and (before.size, before.modified_ns) == (after.size, after.modified_ns)
    assert settled(before, after, now) == (equal or now - after.modified_ns >= SECOND)


@dataclass
class Index:
    """The documents of a folder, kept up to date as a service does it."""

    root: Path
    documents: dict[str, KnownDocument] = field(default_factory=dict)
    rules: FolderRules = field(default_factory=lambda: FolderRules(lambda _name: True))
    last_id: int = 0

    def sync(self, changes: Changes) -> None:
        touched = {str(path) for path in changes or ()}
        compared = compare(self.documents.values(), scan(self.root, self.rules), touched)
        hashes = {}
        for file in compared.to_read:
            try:
                _, facts, sha256 = read_file(Path(file.facts.path), self.root)
            except DocumentRefused:
                continue
            hashes[file.facts.path] = HashedFile(facts, sha256)
        made = plan(compared, hashes)
        for document in made.missing:
            del self.documents[document.id]
        for match in (*made.refreshed, *made.moved, *made.changed):
            self.documents[match.document.id] = KnownDocument(
                match.document.id, match.file.facts, match.file.sha256
            )
        for added in made.added:
            self.last_id += 1
            self.documents[f"{self.last_id}"] = KnownDocument(f"{self.last_id}", added.facts, added.sha256)

    def paths(self) -> dict[str, str]:
        return {document.facts.path: document.sha256 for document in self.documents.values()}


def on_disk(root: Path) -> dict[str, str]:
    paths = [path for path in root.rglob("*") if path.is_file()]
    return {str(path): read_file(path, root).sha256 for path in paths}


def change_at_random(root: Path, dice: random.Random, times: int) -> None:
    """Creates, edits, replaces, renames, copies and deletes files and folders."""
    folders = [root, *(root / name for name in "abc"), root / "a" / "deep"]

    def anywhere() -> Path:
        return dice.choice(folders) / f"{dice.randrange(60)}.md"

    for _ in range(times):
        path, other, action = anywhere(), anywhere(), dice.randrange(8)
        path.parent.mkdir(parents=True, exist_ok=True)
        other.parent.mkdir(parents=True, exist_ok=True)
        if action < 3:
            path.write_text(f"{dice.randrange(50)}")
        elif action == 3:
            (root / "new.tmp").write_text(f"{dice.randrange(50)}")
            (root / "new.tmp").replace(path)
        elif action == 4 and path.exists():
            path.replace(other)
        elif action == 5 and path.exists():
            other.write_bytes(path.read_bytes())
        elif action == 6:
            path.unlink(missing_ok=True)
        elif dice.random() < 0.1 and (root / "b").exists():
            (root / "b").rename(root / f"d{dice.randrange(10**9)}")


@pytest.mark.parametrize(
    "times", [300, pytest.param(10_000, marks=[pytest.mark.soak, pytest.mark.timeout(1800)])]
)
@pytest.mark.parametrize("seed", [1, 2])
async def test_after_random_changes_the_index_equals_the_disk(root: Path, times: int, seed: int) -> None:
    index = Index(root)
    async with watch(root, quiet=0.1, longest=1) as told:
        writing = asyncio.create_task(asyncio.to_thread(change_at_random, root, random.Random(seed), times))
        while not writing.done():
            changes = await told.next() if not told.batches.empty() else frozenset[Path]()
            await asyncio.to_thread(index.sync, changes)
        await writing
        while index.paths() != await asyncio.to_thread(on_disk, root):
            changes = await asyncio.wait_for(told.batches.get(), 10)
            await asyncio.to_thread(index.sync, changes)
    assert index.paths() == on_disk(root)
