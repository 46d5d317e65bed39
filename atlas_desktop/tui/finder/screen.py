"""The window of the finder: a field, the results by kind, and a preview of one."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.style import Style
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option
from textual.worker import Worker, WorkerCancelled, WorkerFailed

from atlas_desktop.error_table import task_state_text, unclear
from atlas_desktop.locale import N_, _
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.finder import Finder, FindKind, Found, task_text
from atlas_desktop.tui.actions import Action
from atlas_desktop.tui.calendar import long, short
from atlas_desktop.tui.help import fitness
from atlas_desktop.tui.history.rows import around, document_preview, marked, preview, room_word
from atlas_desktop.tui.keymap import shown_keys
from atlas_desktop.tui.markdown_text import ReadingText, Text, markdown_text
from atlas_desktop.tui.memories.entries import KIND_TEXTS
from atlas_desktop.tui.provenance.sources import STATE_TEXTS
from atlas_desktop.tui.settings.screen import Row as Setting
from atlas_desktop.tui.settings.screen import details, matching
from atlas_desktop.tui.settings.screen import rows as settings_rows
from atlas_desktop.tui.widgets import CleanInput, Window, fit
from memory.documents.entities import DocumentKind, DocumentMatch
from memory.errors import (
    DocumentNotFound,
    MessageNotFound,
    NoteNotFound,
    QueryUnclear,
    RoomClosed,
    SavedSearchNotFound,
    SessionNotFound,
)
from memory.memories.entities import Memory
from memory.search.entities import SessionHit, Snippet
from memory.skills.entities import Skill, SkillState
from memory.tasks.entities import Task

if TYPE_CHECKING:
    from atlas_desktop.services.desk import AppContext
    from atlas_desktop.tui.base import BaseApp


ALL, SETTING, COMMAND = "all", "setting", "command"
KINDS = {
    ALL: _("All"),
    FindKind.CONVERSATION: _("Conversations"),
    FindKind.MEMORY: _("Memories"),
    FindKind.NOTE: _("Notes"),
    FindKind.DOCUMENT: _("Documents"),
    FindKind.SKILL: _("Skills"),
    FindKind.TASK: _("Tasks"),
    SETTING: _("Settings"),
    COMMAND: _("Commands"),
}
"""The kinds in the order in which they are shown, and their names."""
_SIGNS = {
    FindKind.CONVERSATION: "≡",
    FindKind.MEMORY: "◆",
    FindKind.NOTE: "✎",
    FindKind.DOCUMENT: "▤",
    FindKind.SKILL: "✦",
    FindKind.TASK: "▸",
    SETTING: "⚙",
    COMMAND: "›",
}
_SKILL_STATES = {
    SkillState.DRAFT: N_("draft"),
    SkillState.APPROVED: N_("approved"),
    SkillState.RETIRED: N_("retired"),
}
_FOUND = "bold underline"
_LEAST_ABOUT = 12
_LONGEST = 3000

Thing: TypeAlias = Found | Setting | Action


@dataclass(frozen=True, slots=True)
class Row:
    """One result. `id` is unique among all rows."""

    id: str
    kind: str
    thing: Thing


def rows_of(kind: str, things: Sequence[Thing]) -> list[Row]:
    return [Row(f"{kind} {_id(one)}", kind, one) for one in things]


def _id(thing: Thing) -> str:
    match thing:
        case SessionHit():
            return thing.session.id
        case DocumentMatch():
            return thing.document.id
        case Setting():
            return thing.key
        case _:
            return thing.id


def settings_of(found: Sequence[Setting], words: str) -> list[Setting]:
    """Returns the settings that have every word, those with all of them in their name first; without words,
    all."""
    folded = words.casefold().split()

    def elsewhere(row: Setting) -> bool:
        return not all(word in row.name.casefold() for word in folded)

    return sorted(matching([row for row in found if row.action is None], words), key=elsewhere)


def commands_of(actions: Sequence[Action], words: str) -> list[Action]:
    """Returns the actions that have every word, the best first; without words, all."""
    folded = words.casefold().split()
    if not folded:
        return list(actions)
    scored = [(fitness(one, folded), one) for one in actions]
    return [one for score, one in sorted(scored, key=lambda pair: -pair[0]) if score > 0]


# --- a line of the list ------------------------------------------------------------------------------


def line_of(row: Row, width: int, now: datetime, keys: Mapping[str, str]) -> Content:
    """Returns the sign of the kind, the title, what was found there, and a fact at the right, in one line."""
    thing = row.thing
    title, about, fact, room = _parts(thing, now, keys)
    sign = f"{_SIGNS[row.kind]} "
    free = width - cell_len(sign) - cell_len(room) - cell_len(fact) - 1
    shown = marked(title, max(free, _LEAST_ABOUT), f"{_FOUND} $accent")
    left = free - shown.cell_length - 2
    beside = Content("")
    if about is not None and left >= _LEAST_ABOUT:
        beside = Content.assemble("  ", marked(about, left, f"{_FOUND} $accent").stylize_before("$quiet"))
    gap = " " * max(free - shown.cell_length - beside.cell_length + 1, 1)
    return Content.assemble(
        (sign, "$primary"),
        (room, "bold $warning"),
        shown.stylize_before("bold"),
        beside,
        gap,
        (fact, "$quiet"),
    )


def _parts(thing: Thing, now: datetime, keys: Mapping[str, str]) -> tuple[Snippet, Snippet | None, str, str]:
    """Returns the title, the text next to it, the fact at the right, and the word for the room."""
    match thing:
        case SessionHit():
            title = thing.title if clean_line(thing.title.text) else Snippet(_("Untitled"))
            return title, thing.snippet, short(thing.session.updated_at, now), room_word(thing.session.room)
        case DocumentMatch():
            title = thing.title if clean_line(thing.title.text) else Snippet(_("Untitled"))
            return title, thing.snippet, short(thing.dated, now), room_word(thing.room)
        case Memory():
            return Snippet(clean_line(thing.text)), None, _(KIND_TEXTS[thing.kind]), ""
        case Skill():
            about = Snippet(clean_line(thing.description))
            return Snippet(thing.name), about, _(_SKILL_STATES[thing.state]), ""
        case Task():
            return Snippet(clean_line(thing.brief)), None, task_state_text(thing.state), ""
        case Setting():
            return Snippet(thing.name), Snippet(clean_line(thing.about)), thing.shown, ""
        case Action():
            own = shown_keys(thing.id, keys) or thing.slash
            return Snippet(thing.name), Snippet(clean_line(thing.help)), own, ""


# --- the preview -------------------------------------------------------------------------------------


async def preview_of(row: Row, desk: "AppContext", now: datetime) -> Text:
    """Returns the preview of a result. Raises what the store raises."""
    match row.thing:
        case SessionHit() as hit:
            return partial(preview, hit, await around(desk.at(hit.session.room).branches, hit), now)
        case DocumentMatch() as hit:
            shown = document_preview(hit, now)
            if hit.kind is DocumentKind.NOTE and hit.chunk is None:
                note = await desk.at(hit.room).notes.get(hit.document.id)
                shown = Content.assemble(shown, "\n\n", markdown_text(note.text[:_LONGEST]))
            return shown
        case Memory() as memory:
            facts = [_(KIND_TEXTS[memory.kind]), _(STATE_TEXTS[memory.state]), long(memory.created_at, now)]
            facts += [_("project {name}", name=clean_line(memory.project))] if memory.project else []
            return Content.assemble(clean(memory.text), "\n\n", (" · ".join(facts), "$quiet"))
        case Skill() as skill:
            return Content.assemble(
                (skill.name, "bold"),
                "\n",
                (clean_line(skill.description), "$quiet"),
                "\n\n",
                markdown_text(skill.body[:_LONGEST]),
            )
        case Task() as task:
            status = f"{task_state_text(task.state)} · {long(task.created_at, now)}"
            return Content.assemble(markdown_text(task_text(task)[:_LONGEST]), "\n\n", (status, "$quiet"))
        case Setting() as setting:
            return Content.assemble((setting.name, "bold"), "  ", setting.shown, "\n\n", details(setting))
        case Action() as action:
            return Content.assemble((action.name, "bold"), "\n\n", action.help)


def lines_of(
    sections: Mapping[str, Sequence[Row]], more: Mapping[str, bool], only: str
) -> Iterator[Row | tuple[str, bool]]:
    """Yields the rows, those of each kind below a heading: the kind and whether there is more of it."""
    for kind in KINDS:
        if found := sections.get(kind):
            if only == ALL:
                yield kind, more.get(kind, False)
            yield from found


OF_EACH, OF_ONE = 5, 100
"""Results of each kind, and of the only kind that is shown."""
_MEANT_S = 0.25
"""How long a question must be unchanged before it is searched by meaning."""
_PREVIEW_S = 0.03
_COMMANDS = ">"
"""Typed first, it shows only commands."""


class FinderScreen(Window[Row | None]):
    """Dismissed with what to open, or None. `actions` are those that can be done on the screen below."""

    DEFAULT_CSS = """
    FinderScreen {
        .box { width: 130; height: 90%; padding: 0 1; }
        #kinds { height: auto; padding: 0 1; }
        #fault { height: auto; padding: 0 1; color: $warning; display: none; }
        #results { layout: horizontal; height: 1fr; margin-top: 1; }
        OptionList {
            width: 3fr; height: 1fr; border: none; padding: 0; background: $surface;
            scrollbar-size-vertical: 1; text-wrap: nowrap;
            & > .option-list--option { padding: 0 1; }
            & > .option-list--option-disabled { color: $quiet; }
        }
        #none { width: 3fr; padding: 0 1; color: $quiet; display: none; }
        #preview-box {
            width: 2fr; height: 1fr; padding: 0 1; border-left: vkey $border-blurred;
            overflow-x: auto; scrollbar-size: 1 1;
        }
        &.-narrow {
            #results { layout: vertical; }
            OptionList { width: 1fr; }
            #none { width: 1fr; }
            #preview-box {
                width: 1fr; height: 6; border-left: none; border-top: hkey $border-blurred;
            }
        }
    }
    """
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012
    AUTO_FOCUS = "#find"
    # With priority: what is typed right after a key already belongs to the row that it leads to.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+k", "close", show=False, priority=True),
        Binding("up", "move('cursor_up')", show=False, priority=True),
        Binding("down", "move('cursor_down')", show=False, priority=True),
        Binding("pageup", "move('page_up')", show=False, priority=True),
        Binding("pagedown", "move('page_down')", show=False, priority=True),
        Binding("tab", "next_kind(1)", show=False, priority=True),
        Binding("shift+tab", "next_kind(-1)", show=False, priority=True),
    ]

    def __init__(self, app: "BaseApp", actions: Sequence[Action], words: str = "") -> None:
        super().__init__()
        self.atlas = app
        self._actions = list(actions)
        self.field = CleanInput(
            words,
            placeholder=_("Words, or conditions such as tag:work; > for commands, ~ by meaning"),
            id="find",
            select_on_focus=False,
        )
        self._finder = Finder(app.desk, lambda: app.room)
        self._only = ALL
        self._sections: dict[str, list[Row]] = {}
        self._more: dict[str, bool] = {}
        self._listed: list[Row | None] = []
        """The rows of the list, None for a heading."""
        self._worker: Worker[None] | None = None
        self.searching = False
        self.answered = ""
        """The text for which the first results, or none at all, have been shown."""
        self.finished = ""
        """The text for which everything has been shown."""
        self._list = OptionList(markup=False)
        self._list.can_focus = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="box") as box:
            box.border_title = _("Find anything")
            box.border_subtitle = _("Enter opens · Tab changes the kind · Esc closes")
            yield self.field
            yield Static("", id="kinds", markup=False)
            yield Static("", id="fault", markup=False)
            with Container(id="results"):
                yield self._list
                yield Static(_("No matches."), id="none", markup=False)
                with VerticalScroll(id="preview-box", can_focus=False):
                    yield ReadingText(id="preview")

    def on_mount(self) -> None:
        fit(self, self._list, self._fit)
        self._seek()

    @property
    def marked(self) -> Row | None:
        """The result under the cursor."""
        at = self._list.highlighted
        return None if at is None or at >= len(self._listed) else self._listed[at]

    # --- search ------------------------------------------------------------------------------------------

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._seek()

    def _seek(self) -> None:
        """Searches for what is typed; cancels a running search."""
        self._worker = self.atlas.attempt(
            partial(self._search, self.field.value), group="finder", exclusive=True
        )

    async def _search(self, typed: str) -> None:
        """Searches one kind after the other; its results replace the earlier ones of that kind."""
        self.searching = True
        only, text = self._only, typed.strip()
        if text.startswith(_COMMANDS):
            only, text = COMMAND, text.removeprefix(_COMMANDS).strip()
        limit = OF_EACH if only == ALL else OF_ONE
        kinds = [kind for kind in FindKind if only in (ALL, kind)]
        if text.startswith("~"):
            await asyncio.sleep(_MEANT_S)
        try:
            found = self._finder.find(text, kinds, limit=limit) if kinds else None
            shown = set[str]()
            if found is not None:
                async for one in found:
                    shown.add(one.kind)
                    self._put(one.kind, rows_of(one.kind, one.found), more=one.more)
                    self.answered = typed if one.found else self.answered
        except QueryUnclear as fault:
            # Keep the earlier results: the text may be half typed.
            self._explain(unclear(fault))
            return
        except SavedSearchNotFound:
            self._explain(_("No saved search has that name."))
            return
        except RoomClosed:
            # The window closes together with the room.
            return
        self._explain("")
        if (text or only == SETTING) and only in (ALL, SETTING):
            settings = settings_of(settings_rows(self.atlas.desk.settings_file), text)
            shown.add(SETTING)
            self._put(SETTING, rows_of(SETTING, settings[:limit]), more=len(settings) > limit)
        if (text or only == COMMAND) and only in (ALL, COMMAND):
            commands = commands_of(self._actions, text)
            shown.add(COMMAND)
            self._put(COMMAND, rows_of(COMMAND, commands[:limit]), more=len(commands) > limit)
        for kind in set(self._sections) - shown:
            del self._sections[kind]
        self.searching = False
        self.answered = self.finished = typed
        self._draw()

    def _put(self, kind: str, rows: list[Row], *, more: bool) -> None:
        self._sections[kind], self._more[kind] = rows, more
        self._draw()

    def _explain(self, text: str) -> None:
        if self.is_attached:
            fault = self.query_one("#fault", Static)
            fault.display = bool(text)
            fault.update(Content(text))

    def _fit(self) -> None:
        self._tell_kinds()
        self._draw()

    # --- display -----------------------------------------------------------------------------------------

    def _draw(self) -> None:
        """Shows what was found; the cursor stays on its row, or goes to the first one."""
        if not self.is_attached or not self._list.is_attached:
            return
        kept, at_first = self.marked, self._list.highlighted == self._first
        width = max(self._list.size.width - 3, 20)
        now, keys = self.atlas.now(), self.atlas.keys
        options: list[Option] = []
        self._listed = []
        for one in lines_of(self._sections, self._more, self._only):
            if isinstance(one, Row):
                options.append(Option(line_of(one, width, now, keys), id=one.id))
                self._listed.append(one)
            else:
                kind, more = one
                rest = _(" · more with Tab") if more else ""
                heading = Content.assemble((KINDS[kind], "bold $accent"), (rest, "$quiet"))
                options.append(Option(heading, disabled=True))
                self._listed.append(None)
        ids = [row.id if row is not None else "" for row in self._listed]
        with self.app.batch_update():
            self._list.clear_options()
            self._list.add_options(options)
            self._list.display = bool(options) or self.searching
            self.query_one("#none", Static).display = not options and not self.searching
            if kept is not None and kept.id in ids and not at_first:
                self._list.highlighted = ids.index(kept.id)
            else:
                self._list.highlighted = self._first
        self._show_preview()

    @property
    def _first(self) -> int | None:
        """The index of the first result."""
        return next((at for at, row in enumerate(self._listed) if row is not None), None)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._show_preview()

    def _show_preview(self) -> None:
        self.atlas.attempt(self._preview, group="finder-preview", exclusive=True)

    async def _preview(self) -> None:
        # A key that is held down passes rows faster than they can be read.
        await asyncio.sleep(_PREVIEW_S)
        row = self.marked
        shown: Text = Content("")
        if row is not None:
            try:
                shown = await preview_of(row, self.atlas.desk, self.atlas.now())
            except (SessionNotFound, MessageNotFound, DocumentNotFound, NoteNotFound, RoomClosed):
                # It was removed meanwhile: opening it says so.
                shown = Content("")
        if self.is_attached and row is self.marked:
            self.query_one("#preview", ReadingText).show(shown)
            self.query_one("#preview-box", VerticalScroll).scroll_home(animate=False)

    def _tell_kinds(self) -> None:
        """Shows the kinds; a click chooses one."""
        parts: list[Content | str] = []
        words = cell_len(" ".join(KINDS.values())) + 2
        gap = 1 if words + len(KINDS) > self.query_one("#kinds", Static).content_size.width else 2
        for kind, name in KINDS.items():
            click = Style.from_meta({"@click": f"screen.only('{kind}')"})
            chosen = kind == self._only
            shown = Content.styled(f"✓ {name}" if chosen else name, "bold $primary" if chosen else "$quiet")
            parts += [shown.stylize(click), " " * gap]
        self.query_one("#kinds", Static).update(Content.assemble(*parts))

    # --- actions -----------------------------------------------------------------------------------------

    def action_only(self, kind: str) -> None:
        """Shows only one kind, or all."""
        self._only = kind
        self._sections.clear()
        self._tell_kinds()
        self._seek()

    def action_next_kind(self, step: int) -> None:
        kinds = list(KINDS)
        self.action_only(kinds[(kinds.index(self._only) + step) % len(kinds)])

    def action_move(self, how: str) -> None:
        getattr(self._list, f"action_{how}")()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.atlas.attempt(self._open, group="finder-open", exclusive=True)

    async def _open(self) -> None:
        """Opens the marked result, even if Enter comes before it is found."""
        while self._worker is not None and not self._worker.is_finished:
            try:
                await self._worker.wait()
            except (WorkerCancelled, WorkerFailed):
                continue
        if (row := self.marked) is not None:
            self.dismiss(row)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if (row := self._listed[event.option_index]) is not None:
            self.dismiss(row)

    def action_close(self) -> None:
        self.dismiss(None)
