"""The lines around the conversation: title, model, room and memory above it; the current activity below
it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from atlas_desktop.locale import N_, _, formats
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.context import EPOCH
from atlas_desktop.services.memories import COLLECT, CONSOLIDATE, PROMOTE
from atlas_desktop.services.recall import KIND as EMBED
from atlas_desktop.services.sessions import number_of
from atlas_desktop.services.summaries import KIND as TITLE
from atlas_desktop.services.tuning import KIND as TUNE
from atlas_desktop.tui.actions import BY_ID
from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.chat.messages import MountedMessages
from atlas_desktop.tui.keymap import Keymap, how_to, shown_keys
from memory.context.entities import prompt_limit
from memory.jobs.runner import Held
from memory.kinds import MemoryMode, RoomKind
from memory.summaries.compaction import IMPROVE

if TYPE_CHECKING:
    from atlas_desktop.services.background import BackgroundService
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.chat.sessions import SessionsController

MODEL, MEMORY, ROOM = "model", "memory", "room"
"""The words of the line above the conversation that can be clicked."""
TITLE_CELLS = 30
SHORTEST_CELLS = 8

_MEMORY = {
    MemoryMode.NORMAL: N_("memory normal"),
    MemoryMode.READS: N_("memory read only"),
    MemoryMode.BLANK: N_("memory blank"),
    MemoryMode.OFF: N_("off the record"),
}
_ROOM = {
    RoomKind.OPEN: N_("open room"),
    RoomKind.PRIVATE: N_("private room"),
    RoomKind.OFF_RECORD: N_("not saved"),
}
# Unusual modes stand out by their text and colour.
_MEMORY_STYLES = {
    MemoryMode.READS: "$accent",
    MemoryMode.BLANK: "$accent",
    MemoryMode.OFF: "bold $warning",
}
_ROOM_STYLES = {RoomKind.PRIVATE: "bold $warning", RoomKind.OFF_RECORD: "bold $warning"}

_DOING = {
    TITLE: N_("naming conversations"),
    EPOCH: N_("summarising"),
    IMPROVE: N_("rewriting summaries"),
    EMBED: N_("indexing messages"),
    TUNE: N_("tuning the model"),
    PROMOTE: N_("maintaining memories"),
    COLLECT: N_("maintaining memories"),
    CONSOLIDATE: N_("maintaining memories"),
}
_WAITING = {Held.BATTERY: N_("background work paused (battery)"), Held.PAUSED: N_("background work paused")}


def work_under_way(background: "BackgroundService") -> str:
    """Returns what the background work of a room is doing or waiting for; empty if nothing."""
    if background.waiting is not None:
        return _(_WAITING[background.waiting])
    job = background.running
    return _(_DOING.get(job.kind, N_("working in the background"))) if job is not None else ""


class HeadLine(Widget):
    """The line above the conversation: the title (after a badge in the demonstration), model, memory and
    room."""

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
        self._door = False
        self._leaves = False
        self._parts: list[tuple[str, int, int]] = []
        """The words that can be clicked, with their first column and the one after their last."""

    def tell(
        self,
        *,
        title: str,
        model: str,
        memory: MemoryMode,
        room: RoomKind,
        unlocked: bool | None = None,
        demo: bool = False,
        door: bool = False,
        leaves: bool = False,
    ) -> None:
        """`unlocked`: whether the private room is open, if `room` is another one. `door`: whether other
        programs can send requests. `leaves`: whether text is sent to a model on another computer."""
        self._said, self._model = clean_line(title), clean_line(model)
        self._memory, self._room, self._unlocked = memory, room, unlocked
        self._demo = demo
        self._door = door
        self._leaves = leaves
        self.refresh()

    @dataclass
    class Pressed(Message):
        """The user clicked the name of the model, the memory mode or the room (`part`)."""

        part: str

    def on_click(self, event: events.Click) -> None:
        """Finds the word by its position, so that no title can be taken for one."""
        event.stop()
        offset = event.get_content_offset(self)
        for part, begin, end in self._parts:
            if offset is not None and begin <= offset.x < end:
                self.post_message(self.Pressed(part))

    def render(self) -> Content:
        badge = f" {_('Demo')} " if self._demo else ""
        beside = " " if badge else ""
        width = self.content_size.width - cell_len(badge + beside)
        memory, room = _(_MEMORY[self._memory]), _(_ROOM[self._room])
        private = ""
        if self._unlocked is not None:
            private = f", {(_('private unlocked') if self._unlocked else _('private locked'))}"
        door = f"{_('door open')} · " if self._door else ""
        if self._leaves:
            door = f"{_('leaves this computer')} · {door}"
        state = f"{door}{memory} · {room}{private}"
        free = width - cell_len(state) - 2
        # Shorten the name of the model first: the title tells conversations apart.
        model = _cut(self._model, free - min(cell_len(self._said), TITLE_CELLS) - 3)
        facts = f"{model} · {state}" if model else state
        title = _cut(self._said, width - cell_len(facts) - 2)
        gap = " " * (width - cell_len(title) - cell_len(facts))
        at = cell_len(badge + beside + title + gap)
        self._parts = []
        for part, text in ((MODEL, model), (MEMORY, memory), (ROOM, room + private)):
            if part == MEMORY:
                at += cell_len(door)
            if text:
                self._parts.append((part, at, at + cell_len(text)))
                at += cell_len(text) + 3
        how, where = _MEMORY_STYLES.get(self._memory, ""), _ROOM_STYLES.get(self._room, "")
        marks = Content.assemble(
            *([(door, "bold $warning")] if door else []),
            (memory, how),
            " · ",
            (room, where),
            (private, "bold $warning" if self._unlocked else ""),
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
    """Returns `text` in at most `room` cells; empty if hardly anything of it would be left."""
    if cell_len(text) <= room:
        return text
    number = number_of(text)
    room -= 1 + len(number)
    return set_cell_size(text, room).rstrip() + "…" + number if room >= SHORTEST_CELLS - 1 else ""


@dataclass(frozen=True, slots=True)
class Status:
    """What the status line shows.

    `used` and `limit` are tokens, `used` is an estimate if `estimated`; `speed` is tokens a second (0:
    unknown). `lock` says how to lock, or that nothing needs locking; it is shown if there is space.
    """

    activity: str = ""
    background: str = ""
    sync: str = ""
    used: int = 0
    limit: int = 0
    estimated: bool = False
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
        left = " · ".join(part for part in (now.activity, now.background, now.sync) if part) or _("Ready")
        facts = []
        if now.limit:
            number, share = formats().number, now.used / now.limit
            said = _(
                "context {used} of {limit} tokens ({share:.0%})",
                used=f"~{number(now.used)}" if now.estimated else number(now.used),
                limit=number(now.limit),
                share=share,
            )
            facts.append(said)
        if now.speed:
            facts.append(_("{speed:.0f} tok/s", speed=now.speed))
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
        private_unlocked: Callable[[RoomKind], bool | None],
    ) -> None:
        """`waiting` shows the queued messages."""
        self._app = app
        self._view = view
        self._head = head
        self._line = line
        self._waiting = waiting
        self._sessions = sessions
        self._private_unlocked = private_unlocked

    def refresh(self) -> None:
        """Updates all lines. Raises `RoomClosed`."""
        shown, room = self._view.current, self._view.room
        session, kind = shown.session, room.store.room
        begins = MemoryMode.OFF if kind is RoomKind.OFF_RECORD else shown.mode or MemoryMode.NORMAL
        self._head.tell(
            title=self._sessions.headline(session.title if session else _("New conversation")),
            model=self._app.model_name,
            memory=session.memory_mode if session else begins,
            room=session.room if session else kind,
            unlocked=self._private_unlocked(kind),
            demo=self._app.is_demo,
            door=self._app.door_url is not None,
            leaves=self._app.desk.leaves(kind),
        )
        self._line.tell(
            Status(
                activity=shown.activity.capitalize(),
                background=self._background,
                sync=self._app.sync_text,
                used=shown.used,
                # The size of a stored conversation is unknown until its first turn in this run.
                limit=self._limit if shown.used or session is None else 0,
                estimated=self._app.tokens_estimated,
                speed=shown.speed,
                lock=self._how_to_lock,
            )
        )
        self._waiting.set_class(bool(shown.waiting), "-some")
        self._waiting.update(_waiting_words(shown, self._app.keys))

    @property
    def _limit(self) -> int:
        """The most tokens of a prompt, as in the view of the context."""
        reply = self._app.desk.settings.chat_for(self._app.model_id, {}).max_tokens
        return prompt_limit(self._app.context_length, reply)

    @property
    def _background(self) -> str:
        if self._app.model_missing:
            return _("no model: {key} chooses one", key=how_to("models.show", self._app.keys))
        under_way = work_under_way(self._view.room.background) or self._app.background
        if not under_way and not self._view.current.busy and self._reply_broke_off:
            return _("{command} continues the reply", command=BY_ID["message.continue"].slash)
        return under_way

    @property
    def _reply_broke_off(self) -> bool:
        return MountedMessages.of(self._view.transcript).unfinished is not None

    @property
    def _how_to_lock(self) -> str:
        if self._app.is_demo:
            return _("sample conversations, gone when you quit")
        key = shown_keys("app.lock", self._app.keys)
        return _("{key} locks", key=key) if key and self._app.can_lock else ""


def _waiting_words(conversation: Conversation, keymap: Keymap) -> Content:
    """Returns the lines about queued messages."""
    waiting = conversation.waiting
    if not waiting:
        return Content("")
    first = " ".join(waiting[0].split())
    more = _(" (and {more} more)", more=len(waiting) - 1) if len(waiting) > 1 else ""
    how = (
        _("sent after this reply · Up edits it")
        if conversation.busy
        else _("Enter sends it · {key} edits it", key=how_to("chat.stop", keymap))
    )
    return Content.assemble((_("Queued"), "bold"), f"{more}: {first}\n", (how, "$quiet italic"))
