"""Changes the library from the Documents view, and the windows that ask what to add or watch."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rich.style import Style
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Button, Input, OptionList, Select, Static, Tree
from textual.widgets.option_list import Option
from textual.widgets.tree import TreeNode

from atlas_desktop.errors import size
from atlas_desktop.locale import _, ngettext, number, quoted
from atlas_desktop.phrases import scan_reason
from atlas_desktop.services.attachments import typed_path
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.documents.scanning import FolderScan, SkipReason
from atlas_desktop.tui.dialogs.forms import TextEditScreen
from atlas_desktop.tui.dialogs.questions import Choice, ConfirmScreen, PickScreen
from atlas_desktop.tui.documents.rows import Row, on_missing_text, short_path, title_text
from atlas_desktop.tui.widgets import CleanInput, Tick, Window
from memory.documents.entities import OnMissing
from memory.errors import DocumentHasFile
from memory.jobs.foreground_gate import Gently

if TYPE_CHECKING:
    from atlas_desktop.services.documents.library import AddReport
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.documents.entities import Document, WatchedFolder


LISTED = 300
"""Files of one folder that are listed: as many that would be read, and as many skipped ones."""
_ALL_OPEN = 40
"""Lines up to which all folders are open from the beginning."""


@dataclass(slots=True)
class Branch:
    """A folder: the folders and files in it, and everything below it.

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
        # A rule is not a path, even if it contains slashes.
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


_OFFERED = 6
_PAUSE_S = 0.3

_CSS = """
{name} {{
    .box {{ width: 84; padding: 0 2; scrollbar-size-vertical: 1; }}
    .name {{ height: 1; padding-left: 1; }}
    .hint {{ color: $quiet; height: auto; padding: 0 1; }}
    .problem {{ color: $error; height: auto; padding: 0 1; display: none; }}
    .problem.-shown {{ display: block; }}
    .pair {{ height: auto; }}
    .pair > Vertical {{ width: 1fr; height: auto; }}
    .buttons {{ height: auto; align-horizontal: right; }}
    Button {{ margin-left: 2; min-width: 10; }}
    Tick {{ padding: 0 1; }}
    Select {{ height: auto; padding: 0 1; }}
}}
"""


def completions(typed: str, *, folders_only: bool = False) -> list[str]:
    """Returns the paths that begin with what is typed, at most a few; folders end with a separator.

    Accesses the disk.
    """
    if not typed:
        return []
    head, tail = os.path.split(typed)
    try:
        folder = Path(head or ".").expanduser()
        with os.scandir(folder) as found:
            entries = [
                (entry.name, entry.is_dir())
                for entry in found
                if entry.name.startswith(tail) and (tail.startswith(".") or not entry.name.startswith("."))
            ]
    except (OSError, RuntimeError, ValueError):
        # There is no such folder, or it cannot be read: there is nothing to complete.
        return []
    names = sorted(
        name + os.sep if is_folder else name for name, is_folder in entries if is_folder or not folders_only
    )
    return [os.path.join(head, name) for name in names[:_OFFERED]]  # noqa: PTH118 - keeps ~ and ./ as typed


