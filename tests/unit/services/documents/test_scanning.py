"""Scanning a folder: what is listed, what is skipped and why, and that it never fails."""

import os
import socket
import time
from pathlib import Path

import pytest

from atlas_desktop.services.documents import scanning
from atlas_desktop.services.documents.reading import open_folder
from atlas_desktop.services.documents.scanning import (
    FolderRules,
    FolderScan,
    SkippedPath,
    SkipReason,
    scan,
)
from memory.documents.entities import FileFacts

ALL = FolderRules(lambda _name: True)
TEXT = FolderRules(lambda name: name.endswith((".md", ".txt")))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


def write(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def names(found: FolderScan) -> list[str]:
    return [file.relative for file in found.files]


def test_files_are_listed_with_their_facts_in_order(root: Path) -> None:
    write(root, "b.md", "a/z.md", "a/a.txt", "ü ñ\n.md")
    found = scan(root, TEXT)
    assert names(found) == ["a/a.txt", "a/z.md", "b.md", "ü ñ\n.md"]
    state = (root / "b.md").stat()
    assert found.files[2].facts == FileFacts(
        str(root / "b.md"), 4, state.st_mtime_ns, state.st_dev, state.st_ino
    )
    assert (found.root, found.device) == (root, state.st_dev)
    assert (found.skipped, found.counts, found.unknown) == ((), {}, frozenset())


def test_what_is_skipped_is_named_with_a_reason(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, "a.md", "b.exe", "large.md")
    (root / "large.md").write_bytes(bytes(11))
    (root / "link.md").symlink_to(root / "a.md")
    (root / "dead.md").symlink_to(root / "nowhere")
    os.mkfifo(root / "fifo.md")
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.md")
        found = scan(root, FolderRules(TEXT.readable, largest=10))
    assert names(found) == ["a.md"]
    assert {skipped.where: skipped.reason for skipped in found.skipped} == {
        "b.exe": SkipReason.UNKNOWN_FORMAT,
        "dead.md": SkipReason.LINK,
        "fifo.md": SkipReason.SPECIAL,
        "large.md": SkipReason.TOO_LARGE,
        "link.md": SkipReason.LINK,
        "socket.md": SkipReason.SPECIAL,
    }
    assert found.unknown == frozenset()


def test_links_to_folders_are_not_entered(root: Path, tmp_path: Path) -> None:
    write(tmp_path, "outside/secret.md")
    write(root, "in/a.md")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "in" / "loop").symlink_to(root)
    found = scan(root, ALL)
    assert names(found) == ["in/a.md"]
    assert found.skipped == (
        SkippedPath("in/loop", SkipReason.LINK),
        SkippedPath("out", SkipReason.LINK),
    )


def test_the_root_may_be_a_link(root: Path, tmp_path: Path) -> None:
    write(root, "a.md")
    (tmp_path / "link").symlink_to(root)
    found = scan(tmp_path / "link", ALL)
    assert [file.facts.path for file in found.files] == [str(tmp_path / "link" / "a.md")]


def test_a_folder_that_becomes_a_link_is_not_entered(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "outside/secret.md")
    write(root, "a/a.md", "b/b.md")
    real = open_folder

    def replacing(name: str | Path, parent: int | None = None, *, follow: bool = False) -> int:
        if name == "a":
            (root / "a").rename(tmp_path / "moved")
            (root / "a").symlink_to(tmp_path / "outside")
        return real(name, parent, follow=follow)

    monkeypatch.setattr(scanning, "open_folder", replacing)
    found = scan(root, ALL)
    assert names(found) == ["b/b.md"]
    assert found.unknown == {"a"}


