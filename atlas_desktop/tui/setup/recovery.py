"""Shows the recovery key once, and asks for parts of it to be sure that it was written down."""

import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Button, Input, Static

from atlas_desktop.errors import Explained
from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean
from atlas_desktop.tui.widgets.inputs import CleanInput
from atlas_desktop.tui.widgets.keyline import KeyLine
from memory.errors import StorageFull
from memory.vault.recovery import letters_of

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp
    from memory.vault.keys import RoomKey


class Page(Screen[None]):
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


class RecoveryScreen(Page):
    """Continues when the user has typed the groups at `ask` (from 0)."""

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
        if event.input.id == f"group-{len(self._ask) - 1}":
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
            if letters_of(field.value) != self._groups[group]:
                self.problem(
                    _("Group {number} does not match.", number=group + 1),
                    _("Compare your copy with the key above."),
                )
                field.focus()
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


async def renewed(app: "BaseApp", key: "RoomKey") -> RecoveryScreen | None:
    """Returns a screen with a new recovery key, because the first one was never confirmed; None if it cannot
    be stored."""
    try:
        recovery_key = await app.desk.vault.new_recovery_key(key)
    except StorageFull:
        return None
    return RecoveryScreen(app, key, recovery_key, remark=RENEWED)
