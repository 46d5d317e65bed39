"""The settings as forms, made from their definitions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.locale import N_, _, formats, number
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.settings.file import (
    KEYS,
    Effect,
    SettingInfo,
    SettingsError,
    SettingsFile,
    describe,
    read_value,
)
from atlas_desktop.tui import keymap
from atlas_desktop.tui.actions import ACTIONS, Action, Where, bindings, key_words
from atlas_desktop.tui.dialogs.forms import MemoryEditScreen
from atlas_desktop.tui.dialogs.questions import ChoiceScreen
from atlas_desktop.tui.settings.dialogs import KeyScreen, ThemeScreen
from atlas_desktop.tui.textual_workarounds import SparingScreen
from atlas_desktop.tui.widgets import CleanInput, Covering, KeyLine, fit

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
_EFFECT_TEXTS = {
    "model": N_("Changes restart the model."),
    "start": N_("Changes take effect when you restart Atlas."),
}
_SECTION_TEXTS = {
    "chat": N_("Replies"),
    "models": N_("Model"),
    "context": N_("Context"),
    "sessions": N_("Conversations"),
    "memory": N_("Memory"),
    "jobs": N_("Background"),
    "backup": N_("Backups"),
    "retention": N_("Retention"),
    "privacy": N_("Privacy"),
    "doors": N_("Doors"),
    "ui": N_("Interface"),
    "keys": N_("Keys"),
}
_SETTINGS_TEXTS = {
    "at_once": N_("Saved. Takes effect now."),
    "model": N_("Saved. The model restarts with the next reply."),
    "start": N_("Saved. Takes effect when you restart Atlas."),
}


_WINDOWS = {
    "vault": (
        N_("Passphrase"),
        N_("Enter opens the passphrase, the recovery key, the system keyring and backups."),
        "app.show_vault",
    ),
    "sync": (N_("Sync"), N_("Enter opens sync: its folder, devices and last run."), "app.show_sync"),
}
"""Not settings, but users look for them here: the name, what Enter does, and the action of its window."""
LONG = 1000
"""A text that may be longer than this is edited in a separate window."""
_NARROWEST = 12
_WIDEST = 90
"""Further from its name than this, a value is hard to find."""


_LANGUAGE, _OTHER = "ui.locale", "other"


@dataclass(frozen=True, slots=True)
class Row:
    """One setting, or the keys of one action. `changed`: it is not at its default."""

    key: str
    name: str
    about: str
    value: Any
    default: Any
    changed: bool
    by_environment: bool
    info: SettingInfo | None = None
    action: Action | None = None

    @property
    def section(self) -> str:
        return self.key.partition(".")[0]

    @property
    def shown(self) -> str:
        """Returns the value in a few words."""
        return words_of(self.value) if self.action is None else _keys(self.value)

    @property
    def choices(self) -> tuple[str, ...]:
        """Returns the possible values; empty if it is not a choice."""
        return tuple(self.info.bounds.split(", ")) if self.info and self.info.type == "choice" else ()


def sections() -> tuple[str, ...]:
    """Returns the sections in the order of the definitions; the keys come last."""
    return (*dict.fromkeys(info.key.partition(".")[0] for info in describe()), KEYS)


def rows(file: SettingsFile) -> list[Row]:
    """Returns every setting with its value."""
    outside = file.given_by_environment
    found = [_row(info, file.get(info.key), outside) for info in describe()]
    return [*found, *_key_rows(file.settings.keys)]


def _row(info: SettingInfo, value: Any, outside: frozenset[str]) -> Row:
    changed = value != info.default
    return Row(info.key, info.name, info.description, value, info.default, changed, info.key in outside, info)


def _key_rows(keys: Mapping[str, str]) -> Iterator[Row]:
    for action in ACTIONS:
        now = keymap.keys_of(action, keys)
        yield Row(
            f"{KEYS}.{action.id}",
            f"{action.name} ({action.where.label})",
            action.help,
            now,
            action.key,
            now != action.key,
            by_environment=False,
            action=action,
        )


def matching(found: list[Row], words: str) -> list[Row]:
    """Returns the rows that have every word in their name, key, description or value; first those that have
    them in their name."""
    wanted = words.casefold().split()

    def has(row: Row) -> bool:
        text = f"{row.name} {row.key} {row.about} {row.shown}".casefold()
        return all(word in text for word in wanted)

    return sorted(
        (row for row in found if has(row)),
        key=lambda row: not all(word in row.name.casefold() for word in wanted),
    )


def words_of(value: Any) -> str:
    """Returns a value as users read it."""
    if isinstance(value, bool):
        return _("[x] on") if value else _("[ ] off")
    if value is None or value == []:
        return _("none")
    if isinstance(value, str):
        return clean_line(value) or _("empty")
    if isinstance(value, int):
        return formats().number(value)
    return clean_line(str(value))


def _keys(value: str) -> str:
    return key_words(value) or _("no key")


def line(row: Row, width: int) -> Content:
    """Returns one line of the list: the name, its state, and the value at the right."""
    mark = ""
    if row.by_environment and row.info is not None:
        mark = _("set by {variable}", variable=row.info.env)
    elif row.changed:
        mark = _("changed")
    value = row.shown
    free = max(width - cell_len(row.name) - 2, _NARROWEST)
    if cell_len(value) > free:
        value = set_cell_size(value, free - 1).rstrip() + "…"
    mark = f"  {mark}" if mark and cell_len(row.name) + len(mark) + cell_len(value) + 4 <= width else ""
    name = row.name
    room = width - cell_len(value) - cell_len(mark) - 1
    if cell_len(name) > room:
        name = set_cell_size(name, max(room - 1, 1)).rstrip() + "…"
    gap = " " * max(width - cell_len(name) - cell_len(mark) - cell_len(value), 1)
    return Content.assemble(name, (mark, "$accent"), gap, (value, "bold" if row.changed else ""))


def details(row: Row) -> Content:
    """Returns everything about a setting: purpose, values, file, and when it takes effect."""
    parts: list[tuple[str, str]] = [(row.about, "$foreground"), ("\n", "")]
    if row.info is None:
        told = _("Default: {default}", default=_keys(str(row.default)))
        where = _("keys.{action} in config.toml.", action=row.key.partition(".")[2])
        return Content.assemble(*parts, (f"{told} · {where}", "$quiet"))
    default = clean_line(words_of(row.default))[:80]
    if row.info.bounds:
        told = _("Allowed: {bounds}. Default: {default}", bounds=row.info.bounds_text, default=default)
    else:
        told = _("Default: {default}", default=default)
    parts += [(told, "$quiet"), ("\n", "")]
    if row.by_environment:
        parts.append(
            (
                _(
                    "Environment variable {variable} overrides the file. Unset it to change this here.",
                    variable=row.info.env,
                ),
                "$warning",
            )
        )
        return Content.assemble(*parts)
    parts.append((_("{key} in config.toml, or {variable}.", key=row.key, variable=row.info.env), "$quiet"))
    if row.info.effect is not Effect.AT_ONCE:
        later = _(_EFFECT_TEXTS[row.info.effect.value])
        parts += [(" ", ""), (later, "$quiet")]
    return Content.assemble(*parts)


def _language_choice(row: Row) -> ChoiceScreen:
    """Returns the choice of a language whose texts are there, each by its own name, or of another locale."""
    now = str(row.value)
    languages = {}
    for code, name in {"en_US": "English", "de_DE": "Deutsch", "es_ES": "Español"}.items():
        # Someone in Austria keeps de_AT.
        languages[now if now[:2] == code[:2] else code] = name
    choices = {"": _("As this computer is set"), **languages, _OTHER: _("Another, for dates and numbers…")}
    return ChoiceScreen(
        row.name,
        choices,
        now if now in choices else _OTHER,
        hint=_("Enter selects · Esc cancels"),
        about=row.about,
        in_use=_("in use"),
    )


class SettingsScreen(Covering, SparingScreen[None]):
    """Sections at the left, their settings next to them, and details of the marked one below."""

    of_rooms = False
    CSS_PATH = "settings.tcss"
    where = Where.SETTINGS
    AUTO_FOCUS = "#sections"
    BINDINGS = list(bindings(Where.SETTINGS))  # noqa: RUF012

    def __init__(self, app: "BaseApp", *, marked: str = "") -> None:
        """`marked` is the setting that the cursor starts at."""
        super().__init__()
        self.atlas = app
        self._section = marked.partition(".")[0] or sections()[0]
        self._wanted = marked
        self._all: list[Row] = []
        self._shown: list[Row] = []
        self._told: str | None = None
        self._list_width = 0
        names = [Option(_(_SECTION_TEXTS[one]), id=one) for one in sections()]
        names += [Option(_(name), id=one) for one, (name, _about, _action) in _WINDOWS.items()]
        self._names = OptionList(*names, id="sections", markup=False)
        self._list = OptionList(id="rows", markup=False)
        self._search = CleanInput(
            placeholder=_("Search · {key} exits", key=keymap.how_to("settings.back", app.keys)),
            id="search",
            select_on_focus=False,
        )
        self._field = CleanInput(id="value")

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        yield self._search
        with Horizontal(id="columns"):
            yield self._names
            yield self._list
            yield Static(_("No matching settings."), id="none", markup=False)
        with Vertical(id="about"):
            yield Static("", id="details", markup=False)
            yield self._field
            yield Static("", id="said", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        if self._wanted:
            self._list.focus()
        self._names.highlighted = sections().index(self._section)
        fit(self, self._list, self._show)
        self.read()
        # Some settings have keys of their own.
        self.atlas.settings_signal.subscribe(self, lambda _key: self.read(), immediate=True)

    def on_unmount(self) -> None:
        # The signal would hold the screen for good.
        self.atlas.settings_signal.unsubscribe(self)

    @property
    def marked(self) -> Row | None:
        """The setting under the cursor."""
        at = self._list.highlighted
        return None if at is None or at >= len(self._shown) else self._shown[at]

    # --- display ---------------------------------------------------------------------------------

    def read(self) -> None:
        """Reads the current settings."""
        self._all = rows(self.atlas.desk.settings_file)
        changed = sum(row.changed for row in self._all)
        title = (
            _("Settings · {count} changed", count=number(changed))
            if changed
            else _("Settings · all defaults")
        )
        self.query_one("#title", Static).update(Content(title))
        self._show()

    def _show(self) -> None:
        if not self._names.size.width:
            return  # no widget has a width yet; the layout calls this again
        words, kept = self._search.value.strip(), self.marked
        if words:
            self._shown = matching(self._all, words)
        else:
            self._shown = [row for row in self._all if row.section == self._section]
        listing = self._list
        # A list that is hidden, because a section has no rows, has no width.
        self._list_width = listing.size.width or self._list_width
        width = min(max(self._list_width - 5, 20), _WIDEST)
        with self.app.batch_update():
            listing.clear_options()
            listing.add_options([Option(line(row, width), id=row.key) for row in self._shown])
            listing.display = bool(self._shown)
            none = self.query_one("#none", Static)
            none.display = not self._shown
            none.update(
                _(_WINDOWS[self._section][1])
                if self._section in _WINDOWS and not words
                else _("No matching settings.")
            )
            keys = [row.key for row in self._shown]
            if self._wanted in keys:
                listing.highlighted, self._wanted = keys.index(self._wanted), ""
            elif keys:
                listing.highlighted = keys.index(kept.key) if kept is not None and kept.key in keys else 0
        self._tell()

    def _tell(self, said: str = "", style: str = "$success") -> None:
        row = self.marked
        self._told = row.key if row is not None else None
        self.query_one("#details", Static).update(Content("") if row is None else details(row))
        line_said = self.query_one("#said", Static)
        line_said.update(Content.styled(said, style))
        line_said.set_class(bool(said), "-shown")
        self.refresh_bindings()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        if event.option_list.id == "sections":
            if self._section != event.option_id:
                self._section = str(event.option_id)
                self._search.value = ""
                self._show()
        elif not self._editing and event.option_id != self._told:
            self._tell()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if event.option_id in _WINDOWS:
            self.call_later(self.app.run_action, _WINDOWS[event.option_id][2])
        elif event.option_list.id == "sections":
            self._list.focus()
        else:
            self.action_setting_change()

    # --- changes ---------------------------------------------------------------------------------

    @property
    def _editing(self) -> bool:
        return self._field.has_class("-shown")

    def action_setting_change(self) -> None:
        row = self.marked
        if self._names.has_focus:
            self._list.focus()
        elif row is not None and not row.by_environment:
            self.run_worker(self._change(row), group="change", exclusive=True)

    async def _change(self, row: Row) -> None:
        if row.action is not None:
            await self._change_key(row)
        elif isinstance(row.value, bool):
            await self._save(row, not row.value)
        elif row.key == _LANGUAGE:
            picked = await self.app.push_screen_wait(_language_choice(row))
            if picked == _OTHER:
                self._edit(row)
            elif picked is not None and picked != row.value:
                await self._save(row, picked)
        elif row.choices:
            picked = await self.app.push_screen_wait(self._choice(row))
            if picked is not None and picked != row.value:
                await self._save(row, picked)
        elif row.info is not None and row.info.type == "str" and self._is_long(row):
            text = await self.app.push_screen_wait(MemoryEditScreen(row.name, row.value))
            if text is not None:
                await self._save(row, text)
        else:
            self._edit(row)

    def _choice(self, row: Row) -> ChoiceScreen:
        if row.key == "ui.theme":
            return ThemeScreen(self.atlas, keep=False)
        return ChoiceScreen(
            row.name,
            {choice: choice for choice in row.choices},
            str(row.value),
            hint=_("Enter selects · Esc cancels"),
            about=row.about,
            in_use=_("in use"),
        )

    @staticmethod
    def _is_long(row: Row) -> bool:
        return row.info is not None and row.info.most > LONG and row.key != "backup.folder"

    async def _change_key(self, row: Row) -> None:
        action = row.key.partition(".")[2]

        def check(key: str) -> None:
            keymap.check({**self.atlas.keys, action: key})

        key = await self.app.push_screen_wait(KeyScreen(row.name, check))
        if key is not None:
            await self._save(row, None if key == row.default else key)

    def _edit(self, row: Row) -> None:
        listed = isinstance(row.value, list)
        field = self._field
        field.value = _written(row.value)
        field.add_class("-shown")
        # First, because a disabled widget gives its focus away, and later than this line.
        field.focus()
        self._list.disabled = self._names.disabled = True
        self._tell(
            (
                _('A list such as ["END", "STOP"]. Enter saves · Esc cancels')
                if listed
                else _("Enter saves · Esc cancels")
            ),
            "$quiet",
        )

    def _end_edit(self) -> None:
        self._field.remove_class("-shown")
        self._list.disabled = self._names.disabled = False
        self._list.focus()
        self._tell()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input.id == "search":
            self._list.focus()
        elif (row := self.marked) is not None:
            self.run_worker(self._save(row, _read(row, event.value)), group="change", exclusive=True)

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id == "search":
            self._show()

    async def _save(self, row: Row, value: Any) -> None:
        """Saves a value; a refused value stays in its field, with the reason next to it."""
        try:
            await self.atlas.change_setting(row.key, value)
        except SettingsError as error:
            self._tell(_("Not changed: {reason}.", reason=error.reason), "bold $error")
            return
        except OSError as error:
            words = self.atlas.explain(error)
            self._tell(f"{words.title}. {words.message} {words.next_step}", "bold $error")
            return
        if self._editing:
            self._end_edit()
        self.read()
        effect = row.info.effect if row.info is not None else Effect.AT_ONCE
        self._tell(_(_SETTINGS_TEXTS[effect.value]))

    async def action_setting_reset(self) -> None:
        if (row := self.marked) is not None:
            await self._save(row, None)

    # --- navigation ------------------------------------------------------------------------------

    def action_setting_search(self) -> None:
        self._search.add_class("-shown")
        self._search.focus()
        # What is typed next replaces the words of an earlier search.
        self._search.action_select_all()

    def action_setting_sections(self) -> None:
        self._names.focus()

    def action_setting_rows(self) -> None:
        if self._shown:
            self._list.focus()

    def action_setting_back(self) -> None:
        if self._editing:
            self._end_edit()
        elif self._search.has_class("-shown"):
            self._search.value = ""
            self._search.remove_class("-shown")
            self._list.focus()
        else:
            self.dismiss(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        row = self.marked
        if action == "setting_reset":
            return row is not None and row.changed and not row.by_environment and self._list.has_focus
        if action == "setting_change":
            return not self._editing and (row is None or not row.by_environment)
        if action == "setting_search":
            return not self._editing and not self._search.has_focus
        if action in ("setting_sections", "setting_rows"):
            return not self._editing
        return super().check_action(action, parameters)


def _written(value: Any) -> str:
    """Returns a value as text to edit."""
    if value is None:
        return ""
    if isinstance(value, list):
        import json

        return json.dumps(value, ensure_ascii=False)
    return str(value)


def _read(row: Row, typed: str) -> Any:
    """Parses a typed value; an empty number means the default."""
    if row.info is not None and row.info.type == "str":
        return typed
    return read_value(typed) if typed.strip() else None
