"""Every action by name: the help with its keys, and the command palette."""

import textwrap
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from rich.cells import cell_len
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.locale import _
from atlas_desktop.tui import keymap
from atlas_desktop.tui.actions import ACTIONS, BY_ID, Action, Where, key_words
from atlas_desktop.tui.keymap import keys_of
from atlas_desktop.tui.widgets import CleanInput, Covering, Window, fit

_KEYS = 21


class HelpScreen(Window[None]):
    """`keys` are the user's own. The actions of `here` come first, and those with an id in `unavailable` are
    dimmed; typing searches. It is a single list of texts, so it opens at once."""

    of_rooms = False
    DEFAULT_CSS = """
    HelpScreen {
        .box { width: 92; height: 92%; padding: 1 1 0 1; }
        OptionList {
            height: 1fr; border: none; padding: 0; background: $surface; scrollbar-size-vertical: 1;
            &:focus { border: none; background-tint: transparent; }
            & > .option-list--option { padding: 0 1; }
            & > .option-list--option-disabled { color: $foreground; }
        }
        .hint { color: $quiet; height: auto; padding: 0 1; }
    }
    """
    AUTO_FOCUS = "#find"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1", "close", show=False),
        Binding("up", "move('cursor_up')", show=False),
        Binding("down", "move('cursor_down')", show=False),
        Binding("pageup", "move('page_up')", show=False),
        Binding("pagedown", "move('page_down')", show=False),
    ]

    def __init__(
        self, keys: Mapping[str, str], here: Where = Where.CHAT, unavailable: Container[str] = ()
    ) -> None:
        super().__init__()
        self._keys = keys
        self._here = here
        self._unavailable = unavailable
        self._list = OptionList(markup=False)
        self._list.can_focus = False

    def compose(self) -> ComposeResult:
        palette = key_words(keymap.keys_of(BY_ID["app.palette"], self._keys))
        with Vertical(classes="box") as box:
            box.border_title = _("Help")
            box.border_subtitle = _("Esc closes")
            yield CleanInput(placeholder=_("Type to search the actions"), id="find")
            yield self._list
            yield Static(
                _("Every action is also in the command palette ({key}).", key=palette),
                classes="hint",
                markup=False,
            )

    def on_mount(self) -> None:
        fit(self, self._list, self._fill)

    def _fill(self) -> None:
        width = max(self._list.size.width - 4, 40)
        at = self._list.highlighted
        self._list.clear_options()
        words = self.query_one(Input).value.casefold().split()
        self._list.add_options(_lines(self._keys, self._here, self._unavailable, words, width))
        # Without a highlighted row, a page down would jump to the end.
        self._list.highlighted = 1 if at is None or words else at

    def on_input_changed(self) -> None:
        self._list.highlighted = None
        self._fill()

    def on_input_submitted(self) -> None:
        self.action_close()

    def on_option_list_option_selected(self) -> None:
        self.action_close()

    def action_move(self, how: str) -> None:
        """Moves the cursor of the list while the field has the focus."""
        getattr(self._list, f"action_{how}")()

    def action_close(self) -> None:
        self.dismiss(None)


def _lines(
    keys: Mapping[str, str], here: Where, unavailable: Container[str], words: Sequence[str], width: int
) -> Iterator[Option]:
    first = True
    active = keymap.active_places(here)
    elsewhere = [where for where in Where if where not in active]
    for where in (*active, *elsewhere):
        found = [
            (action, own)
            for action in ACTIONS
            if action.where is where and _fits(action, own := keymap.keys_of(action, keys), words)
        ]
        if not found:
            continue
        label = where.label if where in active else _("Elsewhere: {place}", place=where.label)
        head = Content.styled(label, "bold $accent")
        yield Option(Content.assemble("" if first else "\n", head, "\n"), disabled=True)
        first = False
        for action, own in found:
            yield Option(_entry(action, own, width, dimmed=action.id in unavailable))
    if first:
        yield Option(Content.styled(_("No matching actions."), "$quiet"), disabled=True)


def _fits(action: Action, keys: str, words: Sequence[str]) -> bool:
    about = f"{action.name} {action.help} {action.slash} {key_words(keys)}".casefold()
    return all(word in about for word in words)


