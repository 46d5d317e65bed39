"""When the interface itself fails: words in place of a traceback, and a way to go on with everything kept."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import events
from textual.message import Message
from textual.worker import WorkerFailed

from atlas_desktop.errors import Explained
from atlas_desktop.tui.failures import explain_and_note, noted
from atlas_desktop.tui.leaving import Leaving

if TYPE_CHECKING:
    from textual.screen import Screen

MOST = 3
"""So many failures of the interface in one run are met with a fresh screen; one more ends the program."""
CLEAR_S = 3.0


class Rescue(Leaving):
    """Textual ends the program at the first error that nobody caught; the conversation need not end with it.

    What fails in the application's own work is told in a window, and everything goes on. A screen or a widget
    whose own work failed hears nothing any more: it is left for words in place of it, and made anew.
    """

    _failures = 0
    _begun = False
    left_at: str | None = None

    if TYPE_CHECKING:

        async def turn_to(self, screen: "Screen[None]") -> None: ...

        async def begin_anew(self) -> None: ...

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as error:
            if not self._begun:
                raise
            self._remember(error)
            self.background_failed(error)
        if isinstance(message, events.Mount):
            self._begun = True

    def _handle_exception(self, error: Exception) -> None:
        if not self._begun or self.leaving or self._failures >= MOST or self._closing:
            super()._handle_exception(error)
            return
        self._failures += 1
        self._remember(error)
        failed = error.error if isinstance(error, WorkerFailed) else error
        words = explain_and_note(failed if isinstance(failed, Exception) else error, self.desk.paths.logs)
        self.attempt(self._stand_in(words), group="rescue", exclusive=True)

    def _remember(self, error: Exception) -> None:
        # A test of the interface fails with what failed in it, as it would without all this.
        if self.is_headless and self._exception is None:
            self._exception = error

    async def _stand_in(self, words: Explained) -> None:
        """Puts words in the place of the screen that failed, once what is typed has been taken from it."""
        from atlas_desktop.tui.screens.failure import FailureScreen

        shown = self.chat
        self.left_at = None if shown is None else shown.current.id
        try:
            self._gather()
        except Exception as error:  # noqa: BLE001 - the screen that failed may have nothing to give
            noted(error, self.desk.paths.logs)
        if self.desk.room is not None:
            await self.drafts.keep_all()
        async with asyncio.timeout(CLEAR_S):
            await self.turn_to(FailureScreen(words, self._go_on, self.action_quit))

    async def try_again_later(self, error: Exception, again: Callable[[], None]) -> None:
        """There is no screen to go on with: says why, and offers another try."""
        from atlas_desktop.tui.screens.failure import FailureScreen

        words = explain_and_note(error, self.desk.paths.logs)
        await self.turn_to(FailureScreen(words, again, self.action_quit, again=True))

    def _go_on(self) -> None:
        self.attempt(self.begin_anew, group="rescue", exclusive=True)
