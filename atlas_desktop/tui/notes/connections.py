"""The connections of a note: its links, neighbours, suggestions and mentions, and how they become links."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from atlas_desktop.locale import N_, _
from atlas_desktop.phrases import reason_text
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.notes.adding import link_of_words
from atlas_desktop.tui.notes.editor import KINDS, NoteEditor
from memory.notes.entities import LinkKind, LinkReason, LinkSuggestion
from memory.notes.markup import folded, snippet
from memory.notes.names import Mention

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.notes.entities import Note

_HEADINGS = {
    "backlinks": N_("Linked from"),
    "links": N_("Links"),
    "neighbours": N_("Neighbours"),
    "suggested": N_("Suggested links"),
    "mentions": N_("Mentioned without a link"),
}
SUGGESTED = 5
_NEIGHBOURS = 12
"""Neighbours of one note that the tree shows."""


@dataclass(frozen=True, slots=True)
class Connection:
    """A row: a heading, or something to open. `at` is a position in the note `to`.

    A `suggestion` or a `mention` can be made a link. `name` is that of a note which is not written yet.
    """

    text: Content
    kind: LinkKind | None = None
    to: str | None = None
    at: int | None = None
    suggestion: LinkSuggestion | None = None
    mention: Mention | None = None
    name: str = ""

    @property
    def leads(self) -> bool:
        return self.to is not None or bool(self.name)

    @property
    def can_link(self) -> bool:
        return self.suggestion is not None or self.mention is not None


class ConnectionList(OptionList):
    """The connections of a note."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", _("Open")),
        Binding("left", "screen.notes_back", _("Back"), show=False),
    ]

    def __init__(self) -> None:
        super().__init__(id="connections", markup=False)
        self.rows: list[Connection] = []

    @property
    def marked(self) -> Connection | None:
        """The row under the cursor."""
        at = self.highlighted
        return None if at is None or at >= len(self.rows) else self.rows[at]

    def show(self, rows: list[Connection]) -> None:
        """Shows rows; the cursor keeps its place if that leads somewhere."""
        at = self.highlighted
        self.rows = rows
        with self.app.batch_update():
            self.clear_options()
            self.add_options([Option(row.text, disabled=not row.leads) for row in rows])
            if not rows:
                words = _("Nothing is linked yet. Type [[ in the text to link to something.")
                self.add_option(Option(Content.styled(words, "$quiet"), disabled=True))
            if at is not None and at < len(rows) and rows[at].leads:
                self.highlighted = at

    def clear(self) -> None:
        """Removes all rows."""
        self.rows = []
        self.clear_options()


class LinkMaker:
    """Makes links of suggestions and mentions.

    `note` returns the note that is shown, `save` stores what is typed in the `editor`, and `reread` shows the
    note again after another one has changed.
    """

    def __init__(
        self,
        app: "BaseApp",
        editor: NoteEditor,
        *,
        note: "Callable[[], Note | None]",
        save: Callable[[], Awaitable[None]],
        reread: Callable[[], None],
    ) -> None:
        self._app = app
        self._editor = editor
        self._note = note
        self._save = save
        self._reread = reread

    async def link(self, row: Connection, room: "RoomServices", note: "Note") -> None:
        """Makes a link of a suggestion for the note, or of a mention of it."""
        if row.mention is not None:
            await self._mention(room, note, row.mention)
        elif row.suggestion is not None:
            await self._suggestion(room, row.suggestion)

    async def _suggestion(self, room: "RoomServices", suggestion: LinkSuggestion) -> None:
        """Links the words that name the other note, or adds a line with the link."""
        other = await room.notes.get(suggestion.note)
        await self._save()
        note = self._note()
        if note is None or self._editor.text != note.text:
            return
        at = suggestion.reason.at if suggestion.reason.why is LinkReason.MENTION else None
        if at is not None and folded(note.text[slice(*at)]) in map(folded, (other.title, *other.aliases)):
            begin, end = at
            link = link_of_words(other.title, other.id, note.text[begin:end])
            self._editor.put_in(begin, end, link)
        else:
            end = len(note.text.rstrip())
            link = link_of_words(other.title, other.id, "")
            self._editor.put_in(end, len(note.text), f"\n\n{link}\n" if end else f"{link}\n")
        await self._save()
        self._app.say(
            _("Linked to “{title}”. Ctrl+Z in the text takes it back.", title=clean_line(other.title))
        )

    async def _mention(self, room: "RoomServices", note: "Note", mention: Mention) -> None:
        """Makes a link to this note of words in another."""
        await self._save()
        other = await room.notes.get(mention.note)
        begin, end = mention.at
        words = other.text[begin:end]
        if folded(words) in map(folded, (note.title, *note.aliases)):
            link = link_of_words(note.title, note.id, words)
            text = other.text[:begin] + link + other.text[end:]
            await room.notes.edit(other.id, text, keep_version=True)
            self._app.say(_("Linked in “{title}”.", title=clean_line(other.title)))
        self._reread()


