"""The part of the conversation screen that sends what is typed and shows the reply as it comes."""

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from atlas_desktop.error_table import explain
from atlas_desktop.services.attachments import DOCUMENTS
from atlas_desktop.services.summaries import KIND as TITLE
from atlas_desktop.tui.actions import Action, Where, typed
from atlas_desktop.tui.screens.chat_refusing import Refusing
from atlas_desktop.tui.turn_events import JobMoved, TurnAccepted, TurnEnded, TurnGrew, TurnNoticed
from atlas_desktop.tui.turns import Conversation
from atlas_desktop.tui.widgets.empty import EmptyPage
from atlas_desktop.tui.widgets.message import ErrorNote, MessageBlock, Remark
from atlas_desktop.tui.widgets.prompt import Prompt
from atlas_desktop.words.catalogue import tr
from memory.entities import Message, MessageStatus
from memory.errors import RoomClosed
from memory.jobs.runner import Stage
from models.messages import StopReason

_COMMAND = re.compile(r"/[a-z_-]+(?: [^\n]*)?")
"""What looks like a command."""


class TalkActions(Refusing):
    """Mixed into the conversation screen."""

    _live: MessageBlock | None = None
    _drawn = 0
    _editing: Message | None = None
    _sent_as_it_is = ""

    if TYPE_CHECKING:

        def tell_read(self, text: str) -> None: ...

        def tell_attachments(self) -> None: ...

        def complete(self) -> None: ...

        def count_variants(self) -> None: ...

        async def move_on(self, conversation: Conversation) -> None: ...

        async def sessions_renamed(self, ids: list[str]) -> None: ...

    # --- sending ---------------------------------------------------------------------------------

    def on_text_area_changed(self) -> None:
        if self._editing is None:
            self.current.draft = self.prompt.text
            self.atlas.drafts.changed(self.current)
        self.complete()

    def keep_typed(self, *, edited: bool = False) -> None:
        """Has kept what is typed; with `edited`, other words for an earlier message too."""
        shown, now = self.current, _together(*self._held_back, self.prompt.text)
        if self._editing is None:
            shown.draft = now
        elif edited and now != self._editing.content:
            shown.draft = _together(shown.draft, now)
        self.atlas.drafts.changed(shown)

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        self.send_typed(event.text)

    def send_typed(self, text: str) -> None:
        """Does the command that was typed, or sends the message."""
        text = text.strip()
        if typed(text) is not None:
            self.prompt.remember(text)
            self.prompt.put("")
            self.submit(text)
            return
        if _COMMAND.fullmatch(text) and text != self._sent_as_it_is:
            # Most likely a slip; whoever means it sends it again.
            self._sent_as_it_is = text
            name = text.split(maxsplit=1)[0]
            self.atlas.say(tr("chat.unknown_command", name=name))
            return
        self._sent_as_it_is = ""
        if self._editing is not None:
            self._send_edited(text)
            return
        if text:
            self.prompt.remember(text)
            self.prompt.put("")
        self.submit(text)

    def submit(self, text: str) -> None:
        """Says a text or does a command; while the room or the memory mode changes it waits for the end."""
        if text and self.holds:
            self.hold_back(text)
        elif (command := typed(text)) is not None:
            self.change(partial(self._command, *command), "", group="command", asked_for=False)
        else:
            self.send_text(text)

    def send_text(self, text: str) -> None:
        """Says a text, or lets it wait for its turn; none says what waits."""
        shown = self.current
        if text and (shown.busy or shown.waiting):
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
            self.atlas.warn(self.not_now(action))

    def say(self, conversation: Conversation, text: str) -> None:
        """Says a text; the caller has seen to it that no turn is under way."""
        self.turns.send(conversation, text)
        self.tell()

    def on_prompt_take_back(self) -> None:
        if self.current.waiting:
            self._take_back()
        else:
            self.prompt.recall(-1)

    def _take_back(self) -> None:
        if self._editing is not None:
            self.stop_editing()
        self.prompt.put(_together(self.current.waiting.pop(), self.prompt.text))
        self.prompt.focus()
        self.tell()

    def on_empty_page_chosen(self, event: EmptyPage.Chosen) -> None:
        self.prompt.put(event.text)
        self.prompt.focus()

    # --- other words for a message ---------------------------------------------------------------

    def edit(self, message: Message) -> None:
        """Puts a message's words into the prompt; what is sent then takes its place."""
        if self._editing is None:
            self.current.draft = self.prompt.text
        self._editing = message
        self.prompt.edits(tr("chat.editing"))
        self.prompt.put(message.content)
        self.prompt.focus()
        self.tell()

    def stop_editing(self) -> None:
        """Leaves the message as it was; what was being typed before is there again."""
        self._editing = None
        self.prompt.edits("")
        self.prompt.put(self.current.draft)
        self.tell()

    def _send_edited(self, text: str) -> None:
        message = self._editing
        assert message is not None
        if self.current.busy:
            self.atlas.warn(tr("chat.busy"))
            return
        self.stop_editing()
        if text and text != message.content:
            self.prompt.remember(text)
            self.turns.edit(self.current, message.id, text)
            self.tell()

    # --- the reply as it comes -------------------------------------------------------------------

    async def on_turn_accepted(self, event: TurnAccepted) -> None:
        if self.atlas.leaving:
            return
        async with self.turning:
            if event.left is self.current:
                await self.move_on(event.conversation)
            there = self.transcript.find(event.accepted.reply.id) is not None
            if event.conversation is self.current and (event.continues or not there):
                await self._show_start(event)
        self.tell()
        self.tell_attachments()
        self.refresh_list()

    async def _show_start(self, event: TurnAccepted) -> None:
        accepted, transcript = event.accepted, self.transcript
        self.add_class("-talking")
        if event.continues:
            await transcript.follow()
            self._live = transcript.find(accepted.reply.id)
            self._drawn = len(accepted.reply.content)
            return
        if event.again:
            await transcript.drop_after(accepted.message.id)
        else:
            if event.edits is not None:
                await transcript.drop_from(event.edits)
            await transcript.add(accepted.message)
        self._live = await transcript.add(accepted.reply)
        self._drawn = 0
        await transcript.follow()

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
        if event.conversation is not self.current:
            return
        if event.code == DOCUMENTS:
            self.tell_read(event.text)
        else:
            await self.transcript.note(Remark(event.text))

    async def on_turn_ended(self, event: TurnEnded) -> None:
        if self.atlas.leaving:
            return  # it is stored; the widgets that would show it are about to go
        conversation = event.conversation
        replied = event.replied
        if replied is not None:
            timings = replied.completion.timings
            used = sum(tier.tokens for tier in replied.context) + timings.completion_tokens
            conversation.measure(replied.message.id, used, timings.tokens_per_second)
        if event.unsent:
            self._give_back(conversation, event.unsent)
        if conversation is self.current:
            async with self.turning:
                await self._show_end(event)
        elif event.error is not None and not isinstance(event.error, RoomClosed):
            self.atlas.say_error(explain(event.error))
        cut = replied is None or replied.completion.stop_reason is StopReason.CANCELLED
        # Between the end and the news of it something else may have been sent.
        if conversation.waiting and not cut and not conversation.busy:
            self.say(conversation, conversation.waiting.pop(0))
            self.atlas.drafts.changed(conversation)
        if conversation is self.current:
            self.count_variants()
        self.tell()
        self.refresh_list()

    def _give_back(self, conversation: Conversation, text: str) -> None:
        """Words that could not be stored are in the prompt again, or wait where something else is typed."""
        if conversation is self.current and not self.prompt.text:
            self.prompt.put(text)
        else:
            conversation.waiting.insert(0, text)
            self.atlas.drafts.changed(conversation)

    async def _show_end(self, event: TurnEnded) -> None:
        if event.reply is not None:
            if self._live is not None:
                self._draw(event.said)
            live, self._live = self._live or self.transcript.find(event.reply.id), None
            if live is not None:
                await live.finish(_ended(event, event.reply))
        if event.error is not None:
            self.add_class("-talking")
            await self.transcript.note(ErrorNote(explain(event.error)))
            self.atlas.model_needed(event.error)

    async def on_job_moved(self, event: JobMoved) -> None:
        if event.job.kind == TITLE and event.stage is Stage.DONE and event.job.session_id is not None:
            await self.sessions_renamed([event.job.session_id])
        self.tell()


def _together(*texts: str) -> str:
    return "\n\n".join(filter(str.strip, texts))


def _ended(event: TurnEnded, reply: Message) -> Message:
    """The reply as it was stored at the end of its turn."""
    if event.replied is not None:
        return event.replied.message
    status = MessageStatus.PARTIAL if event.said.strip() else MessageStatus.FAILED
    return replace(reply, content=event.said, status=status, stop_reason=StopReason.ERROR)
