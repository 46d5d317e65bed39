"""The events of a turn, in the order in which they happen."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from atlas_desktop.locale import _, formats

if TYPE_CHECKING:
    from memory.context.entities import TierUse
    from memory.context.epochs import Compaction
    from memory.context.library import DocumentUse
    from memory.documents.entities import CitedReply
    from memory.entities import Message, Session
    from memory.recall.entities import Hit
    from memory.skills.entities import UsedSkill
    from models.messages import Completion


@dataclass(frozen=True, slots=True)
class Accepted:
    """The user's message is durable. `reply` is the row that the reply will be written to."""

    session: "Session"
    message: "Message"
    reply: "Message"


@dataclass(frozen=True, slots=True)
class Delta:
    """The next piece of the reply: whole characters, already cleaned of control sequences."""

    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know during the turn (`code` is stable, for scripts)."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class Replied:
    """The end of a turn: the stored reply, how it ended, and the parts of the prompt.

    `due`: the context is full, and the session's next epoch has to be prepared. `prepare_ms` is the time
    before the model was asked (loading it, recalling, restoring its state). `documents` gives how much of
    each attachment was in the prompt. `cited` are the reply's citations of the session's documents; None if
    there are none. `skills` are those that it used.
    """

    session: "Session"
    message: "Message"
    completion: "Completion"
    context: "tuple[TierUse, ...]"
    recalled: "tuple[Hit, ...]" = ()
    due: bool = False
    prepare_ms: float = 0.0
    documents: "tuple[DocumentUse, ...]" = ()
    cited: "CitedReply | None" = None
    skills: "tuple[UsedSkill, ...]" = ()


def compaction_notice(compaction: "Compaction") -> Notice:
    """Returns the notice that older turns were summarised, with the tokens before and after."""
    before, after = formats().number(compaction.before), formats().number(compaction.after)
    return Notice(
        "compacted", _("Older messages summarised: {before} → {after} tokens.", before=before, after=after)
    )


TurnEvent = Accepted | Delta | Notice | Replied
