"""Asks for the passphrase, for a room that does not open by itself."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from atlas_desktop.error_table import explain
from atlas_desktop.services.cleaning import clean
from atlas_desktop.services.vault import Attempts
from atlas_desktop.tui.screens.covering import Covering
from atlas_desktop.tui.widgets.inputs import CleanInput
from atlas_desktop.words.catalogue import tr
from memory.errors import MemoryFault, WrongPassphrase

if TYPE_CHECKING:
    from atlas_desktop.tui.app import AtlasApp


class PassphraseScreen(Covering, ModalScreen[bool]):
    """Tries what is typed with `attempt`, until that raises nothing; False when the person gives up.

    `attempts` makes who guesses wait, as before the first door.
    """

    of_rooms = False
    DEFAULT_CSS = """
    PassphraseScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 64; max-width: 90%; height: auto; padding: 1 2;
            background: $surface; border: round $warning;
            border-title-color: $warning; border-title-style: bold; border-subtitle-color: $quiet;
        }
        #words { height: auto; margin-bottom: 1; }
        #state { height: auto; color: $quiet; }
        #state.-wrong { color: $error; }
    }
    """
    AUTO_FOCUS = "#secret"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", tr("passphrase.cancel"))]

    def __init__(
        self, title: str, words: str, attempt: Callable[[str], Awaitable[object]], attempts: Attempts
    ) -> None:
        super().__init__()
        self._title_text = title
        self._words = clean(words)
        self._attempt = attempt
        self._attempts = attempts
        self._trying = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = self._title_text
            box.border_subtitle = tr("passphrase.hint")
            yield Static(self._words, id="words", markup=False)
            yield CleanInput(password=True, id="secret", placeholder=tr("passphrase.passphrase"))
            yield Static("", id="state", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        secret = event.value
        if not secret or self._trying:
            return
        if left := self._attempts.left():
            self._say(tr("passphrase.wait", seconds=left), wrong=True)
            return
        event.input.value = ""
        self._trying = True
        self._say(tr("passphrase.opening"))
        cast("AtlasApp", self.app).attempt(self._try(secret), group="passphrase")

    async def _try(self, secret: str) -> None:
        try:
            await self._attempt(secret)
            await asyncio.to_thread(self._attempts.right)
        except (MemoryFault, OSError) as error:
            if isinstance(error, WrongPassphrase):
                await asyncio.to_thread(self._attempts.wrong)
            words = explain(error)
            self._say(f"{words.title}. {words.message}", wrong=True)
            return
        finally:
            self._trying = False
        self._answer(opened=True)

    def _say(self, text: str, *, wrong: bool = False) -> None:
        state = self.query_one("#state", Static)
        state.set_class(wrong, "-wrong")
        state.update(clean(text))

    def action_give_up(self) -> None:
        if not self._trying:
            self._answer(opened=False)

    def _answer(self, *, opened: bool) -> None:
        self.dismiss(opened)
