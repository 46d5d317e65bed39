"""The preview of a folder as a tree."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from atlas_desktop.services.documents.scanning import (
    FolderRules,
    FolderScan,
    ScannedFile,
    SkippedPath,
    SkipReason,
    scan,
)
from atlas_desktop.tui.documents.actions import LISTED, Branch, Leaf, ScanTree, branch_of, leaves_of
from memory.documents.entities import FileFacts


def file(relative: str, length: int = 10) -> ScannedFile:
    return ScannedFile(relative, FileFacts(f"/{relative}", length, 1))


def scanned(files: list[ScannedFile], skipped: list[SkippedPath]) -> FolderScan:
    return FolderScan(Path("/home/ada/papers"), tuple(files), tuple(skipped), {}, frozenset(), 1)


def below(branch: Branch, above: str = "") -> Iterator[tuple[Branch, str]]:
    yield branch, above
    for inner in branch.folders.values():
        yield from below(inner, f"{above}{inner.name}/")


_NAMES = st.text("abc", min_size=1, max_size=2)
_PATHS = st.lists(_NAMES, min_size=1, max_size=4).map("/".join)


@given(st.sets(_PATHS), st.sets(_PATHS))
def test_each_file_stands_in_its_folder_and_is_counted_in_all_above(
    taken: set[str], skipped: set[str]
) -> None:
    found = scanned([file(one) for one in taken], [SkippedPath(one, SkipReason.HIDDEN) for one in skipped])
    folders = list(below(branch_of(found, "papers")))
    assert sorted(above + name for one, above in folders for name, _size in one.files) == sorted(taken)
    assert sorted(above + name for one, above in folders for name, _why in one.skipped) == sorted(skipped)
    for branch, above in folders:
        assert branch.taken == sum(one.startswith(above) for one in taken)
        assert branch.length == 10 * branch.taken
        assert branch.left_out == sum(one.startswith(above) for one in skipped)


def test_a_rule_that_is_not_usable_stands_at_the_top() -> None:
    root = branch_of(scanned([], [SkippedPath("a/[", SkipReason.BAD_PATTERN)]), "papers")
    assert root.folders == {}
    assert [*leaves_of(root)] == [Leaf("a/[", "is not a valid rule and was ignored", taken=False)]


def test_a_folder_lists_so_many_files_and_tells_how_many_more() -> None:
    root = branch_of(scanned([file(f"{n:04}.md") for n in range(LISTED + 12)], []), "papers")
    leaves = [*leaves_of(root)]
    assert len(leaves) == LISTED + 1
    assert leaves[-1] == Leaf("… and 12 more")


class Shown(App[None]):
    def compose(self) -> ComposeResult:
        yield ScanTree()

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return {"quiet": "#888888"}


def lines(tree: ScanTree) -> list[str]:
    """The open lines of a tree, without guides."""
    found = []
    for number in range(tree.last_line + 1):
        node = tree.get_node_at_line(number)
        assert node is not None
        found.append(tree.render_label(node, tree.rich_style, tree.rich_style).plain.strip())
    return found


@pytest.fixture
def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    (folder / "talks" / "2024").mkdir(parents=True)
    (folder / "drafts").mkdir()
    for name in ("ferries.md", "photo.raw", ".hidden", "talks/one.md", "talks/2024/two.md", "drafts/old.md"):
        (folder / name).write_text("words " * 10)
    return folder


def look(papers: Path) -> Branch:
    rules = FolderRules(lambda name: name.endswith(".md"), exclude=("drafts/",), list_all=True)
    return branch_of(scan(papers, rules), papers.name)


async def opened(pilot: Pilot[None], tree: ScanTree) -> list[str]:
    await pilot.pause()
    return lines(tree)


async def test_a_small_folder_is_open_with_counts_and_reasons(papers: Path) -> None:
    async with Shown().run_test(size=(80, 24)) as pilot:
        tree = pilot.app.query_one(ScanTree)
        tree.show(look(papers))
        assert await opened(pilot, tree) == [
            "▾ papers/  3 files (180 bytes) · 3 skipped",
            "▾ talks/  2 files (120 bytes)",
            "▾ 2024/  1 file (60 bytes)",
            "✓ two.md  60 bytes",
            "✓ one.md  60 bytes",
            "✓ ferries.md  60 bytes",
            "✗ .hidden  is hidden",
            "✗ drafts  is excluded by a rule",
            "✗ photo.raw  has an unknown format",
        ]


async def test_folders_of_a_large_one_open_with_keys_and_the_mouse() -> None:
    files = [file(f"a/b/{n:03}.md") for n in range(60)] + [file("z.md")]
    async with Shown().run_test(size=(80, 24)) as pilot:
        tree = pilot.app.query_one(ScanTree)
        tree.show(branch_of(scanned(files, []), "papers"))
        assert await opened(pilot, tree) == [
            "▾ papers/  61 files (610 bytes)",
            "▸ a/  60 files (600 bytes)",
            "✓ z.md  10 bytes",
        ]
        tree.focus()
        await pilot.press("down", "right")
        assert "▸ b/  60 files (600 bytes)" in await opened(pilot, tree)
        await pilot.press("down", "enter")
        assert len(await opened(pilot, tree)) == 64
        await pilot.press("left", "left", "left")
        assert len(await opened(pilot, tree)) == 3
        await pilot.click(ScanTree, offset=(8, 1))
        assert len(await opened(pilot, tree)) == 4
        tree.show(None)
        await pilot.pause()
        assert not tree.show_root