class PathField(Vertical):
    """A field for a path. Below it are the paths that complete it: Tab takes the first, a click any."""

    DEFAULT_CSS = """
    PathField {
        height: auto;
        OptionList {
            height: auto; max-height: 6; margin: 0 1; padding: 0; border: none; background: $panel;
            display: none; scrollbar-size-vertical: 1; text-wrap: nowrap; text-overflow: ellipsis;
        }
        OptionList.-some { display: block; }
    }
    """

    class Field(CleanInput):
        """Tab completes the path while there is something to complete."""

        BINDINGS: ClassVar[list[BindingType]] = [
            Binding("tab", "complete", show=False, priority=True, system=True),
            Binding("down", "offers", show=False),
        ]

        def action_complete(self) -> None:
            field = self.parent
            if not isinstance(field, PathField) or not field.complete():
                self.screen.focus_next()

        def action_offers(self) -> None:
            self.screen.focus_next()

    def __init__(self, app: "BaseApp", *, placeholder: str, folders_only: bool = False) -> None:
        super().__init__()
        self._app = app
        self._folders_only = folders_only
        self._input = self.Field(placeholder=placeholder, id="path", select_on_focus=False)
        self._offers = OptionList(markup=False)
        self._found: list[str] = []

    def compose(self) -> ComposeResult:
        yield self._input
        yield self._offers

    @property
    def path(self) -> str:
        return typed_path(self._input.value)

    def complete(self) -> bool:
        """Completes the path as far as all offers agree, or else to the first; returns whether it changed."""
        if not self._found:
            return False
        first, last = min(self._found), max(self._found)
        same = next((at for at, sign in enumerate(first) if sign != last[at : at + 1]), len(first))
        self._put(first[:same] if same > len(self._input.value) else self._found[0])
        return True

    def _put(self, path: str) -> None:
        self._input.value = path
        self._input.cursor_position = len(path)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._app.attempt(partial(self._look, event.value), group="path", exclusive=True)

    async def _look(self, typed: str) -> None:
        found = await asyncio.to_thread(completions, typed, folders_only=self._folders_only)
        if not self.is_attached or typed != self._input.value:
            return
        self._found = [one for one in found if one != typed]
        self._offers.clear_options()
        self._offers.add_options([Option(clean_line(one)) for one in self._found])
        self._offers.set_class(bool(self._found), "-some")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._put(self._found[event.option_index])
        self._input.focus()


@dataclass(frozen=True, slots=True)
class ToAdd:
    """A file or folder to add, and whether the room keeps a copy."""

    path: str
    copy: bool