def _entry(action: Action, keys: str, width: int, *, dimmed: bool) -> Content:
    ways = " ".join(way for way in (key_words(keys), action.slash) if way) or _("palette")
    gap = " " * max(_KEYS - cell_len(ways), 1)
    room = max(width - _KEYS, 20)
    indent = "\n" + " " * _KEYS
    about = indent.join(textwrap.wrap(action.help, room))
    if dimmed:
        name = _("{action} · not now", action=action.name)
        return Content.assemble((ways, "$quiet"), gap, (name, "$quiet"), indent, (about, "$quiet"), "\n")
    return Content.assemble((ways, "$primary"), gap, (action.name, "bold"), indent, (about, "$quiet"), "\n")


class Palette(Covering, CommandPalette):
    """Textual's palette, but it closes only once, however often Enter is pressed."""

    of_rooms = False

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "command_list" and parameters in (("page_up",), ("page_down",)):
            # A list knows the length of a page only once it has been laid out.
            lists = self.query(CommandList)
            return bool(lists) and bool(lists.first().scrollable_content_region)
        return super().check_action(action, parameters)


class ActionCommands(Provider):
    """Offers every action that can be done right now on the screen below the palette."""

    def _available(self) -> Iterator[Action]:
        return available(self.app, self.screen)

    def _run(self, action: Action) -> Callable[[], object]:
        return partial(self.app.run_action, action.run, target_of(self.app, self.screen, action))

    def _help(self, action: Action) -> str:
        own: Mapping[str, str] = getattr(self.app, "keys", {})
        keys = keys_of(action, own)
        return f"{action.help} ({key_words(keys)})" if keys else action.help

    async def discover(self) -> Hits:
        for action in self._available():
            yield DiscoveryHit(action.name, self._run(action), help=self._help(action))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        words = query.casefold().split()
        actions = list(self._available())
        found = [(fitness(action, words), action) for action in actions]
        if not any(score for score, _ in found):
            found = [(matcher.match(action.name), action) for action in actions]
        for score, action in found:
            if score > 0:
                named = matcher.match(action.name) > 0
                yield Hit(
                    score,
                    matcher.highlight(action.name) if named else action.name,
                    self._run(action),
                    text=action.name,
                    help=self._help(action),
                )


def unavailable(app: App[Any], screen: Screen[Any], keys: Mapping[str, str], here: Where) -> frozenset[str]:
    """Returns the ids of the actions whose keys do nothing at this moment, or something else, among those of
    the places that listen to keys."""
    taken: set[str] = set()
    found = set()
    for where in keymap.active_places(here):
        for action in ACTIONS:
            if action.where is not where or not (own := keys_of(action, keys)):
                continue
            free = [key for key in own.split(",") if key not in taken and _is_heard(screen, action, key)]
            if free and _can_run(app, screen, action):
                taken.update(free)
            else:
                found.add(action.id)
    return frozenset(found)


def _can_run(app: App[Any], screen: Screen[Any], action: Action) -> bool:
    target = app if action.where is Where.EVERYWHERE else screen
    return bool(target.check_action(action.run, ()))


def _is_heard(screen: Screen[Any], action: Action, key: str) -> bool:
    """Whether a key is not typed into the field that has the focus."""
    focused = screen.focused
    return focused is None or action.priority or not focused.check_consume_key(key, keymap.character_of(key))


def target_of(app: App[Any], screen: Screen[Any], action: Action) -> App[Any] | Screen[Any]:
    """Returns what runs an action that is chosen on a screen: the application, the screen, or the
    conversation below it."""
    if action.where is Where.EVERYWHERE:
        return app
    own = isinstance(screen, ModalScreen) or hasattr(screen, f"action_{action.run}")
    chat: Screen[Any] | None = getattr(app, "chat", None) if action.over_others and not own else None
    return chat or screen


def available(app: App[Any], screen: Screen[Any]) -> Iterator[Action]:
    """Yields the actions that can be done now on a screen."""
    for action in ACTIONS:
        if not action.in_palette:
            continue
        target = target_of(app, screen, action)
        if hasattr(target, f"action_{action.run}") and target.check_action(action.run, ()):
            yield action


def fitness(action: Action, words: Sequence[str]) -> float:
    """Returns how well the typed words fit an action: 0 if one of them occurs in none of its texts.

    A match at the start of the name scores more than one inside it, a slash command more than the help text.
    """
    name, slash, about = action.name.casefold(), action.slash.casefold().lstrip("/"), action.help.casefold()
    score = 0.0
    for word in words:
        if name.startswith(word):
            score += 1.0
        elif f" {word}" in name or (slash and slash.startswith(word.lstrip("/"))):
            score += 0.8
        elif word in name:
            score += 0.6
        elif f" {word}" in f" {about}":
            score += 0.4
        elif word in about:
            score += 0.2
        else:
            return 0.0
    return score / len(words) if words else 0.0
