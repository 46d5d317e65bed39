"""The conversation: the list beside it, the prompt below it, and the reply as it comes."""

import asyncio
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from atlas_desktop.errors import Explained
from atlas_desktop.services.unbroken import unbroken
from atlas_desktop.tui.actions import BY_ID, Where, bindings, key_words
from atlas_desktop.tui.compositing import Ground, SparingScreen
from atlas_desktop.tui.keymap import keys_of
from atlas_desktop.tui.screens.chat_aside import AsideActions
from atlas_desktop.tui.screens.chat_completion import Completion
from atlas_desktop.tui.screens.chat_context import ContextActions
from atlas_desktop.tui.screens.chat_exporting import ExportActions
from atlas_desktop.tui.screens.chat_forgetting import ForgetActions
from atlas_desktop.tui.screens.chat_history import HistoryCommands
from atlas_desktop.tui.screens.chat_importing import ImportActions
from atlas_desktop.tui.screens.chat_memories import MemoryCommands
from atlas_desktop.tui.screens.chat_messages import MessageActions
from atlas_desktop.tui.screens.chat_modes import ModeActions
from atlas_desktop.tui.screens.chat_rooms import RoomActions
from atlas_desktop.tui.screens.chat_sessions import SessionActions
from atlas_desktop.tui.screens.chat_talk import TalkActions
from atlas_desktop.tui.screens.chat_tools import ToolActions
from atlas_desktop.tui.screens.chat_variants import VariantActions
from atlas_desktop.tui.turns import Conversation
from atlas_desktop.tui.widgets.aside import Aside
from atlas_desktop.tui.widgets.bars import HeadLine, Standing, StatusLine
from atlas_desktop.tui.widgets.change_bar import UndoBar
from atlas_desktop.tui.widgets.chips import Chips
from atlas_desktop.tui.widgets.completion import CompletionMenu
from atlas_desktop.tui.widgets.empty import EmptyPage
from atlas_desktop.tui.widgets.keyline import KeyLine
from atlas_desktop.tui.widgets.message import ErrorNote
from atlas_desktop.tui.widgets.prompt import Prompt
from atlas_desktop.tui.widgets.sidebar import Sidebar
from atlas_desktop.tui.widgets.transcript import Transcript
from atlas_desktop.tui.work import work_under_way
from atlas_desktop.words.catalogue import tr
from memory.entities import MemoryMode, Message, RoomKind
from memory.errors import RoomClosed
from models.messages import Role

if TYPE_CHECKING:
    from atlas_desktop.services.branches import Branch
    from atlas_desktop.tui.app import AtlasApp


class Whole(Ground, Horizontal):
    """All of the screen but its last line."""


class Stage(Ground, Vertical):
    """The conversation with what stands above and below it."""


