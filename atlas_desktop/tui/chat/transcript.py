"""The messages of a conversation, in a transcript that keeps only some of them mounted.

Messages near the view are widgets. Others are read when they are scrolled to, and removed when they are far
away.
"""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.geometry import Size
from textual.layout import DockArrangeResult
from textual.widget import Widget

from atlas_desktop.errors import Explained
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.chat.markdown import UNSCROLLED
from atlas_desktop.tui.chat.message import ErrorNote, MessageBlock
from atlas_desktop.tui.chat.virtual_transcript import PAGE, Load, VirtualTranscript, nothing
from atlas_desktop.tui.textual_workarounds import Ground
from memory.documents.entities import CitedReply
from memory.entities import Message
from memory.skills.entities import UsedSkill
from models.messages import Role

LEAST_ROWS = 3
"""Rows that a message takes at least: its author, a line, an empty one."""
FIRST = 2
"""Messages that are mounted before a conversation is shown."""


class Messages(Ground, Vertical):
    """The mounted messages. Only those near the view have their parts laid out, because each part with a
    place adds to the cost of every layout, visible or not."""

    virtual_size = UNSCROLLED

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
        """Sets where it looks up what replies cite and which skills they used when it mounts them, by the ids
        of the replies."""
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
                # Enough to fill the view below it, or it could not stand at the top.
                first, end = self._window.around(place, 1, max(self.size.height // LEAST_ROWS, 3))
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
