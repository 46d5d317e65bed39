"""The messages of a conversation. Only the newest are widgets; older ones are loaded when asked for."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from atlas_desktop.tui.widgets.markdown import UNSCROLLED
from atlas_desktop.tui.widgets.message import MessageBlock
from memory.entities import Message
from models.messages import Role

FIRST = 2
"""Messages that are mounted before a conversation is shown."""
PAGE = 20
"""Messages that are mounted when a conversation has been opened, and added at the top when asked for."""
STEP = 2
BREATH_S = 0.01
LOADING = "loading"
FARTHEST = 400
"""Messages that are mounted at most to get to an older one."""
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


class Messages(Vertical):
    """The messages that are mounted."""

    virtual_size = UNSCROLLED


class Transcript(VerticalScroll):
    """Follows the newest message as long as the view is at the end."""

    virtual_size = UNSCROLLED

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
        self._top = Older(markup=False)

    def compose(self) -> ComposeResult:
        with Messages(id="messages"):
            yield self._top

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
        self.workers.cancel_group(self, LOADING)
        spoken = [m for m in messages if m.role is not Role.SYSTEM]
        self._older, newest = spoken[:-FIRST], spoken[-FIRST:]
        now = self._now()
        with self.app.batch_update():
            await self._messages.remove_children(self._messages.children[1:])
            await self._messages.mount(*[MessageBlock(m, now) for m in newest])
            self._top.count(len(self._older))
        self.anchor()
        if self._older:
            self._loading = True
            self.run_worker(self._load(PAGE - FIRST), group=LOADING, exclusive=True)

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
            self._top.count(len(self._older))
        self.anchor()

    async def go_to(self, message_id: str) -> None:
        """Shows a message, with older ones mounted until it is there; one that is not in the branch that is
        shown, or is very far up, is passed over."""
        self.workers.cancel_group(self, LOADING)
        places = [at for at, one in enumerate(reversed(self._older)) if one.id == message_id]
        self._loading = True
        try:
            while places and places[0] < FARTHEST and self._is_there and self.find(message_id) is None:
                page = self._older[-STEP:]
                del self._older[-STEP:]
                await self._mount_above(page)
        finally:
            self._loading = False
        if (block := self.find(message_id)) is not None:
            self.release_anchor()
            block.scroll_visible(top=True, animate=False)

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
            self.run_worker(self._load(PAGE), group=LOADING, exclusive=True)

    async def _load(self, number: int) -> None:
        """Mounts up to `number` more messages at the top, a few at a time: each takes a while to lay out."""
        try:
            # At the very top more is wanted: it cannot be asked for by scrolling any further.
            while self._older and self._is_there and (number > 0 or 0 == self.scroll_y < self.max_scroll_y):
                page = self._older[-STEP:]
                del self._older[-STEP:]
                number -= STEP
                await self._mount_above(page)
        finally:
            self._loading = False

    @property
    def _is_there(self) -> bool:
        """False while the screen is being taken down."""
        return self.is_running and self._top.is_running and self._top.is_attached

    async def _mount_above(self, page: Sequence[Message]) -> None:
        at_the_end = self.scroll_y >= self.max_scroll_y
        below = self.virtual_size.height - self.scroll_y
        if not at_the_end:
            self.release_anchor()
        now = self._now()
        await self._messages.mount(*[MessageBlock(m, now) for m in page], after=self._top)
        if not self._is_there:
            return
        self._top.count(len(self._older))
        laid_out = asyncio.Event()
        if self.call_after_refresh(laid_out.set):
            await laid_out.wait()
        if not at_the_end:
            self.scroll_to(y=self.virtual_size.height - below, animate=False, immediate=True, force=True)
        # Keys are answered between two steps.
        await asyncio.sleep(BREATH_S)
