"""The memory browser: memories by kind, with their sources, and skills; accept, change, pin, forget."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static, Tab, Tabs
from textual.widgets.option_list import Option

from atlas_desktop.locale import _, ngettext, quoted
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.base import View
from atlas_desktop.tui.chat.memories import forget_words, show_receipts, told_receipt
from atlas_desktop.tui.dialogs.forms import MemoryEditScreen
from atlas_desktop.tui.dialogs.questions import ConfirmScreen
from atlas_desktop.tui.keymap import how_to, shown_keys
from atlas_desktop.tui.markdown_text import ReadingText
from atlas_desktop.tui.memories.entries import (
    FADING,
    INBOX,
    KINDS,
    PAGE,
    SKILLS,
    TABS,
    Entry,
    EntryReader,
    SkillActions,
    SkillView,
    details,
    nothing,
    row,
    tab_of,
)
from atlas_desktop.tui.notes.adding import add_to_note, choose_linking, of_memory
from atlas_desktop.tui.provenance.screen import WhyScreen
from atlas_desktop.tui.provenance.sources import Chosen, reasons_of
from atlas_desktop.tui.textual_workarounds import SparingScreen
from atlas_desktop.tui.widgets import CleanInput, KeyLine, fit
from memory.entities import Target
from memory.errors import RoomClosed
from memory.memories.entities import Memory, MemoryPatch, MemoryState
from memory.skills.entities import SkillState

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
            return entry is not None and (
                entry.message is not None or entry.summary is not None or entry.shown_in_tab is not None
            )
        case "memory_notes":
            return entry is not None and bool(entry.notes)
        case "memory_edit":
            return memory is not None or (entry is not None and entry.summary is not None)
        case "memory_details":
            return entry is not None
        case name if name in _OF_MEMORIES:
            return memory is not None
    return None


class MemoryActions:
    """Changes the memory that is `marked`; `refresh` reads the list again afterwards. It may be given the id
    of the memory to move to."""

    def __init__(
        self, app: "BaseApp", *, marked: Callable[[], Entry | None], refresh: Callable[..., None]
    ) -> None:
        self._app = app
        self._marked = marked
        self._refresh = refresh

    @property
    def _knowledge(self) -> "KnowledgeService":
        return self._app.room.knowledge

    def accept(self) -> None:
        if (memory := self._memory) is not None:
            self._change(self._knowledge.accept([memory.id]), self._undoable(_("Accepted.")))

    def reject(self) -> None:
        if (memory := self._memory) is not None:
            self._change(self._knowledge.reject([memory.id]), self._undoable(_("Rejected.")))

    def rescue(self) -> None:
        if (memory := self._memory) is not None:
            self._change(self._knowledge.rescue([memory.id]), _("Kept permanently."))

    def pin(self) -> None:
        if (memory := self._memory) is not None:
            self._change(self._knowledge.pin([memory.id], pinned=not memory.pinned))

    def accept_all(self) -> None:
        self._change(self._knowledge.accept_all(), self._undoable(_("All accepted.")))

    def undo(self) -> None:
        self._app.attempt(self._undo(), group="memory")

    async def _undo(self) -> None:
        undone = await self._knowledge.undo("last")
        self._app.say(_("Undone."))
        self._refresh(*undone.memory_ids[:1])

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
        self._app.say(await told_receipt(self._app, receipt))
        self._refresh()

    def show_receipts(self) -> None:
        self._app.attempt(show_receipts(self._app), group="memory")

    def _undoable(self, done: str) -> str:
        return f"{done} {_('{key} undoes it.', key=how_to('memories.undo', self._app.keys))}"

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
            waited = entry.memory.state is MemoryState.INBOX
            self._app.say(self._undoable(_("Changed and accepted.") if waited else _("Changed.")))
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
            f"{quoted(clean_line(memory.text))}\n\n{forever}",
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


DEBOUNCE_S = 0.15
_TALL = 32
"""Lines of a screen that has space for empty lines between the rows."""
_CURVE = 60
"""The most cells of a curve."""


class MemoryList(OptionList):
    """The rows; Left and Right switch to the neighbouring tab."""


class MemoryScreen(View, SparingScreen[Chosen | None]):
    """Dismissed with what to open, or None. Without a `tab` it starts with the first one that is not
    empty. The cursor starts at the memory `marked` (an id)."""

    CSS_PATH = "memories.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012
    where = Where.MEMORIES
    shown_by = "show_memories"
    AUTO_FOCUS = "MemoryList"
    BINDINGS = [*bindings(Where.MEMORIES), *bindings(Where.VIEWS, hidden=True)]  # noqa: RUF012

    def __init__(self, app: "BaseApp", *, tab: str = "", marked: str = "") -> None:
        super().__init__(app.size.width)
        self.atlas = app
        self._reader = EntryReader(app.room, app.now)
        self.changes = MemoryActions(app, marked=lambda: self.marked, refresh=self._memory_changed)
        self.skills = SkillActions(app, marked=lambda: self.marked_skill, refresh=self.refresh_memories)
        self._tab = tab or INBOX
        self._looks_for_tab = not tab
        self._wanted = marked
        self._limit = PAGE
        self._details_width = 0
        self._entries: list[Entry] = []
        self._counts: dict[str, int] | None = None
        self._timer: Timer | None = None
        self._list = MemoryList(id="memories", markup=False)
        # Whether an action is available depends on it, and is asked before it is mounted.
        self._search = CleanInput(
            placeholder=_("Search in all tabs · {key} closes", key=how_to("memories.back", app.keys)),
            id="search",
            select_on_focus=False,
        )

    def compose(self) -> ComposeResult:
        yield Static("", id="title", markup=False)
        yield Tabs(*[Tab(Content(name), id=key) for key, name in TABS.items()], active=self._tab)
        yield self._search
        with Container(id="columns"):
            with Container(id="left"):
                yield self._list
                yield Static("", id="none", markup=False)
            with VerticalScroll(id="details-box", can_focus=False):
                yield ReadingText(id="details")
        yield KeyLine(self._word)

    def on_mount(self) -> None:
        fit(self, self.query_one("#left"), self._refresh_tab)
        fit(self, self.query_one("#details-box"), self._show_details)

    @property
    def marked(self) -> Entry | None:
        """The entry under the cursor."""
        at = self._list.highlighted
        return None if at is None or at >= len(self._entries) else self._entries[at]

    @property
    def marked_skill(self) -> SkillView | None:
        """The skill under the cursor."""
        return None if (entry := self.marked) is None else entry.skill

    def _word(self, verb: str) -> str:
        """Returns the label of a key for the marked skill, if it differs from that of its action."""
        view = self.marked_skill
        retired = view is not None and view.skill.state is SkillState.RETIRED
        return _("Use again") if verb == "memory_retire" and retired else ""

    @property
    def _words(self) -> str:
        return self._search.value.strip()

    @property
    def _place(self) -> str:
        """The tab whose rows are shown; empty while a search goes through all of them."""
        return "" if self._words else self._tab

    # --- display ---------------------------------------------------------------------------------

    def refresh_memories(self) -> None:
        """Reads the tab again, and the number of memories in each tab."""
        self._counts = None
        self._refresh_tab()

    def _memory_changed(self, wanted: str = "") -> None:
        self._wanted = wanted
        self.skills.latest = False
        self.refresh_memories()

    def _refresh_tab(self) -> None:
        """Reads the tab; a newer request replaces one that is running."""
        if self not in self.app.screen_stack:
            # The screen was closed, and its room may be closed too.
            return
        self.atlas.attempt(self._load, group="memories", exclusive=True)

    async def _load(self) -> None:
        try:
            if words := self._words:
                found = await self._reader.found(words, self._limit)
            else:
                found = await self._reader.entries(self._tab, "", self._limit)
            counts = self._counts or await self._reader.counts()
        except RoomClosed:
            # The screen closes together with its room.
            if self in self.app.screen_stack:
                raise
            return
        self._counts = counts
        if not self.is_attached:
            return
        if self._looks_for_tab and not found and (filled := next((tab for tab in KINDS if counts[tab]), "")):
            # A user who has memories is not shown an empty inbox.
            self.query_one(Tabs).active = filled
        else:
            self._show(found, counts)
        self._looks_for_tab = False

    def _show(self, found: list[Entry], counts: dict[str, int]) -> None:
        listing, kept = self._list, self.marked
        at = listing.highlighted or 0
        self._entries = found
        # The list has no width of its own while it is empty.
        width = max(self.query_one("#left").size.width - 5, 20)
        now = self.atlas.now()
        with self.app.batch_update():
            listing.clear_options()
            # A list of options ignores padding above and below them.
            airy = not self.app.has_class("-compact") and self.size.height >= _TALL
            below = "\n" if airy else ""
            listing.add_options(
                [Option(row(entry, width, now, self._place) + below, id=entry.id) for entry in found]
            )
            listing.display = bool(found)
            ids = [entry.id for entry in found]
            if found:
                same = ids.index(kept.id) if kept is not None and kept.id in ids else at
                if self._wanted in ids:
                    same, self._wanted = ids.index(self._wanted), ""
                listing.highlighted = min(same, len(found) - 1)
                if self.focused is None:
                    # An empty tab hides the list, which then loses the focus.
                    listing.focus()
            empty = self.query_one("#none", Static)
            empty.display = not found
            empty.update(Content(nothing(self._words, self._tab, self.atlas.keys)))
            # The box keeps its space, so that the rows have their width when there are some again.
            self.query_one("#details-box").set_class(not found, "-empty")
            for key in (INBOX, SKILLS, FADING):
                label = f"{TABS[key]} {counts[key]}" if counts[key] else TABS[key]
                self.query_one(f"#{key}", Tab).label = Content(label)
        # No tab is marked while the rows are those of all.
        self.query_one(Tabs).set_class(bool(self._words), "-all")
        self.query_one("#title", Static).update(
            Content(
                ngettext(
                    "What Atlas remembers · {count} memory",
                    "What Atlas remembers · {count} memories",
                    counts["all"],
                )
                + self._tab_keys
            )
        )
        self._show_details()
        self.refresh_bindings()

    @property
    def _tab_keys(self) -> str:
        """The keys that switch tabs, where not all of them fit."""
        before, after = (shown_keys(f"memories.{one}", self.atlas.keys) for one in ("previous", "next"))
        hidden = self.query_one(Tabs).query_one("#tabs-scroll").max_scroll_x > 0
        return (
            f" · {_('{before} and {after}: more tabs', before=before, after=after)}"
            if hidden and before and after
            else ""
        )

    def _show_details(self) -> None:
        entry = self.marked
        box = self.query_one("#details-box", VerticalScroll)
        # While it is hidden, it has no size.
        width = min((box.size.width or self._details_width) - 1, _CURVE)
        self._details_width = width + 1
        told = Content("") if entry is None else details(entry, self.atlas.now(), width)
        self.query_one("#details", ReadingText).show(told)
        box.scroll_home(animate=False)

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        self._tab = event.tab.id or INBOX
        self._looks_for_tab = self._looks_for_tab and self._tab == INBOX
        self._limit = PAGE
        # Something may have been learned since the last count.
        self._counts = None
        self._list.highlighted = None
        self._refresh_tab()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self._show_details()
        self.refresh_bindings()
        if event.option_index == len(self._entries) - 1 and len(self._entries) >= self._limit:
            self._limit += PAGE
            self._refresh_tab()

    def on_option_list_option_selected(self) -> None:
        self.action_memory_open()

    # --- search and navigation -------------------------------------------------------------------

    def action_memory_search(self) -> None:
        field = self.query_one("#search", Input)
        field.add_class("-shown")
        field.focus()

    def on_input_changed(self, _event: Input.Changed) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DEBOUNCE_S, self._refresh_tab)

    def on_input_submitted(self, _event: Input.Submitted) -> None:
        self._list.focus()

    def back(self) -> None:
        self.action_memory_back()

    def action_memory_back(self) -> None:
        """Ends the search, then closes the screen."""
        field = self.query_one("#search", Input)
        if field.has_class("-shown"):
            field.remove_class("-shown")
            field.value = ""
            self._list.focus()
        else:
            self.dismiss(None)

    def action_memory_tab(self, step: int) -> None:
        keys = list(TABS)
        self.query_one(Tabs).active = keys[(keys.index(self._tab) + step) % len(keys)]

    def action_memory_next(self) -> None:
        self.action_memory_tab(1)

    def action_memory_previous(self) -> None:
        self.action_memory_tab(-1)

    def action_memory_open(self) -> None:
        if (entry := self.marked) is None:
            return
        if entry.skill is not None and entry.skill.message is not None:
            message = entry.skill.message
            self.dismiss(Chosen(message.session_id, message.id))
        elif entry.message is not None:
            self.dismiss(Chosen(entry.message.session_id, entry.message.id))
        elif entry.summary is not None:
            self.dismiss(Chosen(entry.summary.session_id, None))
        elif (memory := entry.shown_in_tab) is not None:
            self._wanted = memory.id
            self.query_one(Tabs).active = tab_of(memory)

    def action_memory_details(self) -> None:
        """Enlarges the details, or returns them to their usual size."""
        self.toggle_class("-reading")
        box = self.query_one("#details-box", VerticalScroll)
        box.can_focus = self.has_class("-reading")
        if not box.can_focus:
            self._list.focus()
        self.call_after_refresh(self._list.scroll_to_highlight)

    def action_memory_why(self) -> None:
        """Shows where a memory comes from, where it was used, and related memories."""
        if (entry := self.marked) is not None and entry.memory is not None:
            self.atlas.attempt(self._why(entry.memory.id), group="why", exclusive=True)

    async def _why(self, memory_id: str) -> None:
        reasons = await reasons_of(self.atlas.room, memory_id, self.atlas.now())
        if self.app.screen is self:
            self.app.push_screen(WhyScreen(self.atlas, reasons), self._why_left)

    def _why_left(self, chosen: Chosen | None) -> None:
        if chosen is not None:
            self.dismiss(chosen)

    # --- notes -----------------------------------------------------------------------------------

    def action_memory_note(self) -> None:
        """Makes a note of the memory, or adds it to one."""
        if (entry := self.marked) is not None and entry.memory is not None:
            self.atlas.attempt(partial(self._add_to_note, entry.memory), group="memory")

    async def _add_to_note(self, memory: Memory) -> None:
        if await add_to_note(self.atlas, self.atlas.room, of_memory(memory)) is not None:
            self._refresh_tab()

    def action_memory_notes(self) -> None:
        """Opens a note that links to the memory."""
        if (entry := self.marked) is not None and entry.memory is not None:
            self.atlas.attempt(partial(self._show_note, entry.memory.id), group="memory")

    async def _show_note(self, memory_id: str) -> None:
        room, chat = self.atlas.room, self.atlas.chat
        chosen = await choose_linking(self.atlas, room, memory_id)
        if chosen is not None and chat is not None:
            self.dismiss(None)
            chat.show_note(room.store.room, chosen)

    # --- changes ---------------------------------------------------------------------------------

    def action_memory_accept(self) -> None:
        if self.marked_skill is None:
            self.changes.accept()
        else:
            self.skills.approve()

    def action_memory_reject(self) -> None:
        if self.marked_skill is None:
            self.changes.reject()
        else:
            self.skills.reject()

    def action_memory_new_skill(self) -> None:
        self.skills.new()

    def action_memory_roll_back(self) -> None:
        self.skills.roll_back()

    def action_memory_retire(self) -> None:
        self.skills.retire()

    def action_memory_rescue(self) -> None:
        self.changes.rescue()

    def action_memory_pin(self) -> None:
        self.changes.pin()

    def action_memory_accept_all(self) -> None:
        self.changes.accept_all()

    def action_memory_undo(self) -> None:
        if self.skills.latest:
            self.skills.undo()
        else:
            self.changes.undo()

    def action_memory_edit(self) -> None:
        if self.marked_skill is None:
            self.changes.edit()
        else:
            self.skills.edit()

    def action_memory_forget(self) -> None:
        if self.marked_skill is None:
            self.changes.forget()
        else:
            self.skills.remove()

    def action_memory_forget_words(self) -> None:
        self.changes.forget_words()

    def action_memory_receipts(self) -> None:
        self.changes.show_receipts()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "memory_search":
            return not isinstance(self.focused, Input)
        can = allowed(action, self._place, self.marked)
        return super().check_action(action, parameters) if can is None else can
