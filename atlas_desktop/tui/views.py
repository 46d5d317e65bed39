"""Views over the conversation: a key leads from one view to another, and the view's own key leads back."""

from typing import TYPE_CHECKING, ClassVar, cast

from textual.dom import DOMNode

from atlas_desktop.tui.overlays import Covering

if TYPE_CHECKING:
    from textual.screen import Screen

    from atlas_desktop.tui.base import BaseApp

_SHOWING = ("show_history", "show_memories", "show_insights", "show_documents", "show_notes")


class View(Covering, DOMNode):
    """A mixin; list it before Textual's own class. `shown_by` is the action that shows the view."""

    atlas: "BaseApp"
    shown_by: ClassVar[str]

    def back(self) -> None:
        """Undoes the last step in the view, or closes it."""
        self.dismiss(None)

    def action_show_history(self) -> None:
        self._turn_to("show_history")

    def action_show_memories(self) -> None:
        self._turn_to("show_memories")

    def action_show_insights(self) -> None:
        self._turn_to("show_insights")

    def action_show_documents(self) -> None:
        self._turn_to("show_documents")

    def action_show_notes(self) -> None:
        self._turn_to("show_notes")

    def _turn_to(self, action: str) -> None:
        if action == self.shown_by:
            self.back()
        elif (chat := self.atlas.chat) is not None:
            self.dismiss(None)
            getattr(chat, f"action_{action}")()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in _SHOWING and action != self.shown_by:
            chat, stack = self.atlas.chat, self.atlas.screen_stack
            me = cast("Screen[object]", self)
            # The palette may be open over this view and asks for the actions of the screen below.
            if chat is None or me not in stack or stack[stack.index(me) - 1] is not chat:
                return False
            return chat.check_action(action, parameters)
        return super().check_action(action, parameters)
