"""The list of the Notes view, and its actions: create, rename, delete, restore, move and file notes."""

from collections.abc import Callable, Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from atlas_desktop.locale import N_, _, ngettext, quoted
from atlas_desktop.phrases import import_line
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.calendar import short
from atlas_desktop.tui.dialogs.forms import PathScreen
from atlas_desktop.tui.dialogs.questions import Choice, ConfirmScreen, PickScreen
from atlas_desktop.tui.notes.adding import TitleScreen, VersionsScreen
from atlas_desktop.tui.widgets import TakeBack, Undo
from memory.entities import RoomKind
from memory.errors import MemoryFault
from memory.notes.entities import NoteEntry
from memory.notes.markup import folded

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.documents.entities import DocumentHit
    from memory.notes.entities import Note


_ROOMS = {RoomKind.PRIVATE: N_("private"), RoomKind.OFF_RECORD: N_("unsaved")}
_HEADINGS = {
    "titles": N_("In titles and first lines"),
    "text": N_("In the text"),
    "near": N_("With none of the words, but near in meaning"),
}
_LEAST_TITLE = 12
_SNIPPET = 300
_HITS = 40
_LEAST_WIDTH = 24
PAGE = 100
"""Rows that are added to the list at a time."""
_MOST_TOLD = 8
"""Lines about an import that a notice shows."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: a heading, a note, or a passage `hit` of one, with the `words` that are searched for. `id`
    identifies it in its list."""

    id: str
    room: "RoomServices | None" = None
    note: "NoteEntry | None" = None
    hit: "DocumentHit | None" = None
    heading: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Shelf:
    """The notes of one room."""

    room: "RoomServices"
    notes: "tuple[NoteEntry, ...]"


@dataclass(frozen=True, slots=True)
class Hits:
    """The passages of one room's notes that were found."""

    room: "RoomServices"
    hits: "tuple[DocumentHit, ...]"


def rooms_of(app: "BaseApp") -> "list[RoomServices]":
    """Returns the rooms whose notes are shown, that of the conversation first: the open ones, or the one in
    memory if there is no other."""
    here = app.room
    rooms = [one for one in app.desk.open_rooms if one.store.room is not RoomKind.OFF_RECORD]
    rooms.sort(key=lambda one: one is not here)
    return rooms or [here]


async def read_shelves(rooms: "Sequence[RoomServices]", *, binned: bool) -> list[Shelf]:
    return [Shelf(room, tuple(await room.notes.list(binned=binned))) for room in rooms]


def rows_of(shelves: Sequence[Shelf], words: str = "", hits: Sequence[Hits] = ()) -> list[Row]:
    """Returns the rows to show: all notes, latest first, or those that the words find.

    A word that begins with # is a tag; the others are searched for in titles, projects and first lines;
    `hits` are the passages found in the texts.
    """
    every = sorted(
        ((one, shelf.room) for shelf in shelves for one in shelf.notes),
        key=lambda pair: pair[0].deleted_at or pair[0].updated_at,
        reverse=True,
    )
    if not words:
        return [_of(note, room) for note, room in every]
    return list(_found(every, words, hits))


def _of(note: "NoteEntry", room: "RoomServices") -> Row:
    return Row(f"note {note.id}", room, note)


def _found(
    every: "Sequence[tuple[NoteEntry, RoomServices]]", words: str, hits: Sequence[Hits]
) -> Iterator[Row]:
    named = [(note, room) for note, room in every if _matches(note, words)]
    if named and hits:
        yield Row("titles", heading="titles")
    yield from (_of(note, room) for note, room in named)
    known = {note.id: note for note, _room in every if _has_tags(note, words)}
    passages = [(one, found.room) for found in hits for one in found.hits if one.chunk.document in known]
    spoken = {hit.chunk.document for hit, _room in passages if hit.parts["document"]}
    for heading, wanted in (("text", True), ("near", False)):
        # Each note once, with its best passage: the note itself shows the others.
        chosen: dict[str, tuple[DocumentHit, RoomServices]] = {}
        for hit, room in passages:
            if (hit.chunk.document in spoken) is wanted:
                chosen.setdefault(hit.chunk.document, (hit, room))
        if chosen:
            yield Row(heading, heading=heading)
        for hit, room in chosen.values():
            yield Row(f"hit {hit.chunk.id}", room, known[hit.chunk.document], hit, words=words)


def _matches(note: "NoteEntry", words: str) -> bool:
    text = folded(f"{note.title} {note.project or ''} {note.external_id} {note.words}")
    return _has_tags(note, words) and all(word in text for word in folded(words).split() if not _is_tag(word))


