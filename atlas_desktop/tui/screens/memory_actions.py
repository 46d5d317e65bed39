"""The part of the memory browser that changes what is remembered."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from textual.dom import DOMNode

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.widgets.memory_rows import FADING, INBOX, Entry
from atlas_desktop.words.catalogue import tr
from memory.memories.entities import Memory, MemoryPatch, MemoryState

if TYPE_CHECKING:
    from atlas_desktop.services.memories import KnowledgeService
    from atlas_desktop.tui.app import AtlasApp

_OF_MEMORIES = frozenset({"memory_edit", "memory_pin", "memory_reject", "memory_forget", "memory_why"})

_LEFT = tr("memory.left")


class MemoryActions(DOMNode):
    """Mixed into the memory browser."""

    atlas: "AtlasApp"

    if TYPE_CHECKING:

        @property
        def marked(self) -> Entry | None: ...

        def refresh_memories(self) -> None: ...

    @property
    def _knowledge(self) -> "KnowledgeService":
        return self.atlas.room.knowledge

    def allowed(self, action: str, tab: str, entry: Entry | None) -> bool | None:
        """Whether an action makes sense now; None for those that are not about memories."""
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

    def action_memory_accept(self) -> None:
        if (memory := self._memory) is not None:
            self._change(self._knowledge.accept([memory.id]))

    def action_memory_reject(self) -> None:
        if (memory := self._memory) is not None:
            self._change(self._knowledge.reject([memory.id]), tr("memory.rejected"))

    def action_memory_rescue(self) -> None:
        if (memory := self._memory) is not None:
            self._change(self._knowledge.rescue([memory.id]), tr("memory.rescued"))

    def action_memory_pin(self) -> None:
        if (memory := self._memory) is not None:
            self._change(self._knowledge.pin([memory.id], pinned=not memory.pinned))

    def action_memory_accept_all(self) -> None:
        self._change(self._knowledge.accept_all(), tr("memory.all_kept"))

    def action_memory_undo(self) -> None:
        self._change(self._knowledge.undo("last"), tr("memory.taken_back"))

    def action_memory_edit(self) -> None:
        if (entry := self.marked) is not None:
            self.atlas.attempt(self._edit(entry), group="memory")

    def action_memory_forget(self) -> None:
        if (memory := self._memory) is not None:
            self.atlas.attempt(self._forget(memory), group="memory")

    @property
    def _memory(self) -> Memory | None:
        return None if self.marked is None else self.marked.memory

    def _change(self, work: Awaitable[object], done: str = "") -> None:
        self.atlas.attempt(self._changed(work, done), group="memory")

    async def _changed(self, work: Awaitable[object], done: str) -> None:
        await work
        if done:
            self.atlas.say(done)
        self.refresh_memories()

    async def _edit(self, entry: Entry) -> None:
        from atlas_desktop.tui.screens.memory_edit import MemoryEditScreen

        title = tr("memory.memory") if entry.memory is not None else tr("memory.summary")
        text = await self.atlas.push_screen_wait(MemoryEditScreen(title, entry.text))
        if text is None:
            return
        if entry.memory is not None:
            await self._knowledge.edit(entry.id, MemoryPatch(text=text))
        else:
            await self.atlas.room.sessions.edit_summary(entry.id, text)
        self.refresh_memories()

    async def _forget(self, memory: Memory) -> None:
        from atlas_desktop.tui.screens.confirm import ConfirmScreen
        from memory.forgetting import Target

        forgetting, target = self.atlas.room.forgetting, Target(ids=(memory.id,))
        affected = await forgetting.preview(target)
        said = bool(await self.atlas.room.store.memories.sources(memory.id))
        forever = tr("memory.forever")
        if said:
            forever = tr("memory.forever_stays", forever=forever)
        asked = ConfirmScreen(
            tr("memory.forget_title"),
            f"“{clean_line(memory.text)}”\n\n{forever}",
            agree=tr("memory.forget"),
            refuse=tr("memory.keep"),
        )
        if await self.atlas.push_screen_wait(asked):
            receipt = await forgetting.forget(target, previewed=affected)
            done = tr("memory.forgotten_stays" if said else "memory.forgotten")
            self.atlas.say(done if receipt.verified else _LEFT)
            self.refresh_memories()
