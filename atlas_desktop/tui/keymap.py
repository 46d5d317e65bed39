"""The user's own keys: which action has which, and which are not allowed. Pure functions."""

import re
from collections.abc import Iterator, Mapping

from atlas_desktop.locale import _
from atlas_desktop.settings.file import KEYS, SettingsError
from atlas_desktop.tui.actions import ACTIONS, BY_ID, Action, Where, key_words

Keymap = Mapping[str, str]
"""Keys by action id (`ctrl+k`; several are separated by commas; empty for none)."""

UNBOUND = "unbound-"
"""Begins the name of a key that nobody can press: Textual has no other way to unbind an action."""

_WRITTEN = {
    "esc": "escape",
    "return": "enter",
    "del": "delete",
    "ins": "insert",
    "pgup": "pageup",
    "pgdn": "pagedown",
    "/": "slash",
    "?": "question_mark",
    "+": "plus",
    "-": "minus",
    ".": "full_stop",
    ",": "comma",
}
_TYPED = {name: character for character, name in _WRITTEN.items() if len(character) == 1}
_NAMED = frozenset(
    [
        "enter",
        "escape",
        "tab",
        "space",
        "backspace",
        "delete",
        "insert",
        "home",
        "end",
        "pageup",
        "pagedown",
        "up",
        "down",
        "left",
        "right",
        "slash",
        "question_mark",
        "plus",
        "minus",
        "full_stop",
        "comma",
        "backslash",
    ]
)
_MODIFIERS = ("ctrl", "alt", "shift")
_FUNCTION = re.compile(r"f([1-9]|1[0-9]|2[0-4])")
# Keys that every terminal or field needs for itself. Terminals send Tab, Enter, Backspace and a new line as
# `ctrl+i`, `ctrl+m`, `ctrl+h` and `ctrl+j`.
RESERVED = frozenset(
    [
        "ctrl+c",
        "ctrl+i",
        "ctrl+m",
        "ctrl+h",
        "ctrl+j",
        "tab",
        "shift+tab",
        "enter",
        "shift+enter",
        "escape",
        "backspace",
        "space",
        "up",
        "down",
        "left",
        "right",
        "home",
        "end",
    ]
)
# Without these the user could not send a message, or quit.
_NEEDED = frozenset({"chat.send", "app.palette", "app.quit"})
_TYPING = frozenset({Where.CHAT, Where.VIEWS, Where.EVERYWHERE})
# The second of each pair leads back out of the view. Both may have the same key.
_BACK = {"history.show": "history.back", "memory.show": "memories.back", "insights.show": "insights.back"}
# Lists on the chat screen.
_INSIDE = frozenset({Where.SESSIONS, Where.MESSAGES})
# Screens from which no key leads to a view.
_ALONE = frozenset({Where.SETTINGS, Where.MODELS})


class KeyTaken(SettingsError):
    """The key belongs to another action; `by` is its name."""

    def __init__(self, where: str, key: str, other: Action) -> None:
        super().__init__(where, _("{key} is used for {id} ({name})", key=key, id=other.id, name=other.name))
        self.by = other.name


def keys_of(action: Action, keymap: Keymap) -> str:
    """Returns the keys of an action, separated by commas; empty for none."""
    given = keymap.get(action.id)
    return action.key if given is None else ",".join(_normal(given))


def shown_keys(action_id: str, keymap: Keymap) -> str:
    """Returns the keys of an action as they are shown; empty for none."""
    return key_words(keys_of(BY_ID[action_id], keymap))


def how_to(action_id: str, keymap: Keymap) -> str:
    """Returns how to start an action: its keys, or its command, or its name in the palette."""
    action = BY_ID[action_id]
    keys = shown_keys(action_id, keymap)
    return keys or action.slash or _("“{name}” in the palette", name=action.name)


