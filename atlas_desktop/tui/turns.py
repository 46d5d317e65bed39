"""Turns under way, apart from the widgets that show them: a reply goes on while another page is open."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from atlas_desktop.services.events import Accepted, Delta, Notice
from atlas_desktop.services.turns import Turn, part_options
from atlas_desktop.tui.turn_events import Compacted, JobMoved, TurnAccepted, TurnEnded, TurnGrew, TurnNoticed
from memory.entities import MemoryMode, Message, RoomKind, Session
from memory.errors import MemoryFault
from models.errors import ModelsError

if TYPE_CHECKING:
    from textual.message import Message as Event
    from textual.message_pump import MessagePump
    from textual.worker import Worker

    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.services.turns import TurnOptions
    from atlas_desktop.tui.app import AtlasApp
    from memory.attachments.entities import NewAttachment
    from memory.context.epochs import Compaction
    from memory.jobs.queue import Job
    from memory.jobs.runner import Stage

GROUP = "turns"
END_S = 3.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a turn is to do: say a text, in the place of the message it `edits` if any; or go on with the
    reply it `continues`; or, with none of them, answer the newest message again.

    `part` is the number of a part of a longer text, counted from 1, and how many there are.
    """

    text: str | None = None
    edits: str | None = None
    continues: str | None = None
    part: tuple[int, int] = (1, 1)


@dataclass(eq=False)
class Conversation:
    """A conversation of this run. `session` is None until its first message is stored.

    `said` is what has come of the reply under way; `parts` are those of a long text that are still to be
    said, `waiting` messages to send after all that; `used` is the number of tokens of the prompt and of the
    reply that is shown, `speed` its tokens a second (0: not known), and `measured` has both of each reply;
    `begins_in` is the room that it is to begin in, if not in the one that was opened first, `mode` and
    `project` what it is to begin with.
    """

    session: Session | None = None
    begins_in: RoomKind | None = None
    mode: MemoryMode | None = None
    project: str | None = None
    system: str | None = None
    attached: "list[NewAttachment]" = field(default_factory=list)
    draft: str = ""
    waiting: list[str] = field(default_factory=list)
    parts: list[Wanted] = field(default_factory=list)
    turn: Turn | None = None
    reply: Message | None = None
    said: str = ""
    stopping: bool = False
    used: int = 0
    speed: float = 0.0
    measured: dict[str, tuple[int, float]] = field(default_factory=dict)
    worker: "Worker[None] | None" = None

    def measure(self, reply_id: str, used: int, speed: float) -> None:
        """Takes note of what a reply, which is shown now, has used and how quick it was."""
        self.measured[reply_id] = self.used, self.speed = used, speed

    def shows(self, reply_id: str) -> None:
        """Another reply is its newest now: what was measured of it holds; of an earlier run's, nothing is."""
        self.used, self.speed = self.measured.get(reply_id, (0, 0.0))

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

    async def in_parts(self, conversation: Conversation, text: str) -> list[str]:
        """What to say, one turn after another, when a text is too long for one; else the text alone."""
        options = await self._options(conversation)
        chat = self._app.room_of(conversation).chat
        return await chat.in_parts(text, session=conversation.id, options=options)

    def send_parts(self, conversation: Conversation, parts: Sequence[str], *, edits: str | None) -> None:
        """Says parts one after the other, the first in the place of the message `edits` if any."""
        total = len(parts)
        wanted = [Wanted(text, part=(number, total)) for number, text in enumerate(parts, 1)]
        conversation.parts = wanted[1:]
        self._start(conversation, replace(wanted[0], edits=edits))

    def stop(self, conversation: Conversation) -> None:
        conversation.parts.clear()
        if conversation.busy:
            conversation.stopping = True
        if conversation.turn is not None:
            conversation.turn.stop()

    async def stop_all(self) -> None:
        """Stops every turn and returns when what came of them is stored."""
        for conversation in [*self.active]:
            conversation.waiting.clear()
            await self._end(conversation)

    async def end_in(self, room: RoomKind) -> None:
        """Stops the turns of a room and returns when what came of them is stored; what waits stays.

        A model that does not answer is not waited for: its room closes all the same.
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
                # Its error has been shown by the handler of failed workers; here only the end counts.
                return

    def _start(self, conversation: Conversation, wanted: Wanted) -> None:
        conversation.stopping = False
        conversation.reply = None
        conversation.said = ""
        self._running.append(conversation)
        conversation.worker = self._app.attempt(self._run(conversation, wanted), group=GROUP)

    async def _options(self, conversation: Conversation) -> "TurnOptions":
        """How a turn of this conversation is made."""
        room = self._app.room_of(conversation)
        # It looks at the folder of models.
        options = await asyncio.to_thread(self._app.desk.turn_options)
        if conversation.session is None:
            new = conversation
            options = replace(options, memory_mode=new.mode, system=new.system, project=new.project)
        options = await self._with_persona(room, conversation, options)
        if room.store.room is RoomKind.OFF_RECORD:
            options = replace(options, memory_mode=MemoryMode.OFF)
        return options

    async def _make(self, conversation: Conversation, wanted: Wanted) -> Turn:
        """The turn that says what is wanted, or that answers the newest message again."""
        room = self._app.room_of(conversation)
        options = part_options(await self._options(conversation), *wanted.part)
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
        self, room: "RoomServices", conversation: Conversation, options: "TurnOptions"
    ) -> "TurnOptions":
        """With the variety that the persona asks for which the conversation goes by."""
        from atlas_desktop.services.lending import temperature_for

        system = conversation.session.system_prompt if conversation.session else conversation.system
        heat = await temperature_for(room, self._app.desk.open_rooms, system)
        if heat is None:
            return options
        return replace(options, params=replace(options.params, temperature=heat))

    def _post(self, event: "Event") -> None:
        if self.listener is not None:
            self.listener.post_message(event)

    async def _run(self, conversation: Conversation, wanted: Wanted) -> None:
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
                        conversation.said = event.reply.content
                    elif wanted.edits is None:
                        del conversation.attached[: len(turn.options.attachments)]
                    again, further = wanted == Wanted(), wanted.continues is not None
                    post(TurnAccepted(conversation, event, again, wanted.edits, further, left))
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
            if ended.replied is None:
                conversation.parts.clear()
            elif conversation.parts:
                self._start(conversation, conversation.parts.pop(0))

    def _moved(self, left: Conversation) -> Conversation:
        """Where a turn goes on that has begun a session of its own; what waits to be said goes along."""
        fresh = Conversation(turn=left.turn, worker=left.worker, stopping=left.stopping)
        fresh.waiting, left.waiting = left.waiting, []
        fresh.attached, left.attached = left.attached, []
        left.turn = left.worker = None
        left.stopping = False
        self._running[self._running.index(left)] = fresh
        return fresh
