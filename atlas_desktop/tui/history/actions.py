"""Filters of the history browser, and changes of the marked conversations."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget

from atlas_desktop.error_table import unclear
from atlas_desktop.locale import N_, _, ngettext, number, plural
from atlas_desktop.phrases import losing, said_of_opening_up
from atlas_desktop.services.bulk import Bulk, Done
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.organising import LONGEST_TAG, split_tags, tags_patch
from atlas_desktop.services.projects import LONGEST, tidy_name
from atlas_desktop.services.search import FindingService
from atlas_desktop.tui.calendar import long
from atlas_desktop.tui.dialogs.forms import FieldsScreen, NamedItemsScreen, NamedLineScreen
from atlas_desktop.tui.dialogs.questions import Choice, ConfirmScreen, PickScreen, RenameScreen
from atlas_desktop.tui.history.rows import title_of
from atlas_desktop.tui.widgets import Offer
from memory.entities import RoomKind, Session, SessionPatch
from memory.errors import QueryUnclear
from memory.organising import MarksPatch, Project
from memory.search.entities import ItemKind, SavedSearch

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.history.list import HistoryList
    from atlas_desktop.tui.widgets import Undo
    from memory.search.entities import SessionHit


_CHIP_TEXTS = {
    "starred": N_("Starred"),
    "important": N_("Important"),
    "pinned": N_("Pinned"),
    "archived": N_("Archived"),
    "week": N_("Week"),
    "code": N_("Code"),
    "documents": N_("Docs"),
    "notes": N_("Notes"),
    "bin": N_("Bin"),
    "more": N_("More"),
}


_MOST_SUGGESTED = 8
_NONE, _NEW = "", "+"
_NAMED = "="
"""Begins the id of a choice that is a project, because a project may have any name."""


@dataclass(frozen=True, slots=True)
class Tagging:
    """The chosen change of tags; `refused` are conversations and the tags not to suggest for them again."""

    patch: MarksPatch
    refused: Mapping["Session", Sequence[str]]

    async def refuse(self, app: "BaseApp") -> None:
        for session, tags in self.refused.items():
            await app.desk.at(session.room).organising.reject(session.id, tags)


async def chosen_tags(app: "BaseApp", sessions: "Sequence[Session]") -> Tagging | None:
    """Asks for the tags of conversations; suggested ones are offered below the field."""
    suggested: dict[str, list[Session]] = {}
    scores: dict[str, float] = {}
    uses: Counter[str] = Counter()
    for room in {session.room for session in sessions}:
        uses.update({one.tag: one.sessions for one in await app.desk.at(room).organising.tags()})
    for session in sessions:
        for one in await app.desk.at(session.room).organising.suggestions(session.id):
            suggested.setdefault(one.tag, []).append(session)
            scores[one.tag] = scores.get(one.tag, 0.0) + one.score
    likely = sorted(suggested, key=lambda tag: (-scores[tag], tag))[:_MOST_SUGGESTED]
    now = sorted({tag for session in sessions for tag in session.tags})
    of_all = {tag for tag in now if all(tag in session.tags for session in sessions)}
    hint = _(
        "Current tags: {tags}. Put commas between tags, and - before one to remove it.",
        tags=", ".join(map(clean_line, now)) or _("none yet"),
    )
    if likely:
        hint += " " + _("With - before it, a suggested one isn't suggested here again.")
    name = _("Tags")
    given = await app.push_screen_wait(
        FieldsScreen(
            _("Tag"),
            [name],
            hint=hint,
            offers={
                name: partial(
                    _tag_offers,
                    likely,
                    [tag for tag, _unused in uses.most_common() if tag not in of_all],
                    now,
                )
            },
            unlisted=(name,),
            check=lambda given: _tag_problem(given[name]),
        )
    )
    words = [] if given is None else split_tags(given[name])
    if not words:
        return None
    patch = tags_patch(words)
    if not patch.add_tags and not patch.remove_tags:
        return None
    refused: dict[Session, list[str]] = {}
    for tag in set(patch.remove_tags).intersection(suggested):
        for session in suggested[tag]:
            refused.setdefault(session, []).append(tag)
    return Tagging(patch, refused)


def invalid_tag() -> str:
    """Returns what is said about a tag that is empty or too long."""
    return _("Tags can have 1 to {longest} characters. No changes were made.", longest=LONGEST_TAG)


def _tag_problem(line: str) -> str:
    try:
        tags_patch(split_tags(line))
    except ValueError:
        return invalid_tag()
    return ""


def _whole(tag: str) -> str:
    """Returns a tag as it is typed."""
    return f'"{tag}"' if "," in tag or "#" in tag else tag


def _tag_offers(
    suggested: Sequence[str], known: Sequence[str], now: Sequence[str], typed: str
) -> list[Offer]:
    """Returns the tags that what is typed last can become: suggested ones, then those in use."""
    before, comma, last = typed.rpartition(",")
    begun = last.strip()
    minus, part = ("-", begun[1:]) if begun.startswith("-") else ("", begun)
    part = part.lstrip("#").casefold()
    tags = [*now, *suggested] if minus else [*suggested, *(known if part else [])]
    there = {one.casefold() for one in split_tags(before + comma)}
    return [
        Offer(
            f"{before}{comma}{' ' if before else ''}{minus}{_whole(tag)}, ",
            f"{minus}#{clean_line(tag)}",
            _("suggested from similar conversations") if tag in suggested else "",
        )
        for tag in dict.fromkeys(tags)
        if tag.casefold().startswith(part) and f"{minus}{tag}".casefold() not in there
    ]


async def projects_of(app: "BaseApp", *, archived: bool | None = False) -> "list[Project]":
    """Returns the projects of all open rooms, each name once."""
    found: dict[str, Project] = {}
    for room in app.desk.open_rooms:
        for one in await room.projects.list(archived=archived):
            found.setdefault(one.name.casefold(), one)
    return sorted(found.values(), key=lambda one: one.name.casefold())


async def chosen_project(app: "BaseApp") -> str | None:
    """Returns the name of a project, "" for no project, or None for no change."""
    choices = [
        Choice(_NAMED + one.name, one.name, ngettext("1 conversation", "{count} conversations", one.sessions))
        for one in await projects_of(app)
    ]
    choices += [
        Choice(_NEW, _("New project…"), _("Create one and use it")),
        Choice(_NONE, _("No project"), _("Remove it from its project")),
    ]
    chosen = await app.push_screen_wait(PickScreen(_("Move to a project"), choices))
    if chosen != _NEW:
        return chosen if chosen is None else chosen.removeprefix(_NAMED)
    return await new_project_name(app, _("New project"))


async def new_project_name(app: "BaseApp", title: str, *, now: str = "") -> str | None:
    """Asks for a name; `now` is the present one."""
    name = _("Name")
    given = await app.push_screen_wait(FieldsScreen(title, [name], values={name: clean_line(now)}))
    if not given:
        return None
    try:
        return tidy_name(given[name])
    except ValueError:
        app.say(_("Enter 1 to {longest} characters.", longest=LONGEST))
        return None


async def chosen_filter(app: "BaseApp") -> str | None:
    """Returns a condition to add to the query: a saved search, a tag or a project."""
    from atlas_desktop.services.search import FindingService

    choices = [
        Choice(f"@{quoted(one.name)}", f"@{one.name}", _("saved search · {query}", query=one.query))
        for one in await FindingService(app.desk).saved()
    ]
    tags: dict[str, int] = {}
    for room in app.desk.open_rooms:
        for tag in await room.organising.tags():
            tags[tag.tag] = tags.get(tag.tag, 0) + tag.sessions
    choices += [
        Choice(f"tag:{quoted(tag)}", f"#{tag}", _("tag · {count}", count=number(uses)))
        for tag, uses in sorted(tags.items(), key=lambda pair: (-pair[1], pair[0]))
    ]
    choices += [
        Choice(f"project:{quoted(one.name)}", one.name, _("project · {count}", count=number(one.sessions)))
        for one in await projects_of(app)
    ]
    choices += [
        Choice(f"kind:{ItemKind.DOCUMENT}", _("Documents"), _("kind · nothing else")),
        Choice(f"kind:{ItemKind.NOTE}", _("Notes"), _("kind · nothing else")),
        Choice(f"kind:{ItemKind.MESSAGE}", _("Conversations"), _("kind · nothing else")),
    ]
    chosen: str | None = await app.push_screen_wait(PickScreen(_("Filters"), choices))
    return chosen


def quoted(name: str) -> str:
    """Returns a name as a query needs it."""
    bare = name.replace('"', " ")
    return bare if bare and not any(char.isspace() or char in '()*"' for char in bare) else f'"{bare}"'


QUICK = {
    "starred": "is:starred",
    "important": "is:important",
    "pinned": "is:pinned",
    "archived": "is:archived",
    "week": "after:7d",
    "code": "has:code",
    "documents": f"kind:{ItemKind.DOCUMENT}",
    "notes": f"kind:{ItemKind.NOTE}",
}
"""Quick filters and the conditions they add to a query, in the order of the keys 1 to 8."""
BIN, MORE = "bin", "more"


def toggled(text: str, term: str) -> str:
    """Returns the query with a condition added, or without it if it is there."""
    bare = _place(term).sub(" ", text)
    without = " ".join(bare.split())
    return without if holds(text, term) else f"{text.strip()} {term}".strip()


def holds(text: str, term: str) -> bool:
    """Whether the query contains a condition."""
    return _place(term).search(text) is not None


def _place(term: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\S){re.escape(term)}(?!\S)", re.IGNORECASE)


_CHIP = 3
"""Cells of a filter in addition to its word: its key, and spaces."""


class FilterChips(Widget):
    """Filters, in as many lines as they need; active ones also have a sign before them."""

    DEFAULT_CSS = "FilterChips { height: auto; margin: 0 2; }"

    @dataclass
    class Pressed(Message):
        name: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._on: frozenset[str] = frozenset()
        self._keys = False

    def tell(self, on: Collection[str], *, keys: bool) -> None:
        """Shows which filters are active, and whether their keys work."""
        if (frozenset(on), keys) != (self._on, self._keys):
            self._on, self._keys = frozenset(on), keys
            self.refresh()

    def _words(self) -> list[tuple[str, str, str]]:
        """Returns the name, key and label of each filter."""
        quick = [(name, str(number), _(_CHIP_TEXTS[name])) for number, name in enumerate(QUICK, 1)]
        return [*quick, (BIN, "b", _("Bin")), (MORE, "f", _("More"))]

    def _lines(self, width: int) -> list[list[tuple[str, str, str]]]:
        """Returns the filters as `_words` does, line by line."""
        lines: list[list[tuple[str, str, str]]] = [[]]
        left = width
        for one in self._words():
            cells = cell_len(one[2]) + _CHIP
            if lines[-1] and cells > left:
                lines.append([])
                left = width
            lines[-1].append(one)
            left -= cells
        return lines

    def _gap(self, width: int) -> int:
        """Returns the cells between two filters: 1 if all filters still fit into one line, else 0."""
        (line, *more) = self._lines(width)
        cells = sum(cell_len(word) + _CHIP + 1 for _name, _key, word in line)
        return int(not more and cells <= width)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return len(self._lines(width))

    def render(self) -> Content:
        width = self.content_size.width
        gap, lines = " " * self._gap(width), []
        for line in self._lines(width):
            parts: list[tuple[str, str] | str] = []
            for name, key, word in line:
                if name in self._on:
                    parts.append((f"✓ {word} ", "bold $foreground on $panel"))
                else:
                    parts += [(f"{key if self._keys else '·'} ", "$primary"), (f"{word} ", "$quiet")]
                parts.append(gap)
            lines.append(Content.assemble(*parts))
        return Content("\n").join(lines)

    def on_click(self, event: events.Click) -> None:
        event.stop()
        offset, width = event.get_content_offset(self), self.content_size.width
        lines = self._lines(width)
        if offset is None or offset.y >= len(lines):
            return
        place = 0
        for name, _key, word in lines[offset.y]:
            end = place + cell_len(word) + _CHIP
            if place <= offset.x < end:
                self.post_message(self.Pressed(name))
                return
            place = end + self._gap(width)


class SavedScreen(NamedItemsScreen[SavedSearch]):
    """`query` is the current query, which a new saved search starts with."""

    heading = _("Saved searches")
    hint = _("Use one with Enter or @name. Press a to save the current search.")
    none = _("No saved searches yet. Press a to save the current search.")

    def __init__(self, app: "BaseApp", room: "RoomServices", query: str) -> None:
        super().__init__(app, room)
        self._query = query
        self._finding = FindingService(app.desk)

    async def things(self) -> Sequence[SavedSearch]:
        return await self._finding.saved()

    def described(self, one: SavedSearch) -> str:
        return one.query

    async def edited(self, old: SavedSearch | None) -> SavedSearch | None:
        title = _("Save search") if old is None else _("Edit saved search")
        name, query = ("", self._query) if old is None else (old.name, old.query)
        window = NamedLineScreen(
            title, name, query, label=_("Search"), missing=_("A saved search needs a name and a query.")
        )
        given = await self.atlas.push_screen_wait(window)
        if given is None:
            return None
        try:
            made = await self._finding.save(given[0], given[1], self.room)
        except QueryUnclear as fault:
            self.atlas.say(unclear(fault))
            return None
        except ValueError:
            self.atlas.say(_("A saved search needs a name and a query."))
            return None
        if old is not None and old.name != made.name:
            await self._finding.remove(old.name)
        return made

    async def removed(self, one: SavedSearch) -> None:
        await self._finding.remove(one.name)


class ProjectsScreen(NamedItemsScreen[Project]):
    """Lists the projects of one room; `now` is the name of the conversation's project.

    Dismissed with the chosen project, or None; then `out` says whether to leave the current project, and
    `page` is the project whose page to show.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("x", "archive", _("Archive")),
        Binding("n", "leave_project", _("No project")),
        Binding("o", "page", _("Page")),
    ]
    heading = _("Projects")
    hint = _("Enter moves the current conversation to a project. An isolated one is recalled only in itself.")
    none = _("No projects yet. Press a to create one.")
    stays = _("Its conversations and memories stay, without a project.")

    def __init__(self, app: "BaseApp", room: "RoomServices", now: str | None) -> None:
        super().__init__(app, room)
        self._now = now
        self.out = False
        self.page: Project | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(".box", Vertical).border_subtitle = _(
            "Enter use · o page · n none · a add · e rename · x archive · d remove"
        )

    async def things(self) -> Sequence[Project]:
        """Returns the projects, those in use first."""
        found = await self.room.projects.list()
        return sorted(found, key=lambda one: (one.archived_at is not None, one.name.casefold()))

    def described(self, one: Project) -> str:
        facts = [
            *([_("this conversation")] if self.in_use(one) else []),
            *([_("archived")] if one.archived_at is not None else []),
            *([_("isolated")] if one.settings.isolated else []),
            ngettext("1 conversation", "{count} conversations", one.sessions),
            ngettext("1 memory", "{count} memories", one.memories),
        ]
        if one.used_at is not None:
            facts.append(_("last used {when}", when=long(one.used_at, self.atlas.now())))
        return " · ".join(facts)

    def in_use(self, one: Project) -> bool:
        return self._now == one.name

    async def edited(self, old: Project | None) -> Project | None:
        title = _("New project") if old is None else _("Rename project")
        name = await new_project_name(self.atlas, title, now="" if old is None else old.name)
        if name is None:
            return None
        if old is None:
            return await self.room.projects.create(name)
        changed = await self.room.projects.rename(old.id, name)
        if self._now == old.name:
            self._now = changed.name
        await self._told()
        return changed

    def said_of_removal(self, one: Project) -> str:
        opens = [said_of_opening_up()] if one.settings.isolated else []
        return "\n".join([super().said_of_removal(one), *opens])

    async def removed(self, one: Project) -> None:
        await self.room.projects.delete(one.id)
        await self._told()

    def action_archive(self) -> None:
        if (one := self.marked) is not None:
            self._do(self._archive(one))

    async def _archive(self, one: Project) -> None:
        service = self.room.projects
        await (service.archive(one.id) if one.archived_at is None else service.reopen(one.id))
        await self._show(one.id)

    def action_page(self) -> None:
        self.page = self.marked
        if self.page is not None:
            self.dismiss(None)

    def action_leave_project(self) -> None:
        self.out = True
        self.dismiss(None)

    async def _told(self) -> None:
        """Tells the chat screen that conversations have changed their project."""
        if (chat := self.atlas.chat) is not None:
            await chat.sessions_changed([])


