"""The conversation: the list beside it, the prompt below it, and the reply as it comes."""

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from atlas_desktop.explain import explain
from atlas_desktop.services.epochs import EPOCH
from atlas_desktop.services.recall import KIND as EMBED
from atlas_desktop.services.titles import KIND as TITLE
from atlas_desktop.services.tuning import KIND as TUNE
from atlas_desktop.services.upkeep import COLLECT, CONSOLIDATE, PROMOTE
from atlas_desktop.tui.actions import Action, Where, bindings, typed
from atlas_desktop.tui.compositing import SparingCompositor
from atlas_desktop.tui.screens.chat_context import ContextActions
from atlas_desktop.tui.screens.chat_exporting import ExportActions
from atlas_desktop.tui.screens.chat_forgetting import ForgetActions
from atlas_desktop.tui.screens.chat_memories import MemoryCommands
from atlas_desktop.tui.screens.chat_rooms import RoomActions
from atlas_desktop.tui.screens.chat_sessions import SessionActions
from atlas_desktop.tui.screens.chat_variants import VariantActions
from atlas_desktop.tui.turns import Conversation, JobMoved, TurnAccepted, TurnEnded, TurnGrew, TurnNoticed
from atlas_desktop.tui.widgets.bars import HeadLine, Standing, StatusLine, UndoBar
from atlas_desktop.tui.widgets.empty import EmptyPage
from atlas_desktop.tui.widgets.keyline import KeyLine
from atlas_desktop.tui.widgets.message import ErrorNote, MessageBlock, Remark
from atlas_desktop.tui.widgets.prompt import Prompt
from atlas_desktop.tui.widgets.sidebar import Sidebar
from atlas_desktop.tui.widgets.transcript import Transcript
from memory.background import Stage
from memory.entities import MemoryMode, Message, MessageStatus, RoomKind
from memory.lifecycle.compaction import IMPROVE
from models.messages import Role, StopReason

if TYPE_CHECKING:
    from atlas_desktop.tui.app import AtlasApp

_DOING = {
    TITLE: "naming conversations",
    EPOCH: "summarising",
    IMPROVE: "writing summaries anew",
    EMBED: "learning what was said",
    TUNE: "tuning the model",
    PROMOTE: "looking after memories",
    COLLECT: "looking after memories",
    CONSOLIDATE: "looking after memories",
}