def test_hidden_and_temporary_files_are_only_counted(root: Path) -> None:
    write(
        root, "a.md", ".git/config", ".hidden.md", "a.md~", "~$a.docx", ".a.md.swp", "b.TMP", "c.crdownload"
    )
    found = scan(root, ALL)
    assert names(found) == ["a.md"]
    assert found.skipped == ()
    assert found.counts == {SkipReason.HIDDEN: 3, SkipReason.TEMPORARY: 4}
    listed = scan(root, FolderRules(ALL.readable, list_all=True))
    assert SkippedPath(".git", SkipReason.HIDDEN) in listed.skipped
    assert len(listed.skipped) == 7


def test_ignore_files_apply_where_they_are_and_below(root: Path) -> None:
    write(root, "a.md", "a.log", "out/x.md", "sub/a.log", "sub/keep.log", "sub/deep/keep.log", "sub/own.md")
    (root / ".gitignore").write_text("*.log\n/out/\n")
    (root / "sub" / ".gitignore").write_text("!keep.log\n/own.md\n")
    found = scan(root, ALL)
    assert names(found) == ["a.md", "sub/deep/keep.log", "sub/keep.log"]
    assert found.counts[SkipReason.IGNORED] == 4
    assert found.skipped == ()


def test_atlasignore_overrides_gitignore(root: Path) -> None:
    write(root, "a.md", "b.md")
    (root / ".gitignore").write_text("a.md")
    (root / ".atlasignore").write_text("!a.md\nb.md")
    assert names(scan(root, ALL)) == ["a.md"]


def test_include_and_exclude(root: Path) -> None:
    write(root, "a.md", "a.txt", "docs/b.md", "docs/c.txt", "private/d.md", "docs/old/e.md")
    (root / ".gitignore").write_text("!private/")
    rules = FolderRules(ALL.readable, include=("*.md", "docs/c.txt"), exclude=("/private/", "old"))
    assert names(scan(root, rules)) == ["a.md", "docs/b.md", "docs/c.txt"]


def test_unusable_patterns_are_named(root: Path) -> None:
    write(root, "a.md", "sub/b.md")
    (root / "sub" / ".gitignore").write_text("*a*b*c*d*\n")
    found = scan(root, FolderRules(ALL.readable, include=("*.md", "a\\"), exclude=("!",)))
    assert names(found) == ["a.md", "sub/b.md"]
    assert set(found.skipped) == {
        SkippedPath("a\\", SkipReason.BAD_PATTERN),
        SkippedPath("!", SkipReason.BAD_PATTERN),
        SkippedPath("sub/.gitignore", SkipReason.BAD_PATTERN),
    }


def test_ignore_files_that_cannot_be_read_are_named(root: Path, tmp_path: Path) -> None:
    write(tmp_path, "rules")
    write(root, "a.md", "sub/b.md", "sub2/c.md")
    (root / ".gitignore").symlink_to(tmp_path / "rules")
    os.mkfifo(root / "sub" / ".gitignore")
    (root / "sub2" / ".atlasignore").write_bytes(b"#" * 300_000)
    found = scan(root, ALL)
    assert names(found) == ["a.md", "sub/b.md", "sub2/c.md"]
    assert set(found.skipped) == {
        SkippedPath(".gitignore", SkipReason.BAD_PATTERN),
        SkippedPath("sub/.gitignore", SkipReason.BAD_PATTERN),
        SkippedPath("sub2/.atlasignore", SkipReason.TOO_LARGE),
    }


def test_a_name_that_is_not_text_is_skipped(root: Path) -> None:
    write(root, "a.md")
    try:
        Path(os.fsdecode(os.fsencode(root) + b"/bad\xff.md")).write_text("x")
    except OSError:
        pytest.skip("this file system takes only valid text as a name")
    found = scan(root, ALL)
    assert names(found) == ["a.md"]
    assert found.skipped == (SkippedPath("bad\ufffd.md", SkipReason.BAD_NAME),)


