"""The lines around the conversation: what it is, how it stands, what can be undone."""

from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.widget import Widget

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.sessions import number_of
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.formats import formats
from memory.kinds import MemoryMode, RoomKind

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
# What is not as usual stands out, in words and in colour.
_MEMORY_STYLES = {
    MemoryMode.READS: "$accent",
    MemoryMode.BLANK: "$accent",
    MemoryMode.OFF: "bold $warning",
}
_ROOM_STYLES = {RoomKind.PRIVATE: "bold $warning", RoomKind.OFF_RECORD: "bold $warning"}


class HeadLine(Widget):
    """Title on the left, before it whether all of it is a demonstration; model, memory mode and room in words
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
        # The model's name gives way first: the title tells conversations apart.
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
class Standing:
    """What the status line tells. `used` and `limit` are tokens; `speed` is tokens a second, 0 unknown.
    `lock` says how to lock, or that there is nothing to, where there is room for it."""

    doing: str = ""
    background: str = ""
    used: int = 0
    limit: int = 0
    speed: float = 0.0
    lock: str = ""


class StatusLine(Widget):
    """What is going on on the left; context and speed on the right."""

    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 2; color: $quiet; text-wrap: nowrap; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._standing = Standing()

    def tell(self, standing: Standing) -> None:
        if standing != self._standing:
            self._standing = standing
            self.refresh()

    def render(self) -> Content:
        now = self._standing
        left = " · ".join(part for part in (now.doing or tr("chat.ready"), now.background) if part)
        facts = []
        if now.limit:
            number, share = formats().number, now.used / now.limit
            said = tr("chat.context_used", used=number(now.used), limit=number(now.limit), share=share)
            facts.append(said)
        if now.speed:
            facts.append(tr("chat.speed", speed=now.speed))
        width = self.content_size.width
        # Where there is no room for all of it, what is last gives way.
        facts = [*facts, now.lock] if now.lock else facts
        while len(facts) > 1 and cell_len(left) + 2 + cell_len(" · ".join(facts)) > width:
            facts = facts[:-1]
        right = " · ".join(facts)
        gap = " " * max(2, width - cell_len(left) - cell_len(right))
        return Content.assemble((left, "$foreground" if now.doing else "$quiet"), gap, right)
