"""What a turn tells whoever shows it, in the order in which it happens."""

from dataclasses import dataclass

from memory.context.entities import TierUse
from memory.entities import Message, Session
from models.messages import Completion


@dataclass(frozen=True, slots=True)
class Accepted:
    """The person's message is durable. `reply` is the row that the answer will grow in."""

    session: Session
    message: Message
    reply: Message


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the answer: whole characters, already cleaned of control sequences."""

    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the person should know while the turn goes on (`code` is stable, for scripts)."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Replied:
    """The end of a turn: what was stored, how it ended, and what the prompt was made of."""

    session: Session
    message: Message
    completion: Completion
    context: tuple[TierUse, ...]


TurnEvent = Accepted | Delta | Notice | Replied
