"""The window of sync: set up, join with a code, devices, the last sync, pause."""

from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import segno
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.locale import N_, _, number
from atlas_desktop.phrases import device_text, report_text, when_text
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.dialogs.forms import FieldsScreen, PathScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.widgets import Window
from memory.errors import NotSynced

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.sync.keeping import SyncKeeper
    from memory.sync.entities import Device, SyncStatus


_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


def picture(code: str) -> str:
    """Returns the code as a QR code, two rows of it in each line, light on dark as scanners expect."""
    rows = [
        [not dark for dark in row] for row in segno.make(code, error="l", micro=False).matrix_iter(border=2)
    ]
    if len(rows) % 2:
        rows.append([False] * len(rows[0]))
    return "\n".join(
        "".join(_HALVES[pair] for pair in zip(upper, lower, strict=True))
        for upper, lower in zip(rows[::2], rows[1::2], strict=True)
    )


class CodeScreen(Window[None]):
    """Shows a code until it is closed."""

    of_rooms = False
    DEFAULT_CSS = """
    CodeScreen {
        .box { width: 64; max-width: 94%; padding: 0 2; }
        .text { height: auto; text-style: bold; text-align: center; }
        .picture { height: auto; width: auto; color: white; background: black; }
        .middle { height: auto; align-horizontal: center; }
        .hint { height: auto; color: $quiet; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter", "close", _("Close"))]

    def __init__(self, code: str) -> None:
        super().__init__()
        self._code = code

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box") as box:
            box.border_title = _("Code for other devices")
            box.border_subtitle = _("Valid for an hour · Esc closes")
            yield Static(Content(self._code), classes="text", markup=False)
            with VerticalScroll(classes="middle", can_focus=False):
                yield Static(Content(picture(self._code)), classes="picture", markup=False)
            yield Static(
                Content(
                    _("On the other device: Sync, then j. Whoever has the code and the folder can join.")
                ),
                classes="hint",
                markup=False,
            )

    def action_close(self) -> None:
        self.dismiss(None)


GROUP = "sync"
_SHOWN = 5
_ABOUT = N_(
    "Keep the same memory on several computers, without a server: through a folder that Syncthing, a USB "
    "stick or a cloud folder carries from one to the other. All files in it are encrypted."
)


class SyncScreen(Window[None]):
    """Shows the state of sync, with a key for each thing that can be done."""

    of_rooms = False
    DEFAULT_CSS = """
    SyncScreen {
        .box { width: 92; max-height: 92%; scrollbar-size-vertical: 1; }
        #facts { height: auto; }
        #devices {
            height: auto; max-height: 10; border: none; padding: 0; margin-top: 1; background: $surface;
        }
        #devices:focus { border: none; background-tint: transparent; }
        #last { height: auto; color: $quiet; margin-top: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", _("Close")),
        Binding("s", "sync", _("Sync now")),
        Binding("n", "begin", _("Set up")),
        Binding("j", "join", _("Join")),
        Binding("i", "invite", _("Invite")),
        Binding("p", "pause", _("Pause")),
        Binding("delete,d", "remove", _("Remove device")),
        Binding("l", "leave", _("Leave")),
    ]

    def __init__(self, app: "BaseApp", keeper: "SyncKeeper") -> None:
        super().__init__()
        self.atlas = app
        self._keeper = keeper
        self._status: SyncStatus | None = None
        self._listed: list[Device] = []

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box", can_focus=False) as box:
            box.border_title = _("Sync")
            yield Static("", id="facts", markup=False)
            yield OptionList(id="devices", markup=False)
            yield Static("", id="last", markup=False)

    def on_mount(self) -> None:
        self._do(self.read())

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        self.atlas.attempt(work, group=GROUP)

    # --- display ---------------------------------------------------------------------------------

    async def read(self) -> None:
        """Reads and shows the state."""
        try:
            self._status = await self.atlas.desk.sync.status()
        except NotSynced:
            self._status = None
        if self.is_running:
            self._show()

    def progressed(self) -> None:
        """Shows how far a sync has come."""
        if (done := self._keeper.progress) is not None:
            text = _("Reading file {done} of {of} …", done=number(done[0]), of=number(done[1]))
            self.query_one("#last", Static).update(Content(text))

    def _show(self) -> None:
        status = self._status
        self._listed = [] if status is None else [status.device, *status.devices]
        box = self.query_one(".box", VerticalScroll)
        devices = self.query_one("#devices", OptionList)
        devices.clear_options()
        devices.display = status is not None
        if status is None:
            facts = _(_ABOUT)
            keys = _("n sets it up · j joins another device · Esc closes")
        else:
            facts = _facts(status)
            keys = _("s syncs · i invites · p pauses · d removes a device · l leaves · Esc closes")
            devices.add_options(
                [Option(Content(clean_line(device_text(one, status)))) for one in self._listed]
            )
            devices.highlighted = 0
            devices.focus()
        box.border_subtitle = keys
        self.query_one("#facts", Static).update(Content(clean(facts)))
        self._show_last()
        self.refresh_bindings()

    def _show_last(self) -> None:
        report = self._keeper.last
        lines = [] if report is None or self._status is None else [report_text(report)]
        self.query_one("#last", Static).update(Content(clean("\n".join(lines[:_SHOWN]))))

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        if action in ("begin", "join"):
            return self._status is None
        if action in ("sync", "invite", "pause", "remove", "leave"):
            return self._status is not None
        return True

    # --- what can be done ------------------------------------------------------------------------

    def action_sync(self) -> None:
        self._do(self._sync())

    async def _sync(self) -> None:
        try:
            await self._keeper.now()
        finally:
            await self.read()

    def action_begin(self) -> None:
        self._do(self._begin())

    async def _begin(self) -> None:
        given = await self.app.push_screen_wait(
            PathScreen(
                _("Folder for sync"),
                placeholder=_("A folder that Syncthing or another tool copies"),
                hint=_("Enter sets it up · Esc cancels"),
            )
        )
        if given is None:
            return
        begun = await self.atlas.desk.sync.init(Path(given))
        await self._started()
        await self.app.push_screen_wait(CodeScreen(begun.code))

    def action_join(self) -> None:
        self._do(self._join())

    async def _join(self) -> None:
        folder, code = _("Folder, as it is on this computer"), _("Code from the other device")
        given = await self.app.push_screen_wait(FieldsScreen(_("Join"), [folder, code]))
        if given is None or not given[folder].strip():
            return
        await self.atlas.desk.sync.join(Path(given[folder].strip()), given[code])
        await self._started()

    async def _started(self) -> None:
        await self._keeper.start()
        await self._sync()

    def action_invite(self) -> None:
        self._do(self._invite())

    async def _invite(self) -> None:
        await self.app.push_screen_wait(CodeScreen(await self.atlas.desk.sync.invite()))
        await self.read()

    def action_pause(self) -> None:
        self._do(self._pause())

    async def _pause(self) -> None:
        if self._status is not None:
            await self.atlas.desk.sync.pause(paused=not self._status.paused)
            await self.read()

    def action_remove(self) -> None:
        at = self.query_one("#devices", OptionList).highlighted
        if at is not None and 0 < at < len(self._listed) and self._listed[at].removed_at is None:
            self._do(self._remove(self._listed[at]))

    async def _remove(self, device: "Device") -> None:
        question = ConfirmScreen(
            _("Remove {name}?", name=clean_line(device.name)),
            _(
                "It keeps what it has, but reads nothing new, and its later changes do not count. The other "
                "devices get new keys."
            ),
            agree=_("Remove"),
            refuse=_("Keep"),
        )
        if await self.app.push_screen_wait(question):
            await self.atlas.desk.sync.remove_device(device.id)
            await self.read()

    def action_leave(self) -> None:
        self._do(self._leave())

    async def _leave(self) -> None:
        question = ConfirmScreen(
            _("End sync on this device?"),
            _("What is in this room stays, and so do the files in the folder."),
            agree=_("Leave"),
            refuse=_("Stay"),
        )
        if await self.app.push_screen_wait(question):
            await self._keeper.stop()
            await self.atlas.desk.sync.leave()
            await self.read()

    def action_close(self) -> None:
        self.dismiss(None)


def _facts(status: "SyncStatus") -> str:
    lines = [
        _("Folder: {folder}", folder=status.folder),
        _("Last sync: {when}", when=when_text(status.last_sync)),
        _("To be sent: {count}", count=number(status.pending_out)),
    ]
    if status.paused:
        lines.append(_("Paused: p continues."))
    return "\n".join(lines)