def _has_tags(note: "NoteEntry", words: str) -> bool:
    """Whether a note has the tags among the words, or one below each."""
    tags = [tag.casefold() for tag in note.tags]
    wanted = [word[1:] for word in folded(words).split() if _is_tag(word)]
    return all(any(tag == one or tag.startswith(f"{one}/") for tag in tags) for one in wanted)


def _is_tag(word: str) -> bool:
    return word.startswith("#") and len(word) > 1


def text_words(words: str) -> str:
    """Returns the words to search for in texts: those that are not tags."""
    return " ".join(word for word in words.split() if not word.startswith("#"))


async def read_hits(rooms: "Sequence[RoomServices]", words: str) -> list[Hits]:
    """Returns the passages that contain the words, of the rooms that have some. Raises `RoomClosed`."""
    found = [Hits(room, tuple((await room.notes.search(text_words(words), _HITS)).hits)) for room in rooms]
    return [one for one in found if one.hits]


async def chosen_tag(app: "BaseApp") -> str | None:
    """Asks for one of the tags of the notes."""
    counts: dict[str, int] = {}
    for room in rooms_of(app):
        for tag, count in (await room.store.notes.tags()).items():
            counts[tag] = counts.get(tag, 0) + count
    if not counts:
        app.say(_("No note has a tag yet. Write #tag anywhere in the text of one."))
        return None
    choices = [
        Choice(tag, f"#{clean(tag)}", ngettext("{count} note", "{count} notes", counts[tag]))
        for tag in sorted(counts, key=lambda tag: (-counts[tag], tag))
    ]
    return await app.push_screen_wait(PickScreen(_("Tags"), choices))


def entry_of(note: "Note") -> NoteEntry:
    """Returns a note as the list shows it."""
    return NoteEntry(
        id=note.id,
        title=note.title,
        words=note.text[:300],
        project=note.project,
        tags=note.tags,
        updated_at=note.updated_at,
        external_id=note.external_id,
        deleted_at=note.deleted_at,
    )


# --- as text ----------------------------------------------------------------------------------------


def row_text(row: Row, width: int, now: datetime) -> Content:
    """Returns a row as one line of a width, or two for a passage."""
    if row.heading:
        return Content.styled(_(_HEADINGS[row.heading]), "bold $accent")
    note = row.note
    assert note is not None
    assert row.room is not None
    kind = row.room.store.room
    mark = (f"{_(_ROOMS[kind])} ", "bold $warning") if kind in _ROOMS else ("", "")
    facts = short(note.deleted_at or note.updated_at, now)
    more = [f"#{tag}" for tag in note.tags] + ([note.project] if note.project else [])
    about = clean_line(" ".join(more))
    left = width - cell_len(mark[0]) - 1
    if cell_len(about) + cell_len(facts) + 3 <= left - max(cell_len(note.title), _LEAST_TITLE):
        facts = f"{about} · {facts}" if about else facts
    title = cut(clean_line(note.title) or _("Untitled"), max(left - cell_len(facts) - 1, _LEAST_TITLE))
    gap = " " * max(left + 1 - cell_len(title) - cell_len(facts), 1)
    line = Content.assemble(mark, (title, "bold"), gap, (facts, "$quiet"))
    if row.hit is None:
        return line
    text = cut(clean_line(_line_with(row.words, row.hit.chunk.text)), width - 2)
    return Content.assemble(line, "\n  ", (text, "$quiet"))


def _line_with(words: str, text: str) -> str:
    """Returns a text from the first line with the longest of the words on that it has; without any, after its
    front matter."""
    lines = text.split("\n")
    for word in sorted(folded(words).split(), key=len, reverse=True):
        for number, line in enumerate(lines):
            if word in folded(line):
                return "\n".join(lines[number:])[:_SNIPPET]
    if text.startswith("---\n") and (end := text.find("\n---\n")) >= 0:
        text = text[end + len("\n---\n") :]
    return text[:_SNIPPET]


