"""Changes memories in the memory browser, and decides which changes are available."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.phrases.forgetting import receipt_text
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.dialogs.forms import MemoryEditScreen
from atlas_desktop.tui.dialogs.messages import ConfirmScreen
from atlas_desktop.tui.forgetting import forget_words, show_receipts
from atlas_desktop.tui.memories.entries import FADING, INBOX, SKILLS, Entry
from atlas_desktop.tui.memories.skills import SkillView
from memory.entities import Target
from memory.memories.entities import Memory, MemoryPatch, MemoryState

if TYPE_CHECKING:
    from atlas_desktop.services.memories import KnowledgeService
    from atlas_desktop.tui.base import BaseApp

_OF_MEMORIES = frozenset(
    {"memory_edit", "memory_pin", "memory_reject", "memory_forget", "memory_why", "memory_note"}
)

_OF_SKILLS: dict[str, Callable[[SkillView], bool]] = {
    "memory_accept": lambda view: view.waits,
    "memory_reject": lambda view: view.waits,
    "memory_edit": lambda _view: True,
    "memory_forget": lambda view: not view.waits,
    "memory_open": lambda view: view.message is not None,
    "memory_roll_back": lambda view: (
        not view.waits and sum(one.approved_at is not None for one in view.versions) > 1
    ),
    "memory_retire": lambda view: not view.waits,
}

_LEFT = _("Forgotten, but traces may remain. Run `atlas vault verify` to check.")


def allowed(action: str, tab: str, entry: Entry | None) -> bool | None:
    """Whether an action is available now; None for actions that are not about memories."""
    memory = None if entry is None else entry.memory
    if entry is not None and entry.skill is not None and action in _OF_SKILLS:
        return _OF_SKILLS[action](entry.skill)
    match action:
        case "memory_new_skill":
            return tab == SKILLS
        case "memory_roll_back" | "memory_retire":
            return False
        case "memory_accept":
            return memory is not None and memory.state is MemoryState.INBOX
        case "memory_accept_all":
            return tab == INBOX and memory is not None
        case "memory_rescue":
            return tab == FADING and memory is not None
        case "memory_open":
            return entry is not None and (entry.message is not None or entry.summary is not None)
        case "memory_notes":
            return entry is not None and bool(entry.notes)
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
            self._change(self._knowledge.reject([memory.id]), _("Rejected. Press U to undo."))

    def rescue(self) -> None:
        if (memory := self._memory) is not None:
            self._change(self._knowledge.rescue([memory.id]), _("Kept permanently."))

    def pin(self) -> None:
        if (memory := self._memory) is not None:
            self._change(self._knowledge.pin([memory.id], pinned=not memory.pinned))

    def accept_all(self) -> None:
        self._change(self._knowledge.accept_all(), _("All accepted. Press U to undo."))

    def undo(self) -> None:
        self._change(self._knowledge.undo("last"), _("Undone."))

    def edit(self) -> None:
        if (entry := self._marked()) is not None:
            self._app.attempt(self._edit(entry), group="memory")

    def forget(self) -> None:
        if (memory := self._memory) is not None:
            self._app.attempt(self.forget_one(memory), group="memory")

    def forget_words(self) -> None:
        """Asks for words and forgets everything that has them, in all open rooms."""
        if self._app.replying:
            self._app.say_stop_first()
        else:
            self._app.attempt(self._forget_words(), group="memory")

    async def _forget_words(self) -> None:
        done = await forget_words(self._app)
        if done is None:
            return
        plan, receipt = done
        if self._app.chat is not None:
            gone = [one.id for one in plan.affected.sessions]
            await self._app.chat.sessions_changed([*gone, *plan.affected.touched], content=True)
        self._app.say(receipt_text(receipt))
        self._refresh()

    def show_receipts(self) -> None:
        self._app.attempt(show_receipts(self._app), group="memory")

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
        title = _("Memory") if entry.memory is not None else _("Summary")
        window = MemoryEditScreen(title, entry.text, enter_saves=entry.memory is not None)
        text = await self._app.push_screen_wait(window)
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
        forever = _(
            "It will be erased with its versions and usage records, and from all past prompts. This "
            "cannot be undone."
        )
        if said:
            forever = _("{forever} The conversation it came from stays.", forever=forever)
        asked = ConfirmScreen(
            _("Forget permanently?"),
            f"“{clean_line(memory.text)}”\n\n{forever}",
            agree=_("Forget"),
            refuse=_("Keep"),
        )
        if await self._app.push_screen_wait(asked):
            receipt = await forgetting.forget(target, previewed=affected)
            done = (
                _("Forgotten. The conversation it came from stays.")
                if said
                else _("Forgotten. Nothing is left of it.")
            )
            self._app.say(done if receipt.verified else _LEFT)
            self._refresh()
