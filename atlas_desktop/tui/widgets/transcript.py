"""The messages of a conversation. Those around the view are widgets; others are read when they are scrolled
to, and let go of when they are far away."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.widgets.markdown import UNSCROLLED
from atlas_desktop.tui.widgets.message import MessageBlock
from atlas_desktop.tui.widgets.selecting import Selecting
from atlas_desktop.tui.widgets.window import Window
from memory.entities import Message
from models.messages import Role

FIRST = 2
"""Messages that are mounted before a conversation is shown."""
PAGE = 20
"""Messages that are mounted when a conversation has been opened, and read at a time."""
STEP = 2
BREATH_S = 0.01
LOADING = "loading"
MOST = 60
"""Messages that are mounted at most, but for a reply that is being made and what follows on it."""
AHEAD = 2
"""Screens above and below the view that are mounted before they are scrolled to."""

Load = Callable[[str, int], Awaitable[Sequence[Message]]]
"""Reads so many messages that end with the one of that id, oldest first."""


async def _nothing(_last: str, _number: int) -> Sequence[Message]:
    return ()


class Beyond(Static):
    """Stands for the messages above or below that are not mounted."""

    DEFAULT_CSS = """
    Beyond { height: 1; width: 100%; max-width: 100; text-align: center; color: $quiet; }
    """

    def __init__(self, arrow: str, words: str) -> None:
        super().__init__(markup=False)
        self._arrow, self._words = arrow, words

    def on_mount(self) -> None:
        self.display = False

    def count(self, number: int) -> None:
        self.display = number > 0
        words = self._words if number != 1 else self._words.removesuffix("s")
        self.update(Content(f"{self._arrow} {number:,} {words}"))


class Messages(Vertical):
    """The messages that are mounted."""

    virtual_size = UNSCROLLED


class Transcript(Selecting):
    """Follows the newest message while the view is at the end. With the focus, one message is selected."""

    virtual_size = UNSCROLLED
    BINDINGS: ClassVar[list[BindingType]] = list(bindings(Where.MESSAGES))

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
        self._window = Window()
        self._load: Load = _nothing
        self._loading = False
        self._places: dict[str, tuple[int, int]] = {}
        self._known: list[Message] = []
        self._changing = asyncio.Lock()
        self._top = Beyond("↑", "older messages")
        self._bottom = Beyond("↓", "newer messages")

    def compose(self) -> ComposeResult:
        with Messages(id="messages"):
            yield self._top
        yield self._bottom

    @property
    def _messages(self) -> Vertical:
        return self.query_one("#messages", Vertical)

    @property
    def blocks(self) -> list[MessageBlock]:
        """The messages that are mounted, in their order."""
        return [child for child in self._messages.children if isinstance(child, MessageBlock)]

    @property
    def at_the_newest(self) -> bool:
        """Whether the newest message is mounted."""
        return self._window.newer == 0

    def find(self, message_id: str) -> MessageBlock | None:
        """The block of a message, if it is mounted."""
        return next((block for block in reversed(self.blocks) if block.message.id == message_id), None)

    # --- what is shown ----------------------------------------------------------------------------

    async def show(
        self,
        messages: Sequence[Message],
        ids: Sequence[str] | None = None,
        load: Load = _nothing,
        places: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        """Replaces everything by the newest of `messages` and goes to the end.

        `ids` are those of the whole branch, which `load` reads from; `places` tells of messages that have
        variants which of how many they are.
        """
        async with self._halted():
            await self._begin(messages, ids, load, places or {})
        self.anchor()

    async def _begin(
        self,
        messages: Sequence[Message],
        ids: Sequence[str] | None,
        load: Load,
        places: Mapping[str, tuple[int, int]],
    ) -> None:
        self._load, self._places = load, dict(places)
        spoken = [m for m in messages if m.role is not Role.SYSTEM]
        whole = [m.id for m in spoken] if ids is None else ids
        newest = spoken[-FIRST:]
        self._window.show(whole, [m.id for m in newest])
        self._select(None)
        await self._replace(newest)
        self._known = spoken[:-FIRST][-(PAGE - FIRST) :]

    async def _replace(self, messages: Sequence[Message]) -> None:
        with self.app.batch_update():
            await self._messages.remove_children(self._messages.children[1:])
            await self._messages.mount(*self._made(messages))
            self._count()

    def _made(self, messages: Sequence[Message]) -> list[MessageBlock]:
        now = self._now()
        return [MessageBlock(m, now, self._places.get(m.id)) for m in messages]

    async def add(self, message: Message) -> MessageBlock:
        """Mounts a message at the end, which is gone to when it is not mounted."""
        if not self.at_the_newest:
            await self._to_the_newest()
        block = MessageBlock(message, self._now())
        await self._messages.mount(block)
        self._window.add(message.id)
        return block

    async def note(self, widget: Widget) -> None:
        """Mounts a remark or an error at the end."""
        await self._messages.mount(widget)

    async def follow(self) -> None:
        """Goes to the end, follows what comes, and lets go of what is far above."""
        if not self.at_the_newest:
            await self._to_the_newest()
        async with self._changing:
            await self._trim(above=True)
        self.anchor()

    async def _to_the_newest(self) -> None:
        """Mounts the end of the conversation in place of what is mounted."""
        ids = self._window.ids
        async with self._halted():
            newest = [m for m in await self._load(ids[-1], FIRST) if m.role is not Role.SYSTEM]
            self._window.show(ids, [m.id for m in newest])
            await self._replace(newest)
        self.anchor()

    async def go_to(self, message_id: str) -> bool:
        """Shows a message, wherever in the branch it is; False when it is not on it."""
        place = self._window.at(message_id)
        if place is None:
            return False
        if self.find(message_id) is None:
            async with self._halted():
                first, end = self._window.around(place, 1, 3)
                found = await self._load(self._window.ids[end - 1], end - first)
                self.release_anchor()
                await self._replace(found)
                self._window.first, self._window.end = end - len(found), end
                self._count()
                await self._laid_out()
        if (block := self.find(message_id)) is not None:
            self.release_anchor()
            block.scroll_visible(top=True, animate=False)
            self._select(message_id)
        self._fill()
        return True

    async def drop_from(self, message_id: str) -> None:
        """Removes a message and everything below it (other words take its place)."""
        place = self._window.at(message_id)
        if place is not None and place > 0:
            await self.drop_after(self._window.ids[place - 1])
        elif place is not None:
            self._window.show((), ())
            await self._messages.remove_children(self._messages.children[1:])
            self._count()

    async def drop_after(self, message_id: str) -> None:
        """Removes everything below a message (it is answered anew)."""
        place = self._window.at(message_id)
        if place is not None:
            if not self.at_the_newest:
                await self.go_to(message_id)
            self._window.cut_after(place)
        children = list(self._messages.children)
        index = next(
            (i for i, c in enumerate(children) if isinstance(c, MessageBlock) and c.message.id == message_id),
            len(children) - 1,
        )
        await self._messages.remove_children(children[index + 1 :])
        self._count()

    def replaced(self, old: str, new: str) -> None:
        """Another variant is shown in the place of a message."""
        self._window.replace(old, new)
        if self.selected == old:
            self.selected = new

    def _count(self) -> None:
        self._top.count(self._window.older)
        self._bottom.count(self._window.newer)

    # --- reading on as one scrolls ----------------------------------------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if old_value != new_value and (self._wants_older or self._wants_newer):
            self._fill()

    @property
    def _wants_older(self) -> bool:
        return self._window.older > 0 and self.scroll_y < AHEAD * self.size.height

    @property
    def _wants_newer(self) -> bool:
        below = self.max_scroll_y - self.scroll_y
        return self._window.newer > 0 and below < AHEAD * self.size.height

    def _fill(self) -> None:
        """Mounts what is near the view in the background."""
        if not self._loading and (self._known or self._wants_older or self._wants_newer):
            self._loading = True
            self.run_worker(self._filled(), group=LOADING)

    async def _filled(self) -> None:
        """A few messages at a time: each takes a while to lay out."""
        try:
            while self._is_there:
                async with self._changing:
                    if not await self._step():
                        return
                # Keys are answered between two steps.
                await asyncio.sleep(BREATH_S)
        finally:
            self._loading = False

    async def _step(self) -> bool:
        """Mounts a few of the messages that are wanted; False when none is."""
        window = self._window
        if self._known or self._wants_older:
            if not self._known:
                found = await self._load(window.ids[window.first - 1], PAGE)
                self._known = [m for m in found if m.role is not Role.SYSTEM]
            page = self._known[-STEP:]
            del self._known[-STEP:]
            if not page:
                return False
            await self._mount_above(page)
            return True
        if self._wants_newer:
            end = min(window.end + STEP, len(window.ids))
            await self._mount_below(await self._load(window.ids[end - 1], end - window.end))
            return True
        return False

    @asynccontextmanager
    async def _halted(self) -> AsyncIterator[None]:
        """Nothing is mounted in the background meanwhile; what was to be is forgotten."""
        async with self._changing:
            self._known = []
            yield
        self._fill()

    @property
    def _is_there(self) -> bool:
        """False while the screen is being taken down."""
        return self.is_running and self._top.is_running and self._top.is_attached

    async def _mount_above(self, page: Sequence[Message]) -> None:
        at_the_end = self.scroll_y >= self.max_scroll_y and self.at_the_newest
        below = self.virtual_size.height - self.scroll_y
        if not at_the_end:
            self.release_anchor()
        mounting = self._messages.mount(*self._made(page), after=self._top)
        self._window.first -= len(page)
        await mounting
        if not self._is_there:
            return
        self._count()
        await self._laid_out()
        if not at_the_end:
            self.scroll_to(y=self.virtual_size.height - below, animate=False, immediate=True, force=True)
            await self._trim(above=False)

    async def _mount_below(self, page: Sequence[Message]) -> None:
        mounting = self._messages.mount(*self._made(page))
        self._window.end += len(page)
        await mounting
        if not self._is_there:
            return
        self._count()
        await self._laid_out()
        await self._trim(above=True)

    async def _trim(self, *, above: bool) -> None:
        """Lets go of the messages that are farthest above, or below, when too many are mounted."""
        blocks = self.blocks
        extra = len(blocks) - MOST
        if extra <= 0 or (not above and blocks[-1].streaming):
            return
        children = list(self._messages.children)
        if not above:
            self.release_anchor()
            gone = children[children.index(blocks[-extra]) :]
            self._window.end -= extra
            await self._messages.remove_children(gone)
            self._count()
            # Where the view is to be is reckoned from the end: a height from before would hold it at the top,
            # and the whole conversation would be read without anybody scrolling.
            await self._laid_out()
            return
        # What was read above does not follow on what stays.
        self._known = []
        gone = children[1 : children.index(blocks[extra])]
        below = self.virtual_size.height - self.scroll_y
        following = self.scroll_y >= self.max_scroll_y and self.at_the_newest
        self._window.first += extra
        await self._messages.remove_children(gone)
        self._count()
        if not following:
            await self._laid_out()
            self.scroll_to(y=self.virtual_size.height - below, animate=False, immediate=True, force=True)

    async def _laid_out(self) -> None:
        laid_out = asyncio.Event()
        if self.call_after_refresh(laid_out.set):
            await laid_out.wait()
