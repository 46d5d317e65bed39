"""Turns under way, apart from the widgets that show them: a reply goes on while another page is open."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from textual.message import Message as Event

from atlas_desktop.services.events import Accepted, Delta, Notice, Replied
from atlas_desktop.services.turn import Turn
from memory.entities import MemoryMode, Message, RoomKind, Session
from memory.errors import MemoryFault
from models.errors import ModelsError

if TYPE_CHECKING:
    from textual.message_pump import MessagePump
    from textual.worker import Worker

    from atlas_desktop.services.room import OpenRoom
    from atlas_desktop.services.turn import TurnOptions
    from atlas_desktop.tui.app import AtlasApp
    from memory.attachments.entities import NewAttachment
    from memory.background import Stage
    from memory.context.beginning import Compaction
    from memory.jobs import Job

GROUP = "turns"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a turn is to do: say a text, in the place of the message it `edits` if any; or go on with the
    reply it `continues`; or, with none of them, answer the newest message again."""

    text: str | None = None
    edits: str | None = None
    continues: str | None = None


@dataclass(eq=False)
class Conversation:
    """A conversation of this run. `session` is None until its first message is stored.

    `said` is what has come of the reply under way; `waiting` are messages to send after it; `used` is the
    number of tokens of the last prompt and reply; `begins_in` is the room that it is to begin in, if not in
    the one that was opened first, `mode` and `project` what it is to begin with.
    """

    session: Session | None = None
    begins_in: RoomKind | None = None
    mode: MemoryMode | None = None
    project: str | None = None
    system: str | None = None
    attached: "list[NewAttachment]" = field(default_factory=list)
    draft: str = ""
    waiting: list[str] = field(default_factory=list)
    turn: Turn | None = None
    reply: Message | None = None
    said: str = ""
    stopping: bool = False
    used: int = 0
    speed: float = 0.0
    worker: "Worker[None] | None" = None

    @property
    def id(self) -> str | None:
        return self.session.id if self.session else None

    @property
    def room(self) -> RoomKind | None:
        """Where it is, or is to begin; None for the room that was opened first."""
        return self.session.room if self.session else self.begins_in

    @property
    def unsent(self) -> list[str]:
        """What was typed and has not been sent, in its order."""
        return [*self.waiting, self.draft]

    @property
    def busy(self) -> bool:
        return self.worker is not None

    @property
    def doing(self) -> str:
        """What is going on, in a word; empty when nothing is."""
        if not self.busy:
            return ""
        if self.stopping:
            return "stopping"
        return "writing" if self.said else "reading"


@dataclass
class TurnAccepted(Event):
    """What the person said is stored, and the reply's empty row with it.

    `again` says that the newest message is answered once more; `edits` is the message in whose place
    something was said; `continues` that the reply was there before and is gone on with.
    """

    conversation: Conversation
    accepted: Accepted
    again: bool
    edits: str | None = None
    continues: bool = False


@dataclass
class TurnGrew(Event):
    """More of the reply is in `conversation.said`."""

    conversation: Conversation

    def can_replace(self, message: Event) -> bool:
        return isinstance(message, TurnGrew) and message.conversation is self.conversation


@dataclass
class TurnNoticed(Event):
    """Something to know while the turn goes on."""

    conversation: Conversation
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

    conversation: Conversation
    reply: Message | None = None
    said: str = ""
    replied: Replied | None = None
    error: Exception | None = None
    unsent: str = ""


@dataclass
class JobMoved(Event):
    """A job in the background has started or ended."""

    job: "Job"
    stage: "Stage"