def project_words(name: str | None) -> str:
    """Returns the notice that the conversation is in a project, or in none."""
    return _("Now in the project “{name}”.", name=clean_line(name)) if name else _("No longer in a project.")


_DONE_COUNTS = {
    "tags": plural("Tagged.", "{count} tagged."),
    "star": plural("Starred.", "{count} starred."),
    "unstar": plural("Star removed.", "{count} stars removed."),
    "important": plural("Marked as important.", "{count} marked as important."),
    "unimportant": plural("No longer important.", "{count} no longer important."),
    "pin": plural("Pinned to the top.", "{count} pinned to the top."),
    "unpin": plural("Unpinned.", "{count} unpinned."),
    "archive": plural(
        "Archived. Hidden from lists, still found by search.",
        "{count} archived. Hidden from lists, still found by search.",
    ),
    "unarchive": plural("Unarchived.", "{count} unarchived."),
    "project": plural("Moved to “{name}”.", "{count} moved to “{name}”."),
    "no_project": plural("Removed from its project.", "{count} removed from their projects."),
    "delete": plural("Moved to the bin.", "{count} moved to the bin."),
    "restore": plural("Restored.", "{count} restored."),
    "merge": plural("Merged.", "{count} conversations merged."),
    "erase": plural("Erased. Nothing is left of it.", "{count} erased. Nothing is left of them."),
    "erase_copies": plural(
        "Erased. The same text still exists in {where}.", "Erased. The same text still exists in {where}."
    ),
    "erase_left": plural(
        "Erased, but traces may remain. Run `atlas vault verify` to check.",
        "Erased, but traces may remain. Run `atlas vault verify` to check.",
    ),
    "private": plural("Moved to the private room.", "{count} moved to the private room."),
    "open": plural("Moved to the open room.", "{count} moved to the open room."),
}
_MOVE_COUNTS = {
    "title": plural("Move to the private room?", "Move to the private room?"),
    "title_open": plural("Move to the open room?", "Move to the open room?"),
    "private": plural(
        "It moves to the private room, with everything learned only from it. It is visible only "
        "while that room is open.",
        "{count} conversations move to the private room, with everything learned only from them. "
        "They are visible only while that room is open.",
    ),
    "open": plural(
        "It moves to the open room, with everything learned only from it. Anyone who opens Atlas can see it.",
        "{count} conversations move to the open room, with everything learned only from them. "
        "Anyone who opens Atlas can see them.",
    ),
    "agree": plural("Move", "Move"),
    "refuse": plural("No", "No"),
    "there": plural("Already there.", "Already there."),
}
_HISTORY_AGREE_TEXTS = {"move": N_("Move"), "merge": N_("Merge"), "erase": N_("Erase")}
_HISTORY_REFUSE_TEXTS = {
    "move": N_("No"),
    "merge": N_("No"),
    "erase": N_("Keep"),
}

