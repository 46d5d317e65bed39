"""The messages of a conversation. Only the newest are widgets; older ones are loaded when asked for."""

from collections.abc import Callable, Sequence
from datetime import datetime

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from atlas_desktop.tui.widgets.message import MessageBlock
from memory.entities import Message
from models.messages import Role

PAGE = 20
"""Messages that are mounted at once."""
MOST = 60
"""Messages that stay mounted when the view is at the newest one."""


class Older(Static):
    """Stands for the messages above that are not mounted."""

    DEFAULT_CSS = """
    Older { height: 1; width: 100%; max-width: 100; text-align: center; color: $quiet; }
    """

    def on_mount(self) -> None:
        self.display = False

    def count(self, number: int) -> None:
        self.display = number > 0
        self.update(Content(f"↑ {number:,} older messages"))


class Transcript(VerticalScroll):
    """Follows the newest message as long as the view is at the end."""

    DEFAULT_CSS = """
    Transcript {
        height: 1fr;
        padding: 0 0 0 1;
        background: $background;
        scrollbar-size-vertical: 1;
        /* At least as high as the view: Textual keeps an anchored view at the end, and would push a short
           conversation down to the bottom. */
        #messages { height: auto; min-height: 100%; padding-top: 1; }
    }
    """

    def __init__(self, now: Callable[[], datetime], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._now = now
        self._older: list[Message] = []
        self._loading = False

    def compose(self) -> ComposeResult:
        with Vertical(id="messages"):
            yield Older(markup=False)

    @property
    def _messages(self) -> Vertical:
        return self.query_one("#messages", Vertical)

    @property
    def blocks(self) -> list[MessageBlock]:
        return [child for child in self._messages.children if isinstance(child, MessageBlock)]

    def find(self, message_id: str) -> MessageBlock | None:
        """The block of a message, if it is mounted."""
        return next((block for block in self.blocks if block.message.id == message_id), None)

    async def show(self, messages: Sequence[Message]) -> None:
        """Replaces everything by the newest of `messages` and goes to the end."""
        spoken = [m for m in messages if m.role is not Role.SYSTEM]
        self._older, newest = spoken[:-PAGE], spoken[-PAGE:]
        now = self._now()
        with self.app.batch_update():
            await self._messages.remove_children(self._messages.children[1:])
            await self._messages.mount(*[MessageBlock(m, now) for m in newest])
            self.query_one(Older).count(len(self._older))
        self.anchor()

    async def add(self, message: Message) -> MessageBlock:
        """Mounts a message at the end."""
        block = MessageBlock(message, self._now())
        await self._messages.mount(block)
        return block

    async def note(self, widget: Widget) -> None:
        """Mounts a remark or an error at the end."""
        await self._messages.mount(widget)

    async def follow(self) -> None:
        """Goes to the end, follows what comes, and lets go of what is far above."""
        blocks = self.blocks
        if len(blocks) > MOST:
            gone = blocks[:-MOST]
            self._older += [block.message for block in gone]
            await self._messages.remove_children(gone)
            self.query_one(Older).count(len(self._older))
        self.anchor()

    async def drop_after(self, message_id: str) -> None:
        """Removes everything below a message (it is answered anew)."""
        children = list(self._messages.children)
        index = next(
            (i for i, c in enumerate(children) if isinstance(c, MessageBlock) and c.message.id == message_id),
            len(children) - 1,
        )
        await self._messages.remove_children(children[index + 1 :])

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if new_value < old_value and new_value <= 1:
            self.load_older()

    def load_older(self) -> None:
        """Mounts the page above, keeping the view on the words it shows."""
        if self._older and not self._loading:
            self._loading = True
            self.run_worker(self._load_older(), group="older", exclusive=True)

    async def _load_older(self) -> None:
        moved = False
        try:
            page = self._older[-PAGE:]
            del self._older[-PAGE:]
            older = self.query_one(Older)
            below = self.virtual_size.height - self.scroll_y
            now = self._now()
            self.release_anchor()
            await self._messages.mount(*[MessageBlock(m, now) for m in page], after=older)
            older.count(len(self._older))
            moved = self.call_after_refresh(self._keep_place, below)
        finally:
            self._loading = moved

    def _keep_place(self, below: float) -> None:
        self.scroll_to(y=self.virtual_size.height - below, animate=False, immediate=True, force=True)
        self._loading = False
