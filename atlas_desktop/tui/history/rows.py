"""How the history browser shows what it found: as a row, and as a preview."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual.content import Content, Span

from atlas_desktop.errors import size
from atlas_desktop.locale import N_, _, formats, ngettext
from atlas_desktop.phrases import category_text, place_text
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.sessions import number_of, without_number
from atlas_desktop.tui.calendar import GROUPS, group_of, long, short
from atlas_desktop.tui.documents.rows import short_path
from atlas_desktop.tui.markdown_text import markdown_text, without_marks
from memory.documents.entities import DocumentKind, DocumentMatch
from memory.entities import Message, RoomKind, Session
from memory.search.entities import SessionHit, Snippet
from models.messages import Role

if TYPE_CHECKING:
    from atlas_desktop.services.sessions import BranchService
_HISTORY_TEXTS = {
    "is_starred": N_("starred"),
    "is_important": N_("important"),
    "is_pinned": N_("pinned"),
    "archived": N_("archived"),
}


SIGNS = {DocumentKind.DOCUMENT: "▤", DocumentKind.NOTE: "✎"}
FOUND = "bold underline"
"""The style of matches; they also have a colour on the background of the list."""
_INDENT = 2
_LEAST_TITLE = 12
_LONGEST = 1500
"""Maximum characters of a message in the preview."""


@dataclass(frozen=True, slots=True)
class RowLook:
    """The state of a row in its list."""

    width: int
    cursor: bool = False
    selected: bool = False
    binned: bool = False


def group(session: Session, now: datetime, *, pins: bool) -> str:
    """Returns the heading of a row: today, yesterday, a day of this week, or a month."""
    if pins and session.pinned_at is not None:
        return _("Pinned")
    found = group_of(session.updated_at, now)
    local = session.updated_at.astimezone(now.tzinfo)
    if found == GROUPS[2]:
        return f"{formats().weekday(local)}, {formats().day(local)}"
    return formats().month(local) if found == GROUPS[3] else found


def title_of(session: Session) -> str:
    return clean_line(session.title) or _("Untitled")


def line_of(hit: SessionHit, now: datetime, look: RowLook) -> tuple[Content, Content]:
    """Returns two lines: title and time, then what was found or what is known. Both fill the width."""
    session = hit.session
    quiet, bright = ("", FOUND) if look.cursor else ("$quiet", f"{FOUND} $accent")
    at = session.deleted_at if look.binned and session.deleted_at else session.updated_at
    when = " ".join([*_signs(session), short(at, now)])
    mark = "✓ " if look.selected else "  "
    room = room_word(session.room)
    free = max(look.width - _INDENT - cell_len(room) - cell_len(when) - 1, _LEAST_TITLE)
    title = hit.title if clean_line(hit.title.text) else Snippet(_("Untitled"))
    first = Content.assemble(
        (mark, "bold"),
        (room, "bold" if look.cursor else "bold $warning"),
        _fitted(_title(title, free, bright), free),
        " ",
        (when, quiet),
    )
    free = max(look.width - _INDENT, _LEAST_TITLE)
    if hit.snippet is not None and hit.snippet.text:
        words = marked(hit.snippet, free, bright)
        second = words if look.cursor else words.stylize_before("$quiet")
    else:
        second = Content.styled(_cut(_facts(hit), free), quiet)
    return first, Content.assemble(" " * _INDENT, _fitted(second, free))


def document_line_of(hit: DocumentMatch, now: datetime, look: RowLook) -> tuple[Content, Content]:
    """Returns two lines: title and time, then the place of the passage and its words.

    A note has no place, because users never see its text with line numbers.
    """
    quiet, bright = ("", FOUND) if look.cursor else ("$quiet", f"{FOUND} $accent")
    room, when = room_word(hit.room), short(hit.dated, now)
    free = max(look.width - _INDENT - cell_len(room) - cell_len(when) - 3, _LEAST_TITLE)
    first = Content.assemble(
        "  ",
        (room, "bold" if look.cursor else "bold $warning"),
        (f"{SIGNS[hit.kind]} ", quiet),
        _fitted(marked(hit.title, free, bright), free),
        " ",
        (when, quiet),
    )
    free = max(look.width - _INDENT, _LEAST_TITLE)
    if hit.chunk is None or hit.snippet is None:
        second = Content.styled(_cut(" · ".join(_document_facts(hit)), free), quiet)
    else:
        place = "" if hit.kind is DocumentKind.NOTE else f"{place_text(hit.chunk.page, hit.chunk.lines)}  "
        words = marked(hit.snippet, max(free - cell_len(place), _LEAST_TITLE), bright)
        second = Content.assemble(
            (place, "" if look.cursor else "$accent"),
            words if look.cursor else words.stylize_before("$quiet"),
        )
    return first, Content.assemble(" " * _INDENT, _fitted(second, free))


def _document_facts(hit: DocumentMatch) -> list[str]:
    document = hit.document
    found = [ngettext("{count} page", "{count} pages", document.pages)] if document.pages else []
    found += [size(document.size), short_path(document.path)] if hit.kind is DocumentKind.DOCUMENT else []
    return [one for one in found if one]


def document_preview(hit: DocumentMatch, now: datetime) -> Content:
    """Returns what is known about a document, and the passage that was found, with the matches marked."""
    document, chunk = hit.document, hit.chunk
    facts = [room.strip()] if (room := room_word(hit.room)) else []
    facts += [
        _("Note") if hit.kind is DocumentKind.NOTE else _("Document"),
        *_document_facts(hit),
        long(hit.dated, now),
    ]
    facts += [_("project {name}", name=clean_line(document.project))] if document.project else []
    facts += [ngettext("1 passage", "{count} passages", hit.matches)] if hit.matches else []
    parts: list[Content | str | tuple[str, str]] = [
        (clean_line(hit.title.text) or _("Untitled"), "bold"),
        "\n",
        (" · ".join(facts), "$quiet"),
    ]
    if chunk is not None:
        where = " › ".join([*map(clean_line, chunk.heading), place_text(chunk.page, chunk.lines)])
        text = clean(chunk.text).strip()[:_LONGEST]
        body = markdown_text(text) if document.media_type == "text/markdown" else Content(text)
        if (wanted := _wanted(hit)) is not None:
            body = body.highlight_regex(wanted, style=f"{FOUND} $accent")
        parts += ["\n\n", (where, "bold $accent"), "\n", body]
    elif document.summary is not None:
        parts += ["\n\n", markdown_text(document.summary.text[:_LONGEST])]
    return Content.assemble(*parts)


def _title(title: Snippet, width: int, style: str) -> Content:
    """Like `marked`, but a number that tells titles apart stays visible when the title is cut."""
    number = number_of(title.text)
    if not number or cell_len(_visible(title.text)) <= width:
        return marked(title, width, style)
    words = without_number(title.text)
    marks = tuple((begin, end) for begin, end in title.marks if end <= len(words))
    return marked(Snippet(words, marks), width - len(number), style) + number


def marked(piece: Snippet, width: int, style: str) -> Content:
    """Returns a text with the matches marked, cut so that the first match is visible."""
    text, marks = without_marks(_visible(piece.text), piece.marks)
    begin = 0
    if marks and cell_len(text) > width and cell_len(text[: marks[0][1]]) > width - 2:
        begin = max(marks[0][0] - width // 3, 1)
    shown = _cut(("…" if begin else "") + text[begin:], width)
    shift = (1 if begin else 0) - begin
    end = len(shown) - (1 if shown.endswith("…") and len(shown) < len(text) - begin else 0)
    spans = [Span(max(a + shift, 0), min(b + shift, end), style) for a, b in marks if 0 <= a + shift < end]
    return Content(shown, spans=spans)


def preview(
    hit: SessionHit, messages: Sequence[Message], now: datetime, width: int, *, binned: bool = False
) -> Content:
    """Returns the marks of a conversation and some of its messages, with the matches marked.

    Tables are drawn for a `width`.
    """
    session = hit.session
    parts: list[Content | str | tuple[str, str]] = [
        (title_of(session), "bold"),
        "\n",
        (" · ".join(_known(hit, now, binned=binned)), "$quiet"),
    ]
    wanted = _wanted(hit)
    for message in messages:
        who = _speaker(message)
        chosen = hit.message is not None and message.id == hit.message.id
        text = clean(message.content).strip()
        text, cut = (text[:_LONGEST], " …") if len(text) > _LONGEST else (text, "")
        body = markdown_text(text, width)
        if wanted is not None:
            body = body.highlight_regex(wanted, style=f"{FOUND} $accent")
        parts += [
            "\n\n",
            ("▸ " if chosen else "", "bold $accent"),
            (who, "bold $mine" if message.role is Role.USER else "bold $primary"),
            (f" · {long(message.created_at, now)}", "$quiet"),
            "\n",
            body,
            (cut, "$quiet"),
        ]
    return Content.assemble(*parts)


# --- parts -----------------------------------------------------------------------------------------


def _signs(session: Session) -> list[str]:
    """Returns the signs that precede the time."""
    return [
        *([_("!")] if session.important else []),
        *([_("★")] if session.starred else []),
        *([_("archived")] if session.archived_at is not None else []),
    ]


def room_word(room: RoomKind) -> str:
    words = {RoomKind.PRIVATE: _("private"), RoomKind.OFF_RECORD: _("unsaved")}
    return f"{words[room]} " if room in words else ""


def _facts(hit: SessionHit) -> str:
    session = hit.session
    parts = [ngettext("1 message", "{count} messages", session.message_count)]
    parts += [ngettext("1 hit", "{count} hits", hit.matches)] if hit.matches else []
    parts += [clean_line(session.project)] if session.project else []
    parts += [" ".join(f"#{clean_line(tag)}" for tag in session.tags)] if session.tags else []
    parts += [category_text(session.category)] if session.category else []
    return " · ".join(parts)


def _known(hit: SessionHit, now: datetime, *, binned: bool) -> list[str]:
    session = hit.session
    found = [room.strip()] if (room := room_word(session.room)) else []
    for holds, word in (
        (session.starred, "is_starred"),
        (session.important, "is_important"),
        (session.pinned_at is not None, "is_pinned"),
        (session.archived_at is not None, "archived"),
    ):
        found += [_(_HISTORY_TEXTS[word])] if holds else []
    found.append(ngettext("1 message", "{count} messages", session.message_count))
    found += [ngettext("1 hit", "{count} hits", hit.matches)] if hit.matches else []
    found += [_("project {name}", name=clean_line(session.project))] if session.project else []
    found += [f"#{clean_line(tag)}" for tag in session.tags]
    found += [category_text(session.category)] if session.category else []
    begun, used = long(session.created_at, now), long(session.updated_at, now)
    found += [_("started {when}", when=begun)] if begun != used else []
    found.append(_("last used {when}", when=used))
    if binned and session.deleted_at is not None:
        found.append(_("deleted {when}", when=long(session.deleted_at, now)))
    return found


def _speaker(message: Message) -> str:
    if message.role is Role.USER:
        return _("You")
    return _("Instructions") if message.role is Role.SYSTEM else "Atlas"


def _wanted(hit: SessionHit | DocumentMatch) -> "re.Pattern[str] | None":
    """Returns a pattern of the words that matched in the title and the snippet."""
    found = {
        piece.text[a:b] for piece in (hit.title, hit.snippet) if piece is not None for a, b in piece.marks
    }
    words = sorted((word for word in found if word.strip()), key=len, reverse=True)
    return re.compile("|".join(map(re.escape, words)), re.IGNORECASE) if words else None


def _visible(text: str) -> str:
    """Returns the text on one line, each invisible character replaced by a space."""
    if clean_line(text) == text:
        return text
    return "".join(char if char.isprintable() and clean(char) == char else " " for char in text)


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


def _fitted(content: Content, width: int) -> Content:
    """Pads with spaces to the width."""
    return content.pad_right(max(width - content.cell_length, 0))


SHOWN = 6


async def around(branches: "BranchService", hit: "SessionHit") -> "list[Message]":
    """Returns the matching message and those after it; otherwise the end of the conversation."""
    branch = await branches.open(hit.session.id, newest=SHOWN)
    if hit.message is None:
        return list(branch.newest)
    if hit.message.id not in branch.ids:
        # It is on a different branch from the one shown.
        return [hit.message]
    place = branch.ids.index(hit.message.id)
    shown = branch.ids[place : place + SHOWN]
    return await branches.page(hit.session.id, shown[-1], len(shown))