class Turns:
    """Starts and stops turns, and tells `listener` of them as messages. They outlive the screens."""

    def __init__(self, app: "AtlasApp") -> None:
        self.listener: MessagePump | None = None
        self._app = app
        self._known: dict[str, Conversation] = {}
        self._running: list[Conversation] = []

    def of(self, session: Session) -> Conversation:
        """The conversation of a session: the same object for as long as the program runs."""
        known = self._known.setdefault(session.id, Conversation(session))
        known.session = session
        return known

    def forget_room(self, room: RoomKind) -> None:
        """Lets go of the conversations of a room that closes."""
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
        """Says `text`; the caller has seen to it that no turn is under way."""
        self._start(conversation, Wanted(text))

    def regenerate(self, conversation: Conversation) -> None:
        """Asks for another answer to the newest message of a stored conversation."""
        self._start(conversation, Wanted())

    def edit(self, conversation: Conversation, message_id: str, text: str) -> None:
        """Says `text` in the place of one of the person's messages."""
        self._start(conversation, Wanted(text, edits=message_id))

    def go_on(self, conversation: Conversation, reply_id: str) -> None:
        """Goes on with the newest reply, which was stopped or cut."""
        self._start(conversation, Wanted(continues=reply_id))

    def stop(self, conversation: Conversation) -> None:
        if conversation.busy:
            conversation.stopping = True
        if conversation.turn is not None:
            conversation.turn.stop()

    async def stop_all(self) -> None:
        """Stops every turn and returns when what came of them is stored."""
        from textual.worker import WorkerError

        for conversation in [*self.active]:
            conversation.waiting.clear()
            self.stop(conversation)
            if conversation.worker is not None:
                try:
                    await conversation.worker.wait()
                except WorkerError:
                    # Its error has been shown by the handler of failed workers; here only the end counts.
                    continue

    def _start(self, conversation: Conversation, wanted: Wanted) -> None:
        conversation.stopping = False
        conversation.reply = None
        conversation.said = ""
        self._running.append(conversation)
        conversation.worker = self._app.attempt(self._run(conversation, wanted), group=GROUP)

    async def _make(self, conversation: Conversation, wanted: Wanted) -> Turn:
        """The turn that says what is wanted, or that answers the newest message again."""
        room = self._app.room_of(conversation)
        # It looks at the folder of models.
        options = await asyncio.to_thread(self._app.desk.turn_options)
        if conversation.session is None:
            new = conversation
            options = replace(options, memory_mode=new.mode, system=new.system, project=new.project)
        options = await self._with_persona(room, conversation, options)
        if room.store.room is RoomKind.OFF_RECORD:
            options = replace(options, memory_mode=MemoryMode.OFF)
        if wanted.text is not None and wanted.edits is None:
            options = replace(options, attachments=tuple(conversation.attached))
            return room.chat.turn(wanted.text, session=conversation.id, options=options)
        assert conversation.id is not None
        if wanted.text is not None and wanted.edits is not None:
            return room.chat.edit(conversation.id, wanted.edits, wanted.text, options=options)
        if wanted.continues is not None:
            return room.chat.go_on(conversation.id, wanted.continues, options=options)
        return room.chat.regenerate(conversation.id, options=options)

    async def _with_persona(
        self, room: "OpenRoom", conversation: Conversation, options: "TurnOptions"
    ) -> "TurnOptions":
        """With the variety that the persona asks for which the conversation goes by."""
        from atlas_desktop.services.personas import temperature_for

        system = conversation.session.system_prompt if conversation.session else conversation.system
        heat = await temperature_for(room, self._app.desk.open_rooms, system)
        if heat is None:
            return options
        return replace(options, params=replace(options.params, temperature=heat))

    def _post(self, event: Event) -> None:
        if self.listener is not None:
            self.listener.post_message(event)

    async def _run(self, conversation: Conversation, wanted: Wanted) -> None:
        post = self._post
        ended = TurnEnded(conversation, unsent=wanted.text or "")
        try:
            turn = conversation.turn = await self._make(conversation, wanted)
            if conversation.stopping:
                turn.stop()
            async for event in self._app.room_of(conversation).background.attend(turn):
                if isinstance(event, Accepted):
                    ended.unsent = ""
                    conversation.session = event.session
                    conversation.reply = event.reply
                    self._known[event.session.id] = conversation
                    if wanted.continues is not None:
                        conversation.said = event.reply.content
                    elif wanted.edits is None:
                        del conversation.attached[: len(turn.options.attachments)]
                    again, further = wanted == Wanted(), wanted.continues is not None
                    post(TurnAccepted(conversation, event, again, wanted.edits, further))
                elif isinstance(event, Delta):
                    conversation.said += event.text
                    post(TurnGrew(conversation))
                elif isinstance(event, Notice):
                    post(TurnNoticed(conversation, event.text, event.code))
                else:
                    ended.replied = event
                    conversation.session = event.session
        except (ModelsError, MemoryFault, OSError, ValueError) as error:
            ended.error = error
        finally:
            ended.reply, ended.said = conversation.reply, conversation.said
            conversation.turn = conversation.worker = None
            conversation.stopping = False
            self._running.remove(conversation)
            post(ended)
