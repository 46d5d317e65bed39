"""The list of the history browser: conversations, read as they come into view; documents; notes."""

import asyncio
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.reactive import var
from textual.scroll_view import ScrollView
from textual.strip import Strip
from textual.visual import Visual
from textual.worker import Worker

from atlas_desktop.error_table import unclear
from atlas_desktop.locale import _
from atlas_desktop.services.search import Asked, FindingService
from atlas_desktop.tui.history.rows import RowLook, document_line_of, group, line_of
from memory.documents.entities import DocumentKind, DocumentMatch
from memory.entities import Session
from memory.errors import QueryUnclear, SavedSearchNotFound
from memory.organising import MarksPatch
from memory.search.entities import ItemKind, Order, Page, Query, SessionHit
from memory.search.language import of_kind

_KEPT_STRIPS = 2000


class HistoryList(ScrollView, can_focus=True):
    """Rows are numbered from 0 to `total`: first the conversations, then the documents, then the notes.

    Conversations that have not been read are empty until `put`. Only conversations can be selected.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"history-list--cursor", "history-list--heading"}
    DEFAULT_CSS = """
    HistoryList {
        height: 1fr;
        background: $background;
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
        & > .history-list--heading { color: $quiet; text-style: bold; }
        & > .history-list--cursor {
            background: $block-cursor-blurred-background;
            color: $block-cursor-blurred-foreground;
            text-style: $block-cursor-blurred-text-style;
        }
        &:focus > .history-list--cursor {
            background: $block-cursor-background;
            color: $block-cursor-foreground;
            text-style: $block-cursor-text-style;
        }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "step(-1)", show=False),
        Binding("down,j", "step(1)", show=False),
        Binding("pageup", "leaf(-1)", show=False),
        Binding("pagedown", "leaf(1)", show=False),
        Binding("home", "first", show=False),
        Binding("end", "last", show=False),
    ]

    cursor: var[int] = var(0, init=False)

    class Wanted(Message):
        """Rows came into view that have not been read; `first` is one of them."""

        def __init__(self, first: int) -> None:
            super().__init__()
            self.first = first

    class Moved(Message):
        """The cursor is on another row, or its row has another content."""

    class Opened(Message):
        """The user clicked the row under the cursor."""

    class Left(Message):
        """The user pressed Up on the first row."""

    @dataclass
    class Marked(Message):
        """The user clicked the mark of a row."""

        row: int

    def __init__(self, now: datetime, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._now = now
        self._lines = Lines(now)
        self._binned = False
        self._strips: dict[tuple[int, RowLook, bool], list[Strip]] = {}
        self.selected: dict[str, SessionHit] = {}

    # --- rows ------------------------------------------------------------------------------------

    def show(
        self,
        rows: Mapping[int, SessionHit],
        conversations: int,
        now: datetime,
        *,
        documents: Sequence[DocumentMatch] = (),
        cursor: int = 0,
        grouped: bool = True,
        pins: bool = True,
        binned: bool = False,
    ) -> None:
        """Replaces all rows; `documents` are documents and notes, in this order."""
        self._now, self._binned = now, binned
        self._lines = Lines(now, conversations, documents, grouped=grouped, pins=pins)
        self._lines.add(rows)
        self._strips.clear()
        self._fit()
        before = self.cursor
        self.cursor = min(max(cursor, 0), max(self.total - 1, 0))
        if before == self.cursor:
            self._follow()
            self.post_message(self.Moved())
        self.refresh()
        self.look_ahead()

    def put(self, rows: Mapping[int, SessionHit], conversations: int) -> None:
        """Adds rows that were read; `conversations` is the number known so far. The list does not scroll."""
        top = self._lines.row_at(round(self.scroll_y))
        above = self._lines.headings_to(top)
        on_document, more = self.document is not None, conversations - self.conversations
        self._lines.add(rows)
        self._lines.grow(conversations)
        self._fit()
        if more and self._lines.documents:
            self._strips.clear()
            if on_document:
                self.cursor += more
        if more := self._lines.headings_to(top) - above:
            self.scroll_to(y=self.scroll_y + more, animate=False, immediate=True)
        if self.cursor in rows:
            self.post_message(self.Moved())
        self.refresh()
        self.look_ahead()

    @property
    def total(self) -> int:
        """The number of rows known so far."""
        return self._lines.total

    @property
    def conversations(self) -> int:
        """The number of conversations known so far."""
        return self._lines.conversations

    def row(self, index: int) -> SessionHit | None:
        return self._lines.rows.get(index)

    @property
    def marked(self) -> SessionHit | None:
        """The conversation under the cursor."""
        return self._lines.rows.get(self.cursor)

    @property
    def document(self) -> DocumentMatch | None:
        """The document, or the note, under the cursor."""
        return self._lines.document(self.cursor)

    @property
    def fetched(self) -> Iterator[tuple[int, SessionHit]]:
        yield from self._lines.rows.items()

    def seen(self) -> range:
        """The rows in view."""
        if not self.total:
            return range(0)
        top = round(self.scroll_y)
        return range(self._lines.row_at(top), self._lines.row_at(top + max(self.size.height - 1, 0)) + 1)

    def select(self, hits: Sequence[SessionHit], *, selected: bool = True) -> None:
        for hit in hits:
            if selected:
                self.selected[hit.session.id] = hit
            else:
                self.selected.pop(hit.session.id, None)
        self.refresh()

    def mark_selected(self, ids: Collection[str], patch: MarksPatch) -> None:
        """Applies marks to selected conversations, whose rows may not be read again."""
        for session_id in set(ids) & set(self.selected):
            hit = self.selected[session_id]
            self.selected[session_id] = replace(hit, session=_marked(hit.session, patch))
        self.refresh()

    def clear_selection(self) -> None:
        self.selected.clear()
        self.refresh()

    def _fit(self) -> None:
        self.virtual_size = Size(self.size.width, self._lines.height)

    def look_ahead(self) -> None:
        """Asks for missing rows in view or near it."""
        if not self.total:
            return
        seen = self.seen()
        # At most half a screen ahead: rows that further typing replaces would be read in vain.
        near = range(seen.start, min(seen.stop + len(seen) // 2, self.conversations))
        missing = next((row for row in near if row not in self._lines.rows), None)
        if missing is not None:
            self.post_message(self.Wanted(missing))

    # --- rendering -------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        line = y + self.scroll_offset.y
        if line >= self.virtual_size.height or not self.total:
            return Strip.blank(width, self.rich_style)
        row = self._lines.row_at(line)
        part = line - self._lines.top(row)
        if row in self._lines.words:
            if part == 0:
                return self._heading(self._lines.words[row], width)
            part -= 1
        hit = self._lines.rows.get(row) or self._lines.document(row)
        if hit is None or part >= LINES:
            return Strip.blank(width, self.rich_style)
        selected = isinstance(hit, SessionHit) and hit.session.id in self.selected
        looks = RowLook(width - 1, row == self.cursor, selected, self._binned)
        return self._painted(row, hit, looks)[part]

    def _painted(self, row: int, hit: SessionHit | DocumentMatch, looks: RowLook) -> list[Strip]:
        key = row, looks, self.has_focus
        known = self._strips.get(key)
        if known is None:
            if len(self._strips) > _KEPT_STRIPS:
                self._strips.clear()
            style = self.get_visual_style("history-list--cursor") if looks.cursor else self.visual_style
            if isinstance(hit, SessionHit):
                lines = line_of(hit, self._now, looks)
            else:
                lines = document_line_of(hit, self._now, looks)
            known = [
                Visual.to_strips(self, line, looks.width, 1, style, apply_selection=False, pad=True)[0]
                .crop(0, looks.width)
                .extend_cell_length(looks.width + 1, style.rich_style)
                for line in lines
            ]
            self._strips[key] = known
        return known

    def _heading(self, words: str, width: int) -> Strip:
        style = self.visual_style + self.get_visual_style("history-list--heading")
        line = Content(f" {words}")
        return Visual.to_strips(self, line, width, 1, style, apply_selection=False, pad=True)[0]

    def notify_style_update(self) -> None:
        self._strips.clear()
        super().notify_style_update()

    def on_resize(self, _event: events.Resize) -> None:
        self._strips.clear()
        self._fit()
        self._follow()
        self.look_ahead()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if round(old_value) != round(new_value):
            self.look_ahead()

    # --- navigation ------------------------------------------------------------------------------

    def watch_cursor(self, before: int, now: int) -> None:
        for row in (before, now):
            top = self._lines.top(row) - round(self.scroll_y)
            self.refresh(Region(0, top, self.size.width, LINES + 1))
        self._follow()
        self.look_ahead()
        self.post_message(self.Moved())

    def _follow(self) -> None:
        if not self.total or not self.size.height:
            return
        top = self._lines.top(self.cursor)
        end = top + LINES + (self.cursor in self._lines.words)
        if top < self.scroll_y:
            self.scroll_to(y=top, animate=False, immediate=True)
        elif end > self.scroll_y + self.size.height:
            self.scroll_to(y=end - self.size.height, animate=False, immediate=True)

    def go(self, row: int) -> None:
        """Moves the cursor to a row, or to the nearest one."""
        if self.total:
            self.cursor = min(max(row, 0), self.total - 1)

    def action_step(self, by: int) -> None:
        if by < 0 and self.cursor == 0:
            self.post_message(self.Left())
        else:
            self.go(self.cursor + by)

    def action_leaf(self, by: int) -> None:
        self.go(self.cursor + by * max(self.size.height // LINES - 1, 1))

    def action_first(self) -> None:
        self.go(0)

    def action_last(self) -> None:
        self.go(self.total - 1)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        line = -1 if offset is None else offset.y + self.scroll_offset.y
        if offset is None or not self.total or line >= self.virtual_size.height:
            return
        event.stop()
        row = self._lines.row_at(line)
        if row in self._lines.words and line == self._lines.top(row):
            return
        if offset.x < LINES or event.ctrl:
            self.go(row)
            self.post_message(self.Marked(row))
        elif row == self.cursor:
            self.post_message(self.Opened())
        else:
            self.go(row)


def _marked(session: Session, patch: MarksPatch) -> Session:
    """Returns the session with the marks of a patch that the next change depends on."""
    pinned_at = session.pinned_at
    if patch.pinned is not None:
        pinned_at = (pinned_at or session.updated_at) if patch.pinned else None
    removed = {tag.casefold() for tag in patch.remove_tags}
    tags = {tag.casefold(): tag for tag in (*session.tags, *patch.add_tags)}
    return replace(
        session,
        tags=tuple(sorted((tag for key, tag in tags.items() if key not in removed), key=str.casefold)),
        starred=session.starred if patch.starred is None else patch.starred,
        important=session.important if patch.important is None else patch.important,
        pinned_at=pinned_at,
    )


LINES = 2
"""Lines of a row; the first row of a group has its heading above."""


class Lines:
    """The rows from 0 to `total`: conversations, of which some are known; documents and notes, each with a
    heading.

    The heading of conversations is known where two neighbouring rows are.
    """

    def __init__(
        self,
        now: datetime,
        conversations: int = 0,
        documents: Sequence[DocumentMatch] = (),
        *,
        grouped: bool = True,
        pins: bool = True,
    ) -> None:
        self.rows: dict[int, SessionHit] = {}
        """The conversations that are known."""
        self.words: dict[int, str] = {}
        """Headings, by the row below them."""
        self.conversations = conversations
        self.documents = tuple(documents)
        self._headings: list[int] = []
        self._add_text_headings()
        self._now = now
        self._grouped = grouped
        self._pins = pins

    def add(self, rows: Mapping[int, SessionHit]) -> None:
        self.rows.update(rows)
        if not self._grouped:
            return
        for index in sorted({at for row in rows for at in (row, row + 1)}):
            hit, above = self.rows.get(index), self.rows.get(index - 1)
            if hit is None or (index and above is None) or index in self.words:
                continue
            word = group(hit.session, self._now, pins=self._pins)
            if above is None or word != group(above.session, self._now, pins=self._pins):
                self._add_heading(index, word)

    def grow(self, conversations: int) -> None:
        """Makes room for more conversations; the documents move down."""
        if self.documents and conversations != self.conversations:
            for row in [row for row in self._headings if row >= self.conversations]:
                self._headings.remove(row)
                del self.words[row]
            self.conversations = conversations
            self._add_text_headings()
        self.conversations = conversations

    def _add_text_headings(self) -> None:
        """Adds a heading above the first document and the first note."""
        kinds = [one.kind for one in self.documents]
        for kind, words in ((DocumentKind.DOCUMENT, _("Documents")), (DocumentKind.NOTE, _("Notes"))):
            if kind in kinds:
                self._add_heading(self.conversations + kinds.index(kind), words)

    def _add_heading(self, row: int, words: str) -> None:
        self.words[row] = words
        insort(self._headings, row)

    @property
    def total(self) -> int:
        return self.conversations + len(self.documents)

    def document(self, row: int) -> DocumentMatch | None:
        at = row - self.conversations
        return self.documents[at] if 0 <= at < len(self.documents) else None

    @property
    def height(self) -> int:
        return LINES * self.total + len(self._headings)

    def headings_to(self, row: int) -> int:
        """Returns the number of headings above a row, including its own."""
        return bisect_right(self._headings, row)

    def top(self, row: int) -> int:
        """Returns the first line of a row, or of its heading."""
        return LINES * row + bisect_left(self._headings, row)

    def row_at(self, line: int) -> int:
        """Returns the row of a line; the nearest row for a line outside."""
        found = bisect_right(range(self.total), line, key=self.top) - 1
        return min(max(found, 0), max(self.total - 1, 0))


def _place_of(hit: SessionHit, page: Page[SessionHit]) -> int | None:
    """Returns where a conversation is on a page, None if it is not."""
    return next((at for at, one in enumerate(page.hits) if one.session.id == hit.session.id), None)


PAGE = 30
"""Conversations that are read at a time."""
DOCUMENTS, NEAREST_DOCUMENTS = 50, 20
"""Documents, and notes, that are shown at most: for words, and for a question, to which every document is
more or less near."""
MEANT_S = 0.25
"""How long a question by meaning must be unchanged before it is searched, because the model has to read
it."""
_EVERY = 2**31

Show = Callable[[Page[SessionHit], int, int], None]
"""Called with a page, the row of its first conversation, and the row of the cursor."""


class HistorySearch:
    """Runs one search at a time; a newer one replaces it.

    `show` is called with a page that replaces all rows (then `documents` and `notes` are also new), `add`
    with a further page and its first row, `explain` with a remark on the query (empty: none). `attempt` runs
    work in the background.
    """

    def __init__(
        self,
        finding: FindingService,
        attempt: Callable[..., Worker[Any]],
        *,
        show: Show,
        add: Callable[[Page[SessionHit], int], None],
        explain: Callable[[str], None],
    ) -> None:
        self._finding = finding
        self._attempt = attempt
        self._show, self._add, self._explain = show, add, explain
        self._worker: Worker[Any] | None = None
        self._fetching: set[int] = set()
        self.text = ""
        """The text of the last search."""
        self.shown = 0
        """How often all rows were replaced."""
        self.binned = False
        self.asked = Asked("", Query())
        self.order = Order.RECENT
        self.page: Page[SessionHit] = Page((), 0)
        self.documents: Page[DocumentMatch] = Page((), 0)
        self.notes: Page[DocumentMatch] = Page((), 0)

    def wants(self, kind: ItemKind) -> bool:
        """Whether the query allows things of a kind."""
        return of_kind(self.asked.query, kind) is not None

    @property
    def busy(self) -> bool:
        """Whether the search for the typed text is still running."""
        return self._worker is not None and not self._worker.is_finished

    async def wait(self) -> None:
        """Waits until the current search has ended. Raises `WorkerFailed`, `WorkerCancelled`."""
        if self._worker is not None:
            await self._worker.wait()

    def seek(self, text: str) -> None:
        """Searches for `text`; cancels the current search."""
        self.text = text
        self._worker = self._attempt(partial(self._seek, text), group="history", exclusive=True)

    async def _seek(self, text: str) -> None:
        try:
            asked = await self._finding.understand(text, typing=True)
        except QueryUnclear as fault:
            # Keep the earlier results: the query may be half typed.
            self._explain(f"{unclear(fault)} {_('The list is still that of the search before.')}")
            return
        except SavedSearchNotFound:
            told = _("No saved search has that name.")
            self._explain(f"{told} {_('The list is still that of the search before.')}")
            return
        if asked.query.question:
            self._explain(_("Searching by meaning…"))
            await asyncio.sleep(MEANT_S)
        page, *texts = await self._fetch(asked, 0), *await self._fetch_texts(asked)
        self.asked = asked
        self._replace(page, texts, 0, 0)

    def reload(self, row: int = 0, marked: SessionHit | None = None) -> None:
        """Reads the page of `row` again after a change. The cursor moves to the conversation that was
        `marked`, if it is on that page or the first one (a pinned one is); otherwise to that row."""
        self._attempt(partial(self._reload, row, marked), group="history", exclusive=True)

    async def _reload(self, row: int, marked: SessionHit | None) -> None:
        first = row - row % PAGE
        page = await self._fetch(self.asked, first)
        if first and (not page.hits or (marked is not None and _place_of(marked, page) is None)):
            top = await self._fetch(self.asked, 0)
            if not page.hits or (marked is not None and _place_of(marked, top) is not None):
                first, row, page = 0, 0, top
        if marked is not None and (place := _place_of(marked, page)) is not None:
            row = first + place
        texts = await self._fetch_texts(self.asked)
        total = page.total + sum(len(one.hits) for one in texts)
        self._replace(page, texts, first, min(row, max(total - 1, 0)))

    def _replace(
        self, page: Page[SessionHit], texts: Sequence[Page[DocumentMatch]], first: int, cursor: int
    ) -> None:
        self.shown += 1
        self._fetching.clear()
        self.page = page
        self.documents, self.notes = texts
        self._show(page, first, cursor)

    def read_from(self, row: int) -> None:
        """Reads the page that `row` is on, unless it is being read."""
        first = row - row % PAGE
        if first not in self._fetching:
            self._fetching.add(first)
            self._attempt(partial(self._more, first, self.shown), group="history-more")

    async def _more(self, first: int, shown: int) -> None:
        page = await self._fetch(self.asked, first)
        if shown != self.shown:
            return
        self._fetching.discard(first)
        if page.hits:
            self.page = page
        self._add(page, first)

    async def all_found(self) -> list[SessionHit]:
        """Returns everything that matches, for changes to all of it."""
        page = await self._fetch(self.asked, 0, _EVERY, exhaustive=True)
        return list(page.hits)

    def change_order(self) -> None:
        """Switches between sorting by time and by relevance."""
        self.order = Order.BEST if self.order is Order.RECENT else Order.RECENT
        self.reload()

    async def _fetch_texts(self, asked: Asked) -> list[Page[DocumentMatch]]:
        """Returns the documents, then the notes."""
        if self.binned:
            return [Page((), 0), Page((), 0)]
        limit = NEAREST_DOCUMENTS if asked.query.question else DOCUMENTS
        return [
            await self._finding.documents(asked.query, kind=kind, limit=limit, order=self.order)
            for kind in (ItemKind.DOCUMENT, ItemKind.NOTE)
        ]

    async def _fetch(
        self, asked: Asked, first: int, limit: int = PAGE, *, exhaustive: bool = False
    ) -> Page[SessionHit]:
        return await self._finding.sessions(
            asked.query,
            limit=limit,
            offset=first,
            order=self.order,
            binned=self.binned,
            snippets=limit == PAGE,
            exhaustive=exhaustive,
            scattered=True,
        )
