"""The first steps: where data is kept, the passphrase, and the recovery key shown once and checked."""

import secrets
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen, ScreenResultType
from textual.timer import Timer
from textual.widgets import Button, Checkbox, Input, Static

from atlas_desktop.errors import Explained
from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.widgets import CleanInput, KeyLine
from memory.errors import KeyringUnavailable, MemoryFault, StorageFull
from memory.vault.keys import letters_of

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from memory.vault.keys import RoomKey


class Page(Screen[ScreenResultType]):
    """A sheet of text and fields in the middle of the screen."""

    def __init__(self, app: "BaseApp") -> None:
        super().__init__(classes="page")
        self.atlas = app

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="sheet", can_focus=False):
            yield from self.sheet()
        yield KeyLine()

    def sheet(self) -> ComposeResult:
        """The widgets of the sheet."""
        yield from ()

    def problem(self, title: str, *details: str) -> None:
        """Shows what is wrong, in a line of the sheet; an empty title removes the line."""
        line = self.query_one(".problem", Static)
        rest = "".join(f"\n{clean(detail)}" for detail in details if detail)
        line.update(Content.assemble((clean(title), "bold $error"), (rest, "$foreground")))
        line.set_class(bool(title), "-shown")
        if title:
            line.scroll_visible(animate=False)

    def explain(self, explained: Explained) -> None:
        self.problem(explained.title, explained.message, explained.next_step)


ASKED = 2
RENEWED = _("You never confirmed the first recovery key. This is a new one; the first no longer works.")


class RecoveryScreen(Page[bool]):
    """Opens the room when the user has typed the groups at `ask` (from 0)."""

    AUTO_FOCUS = "#group-0"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("f5", "copy", _("Copy"), priority=True)]

    DEFAULT_CSS = """
    RecoveryScreen {
        #key {
            height: auto;
            width: auto;
            border: round $border;
            padding: 0 3;
            margin: 0 0 1 0;
            text-style: bold;
        }
        .problem { margin: 0 0 1 0; }
        #groups { height: 3; }
        #groups Input { width: 20; margin-right: 2; }
    }
    """

    def __init__(
        self,
        app: "BaseApp",
        key: "RoomKey",
        recovery_key: str,
        *,
        remark: str = "",
        ask: tuple[int, ...] = (),
    ) -> None:
        super().__init__(app)
        self._key = key
        self._recovery_key = recovery_key
        self._groups = recovery_key.split("-")
        self._remark = remark
        self._ask = ask or tuple(sorted(secrets.SystemRandom().sample(range(len(self._groups)), ASKED)))

    def sheet(self) -> ComposeResult:
        title = Content.assemble(
            ("◆ Atlas   ", "bold $primary"), (_("Your recovery key"), "bold $foreground")
        )
        yield Static(title, classes="title")
        if self._remark:
            yield Static(Content.styled(self._remark, "$warning"), classes="words", markup=False)
        yield Static(
            _(
                "It opens your vault if you forget the passphrase. Write it down and keep it away from "
                "this computer. It is shown only once."
            ),
            classes="words quiet",
            markup=False,
        )
        yield Static(self._rows(), id="key")
        yield Static(
            _("To check your copy, type these two groups from it:"), id="check", classes="words", markup=False
        )
        yield Static("", classes="problem", markup=False)
        with Horizontal(id="groups"):
            for at, group in enumerate(self._ask):
                field = CleanInput(id=f"group-{at}", max_length=8)
                field.border_title = _("Group {number}", number=group + 1)
                yield field
        with Horizontal(classes="buttons"):
            yield Button(_("Next"), id="go", variant="primary", compact=True)

    def _rows(self) -> Content:
        parts: list[tuple[str, str]] = []
        for at, group in enumerate(self._groups):
            parts += [(f"{at + 1} ", "$quiet not bold"), (group, "bold $foreground")]
            last = at == len(self._groups) - 1
            parts.append(("", "") if last else ("\n" if at % 3 == 2 else "    ", ""))
        return Content.assemble(*parts)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.input.id == f"group-{len(self._ask) - 1}" or not letters_of(event.value):
            self._check()
        else:
            self.focus_next()

    def on_input_changed(self) -> None:
        self.problem("")

    def on_button_pressed(self) -> None:
        self._check()

    def problem(self, title: str, *details: str) -> None:
        # The problem replaces the request, so that the button stays visible on the smallest screen.
        self.query_one("#check").display = not title
        super().problem(title, *details)

    def _check(self) -> None:
        for at, group in enumerate(self._ask):
            field = self.query_one(f"#group-{at}", Input)
            if not letters_of(field.value):
                self.problem(
                    _("Group {number} is missing.", number=group + 1), _("Type it from your copy of the key.")
                )
                field.focus()
                return
            if letters_of(field.value) != self._groups[group]:
                self.problem(
                    _("Group {number} does not match.", number=group + 1),
                    _("Compare your copy with the key above."),
                )
                field.focus()
                # What is typed next replaces what was wrong.
                field.action_select_all()
                return
        self.query_one("#go", Button).disabled = True
        self.atlas.attempt(self._go_on, group="enter", exclusive=True)

    async def _go_on(self) -> None:
        # If this cannot be stored, a new key is offered at the next start, which is better than not getting
        # in.
        with suppress(StorageFull):
            await self.atlas.desk.vault.recovery_key_seen()
        await self.atlas.enter(self._key, confirmed=True)

    def action_copy(self) -> None:
        self.atlas.copy_to_clipboard(self._recovery_key)
        self.atlas.say(
            _(
                "Copied, if your terminal allows it. Other programs can read the clipboard: paste the key "
                "where you keep it, then copy something else."
            )
        )


