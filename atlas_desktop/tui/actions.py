"""Every action, once: it feeds the key bindings, the footer, the help and the command palette."""

from collections.abc import Iterator

from textual.binding import Binding

from atlas_desktop.tui.action import Action, Where
from atlas_desktop.tui.action_lists import ACTIONS

__all__ = ["ACTIONS", "BY_ID", "SLASH", "Action", "Where", "bindings", "key_words", "typed"]

BY_ID = {action.id: action for action in ACTIONS}
SLASH = {action.slash: action for action in ACTIONS if action.slash}


def bindings(*places: Where, hidden: bool = False) -> Iterator[Binding]:
    """The key bindings of parts of the interface; `hidden` ones are not in the footer. Their ids let a
    keymap replace the keys."""
    for action in ACTIONS:
        if action.where in places and action.key:
            # An action of a list is carried out by the screen that the list is on.
            prefix = "screen." if action.where in (Where.SESSIONS, Where.MESSAGES) else ""
            yield Binding(
                action.key,
                prefix + action.run,
                action.label or action.name,
                show=bool(action.label) and not hidden,
                priority=action.priority,
                id=action.id,
                tooltip=action.help,
            )


def typed(text: str) -> tuple[Action, tuple[str, ...]] | None:
    """The action that a line stands for, with what is given to it; None for a message."""
    slash, _, rest = text.partition(" ")
    action = SLASH.get(slash)
    if action is None or (rest.strip() and not action.words):
        return None
    return action, ((rest.strip(),) if action.words else ())


_WORDS = {
    "escape": "Esc",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "delete": "Del",
    "enter": "Enter",
    "slash": "/",
    "question_mark": "?",
    "plus": "+",
    "minus": "-",
    "full_stop": ".",
    "comma": ",",
}


def key_words(key: str) -> str:
    """Keys as people write them: `ctrl+n` is `Ctrl+N`, and `b`, which is typed without Shift, `b`."""

    def one(part: str) -> str:
        if len(part) == 1:
            return f"Shift+{part}" if part.isupper() else part.upper()
        return _WORDS.get(part, part.upper() if part[1:].isdigit() else part.capitalize())

    def together(each: str) -> str:
        return each if len(each) == 1 and each.islower() else "+".join(map(one, each.split("+")))

    return " or ".join(together(each) for each in key.split(",") if each)
