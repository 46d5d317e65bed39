"""The window with the tree of a conversation's branches."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static, Tree
from textual.widgets.tree import TreeNode

from atlas_desktop.locale import _, number
from atlas_desktop.services.branches import Stretch
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.keymap import Keymap, how_to
from atlas_desktop.tui.overlays import Covering
from models.messages import Role

_BOX, _BESIDE = 96, 34
"""The maximum width of the window, and the columns of a line that are not its text."""


class BranchTree(Tree[str]):
    """Each node is a stretch of messages; its data is the id of the first message."""


class BranchScreen(Covering, ModalScreen[str | None]):
    """Dismissed with the id of the message to go to, or None."""

    DEFAULT_CSS = """
    BranchScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 96; max-width: 96%; height: 80%; padding: 1 2;
            background: $surface; border: round $primary;
            border-title-color: $primary; border-title-style: bold; border-subtitle-color: $quiet;
        }
        Tree { height: 1fr; overflow-x: hidden; background: $surface; scrollbar-size-vertical: 1; }
        Tree:focus { background-tint: transparent; }
        .hint { color: $quiet; height: auto; margin-bottom: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", _("Close"))]

    def __init__(self, tree: Sequence[Stretch], messages: int, keymap: Keymap) -> None:
        super().__init__()
        self._stretches = tree
        self._messages = messages
        self._keymap = keymap

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Branches")
            box.border_subtitle = _("Enter opens · Esc closes")
            yield Static(Content(self._said()), classes="hint", markup=False)
            yield BranchTree("", id="tree")

    def _said(self) -> str:
        ends = sum(_ends(stretch) for stretch in self._stretches)
        if ends <= 1:
            return _(
                "{count} messages, no branches yet. To create one, edit a message ({edit}) or regenerate a "
                "reply ({regenerate}).",
                count=number(self._messages),
                edit=how_to("message.edit", self._keymap),
                regenerate=how_to("chat.regenerate", self._keymap),
            )
        return _(
            "{count} messages on {branches} branches. ● marks the current one.",
            count=number(self._messages),
            branches=ends,
        )

    def on_mount(self) -> None:
        tree = self.query_one(BranchTree)
        tree.show_root = False
        tree.guide_depth = 3
        room = min(_BOX, self.app.size.width * 24 // 25) - _BESIDE
        todo: list[tuple[TreeNode[str], Stretch]] = [(tree.root, each) for each in self._stretches]
        deepest: TreeNode[str] | None = None
        while todo:
            parent, stretch = todo.pop(0)
            made = parent.add(_label(stretch, room), data=stretch.nodes[0].id, expand=True)
            made.allow_expand = bool(stretch.ways)
            todo += [(made, each) for each in stretch.ways]
            if stretch.shown:
                deepest = made
        tree.root.expand()
        if deepest is not None:
            self.call_after_refresh(tree.move_cursor, deepest)
        tree.focus()

    def on_tree_node_selected(self, event: Tree.NodeSelected[str]) -> None:
        event.stop()
        self.dismiss(event.node.data)

    def action_cancel(self) -> None:
        self.dismiss(None)


def _ends(stretch: Stretch) -> int:
    return sum(_ends(way) for way in stretch.ways) if stretch.ways else 1


def _label(stretch: Stretch, room: int) -> Text:
    first = stretch.nodes[0]
    line = clean_line(" ".join(first.excerpt.split())) or _("(empty)")
    short = line if len(line) <= room else f"{line[: room - 1].rstrip()}…"
    who = _("You") if first.role is Role.USER else "Atlas"
    count = "  " + _("{count} messages", count=number(len(stretch.nodes))) if len(stretch.nodes) > 1 else ""
    return Text.assemble("● " if stretch.shown else "○ ", (who, "bold"), f" {short}", (count, "dim"))
