"""Holds messages back while the room or the memory mode changes, so that none is sent to the wrong place."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from atlas_desktop.tui.chat.conversation_view import ConversationView

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp

Act = Callable[[], Coroutine[Any, Any, object]]


class ChangeGate:
    """Holds messages until all changes under way have ended."""

    def __init__(self, app: "BaseApp", view: ConversationView, submit: Callable[[str], None]) -> None:
        """`submit` sends what was held back."""
        self._app = app
        self._view = view
        self._submit = submit
        self._changes: dict[object, str] = {}
        self._refused = False
        self.held: tuple[str, ...] = ()

    @property
    def closed(self) -> bool:
        """Whether a change is under way, so that nothing may be sent."""
        return bool(self._changes)

    @property
    def changes(self) -> list[str]:
        """The names of the changes under way. A command that may start one has no name."""
        return [name for name in self._changes.values() if name]

    def change(self, act: Act, what: str, *, group: str, asked_for: bool) -> None:
        """Starts work that may change where messages go. Messages sent meanwhile are sent when it has ended.

        If the user asked for the change (`asked_for`) and nothing has changed, because it was refused or
        failed, the text returns to the prompt instead. `what` is empty for a command, which may start a named
        change.

        The work is never cancelled: Textual reports a worker that was cancelled before its first step as
        running forever.
        """
        token = object()
        self._changes[token] = what
        self._app.attempt(partial(self._carry_out, token, act, asked_for=asked_for), group=group)

    async def _carry_out(
        self, token: object, act: Callable[[], Awaitable[object]], *, asked_for: bool
    ) -> None:
        before = self._view.destination
        try:
            await act()
        finally:
            del self._changes[token]
            self._refused |= asked_for and self._view.destination == before
            if not self.closed:
                self._open()

    def hold_back(self, text: str) -> None:
        self.held += (text,)

    def _open(self) -> None:
        texts, self.held = self.held, ()
        refused, self._refused = self._refused, False
        if not texts or not self._view.is_there:
            return
        if refused:
            self._view.prompt.put("\n\n".join(filter(str.strip, (*texts, self._view.prompt.text))))
            return
        for text in texts:
            # A command among them may start a change that the rest must wait for.
            self._submit(text)