class NewRecoveryScreen(RecoveryScreen):
    """Shows a recovery key that replaces another one; dismissed with whether its copy was checked."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "give_up", _("Keep the old one"))]

    async def _go_on(self) -> None:
        self.dismiss(True)  # noqa: FBT003  # the result

    def action_give_up(self) -> None:
        self.dismiss(False)  # noqa: FBT003  # the result


async def renewed(app: "BaseApp", key: "RoomKey") -> RecoveryScreen | None:
    """Returns a screen with a new recovery key, because the first one was never confirmed; None if it cannot
    be stored."""
    try:
        recovery_key = await app.desk.vault.new_recovery_key(key)
    except StorageFull:
        return None
    return RecoveryScreen(app, key, recovery_key, remark=RENEWED)


CLAIM = _(
    "Protects your saved conversations if someone copies your files or takes your locked or "
    "powered-off computer. Does not protect against software running as you while Atlas is "
    "unlocked, swap or hibernation, or a weak passphrase. If you lose your passphrase, "
    "keyring and recovery key, nobody can recover your data."
)
_SCORES = (_("very weak"), _("weak"), _("fair"), _("good"), _("strong"))
_STYLES = ("$error", "$error", "$warning", "$success", "$success")
DEBOUNCE_S = 0.2


class StrengthMeter(Static):
    """One line about a passphrase, measured when typing pauses."""

    DEFAULT_CSS = """
    StrengthMeter { height: auto; min-height: 1; max-height: 2; padding: 0 2; color: $quiet; }
    """

    def __init__(self, app: "BaseApp") -> None:
        super().__init__("", id="strength", markup=False)
        self._atlas = app
        self._timer: Timer | None = None

    def measure(self, passphrase: str) -> None:
        """Shows the strength soon; nothing for an empty passphrase."""
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DEBOUNCE_S, partial(self._measure, passphrase))

    def _measure(self, passphrase: str) -> None:
        self._atlas.attempt(partial(self._estimate, passphrase), group="strength", exclusive=True)

    async def _estimate(self, passphrase: str) -> None:
        if not passphrase:
            self.update("")
            return
        found = await self._atlas.desk.vault.strength(passphrase)
        style = _STYLES[found.score]
        bar = "━" * (found.score + 1) * 3
        self.update(
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


class WelcomeScreen(Page[None]):
    """Asks for the passphrase twice, and offers the system keyring if there is one."""

    AUTO_FOCUS = "#passphrase"

    DEFAULT_CSS = """
    WelcomeScreen {
        .sheet { width: 78; padding: 0 2; }
        .words { margin: 0 0 1 0; }
        #where { margin-bottom: 1; }
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
        yield StrengthMeter(self.atlas)
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
            self.query_one(StrengthMeter).measure(event.value)

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
        """Shows a remark next to the button, where it is visible even on the smallest screen."""
        self.query_one("#state", Static).update(Content.styled(text, "bold $error"))

    async def _make(self, passphrase: str, *, keyring: bool) -> None:

        state = self.query_one("#state", Static)
        state.update(_("Creating keys…"))
        vault = self.atlas.desk.vault
        try:
            created = await vault.create(passphrase, confirm=True)
        except (MemoryFault, OSError) as error:
            state.update("")
            self.explain(self.atlas.explain(error))
            # What is typed next replaces a passphrase that was refused.
            first = self.query_one("#passphrase", Input)
            first.focus()
            first.action_select_all()
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
                words = self.atlas.explain(error)
                refused = _(
                    "{title}. {message} Your passphrase unlocks Atlas.",
                    title=words.title,
                    message=words.message,
                )
        await self.atlas.turn_to(
            RecoveryScreen(self.atlas, created.key, created.recovery_key, remark=refused)
        )
