"""The chat screen: composes the widgets and the controllers, and passes keys and messages on to them."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from atlas_desktop.errors import Explained
from atlas_desktop.interrupts import run_to_completion
from atlas_desktop.services.attachments import pasted_file
from atlas_desktop.tui.actions import ACTIONS, Action, Where, bindings, typed
from atlas_desktop.tui.base import ConversationScreen
from atlas_desktop.tui.chat.attachments import AttachmentsController, Chips, DocumentsController
from atlas_desktop.tui.chat.availability import (
    ChatState,
    disabled_reason,
    is_hidden,
    refused_command,
    refused_key,
)
from atlas_desktop.tui.chat.completion import CompletionController
from atlas_desktop.tui.chat.composer import ComposerController
from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.chat.details import ContextController, DetailsController, DetailsPane
from atlas_desktop.tui.chat.finding import FindBar, FindingController
from atlas_desktop.tui.chat.markdown import CopyCode
from atlas_desktop.tui.chat.memories import MemoriesController
from atlas_desktop.tui.chat.message import CitationLinks, CitationReader, ErrorNote
from atlas_desktop.tui.chat.messages import MessagesController, MountedMessages
from atlas_desktop.tui.chat.navigation import NavigationController, NotesController, TasksController
from atlas_desktop.tui.chat.personas import PersonasController
from atlas_desktop.tui.chat.projects import ProjectsController
from atlas_desktop.tui.chat.prompt import Prompt
from atlas_desktop.tui.chat.reply import ReplyController
from atlas_desktop.tui.chat.rooms import RoomsController
from atlas_desktop.tui.chat.sessions import EmptyPage, SessionsController, Sidebar
from atlas_desktop.tui.chat.status import HeadLine, StatusController, StatusLine
from atlas_desktop.tui.chat.transcript import Transcript
from atlas_desktop.tui.chat.turns import Compacted, JobMoved, TurnAccepted, TurnEnded, TurnGrew, TurnNoticed
from atlas_desktop.tui.keymap import keys_of
from atlas_desktop.tui.textual_workarounds import Ground
from atlas_desktop.tui.widgets import CompletionMenu, KeyLine, UndoBar
from memory.entities import Message, RoomKind
from memory.errors import RoomClosed
from memory.skills.entities import Verdict
from models.messages import Role

if TYPE_CHECKING:
    from atlas_desktop.services.finder import Found
    from atlas_desktop.services.sessions import Branch
    from atlas_desktop.tui.base import BaseApp
    from memory.vault.keys import RoomKey


LEAST_BELOW = 5
"""Rows below a notice: the prompt with one line, the status and the keys."""


class Body(Ground, Horizontal):
    """The screen without its last line."""


class MainColumn(Ground, Vertical):
    """The conversation with the lines above and below it."""


class ChatScreen(Ground, ConversationScreen):
    """Shows one conversation at a time. Turns of other conversations continue in the background."""

    CSS_PATH = "chat.tcss"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012
    AUTO_FOCUS = "#prompt"
    BINDINGS = [  # noqa: RUF012
        *bindings(Where.CHAT, Where.VIEWS),
        # Before the keys that are typed after it, which belong to the prompt.
        Binding("slash", "begin_command", show=False, priority=True),
    ]

    def __init__(self, app: "BaseApp", *, resume: str | None = None) -> None:
        super().__init__(app.size.width)
        self.atlas = app
        self._resume = resume
        self.sidebar = Sidebar(id="sidebar")
        self.prompt = Prompt(id="prompt")
        self.transcript = Transcript(app.now, id="transcript")
        self.menu = CompletionMenu(id="completion")
        self._find_bar = FindBar(id="find-bar")
        self.undo_bar = UndoBar(id="undo")
        self.details_pane = DetailsPane(id="details")
        self._chips = Chips(id="chips")
        self._empty_page = EmptyPage(id="empty")
        self._head = HeadLine(id="head")
        self._waiting = Static("", id="waiting", markup=False)
        self._status_line = StatusLine(id="status")

        self.view = ConversationView(
            app, self.transcript, self.prompt, refresh=self.tell, refresh_list=self.refresh_list
        )
        self._begin_conversations(app, self.view)
        self._begin_contents(app, self.view)
        app.turns.listener = self

    def _begin_conversations(self, app: "BaseApp", view: ConversationView) -> None:
        """Makes the controllers of whole conversations: which is shown, where it is kept, what is sent."""
        self.composer = ComposerController(app, view, run_command=self._run_command)
        self.context = ContextController(app, view)
        self.sessions = SessionsController(
            app,
            view,
            self.sidebar,
            self.undo_bar,
            self._empty_page,
            composer=self.composer,
            show=self.show_conversation,
            on_opened=self.context.resumed,
        )
        self.rooms = RoomsController(
            app,
            view,
            self.composer.gate,
            self.undo_bar,
            sessions=self.sessions,
            show=self.show_conversation,
        )
        self.status = StatusController(
            app,
            view,
            self._head,
            self._status_line,
            self._waiting,
            sessions=self.sessions,
            private_unlocked=self.rooms.private_unlocked,
        )
        self.navigation = NavigationController(
            app,
            view,
            self.sessions,
            ask=lambda wanted: self.documents.ask(wanted),
            show_note=lambda visit: self.notes.show(visit),
            show_task=lambda task: self.tasks.show(marked=task),
            left=lambda wanted: self.documents.left(wanted),
        )
        self.memories = MemoriesController(app, view, self.sessions)

    def _begin_contents(self, app: "BaseApp", view: ConversationView) -> None:
        """Makes the controllers of what is in a conversation: messages, files, notes, tasks, its project."""
        self.finding = FindingController(app, view, self._find_bar)
        self.citations = CitationReader()
        self.transcript.cites(self.citations.known, self.citations.skills)
        self.messages = MessagesController(
            app,
            view,
            citations=self.citations,
            composer=self.composer,
            sessions=self.sessions,
            memories=self.memories,
            place_chosen=self.navigation.place_chosen,
        )
        self.attachments = AttachmentsController(app, view, self._chips)
        self.documents = DocumentsController(
            app,
            view,
            composer=self.composer,
            sessions=self.sessions,
            attachments=self.attachments,
            navigation=self.navigation,
        )
        self.notes = NotesController(app, view, left=self.documents.left)
        self.tasks = TasksController(app, view, left=self.documents.left)
        self.projects = ProjectsController(
            app,
            view,
            sessions=self.sessions,
            navigation=self.navigation,
            documents=self.documents,
            tasks=self.tasks,
        )
        self.personas = PersonasController(app, view)
        self.details = DetailsController(app, view, self.details_pane)
        self.completion = CompletionController(
            app,
            view,
            self.menu,
            send=self.composer.send_typed,
            attach_session=self.attachments.attach_session,
            use_document=self.documents.use,
            attach_note=self.attachments.attach_note,
            attach_file=self.attachments.attach_from,
            can_run=self._can_run,
        )
        self.reply = ReplyController(
            app,
            view,
            composer=self.composer,
            sessions=self.sessions,
            attachments=self.attachments,
            messages=self.messages,
            citations=self.citations,
        )

    def compose(self) -> ComposeResult:
        with Body():
            yield self.sidebar
            with MainColumn(id="stage"):
                yield self._head
                yield self._empty_page
                yield self.transcript
                yield self._find_bar
                yield self._waiting
                yield self.undo_bar
                yield self.menu
                yield self._chips
                yield self.prompt
                yield self._status_line
            yield self.details_pane
        yield KeyLine()

    def _lift_notices(self) -> None:
        """Keeps notices above everything that is between the transcript and the end of the screen."""
        between = (self._find_bar, self._waiting, self.undo_bar, self.menu, self._chips, self.prompt)
        # Before the first layout, and while nothing of the screen is visible, no widget has a place.
        top = min((one.region.y for one in between if one.region.height), default=self.size.height)
        for rack in self.query("ToastRack"):
            rack.styles.margin = (0, 0, max(self.size.height - top, LEAST_BELOW), 0)

    def on_mount(self) -> None:
        self.screen_layout_refresh_signal.subscribe(self, lambda _screen: self._lift_notices())
        self.prompt.completing = lambda: self.menu.is_open
        self.prompt.completes, self.prompt.sends = self.completion.take, self._send_typed
        self.set_interval(1, self._count_seconds)
        self.tell()
        self.refresh_list()
        if self._resume is not None:
            self.open_session(self._resume)
        else:
            self.atlas.attempt(self._take_up_draft, group="open", exclusive=True)

    def _count_seconds(self) -> None:
        """Shows how long the model has been reading."""
        if self.current.busy:
            self._tell_turn()

    def _tell_turn(self) -> bool:
        """Updates what is said about the turn; False while Atlas is left or the rooms are being closed."""
        # Textual removes widgets one by one when it stops, and background work may still tell of itself.
        if self.atlas.leaving or not self.atlas.is_running:
            return False
        try:
            self.status.refresh()
        except RoomClosed:
            # Events of a turn may arrive meanwhile.
            return False
        self.reply.refresh()
        return True

    async def _take_up_draft(self) -> None:
        conversation = self.current
        text = await self.atlas.drafts.of(conversation)
        if text and conversation is self.current and not self.prompt.text:
            self.prompt.put(text)

    # --- requests from the application and other screens -----------------------------------------

    @property
    def current(self) -> Conversation:
        return self.view.current

    def open_session(self, ref: str) -> None:
        """Shows a conversation by id, prefix or `last`."""
        self.sessions.open_soon(ref)

    def refresh_list(self) -> None:
        self.sessions.read_list()
        self.details.refresh()

    async def sessions_changed(self, ids: Sequence[str], *, content: bool = False) -> None:
        await self.sessions.changed(ids, content=content)

    async def synced(self) -> None:
        await self.sessions.synced()

    def tell_attachments(self) -> None:
        self.attachments.refresh()

    def keep_typed(self, *, edited: bool = False) -> None:
        self.composer.keep_typed(edited=edited)

    def begin_private(self, key: "RoomKey | None", resume: str | None) -> None:
        """Opens the private room at start; without a key it asks for the passphrase."""
        self.rooms.begin_private(key, resume)

    def open_found(self, found: "Found") -> None:
        self.navigation.open_found(found)

    def show_note(self, room: RoomKind, note_id: str) -> None:
        self.notes.show_note(room, note_id)

    async def open_private(self, words: str) -> bool:
        return await self.rooms.open_private(words)

    def close_or_open_private(self, opened: Callable[[], object] = lambda: None) -> None:
        self.rooms.close_or_open_private(opened)

    def tell(self) -> None:
        """Updates the lines around the conversation and the available actions."""
        if not self._tell_turn():
            return
        self._empty_page.promise(self.view.room_kind, private_open=self.atlas.desk.rooms.private is not None)
        # Painting a blinking cursor takes processor time from the model's threads.
        self.prompt.cursor_blink = not (self.current.busy or self.atlas.desk.settings.ui.reduced_motion)
        self.refresh_bindings()

    async def tell_error(self, explained: Explained) -> None:
        """Shows an error at the end of the conversation, unless it is the last thing there already."""
        if self.transcript.ends_with(explained):
            return
        transcript = self.transcript
        in_view = transcript.at_the_newest and transcript.scroll_y >= transcript.max_scroll_y
        self.add_class("-talking")
        await transcript.note(ErrorNote(explained))
        if in_view:
            transcript.scroll_end(animate=False)
        else:
            self.atlas.warn(explained.title)

    # --- switching conversations -----------------------------------------------------------------

    async def show_conversation(
        self, conversation: Conversation, messages: tuple[Message, ...], branch: "Branch | None"
    ) -> None:
        """Shows another conversation; the typed text stays with the one that is left.

        `messages` are its newest ones; the others are read from `branch` when they are scrolled to. Call it
        while holding `view.switching`.
        """
        if self.view.room_kind is RoomKind.OFF_RECORD:
            # What was said of a conversation that is not saved does not hold for the next one.
            self.atlas.clear_notifications()
        self.rooms.warn_of_leaving(conversation)
        if self.composer.editing is not None:
            self.composer.stop_editing()
        self.current.draft = self.prompt.text
        self.atlas.drafts.changed(self.current)
        # No await between these lines: one conversation's typed text must not be sent or stored in the other.
        self.view.current = conversation
        self.prompt.history_of_sent = [m.content for m in messages if m.role is Role.USER]
        self.prompt.put(conversation.draft)
        await run_to_completion(self._show(conversation, messages, branch))

    async def _show(
        self, conversation: Conversation, messages: tuple[Message, ...], branch: "Branch | None"
    ) -> None:
        messages = self.reply.detach(conversation, messages)
        self.details.clear()
        self.citations.forget()
        if messages:
            self.add_class("-talking")
        if branch is None:
            await self.transcript.show(messages)
        else:
            room = self.atlas.room_of(conversation)
            await self.citations.read(room, messages)
            read = partial(self.citations.page, room, branch.session.id)
            await self.transcript.show(messages, branch.ids, read, branch.places)
        if not messages:
            # Last, because every widget is restyled when the class of its screen changes.
            self.remove_class("-talking")
        self.reply.attach(conversation)
        self.sidebar.uncover()
        self.prompt.focus()
        self.tell()
        self.attachments.refresh()
        self.details.refresh()
        self.messages.count_variants()
        self.notes.mark()

    # --- availability of actions -----------------------------------------------------------------

    @property
    def state(self) -> ChatState:
        """The facts that decide which actions can be done."""
        view, desk = self.view, self.atlas.desk
        try:
            room = None if self.atlas.leaving or desk.room is None else view.room_kind
        except RoomClosed:
            room = None
        return ChatState(
            view.current,
            room,
            begun_off_record=view.begun_off_record,
            keeps=any(one.store.room is not RoomKind.OFF_RECORD for one in desk.open_rooms),
            messages=MountedMessages.of(self.transcript),
            target=self.sessions.target,
            marked=self.sidebar.marked,
            variants=self.messages.variants,
            can_undo=self.undo_bar.offered is not None,
            list_has_focus=self.sidebar.sessions.has_focus,
            list_covers=self.sidebar.has_class("-over"),
            transcript_has_focus=self.transcript.has_focus,
        )

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "begin_command":
            return self.transcript.has_focus
        reason = disabled_reason(action, self.state, parameters)
        if reason is None:
            return super().check_action(action, parameters)
        return False if is_hidden(action, reason) else None

    def on_key(self, event: events.Key) -> None:
        """Says why a key does nothing, if the reason is not obvious."""
        places = {Where.CHAT, Where.VIEWS}
        if self.transcript.has_focus:
            places.add(Where.MESSAGES)
        for action in ACTIONS:
            if action.where in places and event.key in keys_of(action, self.atlas.keys).split(","):
                reason = disabled_reason(action.run, self.state)
                if reason:
                    event.stop()
                    self.atlas.warn(refused_key(action, reason, self.atlas.keys))
                    return

    def action_begin_command(self) -> None:
        """Begins a command in the prompt; the other keys of the messages act on one of them."""
        self.prompt.focus()
        if not self.prompt.text:
            self.prompt.put("/")

    def _can_run(self, action: Action, given: tuple[str, ...]) -> bool:
        target = self.atlas if action.where is Where.EVERYWHERE else self
        return bool(target.check_action(action.run, given))

    async def _run_command(self, action: Action, given: tuple[str, ...]) -> None:
        """Runs a typed command, or says why it cannot be run now."""
        if self._can_run(action, given):
            target = self.atlas if action.where is Where.EVERYWHERE else self
            await self.atlas.run_action(("", action.run, given), target)
        else:
            reason = disabled_reason(action.run, self.state, given)
            self.atlas.warn(refused_command(action, reason or "", self.atlas.keys))

    # --- events of widgets -----------------------------------------------------------------------

    def on_text_area_changed(self) -> None:
        self.composer.text_changed()
        self.completion.complete()

    async def on_paste(self, event: events.Paste) -> None:
        """Pastes into the prompt, also while the list or the transcript has the focus."""
        event.stop()
        self.prompt.focus()
        await self.prompt.take_paste(event.text)

    def on_descendant_focus(self) -> None:
        # `has_focus` of the prompt is late: it may still be set when the transcript already has the focus.
        if self.focused is self.prompt:
            # Once the user types, actions are about the newest message again.
            self.transcript.selected = None

    def on_prompt_sent(self, event: Prompt.Sent) -> None:
        self._send_typed(event.text)

    def _send_typed(self, text: str) -> None:
        given = text.strip()
        if given.startswith(("/", "~")) and typed(given) is None and self.composer.editing is None:
            self.atlas.attempt(partial(self._send_or_attach, text), group="path", exclusive=True)
        else:
            self.composer.send_typed(text)

    async def _send_or_attach(self, text: str) -> None:
        """Sends a text. If it is only the path of a file, offers to attach that."""
        path = await asyncio.to_thread(pasted_file, text)
        if self.prompt.text != text:
            return  # it was edited meanwhile
        if path is None:
            self.composer.send_typed(text)
        else:
            self.attachments.offer_to_attach(path, send=partial(self.composer.send_typed, text))

    def on_prompt_take_back(self) -> None:
        self.composer.recall()

    def on_prompt_file_pasted(self, event: Prompt.FilePasted) -> None:
        self.attachments.offer_to_attach(event.path)

    def on_prompt_moves(self, event: Prompt.Moves) -> None:
        self.menu.step(event.by)

    def on_prompt_closes(self) -> None:
        self.menu.offer(())

    def on_completion_menu_picked(self, event: CompletionMenu.Picked) -> None:
        self.completion.pick(event.offer)

    def on_chips_removed(self, event: Chips.Removed) -> None:
        self.attachments.detach(event.ref)

    def on_citation_links_opened(self, event: CitationLinks.Opened) -> None:
        self.documents.open_citation(event.citation)

    def on_citation_links_left(self, event: CitationLinks.Left) -> None:
        self.messages.leave_sources(onwards=event.onwards)

    def on_copy_code(self, event: CopyCode) -> None:
        self.messages.copy_block(event)

    def on_screen_resume(self) -> None:
        if self.is_mounted and self._empty_page.display:
            self.sessions.count_documents()
        elif self.is_mounted:
            self.messages.recheck_citations()

    def on_empty_page_chosen(self, event: EmptyPage.Chosen) -> None:
        self.composer.put(event.text)

    def on_empty_page_demo(self) -> None:
        self.atlas.action_demo()

    def on_sidebar_filtered(self) -> None:
        self.sessions.filter_list()

    def on_sidebar_more_wanted(self) -> None:
        self.sessions.list_more()

    def on_sidebar_opened(self, event: Sidebar.Opened) -> None:
        self.open_session(event.session_id)

    def on_find_bar_typed(self, event: FindBar.Typed) -> None:
        self.finding.look(event.words)

    def on_find_bar_stepped(self, event: FindBar.Stepped) -> None:
        self.finding.step(event.by)

    def on_find_bar_left(self) -> None:
        self.finding.close()

    def on_head_line_pressed(self, event: HeadLine.Pressed) -> None:
        self.rooms.offer_changes(event.part, self._can_run, self._run_command)

    def on_undo_bar_undone(self) -> None:
        self.sessions.undo()

    # --- events of turns -------------------------------------------------------------------------

    async def on_turn_accepted(self, event: TurnAccepted) -> None:
        await self.reply.accepted(event)

    def on_turn_grew(self, event: TurnGrew) -> None:
        self.reply.grew(event)

    async def on_turn_noticed(self, event: TurnNoticed) -> None:
        await self.reply.noticed(event)

    async def on_turn_ended(self, event: TurnEnded) -> None:
        await self.reply.ended(event)

    async def on_job_moved(self, event: JobMoved) -> None:
        if self.documents.job_moved(event):
            self.messages.recheck_citations()
        await self.reply.job_moved(event)

    async def on_compacted(self, event: Compacted) -> None:
        await self.context.compacted(event.compaction)

    # --- actions: the prompt and the view --------------------------------------------------------

    def action_send(self) -> None:
        self.composer.send_typed(self.prompt.text)

    def action_stop(self) -> None:
        self.reply.stop()

    def action_regenerate(self) -> None:
        self.reply.regenerate()

    def action_back(self) -> None:
        self.sidebar.uncover()
        if self.has_class("-narrow"):
            self.details_pane.remove_class("-shown")
        if self.composer.editing is not None and self.prompt.has_focus:
            self.composer.stop_editing()
        self.prompt.focus()

    def action_find_here(self, words: str = "") -> None:
        self.finding.open(words)

    def action_edit_outside(self) -> None:
        self.composer.edit_outside()

    def action_earlier_prompts(self) -> None:
        self.composer.choose_earlier()

    def action_page_up(self) -> None:
        self.transcript.turn_page(-1)

    def action_page_down(self) -> None:
        self.transcript.turn_page(1)

    async def action_follow(self) -> None:
        if self.prompt.has_focus:
            # Its key also means the end of the text.
            self.prompt.action_text_end()
        await self.transcript.follow()

    def action_toggle_aside(self) -> None:
        self.details.toggle()

    # --- actions: conversations ------------------------------------------------------------------

    def action_new_session(self) -> None:
        self.sessions.start_new()

    def action_focus_sessions(self) -> None:
        self.sessions.focus_list()

    def action_toggle_sidebar(self) -> None:
        self.sessions.toggle_sidebar()

    def action_rename(self, words: str = "") -> None:
        self.sessions.rename(words)

    def action_delete(self) -> None:
        self.sessions.delete()

    def action_delete_marked(self) -> None:
        self.sessions.delete_marked()

    def action_undo(self) -> None:
        self.sessions.undo()

    def action_star(self) -> None:
        self.sessions.star()

    def action_tag(self, words: str = "") -> None:
        self.sessions.tag(words)

    def action_resume(self, words: str = "") -> None:
        self.sessions.resume(words)

    def action_project(self, words: str = "") -> None:
        self.projects.choose(words)

    def action_show_project(self) -> None:
        self.projects.show_page()

    def action_tasks(self, words: str = "") -> None:
        self.tasks.show(words)

    # --- actions: rooms and memory modes ---------------------------------------------------------

    def action_make_private(self) -> None:
        self.rooms.make_private()

    def action_make_open(self) -> None:
        self.rooms.make_open()

    def action_close_private(self) -> None:
        self.rooms.close_private()

    def action_keep(self) -> None:
        self.rooms.keep()

    def action_go_off_record(self) -> None:
        self.rooms.go_off_record()

    def action_use_reads(self) -> None:
        self.rooms.use_reads()

    def action_use_blank(self) -> None:
        self.rooms.use_blank()

    def action_use_normal(self) -> None:
        self.rooms.use_normal()

    # --- actions: other screens ------------------------------------------------------------------

    def action_show_history(self, words: str = "") -> None:
        self.navigation.show_history(words)

    def action_show_skills(self) -> None:
        self.navigation.show_skills()

    def action_show_memories(self) -> None:
        self.navigation.show_memories()

    def action_show_insights(self) -> None:
        self.navigation.show_insights()

    def action_show_documents(self) -> None:
        self.documents.show()

    def action_show_notes(self) -> None:
        self.notes.show()

    def action_export(self, words: str = "") -> None:
        self.navigation.export(words)

    def action_make_document(self) -> None:
        self.documents.make()

    def action_import_conversations(self, words: str = "") -> None:
        self.navigation.import_conversations(words)

    # --- actions: attachments, instructions and templates ----------------------------------------

    def action_attach(self, words: str = "") -> None:
        self.attachments.attach(words)

    def action_detach(self, words: str = "") -> None:
        self.attachments.detach(words)

    def action_persona(self, words: str = "") -> None:
        self.personas.choose_persona(words)

    def action_instruct(self, words: str = "") -> None:
        self.personas.instruct(words)

    def action_use_template(self, words: str = "") -> None:
        self.personas.use_template(words)

    def action_show_context(self) -> None:
        self.context.show()

    def action_summarise(self) -> None:
        self.context.summarise()

    def action_split(self, words: str = "") -> None:
        self.context.split(words)

    def action_remember(self, words: str = "") -> None:
        self.memories.remember(words)

    def action_pin_memory(self, words: str = "") -> None:
        self.memories.pin(words)

    def action_forget(self, words: str = "") -> None:
        self.memories.forget(words)

    def action_forget_words(self) -> None:
        self.memories.forget_words()

    def action_show_receipts(self) -> None:
        self.memories.show_receipts()

    # --- actions: one message --------------------------------------------------------------------

    def action_select_message(self) -> None:
        self.messages.focus_transcript()

    def action_message_previous(self) -> None:
        self.messages.select_previous()
        self.notes.mark()

    def action_message_next(self) -> None:
        self.messages.select_next()

    def action_message_first(self) -> None:
        self.messages.select_first()

    async def action_message_last(self) -> None:
        await self.messages.select_last()

    def action_message_back(self) -> None:
        self.prompt.focus()

    def action_message_edit(self) -> None:
        self.messages.edit()

    def action_message_continue(self) -> None:
        self.messages.continue_reply()

    def action_message_fork(self) -> None:
        self.messages.fork()

    def action_message_copy(self) -> None:
        self.messages.copy()

    def action_message_copy_code(self) -> None:
        self.messages.copy_code()

    def action_message_whole(self) -> None:
        self.messages.show_whole()

    def action_message_important(self) -> None:
        self.messages.mark_important()

    def action_message_helped(self) -> None:
        self.messages.judge_skill(Verdict.HELPED)

    def action_message_harmed(self) -> None:
        self.messages.judge_skill(Verdict.HARMED)

    def action_message_why(self) -> None:
        self.messages.show_why()

    def action_message_citation(self) -> None:
        self.messages.go_to_sources()

    def action_message_support(self) -> None:
        self.messages.show_support()

    def action_message_forget(self) -> None:
        self.messages.forget()

    def action_message_note(self) -> None:
        self.notes.add()

    def action_message_notes(self) -> None:
        self.notes.show_linking()

    def action_message_branches(self) -> None:
        self.messages.show_branches()

    def action_message_earlier(self) -> None:
        self.messages.show_earlier()

    def action_message_later(self) -> None:
        self.messages.show_later()

    def action_earlier_variant(self) -> None:
        self.messages.show_earlier_variant()

    def action_later_variant(self) -> None:
        self.messages.show_later_variant()