GROUP = "history-change"


class HistoryActions:
    """Marks, moves, merges and deletes conversations, and informs the conversation screen.

    `reload` reads the list again after a change; `offer` shows what was done, with a function to undo it.
    """

    def __init__(
        self,
        app: "BaseApp",
        listing: "HistoryList",
        *,
        reload: Callable[[], None],
        offer: Callable[[str, "Undo | None"], None],
    ) -> None:
        self._app = app
        self._listing = listing
        self._reload = reload
        self._offer = offer

    @property
    def chosen(self) -> "list[SessionHit]":
        """The conversations that an action applies to: the selected ones, or else the marked one."""
        if self._listing.selected:
            return list(self._listing.selected.values())
        return [] if self._listing.marked is None else [self._listing.marked]

    def do(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs a change in the background."""
        self._app.attempt(work, group=GROUP)

    # --- marks -----------------------------------------------------------------------------------

    def tag(self) -> None:
        self.do(self._tag())

    async def _tag(self) -> None:
        hits = self.chosen
        tagging = await chosen_tags(self._app, [hit.session for hit in hits])
        if tagging is None:
            return
        await tagging.refuse(self._app)
        refused = sorted({tag for tags in tagging.refused.values() for tag in tags})
        given = {tag for hit in hits for tag in hit.session.tags}
        if refused and not tagging.patch.add_tags and given.isdisjoint(tagging.patch.remove_tags):
            tags = ", ".join(f"#{clean_line(tag)}" for tag in refused)
            self._offer(_("Not suggested there again: {tags}", tags=tags), None)
        else:
            await self._apply(hits, tagging.patch, "tags")

    def star(self) -> None:
        on = not all(hit.session.starred for hit in self.chosen)
        self.do(self._apply(self.chosen, MarksPatch(starred=on), "star" if on else "unstar"))

    def important(self) -> None:
        on = not all(hit.session.important for hit in self.chosen)
        self.do(self._apply(self.chosen, MarksPatch(important=on), "important" if on else "unimportant"))

    def pin(self) -> None:
        on = not all(hit.session.pinned_at is not None for hit in self.chosen)
        self.do(self._apply(self.chosen, MarksPatch(pinned=on), "pin" if on else "unpin"))

    def archive(self) -> None:
        on = not all(hit.session.archived_at is not None for hit in self.chosen)
        self.do(self._apply(self.chosen, MarksPatch(archived=on), "archive" if on else "unarchive"))

    def put_into_project(self) -> None:
        self.do(self._project())

    async def _project(self) -> None:
        hits = self.chosen
        name = await chosen_project(self._app)
        if name is not None:
            word = "project" if name else "no_project"
            await self._apply(hits, MarksPatch(project=name), word, name=name)

    async def _apply(
        self, hits: "Sequence[SessionHit]", patch: MarksPatch, word: str, **facts: object
    ) -> None:
        selected = list(self._listing.selected.values())
        bulk = Bulk(self._app.desk)
        done: Done = await bulk.apply_to([hit.session for hit in hits], patch)

        async def undo() -> None:
            await bulk.put_back(done)
            await self._changed([one.session_id for one in done.all])
            if stay is not None:
                self._listing.select(selected)

        stay = None if patch.binned or patch.archived is not None else patch
        await self._changed([one.session_id for one in done.all], patch=stay)
        self._offer(ngettext(*_DONE_COUNTS[word], len(hits), **facts), undo)

    async def _changed(
        self, ids: Sequence[str], *, content: bool = False, patch: MarksPatch | None = None
    ) -> None:
        """Shows a change. With a `patch`, the conversations stay where they are, and selected."""
        if patch is None:
            self._listing.clear_selection()
        else:
            self._listing.mark_selected(ids, patch)
        if (chat := self._app.chat) is not None:
            await chat.sessions_changed(ids, content=content)
        self._reload()

    def rename(self) -> None:
        """Asks for a new title for the marked conversation."""
        if (hit := self._listing.marked) is not None:
            self.do(self._rename(hit.session))

    async def _rename(self, session: Session) -> None:
        title: str | None = await self._app.push_screen_wait(RenameScreen(session.title))
        if title is None:
            return
        room = self._app.desk.at(session.room)

        async def undo() -> None:
            # With its source: a title that Atlas made stays one that Atlas may change.
            old = SessionPatch(title=session.title, title_source=session.title_source)
            await room.store.update_session(session.id, old)
            await self._changed([session.id], content=True, patch=MarksPatch())

        await room.sessions.rename(session.id, title)
        await self._changed([session.id], content=True, patch=MarksPatch())
        self._offer(_("Renamed to “{title}”.", title=title), undo)

    # --- deleting and restoring ------------------------------------------------------------------

    def delete(self) -> None:
        """Moves conversations to the bin; stops replies that are in progress."""
        going = {hit.session.id for hit in self.chosen}
        for conversation in [one for one in self._app.turns.active if one.id in going]:
            self._app.turns.stop(conversation)
        self.do(self._apply(self.chosen, MarksPatch(binned=True), "delete"))

    def restore(self) -> None:
        """Restores conversations from the bin."""
        self.do(self._restore([(hit.session.room, hit.session.id) for hit in self.chosen]))

    async def _restore(self, found: "Sequence[tuple[RoomKind, str]]") -> None:
        for room, session_id in found:
            await self._app.desk.at(room).sessions.restore(session_id)
        await self._changed([one for _unused, one in found], content=True)
        self._offer(ngettext("Restored.", "{count} restored.", len(found)), None)

    def erase(self) -> None:
        """Permanently deletes conversations in the bin, if the user confirms."""
        self.do(self._erase(self.chosen))

    async def _erase(self, hits: "Sequence[SessionHit]") -> None:
        text = ngettext(
            "“{title}” and everything derived from it. This cannot be undone.",
            "{count} conversations and everything derived from them. This cannot be undone.",
            len(hits),
            title=title_of(hits[0].session),
        )
        if not await self._agreed("erase", _("Erase permanently?"), text):
            return
        receipts = []
        for hit in hits:
            room = self._app.desk.at(hit.session.room)
            receipts.append(await room.forgetting.erase_session(hit.session.id))
        await self._changed([])
        gone = {hit.session.id for hit in hits}
        copies = {one.session_id: one for receipt in receipts for one in receipt.erased.copies}
        left = [one for one in copies.values() if one.session_id not in gone]
        if not all(receipt.verified for receipt in receipts):
            self._offer(_("Erased, but traces may remain. Run `atlas vault verify` to check."), None)
        elif left:
            from atlas_desktop.phrases import where

            self._offer(_("Erased. The same text still exists in {where}.", where=where(left)), None)
        else:
            self._offer(
                ngettext(
                    "Erased. Nothing is left of it.", "{count} erased. Nothing is left of them.", len(hits)
                ),
                None,
            )

    # --- moving, merging, exporting --------------------------------------------------------------

    def move(self) -> None:
        """Moves conversations to the private room, or from the private room to the open one."""
        if not self._busy(self.chosen):
            self.do(self._move(self.chosen))

    async def _move(self, hits: "Sequence[SessionHit]") -> None:
        back = all(hit.session.room is RoomKind.PRIVATE for hit in hits)
        to = RoomKind.OPEN if back else RoomKind.PRIVATE
        word = "open" if back else "private"
        text = ngettext(*_MOVE_COUNTS[word], len(hits))
        rooms = self._app.desk.rooms
        losses = await rooms.losses([hit.session.id for hit in hits], to)
        if lost := losing(losses, RoomKind.PRIVATE if back else RoomKind.OPEN):
            text += f" {lost}"
        heading = _("Move to the open room?") if back else _("Move to the private room?")
        chat = self._app.chat
        if to is RoomKind.PRIVATE and rooms.private is None:
            if chat is None or not await chat.open_private(text):
                return
        elif not await self._agreed("move", heading, text):
            return
        moving = [hit.session for hit in hits if hit.session.room is not to]
        for session in moving:
            await rooms.move(session.id, to)

        async def undo() -> None:
            for session in moving:
                await rooms.move(session.id, session.room)
            await self._changed([one.id for one in moving], content=True)

        await self._changed([one.id for one in moving], content=True)
        self._offer(ngettext(*_DONE_COUNTS[word], len(moving)), undo)

    def merge(self) -> None:
        """Joins the selected conversations into one."""
        if len(self.chosen) < 2:
            self._app.say(_("Select two or more conversations (Space), then merge."))
        elif not self._busy(self.chosen):
            self.do(self._merge(self.chosen))

    async def _merge(self, hits: "Sequence[SessionHit]") -> None:
        first, *others = sorted((hit.session for hit in hits), key=lambda one: (one.created_at, one.id))
        title = _("Merge {count} conversations?", count=number(len(hits)))
        if not await self._agreed(
            "merge",
            title,
            _(
                "All messages move into “{title}”, the oldest one. The others go to the bin. Restoring "
                "one takes its messages out again.",
                title=title_of(first),
            ),
        ):
            return
        _unused, merged = await Bulk(self._app.desk).merge(first.id, [one.id for one in others])
        room = first.room

        async def undo() -> None:
            await self._restore([(room, source) for source in merged.sources])

        await self._changed([first.id, *merged.sources], content=True)
        self._offer(ngettext("Merged.", "{count} conversations merged.", len(hits)), undo)

    def export(self) -> None:
        """Opens the window for exporting them."""
        from atlas_desktop.tui.transfer import ExportDialog

        self._app.push_screen(ExportDialog([hit.session.id for hit in self.chosen]))

    def take_back(self, undo: "Undo") -> None:
        """Undoes a change."""
        self.do(self._take_back(undo))

    async def _take_back(self, undo: "Undo") -> None:
        await undo()
        self._offer(_("Undone."), None)

    def _busy(self, hits: "Sequence[SessionHit]") -> bool:
        active = {one.id for one in self._app.turns.active}
        if any(hit.session.id in active for hit in hits):
            self._app.say(_("A reply is in progress in one of them. Wait, or stop it."))
            return True
        return False

    async def _agreed(self, word: str, title: str, text: str) -> bool:
        question = ConfirmScreen(
            title, text, agree=_(_HISTORY_AGREE_TEXTS[word]), refuse=_(_HISTORY_REFUSE_TEXTS[word])
        )
        agreed: bool = await self._app.push_screen_wait(question)
        return agreed
