"""The actions of the registry, by name, in the command palette."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from textual.command import DiscoveryHit, Hit, Hits, Provider

from atlas_desktop.tui.actions import ACTIONS, Action, Where, key_words
from atlas_desktop.tui.keymap import keys_of


class ActionCommands(Provider):
    """Offers every action that can be done right now on the screen below the palette."""

    def _available(self) -> Iterator[Action]:
        for action in ACTIONS:
            if not action.in_palette:
                continue
            target = self.app if action.where is Where.EVERYWHERE else self.screen
            has_it = hasattr(target, f"action_{action.run}")
            if has_it and target.check_action(action.run, ()):
                yield action

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
        for action in self._available():
            score = matcher.match(f"{action.name} {action.help}")
            named = matcher.match(action.name)
            if score > 0 or named > 0:
                shown = matcher.highlight(action.name) if named > 0 else action.name
                yield Hit(
                    named + 1 if named > 0 else score / 2,
                    shown,
                    self._run(action),
                    text=action.name,
                    help=self._help(action),
                )
