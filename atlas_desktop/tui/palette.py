"""The command palette with the actions of the registry, by name."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from textual.app import App
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.screen import Screen

from atlas_desktop.tui.actions import ACTIONS, Action, Where, key_words
from atlas_desktop.tui.keymap import keys_of
from atlas_desktop.tui.overlays import Covering


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
        target = self.app if action.where is Where.EVERYWHERE else self.screen
        return partial(self.app.run_action, action.run, target)

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
        found = [(fit(action, words), action) for action in actions]
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


def available(app: App[Any], screen: Screen[Any]) -> Iterator[Action]:
    """Yields the actions that can be done now on a screen."""
    for action in ACTIONS:
        if not action.in_palette:
            continue
        target = app if action.where is Where.EVERYWHERE else screen
        if hasattr(target, f"action_{action.run}") and target.check_action(action.run, ()):
            yield action


def fit(action: Action, words: Sequence[str]) -> float:
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