class ChatScreen(
    RoomActions,
    SessionActions,
    ExportActions,
    VariantActions,
    ContextActions,
    MemoryCommands,
    ForgetActions,
    Screen[None],
):
    """Shows one `Conversation` at a time; those with a reply under way go on in the background."""

    CSS_PATH = "chat.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012
    AUTO_FOCUS = "#prompt"
    BINDINGS = list(bindings(Where.CHAT))  # noqa: RUF012

    def __init__(self, app: "AtlasApp", *, resume: str | None = None) -> None:
        super().__init__()
        self._compositor = SparingCompositor()
        self.atlas = app
        self.turns = app.turns
        self.turns.listener = self
        self.current = Conversation()
        self._resume = resume
        self._live: MessageBlock | None = None
        self._drawn = 0
        self._switching = False
        self.turning = asyncio.Lock()

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Sidebar(id="sidebar")
            with Vertical(id="stage"):
                yield HeadLine(id="head")
                yield EmptyPage(id="empty")
                yield Transcript(self.atlas.now, id="transcript")
                yield Static("", id="waiting", markup=False)
                yield UndoBar(id="undo")
                yield Prompt(id="prompt")
                yield StatusLine(id="status")
        yield KeyLine()

    def on_mount(self) -> None:
        self.tell()
        self.refresh_list()
        if self._resume is not None:
            self.open_session(self._resume)
        else:
            self.atlas.attempt(self._take_up_draft(), group="open", exclusive=True)

    async def _take_up_draft(self) -> None:
        conversation = self.current
        text = await self.atlas.drafts.of(conversation)
        if text and conversation is self.current and not self.prompt.text:
            self.prompt.put(text)

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

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
        room = self.atlas.room
        off = room.store.room is RoomKind.OFF_RECORD
        begins = MemoryMode.OFF if off else shown.mode or MemoryMode.NORMAL
        self.query_one(HeadLine).tell(
            title=session.title if session else "New conversation",
            model=self.atlas.model_name,
            memory=session.memory_mode if session else begins,
            room=session.room if session else room.store.room,
        )
        job = room.background.running
        background = _DOING.get(job.kind, "working in the background") if job else self.atlas.background
        self.query_one(StatusLine).tell(
            Standing(
                doing=shown.doing.capitalize(),
                background=background,
                used=shown.used,
                limit=self.atlas.context_length,
                speed=shown.speed,
            )
        )
        waiting = self.query_one("#waiting", Static)
        waiting.set_class(bool(shown.waiting), "-some")
        waiting.update(_waiting_words(shown))
        if self._live is not None and shown.busy:
            self._live.doing(shown.doing)
        self.refresh_bindings()

    async def show_conversation(self, conversation: Conversation, messages: tuple[Message, ...]) -> None:
        """Turns to another conversation; what was being typed stays with the one that is left.

        Call it while holding `turning`, which keeps news of a turn back until there is something to show it.
        """
        self.warn_of_leaving(conversation)
        self._switching = True
        self.current.draft = self.prompt.text
        self.atlas.drafts.changed(self.current)
        self.current = conversation
        self._live, self._drawn = None, 0
        if conversation.busy and conversation.reply is not None:
            live = conversation.reply.id
            self._drawn = len(conversation.said)
            messages = tuple(
                replace(m, content=conversation.said[: self._drawn]) if m.id == live else m for m in messages
            )
        self.set_class(bool(messages), "-talking")
        await self.transcript.show(messages)
        blocks = self.transcript.blocks
        if conversation.busy and blocks:
            self._live = blocks[-1]
        self.prompt.history_of_sent = [m.content for m in messages if m.role is Role.USER]
        self.prompt.put(conversation.draft)
        self._switching = False
        self.remove_class("-over")
        self.prompt.focus()
        self.tell()
        self.count_variants()

    # --- sending ---------------------------------------------------------------------------------

    def on_text_area_changed(self) -> None:
        # While the prompt still shows what belongs to another conversation it is nobody's draft.
        if not self._switching:
            self.current.draft = self.prompt.text
            self.atlas.drafts.changed(self.current)

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        shown = self.current
        text = event.text.strip()
        if (command := typed(text)) is not None:
            self.prompt.remember(text)
            self.prompt.put("")
            self.run_worker(self._command(*command), group="command")
            return
        if text:
            self.prompt.remember(text)
            self.prompt.put("")
            if shown.busy or shown.waiting:
                shown.waiting.append(text)
        self.atlas.drafts.changed(shown)
        if shown.busy:
            self.tell()
        elif shown.waiting:
            self.say(shown, shown.waiting.pop(0))
        elif text:
            self.say(shown, text)

    async def _command(self, action: Action, given: tuple[str, ...]) -> None:
        """Does what a typed command says, if it can be done now."""
        target = self.app if action.where is Where.EVERYWHERE else self
        if target.check_action(action.run, given):
            await self.app.run_action(("", action.run, given), target)
        else:
            self.notify(f"{action.slash} cannot be done now.", severity="warning")

    def say(self, conversation: Conversation, text: str) -> None:
        self.turns.send(conversation, text)
        self.tell()

    def on_prompt_take_back(self) -> None:
        if self.current.waiting:
            self._take_back()
        else:
            self.prompt.recall(-1)

    def _take_back(self) -> None:
        self.prompt.put(self.current.waiting.pop())
        self.prompt.focus()
        self.tell()

    def on_empty_page_chosen(self, event: EmptyPage.Chosen) -> None:
        self.prompt.put(event.text)
        self.prompt.focus()

    # --- the reply as it comes -------------------------------------------------------------------

    async def on_turn_accepted(self, event: TurnAccepted) -> None:
        if self.atlas.leaving:
            return
        async with self.turning:
            if event.conversation is self.current and self.transcript.find(event.accepted.reply.id) is None:
                await self._show_start(event)
        self.tell()
        self.refresh_list()

    async def _show_start(self, event: TurnAccepted) -> None:
        accepted = event.accepted
        self.add_class("-talking")
        if event.again:
            await self.transcript.drop_after(accepted.message.id)
        else:
            await self.transcript.add(accepted.message)
        self._live = await self.transcript.add(accepted.reply)
        self._drawn = 0
        await self.transcript.follow()

    def on_turn_grew(self, event: TurnGrew) -> None:
        if event.conversation is self.current and self._live is not None and not self.atlas.leaving:
            self._draw(event.conversation.said)

    def _draw(self, said: str) -> None:
        assert self._live is not None
        if fresh := said[self._drawn :]:
            if not self._drawn:
                self.tell()
            self._drawn = len(said)
            self._live.stream(fresh, self.atlas.desk.settings.ui.frame_rate)

    async def on_turn_noticed(self, event: TurnNoticed) -> None:
        if event.conversation is self.current:
            await self.transcript.note(Remark(event.text))

    async def on_turn_ended(self, event: TurnEnded) -> None:
        if self.atlas.leaving:
            return  # it is stored; the widgets that would show it are about to go
        conversation = event.conversation
        replied = event.replied
        if replied is not None:
            timings = replied.completion.timings
            conversation.used = sum(tier.tokens for tier in replied.context) + timings.completion_tokens
            conversation.speed = timings.tokens_per_second
        if conversation is self.current:
            async with self.turning:
                await self._show_end(event)
        elif event.error is not None:
            self.atlas.say_error(explain(event.error))
        cut = replied is None or replied.completion.stop_reason is StopReason.CANCELLED
        if conversation.waiting and not cut:
            self.say(conversation, conversation.waiting.pop(0))
        if conversation is self.current:
            self.count_variants()
        self.tell()
        self.refresh_list()

    async def _show_end(self, event: TurnEnded) -> None:
        if event.reply is not None:
            if self._live is not None:
                self._draw(event.said)
            live, self._live = self._live or self.transcript.find(event.reply.id), None
            if live is not None:
                await live.finish(_ended(event, event.reply))
        if event.error is not None:
            if event.unsent and not self.prompt.text:
                self.prompt.put(event.unsent)
            self.add_class("-talking")
            await self.transcript.note(ErrorNote(explain(event.error)))
            self.atlas.model_needed(event.error)

    async def on_job_moved(self, event: JobMoved) -> None:
        if event.job.kind == TITLE and event.stage is Stage.DONE and event.job.session_id is not None:
            await self.sessions_renamed([event.job.session_id])
        self.tell()

    # --- actions ---------------------------------------------------------------------------------

    def action_send(self) -> None:
        self.on_prompt_sent(Prompt.Sent(self.prompt.text))

    def action_stop(self) -> None:
        if self.current.busy:
            self.turns.stop(self.current)
            self.tell()
        else:
            self._take_back()

    def action_back(self) -> None:
        self.remove_class("-over")
        self.prompt.focus()

    def action_regenerate(self) -> None:
        self.turns.regenerate(self.current)
        self.tell()

    def action_page_up(self) -> None:
        self.transcript.scroll_page_up(animate=False)

    def action_page_down(self) -> None:
        self.transcript.scroll_page_down(animate=False)

    async def action_follow(self) -> None:
        await self.transcript.follow()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop":
            return bool((self.current.busy or self.current.waiting) and not self.has_class("-over"))
        if action == "regenerate":
            return True if self.current.id and not self.current.busy and not self.current.waiting else None
        if action in ("show_context", "summarise", "mark_important"):
            return True if self.current.id else None
        if action in ("page_up", "page_down"):
            return not self.query_one(Sidebar).sessions.has_focus
        return super().check_action(action, parameters)


def _waiting_words(conversation: Conversation) -> Content:
    waiting = conversation.waiting
    if not waiting:
        return Content("")
    first = " ".join(waiting[0].split())
    more = f" (and {len(waiting) - 1} more)" if len(waiting) > 1 else ""
    how = "sent after this reply · Up edits it" if conversation.busy else "Enter sends it · Esc edits it"
    return Content.assemble(("Queued", "bold"), f"{more}: {first}\n", (how, "$quiet italic"))


def _ended(event: TurnEnded, reply: Message) -> Message:
    """The reply as it was stored at the end of its turn."""
    if event.replied is not None:
        return event.replied.message
    status = MessageStatus.PARTIAL if event.said.strip() else MessageStatus.FAILED
    return replace(reply, content=event.said, status=status, stop_reason=StopReason.ERROR)
