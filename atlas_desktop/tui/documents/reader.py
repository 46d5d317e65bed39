"""The reader: the text of one document, with search, quotations and an outline."""

import asyncio
import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from atlas_desktop.locale import _, number
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.clipboard import copy_out
from atlas_desktop.tui.dialogs.choices import Choice, PickScreen
from atlas_desktop.tui.documents.text_view import DocumentText, Page
from atlas_desktop.tui.documents.texts import AskAbout, place_text, quoted, title_text
from atlas_desktop.tui.notes.adding import add_to_note, of_document
from atlas_desktop.tui.overlays import Covering
from atlas_desktop.tui.textual_workarounds import SparingScreen
from atlas_desktop.tui.widgets.inputs import CleanInput
from atlas_desktop.tui.widgets.keyline import KeyLine
from memory.errors import MemoryFault, RoomClosed
from memory.jobs.foreground_gate import Gently

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.documents.entities import Document


MOST = 20_000
"""Matches that are counted and marked."""
_PIECE = 32_768
"""Characters that are searched at a time: a search holds the interpreter, and keys wait for it."""
_OVERLAP = 1_000


def matches(text: str, words: str, position: int = 0) -> list[tuple[int, int]]:
    """Returns the ranges of the words in the text, in order: at most `MOST`, those after a position first.

    Capital letters and the kind of space do not matter.
    """
    parts = words.split()
    if not parts:
        return []
    pattern = re.compile(r"\s+".join(map(re.escape, parts)), re.IGNORECASE)
    after = _matches(pattern, text, position, len(text), MOST)
    return _matches(pattern, text, 0, position, MOST - len(after)) + after


def _matches(pattern: "re.Pattern[str]", text: str, begin: int, end: int, most: int) -> list[tuple[int, int]]:
    """Returns the first matches that begin in a range."""
    found: list[tuple[int, int]] = []
    after = begin
    for at in Gently(range(begin, end, _PIECE)):
        stop = min(at + _PIECE, end)
        for match in pattern.finditer(text, max(at, after), stop + _OVERLAP):
            if match.start() >= stop or len(found) == most:
                break
            found.append(match.span())
            after = match.end()
    return found


def next_match(found: Sequence[tuple[int, int]], position: int, step: int) -> int:
    """Returns the index of the first match after (`step` 1) or the last one before (-1) a position; wraps."""
    at = bisect_left(found, (position, position)) if step < 0 else bisect_left(found, (position + 1, 0))
    return (at if step > 0 else at - 1) % len(found)


_ABOVE = 4
"""Rows shown above a passage."""
_TYPED = ("back", "search")
_LONGEST_ASKED = 4_000
"""Characters of a selection that are put into the prompt."""