class AddScreen(Window[ToAdd | None]):
    """Dismissed with what to add, or None."""

    DEFAULT_CSS = _CSS.format(name="AddScreen")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", _("Cancel"))]

    def __init__(self, app: "BaseApp") -> None:
        super().__init__()
        self._path = PathField(app, placeholder=_("Path of a file or a folder"))

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Add documents")
            box.border_subtitle = _("Enter adds · Tab completes · Esc cancels")
            yield Static(
                _("A file, or everything below a folder, once. The files stay where they are."),
                classes="hint",
                markup=False,
            )
            yield self._path
            yield Tick(_("Also keep a copy of each file in the room"), id="copy")
            yield Static(_("There is no such file or folder."), classes="problem", markup=False)
            with Horizontal(classes="buttons"):
                yield Button(_("Cancel"), id="no", compact=True)
                yield Button(_("Add"), id="yes", variant="primary", compact=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._submit()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "yes":
            self._submit()
        else:
            self.dismiss(None)

    def _submit(self) -> None:
        path = self._path.path
        if path and _exists(path):
            self.dismiss(ToAdd(path, self.query_one(Tick).value))
        else:
            self.query_one(".problem").add_class("-shown")
            self._path.query_one(Input).focus()

    def action_cancel(self) -> None:
        self.dismiss(None)


@dataclass(frozen=True, slots=True)
class ToWatch:
    """A folder to watch, and its rules."""

    path: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    on_missing: OnMissing


class WatchScreen(Window[ToWatch | None]):
    """Dismissed with the folder to watch, or None. It shows what would be read before anything is."""

    DEFAULT_CSS = (
        _CSS.format(name="WatchScreen")
        + """
    WatchScreen {
        #preview {
            height: 7; border: round $border-blurred; padding: 0 1; background: $surface;
            &:focus { border: round $border; background-tint: transparent; }
        }
        &.-tall #preview { height: 16; }
        #counts { height: 1; padding: 0 1; }
    }
    """
    )
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-short"), (36, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", _("Cancel"))]

    def __init__(self, app: "BaseApp", room: "RoomServices") -> None:
        super().__init__()
        self.atlas = app
        self._room = room
        self._timer: Timer | None = None
        self._seen: ToWatch | None = None
        """What the preview shows."""
        self._path = PathField(app, placeholder=_("Path of a folder"), folders_only=True)

    def compose(self) -> ComposeResult:
        choices = [(on_missing_text(one), one.value) for one in OnMissing]
        with VerticalScroll(classes="box", can_focus=False) as box:
            box.border_title = _("Watch a folder")
            box.border_subtitle = _("Enter previews, then watches · Tab completes · Esc cancels")
            yield self._path
            with Horizontal(classes="pair"):
                with Vertical():
                    yield Static(_("Only files like (empty: all)"), classes="name", markup=False)
                    yield CleanInput(placeholder="*.md, papers/**", id="include", select_on_focus=False)
                with Vertical():
                    yield Static(_("Not files like"), classes="name", markup=False)
                    yield CleanInput(placeholder="drafts/, *.log", id="exclude", select_on_focus=False)
            yield Static(_("If a file is gone"), classes="name", markup=False)
            yield Select(choices, value=OnMissing.KEEP.value, allow_blank=False, id="missing", compact=True)
            yield Static(_("Type a path to see what would be read."), id="counts", markup=False)
            yield ScanTree(id="preview")
            with Horizontal(classes="buttons"):
                yield Button(_("Cancel"), id="no", compact=True)
                yield Button(_("Watch"), id="yes", variant="primary", compact=True)

    @property
    def _chosen(self) -> ToWatch:
        missing = self.query_one("#missing", Select)
        return ToWatch(
            self._path.path,
            _patterns(self.query_one("#include", Input).value),
            _patterns(self.query_one("#exclude", Input).value),
            OnMissing(str(missing.value)),
        )

    def on_input_changed(self, _event: Input.Changed) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(_PAUSE_S, self._look)

    def _look(self) -> None:
        if self.is_attached:
            self.atlas.attempt(self._preview, group="preview", exclusive=True)

    async def _preview(self) -> None:
        chosen = self._chosen
        if not chosen.path or not await asyncio.to_thread(_is_folder, chosen.path):
            words = (
                _("There is no such folder.") if chosen.path else _("Type a path to see what would be read.")
            )
            self._show(words, None)
            return
        found = await self._room.documents.preview(
            chosen.path, include=chosen.include, exclude=chosen.exclude
        )
        branch = await asyncio.to_thread(branch_of, found, found.root.name)
        if self.is_attached and chosen.path == self._path.path:
            self._seen = chosen
            self._show(_counts(found), branch)

    def _show(self, words: str, branch: Branch | None) -> None:
        if not self.is_attached:
            return
        self.query_one("#counts", Static).update(Content(words))
        self.query_one(ScanTree).show(branch)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._submit()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "yes":
            self._submit()
        else:
            self.dismiss(None)

    def _submit(self) -> None:
        """Watches the folder if the preview of it is shown; otherwise shows the preview."""
        chosen = self._chosen
        if not chosen.path or not _is_folder(chosen.path):
            self._show(_("There is no such folder."), None)
            self._path.query_one(Input).focus()
        elif chosen == self._seen:
            self.dismiss(chosen)
        else:
            self._look()

    def on_key(self, event: events.Key) -> None:
        if event.key == "ctrl+s":
            event.stop()
            self._submit()

    def action_cancel(self) -> None:
        self.dismiss(None)


def _patterns(text: str) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip())


def _exists(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, RuntimeError, ValueError):
        return False


def _is_folder(path: str) -> bool:
    try:
        return Path(path).expanduser().is_dir()
    except (OSError, RuntimeError, ValueError):
        return False


def _counts(found: "FolderScan") -> str:
    taken = ngettext(
        "{count} file would be read ({bytes})",
        "{count} files would be read ({bytes})",
        len(found.files),
        bytes=size(sum(one.facts.size for one in found.files)),
    )
    return f"{taken} · {ngettext('{count} skipped', '{count} skipped', len(found.skipped))}"


GROUP = "documents-change"
_NAMED = 5


