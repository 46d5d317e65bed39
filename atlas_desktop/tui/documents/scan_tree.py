"""The preview of a folder as a tree: what a scan takes, and what it skips, with the reason."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from atlas_desktop.errors import size
from atlas_desktop.locale import _, ngettext, number
from atlas_desktop.phrases.documents import scan_reason
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.documents.scanning import FolderScan, SkipReason
from memory.jobs.foreground_gate import Gently

LISTED = 300
"""Files of one folder that are listed: as many that would be read, and as many skipped ones."""
_ALL_OPEN = 40
"""Lines up to which all folders are open from the beginning."""


@dataclass(slots=True)
class Branch:
    """A folder: the folders and files in it, and what is below it altogether.

    `files` are names with their sizes in bytes; `skipped` are names, of folders also, with the reasons.
    `taken` is the number of files below it, `length` their bytes, `left_out` the number of what is skipped.
    """

    name: str
    folders: "dict[str, Branch]" = field(default_factory=dict)
    files: list[tuple[str, int]] = field(default_factory=list)
    skipped: list[tuple[str, SkipReason]] = field(default_factory=list)
    taken: int = 0
    length: int = 0
    left_out: int = 0

    @property
    def lines(self) -> int:
        """The number of lines below it if all folders are open."""
        inside = sum(1 + one.lines for one in self.folders.values())
        return inside + len(self.files) + len(self.skipped)


def branch_of(found: FolderScan, name: str) -> Branch:
    """Arranges what a scan found by folders. Blocks, some 10 ms per 1,000 files: call it in a thread."""
    root = Branch(name)
    for one in Gently(found.files):
        above = [*_path(root, one.relative)]
        above[-1].files.append((one.relative.rpartition("/")[2], one.facts.size))
        for branch in above:
            branch.taken += 1
            branch.length += one.facts.size
    for skipped in Gently(found.skipped):
        # A rule is no path, even with slashes in it.
        is_rule = skipped.reason is SkipReason.BAD_PATTERN
        above = [root] if is_rule else [*_path(root, skipped.where)]
        name = skipped.where if is_rule else skipped.where.rpartition("/")[2]
        above[-1].skipped.append((name, skipped.reason))
        for branch in above:
            branch.left_out += 1
    return root


def _path(root: Branch, relative: str) -> Iterator[Branch]:
    """Yields the folders in which a file is, from the root on; makes those that are missing."""
    yield root
    for name in relative.split("/")[:-1]:
        root = root.folders.setdefault(name, Branch(name))
        yield root


@dataclass(frozen=True, slots=True)
class Leaf:
    """A line below a folder. `taken` is None for a remark."""

    words: str
    facts: str = ""
    taken: bool | None = None


def leaves_of(branch: Branch) -> Iterator[Leaf]:
    """Yields the files of a folder, then what is skipped in it, then how many more there are."""
    for name, length in branch.files[:LISTED]:
        yield Leaf(clean_line(name), size(length), taken=True)
    for name, reason in branch.skipped[:LISTED]:
        yield Leaf(clean_line(name), scan_reason(reason), taken=False)
    more = max(len(branch.files) - LISTED, 0) + max(len(branch.skipped) - LISTED, 0)
    if more:
        yield Leaf(_("… and {count} more", count=number(more)))


def counts_text(branch: Branch) -> str:
    """Returns how many files of a folder would be read, and how many things are skipped."""
    parts = []
    if branch.taken:
        length = size(branch.length)
        parts.append(ngettext("1 file ({bytes})", "{count} files ({bytes})", branch.taken, bytes=length))
    if branch.left_out:
        parts.append(ngettext("{count} skipped", "{count} skipped", branch.left_out))
    return " · ".join(parts) or _("empty")


class ScanTree(Tree[Branch | Leaf]):
    """Folders with the numbers of files in them; their content is added when they are opened."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"scan-tree--taken", "scan-tree--skipped", "scan-tree--facts"}
    DEFAULT_CSS = """
    ScanTree {
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 1;
        & > .scan-tree--taken { color: $success; }
        & > .scan-tree--skipped { color: $warning; }
        & > .scan-tree--facts { color: $quiet; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "toggle_node", _("Open or close")),
        Binding("right", "open(True)", show=False),
        Binding("left", "open(False)", show=False),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__("", id=id)
        self.show_root = False
        self.guide_depth = 2

    def show(self, branch: Branch | None) -> None:
        """Shows another folder, or none."""
        self.reset("", branch)
        self.show_root = branch is not None
        self.scroll_home(animate=False)
        if branch is not None:
            self._fill(self.root, branch, all_open=branch.lines <= _ALL_OPEN)
            self.root.expand()
            self.cursor_line = 0

    def _fill(self, node: TreeNode[Branch | Leaf], branch: Branch, *, all_open: bool) -> None:
        """Adds the content of a folder."""
        for inner in branch.folders.values():
            added = node.add("", inner, expand=all_open)
            if all_open:
                self._fill(added, inner, all_open=True)
        for leaf in leaves_of(branch):
            node.add_leaf("", leaf)

    def on_tree_node_expanded(self, event: Tree.NodeExpanded[Branch | Leaf]) -> None:
        event.stop()
        if isinstance(event.node.data, Branch) and not event.node.children:
            self._fill(event.node, event.node.data, all_open=False)

    def action_open(self, is_open: bool) -> None:  # noqa: FBT001 - called by a key
        """Opens the folder under the cursor; closes it, or else the one that it is in."""
        node = self.cursor_node
        if node is None:
            return
        if is_open:
            node.expand()
        elif node.is_expanded and node.allow_expand:
            node.collapse()
        else:
            self.action_cursor_parent()

    def render_label(self, node: TreeNode[Branch | Leaf], base_style: Style, style: Style) -> Text:
        text = Text()
        match node.data:
            case Branch() as branch:
                text.append("▾ " if node.is_expanded else "▸ ", base_style)
                text.append(f"{clean_line(branch.name)}/", "bold")
                text.append(f"  {counts_text(branch)}", self._look("facts"))
            case Leaf(words, facts, taken):
                if taken is not None:
                    text.append("✓ " if taken else "✗ ", self._look("taken" if taken else "skipped"))
                text.append(words)
                text.append(f"  {facts}", self._look("facts"))
        text.stylize(style)
        return text

    def _look(self, name: str) -> Style:
        return self.get_component_rich_style(f"scan-tree--{name}", partial=True)