class ReaderScreen(Covering, SparingScreen[AskAbout | None]):
    """Dismissed with what to ask, or None.

    It opens at the range `passage`, which is marked. If the document has changed since the passage was
    cited, its `quote` is looked for instead.
    """

    CSS_PATH = "documents.tcss"
    where = Where.READER
    AUTO_FOCUS = "DocumentText"
    BINDINGS = [*bindings(Where.READER)]  # noqa: RUF012

    def __init__(
        self,
        app: "BaseApp",
        room: "RoomServices",
        document_id: str,
        *,
        passage: tuple[int, int] | None = None,
        quote: str = "",
        current: bool = True,
    ) -> None:
        super().__init__(app.size.width)
        self.atlas = app
        self._room = room
        self._document_id = document_id
        self._passage = passage
        self._quote = quote
        self._current = current
        self._document: Document | None = None
        self._page = Page("")
        self._shown_words = ""
        self._title = Static("", id="title", markup=False)
        self._note = Static("", id="note", markup=False)
        self.view = DocumentText(self._run, id="text")
        self._field = CleanInput(
            placeholder=_("Search in this document · Enter finds, Esc closes"),
            id="search",
            select_on_focus=False,
        )

    def compose(self) -> ComposeResult:
        yield self._title
        yield self._note
        yield self._field
        yield self.view
        yield KeyLine()

    def on_mount(self) -> None:
        self.atlas.attempt(self._read, group="reader", exclusive=True)

    def _run(self, work: object) -> None:
        self.atlas.attempt(work, group="reader-layout", exclusive=True)  # type: ignore[arg-type]

    async def _read(self) -> None:
        store = self._room.store.documents
        try:
            document = await store.get(self._document_id)
            text = await store.text(self._document_id) or ""
            pages = await store.pages(self._document_id)
        except RoomClosed:
            # The screen closes together with its room.
            if self in self.app.screen_stack:
                raise
            return
        except MemoryFault:
            self.dismiss(None)
            raise
        if not self.is_attached:
            return
        self._document = document
        self._page = Page(text, pages, document.headings)
        passage = self._found_again(text)
        self.view.passage = passage
        self.view.show(self._page, 0)
        if passage is not None:
            self.view.go_to(passage[0], above=_ABOVE)
        if not text:
            self._tell_note(_("No text was read from this document."))
        self._tell()

    def _found_again(self, text: str) -> tuple[int, int] | None:
        """Returns the range of the passage, also in a document that has changed since it was cited."""
        if self._passage is None or self._current:
            return self._passage
        begin = text.find(self._quote) if self._quote else -1
        self._tell_note(
            _("The document has changed since it was cited. The passage is marked where it is now.")
            if begin >= 0
            else _("The document has changed since it was cited, and the passage is not in it any more.")
        )
        return (begin, begin + len(self._quote)) if begin >= 0 else None

    # --- display ----------------------------------------------------------------------------------

    def _tell_note(self, words: str) -> None:
        self._note.update(Content(words))
        self._note.set_class(bool(words), "-shown")

    def _tell(self) -> None:
        """Updates the title line and the footer."""
        self._tell_title()
        self.refresh_bindings()

    def _tell_title(self) -> None:
        if self._document is None or not self._title.is_attached:
            return
        parts = [title_text(self._document)]
        if pages := self._page.pages:
            here = max(bisect_right(pages, self.view.top), 1)
            parts.append(_("page {page} of {pages}", page=number(here), pages=number(len(pages))))
        elif self._page.text:
            parts.append(f"{self.view.top / len(self._page.text):.0%}")
        if self.view.found:
            total = number(len(self.view.found)) + ("+" if len(self.view.found) == MOST else "")
            at = bisect_right(self.view.found, self.view.current) if self.view.current else 0
            parts.append(_("match {at} of {total}", at=number(at), total=total))
        elif self._shown_words:
            parts.append(_("no matches for “{words}”", words=clean_line(self._shown_words)))
        self._title.update(Content(" · ".join(parts)), layout=False)

    def on_document_text_moved(self) -> None:
        self._tell_title()

    # --- search -----------------------------------------------------------------------------------

    def action_reader_search(self) -> None:
        self._field.add_class("-shown")
        self._field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.view.focus()
        words = event.value.strip()
        if words == self._shown_words and self.view.found:
            self._step(1)
        else:
            self.atlas.attempt(partial(self._find, words), group="reader", exclusive=True)

    async def _find(self, words: str) -> None:
        page = self._page
        found = await asyncio.to_thread(matches, page.text, words, self.view.top)
        if not self.is_attached or page is not self._page:
            return
        self._shown_words = words
        self.view.found, self.view.current = found, None
        self.view.refresh()
        if found:
            self._step(1, first=True)
        self._tell()

    def action_reader_next(self) -> None:
        self._step(1)

    def action_reader_previous(self) -> None:
        self._step(-1)

    def _step(self, by: int, *, first: bool = False) -> None:
        found = self.view.found
        if not found:
            return
        position = self.view.current[0] if self.view.current else self.view.top - (1 if first else 0)
        self.view.current = found[next_match(found, position, by)]
        self.view.show_range(self.view.current[0])
        self.view.refresh()
        self._tell()

    # --- quotations -------------------------------------------------------------------------------

    @property
    def _chosen(self) -> tuple[int, int] | None:
        """The range to copy or ask about: the selection, the line of the current match, or the passage."""
        if (selected := self.view.selected) is not None:
            return selected
        if (current := self.view.current) is not None:
            begin = self._page.text.rfind("\n", 0, current[0]) + 1
            end = self._page.text.find("\n", current[1])
            return begin, len(self._page.text) if end < 0 else end
        return self.view.passage

    def _place(self, begin: int, end: int) -> str:
        pages, text = self._page.pages, self._page.text
        page = bisect_right(pages, begin) if pages else None
        first = text.count("\n", 0, begin) + 1
        return place_text(page, (first, first + text.count("\n", begin, max(end - 1, begin))))

    def _cited(self, begin: int, end: int) -> str:
        """Returns a range of the text as a quotation with its source."""
        assert self._document is not None
        text = clean(self._page.text[begin:end])
        return quoted(text, f"{title_text(self._document)}, {self._place(begin, end)}")

    def action_reader_note(self) -> None:
        """Makes a note of the chosen text, or of the document, or adds it to one."""
        if self._document is None:
            return
        title = title_text(self._document)
        source = of_document(self._document, title)
        if (chosen := self._chosen) is not None:
            text = clean(self._page.text[slice(*chosen)])
            source = of_document(self._document, title, self._place(*chosen), text)
        self.atlas.attempt(partial(add_to_note, self.atlas, self._room, source), group="reader-note")

    def action_reader_copy(self) -> None:
        if (chosen := self._chosen) is None:
            self.atlas.say(_("Select text first: with the mouse, or with Shift and the arrow keys."))
            return
        copied = copy_out(
            self.atlas, self._room.store.room, self._cited(*chosen), _("Copied, with its source.")
        )
        self.atlas.attempt(copied, group="reader-copy")

    def action_reader_ask(self) -> None:
        if self._document is None:
            return
        quote = ""
        if (chosen := self._chosen) is not None:
            begin, end = chosen
            quote = self._cited(begin, min(end, begin + _LONGEST_ASKED))
        self.dismiss(AskAbout((self._document,), self._room.store.room, quote))

    # --- navigation -------------------------------------------------------------------------------

    def action_reader_outline(self) -> None:
        if not self._page.headings:
            self.atlas.say(_("This document has no headings."))
            return
        self.atlas.attempt(self._choose_heading, group="reader", exclusive=True)

    async def _choose_heading(self) -> None:
        choices = [
            Choice(str(one.begin), f"{'· ' * (one.level - 1)}{clean_line(one.text)}")
            for one in self._page.headings
        ]
        chosen = await self.atlas.push_screen_wait(PickScreen(_("Outline"), choices))
        if chosen is not None:
            self.view.go_to(int(chosen))

    def action_reader_back(self) -> None:
        """Closes the search field, ends the selection, ends the search, then closes the reader."""
        if self._field.has_class("-shown"):
            self._field.remove_class("-shown")
            self._field.value = ""
            self.view.focus()
        elif self.view.clear_selected():
            return
        elif self._shown_words:
            self._shown_words = ""
            self.view.found, self.view.current = (), None
            self.view.refresh()
            self._tell()
        else:
            self.dismiss(None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        deed = action.removeprefix("reader_")
        if deed == action:
            return super().check_action(action, parameters)
        if self._field.has_focus and deed not in _TYPED:
            return False
        if deed in ("next", "previous"):
            return bool(self.view.found)
        return deed != "outline" or bool(self._page.headings)
