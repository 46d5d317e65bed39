"""Changes memories in the memory browser, and says which change makes sense."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.dialogs.forms import MemoryEditScreen
from atlas_desktop.tui.dialogs.messages import ConfirmScreen
from atlas_desktop.tui.memories.entries import FADING, INBOX, Entry
from atlas_desktop.words.catalogue import tr
from memory.forgetting import Target
from memory.memories.entities import Memory, MemoryPatch, MemoryState

if TYPE_CHECKING:
    from atlas_desktop.services.memories import KnowledgeService
    from atlas_desktop.tui.base import BaseApp

_OF_MEMORIES = frozenset({"memory_edit", "memory_pin", "memory_reject", "memory_forget", "memory_why"})

_LEFT = tr("memory.left")


def allowed(action: str, tab: str, entry: Entry | None) -> bool | None:
    """Whether an action makes sense now; None for actions that are not about memories."""
    memory = None if entry is None else entry.memory
    match action:
        case "memory_accept":
            return memory is not None and memory.state is MemoryState.INBOX
        case "memory_accept_all":
            return tab == INBOX and memory is not None
        case "memory_rescue":
            return tab == FADING and memory is not None
        case "memory_open":
            return entry is not None and (entry.message is not None or entry.summary is not None)
        case "memory_edit":
            return entry is not None
        case name if name in _OF_MEMORIES:
            return memory is not None
    return None


class MemoryActions:
    """Changes the memory that is `marked`; `refresh` reads the list again afterwards."""

    def __init__(
        self, app: "BaseApp", *, marked: Callable[[], Entry | None], refresh: Callable[[], None]
    ) -> None:
        self._app = app
        self._marked = marked
        self._refresh = refresh

    @property
    def _knowledge(self) -> "KnowledgeService":
        return self._app.room.knowledge

    def accept(self) -> None:
        if (memory := self._memory) is not None:
            self._change(self._knowledge.accept([memory.id]))

    def reject(self) -> None:
        if (memory := self._memory) is not None:
            self._change(self._knowledge.reject([memory.id]), tr("memory.rejected"))

    def rescue(self) -> None:
        if (memory := self._memory) is not None:
            self._change(self._knowledge.rescue([memory.id]), tr("memory.rescued"))

    def pin(self) -> None:
        if (memory := self._memory) is not None:
            self._change(self._knowledge.pin([memory.id], pinned=not memory.pinned))

    def accept_all(self) -> None:
        self._change(self._knowledge.accept_all(), tr("memory.all_kept"))

    def undo(self) -> None:
        self._change(self._knowledge.undo("last"), tr("memory.taken_back"))

    def edit(self) -> None:
        if (entry := self._marked()) is not None:
            self._app.attempt(self._edit(entry), group="memory")

    def forget(self) -> None:
        if (memory := self._memory) is not None:
            self._app.attempt(self.forget_one(memory), group="memory")

    @property
    def _memory(self) -> Memory | None:
        entry = self._marked()
        return None if entry is None else entry.memory

    def _change(self, work: Awaitable[object], done: str = "") -> None:
        self._app.attempt(self._changed(work, done), group="memory")

    async def _changed(self, work: Awaitable[object], done: str) -> None:
        await work
        if done:
            self._app.say(done)
        self._refresh()

    async def _edit(self, entry: Entry) -> None:
        title = tr("memory.memory") if entry.memory is not None else tr("memory.summary")
        text = await self._app.push_screen_wait(MemoryEditScreen(title, entry.text))
        if text is None:
            return
        if entry.memory is not None:
            await self._knowledge.edit(entry.id, MemoryPatch(text=text))
        else:
            await self._app.room.sessions.edit_summary(entry.id, text)
        self._refresh()

    async def forget_one(self, memory: Memory) -> None:
        forgetting, target = self._app.room.forgetting, Target(ids=(memory.id,))
        affected = await forgetting.preview(target)
        said = bool(await self._app.room.store.memories.sources(memory.id))
        forever = tr("memory.forever")
        if said:
            forever = tr("memory.forever_stays", forever=forever)
        asked = ConfirmScreen(
            tr("memory.forget_title"),
            f"“{clean_line(memory.text)}”\n\n{forever}",
            agree=tr("memory.forget"),
            refuse=tr("memory.keep"),
        )
        if await self._app.push_screen_wait(asked):
            receipt = await forgetting.forget(target, previewed=affected)
            done = tr("memory.forgotten_stays" if said else "memory.forgotten")
            self._app.say(done if receipt.verified else _LEFT)
            self._refresh()
