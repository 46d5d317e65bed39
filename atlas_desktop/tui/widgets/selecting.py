"""One message of a transcript is selected while the transcript has the focus."""

from typing import TYPE_CHECKING

from textual import events
from textual.containers import VerticalScroll
from textual.widget import Widget

from atlas_desktop.tui.widgets.message import MessageBlock


class Selecting(VerticalScroll):
    """What a transcript does about its selected message."""

    selected: str | None = None

    if TYPE_CHECKING:

        @property
        def blocks(self) -> list[MessageBlock]: ...

        def find(self, message_id: str) -> MessageBlock | None: ...

        def _fill(self) -> None: ...

    @property
    def selected_block(self) -> MessageBlock | None:
        return None if self.selected is None else self.find(self.selected)

    def on_focus(self) -> None:
        if self.selected_block is None:
            seen = [block for block in self.blocks if self.region.overlaps(block.region)]
            found = seen or self.blocks
            self._select(found[-1].message.id if found else None, marked=True)
        else:
            self._select(self.selected, marked=True)

    def on_blur(self) -> None:
        for block in self.blocks:
            block.select(selected=False)

    def on_click(self, event: events.Click) -> None:
        widget: object = event.widget
        while isinstance(widget, Widget) and widget is not self:
            if isinstance(widget, MessageBlock):
                self._select(widget.message.id)
                return
            widget = widget.parent

    def select_step(self, step: int) -> None:
        """Selects the message that is `step` further and scrolls to it."""
        blocks = self.blocks
        if not blocks:
            return
        at = next((i for i, b in enumerate(blocks) if b.message.id == self.selected), len(blocks) - 1)
        to = min(max(at + step, 0), len(blocks) - 1)
        self.release_anchor()
        self._select(blocks[to].message.id)
        tall = blocks[to].size.height > self.size.height
        blocks[to].scroll_visible(top=tall, animate=False)
        self._fill()

    def select_end(self, *, newest: bool) -> None:
        """Selects the newest or the oldest of the messages that are mounted."""
        blocks = self.blocks
        if blocks:
            self._select(blocks[-1 if newest else 0].message.id)
            self.select_step(0)

    def _select(self, message_id: str | None, *, marked: bool | None = None) -> None:
        """Marks it where the keys go there: that the focus comes is told before it has come (`marked`)."""
        self.selected = message_id
        shown = self.has_focus if marked is None else marked
        for block in self.blocks:
            block.select(selected=shown and block.message.id == message_id)
        self.screen.refresh_bindings()