def check(keymap: Keymap, only: str | None = None) -> None:
    """Raises `SettingsError` with the action and the reason if the keymap is invalid.

    With `only`, it checks that action alone, even if the user has set no keys for it.
    """
    for action_id in keymap if only is None else (only,):
        action = BY_ID.get(action_id)
        where = f"{KEYS}.{action_id}"
        if action is None:
            if action_id in keymap:
                raise SettingsError(where, _("there is no such action"))
            continue
        keys = _normal(keymap.get(action_id, action.key))
        if not keys and action_id in _NEEDED:
            raise SettingsError(where, _("this action needs a key"))
        for key in keys:
            if reason := _refused(key, action):
                raise SettingsError(where, reason)
        for other, key in _taken(action, keys, keymap):
            raise KeyTaken(where, key, other)


def bound(keymap: Keymap) -> dict[str, str]:
    """Returns the keymap for Textual.

    Textual removes all bindings of a key when one of them moves, so the others are listed too.
    """
    made: dict[str, str] = {}
    moved = {key for id_ in keymap if id_ in BY_ID for key in BY_ID[id_].key.split(",")}
    for action in ACTIONS:
        if action.id in keymap:
            made[action.id] = keys_of(action, keymap) or f"{UNBOUND}{len(made)}"
        elif moved & set(action.key.split(",")) - {""}:
            made[action.id] = action.key
    return made


def character_of(key: str) -> str | None:
    """Returns what a key types into a field; None if it types nothing."""
    return key if len(key) == 1 else _TYPED.get(key)


def active_places(here: Where) -> tuple[Where, ...]:
    """Returns the parts of the interface whose keys are listened to while the focus is in one."""
    around = (Where.CHAT,) if here in _INSIDE else ()
    views = () if here in _ALONE | {Where.READER} else (Where.VIEWS,)
    return (here, *around, *views, Where.EVERYWHERE)


def _normal(text: str) -> tuple[str, ...]:
    """Returns the keys of a text by Textual's names: `Ctrl+K, F7` is `ctrl+k` and `f7`."""
    return tuple(_one(part.strip()) for part in text.split(",") if part.strip())


def _one(text: str) -> str:
    *modifiers, key = [part.strip() for part in text.split("+")] if not text.endswith("+") else [text]
    modifiers = [modifier.lower() for modifier in modifiers]
    if len(key) == 1 and key.isalpha():
        if modifiers == ["shift"]:
            return key.upper()
        return "+".join([*sorted(modifiers, key=_order), key.lower()]) if modifiers else key
    key = _WRITTEN.get(key.lower(), key.lower())
    return "+".join([*sorted(modifiers, key=_order), key])


def _order(modifier: str) -> int:
    return _MODIFIERS.index(modifier) if modifier in _MODIFIERS else len(_MODIFIERS)


def _refused(key: str, action: Action) -> str:
    """Returns why an action cannot have a key; empty if it can."""
    *modifiers, name = key.split("+")
    known = name in _NAMED or _FUNCTION.fullmatch(name) or (len(name) == 1 and name.isprintable())
    if not known or not set(modifiers) <= set(_MODIFIERS):
        return _("unknown key {key}; examples: ctrl+k, alt+left, f7", key=key)
    if key in action.key.split(","):
        return ""
    if key in RESERVED:
        return _("{key} is reserved", key=key)
    plain = not modifiers and not _FUNCTION.fullmatch(name) and name not in ("pageup", "pagedown", "insert")
    if plain and action.where in _TYPING:
        return _("{key} is used for typing here; add ctrl or alt, or use a function key", key=key)
    return ""


def _taken(action: Action, keys: tuple[str, ...], keymap: Keymap) -> Iterator[tuple[Action, str]]:
    """Yields other actions of the same place with one of the keys, except those that share it by default."""
    own = action.key.split(",")
    for other in ACTIONS:
        if other is action or not _together(action.where, other.where):
            continue
        if _BACK.get(action.id) == other.id or _BACK.get(other.id) == action.id:
            continue
        theirs = keys_of(other, keymap).split(",")
        for key in keys:
            if key in theirs and not (key in own and key in other.key.split(",")):
                yield other, key


def _together(one: Where, other: Where) -> bool:
    """Whether both are active at once."""
    both = {one, other}
    if one is other or Where.EVERYWHERE in both:
        return True
    if Where.VIEWS in both:
        return not both & _ALONE
    return Where.CHAT in both and bool(both & _INSIDE)
