"""What is told of turns while they go on, as messages to whatever shows them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message as Event

if TYPE_CHECKING:
    from atlas_desktop.services.events import Accepted, Replied
    from atlas_desktop.tui.turns import Conversation
    from memory.context.epochs import Compaction
    from memory.entities import Message
    from memory.jobs.queue import Job
    from memory.jobs.runner import Stage


@dataclass
class TurnAccepted(Event):
    """What the person said is stored, and the reply's empty row with it.

    `again` says that the newest message is answered once more; `edits` is the message in whose place
    something was said; `continues` that the reply was there before and is gone on with. `left` is the
    conversation in which it was said, when it has begun one of its own.
    """

    conversation: "Conversation"
    accepted: "Accepted"
    again: bool
    edits: str | None = None
    continues: bool = False
    left: "Conversation | None" = None


@dataclass
class TurnGrew(Event):
    """More of the reply is in `conversation.said`."""

    conversation: "Conversation"

    def can_replace(self, message: Event) -> bool:
        return isinstance(message, TurnGrew) and message.conversation is self.conversation


@dataclass
class TurnNoticed(Event):
    """Something to know while the turn goes on."""

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
    said: str = ""
    replied: "Replied | None" = None
    error: Exception | None = None
    unsent: str = ""


@dataclass
class JobMoved(Event):
    """A job in the background has started or ended."""

    job: "Job"
    stage: "Stage"
