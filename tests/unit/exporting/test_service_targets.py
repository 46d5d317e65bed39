"""Files that appear whole or not at all, under names that every system takes."""

import io
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pyrage  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atlas_desktop.errors import BadRecipient, TargetExists, TargetRefused
from atlas_desktop.exporting.formats import LONGEST, Names, stem_of
from atlas_desktop.exporting.service import FileTarget, FolderTarget, Seal, SealedTarget, Target
from tests.unit.exporting.talks import TEXTS


@given(
    st.lists(
        TEXTS | st.sampled_from(["CON", "con.x", "aux", "a.", ".a", "..", "é" * 200, "A", "a", "-rf"]),
        max_size=8,
    )
)
def test_names_are_safe_everywhere_and_never_the_same(titles: list[str]) -> None:
    names = Names()
    given_out = [names.give(title, ".md") for title in titles]
    assert len({name.casefold() for name in given_out}) == len(titles)
    for name in given_out:
        assert len(name.encode()) <= LONGEST
        assert name.endswith(".md")
        assert not set(name) & set("<>:\"/\\|?*'`$&;\n\t\x1b\u202e")
        assert name[0] not in "-. "
        assert name.removesuffix(".md")[-1] not in ". …"
        assert name.split(".")[0].upper() not in {"CON", "AUX", "NUL", "PRN", "COM1", "LPT1"}


def test_a_title_stays_readable() -> None:
    assert stem_of("  Zürich: 3 Tage / Plan?  ") == "Zürich 3 Tage Plan"
    assert stem_of("") == stem_of("///") == stem_of("…") == "conversation"
    assert stem_of("My cat is…") == "My cat is"  # a title that was cut
    assert stem_of("con." + "a" * (LONGEST - 8) + "…b").endswith("a")
    assert stem_of("con." + "a" * (LONGEST - 6) + ".b").endswith("a")


def put(target: Target, *files: tuple[str, bytes]) -> tuple[Path, ...]:
    for name, content in files:
        target.add(name).write(content)
    return target.finish()


def test_a_file_is_its_owners_alone_and_appears_at_the_end(tmp_path: Path) -> None:
    target = FileTarget(tmp_path / "out.md")
    target.add("x.md").write(b"one")
    assert not (tmp_path / "out.md").exists()
    target.add("memories.md").write(b"two")
    assert target.finish() == (tmp_path / "out.md", tmp_path / "out-memories.md")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "out.md": b"one",
        "out-memories.md": b"two",
    }
    assert (tmp_path / "out.md").stat().st_mode & 0o777 == 0o600


def test_a_folder_is_its_owners_alone(tmp_path: Path) -> None:
    files = put(FolderTarget(tmp_path / "new" / "out"), ("a.md", b"1"), ("b.md", b"2"))
    assert [path.read_bytes() for path in files] == [b"1", b"2"]
    assert (tmp_path / "new" / "out").stat().st_mode & 0o777 == 0o700
    assert files[0].stat().st_mode & 0o777 == 0o600
    (tmp_path / "empty").mkdir()
    assert put(FolderTarget(tmp_path / "empty"), ("a.md", b"1"))[0].read_bytes() == b"1"


@pytest.mark.parametrize("kind", [FileTarget, FolderTarget])
def test_what_was_given_up_leaves_nothing(tmp_path: Path, kind: Callable[[Path], Target]) -> None:
    target = kind(tmp_path / "out")
    target.add("a.md").write(b"half")
    target.abandon()
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_replaced_unless_that_was_asked_for(tmp_path: Path) -> None:
    mine = tmp_path / "out.md"
    mine.write_text("mine")
    with pytest.raises(TargetExists):
        FileTarget(mine)
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir" / "a.md").write_text("mine")
    with pytest.raises(TargetExists):
        FolderTarget(tmp_path / "dir")
    late = FileTarget(tmp_path / "late.md")
    late.add("x").write(b"x")
    (tmp_path / "late.md").write_text("mine")
    with pytest.raises(TargetExists):
        late.finish()
    late.abandon()
    assert (tmp_path / "late.md").read_text() == mine.read_text() == "mine"
    put(FileTarget(mine, force=True), ("x", b"new"))
    put(FolderTarget(tmp_path / "dir", force=True), ("a.md", b"new"), ("b.md", b"b"))
    assert mine.read_bytes() == (tmp_path / "dir" / "a.md").read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dir", "late.md", "out.md"]


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "victim")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("link", "dangling"):
        with pytest.raises(TargetExists):
            FileTarget(tmp_path / name)
    put(FileTarget(tmp_path / "link", force=True), ("x", b"new"))
    assert (tmp_path / "victim").read_text() == "mine"
    assert not (tmp_path / "link").is_symlink()


def test_a_place_that_is_none_is_told(tmp_path: Path) -> None:
    target = FileTarget(tmp_path / "no" / "such" / "out.md")
    with pytest.raises(TargetRefused) as caught:
        target.add("x")
    assert caught.value.reason == os.strerror(2)
    (tmp_path / "file").write_text("")
    with pytest.raises(TargetRefused):
        FolderTarget(tmp_path / "file", force=True)


def test_one_document_is_encrypted_as_it_is_and_several_as_an_archive(tmp_path: Path) -> None:
    identity = pyrage.x25519.Identity.generate()
    seal = Seal(recipient=str(identity.to_public()))
    (one,) = put(SealedTarget(FileTarget(tmp_path / "one.age"), seal), ("a.md", b"content"))
    assert one.read_bytes().startswith(b"age-encryption.org/v1")
    assert pyrage.decrypt(one.read_bytes(), [identity]) == b"content"
    (many,) = put(SealedTarget(FileTarget(tmp_path / "m.age"), seal), ("a.md", b"1"), ("é.md", b"22"))
    with tarfile.open(fileobj=io.BytesIO(pyrage.decrypt(many.read_bytes(), [identity]))) as archive:
        assert {entry.name: entry.size for entry in archive} == {"a.md": 1, "é.md": 2}
        assert {entry.mode for entry in archive} == {0o600}


def test_a_passphrase_encrypts_and_is_shown_nowhere(tmp_path: Path) -> None:
    seal = Seal(passphrase="quiet green boats")
    assert "quiet" not in repr(seal)
    (file,) = put(SealedTarget(FileTarget(tmp_path / "x.age"), seal), ("a.md", b"content"))
    assert pyrage.passphrase.decrypt(file.read_bytes(), "quiet green boats") == b"content"


@pytest.mark.parametrize("text", ["", "age1nonsense", "ssh-ed25519 AAAA", "somebody@example.org"])
def test_who_is_no_recipient_is_refused_before_anything_is_written(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadRecipient):
        SealedTarget(FileTarget(tmp_path / "x.age"), Seal(recipient=text))
    assert list(tmp_path.iterdir()) == []
