"""What a turn tells whoever shows it, in the order in which it happens."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.formats import formats

if TYPE_CHECKING:
    from memory.context.documents import DocumentUse
    from memory.context.entities import TierUse
    from memory.context.epochs import Compaction
    from memory.entities import Message, Session
    from memory.recall.entities import Hit
    from models.messages import Completion


@dataclass(frozen=True, slots=True)
class Accepted:
    """The person's message is durable. `reply` is the row that the answer will grow in."""

    session: "Session"
    message: "Message"
    reply: "Message"


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
    """The end of a turn: what was stored, how it ended, and what the prompt was made of.

    `due` says that the working memory is full: the session's next epoch is to be prepared. `prepare_ms` went
    by before the model was asked (to load it, to recall, to bring its state back). `documents` says how much
    of each attachment stood in the prompt.
    """

    session: "Session"
    message: "Message"
    completion: "Completion"
    context: "tuple[TierUse, ...]"
    recalled: "tuple[Hit, ...]" = ()
    due: bool = False
    prepare_ms: float = 0.0
    documents: "tuple[DocumentUse, ...]" = ()


def compaction_notice(compaction: "Compaction") -> Notice:
    """That older turns were summarised, in one line with the sizes before and after."""
    before, after = formats().number(compaction.before), formats().number(compaction.after)
    return Notice("compacted", tr("turn.compacted", before=before, after=after))


TurnEvent = Accepted | Delta | Notice | Replied
