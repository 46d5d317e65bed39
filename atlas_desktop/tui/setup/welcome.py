"""The first screen: where data is kept, what protects it, and the passphrase."""

from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Button, Checkbox, Input, Static

from atlas_desktop.error_table import explain
from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.setup.recovery import Page
from atlas_desktop.tui.widgets.inputs import CleanInput
from memory.errors import KeyringUnavailable, MemoryFault

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
CLAIM = _(
    "Protects your saved conversations if someone copies your files or takes your locked or "
    "powered-off computer. Does not protect against software running as you while Atlas is "
    "unlocked, swap or hibernation, or a weak passphrase. If you lose your passphrase, "
    "keyring and recovery key, nobody can recover your data."
)
_SCORES = (_("very weak"), _("weak"), _("fair"), _("good"), _("strong"))
_STYLES = ("$error", "$error", "$warning", "$success", "$success")
DEBOUNCE_S = 0.2


class WelcomeScreen(Page):
    """Asks for the passphrase twice, and offers the system keyring if there is one."""

    AUTO_FOCUS = "#passphrase"

    DEFAULT_CSS = """
    WelcomeScreen {
        .sheet { width: 78; padding: 0 2; }
        .words { margin: 0 0 1 0; }
        #where { margin-bottom: 1; }
        #strength { height: auto; min-height: 1; max-height: 2; padding: 0 2; color: $quiet; }
        #keyring { display: none; padding: 0 1; }
        #keyring.-offered { display: block; }
        #go-line { height: 1; margin-top: 1; align-vertical: middle; }
        #state { width: 1fr; padding: 0 2; color: $quiet; }
        #look-line { height: auto; }
        #samples { width: 1fr; height: auto; padding: 0 0 0 2; color: $quiet; }
    }
    """

    def __init__(self, app: "BaseApp") -> None:
        super().__init__(app)
        self._timer: Timer | None = None
        self._creating = False

    def sheet(self) -> ComposeResult:
        home = clean_line(str(self.atlas.desk.paths.home))
        greeting = _("Welcome. Choose a passphrase to begin.")
        yield Static(
            Content.assemble(("◆ Atlas   ", "bold $primary"), (greeting, "bold $foreground")), classes="title"
        )
        yield Static(
            Content.assemble((_("Everything is stored encrypted in "), "$quiet"), (home, "$primary")),
            id="where",
        )
        yield Static(CLAIM, classes="words quiet", markup=False)
        first = CleanInput(password=True, id="passphrase", placeholder=_("Four or five unrelated words"))
        first.border_title = _("Passphrase")
        yield first
        yield Static("", id="strength", markup=False)
        second = CleanInput(password=True, id="again")
        second.border_title = _("Repeat")
        yield second
        yield Checkbox(_("Also unlock with the system keyring"), id="keyring", compact=True)
        with Horizontal(id="go-line"):
            yield Button(_("Create the vault"), id="create", variant="primary", compact=True)
            yield Static("", id="state", markup=False)
        yield Static("", classes="problem", markup=False)
        with Horizontal(id="look-line"):
            yield Button(_("Look around first"), id="look", compact=True)
            yield Static(
                _("Sample data in a temporary home: not kept."),
                id="samples",
                markup=False,
            )

    def on_mount(self) -> None:
        self.query_one("#look-line").display = self.atlas.can_demo
        self.atlas.attempt(self._look_for_keyring(), group="keyring")

    async def _look_for_keyring(self) -> None:
        try:
            backend = await self.atlas.desk.vault.keyring_backend()
        except KeyringUnavailable:
            return  # nothing is offered that cannot be used
        offer = self.query_one("#keyring", Checkbox)
        offer.label = Content(_("Also unlock with the system keyring ({name})", name=clean_line(backend)))
        offer.add_class("-offered")

    def on_input_changed(self, event: Input.Changed) -> None:
        self.problem("")
        self._remark("")
        if event.input.id == "passphrase":
            if self._timer is not None:
                self._timer.stop()
            self._timer = self.set_timer(DEBOUNCE_S, self._measure)

    def _measure(self) -> None:
        text = self.query_one("#passphrase", Input).value
        self.atlas.attempt(self._show_strength(text), group="strength", exclusive=True)

    async def _show_strength(self, text: str) -> None:
        meter = self.query_one("#strength", Static)
        if not text:
            meter.update("")
            return
        found = await self.atlas.desk.vault.strength(text)
        style = _STYLES[found.score]
        bar = "━" * (found.score + 1) * 3
        meter.update(
            Content.assemble(
                (bar, style),
                ("━" * (15 - len(bar)), "$border-blurred"),
                (f"  {_SCORES[found.score]}", f"bold {style}"),
                (
                    f" · {clean_line(found.warning or _('guessed in {time}', time=found.crack_time_text))}",
                    "$quiet",
                ),
            )
        )

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input.id == "passphrase":
            self.set_focus(self.query_one("#again", Input))
        else:
            self._create()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        if event.button.id == "look":
            self.atlas.action_demo()
        else:
            self._create()

    def _create(self) -> None:
        first = self.query_one("#passphrase", Input)
        second = self.query_one("#again", Input)
        if self._creating:
            return
        if not first.value:
            self._remark(_("Enter a passphrase."))
            first.focus()
        elif first.value != second.value:
            self._remark(_("They do not match. Type the second again."))
            second.focus()
        else:
            self._creating = True
            keyring = self.query_one("#keyring", Checkbox).value
            self.atlas.attempt(self._make(first.value, keyring=keyring), group="create")

    def _remark(self, text: str) -> None:
        """Shows a remark beside the button, where it is visible even on the smallest screen."""
        self.query_one("#state", Static).update(Content.styled(text, "bold $error"))

    async def _make(self, passphrase: str, *, keyring: bool) -> None:
        from atlas_desktop.tui.setup.recovery import RecoveryScreen

        state = self.query_one("#state", Static)
        state.update(_("Creating keys…"))
        vault = self.atlas.desk.vault
        try:
            created = await vault.create(passphrase, confirm=True)
        except (MemoryFault, OSError) as error:
            state.update("")
            self.explain(explain(error))
            return
        finally:
            self._creating = False
        refused = ""
        if keyring:
            try:
                await vault.keyring_on(created.key)
            except (MemoryFault, OSError) as error:
                # The vault exists now: whatever the keyring does, this is the only time to show its recovery
                # key.
                words = explain(error)
                refused = _(
                    "{title}. {message} Your passphrase unlocks Atlas.",
                    title=words.title,
                    message=words.message,
                )
        await self.atlas.turn_to(
            RecoveryScreen(self.atlas, created.key, created.recovery_key, remark=refused)
        )
