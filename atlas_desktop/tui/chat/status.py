"""The lines around the conversation: title, model, room and memory above it; what goes on below it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.context import EPOCH
from atlas_desktop.services.memories import COLLECT, CONSOLIDATE, PROMOTE
from atlas_desktop.services.recall import KIND as EMBED
from atlas_desktop.services.sessions import number_of
from atlas_desktop.services.summaries import KIND as TITLE
from atlas_desktop.services.tuning import KIND as TUNE
from atlas_desktop.tui.actions import BY_ID, key_words
from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.keymap import keys_of
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.formats import formats
from memory.jobs.runner import Held
from memory.kinds import MemoryMode, RoomKind
from memory.summaries.compaction import IMPROVE

if TYPE_CHECKING:
    from atlas_desktop.services.background import BackgroundService
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.chat.rooms import RoomsController
    from atlas_desktop.tui.chat.sessions import SessionsController

TITLE_CELLS = 30
SHORTEST_CELLS = 8

_MEMORY = {
    MemoryMode.NORMAL: "chat.memory.normal",
    MemoryMode.READS: "chat.memory.reads",
    MemoryMode.BLANK: "chat.memory.blank",
    MemoryMode.OFF: "chat.memory.off",
}
_ROOM = {
    RoomKind.OPEN: "chat.room.open",
    RoomKind.PRIVATE: "chat.room.private",
    RoomKind.OFF_RECORD: "chat.room.off",
}
# Anything unusual stands out in words and in colour.
_MEMORY_STYLES = {
    MemoryMode.READS: "$accent",
    MemoryMode.BLANK: "$accent",
    MemoryMode.OFF: "bold $warning",
}
_ROOM_STYLES = {RoomKind.PRIVATE: "bold $warning", RoomKind.OFF_RECORD: "bold $warning"}

_DOING = {
    TITLE: "chat.doing.title",
    EPOCH: "chat.doing.epoch",
    IMPROVE: "chat.doing.improve",
    EMBED: "chat.doing.embed",
    TUNE: "chat.doing.tune",
    PROMOTE: "chat.doing.upkeep",
    COLLECT: "chat.doing.upkeep",
    CONSOLIDATE: "chat.doing.upkeep",
}
_WAITING = {Held.BATTERY: "chat.resting.battery", Held.PAUSED: "chat.resting.paused"}


def work_under_way(background: "BackgroundService") -> str:
    """Returns what the background of a room does or waits for; empty if nothing."""
    if background.waiting is not None:
        return tr(_WAITING[background.waiting])
    job = background.running
    return tr(_DOING.get(job.kind, "chat.doing.other")) if job is not None else ""


class HeadLine(Widget):
    """The title on the left, after a badge if this is the demonstration; model, memory mode and room in words
    on the right."""

    DEFAULT_CSS = """
    HeadLine { height: 1; padding: 0 2; background: $surface; color: $quiet; text-wrap: nowrap; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._said = ""
        self._model = ""
        self._memory = MemoryMode.NORMAL
        self._room = RoomKind.OPEN
        self._unlocked: bool | None = None
        self._demo = False

    def tell(
        self,
        *,
        title: str,
        model: str,
        memory: MemoryMode,
        room: RoomKind,
        unlocked: bool | None = None,
        demo: bool = False,
    ) -> None:
        """`unlocked` says whether the private room is, where `room` is another one."""
        self._said, self._model = clean_line(title), clean_line(model)
        self._memory, self._room, self._unlocked = memory, room, unlocked
        self._demo = demo
        self.refresh()

    def render(self) -> Content:
        badge = f" {tr('chat.demo')} " if self._demo else ""
        beside = " " if badge else ""
        width = self.content_size.width - cell_len(badge + beside)
        memory, room = tr(_MEMORY[self._memory]), tr(_ROOM[self._room])
        private = ""
        if self._unlocked is not None:
            private = f", {tr('chat.room.unlocked' if self._unlocked else 'chat.room.locked')}"
        state = f"{memory} · {room}{private}"
        free = width - cell_len(state) - 2
        # Shorten the name of the model first: the title tells conversations apart.
        model = _cut(self._model, free - min(cell_len(self._said), TITLE_CELLS) - 3)
        facts = f"{model} · {state}" if model else state
        title = _cut(self._said, width - cell_len(facts) - 2)
        gap = " " * (width - cell_len(title) - cell_len(facts))
        how, where = _MEMORY_STYLES.get(self._memory, ""), _ROOM_STYLES.get(self._room, "")
        marks = Content.assemble(
            (memory, how), " · ", (room, where), (private, "bold $warning" if self._unlocked else "")
        )
        return Content.assemble(
            (badge, "bold reverse $warning"),
            beside,
            (title, "bold $foreground"),
            gap,
            facts[: len(facts) - len(state)],
            marks,
        )


def _cut(text: str, room: int) -> str:
    """`text` in at most `room` cells; nothing when that would be hardly anything of it."""
    if cell_len(text) <= room:
        return text
    number = number_of(text)
    room -= 1 + len(number)
    return set_cell_size(text, room).rstrip() + "…" + number if room >= SHORTEST_CELLS - 1 else ""


@dataclass(frozen=True, slots=True)
class Status:
    """What the status line shows. `used` and `limit` are tokens; `speed` is tokens a second (0: unknown).
    `lock` says how to lock, or that there is nothing to, where there is room for it."""

    activity: str = ""
    background: str = ""
    used: int = 0
    limit: int = 0
    speed: float = 0.0
    lock: str = ""


class StatusLine(Widget):
    """The current activity on the left; context and speed on the right."""

    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 2; color: $quiet; text-wrap: nowrap; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._status = Status()

    def tell(self, status: Status) -> None:
        if status != self._status:
            self._status = status
            self.refresh()

    def render(self) -> Content:
        now = self._status
        left = " · ".join(part for part in (now.activity or tr("chat.ready"), now.background) if part)
        facts = []
        if now.limit:
            number, share = formats().number, now.used / now.limit
            said = tr("chat.context_used", used=number(now.used), limit=number(now.limit), share=share)
            facts.append(said)
        if now.speed:
            facts.append(tr("chat.speed", speed=now.speed))
        width = self.content_size.width
        # Drop facts from the end if there is no space for all of them.
        facts = [*facts, now.lock] if now.lock else facts
        while len(facts) > 1 and cell_len(left) + 2 + cell_len(" · ".join(facts)) > width:
            facts = facts[:-1]
        right = " · ".join(facts)
        gap = " " * max(2, width - cell_len(left) - cell_len(right))
        return Content.assemble((left, "$foreground" if now.activity else "$quiet"), gap, right)


class StatusController:
    """Fills the lines with the facts about the shown conversation."""

    def __init__(
        self,
        app: "BaseApp",
        view: ConversationView,
        head: HeadLine,
        line: StatusLine,
        waiting: Static,
        *,
        sessions: "SessionsController",
        rooms: "RoomsController",
    ) -> None:
        """`waiting` shows the messages that wait to be sent."""
        self._app = app
        self._view = view
        self._head = head
        self._line = line
        self._waiting = waiting
        self._sessions = sessions
        self._rooms = rooms

    def refresh(self) -> None:
        """Raises `RoomClosed`."""
        shown, room = self._view.current, self._view.room
        session, kind = shown.session, room.store.room
        begins = MemoryMode.OFF if kind is RoomKind.OFF_RECORD else shown.mode or MemoryMode.NORMAL
        self._head.tell(
            title=self._sessions.headline(session.title if session else tr("chat.new")),
            model=self._app.model_name,
            memory=session.memory_mode if session else begins,
            room=session.room if session else kind,
            unlocked=self._rooms.private_unlocked(kind),
            demo=self._app.is_demo,
        )
        self._line.tell(
            Status(
                activity=shown.activity.capitalize(),
                background=work_under_way(room.background) or self._app.background,
                used=shown.used,
                # The size of a stored conversation is known after its first turn in this run.
                limit=self._app.context_length if shown.used or session is None else 0,
                speed=shown.speed,
                lock=self._how_to_lock,
            )
        )
        self._waiting.set_class(bool(shown.waiting), "-some")
        self._waiting.update(_waiting_words(shown))

    @property
    def _how_to_lock(self) -> str:
        if self._app.is_demo:
            return tr("chat.demo_ends")
        key = key_words(keys_of(BY_ID["app.lock"], self._app.keys))
        return tr("chat.lock", key=key) if key and self._app.can_lock else ""


def _waiting_words(conversation: Conversation) -> Content:
    """Returns the lines about queued messages."""
    waiting = conversation.waiting
    if not waiting:
        return Content("")
    first = " ".join(waiting[0].split())
    more = tr("chat.queued_more", more=len(waiting) - 1) if len(waiting) > 1 else ""
    how = tr("chat.queued_busy") if conversation.busy else tr("chat.queued_free")
    return Content.assemble((tr("chat.queued"), "bold"), f"{more}: {first}\n", (how, "$quiet italic"))
