"""The window of sync: set up, join with a code, devices, the last sync, pause."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
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
from atlas_desktop.phrases import device_state, report_text, unheard_text, when_text
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.dialogs.forms import TICKED, FieldsScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.widgets import Window
from memory.errors import NotSynced, RoomClosed, SyncCodeMistyped, SyncDeviceIsOwn

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
        rows.append([True] * len(rows[0]))
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
            box.border_subtitle = _("Valid for an hour, or until the next code · Esc closes")
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
_OF_PRIVATE = N_(
    "The private room stays out of the folder unless you tick it. If you tick it, it is also synced "
    "while it is open, with its own keys. Each device opens it with its own passphrase."
)


class SyncScreen(Window[None]):
    """Shows the state of sync, with a key for each action."""

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
        Binding("v", "private", _("Private room")),
        Binding("p", "pause", _("Pause")),
        Binding("delete,d", "remove", _("Remove device")),
        Binding("l", "leave", _("Leave")),
    ]

    def __init__(self, app: "BaseApp", keeper: "SyncKeeper") -> None:
        super().__init__()
        self.atlas = app
        self._keeper = keeper
        self._status: SyncStatus | None = None
        self._private: SyncStatus | None = None
        self._private_is_open = False
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
        self._private, self._private_is_open = None, True
        try:
            self._private = await self.atlas.desk.sync.private_status()
        except RoomClosed:
            self._private_is_open = False
        except NotSynced:
            self._private = None
        if self.is_running:
            self._show()

    def forget_private(self) -> bool:
        self._do(self.read())
        return True

    def progressed(self) -> None:
        """Shows how far a sync has come."""
        if (done := self._keeper.progress) is not None:
            text = _("Reading file {done} of {of} …", done=number(done[0]), of=number(done[1]))
            last = self.query_one("#last", Static)
            last.display = True
            last.update(Content(text))

    def _show(self) -> None:
        status = self._status
        self._listed = [] if status is None else [status.device, *status.devices]
        box = self.query_one(".box", VerticalScroll)
        devices = self.query_one("#devices", OptionList)
        devices.display = status is not None
        if status is None:
            facts = _(_ABOUT)
            keys = _("n sets it up · j joins another device · Esc closes")
        else:
            facts = f"{_facts(status)}\n{self._private_facts()}"
            keys = _("s syncs · i invites · p pauses · d removes · l leaves · Esc closes")
            at = devices.highlighted
            devices.clear_options()
            devices.add_options([Option(self._device(one, status)) for one in self._listed])
            # The first is this device, which can only leave.
            devices.highlighted = min(1 if at is None else at, len(self._listed) - 1)
            devices.focus()
        box.border_subtitle = keys
        self.query_one("#facts", Static).update(Content(clean(facts)))
        self._show_last()
        self.refresh_bindings()

    def _device(self, device: "Device", status: "SyncStatus") -> Content:
        state = device_state(device, status)
        return Content.assemble((self._called(device), "bold"), "  ", (state, "$quiet"))

    def _called(self, device: "Device") -> str:
        """Returns the name of a device; with its ID if another one has the same name."""
        name = clean_line(device.name)
        alike = sum(one.name == device.name for one in self._listed)
        return f"{name} ({device.id[:8]})" if alike > 1 else name

    def _private_facts(self) -> str:
        if not self._private_is_open:
            return _(
                "Private room: closed, so it is not synced now. v opens it; then you can add it to sync."
            )
        if self._private is None:
            return _("Private room: not synced. v adds it to sync.")
        names = [clean_line(one.name) for one in self._private.devices if one.removed_at is None]
        if not names:
            return _("Private room: synced while it is open; no other device has it yet.")
        return _("Private room: synced while it is open, also on {names}.", names=", ".join(names))

    def _show_last(self) -> None:
        report = self._keeper.last
        lines = [] if report is None or self._status is None else [report_text(report)]
        last = self.query_one("#last", Static)
        last.display = bool(lines)
        last.update(Content(clean("\n".join(lines[:_SHOWN]))))

    def check_action(self, action: str, _parameters: tuple[object, ...]) -> bool | None:
        if action in ("begin", "join"):
            return self._status is None
        if action == "private":
            return self._status is not None and self._private is None
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
        folder, private = _("Folder for sync"), _("Also sync the private room")
        given = await self._asked(
            _("Set up sync"), [folder], {folder: _("A folder that Syncthing or another tool copies")}, private
        )
        if given is None:
            return
        with_private = given[private] == TICKED
        begun = await self.atlas.desk.sync.init(_path(given[folder]), private=with_private)
        await self._started()
        await self.app.push_screen_wait(CodeScreen(begun.code))

    def action_join(self) -> None:
        self._do(self._join())

    async def _join(self) -> None:
        folder, code = _("Folder, as it is on this computer"), _("Code from the other device")
        private = _("Also sync the private room")
        given = await self._asked(
            _("Join"), [folder, code], {}, private, lambda typed: self._wrong(typed[code])
        )
        if given is None:
            return
        with_private = given[private] == TICKED
        await self.atlas.desk.sync.join(_path(given[folder]), given[code], private=with_private)
        await self._started()

    def _wrong(self, code: str) -> str:
        """Returns what is wrong with a code, or nothing. The other fields keep what was typed."""
        try:
            self.atlas.desk.sync.check_code(code)
        except SyncCodeMistyped as error:
            words = self.atlas.explain(error)
            return f"{words.title}. {words.next_step}"
        return ""

    async def _asked(
        self,
        title: str,
        names: list[str],
        placeholders: dict[str, str],
        private: str,
        check: Callable[[Mapping[str, str]], str] | None = None,
    ) -> dict[str, str] | None:
        """Returns the input; None if it was cancelled or has no folder, or if the private room should have
        been opened for it and was not. Asks again if there is no such folder."""
        given: dict[str, str] | None = None
        while given is None or not await asyncio.to_thread(_path(given[names[0]]).expanduser().is_dir):
            if given is not None:
                self.atlas.say(_("There is no such folder. Nothing was set up."), anywhere=True)
            ticks = {private: _(_OF_PRIVATE)}
            given = await self.app.push_screen_wait(
                FieldsScreen(title, names, ticks=ticks, placeholders=placeholders, values=given, check=check)
            )
            if given is None or not given[names[0]].strip():
                return None
        if given[private] == TICKED and not await self._private_opened():
            return None
        return given

    async def _private_opened(self) -> bool:
        chat = self.atlas.chat
        return chat is not None and await chat.open_private(_("It is synced only while it is open."))

    def action_private(self) -> None:
        self._do(self._sync_private())

    async def _sync_private(self) -> None:
        """Opens the private room if it is closed. Otherwise adds it: as the first device that has it, or with
        a code of one that has."""
        if not self._private_is_open:
            await self._private_opened()
            await self.read()
            return
        if self._status is None or self._private is not None:
            return
        code = _("Code from that device")
        hint = _(
            "Its conversations go into the folder, encrypted with keys of their own, whenever it is open. If "
            "another device syncs its private room already, make a code there (i) while it is open, and "
            "enter it here. Otherwise leave the field empty."
        )
        given = await self.app.push_screen_wait(
            FieldsScreen(
                _("Sync the private room"),
                [code],
                hint=hint,
                check=lambda typed: self._wrong(typed[code]) if typed[code].strip() else "",
            )
        )
        if given is None:
            return
        folder = Path(self._status.folder)
        if given[code].strip():
            await self.atlas.desk.sync.join(folder, given[code], private=True)
            await self._sync()
        else:
            begun = await self.atlas.desk.sync.init(folder, private=True)
            await self._sync()
            await self.app.push_screen_wait(CodeScreen(begun.code))

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
        if at == 0:
            # The first is this device.
            self.atlas.say_error(self.atlas.explain(SyncDeviceIsOwn()))
        elif at is not None and at < len(self._listed) and self._listed[at].removed_at is None:
            self._do(self._remove(self._listed[at]))

    async def _remove(self, device: "Device") -> None:
        unheard = 0 if self._status is None else self._status.not_forgotten.get(device.id, 0)
        told = _(
            "It keeps what it has, but reads nothing new, and its later changes do not count. The other "
            "devices get new keys."
        )
        question = ConfirmScreen(
            _("Remove {name}?", name=self._called(device)),
            f"{told}\n\n{unheard_text(unheard)}".strip(),
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


def _path(given: str) -> Path:
    """Returns a typed path, without the quotes that terminals put around it."""
    return Path(given.strip().strip("'\""))


def _facts(status: "SyncStatus") -> str:
    lines = [
        _("Folder: {folder}", folder=status.folder),
        _("Last sync: {when}", when=when_text(status.last_sync)),
        _(
            "This device was removed by another one: nothing is sent or received. l ends sync here; then j "
            "joins again with a new code."
        )
        if status.removed
        else _("To be sent: {count}", count=number(status.pending_out)),
    ]
    if status.paused and not status.removed:
        lines.append(_("Paused: p continues."))
    return "\n".join(lines)
