"""Reading a file: what is read, what is refused, and that nothing outside the root is ever opened."""

import hashlib
import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.errors import DocumentRefused, Refusal
from atlas_desktop.services.documents import reading
from atlas_desktop.services.documents.reading import MOST_BYTES, read_file
from memory.documents.entities import FileFacts

linux = pytest.mark.skipif(not reading.CAN_WALK, reason="needs folders that are opened by descriptor")


def refusal(path: Path, root: Path | None = None, limit: int = MOST_BYTES) -> Refusal:
    with pytest.raises(DocumentRefused) as caught:
        read_file(path, root, limit)
    return caught.value.reason


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "inner").mkdir(parents=True)
    return tmp_path / "root"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    return tmp_path / "outside" / "secret.txt"


@pytest.mark.parametrize("size", [0, 1, 100_000, 3_000_000])
def test_a_file_is_read_with_its_facts_and_its_hash(root: Path, size: int) -> None:
    path = root / "inner" / "a.txt"
    content = os.urandom(size)
    path.write_bytes(content)
    state = path.stat()
    data, facts, sha256 = read_file(path, root)
    assert data == content
    assert facts == FileFacts(str(path), size, state.st_mtime_ns, state.st_dev, state.st_ino)
    assert sha256 == hashlib.sha256(content).hexdigest()
    assert read_file(path).data == content


def test_the_root_itself_may_be_a_link(root: Path, tmp_path: Path) -> None:
    (root / "inner" / "a.txt").write_text("a")
    (tmp_path / "link").symlink_to(root)
    assert read_file(tmp_path / "link" / "inner" / "a.txt", tmp_path / "link").data == b"a"


def test_what_is_not_there_or_not_a_file_is_refused(root: Path) -> None:
    (root / "file").write_text("x")
    assert refusal(root / "none.txt", root) is Refusal.MISSING
    assert refusal(root / "none" / "a.txt", root) is Refusal.MISSING
    assert refusal(root / "file" / "a.txt", root) is Refusal.NOT_A_FILE
    assert refusal(root / "inner", root) is Refusal.NOT_A_FILE
    assert refusal(root, root) is Refusal.NOT_A_FILE
    assert refusal(root / "nu\0ll", root) is Refusal.NOT_A_FILE
    assert refusal(root / "inner") is Refusal.NOT_A_FILE


def test_links_are_not_followed_wherever_they_lead(root: Path, secret: Path) -> None:
    (root / "link.txt").symlink_to(secret)
    (root / "folder").symlink_to(secret.parent)
    (root / "real.txt").write_text("x")
    (root / "near.txt").symlink_to(root / "real.txt")
    assert refusal(root / "link.txt", root) is Refusal.NOT_A_FILE
    assert refusal(root / "folder" / "secret.txt", root) is Refusal.NOT_A_FILE
    assert refusal(root / "near.txt", root) is Refusal.NOT_A_FILE
    assert refusal(root / "link.txt") is Refusal.NOT_A_FILE


def test_a_path_cannot_leave_the_root(root: Path, secret: Path) -> None:
    assert refusal(root / ".." / "outside" / "secret.txt", root) is Refusal.NOT_A_FILE
    assert refusal(root / "inner" / ".." / ".." / "outside" / "secret.txt", root) is Refusal.NOT_A_FILE
    assert refusal(secret, root) is Refusal.NOT_A_FILE


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no FIFOs")
def test_fifos_and_sockets_are_refused_at_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "fifo.txt")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.txt")
        assert refusal(root / "s.txt", root) is Refusal.NOT_A_FILE
    assert refusal(root / "fifo.txt", root) is Refusal.NOT_A_FILE