@pytest.mark.parametrize(
    ("error", "reason"),
    [(PermissionError(13, ""), SkipReason.UNREADABLE), (FileNotFoundError(2, ""), SkipReason.VANISHED)],
)
def test_a_folder_that_cannot_be_opened_is_unknown_and_the_others_are_read(
    root: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, reason: SkipReason
) -> None:
    write(root, "a/a.md", "b/b.md")
    real = open_folder

    def failing(name: str | Path, parent: int | None = None, *, follow: bool = False) -> int:
        if name == "a":
            raise error
        return real(name, parent, follow=follow)

    monkeypatch.setattr(scanning, "open_folder", failing)
    found = scan(root, ALL)
    assert names(found) == ["b/b.md"]
    assert found.skipped == (SkippedPath("a", reason),)
    assert found.unknown == {"a"}


def test_a_file_that_vanishes_is_unknown(root: Path) -> None:
    write(root, "a.md", "b.md")

    def readable(name: str) -> bool:
        if name == "a.md":
            (root / "a.md").unlink()
        return True

    found = scan(root, FolderRules(readable))
    assert names(found) == ["b.md"]
    assert found.unknown == {"a.md"}


@pytest.mark.parametrize("kind", ["missing", "file", "null byte"])
def test_a_root_that_is_no_folder(root: Path, kind: str) -> None:
    write(root, "file")
    given = root / {"missing": "none", "file": "file", "null byte": "a\0b"}[kind]
    found = scan(given, ALL)
    assert (found.files, found.device, found.unknown) == ((), 0, frozenset({""}))
    assert [skipped.where for skipped in found.skipped] == [""]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_without_permission(root: Path) -> None:
    write(root, "a.md", "locked/b.md")
    (root / "locked").chmod(0)
    found = scan(root, ALL)
    (root / "locked").chmod(0o700)
    assert names(found) == ["a.md"]
    assert found.unknown == {"locked"}


def test_depth_is_limited(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanning, "_MOST_DEPTH", 2)
    write(root, "1/2/a.md", "1/2/3/b.md")
    found = scan(root, ALL)
    assert names(found) == ["1/2/a.md"]
    assert found.skipped == (SkippedPath("1/2/3", SkipReason.TOO_DEEP),)


def test_the_deepest_folder_that_is_read_takes_no_more_than_a_hundred_descriptors(root: Path) -> None:
    deep = root.joinpath(*["d"] * 150)
    deep.mkdir(parents=True)
    found = scan(root, ALL)
    assert found.skipped == (SkippedPath("/".join(["d"] * 101), SkipReason.TOO_DEEP),)


def test_too_many_entries_end_the_scan(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, *(f"{n}.md" for n in range(5)))
    monkeypatch.setattr(scanning, "_MOST_ENTRIES", 4)
    found = scan(root, ALL)
    assert found.skipped == (SkippedPath("", SkipReason.TOO_MANY),)
    assert found.unknown == {""}


def test_without_open_folders_the_result_is_the_same(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, "a.md", "sub/b.md", "sub/c.log")
    (root / "sub" / ".gitignore").write_text("*.log")
    (root / "link").symlink_to(root / "sub")
    expected = scan(root, ALL)
    monkeypatch.setattr(scanning, "CAN_WALK", False)
    assert scan(root, ALL) == expected
    assert names(expected) == ["a.md", "sub/b.md"]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_no_descriptor_stays_open(root: Path) -> None:
    write(root, "a/b/c.md", "d.md")
    (root / "a" / ".gitignore").write_text("x")

    def count() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    before = count()
    scan(root, ALL)
    scan(root / "none", ALL)
    assert count() == before


@pytest.mark.alone
def test_two_thousand_files_take_less_than_a_fifth_of_a_second(root: Path) -> None:
    (root / ".gitignore").write_text("\n".join(f"*.x{n}\n/out{n}/" for n in range(10)))
    for folder in range(45):
        (root / f"{folder}").mkdir()
        for file in range(45):
            (root / f"{folder}" / f"{file}.md").touch()
    start = time.process_time()
    found = scan(root, TEXT)
    assert time.process_time() - start < 0.2
    assert len(found.files) == 2_025
