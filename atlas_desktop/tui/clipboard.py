"""Copies text to the terminal's clipboard."""

from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from memory.entities import RoomKind

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp


async def copy_out(app: "BaseApp", room: RoomKind, text: str, done: str) -> None:
    """Copies a text of a room and shows the notice `done`. Outside the open room it asks first."""
    if room is not RoomKind.OPEN and not await _may_leave(app):
        return
    app.copy_to_clipboard(text)
    app.say(done)


async def _may_leave(app: "BaseApp") -> bool:
    asked = ConfirmScreen(
        _("Copy to the clipboard?"),
        _(
            "Other programs can read the clipboard, and some keep its history. What you copy leaves "
            "this room."
        ),
        agree=_("Copy"),
        refuse=_("Cancel"),
    )
    agreed: bool = await app.push_screen_wait(asked)
    return agreed
