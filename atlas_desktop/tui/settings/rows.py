"""The settings as rows of a form: name, value, and who set it. Pure functions."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.settings.descriptions import Effect, SettingInfo, describe
from atlas_desktop.settings.file import KEYS, SettingsFile
from atlas_desktop.tui import keymap
from atlas_desktop.tui.actions import ACTIONS, Action, key_words
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.formats import formats

LONG = 1000
"""A text that may be longer than this is written in a window of its own."""
_NARROWEST = 12


@dataclass(frozen=True, slots=True)
class Row:
    """One setting, or the keys of one action. `changed` tells that it is not at its default."""

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
        """Returns the possible values; nothing if it is not a choice."""
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
            f"{action.name} ({action.where.label.lower()})",
            action.help,
            now,
            action.key,
            now != action.key,
            by_environment=False,
            action=action,
        )


def matching(found: list[Row], words: str) -> list[Row]:
    """Returns the rows that have every word in their name, key, description or value."""
    wanted = words.casefold().split()

    def has(row: Row) -> bool:
        text = f"{row.name} {row.key} {row.about} {row.shown}".casefold()
        return all(word in text for word in wanted)

    return [row for row in found if has(row)]


def words_of(value: Any) -> str:
    """Returns a value as a person reads it."""
    if isinstance(value, bool):
        return tr("settings.on" if value else "settings.off")
    if value is None or value == []:
        return tr("settings.none")
    if isinstance(value, str):
        return clean_line(value) or tr("settings.empty")
    if isinstance(value, int):
        return formats().number(value)
    return clean_line(str(value))


def _keys(value: str) -> str:
    return key_words(value) or tr("settings.no_key")


def line(row: Row, width: int) -> Content:
    """Returns one line of the list: the name, its state, and the value at the right."""
    mark = ""
    if row.by_environment and row.info is not None:
        mark = tr("settings.from_environment", variable=row.info.env)
    elif row.changed:
        mark = tr("settings.changed")
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
        told = tr("settings.default", default=_keys(str(row.default)))
        where = tr("settings.config_key", action=row.key.partition(".")[2])
        return Content.assemble(*parts, (f"{told} · {where}", "$quiet"))
    default = clean_line(words_of(row.default))[:80]
    if row.info.bounds:
        told = tr("settings.bounds", bounds=row.info.bounds, default=default)
    else:
        told = tr("settings.default", default=default)
    parts += [(told, "$quiet"), ("\n", "")]
    if row.by_environment:
        parts.append((tr("settings.read_only", variable=row.info.env), "$warning"))
        return Content.assemble(*parts)
    parts.append((tr("settings.config", key=row.key, variable=row.info.env), "$quiet"))
    if row.info.effect is not Effect.AT_ONCE:
        later = tr(f"settings.effect.{row.info.effect.value}")
        parts += [(" ", ""), (later, "$quiet")]
    return Content.assemble(*parts)
