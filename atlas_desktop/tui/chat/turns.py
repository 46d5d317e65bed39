"""Runs turns independently of the widgets that show them: a reply continues while another screen is open."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from textual.message import Message as Event

from atlas_desktop.services.events import Accepted, Delta, Notice
from atlas_desktop.services.turns import Turn, part_options
from atlas_desktop.tui.chat.conversation import Conversation, TurnRequest
from memory.entities import MemoryMode, RoomKind, Session
from memory.errors import MemoryFault
from models.errors import ModelsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.message_pump import MessagePump
    from textual.worker import Worker

    from atlas_desktop.services.desk import AppContext
    from atlas_desktop.services.events import Replied
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.services.turns import TurnOptions
    from memory.context.epochs import Compaction
    from memory.entities import Message
    from memory.jobs.queue import Job
    from memory.jobs.runner import Stage

GROUP = "turns"
END_S = 3.0


@dataclass
class TurnAccepted(Event):
    """The user's message and the empty row of the reply are stored.

    `again` says that the newest message is answered again; `edits` is the message that was replaced;
    `continues` says that an earlier reply is continued. `left` is the conversation in which the message was
    sent, if the turn has started a new one.
    """

    conversation: "Conversation"
    accepted: "Accepted"
    again: bool
    edits: str | None = None
    continues: bool = False
    left: "Conversation | None" = None


@dataclass
class TurnGrew(Event):
    """`conversation.partial_text` has grown."""

    conversation: "Conversation"

    def can_replace(self, message: Event) -> bool:
        return isinstance(message, TurnGrew) and message.conversation is self.conversation


@dataclass
class TurnNoticed(Event):
    """A notice for the user during the turn."""

    conversation: "Conversation"
    text: str
    code: str = ""


@dataclass
class Compacted(Event):
    """Older turns of a session were summarised."""

    compaction: "Compaction"


@dataclass
class TurnEnded(Event):
    """The turn is over: with `replied`, with an `error`, or (neither) because the program is closing.

    `unsent` is the text that could not be stored, if that is what failed.
    """

    conversation: "Conversation"
    reply: "Message | None" = None
    partial_text: str = ""
    replied: "Replied | None" = None
    error: Exception | None = None
    unsent: str = ""


@dataclass
class JobMoved(Event):
    """A job in the background has started or ended."""

    job: "Job"
    stage: "Stage"


class Turns:
    """Starts and stops turns and posts their events to `listener`. Turns outlive screens."""

    def __init__(
        self,
        desk: "AppContext",
        attempt: "Callable[..., Worker[None]]",
        room_of: "Callable[[Conversation], RoomServices]",
    ) -> None:
        self.listener: MessagePump | None = None
        self._desk, self._attempt, self._room_of = desk, attempt, room_of
        self._known: dict[str, Conversation] = {}
        self._running: list[Conversation] = []

    def of(self, session: Session) -> Conversation:
        """Returns the conversation of a session: the same object for the whole run."""
        known = self._known.setdefault(session.id, Conversation(session))
        known.session = session
        return known

    def forget_room(self, room: RoomKind) -> None:
        """Forgets the conversations of a room that closes."""
        for session_id in [key for key, known in self._known.items() if known.room is room]:
            del self._known[session_id]

    def compacted(self, made: "Compaction") -> None:
        self._post(Compacted(made))

    def job_moved(self, job: "Job", stage: "Stage") -> None:
        self._post(JobMoved(job, stage))

    @property
    def active(self) -> Iterator[Conversation]:
        return (c for c in self._running if c.busy)

    def send(self, conversation: Conversation, text: str) -> None:
        """Sends `text`. The caller makes sure that no turn is in progress."""
        self._start(conversation, TurnRequest(text))

    def regenerate(self, conversation: Conversation) -> None:
        """Asks for another answer to the newest message of a stored conversation."""
        self._start(conversation, TurnRequest())

    def edit(self, conversation: Conversation, message_id: str, text: str) -> None:
        """Sends `text` in place of one of the user's messages."""
        self._start(conversation, TurnRequest(text, edits=message_id))

    def go_on(self, conversation: Conversation, reply_id: str) -> None:
        """Continues the newest reply, which was stopped or cut."""
        self._start(conversation, TurnRequest(continues=reply_id))

    async def in_parts(self, conversation: Conversation, text: str) -> list[str]:
        """Splits a text that is too long for one turn; returns it alone if it fits."""
        options = await self._options(conversation)
        chat = self._room_of(conversation).chat
        return await chat.in_parts(text, session=conversation.id, options=options)

    def send_parts(self, conversation: Conversation, parts: Sequence[str], *, edits: str | None) -> None:
        """Sends parts one after the other, the first in place of the message `edits`, if any."""
        total = len(parts)
        wanted = [TurnRequest(text, part=(number, total)) for number, text in enumerate(parts, 1)]
        conversation.parts = wanted[1:]
        self._start(conversation, replace(wanted[0], edits=edits))

    def stop(self, conversation: Conversation) -> None:
        conversation.parts.clear()
        if conversation.busy:
            conversation.stopping = True
        if conversation.turn is not None:
            conversation.turn.stop()

    async def stop_all(self) -> None:
        """Stops all turns; returns once their replies are stored."""
        for conversation in [*self.active]:
            conversation.waiting.clear()
            await self._end(conversation)

    async def end_in(self, room: RoomKind) -> None:
        """Stops the turns of a room; returns once their replies are stored. Queued messages stay.

        A model that does not answer within `END_S` is not waited for: its room closes anyway.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                for conversation in [c for c in self.active if c.room is room]:
                    await self._end(conversation)

    async def _end(self, conversation: Conversation) -> None:
        from textual.worker import WorkerError

        self.stop(conversation)
        if conversation.worker is not None:
            try:
                await conversation.worker.wait()
            except WorkerError:
                # The handler of failed workers has shown its error.
                return

    def _start(self, conversation: Conversation, wanted: TurnRequest) -> None:
        conversation.stopping = False
        conversation.reply = None
        conversation.partial_text = ""
        conversation.began = time.monotonic()
        self._running.append(conversation)
        conversation.worker = self._attempt(self._run(conversation, wanted), group=GROUP)

    async def _options(self, conversation: Conversation) -> "TurnOptions":
        """Returns the options for a turn of this conversation."""
        room = self._room_of(conversation)
        # In a thread, because it reads the folder of models.
        options = await asyncio.to_thread(self._desk.turn_options)
        if conversation.session is None:
            new = conversation
            options = replace(options, memory_mode=new.mode, system=new.system, project=new.project)
        options = await self._with_persona(room, conversation, options)
        if room.store.room is RoomKind.OFF_RECORD:
            options = replace(options, memory_mode=MemoryMode.OFF)
        return options

    async def _make(self, conversation: Conversation, wanted: TurnRequest) -> Turn:
        """Creates the turn for a request."""
        room = self._room_of(conversation)
        options = part_options(await self._options(conversation), *wanted.part)
        if wanted.text is not None and wanted.edits is None:
            options = replace(
                options,
                attachments=tuple(conversation.attached),
                documents=tuple(one.id for one in conversation.documents),
            )
            return room.chat.turn(wanted.text, session=conversation.id, options=options)
        assert conversation.id is not None
        if wanted.text is not None and wanted.edits is not None:
            return room.chat.edit(conversation.id, wanted.edits, wanted.text, options=options)
        if wanted.continues is not None:
            return room.chat.go_on(conversation.id, wanted.continues, options=options)
        return room.chat.regenerate(conversation.id, options=options)

    async def _with_persona(
        self, room: "RoomServices", conversation: Conversation, options: "TurnOptions"
    ) -> "TurnOptions":
        """Applies the temperature of the conversation's persona, if any."""
        from atlas_desktop.services.forgetting_in_rooms import temperature_for

        system = conversation.session.system_prompt if conversation.session else conversation.system
        heat = await temperature_for(room, self._desk.open_rooms, system)
        if heat is None:
            return options
        return replace(options, params=replace(options.params, temperature=heat))

    def _post(self, event: Event) -> None:
        if self.listener is not None:
            self.listener.post_message(event)

    async def _run(self, conversation: Conversation, wanted: TurnRequest) -> None:
        post = self._post
        ended = TurnEnded(conversation, unsent=wanted.text or "")
        try:
            turn = conversation.turn = await self._make(conversation, wanted)
            if conversation.stopping:
                turn.stop()
            async for event in turn:
                if isinstance(event, Accepted):
                    ended.unsent, left = "", None
                    if conversation.id not in (None, event.session.id):
                        left, conversation = conversation, self._moved(conversation)
                        ended.conversation = conversation
                    conversation.session = event.session
                    conversation.reply = event.reply
                    self._known[event.session.id] = conversation
                    if wanted.continues is not None:
                        conversation.partial_text = event.reply.content
                    elif wanted.edits is None:
                        del conversation.attached[: len(turn.options.attachments)]
                        del conversation.documents[: len(turn.options.documents)]
                    again, further = wanted == TurnRequest(), wanted.continues is not None
                    post(TurnAccepted(conversation, event, again, wanted.edits, further, left))
                elif isinstance(event, Delta):
                    conversation.partial_text += event.text
                    post(TurnGrew(conversation))
                elif isinstance(event, Notice):
                    post(TurnNoticed(conversation, event.text, event.code))
                else:
                    ended.replied = event
                    conversation.session = event.session
        except (ModelsError, MemoryFault, OSError, ValueError) as error:
            ended.error = error
        finally:
            ended.reply, ended.partial_text = conversation.reply, conversation.partial_text
            conversation.turn = conversation.worker = None
            conversation.stopping = False
            self._running.remove(conversation)
            post(ended)
            if ended.replied is None:
                conversation.parts.clear()
            elif conversation.parts:
                self._start(conversation, conversation.parts.pop(0))

    def _moved(self, left: Conversation) -> Conversation:
        """Creates the conversation of a turn that has started a new session. Queued messages and attachments
        move along."""
        fresh = Conversation(turn=left.turn, worker=left.worker, stopping=left.stopping, began=left.began)
        fresh.waiting, left.waiting = left.waiting, []
        fresh.attached, left.attached = left.attached, []
        fresh.documents, left.documents = left.documents, []
        left.turn = left.worker = None
        left.stopping = False
        self._running[self._running.index(left)] = fresh
        return fresh
