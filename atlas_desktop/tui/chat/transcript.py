"""The messages of a conversation, in a list that mounts only those near the view."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.layout import DockArrangeResult
from textual.scrollbar import ScrollBar
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from atlas_desktop.errors import Explained
from atlas_desktop.locale import ngettext, plural
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.chat.markdown import UNSCROLLED
from atlas_desktop.tui.chat.message import ErrorNote, MessageBlock
from atlas_desktop.tui.textual_workarounds import Ground, arrange_anew, forget_what_is_gone
from memory.documents.entities import CitedReply
from memory.entities import Message
from memory.skills.entities import UsedSkill
from models.messages import Role

PAGE = 20
"""Messages that are mounted when a conversation has been opened, and that are read at a time."""
STEP = 2
LIGHT = 400
"""Characters of messages that are mounted together: more take longer to lay out than a key may wait."""
BREATH_S = 0.01
KEPT_S = 2.0
"""For so long, a message that was gone to stays in place while those above it get their height."""
LOADING = "loading"
MOST = 40
"""The maximum of mounted messages, except for a reply that is streaming and what follows it."""
AHEAD = 2
"""Screen heights above and below the view that are mounted before they are scrolled to."""

Load = Callable[[str, int], Awaitable[Sequence[Message]]]
"""Reads the given number of messages that end with the one of the given id, oldest first."""


async def nothing(_last: str, _number: int) -> Sequence[Message]:
    """A `Load` that reads nothing."""
    return ()


@dataclass(slots=True)
class Window:
    """The mounted part of a branch. `ids` are those of the whole branch; `first` to `end` (exclusive) are
    mounted."""

    ids: list[str] = field(default_factory=list)
    first: int = 0
    end: int = 0

    @property
    def older(self) -> int:
        """Messages above the window."""
        return self.first

    @property
    def newer(self) -> int:
        """Messages below the window."""
        return len(self.ids) - self.end

    def at(self, message_id: str) -> int | None:
        """Returns the index of a message in the branch, searching from the newest; None if it is not
        there."""
        for place in range(len(self.ids) - 1, -1, -1):
            if self.ids[place] == message_id:
                return place
        return None

    def show(self, ids: Sequence[str], mounted: Sequence[str]) -> None:
        """Starts over at the end of `ids`.

        If `ids` do not end with the `mounted` messages (messages were added meanwhile), these are moved to
        the end.
        """
        self.ids = list(ids)
        if mounted and self.ids[-len(mounted) :] != list(mounted):
            known = set(mounted)
            self.ids = [*(one for one in self.ids if one not in known), *mounted]
        self.end = len(self.ids)
        self.first = self.end - len(mounted)

    def add(self, message_id: str) -> None:
        """Adds a message that is mounted below all others."""
        self.ids.append(message_id)
        self.end = len(self.ids)

    def cut_after(self, place: int) -> None:
        """Removes everything below a place."""
        del self.ids[place + 1 :]
        self.end = min(self.end, len(self.ids))
        self.first = min(self.first, self.end)

    def replace(self, old: str, new: str) -> None:
        """Puts another variant in place of a message."""
        place = self.at(old)
        if place is not None:
            self.ids[place] = new

    def around(self, place: int, before: int, after: int) -> tuple[int, int]:
        """Returns the range to mount (end exclusive) that shows a place."""
        return max(0, place - before), min(len(self.ids), place + after + 1)


class Beyond(Static):
    """Shows how many messages are above or below; hidden if there are none."""

    DEFAULT_CSS = """
    Beyond { height: 1; width: 100%; max-width: 100; text-align: center; color: $quiet; }
    """

    def __init__(self, forms: tuple[str, str]) -> None:
        """`forms` is the text for one message and for several."""
        super().__init__(markup=False)
        self._forms = forms

    def on_mount(self) -> None:
        self.display = False

    def count(self, number: int) -> None:
        self.display = number > 0
        self.update(Content(ngettext(*self._forms, number)))


class VirtualTranscript(VerticalScroll):
    """Mounts and removes messages. While it has the focus, one of them is selected."""

    selected: str | None = None

    def __init__(self, now: Callable[[], datetime], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._now = now
        self._window = Window()
        self._load: Load = nothing
        self._loading = False
        self._places: dict[str, tuple[int, int]] = {}
        self._known: list[Message] = []
        self._cited: Mapping[str, CitedReply] = {}
        self._skills: Mapping[str, tuple[UsedSkill, ...]] = {}
        self._changing = asyncio.Lock()
        self._asked_for = 0
        self._layout = asyncio.Event()
        self._arranged: int | None = None
        self._kept_in_view: tuple[Widget, Timer] | None = None
        self._top = Beyond(plural("↑ 1 older message", "↑ {count} older messages"))
        self._bottom = Beyond(plural("↓ 1 newer message", "↓ {count} newer messages"))

    @property
    def _messages(self) -> Vertical:
        return self.query_one("#messages", Vertical)

    @property
    def blocks(self) -> list[MessageBlock]:
        """The mounted messages, in their order."""
        return [child for child in self._messages.children if isinstance(child, MessageBlock)]

    @property
    def at_the_newest(self) -> bool:
        """Whether the newest message is mounted."""
        return self._window.newer == 0

    @property
    def newest(self) -> str | None:
        """The id of the newest message of the branch, mounted or not; None without any."""
        return self._window.ids[-1] if self._window.ids else None

    def has(self, message_id: str) -> bool:
        """Whether a message is on the branch, mounted or not."""
        return self._window.at(message_id) is not None

    def find(self, message_id: str) -> MessageBlock | None:
        """The block of a message, if it is mounted."""
        return next((block for block in reversed(self.blocks) if block.message.id == message_id), None)

    async def _replace(self, messages: Sequence[Message]) -> None:
        with self.app.batch_update():
            await self._messages.remove_children(self._messages.children[1:])
            await self._messages.mount(*self._made(messages))
            self._count()
        forget_what_is_gone()

    def _made(self, messages: Sequence[Message]) -> list[MessageBlock]:
        now = self._now()
        return [
            MessageBlock(m, now, self._places.get(m.id), self._cited.get(m.id), self._skills.get(m.id, ()))
            for m in messages
        ]

    def _count(self) -> None:
        self._top.count(self._window.older)
        self._bottom.count(self._window.newer)

    # --- the selected message ------------------------------------------------------------------------

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

    def _let_scroll(self) -> None:
        if self._kept_in_view is not None:
            self._kept_in_view[1].stop()
            self._kept_in_view = None

    def select_step(self, step: int) -> None:
        """Selects the message `step` further and scrolls to it."""
        blocks = self.blocks
        if not blocks:
            return
        at = next((i for i, b in enumerate(blocks) if b.message.id == self.selected), len(blocks) - 1)
        to = min(max(at + step, 0), len(blocks) - 1)
        self._let_scroll()
        self.release_anchor()
        self._select(blocks[to].message.id)
        tall = blocks[to].size.height > self.size.height
        blocks[to].scroll_visible(top=tall, animate=False)
        self._fill()

    def select_end(self, *, newest: bool) -> None:
        """Selects the newest or the oldest of the mounted messages."""
        blocks = self.blocks
        if blocks:
            self._select(blocks[-1 if newest else 0].message.id)
            self.select_step(0)

    def _select(self, message_id: str | None, *, marked: bool | None = None) -> None:
        """Selects a message, and marks it while the transcript has the focus.

        `marked` replaces `has_focus`, which is not set yet when the focus event arrives.
        """
        self.selected = message_id
        shown = self.has_focus if marked is None else marked
        for block in self.blocks:
            block.select(selected=shown and block.message.id == message_id)
        self.screen.refresh_bindings()

    # --- loading while scrolling ------------------------------------------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if old_value != new_value and (self._wants_older or self._wants_newer):
            self._fill()

    def turn_page(self, way: int) -> None:
        """Scrolls a page up (-1) or down (1), in two halves.

        The lines that come into view are created and laid out at once; those of a whole page take longer than
        a key may wait.
        """
        height = self.scrollable_content_region.height
        self.scroll_relative(y=way * (height // 2), animate=False)
        rest = way * (height - height // 2)
        self.call_after_refresh(lambda: self.scroll_relative(y=rest, animate=False))

    @property
    def _ahead(self) -> float:
        """Lines above and below the view that should be mounted.

        With the maximum number of messages mounted, all short, there are fewer: otherwise one side would be
        removed for the other again and again.
        """
        wanted = AHEAD * self.size.height
        return min(wanted, self.max_scroll_y / 3) if len(self.blocks) >= MOST else wanted

    @property
    def _wants_older(self) -> bool:
        return self._window.older > 0 and self.scroll_y < self._ahead

    @property
    def _wants_newer(self) -> bool:
        below = self.max_scroll_y - self.scroll_y
        return self._window.newer > 0 and below < self._ahead

    def _fill(self) -> None:
        """Mounts messages near the view, in the background."""
        if not self._loading and (self._known or self._wants_older or self._wants_newer):
            self._loading = True
            self.run_worker(self._filled(), group=LOADING)

    async def _filled(self) -> None:
        """Mounts a few messages at a time, because each takes a while to lay out."""
        try:
            while self._is_there:
                async with self._changing:
                    if not await self._step():
                        return
                # Lets keys be handled between two steps.
                await asyncio.sleep(BREATH_S)
        finally:
            self._loading = False

    async def _step(self) -> bool:
        """Mounts a few of the wanted messages; returns False if there are none."""
        window = self._window
        if self._known or self._wants_older:
            if not self._known:
                found = await self._load(window.ids[window.first - 1], PAGE)
                self._known = [m for m in found if m.role is not Role.SYSTEM]
            if not self._known:
                return False
            number = light(self._known)
            page = self._known[-number:]
            del self._known[-number:]
            await self._mount_above(page)
            return True
        if self._wants_newer:
            end = min(window.end + STEP, len(window.ids))
            await self._mount_below(await self._load(window.ids[end - 1], end - window.end))
            return True
        return False

    @asynccontextmanager
    async def _halted(self) -> AsyncIterator[None]:
        """Stops mounting in the background meanwhile, and discards messages that were read but not mounted.

        A mount in progress stops waiting for a layout: the screen, which does the layout, may itself be
        waiting for what is shown here.
        """
        self._asked_for += 1
        self._layout.set()
        try:
            await self._changing.acquire()
        finally:
            self._asked_for -= 1
        try:
            self._known = []
            yield
        finally:
            self._changing.release()
        self._fill()

    @property
    def _is_there(self) -> bool:
        """False while the screen is being removed."""
        return self.is_running and self._top.is_running and self._top.is_attached

    async def _mount_above(self, page: Sequence[Message]) -> None:
        at_the_end = self.scroll_y >= self.max_scroll_y and self.at_the_newest
        if not at_the_end:
            self.release_anchor()
        with nullcontext() if at_the_end else self._steady():
            # Nothing is painted until everything can be laid out.
            with self.app.batch_update():
                mounting = self._messages.mount(*self._made(page), after=self._top)
                self._window.first -= len(page)
                await mounting
                if not self._is_there:
                    return
                self._count()
            await self._laid_out()
        if not at_the_end:
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

    async def _trim(self, *, above: bool, following: bool = False) -> None:
        """Removes the messages farthest above, or below, when too many are mounted.

        `following` says that the view goes to the end anyway.
        """
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
            forget_what_is_gone()
            self._count()
            # The scroll position is computed from the end: the old height would keep the view at the top, and
            # the whole conversation would be read without any scrolling.
            await self._laid_out()
            return
        # The messages read above no longer connect to those that stay.
        self._known = []
        gone = children[1 : children.index(blocks[extra])]
        following = following or (self.scroll_y >= self.max_scroll_y and self.at_the_newest)
        self._window.first += extra
        with nullcontext() if following else self._steady():
            with self.app.batch_update():
                await self._messages.remove_children(gone)
                self._count()
            forget_what_is_gone()
            if not following:
                await self._laid_out()

    @contextmanager
    def _steady(self) -> Iterator[None]:
        """Keeps what is visible in place while messages above the view are mounted or removed."""
        self._arranged = self.virtual_size.height
        try:
            yield
        finally:
            self._arranged = None

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:  # noqa: FBT001, FBT002
        """Arranges the content and scrolls down by as many lines as it has grown.

        This happens as soon as the new height is known, as for an anchored view, so that nothing is laid out
        or painted in the wrong place.
        """
        if self._arranged is not None:
            arrange_anew(self)
        found = super().arrange(size, optimal)
        if self._arranged is not None and (more := found.total_region.bottom - self._arranged):
            self._arranged += more
            self.set_reactive(Widget.scroll_y, self.scroll_y + more)
            self.set_reactive(Widget.scroll_target_y, self.scroll_target_y + more)
            self.vertical_scrollbar.set_reactive(ScrollBar.position, self.scroll_y)
        return found

    async def _laid_out(self) -> None:
        # The screen signals the layout: waiting for it in the screen's own task would never end.
        if self._asked_for or asyncio.current_task() is self.screen.task:
            return
        self._layout = laid_out = asyncio.Event()
        if self.call_after_refresh(laid_out.set):
            await laid_out.wait()


def light(messages: Sequence[Message]) -> int:
    """Returns how many of the last messages are light enough to be mounted together."""
    characters = 0
    for number, message in enumerate(reversed(messages[-STEP:])):
        characters += len(message.content)
        if number and characters > LIGHT:
            return number
    return min(STEP, len(messages))


LEAST_ROWS = 3
"""The least number of rows of a message: its author, a line, an empty one."""
FIRST = 2
"""Messages that are mounted before a conversation is shown."""


class Messages(Ground, Vertical):
    """The mounted messages. Only those near the view have their parts laid out, because each part with a
    place adds to the cost of every layout, visible or not."""

    virtual_size = UNSCROLLED

    def on_resize(self) -> None:
        if isinstance(self.parent, Transcript):
            self.parent.steady()

    def arrange(self, size: Size, optimal: bool = False) -> DockArrangeResult:  # noqa: FBT001, FBT002
        found = super().arrange(size, optimal)
        view = self.parent
        if isinstance(view, Transcript):
            top, height = round(view.scroll_y), self.screen.size.height
            for place in found.placements:
                if isinstance(place.widget, MessageBlock):
                    block = place.region
                    place.widget.near = block.bottom > top - height // 4 and block.y < top + height * 5 // 4
        return found


class Transcript(Ground, VirtualTranscript):
    """Follows the newest message while the view is at the end. With the focus, one message is selected."""

    virtual_size = UNSCROLLED
    where = Where.MESSAGES
    BINDINGS: ClassVar[list[BindingType]] = list(bindings(Where.MESSAGES))

    DEFAULT_CSS = """
    Transcript {
        height: 1fr;
        padding: 0 0 0 1;
        background: $background;
        scrollbar-size-vertical: 1;
        /* Nothing is wrapped anew in the moment when a conversation becomes longer than the view. */
        scrollbar-gutter: stable;
        /* At least as high as the view: Textual keeps an anchored view at the end, and would push a short
           conversation down to the bottom. */
        #messages { height: auto; min-height: 100%; padding-top: 1; }
    }
    """

    def compose(self) -> ComposeResult:
        with Messages(id="messages"):
            yield self._top
        yield self._bottom

    def cites(self, cited: Mapping[str, CitedReply], skills: Mapping[str, tuple[UsedSkill, ...]]) -> None:
        """Sets where to look up the citations and skills of replies, by their ids, when it mounts them."""
        self._cited = cited
        self._skills = skills

    # --- content ----------------------------------------------------------------------------------

    async def show(
        self,
        messages: Sequence[Message],
        ids: Sequence[str] | None = None,
        load: Load = nothing,
        places: Mapping[str, tuple[int, int]] | None = None,
    ) -> None:
        """Replaces everything with the newest of `messages` and scrolls to the end.

        `ids` are those of the whole branch, which `load` reads from. `places` maps messages with variants to
        their number among them and the number of variants.
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

    async def add(self, message: Message) -> MessageBlock:
        """Mounts a message at the end; if the end is not mounted, it is mounted first."""
        if not self.at_the_newest:
            await self._to_the_newest()
        block = MessageBlock(
            message, self._now(), cited=self._cited.get(message.id), skills=self._skills.get(message.id, ())
        )
        await self._messages.mount(block)
        self._window.add(message.id)
        return block

    async def note(self, widget: Widget) -> None:
        """Mounts a remark or an error at the end."""
        await self._messages.mount(widget)

    def ends_with(self, explained: Explained) -> bool:
        """Whether the last widget in it is this error."""
        last = next(reversed(self._messages.children), None)
        return isinstance(last, ErrorNote) and last.explained == explained

    async def follow(self) -> None:
        """Scrolls to the end, follows new content, and removes messages far above."""
        if not self.at_the_newest:
            await self._to_the_newest()
        self._let_scroll()
        async with self._halted():
            await self._trim(above=True, following=True)
        self.anchor()

    async def _to_the_newest(self) -> None:
        """Mounts the end of the conversation in place of the messages mounted now."""
        ids = self._window.ids
        async with self._halted():
            newest = [m for m in await self._load(ids[-1], FIRST) if m.role is not Role.SYSTEM]
            self._window.show(ids, [m.id for m in newest])
            await self._replace(newest)
        self.anchor()

    async def go_to(self, message_id: str) -> bool:
        """Shows a message anywhere in the branch; returns False if it is not on it."""
        place = self._window.at(message_id)
        if place is None:
            return False
        if self.find(message_id) is None:
            async with self._halted():
                # Enough to fill the view below it, so that it can be at the top.
                first, end = self._window.around(place, 1, max(self.size.height // LEAST_ROWS, 3))
                found = await self._load(self._window.ids[end - 1], end - first)
                self.release_anchor()
                await self._replace(found)
                self._window.first, self._window.end = end - len(found), end
                self._count()
        self.release_anchor()
        # Messages above it get their height only when they are laid out.
        await self._laid_out()
        if (block := self.find(message_id)) is not None:
            self._keep_in_view(block)
            self._select(message_id)
        self._fill()
        return True

    def _keep_in_view(self, place: Widget) -> None:
        """Scrolls to a message or a part of one, and keeps it there while others get their height."""
        self._let_scroll()
        self._kept_in_view = place, self.set_timer(KEPT_S, self._let_scroll)
        self.steady()

    def steady(self) -> None:
        """Scrolls to what is kept in view; called when the height of the messages has changed."""
        place = self._kept_in_view[0] if self._kept_in_view is not None else None
        if place is not None and place.is_attached:
            place.scroll_visible(top=isinstance(place, MessageBlock), animate=False)

    def on_key(self) -> None:
        self._let_scroll()

    def on_mouse_scroll_up(self) -> None:
        self._let_scroll()

    def on_mouse_scroll_down(self) -> None:
        self._let_scroll()

    def on_mouse_down(self) -> None:
        self._let_scroll()

    async def show_found(self, message_id: str, words: str = "") -> bool:
        """Shows a message, with the words if there are some, and marks both until `forget_found`; returns
        False if it is not on the branch."""
        self.forget_found()
        there = await self.go_to(message_id)
        block = self.find(message_id)
        if block is not None:
            self._select(message_id, marked=True)
            if (part := block.highlight(words)) is not None:
                self._keep_in_view(part)
        return there

    def forget_found(self) -> None:
        """Removes the marks of `show_found`; the message stays selected."""
        self._select(self.selected)
        for block in self.blocks:
            block.highlight("")

    async def drop_from(self, message_id: str) -> None:
        """Removes a message and everything below it, because an edited message replaces it."""
        place = self._window.at(message_id)
        if place is not None and place > 0:
            await self.drop_after(self._window.ids[place - 1])
        elif place is not None:
            self._window.show((), ())
            await self._messages.remove_children(self._messages.children[1:])
            self._count()

    async def drop_after(self, message_id: str) -> None:
        """Removes everything below a message, because it is answered again."""
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
        """Records that another variant is shown in place of a message."""
        self._window.replace(old, new)
        if self.selected == old:
            self.selected = new