class ChatScreen(
    TalkActions,
    MessageActions,
    ToolActions,
    Completion,
    HistoryCommands,
    RoomActions,
    ModeActions,
    AsideActions,
    SessionActions,
    ExportActions,
    ImportActions,
    VariantActions,
    ContextActions,
    MemoryCommands,
    ForgetActions,
    Ground,
    SparingScreen[None],
):
    """Shows one `Conversation` at a time; those with a reply under way go on in the background."""

    CSS_PATH = "chat.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012
    AUTO_FOCUS = "#prompt"
    BINDINGS = list(bindings(Where.CHAT, Where.VIEWS))  # noqa: RUF012

    def __init__(self, app: "AtlasApp", *, resume: str | None = None) -> None:
        super().__init__(app.size.width)
        self.atlas = app
        self.turns = app.turns
        self.turns.listener = self
        self.current = Conversation()
        self._resume = resume
        self.turning = asyncio.Lock()
        self.changing = {}

    def compose(self) -> ComposeResult:
        with Whole():
            yield Sidebar(id="sidebar")
            with Stage(id="stage"):
                yield HeadLine(id="head")
                yield EmptyPage(id="empty")
                yield Transcript(self.atlas.now, id="transcript")
                yield Static("", id="waiting", markup=False)
                yield UndoBar(id="undo")
                yield CompletionMenu(id="completion")
                yield Chips(id="chips")
                yield Prompt(id="prompt")
                yield StatusLine(id="status")
            yield Aside(id="aside")
        yield KeyLine()

    def on_mount(self) -> None:
        self.prompt.completing = lambda: self.menu.is_open
        self.prompt.completes, self.prompt.sends = self.take_completion, self.send_typed
        self.tell()
        self.refresh_list()
        if self._resume is not None:
            self.open_session(self._resume)
        else:
            self.atlas.attempt(self._take_up_draft, group="open", exclusive=True)

    async def _take_up_draft(self) -> None:
        conversation = self.current
        text = await self.atlas.drafts.of(conversation)
        if text and conversation is self.current and not self.prompt.text:
            self.prompt.put(text)

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    @property
    def sidebar(self) -> Sidebar:
        return self.query_one(Sidebar)

    @property
    def transcript(self) -> Transcript:
        return self.query_one(Transcript)

    # --- what is shown ---------------------------------------------------------------------------

    def tell(self) -> None:
        """Brings the lines around the conversation up to date."""
        if self.atlas.leaving:
            return
        shown = self.current
        session = shown.session
        try:
            room = self.atlas.room
        except RoomClosed:
            # News of a turn may come while the rooms are being closed.
            return
        off = room.store.room is RoomKind.OFF_RECORD
        begins = MemoryMode.OFF if off else shown.mode or MemoryMode.NORMAL
        self.query_one(HeadLine).tell(
            title=self.headline(session.title if session else tr("chat.new")),
            model=self.atlas.model_name,
            memory=session.memory_mode if session else begins,
            room=session.room if session else room.store.room,
            unlocked=self.private_unlocked(room.store.room),
            demo=self.atlas.is_demo,
        )
        background = work_under_way(room.background) or self.atlas.background
        self.query_one(StatusLine).tell(
            Standing(
                doing=shown.doing.capitalize(),
                background=background,
                used=shown.used,
                # How much of an opened conversation is read is known with its first turn here.
                limit=self.atlas.context_length if shown.used or session is None else 0,
                speed=shown.speed,
                lock=self._lock_words,
            )
        )
        waiting = self.query_one("#waiting", Static)
        waiting.set_class(bool(shown.waiting), "-some")
        waiting.update(_waiting_words(shown))
        if self._live is not None and shown.busy:
            self._live.doing(shown.doing)
        # Each blink is painted, and takes its time from the model's threads.
        self.prompt.cursor_blink = not (shown.busy or self.atlas.desk.settings.ui.reduced_motion)
        self.refresh_bindings()

    @property
    def _lock_words(self) -> str:
        if self.atlas.is_demo:
            return tr("chat.demo_ends")
        key = key_words(keys_of(BY_ID["app.lock"], self.atlas.keys))
        return tr("chat.lock", key=key) if key and self.atlas.can_lock else ""

    async def tell_error(self, explained: Explained) -> None:
        """Tells of an error at the end of the conversation, unless that stands there."""
        if self.transcript.ends_with(explained):
            return
        transcript = self.transcript
        in_view = transcript.at_the_newest and transcript.scroll_y >= transcript.max_scroll_y
        self.add_class("-talking")
        await transcript.note(ErrorNote(explained))
        if in_view:
            transcript.scroll_end(animate=False)
        else:
            self.atlas.warn(explained.title)

    async def show_conversation(
        self, conversation: Conversation, messages: tuple[Message, ...], branch: "Branch | None" = None
    ) -> None:
        """Turns to another conversation; what was being typed stays with the one that is left.

        `messages` are its newest ones; from `branch` the others are read when they are scrolled to. Call it
        while holding `turning`, which keeps news of a turn back until there is something to show it.
        """
        self.warn_of_leaving(conversation)
        if self._editing is not None:
            self.stop_editing()
        self.current.draft = self.prompt.text
        self.atlas.drafts.changed(self.current)
        # In one step with what is typed: nothing of the one that is left may be said, or kept, here.
        self.current = conversation
        self.prompt.history_of_sent = [m.content for m in messages if m.role is Role.USER]
        self.prompt.put(conversation.draft)
        await unbroken(self._show(conversation, messages, branch))

    async def _show(
        self, conversation: Conversation, messages: tuple[Message, ...], branch: "Branch | None"
    ) -> None:
        self._live, self._drawn = None, 0
        self.clear_aside()
        if conversation.busy and conversation.reply is not None:
            live = conversation.reply.id
            self._drawn = len(conversation.said)
            messages = tuple(
                replace(m, content=conversation.said[: self._drawn]) if m.id == live else m for m in messages
            )
        if messages:
            self.add_class("-talking")
        if branch is None:
            await self.transcript.show(messages)
        else:
            read = partial(self.atlas.room_of(conversation).branches.page, branch.session.id)
            await self.transcript.show(messages, branch.ids, read, branch.places)
        if not messages:
            # Last: the class of a screen is looked up again by every widget on it.
            self.remove_class("-talking")
        blocks = self.transcript.blocks
        if conversation.busy and blocks:
            self._live = blocks[-1]
        self.sidebar.remove_class("-over")
        self.prompt.focus()
        self.tell()
        self.tell_attachments()
        self.tell_aside()
        self.count_variants()

    # --- actions ---------------------------------------------------------------------------------

    def action_send(self) -> None:
        self.send_typed(self.prompt.text)

    async def on_paste(self, event: events.Paste) -> None:
        """Pasted while the list or the messages have the focus: it is meant for the prompt all the same."""
        event.stop()
        self.prompt.focus()
        await self.prompt.take_paste(event.text)

    def action_stop(self) -> None:
        if self.current.busy:
            self.turns.stop(self.current)
            self.tell()
        else:
            self._take_back()

    def action_back(self) -> None:
        self.sidebar.remove_class("-over")
        if self.has_class("-narrow"):
            self.query_one(Aside).remove_class("-shown")
        if self._editing is not None and self.prompt.has_focus:
            self.stop_editing()
        self.prompt.focus()

    def action_regenerate(self) -> None:
        self.turns.regenerate(self.current)
        self.tell()

    def action_page_up(self) -> None:
        self.transcript.turn_page(-1)

    def action_page_down(self) -> None:
        self.transcript.turn_page(1)

    async def action_follow(self) -> None:
        await self.transcript.follow()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop":
            return bool((self.current.busy or self.current.waiting) and not self.sidebar.has_class("-over"))
        if action == "regenerate":
            if self.current.id is None or self.forgotten:
                return False
            return None if self.current.busy or self.current.waiting else True
        if action in ("show_context", "summarise"):
            return True if self.current.id else None
        if action == "split":
            return True if (self.current.id or any(parameters)) and not self.current.busy else None
        if action in ("page_up", "page_down"):
            return not self.query_one(Sidebar).sessions.has_focus
        return super().check_action(action, parameters)


def _waiting_words(conversation: Conversation) -> Content:
    """What is said of messages that wait to be sent."""
    waiting = conversation.waiting
    if not waiting:
        return Content("")
    first = " ".join(waiting[0].split())
    more = tr("chat.queued_more", more=len(waiting) - 1) if len(waiting) > 1 else ""
    how = tr("chat.queued_busy") if conversation.busy else tr("chat.queued_free")
    return Content.assemble((tr("chat.queued"), "bold"), f"{more}: {first}\n", (how, "$quiet italic"))