class DocumentActions:
    """Acts on the row that is `marked` or on the `chosen` documents.

    `reload` reads the list again after a change, and selects a document unless it is given none;
    `tell_progress` shows what is being read, empty at the end.
    """

    def __init__(
        self,
        app: "BaseApp",
        room: "RoomServices",
        *,
        marked: Callable[[], Row | None],
        chosen: "Callable[[], Sequence[Document]]",
        reload: Callable[[str], None],
        tell_progress: Callable[[str], None],
    ) -> None:
        self._app = app
        self._room = room
        self._marked = marked
        self._chosen = chosen
        self._reload = reload
        self._tell_progress = tell_progress

    def _do(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._app.attempt(work, group=GROUP)

    # --- reading files ------------------------------------------------------------------------------

    def add(self) -> None:
        self._do(self._add)

    async def _add(self) -> None:
        wanted = await self._app.push_screen_wait(AddScreen(self._app))
        if wanted is not None:
            await self._reading(
                self._room.documents.add([wanted.path], copy=wanted.copy, progress=self._progress),
                select=True,
            )

    def watch(self) -> None:
        self._do(self._watch)

    async def _watch(self) -> None:
        wanted = await self._app.push_screen_wait(WatchScreen(self._app, self._room))
        if wanted is not None:
            await self._reading(
                self._room.documents.watch(
                    wanted.path,
                    include=wanted.include,
                    exclude=wanted.exclude,
                    on_missing=wanted.on_missing,
                    progress=self._progress,
                )
            )

    def rescan(self) -> None:
        """Looks for changed files: in the marked folder, or everywhere."""
        row = self._marked()
        folder = None if row is None else row.folder
        self._do(partial(self._rescan, folder))

    async def _rescan(self, folder: "WatchedFolder | None") -> None:
        await self._reading(
            self._room.documents.rescan(None if folder is None else folder.id, progress=self._progress)
        )

    def _progress(self, name: str, done: int, total: int | None) -> None:
        name = clean_line(name)
        self._tell_progress(
            _("Reading {done}: {name}", done=number(done), name=name)
            if total is None
            else _("Reading {done} of {total}: {name}", done=number(done), total=number(total), name=name)
        )

    async def _reading(self, work: "Coroutine[Any, Any, AddReport]", *, select: bool = False) -> None:
        """Waits until the files are read, and reports the result. With `select`, selects a new document."""
        self._tell_progress(_("Looking for files …"))
        new = ""
        try:
            report = await work
            new = report.documents[0] if select and report.added else ""
        finally:
            self._tell_progress("")
            self._reload(new)
        self._app.say(added_text(report), anywhere=True)

    # --- folders ------------------------------------------------------------------------------------

    def unwatch(self) -> None:
        row = self._marked()
        if row is not None and row.folder is not None:
            folder, inside = row.folder, len(row.documents)
            self._do(partial(self._unwatch, folder, inside))

    async def _unwatch(self, folder: "WatchedFolder", inside: int) -> None:
        kept = _("They stay as they are; changes of the files are no longer followed.")
        gone = _("With everything made from them. The files on your disk stay.")
        choices = [
            Choice("keep", ngettext("Keep its document", "Keep its {count} documents", inside), kept),
            Choice("remove", ngettext("Remove its document", "Remove its {count} documents", inside), gone),
        ]
        title = _("Stop watching {path}?", path=short_path(folder.path))
        how = await self._app.push_screen_wait(PickScreen(title, choices))
        if how is None:
            return
        held = await self._room.store.documents.list(folder=folder.id)
        await self._room.documents.unwatch(folder)
        if how == "remove":
            await self._erase([one.id for one in held])
        else:
            self._app.say(_("No longer watched. Its documents are kept."))
        self._reload("")

    # --- documents ----------------------------------------------------------------------------------

    def remove(self) -> None:
        """Removes the chosen documents, or detaches the marked text; asks first."""
        row, chosen = self._marked(), list(self._chosen())
        if row is not None and row.attached is not None and not chosen:
            self._do(partial(self._detach, row))
        elif chosen:
            self._do(partial(self._remove, chosen))

    async def _remove(self, chosen: "list[Document]") -> None:
        names = [quoted(title_text(one)) for one in chosen[:_NAMED]]
        if len(chosen) > _NAMED:
            names.append(_("… and {count} more", count=number(len(chosen) - _NAMED)))
        about = _(
            "Removed with everything made from it: its text, its summary, its passages in prompts, and the "
            "source lines of replies that cite it. "
            "The file on your disk and your conversations stay. This cannot be undone."
        )
        if any(one.folder is not None for one in chosen):
            about += " " + _("A file in a watched folder is read again at the next scan.")
        asked = ConfirmScreen(
            ngettext("Remove this document?", "Remove {count} documents?", len(chosen)),
            "\n".join([*names, "", about]),
            agree=_("Remove"),
            refuse=_("Keep"),
        )
        if await self._app.push_screen_wait(asked):
            await self._erase([one.id for one in chosen])
            self._reload("")

    async def _erase(self, document_ids: Sequence[str]) -> None:
        erased = await self._room.documents.remove(document_ids)
        self._app.say(
            ngettext("{count} document removed.", "{count} documents removed.", erased.documents)
            if erased.verified
            else _("Removed, but traces may remain. Run `atlas vault verify` to check.")
        )

    async def _detach(self, row: Row) -> None:
        assert row.attached is not None
        places = row.attached.places
        if any(busy.id in {session for session, _place in places} for busy in self._app.turns.active):
            self._app.say(_("Stop the current reply first (Esc)."))
            return
        asked = ConfirmScreen(
            _("Remove this attachment?"),
            ngettext(
                "The text of “{name}” will be removed from the conversation that uses it. The file on "
                "your disk stays.",
                "The text of “{name}” will be removed from the {count} conversations that use it. The "
                "file on your disk stays.",
                len(places),
                name=clean_line(row.attached.name),
            ),
            agree=_("Remove"),
            refuse=_("Keep"),
        )
        if not await self._app.push_screen_wait(asked):
            return
        for session, attachment in places:
            await self._room.attachments.detach(session, attachment)
        if (chat := self._app.chat) is not None:
            chat.tell_attachments()
        self._reload("")

    def edit(self) -> None:
        """Edits the text of the marked document, if it was made from a conversation."""
        row = self._marked()
        if row is not None and row.document is not None:
            self._do(partial(self._edit, row.document))

    async def _edit(self, document: "Document") -> None:
        if document.path:
            raise DocumentHasFile(document.id)
        text = await self._room.store.documents.text(document.id) or ""
        new = await self._app.push_screen_wait(TextEditScreen(title_text(document), text))
        if new and new != text:
            await self._room.documents.edit(document.id, new)
            self._reload("")

    def summarise(self) -> None:
        """Makes the summaries of the chosen documents, or makes them again."""
        if chosen := [one for one in self._chosen() if one.chunks]:
            self._do(partial(self._summarise, chosen))

    async def _summarise(self, chosen: "Sequence[Document]") -> None:
        try:
            for one in chosen:
                self._tell_progress(_("Summarising {title} …", title=title_text(one)))
                await self._room.documents.summary(one.id, refresh=one.summary is not None)
                self._reload("")
        finally:
            self._tell_progress("")


def added_text(report: "AddReport") -> str:
    """Returns what was read, and what was not."""
    textless = len(report.documents) - report.added - report.updated - report.unchanged
    parts = [
        _("{count} added", count=number(report.added)) if report.added else "",
        _("{count} updated", count=number(report.updated)) if report.updated else "",
        _("{count} unchanged", count=number(report.unchanged)) if report.unchanged else "",
        ngettext("{count} listed without its text", "{count} listed without their texts", textless)
        if textless > 0
        else "",
    ]
    words = f"{', '.join(filter(None, parts)) or _('Nothing was added')}."
    if report.missing:
        words += " " + ngettext("{count} file is gone.", "{count} files are gone.", report.missing)
    if report.skipped:
        first = report.skipped[0]
        skipped = ngettext("{count} skipped:", "{count} skipped, the first:", len(report.skipped))
        why = clean_line(first.why)
        where = "" if why.startswith(f"{Path(first.where).name}: ") else f"{clean_line(first.where)}: "
        words += f" {skipped} {where}{why}"
    return words
