"""The way in: a passphrase, the system keyring, or the recovery key. Nothing of what is inside is shown."""

from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input, Static

from atlas_desktop.explain import explain
from atlas_desktop.tui.screens.page import Page
from atlas_desktop.tui.widgets.inputs import CleanInput
from memory.errors import KeyringOff, KeyringUnavailable, MemoryFault, WrongPassphrase

if TYPE_CHECKING:
    from atlas_desktop.tui.app import AtlasApp

PASSPHRASE = "Passphrase"  # noqa: S105  # a label
RECOVERY = "Recovery key"


class UnlockScreen(Page):
    """Tries the keyring by itself when the vault has a slot for it."""

    AUTO_FOCUS = "#secret"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+r", "other_way", "Passphrase or recovery key", priority=True),
    ]

    DEFAULT_CSS = """
    UnlockScreen {
        .sheet { width: 60; }
        #state { height: 1; margin-top: 1; color: $quiet; }
    }
    """

    def sheet(self) -> ComposeResult:
        yield Static("◆ Atlas", classes="brand", markup=False)
        yield Static("Locked", classes="title", id="title", markup=False)
        secret = CleanInput(password=True, id="secret")
        secret.border_title = PASSPHRASE
        yield secret
        yield Static("Enter unlocks", id="state", markup=False)
        yield Static("", classes="problem", markup=False)

    def __init__(self, app: "AtlasApp") -> None:
        super().__init__(app)
        self._trying = False

    def on_mount(self) -> None:
        self.atlas.attempt(self._by_keyring(), group="unlock", exclusive=True)

    @property
    def _secret(self) -> Input:
        return self.query_one("#secret", Input)

    @property
    def _by_recovery_key(self) -> bool:
        return self._secret.border_title == RECOVERY

    def _busy(self, words: str) -> None:
        self.query_one("#state", Static).update(words or "Enter unlocks")
        self._trying = bool(words)

    async def _by_keyring(self) -> None:
        vault = self.atlas.desk.vault
        if (await vault.status()).keyring_backend is None:
            return
        self.query_one("#state", Static).update("Asking the system keyring…")
        try:
            key = await vault.unlock_with_keyring()
        except (KeyringOff, KeyringUnavailable) as error:
            self._busy("")
            self.explain(explain(error))
            return
        self._busy("Unlocking…")
        await self.atlas.enter(key)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value and not self._trying:
            # Emptied at once and never disabled: whatever is typed from now on is the next attempt.
            self._secret.value = ""
            self.atlas.attempt(self._unlock(event.value), group="unlock", exclusive=True)

    def on_input_changed(self, event: Input.Changed) -> None:
        # The field is also emptied by the program, after which what went wrong is to stay.
        if event.value:
            self.problem("")

    async def _unlock(self, secret: str) -> None:
        vault = self.atlas.desk.vault
        self.problem("")
        self._busy("Unlocking…")
        try:
            if self._by_recovery_key:
                key = await vault.unlock_with_recovery(secret)
            else:
                key = await vault.unlock(secret)
            await self.atlas.enter(key)
        except WrongPassphrase as error:
            self._busy("")
            words = explain(error)
            self.problem(words.title, words.message, "Try again, or use your recovery key: Ctrl+R.")
        except (MemoryFault, OSError) as error:
            self._busy("")
            self.explain(explain(error))

    def action_other_way(self) -> None:
        recovery = not self._by_recovery_key
        self._secret.border_title = RECOVERY if recovery else PASSPHRASE
        self._secret.password = not recovery
        self._secret.value = ""
        self._secret.focus()