def cut(text: str, width: int) -> str:
    """Returns a text in at most `width` cells."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 1)).rstrip() + "…"


def name_text(note: "Note", room: RoomKind, state: str) -> Content:
    """Returns the line above a note: its room, title, tags and project, and whether it is stored."""
    mark = room_mark(room)
    about = [f"#{clean_line(tag)}" for tag in note.tags]
    about += [_("project {name}", name=clean_line(note.project))] if note.project else []
    parts = [" ".join(about)] if about else []
    return Content.assemble(
        (f"{mark} ", "bold $warning") if mark else "",
        (clean_line(note.title), "bold"),
        (f"  {' · '.join([*parts, state])}", "$quiet"),
    )


def nothing_text(words: str, *, binned: bool) -> Content:
    """Returns what an empty list shows."""
    if words:
        return Content(_("No matches."))
    if binned:
        return Content(_("The bin is empty. Esc leads back to the notes."))
    return Content(
        _(
            "No notes yet.\n\n"
            "Press n to write one. Notes are Markdown, in your room, and nothing leaves this "
            "computer. Type [[ to link to another note, a conversation or a document; what links "
            "to a note is shown next to it.\n\n"
            "In a conversation, among the memories and in the reader, a key makes a note of what "
            "you look at. Press i to import a folder of Markdown."
        )
    )


def title_text(shelves: Sequence[Shelf], *, binned: bool) -> Content:
    """Returns the title line: how many notes are shown, and whether private ones are among them."""
    count = sum(len(shelf.notes) for shelf in shelves)
    if binned:
        line = Content(" · ".join([_("Notes"), ngettext("{count} in the bin", "{count} in the bin", count)]))
    else:
        line = Content(" · ".join([_("Notes"), ngettext("{count} note", "{count} notes", count)]))
    if any(shelf.room.store.room is RoomKind.PRIVATE for shelf in shelves):
        line = Content.assemble(line, " · ", (_("private room unlocked"), "bold $warning"))
    return line


def room_mark(kind: RoomKind) -> str:
    """Returns how a note of a room is marked; empty for the open room."""
    return _(_ROOMS[kind]) if kind in _ROOMS else ""


GROUP = "notes-change"

Show = Callable[["RoomServices", str], None]
"""Shows a note of a room, by its id."""


class NoteList(OptionList):
    """The rows of the list: all are in `rows`, and the first ones of them are its options."""

    # The keys of a list would hide those of the screen in the footer.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "screen.notes_open", _("Write")),
        Binding("right", "screen.notes_links", _("Links"), show=False),
    ]
    pressed_at: int | None = None
    """The row under the cursor when the mouse was pressed."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(id="notes", markup=False)
        self._now = now
        self._row_width = _LEAST_WIDTH
        self.rows: list[Row] = []

    def on_mouse_down(self, _event: events.MouseDown) -> None:
        self.pressed_at = self.highlighted

    @property
    def marked(self) -> Row | None:
        """The row under the cursor."""
        at = self.highlighted
        return None if at is None or at >= min(self.option_count, len(self.rows)) else self.rows[at]

    def show(self, rows: list[Row], width: int, *, cursor: str = "") -> None:
        """Shows rows in a place of this width (0: unknown); the cursor goes to the row with the id `cursor`,
        or stays on its row."""
        at = self.highlighted or 0
        kept = cursor or (self.rows[at].id if at < len(self.rows) else "")
        self.rows = rows
        ids = [row.id for row in rows]
        to = ids.index(kept) if kept in ids else min(at, len(ids) - 1)
        if width > 0:
            self._row_width = max(width - 5, _LEAST_WIDTH)
        self.clear_options()
        self.show_more(to)
        self.display = bool(rows)
        if rows:
            self.highlighted = self._first_open(to)

    def show_more(self, to: int = 0) -> None:
        """Adds options, at least up to the row of the index `to`."""
        begin = self.option_count
        end = min(max(begin + PAGE, to + PAGE // 2), len(self.rows))
        now = self._now()
        self.add_options(
            [
                Option(row_text(row, self._row_width, now), id=row.id, disabled=bool(row.heading))
                for row in self.rows[begin:end]
            ]
        )

    def _first_open(self, at: int) -> int | None:
        """Returns the index of the row at or after a place that is not a heading."""
        shown = self.option_count
        order = [*range(max(at, 0), shown), *range(max(at, 0))]
        return next((i for i in order if i < shown and not self.rows[i].heading), None)

    def go_to(self, row_id: str) -> None:
        """Moves the cursor to a row, if there is one with this id."""
        index = next((i for i, row in enumerate(self.rows) if row.id == row_id), None)
        if index is not None:
            if index >= self.option_count:
                self.show_more(index)
            self.highlighted = index

    def update_note(self, room: "RoomServices", entry: "NoteEntry") -> None:
        """Updates the rows of a note; they keep their places."""
        for index, row in enumerate(self.rows[: self.option_count]):
            if row.note is not None and row.note.id == entry.id and row.room is room:
                self.rows[index] = new = replace(row, note=entry)
                self.replace_option_prompt_at_index(index, row_text(new, self._row_width, self._now()))


def title_check(room: "RoomServices", *, but: str = "") -> "Callable[[str], Coroutine[Any, Any, str]]":
    """Returns a function that says what is wrong with a title for a note of a room."""

    async def check(title: str) -> str:
        if not title:
            return _("A note needs a title, so that links can name it.")
        taken = await room.store.notes.titled(title)
        if taken is None or taken == but:
            return ""
        return _("There is already a note with this title. Choose another one.")

    return check


class NoteBar(TakeBack[Undo]):
    """Offers to take a note out of the bin again."""

    action = "notes.undo"

    class Undone(TakeBack.Undone):
        """The user clicked undo."""


class NoteActions:
    """Acts on the `marked` note.

    `show` opens a note and its editor, `reload` reads the list again, `reread` also the note that is shown;
    `bar` offers to undo.
    """

    def __init__(
        self,
        app: "BaseApp",
        *,
        marked: Callable[[], Row | None],
        show: Show,
        reload: Callable[[], None],
        reread: Callable[[], None],
        bar: "TakeBack[Undo]",
    ) -> None:
        self._app = app
        self._marked = marked
        self._show = show
        self._reload = reload
        self._reread = reread
        self._bar = bar

    def _do(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._app.attempt(work, group=GROUP, exclusive=True)

    def _of_marked(self, work: "Callable[[RoomServices, NoteEntry], Coroutine[Any, Any, None]]") -> None:
        row = self._marked()
        if row is not None and row.room is not None and row.note is not None:
            self._do(partial(self._after_keeping, work, row.room, row.note))

    async def _after_keeping(
        self,
        work: "Callable[[RoomServices, NoteEntry], Coroutine[Any, Any, None]]",
        room: "RoomServices",
        note: "NoteEntry",
    ) -> None:
        await self._app.notes.keep_all()
        await work(room, note)

    # --- new ----------------------------------------------------------------------------------------

    def new(self, title: str = "") -> None:
        """Asks for a title, and opens the new note."""
        self._do(partial(self._new, title))

    async def _new(self, title: str) -> None:
        room = rooms_of(self._app)[0]
        hint = ""
        if room.store.room is RoomKind.PRIVATE:
            hint = _("It is kept in the private room.")
        elif room.store.room is RoomKind.OFF_RECORD:
            hint = _("Nothing is saved off the record: the note ends with the program.")
        check, made = title_check(room), ""
        failure: MemoryFault | OSError | None = None

        async def make(chosen: str) -> str:
            # While the window is open: what is typed next is meant for the new note, never for the old one.
            nonlocal made, failure
            try:
                problem = await check(chosen)
                if not problem:
                    made = (await room.notes.new(chosen)).id
            except (MemoryFault, OSError) as error:
                failure = error
                return ""
            return problem

        await self._app.push_screen_wait(TitleScreen(_("New note"), make, title=title, hint=hint, new=True))
        if failure is not None:
            raise failure
        if made:
            self._reload()
            self._show(room, made)

    # --- import -------------------------------------------------------------------------------------

    def take_folder(self) -> None:
        """Asks for a folder, and imports its Markdown files into the room of the conversation."""
        # Other actions on notes do not cancel it.
        self._app.attempt(self._take_folder, group="notes-import", exclusive=True)

    async def _take_folder(self) -> None:
        room = rooms_of(self._app)[0]
        asked = PathScreen(
            _("Import a folder"),
            placeholder=_("Path to a folder of Markdown files"),
            hint=_("Enter continues · Esc cancels"),
        )
        path = await self._app.push_screen_wait(asked)
        if not path:
            return
        self._app.say(_("Importing"))
        await self._app.notes.keep_all()
        report = await room.note_folders.take(path)
        self._reread()
        lines = [
            import_line(report.added, report.updated, report.unchanged, report.missing),
            *(_("{path}: changed here and on disk; now two notes", path=one) for one in report.conflicts),
            *(f"{one.where}: {one.why}" for one in report.skipped),
        ]
        more = len(lines) - _MOST_TOLD
        self._app.say("\n".join(lines[:_MOST_TOLD] + (["…"] if more > 0 else [])))

    # --- changes ------------------------------------------------------------------------------------

    def rename(self) -> None:
        self._of_marked(self._rename)

    async def _rename(self, room: "RoomServices", note: "NoteEntry") -> None:
        asked = TitleScreen(
            _("Rename the note"),
            title_check(room, but=note.id),
            title=note.title,
            hint=_("Links to it are updated: notes that name it use its new title."),
        )
        title = await self._app.push_screen_wait(asked)
        if title:
            await self._app.notes.keep_all()
            changed = await room.notes.rename(note.id, title)
            self._reread()
            self._app.say(_("Renamed to “{title}”.", title=clean_line(changed.title)))

    def versions(self) -> None:
        self._of_marked(self._versions)

    async def _versions(self, room: "RoomServices", note: "NoteEntry") -> None:
        kept = await room.notes.versions(note.id)
        if not kept:
            self._app.say(_("There are no earlier versions of this note."))
            return
        chosen = await self._app.push_screen_wait(VersionsScreen(note.title, kept, self._app.now()))
        if chosen is not None:
            await self._app.notes.keep_all()
            await room.notes.revert(note.id, chosen)
            self._reread()
            self._app.say(_("Brought back. The previous text is among the earlier versions."))

    def file(self) -> None:
        """Asks which project a note belongs to."""
        self._of_marked(self._file)

    async def _file(self, room: "RoomServices", note: "NoteEntry") -> None:
        from atlas_desktop.tui.history.actions import ProjectsScreen

        screen = ProjectsScreen(self._app, room, note.project)
        chosen = await self._app.push_screen_wait(screen)
        if chosen is None and not screen.out:
            return
        await room.notes.file([note.id], None if chosen is None else chosen.name)
        self._reread()

    # --- rooms --------------------------------------------------------------------------------------

    def move(self) -> None:
        """Moves a note to the private room, or back to the open one."""
        self._of_marked(self._move)

    async def _move(self, room: "RoomServices", note: "NoteEntry") -> None:
        rooms, chat = self._app.desk.rooms, self._app.chat
        if chat is None:
            return
        if room.store.room is RoomKind.PRIVATE:
            asked = ConfirmScreen(
                _("Move to the open room?"),
                _("“{title}” will be visible without the private passphrase.", title=clean_line(note.title)),
                agree=_("Move"),
                refuse=_("Cancel"),
            )
            if not await self._app.push_screen_wait(asked):
                return
            to = RoomKind.OPEN
        else:
            words = _(
                "“{title}” moves there. Links between notes of different rooms lead nowhere.",
                title=clean_line(note.title),
            )
            if not await chat.open_private(words):
                return
            to = RoomKind.PRIVATE
        await rooms.move_document(note.id, to)
        self._reread()
        self._app.say(
            _("Moved to the private room.") if to is RoomKind.PRIVATE else _("Moved to the open room.")
        )

    # --- bin ----------------------------------------------------------------------------------------

    def delete(self, *, binned: bool) -> None:
        """Moves a note to the bin, or permanently deletes one that is in the bin."""
        self._of_marked(self._forget if binned else self._delete)

    async def _delete(self, room: "RoomServices", note: "NoteEntry") -> None:
        await room.notes.delete([note.id])
        self._reload()

        async def undo() -> None:
            await room.notes.restore([note.id])

        self._bar.offer(_("“{title}” moved to the bin.", title=note.title), undo)

    def undo(self) -> None:
        """Restores the note that was just deleted."""
        if (take_back := self._bar.take()) is not None:
            self._do(partial(self._undo, take_back))

    async def _undo(self, take_back: "Undo") -> None:
        await take_back()
        self._reload()

    def restore(self) -> None:
        self._of_marked(self._restore)

    async def _restore(self, room: "RoomServices", note: "NoteEntry") -> None:
        await room.notes.restore([note.id])
        self._reload()
        self._app.say(_("Restored."))

    async def _forget(self, room: "RoomServices", note: "NoteEntry") -> None:
        asked = ConfirmScreen(
            _("Delete this note for good?"),
            "\n\n".join(
                [
                    quoted(clean_line(note.title)),
                    _(
                        "Its text, its versions and everything made from it are erased, also from prompts. "
                        "Links to it lead nowhere. This cannot be undone."
                    ),
                ]
            ),
            agree=_("Delete"),
            refuse=_("Keep"),
        )
        if not await self._app.push_screen_wait(asked):
            return
        erased = await room.notes.forget([note.id])
        self._reload()
        self._app.say(
            _("Deleted. Nothing is left of it.")
            if erased.verified
            else _("Deleted, but traces may remain. Run `atlas vault verify` to check.")
        )
