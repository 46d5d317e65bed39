"""The results of making a prompt: the prompt of a turn, and what the next one begins with."""

from dataclasses import dataclass

from memory.context.assembly import Prompt
from memory.context.budget import Budget
from memory.context.decisions import RecallDecision
from memory.context.documents import DocumentUse
from memory.context.entities import Epoch, NewEpoch, TierUse
from memory.context.epochs import Compaction
from memory.documents.entities import StoredPassage
from memory.entities import Message, Session
from memory.recall.entities import Hit
from memory.skills.entities import UsedSkill
from models.messages import ChatMessage, ModelInfo


@dataclass(frozen=True, slots=True)
class Prepared:
    """A turn's prompt and what it was made from. `said` is the user's message with its preface.

    `compacted` is the new epoch that had to begin at once because the old one was full. `passages` are those
    of documents that the prompt contains, and that the reply can cite. `skills` are those that the
    reply uses; `too_long` is the name of one that fits the message, but not into the prompt.
    """

    prompt: Prompt
    info: ModelInfo
    budget: Budget
    session: Session
    said: Message
    epoch: Epoch | NewEpoch
    recalled: tuple[Hit, ...]
    considered: tuple[RecallDecision, ...] = ()
    compacted: Compaction | None = None
    documents: tuple[DocumentUse, ...] = ()
    passages: tuple[StoredPassage, ...] = ()
    skills: tuple[UsedSkill, ...] = ()
    too_long: str = ""


@dataclass(frozen=True, slots=True)
class ContextView:
    """What a session's next prompt begins with: its tiers (all but the newest turn's) and the messages."""

    session: Session
    info: ModelInfo
    budget: Budget
    tiers: tuple[TierUse, ...]
    messages: tuple[ChatMessage, ...]

    @property
    def tokens(self) -> int:
        return sum(tier.tokens for tier in self.tiers)
