"""Windows of the settings: the key of an action, the theme, the programs that may ask Atlas, their log."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import OptionList, Static

from atlas_desktop.errors import BadClient
from atlas_desktop.locale import N_, _
from atlas_desktop.phrases import access_line, client_line, held, room_text, scope_text
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.clients import scopes_of
from atlas_desktop.services.doctor import Finding
from atlas_desktop.settings.file import SettingsError
from atlas_desktop.tui.actions import key_words
from atlas_desktop.tui.appearance import THEMES
from atlas_desktop.tui.dialogs.forms import FieldsScreen, NamedItemsScreen
from atlas_desktop.tui.dialogs.questions import ChoiceScreen
from atlas_desktop.tui.keymap import KeyTaken
from atlas_desktop.tui.widgets import Window
from memory.clients import AccessEntry, Client, NewClient, Scope
from memory.entities import RoomKind, RoomReport

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp


_THEMES_TEXTS = {
    "dark": N_("Dark"),
    "light": N_("Light"),
    "sepia": N_("Old paper"),
    "contrast-dark": N_("Dark, high contrast"),
    "contrast-light": N_("Light, high contrast"),
    "terminal": N_("The terminal's own colours"),
}


class KeyScreen(Window[str | None]):
    """Dismissed with the key, an empty text for none, or None if it is unchanged.

    `check` raises `SettingsError` for a key that cannot be used: the window shows the reason and waits for
    another key. No key does anything else meanwhile.
    """

    of_rooms = False
    takes_every_key = True
    DEFAULT_CSS = """
    KeyScreen {
        .box { width: 64; max-width: 94%; }
        .problem { height: auto; color: $error; margin-top: 1; display: none; }
        .problem.-shown { display: block; }
        .hint { color: $quiet; height: auto; margin-top: 1; }
    }
    """
    ALLOW_SELECT: ClassVar[bool] = False

    def __init__(self, name: str, check: Callable[[str], None]) -> None:
        super().__init__()
        self._action_name = name
        self._check = check

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Key for: {name}", name=self._action_name)
            yield Static(_("Press the new key."), markup=False)
            yield Static("", classes="problem", markup=False)
            yield Static(_("Esc cancels · Backspace removes the key"), classes="hint", markup=False)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        if event.key == "escape":
            self.dismiss(None)
            return
        key = "" if event.key == "backspace" else event.key
        try:
            self._check(key)
        except KeyTaken as error:
            self._refuse(_("{key} is already used for “{name}”.", key=key_words(event.key), name=error.by))
            return
        except SettingsError as error:
            self._refuse(_("{key} cannot be used: {reason}.", key=key_words(event.key), reason=error.reason))
            return
        self.dismiss(key)

    def _refuse(self, text: str) -> None:
        problem = self.query_one(".problem", Static)
        problem.update(text)
        problem.add_class("-shown")


class ThemeScreen(ChoiceScreen):
    """Saves the choice unless the caller does; closing it restores the earlier theme."""

    def __init__(self, app: "BaseApp", *, keep: bool = True) -> None:
        file = app.desk.settings_file
        super().__init__(
            _("Theme"),
            {name: _(_THEMES_TEXTS[name]) for name in THEMES},
            next(name for name, theme in THEMES.items() if theme.name == app.theme),
            hint=_("Enter saves · Esc cancels"),
            about=_("ATLAS_UI_THEME sets the theme. Your choice here lasts only for this run.")
            if "ui.theme" in file.given_by_environment
            else "",
            in_use=_("in use"),
        )
        self.atlas = app
        self._keeps = keep
        self._before = app.theme

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_id is not None:
            self.atlas.theme = THEMES[event.option_id].name

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)
        if self._keeps:
            self.atlas.attempt(self._keep(str(event.option_id)), group="settings")

    async def _keep(self, chosen: str) -> None:
        if "ui.theme" in self.atlas.desk.settings_file.given_by_environment:
            return
        await self.atlas.change_setting("ui.theme", chosen)

    def action_cancel(self) -> None:
        self.atlas.theme = self._before
        self.dismiss(None)


_MOST = 200


class ClientsScreen(NamedItemsScreen[Client]):
    """`url` is the address of the open door; None while it is closed."""

    heading = _("Programs")
    none = _("No programs yet. Press a to add one: it gets a token.")
    keys_hint = _("Enter shows its log · a adds · d revokes · Esc closes")

    def __init__(self, app: "BaseApp", room: "RoomServices", url: str | None) -> None:
        super().__init__(app, room)
        self.hint = (
            _("The door is closed. Open it in the settings under Doors.")
            if url is None
            else _("The door is open at {url}/v1.", url=url)
        )

    async def things(self) -> Sequence[Client]:
        return await self.room.clients.list()

    def described(self, one: Client) -> str:
        return client_line(one).partition(" · ")[2]

    async def edited(self, old: Client | None) -> Client | None:
        """Adds a program and shows its token. A program cannot be changed: its log is shown instead."""
        if old is not None:
            entries = await self.room.clients.log(old.id, limit=_MOST)
            await self.atlas.push_screen_wait(AccessLogScreen(old, entries))
            return None
        name, scopes, project = _("Name"), _("Scopes"), _("Only this project (empty: all)")
        about = "\n".join(f"{scope.value}: {scope_text(scope)}" for scope in Scope)
        given = await self.atlas.push_screen_wait(
            FieldsScreen(_("Add a program"), [name, scopes, project], hint=about)
        )
        if given is None:
            return None
        try:
            new = NewClient(given[name].strip(), scopes_of(given[scopes]), given[project].strip() or None)
            client, token = await self.room.clients.add(new)
        except BadClient as refused:
            self.atlas.say_error(self.atlas.explain(refused))
            return None
        await self.atlas.push_screen_wait(TokenScreen(client, token))
        return client

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        # Textual would also call the handler of the base class, which chooses.
        event.prevent_default()
        event.stop()
        self.action_edit()

    def said_of_removal(self, one: Client) -> str:
        return _("The token of “{name}” is refused from now on. Its log stays.", name=one.name)

    async def removed(self, one: Client) -> None:
        await self.room.clients.revoke(one.id)


_CSS = """
{name} {{
    .box {{ width: 84; max-height: 90%; scrollbar-size-vertical: 1; }}
    .hint {{ color: $quiet; height: auto; }}
    .token {{ height: auto; margin: 1 0; text-style: bold; }}
}}
"""


class TokenScreen(Window[None]):
    """Shows a new token, which is shown only once."""

    DEFAULT_CSS = _CSS.format(name="TokenScreen")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter", "close", _("Close"))]

    def __init__(self, client: Client, token: str) -> None:
        super().__init__()
        self._client = client
        self._token = token

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Token of “{name}”", name=self._client.name)
            box.border_subtitle = _("Enter closes")
            yield Static(Content(self._token), classes="token", markup=False)
            yield Static(
                Content(_("This is shown once. Give it to {name} only.", name=self._client.name)),
                classes="hint",
                markup=False,
            )

    def action_close(self) -> None:
        self.dismiss(None)


class AccessLogScreen(Window[None]):
    """Shows what a program asked for: kinds and numbers, newest first."""

    DEFAULT_CSS = _CSS.format(name="AccessLogScreen")
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter", "close", _("Close"))]

    def __init__(self, client: Client, entries: Sequence[AccessEntry]) -> None:
        super().__init__()
        self._client = client
        self._entries = entries

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box") as box:
            box.border_title = _("Requests of “{name}”", name=self._client.name)
            box.border_subtitle = _("Esc closes")
            lines = "\n".join(map(access_line, self._entries)) or _("No requests yet.")
            yield Static(Content(lines), markup=False)

    def action_close(self) -> None:
        self.dismiss(None)


_VERDICT_TEXTS = {"good": N_("ok"), "warning": N_("note"), "bad": N_("BAD")}
_VERDICT_STYLES = {"good": "$success", "warning": "$accent", "bad": "bold $error"}


class DoctorScreen(Window[None]):
    """Shows what the doctor found. A second check reads every page of the open rooms."""

    DEFAULT_CSS = _CSS.format(name="DoctorScreen")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "verify", _("Check the rooms")),
        Binding("escape,enter", "close", _("Close")),
    ]

    def __init__(self, app: "BaseApp") -> None:
        super().__init__()
        self._atlas = app
        self._found = Static(_("Checking…"), id="found", markup=False)
        self._rooms = Static("", id="rooms", markup=False)

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="box") as box:
            box.border_title = _("Check everything")
            box.border_subtitle = _("v reads every page of the open rooms · Esc closes")
            yield self._found
            yield self._rooms

    def on_mount(self) -> None:
        self._atlas.attempt(self._examine, group="doctor", exclusive=True)

    async def _examine(self) -> None:
        make = self._atlas.desk.make_doctor
        if make is None:
            self.dismiss(None)
            return
        found = await make().examine()
        if self.is_attached:
            self._found.update(Content("\n").join(map(_finding, found)))

    def action_verify(self) -> None:
        self._rooms.update(Content(_("Reading every page. New messages wait until this has ended.")))
        self._atlas.attempt(self._verify, group="doctor-rooms", exclusive=True)

    async def _verify(self) -> None:
        reports = [
            await room.store.verify()
            for room in self._atlas.desk.open_rooms
            if room.store.room is not RoomKind.OFF_RECORD
        ]
        if self.is_attached:
            self._rooms.update(Content("\n").join(_room_report(one) for one in reports))

    def forget_private(self) -> bool:
        self._rooms.update("")
        return True

    def action_close(self) -> None:
        self.dismiss(None)


def _finding(one: Finding) -> Content:
    sign = _(_VERDICT_TEXTS[one.verdict.value])
    parts: list[str | tuple[str, str]] = [
        (sign, _VERDICT_STYLES[one.verdict.value]),
        f"  {clean(one.check)}: {clean(one.message)}",
    ]
    if one.next_step:
        parts.append((f"\n    {clean(one.next_step)}", "$quiet"))
    return Content.assemble(*parts)


def _room_report(report: RoomReport) -> Content:
    name = room_text(report.room)
    if not report.problems:
        counted = held(report.sessions, report.messages)
        return Content(_("No damage in {room}: {counted}.", room=name, counted=counted))
    problems = "\n".join(f"    {clean_line(one)}" for one in report.problems)
    text = _("Damage in {room}. `atlas vault salvage` creates a new room from what can be read.", room=name)
    return Content.assemble((text, "bold $error"), f"\n{problems}")
