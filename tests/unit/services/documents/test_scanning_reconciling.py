"""Reconciling: single changes, and random histories of a model file system."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas_desktop.services.documents.scanning import (
    Comparison,
    FolderScan,
    HashedFile,
    KnownDocument,
    Plan,
    ScannedFile,
    compare,
    plan,
)
from memory.documents.entities import DocumentState, FileFacts

ROOT = Path("/root")
DEVICE = 7


def sha(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


@dataclass
class File:
    inode: int
    content: str
    modified: int


@dataclass
class Disk:
    """A model of a folder on a disk that gives inodes of deleted files to new ones if `reuse` is set."""

    reuse: bool = False
    files: dict[str, File] = field(default_factory=dict)
    clock: int = 0
    last_inode: int = 0
    spare: list[int] = field(default_factory=list)
    device: int = DEVICE

    def write(self, path: str, content: str) -> None:
        """Edits a file in place, or creates it."""
        self.clock += 1
        if path in self.files:
            self.files[path].content, self.files[path].modified = content, self.clock
        else:
            self.files[path] = File(self._inode(), content, self.clock)

    def save(self, path: str, content: str) -> None:
        """Replaces a file as editors do: by a new one that takes its name."""
        self.write("temporary", content)
        self.rename("temporary", path)

    def rename(self, path: str, to: str) -> None:
        file = self.files.pop(path)
        self.delete(to)
        self.files[to] = file

    def delete(self, path: str) -> None:
        if path in self.files:
            self.spare.append(self.files.pop(path).inode)

    def copy(self, path: str, to: str) -> None:
        self.write(to, self.files[path].content)

    def swap(self, path: str, other: str) -> None:
        self.files[path], self.files[other] = self.files[other], self.files[path]

    def touch(self, path: str) -> None:
        self.clock += 1
        self.files[path].modified = self.clock

    def _inode(self) -> int:
        if self.reuse and self.spare:
            return self.spare.pop()
        self.last_inode += 1
        return self.last_inode

    def scan(self, unknown: Iterable[str] = ()) -> FolderScan:
        files = [
            ScannedFile(path, self.facts(path))
            for path in sorted(self.files)
            if not any(PurePath(path).is_relative_to(part) for part in unknown)
        ]
        return FolderScan(ROOT, tuple(files), (), {}, frozenset(unknown), self.device)

    def facts(self, path: str) -> FileFacts:
        file = self.files[path]
        return FileFacts(str(ROOT / path), len(file.content), file.modified, self.device, file.inode)

    def hashes(self, compared: Comparison, unreadable: Iterable[str] = ()) -> dict[str, HashedFile]:
        return {
            file.facts.path: HashedFile(file.facts, sha(self.files[file.relative].content))
            for file in compared.to_read
            if file.relative not in unreadable
        }


@dataclass
class Index:
    """The stored documents, as a caller would keep them."""

    documents: dict[str, KnownDocument] = field(default_factory=dict)
    last_id: int = 0
    read: set[str] = field(default_factory=set)

    def sync(self, disk: Disk, unknown: Iterable[str] = (), unreadable: Iterable[str] = ()) -> Plan:
        compared = compare(self.documents.values(), disk.scan(unknown))
        self.read = {file.relative for file in compared.to_read}
        made = plan(compared, disk.hashes(compared, unreadable))
        ids = [
            *(match.document.id for match in (*made.refreshed, *made.moved, *made.changed)),
            *(document.id for document in (*made.unchanged, *made.missing, *made.unknown)),
            *(document.id for _, document in made.unreadable if document),
        ]
        assert len(ids) == len(set(ids)), "each document at most once"
        alive = {document.id for document in self.documents.values() if not document.gone}
        assert alive <= set(ids), "no document is forgotten"
        for match in (*made.refreshed, *made.moved, *made.changed):
            self.documents[match.document.id] = KnownDocument(
                match.document.id, match.file.facts, match.file.sha256
            )
        for document in made.missing:
            self.documents[document.id] = replace(document, state=DocumentState.MISSING)
        for file in made.added:
            self.last_id += 1
            self.documents[f"d{self.last_id}"] = KnownDocument(f"d{self.last_id}", file.facts, file.sha256)
        return made

    def at(self, path: str) -> str:
        [found] = [d.id for d in self.documents.values() if d.facts.path == str(ROOT / path) and not d.gone]
        return found

    def alive(self) -> list[tuple[str, str]]:
        return sorted((d.facts.path, d.sha256) for d in self.documents.values() if not d.gone)


def on(disk: Disk) -> list[tuple[str, str]]:
    return sorted((str(ROOT / path), sha(file.content)) for path, file in disk.files.items())


@pytest.fixture
def disk() -> Disk:
    made = Disk()
    for path in ("a.md", "b.md", "sub/c.md"):
        made.write(path, f"content of {path}")
    return made


@pytest.fixture
def index(disk: Disk) -> Index:
    made = Index()
    assert len(made.sync(disk).added) == 3
    return made


def test_what_did_not_change_is_not_read(disk: Disk, index: Index) -> None:
    made = index.sync(disk)
    assert index.read == set()
    assert len(made.unchanged) == 3
    assert replace(made, unchanged=()) == Plan()


def test_an_edited_file_keeps_its_document(disk: Disk, index: Index) -> None:
    ids = index.at("a.md"), index.at("b.md")
    disk.write("a.md", "in place")
    disk.save("b.md", "by a new file")
    made = index.sync(disk)
    assert index.read == {"a.md", "b.md"}
    assert tuple(match.document.id for match in made.changed) == ids
    assert index.alive() == on(disk)


def test_only_the_facts_change_when_the_content_is_equal(disk: Disk, index: Index) -> None:
    disk.touch("a.md")
    disk.save("b.md", "content of b.md")
    made = index.sync(disk)
    assert [match.file.facts.path for match in made.refreshed] == ["/root/a.md", "/root/b.md"]
    assert (made.changed, made.moved, made.added, made.missing) == ((), (), (), ())
    index.sync(disk)
    assert index.read == set()


def test_a_touched_file_is_read_in_any_case(disk: Disk, index: Index) -> None:
    compared = compare(index.documents.values(), disk.scan(), touched={"/root/a.md"})
    assert [file.relative for file in compared.to_read] == ["a.md"]


def test_a_renamed_file_keeps_its_document(disk: Disk, index: Index) -> None:
    before = index.at("a.md")
    disk.rename("a.md", "sub/new name.txt")
    made = index.sync(disk)
    assert [match.document.id for match in made.moved] == [before] == [index.at("sub/new name.txt")]
    assert (made.added, made.missing) == ((), ())


def test_a_case_only_rename_keeps_its_document(disk: Disk, index: Index) -> None:
    before = index.at("a.md")
    disk.rename("a.md", "A.md")
    assert len(index.sync(disk).moved) == 1
    assert index.at("A.md") == before


def test_swapped_names_swap_the_documents(disk: Disk, index: Index) -> None:
    a, b = index.at("a.md"), index.at("b.md")
    disk.swap("a.md", "b.md")
    made = index.sync(disk)
    assert (index.at("a.md"), index.at("b.md")) == (b, a)
    assert len(made.moved) == 2


def test_swapped_names_and_one_edit_at_once(disk: Disk, index: Index) -> None:
    a, b = index.at("a.md"), index.at("b.md")
    disk.swap("a.md", "b.md")
    disk.write("a.md", "edited")
    made = index.sync(disk)
    assert (index.at("a.md"), index.at("b.md")) == (b, a)
    assert (len(made.moved), len(made.changed)) == (1, 1)


def test_renamed_and_edited_at_once(disk: Disk, index: Index) -> None:
    before = index.at("a.md")
    disk.rename("a.md", "z.md")
    disk.write("z.md", "other content")
    [match] = index.sync(disk).changed
    assert (match.document.id, match.file.facts.path) == (before, "/root/z.md")
    assert index.alive() == on(disk)


def test_an_inode_that_is_used_again_for_another_type_is_no_rename(disk: Disk, index: Index) -> None:
    disk.reuse = True
    before = index.at("a.md")
    disk.delete("a.md")
    disk.write("z.pdf", "unrelated")
    made = index.sync(disk)
    assert [document.id for document in made.missing] == [before]
    assert [file.facts.path for file in made.added] == ["/root/z.pdf"]


def test_a_file_that_is_moved_to_another_disk_and_back_keeps_its_document(disk: Disk, index: Index) -> None:
    before = index.at("a.md")
    disk.write("x.md", "content of a.md")
    disk.delete("a.md")
    assert len(index.sync(disk).moved) == 1
    assert index.at("x.md") == before


def test_of_several_copies_the_one_with_the_same_name_is_the_document(disk: Disk, index: Index) -> None:
    before = index.at("a.md")
    for path in ("1.md", "new/a.md", "z.md"):
        disk.write(path, "content of a.md")
    disk.delete("a.md")
    made = index.sync(disk)
    assert index.at("new/a.md") == before
    assert len(made.added) == 2


def test_of_several_copies_the_renamed_one_is_the_document(disk: Disk, index: Index) -> None:
    before = index.at("a.md")
    disk.rename("a.md", "z.md")
    disk.copy("z.md", "new/a.md")
    index.sync(disk)
    assert index.at("z.md") == before


def test_a_copy_is_a_new_document(disk: Disk, index: Index) -> None:
    before = index.at("a.md")
    disk.copy("a.md", "copy.md")
    disk.save("a.md", "edited after the copy")
    made = index.sync(disk)
    assert index.at("a.md") == before
    assert [file.facts.path for file in made.added] == ["/root/copy.md"]


def test_a_file_that_is_renamed_over_another_replaces_it(disk: Disk, index: Index) -> None:
    a, b = index.at("a.md"), index.at("b.md")
    disk.rename("b.md", "a.md")
    made = index.sync(disk)
    assert index.at("a.md") == b
    assert [document.id for document in made.missing] == [a]


def test_a_file_in_whose_place_comes_a_folder(disk: Disk, index: Index) -> None:
    before = index.at("a.md")
    disk.delete("a.md")
    disk.write("a.md/inner.txt", "x")
    made = index.sync(disk)
    assert [document.id for document in made.missing] == [before]
    assert [file.facts.path for file in made.added] == ["/root/a.md/inner.txt"]


def test_a_missing_file_is_told_once_and_returns_as_the_same_document(disk: Disk, index: Index) -> None:
    before, file = index.at("a.md"), disk.files["a.md"]
    del disk.files["a.md"]
    assert [document.id for document in index.sync(disk).missing] == [before]
    assert index.sync(disk).missing == ()
    disk.files["a.md"] = file
    assert [match.document.id for match in index.sync(disk).refreshed] == [before]
    assert index.read == set()
    disk.delete("a.md")
    index.sync(disk)
    disk.write("elsewhere.md", "content of a.md")
    assert [match.document.id for match in index.sync(disk).moved] == [before]


def test_a_file_that_cannot_be_read_keeps_its_document_and_is_tried_again(disk: Disk, index: Index) -> None:
    before = index.at("a.md")
    disk.write("a.md", "edited")
    disk.write("new.md", "new")
    made = index.sync(disk, unreadable=["a.md", "new.md"])
    assert [(file.relative, document and document.id) for file, document in made.unreadable] == [
        ("a.md", before),
        ("new.md", None),
    ]
    assert (made.missing, made.added) == ((), ())
    index.sync(disk)
    assert index.read == {"a.md", "new.md"}
    assert index.alive() == on(disk)


def test_a_document_that_was_never_read_is_read(disk: Disk, index: Index) -> None:
    before = index.at("a.md")
    index.documents[before] = replace(index.documents[before], sha256="", state=DocumentState.FAILED)
    assert [match.document.id for match in index.sync(disk).changed] == [before]


def test_documents_in_a_folder_that_cannot_be_read_are_not_missing(disk: Disk, index: Index) -> None:
    inner = index.at("sub/c.md")
    disk.delete("a.md")
    made = index.sync(disk, unknown=["sub"])
    assert [document.id for document in made.unknown] == [inner]
    assert [document.facts.path for document in made.missing] == ["/root/a.md"]


@pytest.mark.parametrize("unmounted", [True, False])
def test_a_folder_that_is_gone_or_not_mounted_loses_no_document(unmounted: bool) -> None:
    index, disk = Index(), Disk()
    disk.write("a.md", "a")
    index.sync(disk)
    empty = Disk(device=DEVICE + 1) if unmounted else Disk()
    made = index.sync(empty, unknown=() if unmounted else [""])
    assert [document.facts.path for document in made.unknown] == ["/root/a.md"]
    assert made.missing == ()


def test_an_emptied_folder_loses_its_documents(disk: Disk, index: Index) -> None:
    assert len(index.sync(Disk()).missing) == 3


def test_the_number_of_a_device_may_change(disk: Disk, index: Index) -> None:
    disk.device += 1
    assert len(index.sync(disk).unchanged) == 3


def test_without_inodes_moves_are_found_by_content(disk: Disk, index: Index) -> None:
    for file in disk.files.values():
        file.inode = 0
    assert len(index.sync(disk).unchanged) == 3
    before = index.at("a.md")
    disk.rename("a.md", "z.md")
    index.sync(disk)
    assert index.at("z.md") == before


def test_many_equal_files_are_paired_fast() -> None:
    disk, index = Disk(), Index()
    for number in range(3_000):
        disk.write(f"{number}.md", "")
    index.sync(disk)
    for number in range(3_000):
        disk.rename(f"{number}.md", f"moved/{number}.md")
    assert len(index.sync(disk).moved) == 3_000


PATHS = ["a.md", "b.md", "c.txt", "sub/a.md", "sub/d.md"]
CONTENTS = ["", "one", "two", "six", "longer"]
_path, _content = st.sampled_from(PATHS), st.sampled_from(CONTENTS)
OPERATIONS = st.one_of(
    st.tuples(st.sampled_from(["write", "save"]), _path, _content),
    st.tuples(st.sampled_from(["rename", "copy", "swap"]), _path, _path),
    st.tuples(st.sampled_from(["delete", "touch"]), _path),
)
Operation = tuple[str, ...]


def apply(disk: Disk, operation: Operation) -> None:
    name, path, *rest = operation
    if name in {"rename", "copy", "swap", "touch"} and path not in disk.files:
        return
    if rest == [path] or (name == "swap" and rest[0] not in disk.files):
        return
    getattr(disk, name)(path, *rest)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.lists(OPERATIONS, max_size=8), min_size=1, max_size=6), st.booleans())
def test_after_any_history_the_index_equals_the_disk(rounds: list[list[Operation]], reuse: bool) -> None:
    disk, index = Disk(reuse=reuse), Index()
    for operations in rounds:
        for operation in operations:
            apply(disk, operation)
        index.sync(disk)
        assert index.alive() == on(disk)
        index.sync(disk)
        assert index.read == set()


@settings(max_examples=400, deadline=None)
@given(
    st.dictionaries(_path, _content, min_size=1),
    st.lists(st.one_of(st.tuples(st.sampled_from(["rename", "swap"]), _path, _path)), max_size=12),
    st.lists(st.tuples(_path, _content), max_size=3),
)
def test_a_document_follows_its_file_through_pure_renames(
    start: dict[str, str], renames: list[Operation], new: list[tuple[str, str]]
) -> None:
    disk, index = Disk(), Index()
    for path, content in start.items():
        disk.write(path, content)
    index.sync(disk)
    ids = {file.inode: index.at(path) for path, file in disk.files.items()}
    for operation in renames:
        apply(disk, operation)
    for path, content in new:
        if path not in disk.files:
            disk.write(path, content)
    index.sync(disk)
    after = {file.inode: index.at(path) for path, file in disk.files.items()}
    assert {inode: after[inode] for inode in ids if inode in after} == {
        inode: id_ for inode, id_ in ids.items() if inode in after
    }


@settings(max_examples=200, deadline=None)
@given(
    st.lists(OPERATIONS, max_size=8),
    st.lists(OPERATIONS, max_size=8),
    st.sets(st.sampled_from(["sub", "a.md"])),
    st.sets(_path),
)
def test_what_could_not_be_seen_is_caught_up_with(
    before: list[Operation], after: list[Operation], unknown: set[str], unreadable: set[str]
) -> None:
    disk, index = Disk(), Index()
    for operation in before:
        apply(disk, operation)
    index.sync(disk)
    for operation in after:
        apply(disk, operation)
    made = index.sync(disk, unknown, unreadable)
    hidden = tuple(str(ROOT / part) for part in unknown)
    assert not [document for document in made.missing if document.facts.path.startswith(hidden) and hidden]
    index.sync(disk)
    assert index.alive() == on(disk)
