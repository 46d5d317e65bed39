"""Asking for the passphrase: on the unlock screen, and in a window for the private room."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.widgets import Input, Static

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean
from atlas_desktop.services.vault import Attempts
from atlas_desktop.tui.setup.welcome import Page
from atlas_desktop.tui.widgets import CleanInput, Window
from memory.errors import KeyringOff, KeyringUnavailable, MemoryFault, WrongPassphrase, WrongRecoveryKey

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp


PASSPHRASE = _("Passphrase")
RECOVERY = _("Recovery key")
READY = _("Enter unlocks")


class UnlockScreen(Page[None]):
    """Tries the keyring `by_itself`, or only when the user asks: a locked program must not unlock unasked."""

    AUTO_FOCUS = "#secret"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "other_way", _("Passphrase or recovery key"), priority=True),
        Binding("ctrl+k", "keyring", _("System keyring"), priority=True),
    ]

    DEFAULT_CSS = """
    UnlockScreen {
        .sheet { width: 60; }
        #state { height: 1; margin-top: 1; color: $quiet; }
    }
    """

    def sheet(self) -> ComposeResult:
        yield Static("◆ Atlas", classes="brand", markup=False)
        yield Static(_("Locked"), classes="title", id="title", markup=False)
        secret = CleanInput(password=True, id="secret")
        secret.border_title = PASSPHRASE
        yield secret
        yield Static(READY, id="state", markup=False)
        yield Static("", classes="problem", markup=False)

    def __init__(self, app: "BaseApp", *, by_itself: bool = True) -> None:
        super().__init__(app)
        self._trying = False
        self._by_itself = by_itself
        self._has_keyring = False
        self._attempts = Attempts(app.desk.paths.attempts)

    def on_mount(self) -> None:
        self.atlas.attempt(self._look, group="unlock", exclusive=True)
        self.set_interval(1, self._count_down)
        self._count_down()

    async def _look(self) -> None:
        self._has_keyring = (await self.atlas.desk.vault.status()).keyring_backend is not None
        self.refresh_bindings()
        if self._has_keyring and self._by_itself:
            await self._by_keyring()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "keyring":
            return self._has_keyring and not self._trying
        return super().check_action(action, parameters)

    def _count_down(self) -> None:
        """Shows how long to wait after too many wrong passphrases."""
        if not self._trying:
            left = self._attempts.left()
            self.query_one("#state", Static).update(
                _("Try again in {seconds} s", seconds=left) if left else READY
            )

    @property
    def _secret(self) -> Input:
        return self.query_one("#secret", Input)

    @property
    def _by_recovery_key(self) -> bool:
        return self._secret.border_title == RECOVERY

    def _busy(self, words: str) -> None:
        self._trying = bool(words)
        self.query_one("#state", Static).update(words or READY)
        self._count_down()
        self.refresh_bindings()

    async def _by_keyring(self) -> None:
        self._busy(_("Asking the system keyring…"))
        try:
            key = await self.atlas.desk.vault.unlock_with_keyring()
        except (KeyringOff, KeyringUnavailable) as error:
            self._busy("")
            self.explain(self.atlas.explain(error))
            return
        self._busy(_("Unlocking…"))
        await self.atlas.enter(key)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if self._attempts.left():
            self._count_down()
        elif event.value and not self._trying:
            # Cleared at once and never disabled: whatever is typed from now on is the next attempt.
            self._secret.value = ""
            self.atlas.attempt(self._unlock(event.value), group="unlock", exclusive=True)

    def on_input_changed(self, event: Input.Changed) -> None:
        # The program also clears the field; the problem must stay visible then.
        if event.value:
            self.problem("")

    async def _unlock(self, secret: str) -> None:
        vault = self.atlas.desk.vault
        self.problem("")
        self._busy(_("Unlocking…"))
        try:
            if self._by_recovery_key:
                keys = await vault.unlock_both_with_recovery(secret)
                await asyncio.to_thread(self._attempts.right)
                await self.atlas.enter(keys.open)
                self.atlas.change_passphrase(keys)
            else:
                key = await vault.unlock(secret)
                await asyncio.to_thread(self._attempts.right)
                await self.atlas.enter(key)
        except (WrongPassphrase, WrongRecoveryKey) as error:
            await asyncio.to_thread(self._attempts.wrong)
            self._busy("")
            words = self.atlas.explain(error)
            other = (
                _("Try again, or use your passphrase (Ctrl+R).")
                if self._by_recovery_key
                else _("Try again, or use your recovery key (Ctrl+R).")
            )
            self._give_back(secret)
            self.problem(words.title, words.message, other)
        except (MemoryFault, OSError) as error:
            self._busy("")
            self._give_back(secret)
            self.explain(self.atlas.explain(error))

    def _give_back(self, secret: str) -> None:
        """Puts a refused recovery key back, to be compared with the copy; not if something else was typed."""
        if self._by_recovery_key and not self._secret.value:
            with self.prevent(Input.Changed):
                self._secret.value = secret
            self._secret.action_end()

    def action_keyring(self) -> None:
        self.atlas.attempt(self._by_keyring, group="unlock", exclusive=True)

    def action_other_way(self) -> None:
        recovery = not self._by_recovery_key
        self._secret.border_title = RECOVERY if recovery else PASSPHRASE
        self._secret.password = not recovery
        self._secret.value = ""
        # The problem was about the other kind of secret.
        self.problem("")
        self._secret.focus()


class PassphraseScreen(Window[bool]):
    """Calls `attempt` with what is typed until it succeeds; dismissed with False if the user gives up.

    `attempts` delays further guesses.
    """

    of_rooms = False
    DEFAULT_CSS = """
    PassphraseScreen {
        .box { width: 64; max-width: 90%; border: round $warning; border-title-color: $warning; }
        #words { height: auto; margin-bottom: 1; }
        #state { height: auto; color: $quiet; }
        #state.-wrong { color: $error; }
    }
    """
    AUTO_FOCUS = "#secret"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", _("Cancel"))]

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
            box.border_subtitle = _("Enter confirms · Esc cancels")
            yield Static(self._words, id="words", markup=False)
            yield CleanInput(
                password=True, id="secret", placeholder=_("The passphrase you unlock Atlas with")
            )
            yield Static("", id="state", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        secret = event.value
        if not secret or self._trying:
            return
        if left := self._attempts.left():
            self._say(_("Try again in {seconds} s.", seconds=left), wrong=True)
            return
        event.input.value = ""
        self._trying = True
        self._say(_("Opening…"))
        cast("BaseApp", self.app).attempt(self._try(secret), group="passphrase")

    async def _try(self, secret: str) -> None:
        try:
            await self._attempt(secret)
            await asyncio.to_thread(self._attempts.right)
        except (MemoryFault, OSError) as error:
            if isinstance(error, WrongPassphrase):
                await asyncio.to_thread(self._attempts.wrong)
            words = cast("BaseApp", self.app).explain(error)
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
