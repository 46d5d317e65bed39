"""Forgets from any screen: the same preview, question and receipt everywhere."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from atlas_desktop.locale import _
from atlas_desktop.phrases import preview_text, stored_text
from atlas_desktop.tui.calendar import long
from atlas_desktop.tui.dialogs.forms import FieldsScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.overlays import Covering
from memory.entities import StoredReceipt, Target, counts

if TYPE_CHECKING:
    from datetime import datetime

    from atlas_desktop.services.forgetting import Receipt
    from atlas_desktop.services.forgetting_in_rooms import ForgettingPlan
    from atlas_desktop.tui.base import BaseApp

_SHOWN = 5


async def forget_words(app: "BaseApp", words: str = "") -> "tuple[ForgettingPlan, Receipt] | None":
    """Asks for words if there are none, and forgets everything that has all of them; None if nothing was."""
    if not words:
        field = _("Words")
        given = await app.push_screen_wait(
            FieldsScreen(
                _("Forget by words"),
                [field],
                hint=_(
                    "Everything with all of these words: conversations, messages, summaries, memories, "
                    "documents and notes of the open rooms. `word*` also finds longer words."
                ),
            )
        )
        words = "" if given is None else given[field].strip()
    return await forget(app, Target(about=words)) if words else None


async def forget(app: "BaseApp", target: Target) -> "tuple[ForgettingPlan, Receipt] | None":
    """Shows what would be forgotten, asks, and forgets it; None if nothing was."""
    forgetting = app.desk.rooms.forgetting
    plan = await forgetting.preview(target)
    erased = plan.affected.erased
    if not any(counts(erased).values()) and not erased.places:
        app.say(_("No matches. Nothing would be forgotten."))
        return None
    asked = ConfirmScreen(
        _("Forget permanently?"),
        preview_text(plan.affected, shown=_SHOWN, ids=False),
        agree=_("Forget"),
        refuse=_("Keep"),
    )
    if not await app.push_screen_wait(asked):
        return None
    return plan, await forgetting.forget(plan)


class ReceiptsScreen(Covering, ModalScreen[None]):
    """What was forgotten, latest first: when, how much, and whether it is gone."""

    DEFAULT_CSS = """
    ReceiptsScreen {
        align: center middle;
        background: $background 70%;
        .box {
            width: 84; max-width: 94%; height: auto; max-height: 90%; padding: 1 2;
            background: $surface; border: round $primary;
            border-title-color: $primary; border-title-style: bold; border-subtitle-color: $quiet;
        }
        VerticalScroll { height: auto; max-height: 30; scrollbar-size-vertical: 1; }
        VerticalScroll:focus { background-tint: transparent; }
        .receipts { height: auto; }
        .hint { color: $quiet; height: auto; margin-bottom: 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter", "close", _("Close"))]

    def __init__(self, receipts: Sequence[StoredReceipt], now: "datetime") -> None:
        super().__init__()
        self._receipts = receipts
        self._now = now

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Receipts")
            box.border_subtitle = _("Esc closes")
            hint = _("What was forgotten in the open rooms: numbers, and nothing of what it was.")
            yield Static(hint, classes="hint", markup=False)
            with VerticalScroll():
                yield Static(self._text(), classes="receipts", markup=False)

    def _text(self) -> Content:
        if not self._receipts:
            return Content(_("Nothing was forgotten yet."))
        lines = [
            Content.assemble((long(one.forgotten_at, self._now), "bold"), "\n", stored_text(one))
            for one in self._receipts
        ]
        return Content("\n\n").join(lines)

    def action_close(self) -> None:
        self.dismiss(None)


async def show_receipts(app: "BaseApp") -> None:
    """Shows the receipts of all open rooms."""
    each: list[Sequence[StoredReceipt]] = await app.desk.of_each(lambda room: room.forgetting.receipts(), ())
    found = [one for of_room in each for one in of_room]
    found.sort(key=lambda one: one.forgotten_at, reverse=True)
    app.push_screen(ReceiptsScreen(found, app.now()))