def test_a_device_is_refused_without_being_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("only root creates devices")
    os.mknod(root / "zero.txt", 0o20666, os.makedev(1, 5))
    opened: list[object] = []
    real = os.open

    def recording(name: Any, *args: Any, **kwargs: Any) -> int:
        opened.append(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(os, "open", recording)
    assert refusal(root / "zero.txt", root) is Refusal.NOT_A_FILE
    assert opened == [root]


def test_a_file_over_the_limit_is_refused_without_being_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sparse = root / "sparse.bin"
    with sparse.open("wb") as file:
        file.truncate(2_000_000_000)
    (root / "five").write_bytes(b"12345")
    assert read_file(root / "five", root, limit=5).data == b"12345"
    monkeypatch.setattr(os, "fdopen", lambda *_args, **_kwargs: pytest.fail("it was read"))
    assert refusal(sparse, root) is Refusal.TOO_LARGE
    with pytest.raises(DocumentRefused) as caught:
        read_file(root / "five", root, limit=4)
    assert (caught.value.reason, caught.value.limit, caught.value.name) == (Refusal.TOO_LARGE, 4, "five")


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.open("ab").write(b"more"),
        lambda path: os.truncate(path, 3),
        lambda path: os.utime(path, ns=(1, 1)),
    ],
    ids=["grows", "shrinks", "is written"],
)
def test_a_file_that_changes_while_it_is_read_is_refused(
    root: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], object]
) -> None:
    path = root / "a.txt"
    path.write_bytes(b"content")
    real = os.fdopen

    def changing(*args: Any, **kwargs: Any) -> Any:
        change(path)
        return real(*args, **kwargs)

    monkeypatch.setattr(os, "fdopen", changing)
    assert refusal(path, root) is Refusal.CHANGED


@linux
@pytest.mark.parametrize("replaced", ["file", "folder"])
def test_a_link_that_takes_the_place_of_what_was_checked_is_not_followed(
    root: Path, secret: Path, monkeypatch: pytest.MonkeyPatch, replaced: str
) -> None:
    path = root / "inner" / "secret.txt"
    path.write_text("harmless")
    real = os.stat

    def replacing(name: Any, **kwargs: Any) -> os.stat_result:
        state = real(name, **kwargs)
        if str(name).endswith("secret.txt"):
            if replaced == "file":
                path.unlink()
                path.symlink_to(secret)
            else:
                (root / "inner").rename(root / "old")
                (root / "inner").symlink_to(secret.parent)
        return state

    monkeypatch.setattr(os, "stat", replacing)
    if replaced == "file":
        assert refusal(path, root) is Refusal.NOT_A_FILE
    else:
        # The folder was already open: it is still the one below the root.
        assert read_file(path, root).data == b"harmless"


@linux
def test_a_file_that_is_replaced_before_it_is_opened_counts_as_changed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, other = root / "a.txt", root / "b.txt"
    path.write_text("a")
    other.write_text("b")
    real = os.stat

    def replacing(name: Any, **kwargs: Any) -> os.stat_result:
        state = real(name, **kwargs)
        other.replace(path)
        return state

    monkeypatch.setattr(os, "stat", replacing)
    assert refusal(path, root) is Refusal.CHANGED


def test_without_open_folders_links_are_refused_too(
    root: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "CAN_WALK", False)
    (root / "inner" / "a.txt").write_text("a")
    (root / "folder").symlink_to(secret.parent)
    (root / "link.txt").symlink_to(secret)
    assert read_file(root / "inner" / "a.txt", root).data == b"a"
    assert refusal(root / "folder" / "secret.txt", root) is Refusal.NOT_A_FILE
    assert refusal(root / "link.txt", root) is Refusal.NOT_A_FILE


def test_the_name_in_a_refusal_has_no_control_characters(root: Path) -> None:
    with pytest.raises(DocumentRefused) as caught:
        read_file(root / "a\x1b[31m\nb", root)
    assert caught.value.name == "a[31m b"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_no_descriptor_stays_open(root: Path, secret: Path) -> None:
    (root / "a.txt").write_text("a")
    (root / "link.txt").symlink_to(secret)
    before = len(list(Path("/proc/self/fd").iterdir()))
    read_file(root / "a.txt", root)
    for name in ("link.txt", "none.txt", "inner", "a.txt/x"):
        refusal(root / name, root)
    assert len(list(Path("/proc/self/fd").iterdir())) == before
