"""The list of conversations: opens, begins, names, files and deletes them."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from atlas_desktop.locale import _, ngettext
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.sessions import number_of
from atlas_desktop.tui.actions import Where, bindings
from atlas_desktop.tui.calendar import grouped, short
from atlas_desktop.tui.chat.composer import ComposerController
from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.conversation_view import ConversationView, ShowConversation
from atlas_desktop.tui.chat.transcript import PAGE as PAGE_OF_MESSAGES
from atlas_desktop.tui.keymap import how_to
from atlas_desktop.tui.widgets import CleanInput, UndoBar
from memory.entities import RoomKind, Session
from memory.errors import QueryUnclear, RoomClosed, SavedSearchNotFound, SessionNotFound
from memory.search.entities import All, Is, Mark, Not, Page, Query, SessionHit

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp


DEBOUNCE_S = 0.15
WIDTH = 28
"""Cells of a line in the list."""
PAGE = 100
"""Conversations that are listed at first, and added each time the end of the list is reached."""
_MARKS = {RoomKind.PRIVATE: "private ", RoomKind.OFF_RECORD: "unsaved "}


def line_of(session: Session, now: datetime, *, replying: bool) -> Content:
    """Returns the line of a conversation: its title, cut at the width, and when it was used, or `…` during a
    reply."""
    when = "…" if replying else short(session.updated_at, now)
    mark = _MARKS.get(session.room, "")
    room = WIDTH - cell_len(mark) - cell_len(when) - 1
    title = clean_line(session.title) or _("Untitled")
    if cell_len(title) > room:
        number = number_of(title)
        title = set_cell_size(title, room - 1 - len(number)).rstrip() + "…" + number
    return Content.assemble((mark, "bold $warning"), set_cell_size(title, room), " ", (when, "$quiet"))


class SessionList(OptionList):
    """The options of the sidebar; its keys come from the registry of actions."""

    where = Where.SESSIONS
    BINDINGS = list(bindings(Where.SESSIONS))  # noqa: RUF012


class Sidebar(Vertical):
    """The filter and the list of conversations. It posts messages and changes nothing itself."""

    DEFAULT_CSS = """
    Sidebar {
        width: 34;
        background: $surface;
        padding: 1 0 0 0;
        #filter {
            height: 3;
            margin: 0 1;
            border: round $border-blurred;
            background: $surface;
            padding: 0 1;
            &:focus { border: round $border; }
        }
        SessionList {
            height: 1fr;
            border: none;
            padding: 0 0 0 1;
            background: $surface;
            scrollbar-size-vertical: 1;
            text-wrap: nowrap;
            & > .option-list--option { padding: 0 1; }
            & > .option-list--option-disabled { color: $quiet; text-style: bold; }
            &:focus { border: none; background-tint: transparent; }
        }
        #none { padding: 1 2; color: $quiet; display: none; }
    }
    """

    @dataclass
    class Opened(Message):
        """Enter or a click on a conversation."""

        session_id: str

    @dataclass
    class Filtered(Message):
        """The filter has settled on a text."""

        containing: str

    class MoreWanted(Message):
        """The end of the list has been reached."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.filter = CleanInput(placeholder=_("Filter"), id="filter", select_on_focus=False)
        self.sessions = SessionList(id="sessions", markup=False)
        self._timer: Timer | None = None
        self._shown: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.filter
        yield Static("", id="none", markup=False)
        yield self.sessions

    @property
    def covers(self) -> bool:
        """Whether it covers the conversation when shown, as on a narrow terminal."""
        return self.screen.has_class("-narrow")

    @property
    def folded(self) -> bool:
        return not self.has_class("-over") if self.covers else self.has_class("-folded")

    def toggle(self) -> None:
        self.toggle_class("-over" if self.covers else "-folded")

    def uncover(self) -> None:
        """Hides it if it covers the conversation."""
        self.remove_class("-over")

    @property
    def marked(self) -> str | None:
        """The id of the conversation under the cursor of the list."""
        at = self.sessions.highlighted
        return None if at is None else self.sessions.get_option_at_index(at).id

    @property
    def containing(self) -> str:
        return self.filter.value.strip()

    def show(self, found: Sequence[Session], now: datetime, current: str | None, replying: set[str]) -> None:
        """Lists `found`. The cursor stays on its conversation, or moves to the `current` one."""
        listing = self.sessions
        kept = self.marked if listing.has_focus else current
        lines: list[tuple[Content, str | None]] = []
        for group, members in grouped(found, now):
            if lines:
                lines.append((Content(""), None))
            lines.append((Content(group), None))
            lines += [(line_of(one, now, replying=one.id in replying), one.id) for one in members]
        self._shown = [one for _unused, one in lines if one is not None]
        with self.app.batch_update():
            scroll = listing.scroll_y
            if not _same(lines, listing.options):
                # Replacing the options repaints the whole list.
                listing.clear_options()
                listing.add_options(Option(line, id=one, disabled=one is None) for line, one in lines)
            if kept in self._shown:
                listing.highlighted = listing.get_option_index(kept)
            elif self._shown and listing.has_focus:
                listing.highlighted = listing.get_option_index(self._shown[0])
            else:
                listing.highlighted = None
            listing.scroll_to(y=scroll, animate=False)
        nothing = _("No matches.") if self.containing else _("No conversations yet.")
        self.explain("" if lines else nothing)

    def explain(self, text: str) -> None:
        """Says above the list why it is empty or ignores the filter."""
        line = self.query_one("#none", Static)
        line.display = text != ""
        line.update(Content(text))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(DEBOUNCE_S, self._settled)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Opens the first conversation of the list on Enter in the filter."""
        event.stop()
        if self._shown:
            self._open(self._shown[0])

    def _open(self, session_id: str) -> None:
        """Opens a conversation and clears the filter."""
        self.filter.value = ""
        self.post_message(self.Opened(session_id))

    def _settled(self) -> None:
        self.post_message(self.Filtered(self.containing))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option.id is not None:
            self._open(event.option.id)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        if self._shown and event.option.id == self._shown[-1] and len(self._shown) >= PAGE:
            self.post_message(self.MoreWanted())

    def on_key(self, event: events.Key) -> None:
        """Moves from the filter into the list on Down; empties it on Escape, which also leaves it."""
        if event.key == "escape" and self.filter.has_focus:
            self.filter.value = ""
        elif event.key == "down" and self.filter.has_focus and self._shown:
            event.stop()
            self.sessions.focus()
            self.sessions.highlighted = self.sessions.get_option_index(self._shown[0])


def _same(lines: Sequence[tuple[Content, str | None]], options: Sequence[Option]) -> bool:
    """Returns whether the list shows these lines already."""
    return len(lines) == len(options) and all(
        option.id == one and isinstance(option.prompt, Content) and option.prompt.is_same(line)
        for (line, one), option in zip(lines, options, strict=True)
    )


EXAMPLES = (
    _("Help me plan a weekend of hiking with a friend"),
    _("Explain how tides work, in five sentences"),
    _("Draft a polite note to my landlord about the heating"),
)


class EmptyPage(Vertical):
    """A greeting and three examples; choosing one puts it into the prompt.

    Users without any messages are also offered sample conversations.
    """

    @dataclass
    class Chosen(Message):
        text: str

    class Demo(Message):
        """The user asked for the sample conversations."""

    def compose(self) -> ComposeResult:
        options = [Option(Content.assemble(("› ", "$primary"), text)) for text in EXAMPLES]
        with Vertical(id="column"):
            yield Static(_("What is on your mind?"), id="greeting", markup=False)
            yield Static("", id="promise", markup=False)
            yield OptionList(*options, id="examples", markup=False)
            yield Static("", id="documents", markup=False)
            yield Static("", id="samples", markup=False)

    def promise(self, room: RoomKind, *, private_open: bool) -> None:
        """Says what happens to what is written here, and in which room while there are two."""
        if room is RoomKind.OFF_RECORD:
            told = _(
                "This conversation is off the record: it is not saved, and gone when Atlas closes. /keep "
                "saves it. Nothing is sent anywhere."
            )
        else:
            told = _("Everything you write stays on this computer, encrypted. Nothing is sent anywhere.")
        if room is RoomKind.PRIVATE:
            told = f"{told}\n\n{_('This conversation starts in the private room.')}"
        elif private_open and room is RoomKind.OPEN:
            told = f"{told}\n\n{_('This conversation starts in the open room; /private changes it.')}"
        self.query_one("#promise", Static).update(told)

    def offer_documents(self, count: int, key: str) -> None:
        """Says how the documents of the room get into a conversation: nothing reads them by itself."""
        line = self.query_one("#documents", Static)
        line.display = count > 0
        line.update(
            ngettext(
                "{count} document: @ uses it in this conversation, {key} searches and asks it.",
                "{count} documents: @ uses one in this conversation, {key} searches and asks them.",
                count,
                key=key,
            )
            if count
            else ""
        )

    def offer_samples(self, key: str) -> None:
        """Shows which key opens the sample conversations; hides the line if there is none."""
        line = self.query_one("#samples", Static)
        line.display = bool(key)
        line.update(
            Content.assemble((key, "bold $primary"), f" {_('shows sample conversations to explore')}")
            if key
            else ""
        )

    def on_click(self, event: events.Click) -> None:
        if event.widget is self.query_one("#samples"):
            self.post_message(self.Demo())

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.post_message(self.Chosen(EXAMPLES[event.option_index]))


GROUP = "tools"
STARRED = Query(All((Is(Mark.STARRED), Not(Is(Mark.ARCHIVED)))))


def _last_used(session: Session) -> tuple[datetime, str]:
    return session.updated_at, session.id


class SessionsController:
    """Opens conversations and changes how they are filed."""

    def __init__(
        self,
        app: "BaseApp",
        view: ConversationView,
        sidebar: Sidebar,
        undo_bar: UndoBar,
        empty_page: EmptyPage,
        *,
        composer: ComposerController,
        show: ShowConversation,
        on_opened: Callable[[Session], Awaitable[None]],
    ) -> None:
        """`on_opened` is called after a stored conversation was opened, unless a reply is in progress in
        it."""
        self._app = app
        self._view = view
        self._sidebar = sidebar
        self._undo_bar = undo_bar
        self._empty_page = empty_page
        self._composer = composer
        self._show = show
        self._on_opened = on_opened
        self._limit = PAGE

    # --- the list --------------------------------------------------------------------------------

    def read_list(self) -> None:
        """Reads the list again; a newer request replaces one that is still running."""
        if not self._app.leaving:
            self._app.attempt(self._read_list, group="list", exclusive=True)

    async def _read_list(self) -> None:
        sidebar = self._sidebar
        wanted, limit = sidebar.containing, self._limit
        try:
            found = await (self._filtered(wanted, limit) if wanted else self._recent(limit))
        except QueryUnclear as fault:
            # Keep the earlier results: the query may be half typed.
            from atlas_desktop.error_table import unclear

            sidebar.explain(unclear(fault))
            return
        except SavedSearchNotFound:
            found = []
        replying = {c.id for c in self._app.turns.active if c.id}
        sidebar.show(found, self._app.now(), self._view.current.id, replying)
        first = not found and not wanted and self._app.can_demo
        key = how_to("app.demo", self._app.keys)
        self._empty_page.offer_samples(key if first else "")
        await self._count_documents()

    def count_documents(self) -> None:
        """Counts the documents again, which another screen may have changed."""
        if not self._app.leaving:
            self._app.attempt(self._count_documents, group="documents", exclusive=True)

    async def _count_documents(self) -> None:
        off_record = self._view.room_kind is RoomKind.OFF_RECORD
        documents = 0 if off_record else await self._view.room.documents.count()
        self._empty_page.offer_documents(documents, how_to("documents.show", self._app.keys))

    async def _recent(self, limit: int) -> list[Session]:
        desk = self._app.desk
        each: list[list[Session]] = await desk.of_each(lambda room: room.sessions.recent(limit=limit), [])
        found = {s.id: s for of_room in each for s in of_room}
        latest = sorted(found.values(), key=_last_used, reverse=True)[:limit]
        # Starred ones come first, however old they are.
        pages: list[Page[SessionHit]] = await desk.of_each(
            lambda room: room.store.find.sessions(STARRED, limit=PAGE, snippets=False), Page((), 0)
        )
        starred = {hit.session.id: hit.session for page in pages for hit in page.hits}
        others = (s for s in latest if s.id not in starred)
        return [*sorted(starred.values(), key=_last_used, reverse=True), *others]

    async def _filtered(self, wanted: str, limit: int) -> list[Session]:
        # Imported late: the first screen does not need it.
        from atlas_desktop.services.search import FindingService

        finding = FindingService(self._app.desk)
        asked = await finding.understand(wanted, typing=True)
        page = await finding.sessions(asked.query, limit=limit, snippets=False)
        return [hit.session for hit in page.hits]

    def filter_list(self) -> None:
        self._limit = PAGE
        self._view.refresh_list()

    def clear_filter(self) -> None:
        """Shows all conversations again: the filter may be words of a room that was closed."""
        self._sidebar.filter.value = ""

    def list_more(self) -> None:
        self._limit += PAGE
        self._view.refresh_list()

    def open_soon(self, ref: str) -> None:
        """Shows a conversation by id, prefix or `last`."""
        self._app.attempt(self.open(ref), group="open", exclusive=True)

    async def open(self, ref: str, *, again: bool = False) -> None:
        """Set `again` to show another branch of the conversation that is shown already."""
        async with self._view.switching:
            room, session = await self._app.desk.rooms.find(ref)
            branch = await room.branches.open(session.id, newest=PAGE_OF_MESSAGES)
            conversation = self._app.turns.of(branch.session)
            if branch.newest and not conversation.busy:
                conversation.shows(branch.newest[-1].id)
            if not any(conversation.unsent):
                conversation.draft = await self._app.drafts.of(conversation)
            await self._show(conversation, branch.newest, branch)
        self._view.refresh_list()
        if not conversation.busy and not again:
            await self._on_opened(branch.session)

    async def go_to(self, session_id: str, message_id: str) -> None:
        """Shows a message of a conversation, whatever its branch, and moves the focus to the transcript."""
        await self._view.room.branches.go_to(session_id, message_id)
        await self.open(session_id, again=True)
        await self._view.transcript.go_to(message_id)
        self._view.transcript.focus()

    async def move_on(self, conversation: Conversation) -> None:
        """Follows a turn into the new conversation that it has started.

        The typed text and the history of sent messages move along. Call it while holding `switching`.
        """
        if self._composer.editing is not None:
            self._composer.stop_editing()
        sent = self._view.prompt.history_of_sent
        conversation.draft = self._view.prompt.text
        self._view.prompt.put("")
        await self._show(conversation, (), None)
        self._view.prompt.history_of_sent = sent

    async def renamed_in_background(self, ids: list[str]) -> None:
        """Shows the new titles of conversations that were named in the background."""
        if not ids:
            return
        if self._view.current.id in ids:
            self._view.current.session = await self._view.room.store.get_session(self._view.current.id)
        self._view.refresh_list()

    # --- actions ---------------------------------------------------------------------------------

    @property
    def target(self) -> str | None:
        """The conversation to act on: the marked one while the list has the focus, else the shown one."""
        return self._sidebar.marked if self._sidebar.sessions.has_focus else self._view.current.id

    def start_new(self) -> None:
        # A new conversation begun in the private room stays in it.
        stays = self._view.current.room is RoomKind.PRIVATE
        self._app.attempt(partial(self.show_new, private=stays), group="open", exclusive=True)

    async def show_new(self, *, private: bool = False) -> None:
        async with self._view.switching:
            self._composer.keep_typed()
            await self._app.drafts.keep_all()
            stays = private and self._app.desk.rooms.private is not None
            fresh = Conversation(begins_in=RoomKind.PRIVATE if stays else None)
            fresh.draft = await self._app.drafts.of(fresh)
            await self._show(fresh, (), None)
        self._view.refresh_list()

    def focus_list(self) -> None:
        if self._sidebar.folded:
            self.toggle_sidebar()
        self._sidebar.filter.focus()

    def toggle_sidebar(self) -> None:
        self._sidebar.toggle()
        if self._sidebar.folded:
            self._view.prompt.focus()
        elif self._sidebar.covers:
            self._sidebar.filter.focus()

    def rename(self, words: str = "") -> None:
        """Renames the conversation; asks for a title if none is given."""
        target = self._view.current.id if words else self.target
        if target:
            self._app.attempt(self._rename(target, words), group="rename", exclusive=True)

    async def _rename(self, session_id: str, words: str) -> None:
        from atlas_desktop.tui.dialogs.questions import RenameScreen

        room, session = await self._app.desk.rooms.find(session_id)
        title: str | None = words or await self._app.push_screen_wait(RenameScreen(session.title))
        if title is not None:
            self._renamed(await room.sessions.rename(session_id, title))

    def _renamed(self, session: Session) -> None:
        self._app.turns.of(session)
        self._view.refresh()
        self._view.refresh_list()

    def delete(self) -> None:
        self._delete_soon(self._view.current.id)

    def delete_marked(self) -> None:
        self._delete_soon(self._sidebar.marked)

    def _delete_soon(self, session_id: str | None) -> None:
        if session_id is not None:
            self._app.attempt(self._delete(session_id), group="delete")

    async def _delete(self, session_id: str) -> None:
        room, _unused = await self._app.desk.rooms.find(session_id)
        session = await room.sessions.delete(session_id)
        conversation = self._app.turns.of(session)
        self._app.turns.stop(conversation)
        if conversation is self._view.current:
            listing = self._sidebar.sessions
            in_list = listing.has_focus
            await self.show_new()
            if in_list:
                # Showing an empty page moves the focus to the prompt, where the undo key would be typed, and
                # hides a list that covers it.
                if self._sidebar.folded:
                    self.toggle_sidebar()
                listing.focus()
        self._undo_bar.offer(_("Deleted “{title}”", title=session.title), session.id)
        self._view.refresh()
        self._view.refresh_list()

    def undo(self) -> None:
        if (session_id := self._undo_bar.take()) is not None:
            self._app.attempt(self._restore(session_id), group="delete")

    async def _restore(self, session_id: str) -> None:
        room, _unused = await self._app.desk.rooms.find(session_id)
        await room.sessions.restore(session_id)
        await self.open(session_id)

    # --- filing -----------------------------------------------------------------------------------

    def star(self) -> None:
        self._app.attempt(self._star(), group=GROUP)

    async def _star(self) -> None:
        from memory.organising import MarksPatch

        shown, session, room = self._view.current, self._view.current.session, self._view.room
        assert session is not None
        await room.organising.apply([session.id], MarksPatch(starred=not session.starred))
        shown.session = await room.store.get_session(session.id)
        self._app.say(_("Star removed.") if session.starred else _("Starred."))
        self._view.refresh()
        self._view.refresh_list()

    def tag(self, words: str = "") -> None:
        """Adds tags; `-word` removes one."""
        self._app.attempt(self._tag(words), group=GROUP)

    async def _tag(self, words: str) -> None:
        from atlas_desktop.services.organising import split_tags, tags_patch
        from atlas_desktop.tui.history.actions import chosen_tags, invalid_tag

        shown, session, room = self._view.current, self._view.current.session, self._view.room
        assert session is not None
        if words.strip():
            try:
                patch = tags_patch(split_tags(words, spaces=True))
            except ValueError:
                self._app.say(invalid_tag())
                return
            await room.organising.apply([session.id], patch)
        else:
            tagging = await chosen_tags(self._app, [session])
            if tagging is None:
                return
            await tagging.refuse(self._app)
            await room.organising.apply([session.id], tagging.patch)
        shown.session = await room.store.get_session(session.id)
        tags = ", ".join(map(clean_line, shown.session.tags))
        self._app.say(_("Tags: {tags}.", tags=tags) if tags else _("This conversation has no tags."))
        self._view.refresh_list()

    def resume(self, words: str = "") -> None:
        """Opens a conversation by id, `last`, or words of its title; without words it moves to the list."""
        if words:
            self._app.attempt(self._resume_by(words), group="open", exclusive=True)
        else:
            self.focus_list()

    async def _resume_by(self, words: str) -> None:
        from memory.errors import AmbiguousId, SessionNotFound

        try:
            _unused, session = await self._app.desk.rooms.find(words)
        except (SessionNotFound, AmbiguousId) as error:
            rooms = self._app.desk.open_rooms
            found = [s for room in rooms for s in await room.sessions.recent(containing=words, limit=1)]
            if not found:
                raise error from None
            session = max(found, key=lambda one: one.updated_at)
        await self.open(session.id)

    # --- projects ---------------------------------------------------------------------------------

    @property
    def project(self) -> str | None:
        shown = self._view.current
        return shown.session.project if shown.session is not None else shown.project

    def headline(self, title: str) -> str:
        """Returns the title followed by the project."""
        return f"{title} · {self.project}" if self.project else title

    # --- changes ----------------------------------------------------------------------------------

    async def synced(self) -> None:
        """Shows what other devices have written in the conversation, unless a reply is streaming."""
        shown, newest = self._view.current, self._view.transcript.newest
        if shown.id is None or shown.busy:
            return
        await self.changed([shown.id], content=True)
        if self._view.current is not shown or newest is None or self._view.transcript.has(newest):
            return
        if any(one.id == newest for one in await self._view.room.branches.nodes(shown.id, excerpt=0)):
            self._app.say(
                _(
                    "Another device has continued this conversation, too, and its branch is shown. Yours is "
                    "kept: /branches shows both."
                )
            )

    async def changed(self, ids: Sequence[str], *, content: bool = False) -> None:
        """Reloads after conversations were marked, deleted or moved elsewhere. Set `content` if their
        messages changed."""
        shown = self._view.current
        if shown.id is not None and (not ids or shown.id in ids):
            try:
                room, session = await self._app.desk.rooms.find(shown.id)
            except SessionNotFound:
                await self.show_new()
                return
            if session.deleted_at is not None:
                await self.show_new()
            else:
                # Its room may close meanwhile; then something else is shown in its place.
                with suppress(SessionNotFound, RoomClosed):
                    if content and not shown.busy:
                        await self.open(session.id)
                    else:
                        shown.session = await room.store.get_session(session.id)
        self._view.refresh()
        self._view.refresh_list()