async def connections_of(note: "Note", room: "RoomServices") -> list[Connection]:
    """Reads what a note is connected with: what links to it, what it links to, its neighbours as a tree."""
    return [
        *_section("backlinks", _backlinks(note)),
        *_section("links", _links(note)),
        *_section("neighbours", await _tree(note, room)),
    ]


def _section(name: str, rows: "Iterator[Connection] | Sequence[Connection]") -> Iterator[Connection]:
    found = list(rows)
    if found:
        yield Connection(Content.styled(_(_HEADINGS[name]), "bold $accent"))
        yield from found


def _backlinks(note: "Note") -> Iterator[Connection]:
    for one in note.backlinks:
        text = Content.assemble(
            ("← ", "$accent"),
            clean_line(one.title) or _("Untitled"),
            "\n   ",
            (clean_line(one.snippet), "$quiet"),
        )
        yield Connection(text, LinkKind.NOTE, one.note, one.begin)


def _links(note: "Note") -> Iterator[Connection]:
    seen: set[tuple[str | None, str]] = set()
    for link in note.links:
        if (link.to, "" if link.to else link.text) in seen:
            continue
        seen.add((link.to, "" if link.to else link.text))
        name = clean_line(link.title or link.shown or link.text)
        if link.to is None:
            text = Content.assemble(("? ", "$error"), name, "  ", (_("not written yet"), "$quiet"))
            yield Connection(text, name=link.text)
        else:
            kind = "" if link.kind is LinkKind.NOTE else _(KINDS[link.kind])
            yield Connection(
                Content.assemble(("→ ", "$accent"), name, "  ", (kind, "$quiet")), link.kind, link.to
            )


async def proposals_of(note: "Note", room: "RoomServices") -> list[Connection]:
    """Reads what a note could be linked with: suggestions with their reasons, and places that mention it."""
    suggested = [one for one in await room.notes.suggest(note.id, SUGGESTED) if one.likely]
    mentioned = await room.notes.mentions(note.id)
    ids = [*(one.note for one in suggested), *(other for one in suggested for other in one.reason.notes)]
    ids += [one.note for one in mentioned]
    others = {one.id: one for one in await room.store.notes.get_many(list(dict.fromkeys(ids)))}
    titles = {one.id: one.title for one in others.values()}
    return [
        *_section(
            "suggested",
            [
                Connection(
                    Content.assemble(
                        ("+ ", "$accent"),
                        clean_line(titles[one.note]),
                        "\n   ",
                        (clean_line(reason_text(one.reason, titles)), "$quiet"),
                    ),
                    LinkKind.NOTE,
                    one.note,
                    suggestion=one,
                )
                for one in suggested
                if one.note in others
            ],
        ),
        *_section(
            "mentions",
            [
                Connection(
                    Content.assemble(
                        ("+ ", "$accent"),
                        clean_line(titles[one.note]),
                        "\n   ",
                        (clean_line(snippet(others[one.note].text, *one.at)), "$quiet"),
                    ),
                    LinkKind.NOTE,
                    one.note,
                    one.at[0],
                    mention=one,
                )
                for one in mentioned
                if one.note in others
            ],
        ),
    ]


async def _tree(note: "Note", room: "RoomServices") -> list[Connection]:
    """Returns the notes within two steps, by links in either direction. Each appears once, at its nearest
    place."""
    near = _neighbours(note)
    notes = {one.id: one for one in await room.store.notes.get_many(list(near))}
    seen = {note.id, *near}
    rows: list[Connection] = []
    first = [one for one in near if one in notes]
    if not any(set(_neighbours(notes[one])) - seen for one in first):
        # Everything is in the two lists above already.
        return []
    for number, id_ in enumerate(first):
        last = number == len(first) - 1
        rows.append(_branch("└ " if last else "├ ", near[id_], id_))
        further = {key: title for key, title in _neighbours(notes[id_]).items() if key not in seen}
        seen |= set(further)
        keys = list(further)
        for at, key in enumerate(keys):
            edge = ("  " if last else "│ ") + ("└ " if at == len(keys) - 1 else "├ ")
            rows.append(_branch(edge, further[key], key))
    return rows


def _branch(edge: str, title: str, id_: str) -> Connection:
    return Connection(
        Content.assemble((edge, "$quiet"), clean_line(title) or _("Untitled")), LinkKind.NOTE, id_
    )


def _neighbours(note: "Note") -> dict[str, str]:
    """Returns the notes that a note links to or is linked from, with their titles."""
    found = {link.to: link.title for link in note.links if link.to is not None and link.kind is LinkKind.NOTE}
    found |= {one.note: one.title for one in note.backlinks}
    found.pop(note.id, None)
    return dict(list(found.items())[:_NEIGHBOURS])
