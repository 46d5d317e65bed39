"""The part of the conversation screen that says why something cannot be done now."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from textual import events

from atlas_desktop.tui.actions import ACTIONS, Action, Where
from atlas_desktop.tui.keymap import keys_of
from atlas_desktop.tui.screens.chat_holding import Holding
from atlas_desktop.tui.screens.chat_reasons import why_not
from atlas_desktop.words.catalogue import tr

if TYPE_CHECKING:
    from memory.entities import Message


class Refusing(Holding):
    """Mixed into the conversation screen by what carries out commands."""

    if TYPE_CHECKING:

        @property
        def newest_words(self) -> Message | None: ...

    def on_key(self, event: events.Key) -> None:
        """A key that nothing has answered to: where it is known why, that is said."""
        for action in self._bound_to(event.key):
            if not self.check_action(action.run, ()) and (why := self._why_not(action)):
                event.stop()
                self.atlas.warn(tr("chat.action_not_now", action=action.name, why=why))
                return

    def _bound_to(self, key: str) -> Iterator[Action]:
        places = {Where.CHAT, Where.VIEWS}
        if self.transcript.has_focus:
            places.add(Where.MESSAGES)
        for action in ACTIONS:
            if action.where in places and key in keys_of(action, self.atlas.keys).split(","):
                yield action

    def not_now(self, action: Action) -> str:
        """What is said of a command that was typed and cannot be carried out."""
        if why := self._why_not(action):
            return tr("chat.not_now_because", command=action.slash, why=why)
        return tr("chat.not_now", command=action.slash)

    def _why_not(self, action: Action) -> str:
        why = why_not(
            action.run,
            self.current,
            self._standing[0],
            begun_off_record=self._begun_off_record,
            forgotten=self.forgotten,
        )
        return tr(f"chat.why_not.{why}") if why else ""

    @property
    def forgotten(self) -> bool:
        """Whether nothing is kept of the person's newest words."""
        newest = self.newest_words
        return newest is not None and not newest.content.strip()
