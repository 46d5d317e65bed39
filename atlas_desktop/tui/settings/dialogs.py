"""Windows of the settings: a key, the theme, programs and their log, the doctor, passphrase and backup."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.errors import BadClient, Declined
from atlas_desktop.locale import N_, _, formats
from atlas_desktop.phrases import (
    access_line,
    backup_text,
    client_line,
    held,
    room_text,
    scope_text,
)
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.clients import scopes_of
from atlas_desktop.services.doctor import Finding
from atlas_desktop.services.vault import Attempts
from atlas_desktop.settings.file import SettingsError
from atlas_desktop.tui.actions import key_words
from atlas_desktop.tui.appearance import THEMES
from atlas_desktop.tui.calendar import long
from atlas_desktop.tui.dialogs.forms import FieldsScreen, NamedItemsScreen
from atlas_desktop.tui.dialogs.questions import ChoiceScreen
from atlas_desktop.tui.keymap import KeyTaken
from atlas_desktop.tui.setup.unlock import PassphraseScreen
from atlas_desktop.tui.setup.welcome import NewRecoveryScreen, StrengthMeter
from atlas_desktop.tui.widgets import CleanInput, Window
from memory.clients import AccessEntry, Client, NewClient, Scope
from memory.entities import RoomKind, RoomReport
from memory.errors import KeyringUnavailable, MemoryFault, WrongPassphrase
from memory.vault.keyslots import PassphraseSlot, RecoverySlot

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.vault.vault import Keys


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


class NewPassphraseScreen(Window[bool]):
    """Sets a new passphrase for the rooms that the present one opens; dismissed with whether it did.

    With `keys` (the user unlocked with the recovery key) the present passphrase is not asked for.
    """

    of_rooms = False
    DEFAULT_CSS = """
    NewPassphraseScreen {
        .box { width: 72; }
        #about { height: auto; color: $quiet; margin-bottom: 1; }
        #state { height: auto; min-height: 1; color: $quiet; }
        #state.-wrong { color: $error; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", _("Cancel"))]

    def __init__(self, app: "BaseApp", keys: "Keys | None" = None) -> None:
        super().__init__()
        self._atlas = app
        self._keys = keys
        self._attempts = Attempts(app.desk.paths.attempts)
        self._changing = False

    def compose(self) -> ComposeResult:
        fields = {
            "present": _("Passphrase"),
            "new": _("New passphrase"),
            "again": _("Repeat"),
        }
        if self._keys is not None:
            del fields["present"]
        with VerticalScroll(classes="box", can_focus=False) as box:
            box.border_title = _("New passphrase")
            box.border_subtitle = _("Enter confirms · Esc cancels")
            yield Static(Content(self._about), id="about", markup=False)
            for name, title in fields.items():
                field = CleanInput(password=True, id=name)
                field.border_title = title
                yield field
                if name == "new":
                    yield StrengthMeter(self._atlas)
            yield Static("", id="state", markup=False)

    @property
    def _about(self) -> str:
        stays = _(
            "Your data and the recovery key do not change. Backups made until now still open with the old "
            "passphrase."
        )
        if self._keys is None:
            return stays
        return f"{_('Opened with the recovery key. You can set a new passphrase now.')} {stays}"

    def on_mount(self) -> None:
        self.query(CleanInput).first().focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.value:
            self._say("")
        if event.input.id == "new":
            self.query_one(StrengthMeter).measure(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input.id != "again":
            self.focus_next()
            return
        new, again = self._field("new"), self._field("again")
        left = 0 if self._keys is not None else self._attempts.left()
        if self._changing:
            return
        if not new.value:
            self._refuse(_("Enter a passphrase."), new)
        elif new.value != again.value:
            self._refuse(_("They do not match. Type the second again."), again)
        elif left:
            self._refuse(_("Try again in {seconds} s.", seconds=left), again)
        else:
            self._changing = True
            self._say(_("Changing the passphrase…"))
            self._atlas.attempt(self._change(new.value), group="passphrase")

    def _field(self, name: str) -> Input:
        return self.query_one(f"#{name}", Input)

    async def _change(self, new: str) -> None:
        vault = self._atlas.desk.vault
        try:
            keys = self._keys
            if keys is None:
                keys = await vault.unlock_both(self._field("present").value)
                await asyncio.to_thread(self._attempts.right)
            await vault.change_passphrase(keys, new)
        except (MemoryFault, OSError) as error:
            words = self._atlas.explain(error)
            wrong = isinstance(error, WrongPassphrase)
            if wrong:
                await asyncio.to_thread(self._attempts.wrong)
            text = f"{words.title}. {words.message}".strip()
            self._refuse(text, self._field("present" if wrong else "new"))
            return
        finally:
            self._changing = False
        kept = keys.private is None and await vault.private_status() is not None
        self.dismiss(True)  # noqa: FBT003  # the result
        self._atlas.say(
            _("The new passphrase unlocks the open room. The private room keeps its old one.")
            if kept
            else _("The new passphrase unlocks Atlas from now on.")
        )

    def _refuse(self, text: str, field: Input) -> None:
        """Shows why nothing was changed, and lets the user type one of the fields anew."""
        field.value = ""
        field.focus()
        self._say(text, wrong=True)

    def _say(self, text: str, *, wrong: bool = False) -> None:
        state = self.query_one("#state", Static)
        state.set_class(wrong, "-wrong")
        state.update(Content(clean(text)))

    def action_give_up(self) -> None:
        if not self._changing:
            self.dismiss(False)  # noqa: FBT003  # the result


class VaultScreen(Window[None]):
    """Shows what unlocks the vault and its backups, with a line for each change."""

    of_rooms = False
    DEFAULT_CSS = """
    VaultScreen {
        .box { width: 84; }
        OptionList {
            height: auto; border: none; padding: 0; background: $surface;
            &:focus { border: none; background-tint: transparent; }
        }
        #state { height: auto; min-height: 1; color: $quiet; margin-top: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", _("Close"))]

    def __init__(self, app: "BaseApp", marked: str = "passphrase") -> None:
        """`marked` is the line that is selected first."""
        super().__init__()
        self._atlas = app
        self._marked = marked
        self._keyring_on = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Passphrase, recovery key, backup")
            box.border_subtitle = _("Enter selects · Esc closes")
            yield OptionList(id="ways", markup=False)
            yield Static("", id="state", markup=False)

    def on_mount(self) -> None:
        self._atlas.attempt(self._read(), group="vault")

    async def _read(self) -> None:
        desk = self._atlas.desk
        status = await desk.vault.status()
        self._keyring_on = status.keyring_backend is not None
        keyring = status.keyring_backend
        if keyring is None:
            # Without a keyring the line says so; selecting it explains why.
            with suppress(KeyringUnavailable):
                keyring = await desk.vault.keyring_backend()
        made = await asyncio.to_thread(desk.backups.newest)
        since = {slot.kind: formats().date(slot.created_at.astimezone()) for slot in status.slots}
        lines = {
            "passphrase": (_("New passphrase"), _("set on {day}", day=since[PassphraseSlot.KIND])),
            "recovery": (
                _("New recovery key"),
                _("made on {day}", day=since[RecoverySlot.KIND]) if RecoverySlot.KIND in since else _("none"),
            ),
            "keyring": (
                _("Stop unlocking with the system keyring")
                if self._keyring_on
                else _("Unlock with the system keyring, too"),
                clean_line(keyring) if keyring else _("no system keyring answers here"),
            ),
            "backup": (
                _("Back up now"),
                _("none yet") if made is None else _("last one: {when}", when=long(made, self._atlas.now())),
            ),
        }
        if not self.is_running:
            return
        listing = self.query_one("#ways", OptionList)
        at = list(lines).index(self._marked) if listing.highlighted is None else listing.highlighted
        listing.clear_options()
        widest = max(cell_len(name) for name, _fact in lines.values())
        listing.add_options(
            [
                Option(Content.assemble(set_cell_size(name, widest), "  ", (fact, "$quiet")), id=key)
                for key, (name, fact) in lines.items()
            ]
        )
        listing.highlighted = at
        listing.focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        steps = {
            "passphrase": self._new_passphrase,
            "recovery": self._new_recovery_key,
            "keyring": self._switch_keyring,
            "backup": self._back_up,
        }
        self._atlas.attempt(steps[str(event.option_id)], group="vault", exclusive=True)

    async def _new_passphrase(self) -> None:
        if await self._atlas.push_screen_wait(NewPassphraseScreen(self._atlas)):
            await self._read()

    async def _unlocked(self, title: str, words: str) -> "Keys | None":
        """Asks for the passphrase; returns the keys that it opens, or None if the user gives up."""
        found: list[Keys] = []

        async def attempt(secret: str) -> None:
            found.append(await self._atlas.desk.vault.unlock_both(secret))

        window = PassphraseScreen(title, words, attempt, Attempts(self._atlas.desk.paths.attempts))
        return found[-1] if await self._atlas.push_screen_wait(window) else None

    async def _new_recovery_key(self) -> None:
        vault = self._atlas.desk.vault
        keys = await self._unlocked(
            _("New recovery key"),
            _("The present recovery key works until you have checked your copy of the new one."),
        )
        if keys is None:
            return
        try:
            async with vault.replacing_recovery_key(keys) as text:
                if not await self._atlas.push_screen_wait(NewRecoveryScreen(self._atlas, keys.open, text)):
                    raise Declined
        except Declined:
            self._say(_("Nothing was changed: the present recovery key still works."))
            return
        kept = keys.private is None and await vault.private_status() is not None
        self._say(
            _("The new recovery key opens the open room. The private room keeps its old one.")
            if kept
            else _("The new recovery key works from now on; the old one no longer does.")
        )
        await self._read()

    async def _switch_keyring(self) -> None:
        vault = self._atlas.desk.vault
        if self._keyring_on:
            removed = await vault.keyring_off()
            self._say(
                _("The keyring no longer unlocks the vault.")
                if removed
                else _(
                    "The keyring no longer unlocks the vault. Its entry could not be removed, but it no "
                    "longer unlocks anything."
                )
            )
        else:
            await vault.keyring_backend()
            keys = await self._unlocked(
                _("System keyring"), _("Your passphrase is needed once. The private room stays closed.")
            )
            if keys is None:
                return
            backend = await vault.keyring_on(keys.open)
            self._say(_("{backend} now unlocks the vault automatically.", backend=backend))
        await self._read()

    async def _back_up(self) -> None:
        backups = self._atlas.desk.scheduled_backups
        if backups is None:
            return
        self._say(_("Making a backup and reading it back…"))
        private = any(room.store.room is RoomKind.PRIVATE for room in self._atlas.desk.open_rooms)
        self._say(backup_text(await backups.make_now(), private=private))
        await self._read()

    def _say(self, text: str) -> None:
        if self.is_running:
            self.query_one("#state", Static).update(Content(clean(text)))

    def action_close(self) -> None:
        self.dismiss(None)
