"""The state of one conversation of this run, whatever screen is shown."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.services.turns import Turn
from memory.entities import MemoryMode, Message, RoomKind, Session

if TYPE_CHECKING:
    from textual.worker import Worker

    from atlas_desktop.services.projects import ProjectDefaults
    from memory.attachments import NewAttachment
    from memory.documents.entities import Document


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """What a turn does: send a text, in place of the message `edits` if any; or continue the reply
    `continues`; or, with none of these, answer the newest message again.

    `part` is the number of a part of a longer text, counted from 1, and the number of parts.
    """

    text: str | None = None
    edits: str | None = None
    continues: str | None = None
    part: tuple[int, int] = (1, 1)


@dataclass(eq=False)
class Conversation:
    """A conversation of this run. `session` is None until its first message is stored.

    Before that, `begins_in`, `mode`, `project` and `system` say how it is to begin, and `defaults` which of
    that the project has brought. `attached` and
    `documents` become part of it with the next message. `draft` is what is typed, `waiting` holds messages to
    send after the current turn, `parts` those parts of a long text that come before them. `partial_text` is
    the text so far of the reply under way. `used` counts the tokens of the prompt and of the newest reply,
    `speed` its tokens a second (0: unknown); `measured` keeps both for every reply.
    """

    session: Session | None = None
    begins_in: RoomKind | None = None
    mode: MemoryMode | None = None
    project: str | None = None
    defaults: "ProjectDefaults | None" = None
    system: str | None = None
    attached: "list[NewAttachment]" = field(default_factory=list)
    documents: "list[Document]" = field(default_factory=list)
    draft: str = ""
    waiting: list[str] = field(default_factory=list)
    parts: list[TurnRequest] = field(default_factory=list)
    turn: Turn | None = None
    reply: Message | None = None
    partial_text: str = ""
    stopping: bool = False
    used: int = 0
    speed: float = 0.0
    measured: dict[str, tuple[int, float]] = field(default_factory=dict)
    worker: "Worker[None] | None" = None

    def measure(self, reply_id: str, used: int, speed: float) -> None:
        """Stores the tokens and the speed of the reply that is shown now."""
        self.measured[reply_id] = self.used, self.speed = used, speed

    def shows(self, reply_id: str) -> None:
        """Restores the measurements of the reply that is now the newest; those from an earlier run are
        unknown."""
        self.used, self.speed = self.measured.get(reply_id, (0, 0.0))

    @property
    def id(self) -> str | None:
        return self.session.id if self.session else None

    @property
    def room(self) -> RoomKind | None:
        """The room it is in, or will begin in; None for the room that was opened first."""
        return self.session.room if self.session else self.begins_in

    @property
    def unsent(self) -> list[str]:
        """The queued messages and the draft, in their order."""
        return [*self.waiting, self.draft]

    @property
    def busy(self) -> bool:
        return self.worker is not None

    @property
    def activity(self) -> str:
        """The current activity of the turn, in a word; empty without a turn."""
        if not self.busy:
            return ""
        if self.stopping:
            return _("stopping")
        return _("writing") if self.partial_text else _("reading")
