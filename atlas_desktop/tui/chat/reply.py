"""Shows a reply in the transcript: its beginning, the text as it streams in, its end."""

from dataclasses import replace
from typing import TYPE_CHECKING

from atlas_desktop.services.attachments import DOCUMENTS
from atlas_desktop.services.summaries import KIND as TITLE
from atlas_desktop.tui.chat.attachments import AttachmentsController
from atlas_desktop.tui.chat.composer import ComposerController
from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.chat.message import CitationReader, ErrorNote, MessageBlock
from atlas_desktop.tui.chat.messages import MessagesController
from atlas_desktop.tui.chat.sessions import SessionsController
from atlas_desktop.tui.chat.turns import JobMoved, TurnAccepted, TurnEnded, TurnGrew, TurnNoticed
from memory.entities import Message, MessageStatus
from memory.errors import RoomClosed
from memory.jobs.runner import Stage
from models.messages import StopReason

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp


class ReplyController:
    """Shows the events of turns. Turns of a conversation that is not shown continue in the background."""

    def __init__(
        self,
        app: "BaseApp",
        view: ConversationView,
        *,
        composer: ComposerController,
        sessions: SessionsController,
        attachments: AttachmentsController,
        messages: MessagesController,
        citations: CitationReader,
    ) -> None:
        self._app = app
        self._view = view
        self._composer = composer
        self._sessions = sessions
        self._attachments = attachments
        self._messages = messages
        self._citations = citations
        self._live: MessageBlock | None = None
        self._drawn = 0

    def stop(self) -> None:
        """Stops the reply; if there is none, takes back the last queued message."""
        if self._view.current.busy:
            self._app.turns.stop(self._view.current)
            self._view.refresh()
        else:
            self._composer.take_back()

    def regenerate(self) -> None:
        self._app.turns.regenerate(self._view.current)
        self._view.refresh()

    # --- showing a conversation with a reply in progress -------------------------------------------

    def detach(self, conversation: Conversation, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        """Detaches from the streaming reply of the conversation that the user leaves.

        Returns the messages of the next `conversation`, with the text so far of its current reply.
        """
        self._live, self._drawn = None, 0
        if not conversation.busy or conversation.reply is None:
            return messages
        live, text = conversation.reply.id, conversation.partial_text
        self._drawn = len(text)
        return tuple(replace(m, content=text) if m.id == live else m for m in messages)

    def attach(self, conversation: Conversation) -> None:
        """Continues streaming into the newest block of the transcript, if a reply is in progress."""
        blocks = self._view.transcript.blocks
        if conversation.busy and blocks:
            self._live = blocks[-1]

    def refresh(self) -> None:
        """Shows in the head of the reply whether the model reads or writes."""
        if self._live is not None and self._view.current.busy:
            self._live.show_activity(self._view.current.activity)

    # --- events of turns ----------------------------------------------------------------------------

    async def accepted(self, event: TurnAccepted) -> None:
        if self._app.leaving:
            return
        self._app.drafts.sent(event.conversation)
        async with self._view.switching:
            if event.left is self._view.current:
                await self._sessions.move_on(event.conversation)
            there = self._view.transcript.find(event.accepted.reply.id) is not None
            if event.conversation is self._view.current and (event.continues or not there):
                await self._show_start(event)
        self._view.refresh()
        self._attachments.refresh()
        self._view.refresh_list()

    async def _show_start(self, event: TurnAccepted) -> None:
        accepted, transcript = event.accepted, self._view.transcript
        self._view.show_transcript()
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
            block = await transcript.add(accepted.message)
            if event.edits is not None:
                variants = await self._view.room.branches.variants(accepted.message.id)
                at = [one.id for one in variants].index(accepted.message.id)
                block.placed(at + 1, len(variants))
        self._live = await transcript.add(accepted.reply)
        self._drawn = 0
        await transcript.follow()

    def grew(self, event: TurnGrew) -> None:
        if event.conversation is self._view.current and self._live is not None and not self._app.leaving:
            self._draw(event.conversation.partial_text)

    def _draw(self, said: str) -> None:
        assert self._live is not None
        if fresh := said[self._drawn :]:
            if not self._drawn:
                self._view.refresh()
            self._drawn = len(said)
            self._live.stream(fresh, self._app.desk.settings.ui.frame_rate)

    async def noticed(self, event: TurnNoticed) -> None:
        if event.conversation is not self._view.current:
            return
        if event.code == DOCUMENTS:
            self._attachments.show_read(event.text)
        else:
            await self._view.note(event.text)

    async def ended(self, event: TurnEnded) -> None:
        if self._app.leaving:
            return  # The reply is stored, and the widgets are about to be removed.
        conversation = event.conversation
        replied = event.replied
        if replied is not None:
            timings = replied.completion.timings
            # The prompt of a reply that is continued also has its first part, which is of no tier.
            prompt = max(sum(tier.tokens for tier in replied.context), timings.prompt_tokens)
            used = prompt + timings.completion_tokens
            conversation.measure(replied.message.id, used, timings.tokens_per_second)
        if event.unsent:
            self._composer.give_back(conversation, event.unsent)
        if conversation is self._view.current:
            async with self._view.switching:
                await self._show_end(event)
        elif event.error is not None and not isinstance(event.error, RoomClosed):
            self._app.say_error(self._app.explain(event.error))
        cut = replied is None or replied.completion.stop_reason is StopReason.CANCELLED
        # Another message may have been sent before this event arrived.
        if conversation.waiting and not cut and not conversation.busy:
            self._composer.say(conversation, conversation.waiting.pop(0))
            self._app.drafts.changed(conversation)
        if conversation is self._view.current:
            self._messages.count_variants()
        self._view.refresh()
        self._view.refresh_list()

    async def _show_end(self, event: TurnEnded) -> None:
        if event.reply is not None:
            if self._live is not None:
                self._draw(event.partial_text)
            replied = event.replied
            self._citations.learn(
                event.reply.id,
                None if replied is None else replied.cited,
                () if replied is None else replied.skills,
            )
            live, self._live = self._live or self._view.transcript.find(event.reply.id), None
            if live is not None:
                await live.finish(
                    _ended(event, event.reply),
                    self._citations.known.get(event.reply.id),
                    self._citations.skills.get(event.reply.id, ()),
                )
        if event.error is not None:
            self._view.show_transcript()
            await self._view.transcript.note(ErrorNote(self._app.explain(event.error)))
            self._app.model_needed(event.error)

    async def job_moved(self, event: JobMoved) -> None:
        if event.job.kind == TITLE and event.stage is Stage.DONE and event.job.session_id is not None:
            await self._sessions.renamed_in_background([event.job.session_id])
        self._view.refresh()


def _ended(event: TurnEnded, reply: Message) -> Message:
    """Returns the reply as it was stored at the end of its turn."""
    if event.replied is not None:
        return event.replied.message
    status = MessageStatus.PARTIAL if event.partial_text.strip() else MessageStatus.FAILED
    return replace(reply, content=event.partial_text, status=status, stop_reason=StopReason.ERROR)
