"""The rows of the finder: what each kind of thing is called, its line in the list, its preview."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from rich.cells import cell_len
from textual.content import Content

from atlas_desktop.locale import N_, _
from atlas_desktop.phrases.tasks import state_text
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.finder import FindKind, Found, task_text
from atlas_desktop.tui.actions import Action
from atlas_desktop.tui.calendar import long, short
from atlas_desktop.tui.history.rows import around, document_preview, marked, preview, room_word
from atlas_desktop.tui.keymap import shown_keys
from atlas_desktop.tui.memories.entries import KIND_TEXTS
from atlas_desktop.tui.palette import fit
from atlas_desktop.tui.provenance.sources import STATE_TEXTS
from atlas_desktop.tui.settings.screen import Row as Setting
from atlas_desktop.tui.settings.screen import details, matching
from memory.documents.entities import DocumentKind, DocumentMatch
from memory.memories.entities import Memory
from memory.search.entities import SessionHit, Snippet
from memory.skills.entities import Skill, SkillState
from memory.tasks.entities import Task

if TYPE_CHECKING:
    from atlas_desktop.services.desk import AppContext

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
    scored = [(fit(one, folded), one) for one in actions]
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
    """Returns the title, what is beside it, the fact at the right, and the word for the room."""
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
            return Snippet(clean_line(thing.brief)), None, state_text(thing.state), ""
        case Setting():
            return Snippet(thing.name), Snippet(clean_line(thing.about)), thing.shown, ""
        case Action():
            own = shown_keys(thing.id, keys) or thing.slash
            return Snippet(thing.name), Snippet(clean_line(thing.help)), own, ""


# --- the preview -------------------------------------------------------------------------------------


async def preview_of(row: Row, desk: "AppContext", now: datetime) -> Content:
    """Returns what is worth knowing about a result before it is opened. Raises what the store raises."""
    match row.thing:
        case SessionHit() as hit:
            return preview(hit, await around(desk.at(hit.session.room).branches, hit), now)
        case DocumentMatch() as hit:
            shown = document_preview(hit, now)
            if hit.kind is DocumentKind.NOTE and hit.chunk is None:
                note = await desk.at(hit.room).notes.get(hit.document.id)
                shown = Content.assemble(shown, "\n\n", clean(note.text).strip()[:_LONGEST])
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
                clean(skill.body).strip()[:_LONGEST],
            )
        case Task() as task:
            status = f"{state_text(task.state)} · {long(task.created_at, now)}"
            return Content.assemble(clean(task_text(task)).strip()[:_LONGEST], "\n\n", (status, "$quiet"))
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
