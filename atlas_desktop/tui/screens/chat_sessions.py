"""The part of the conversation screen that opens, renames, deletes and lists conversations."""

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from atlas_desktop.tui.actions import BY_ID, key_words
from atlas_desktop.tui.keymap import keys_of
from atlas_desktop.tui.screens.chat_part import ChatPart
from atlas_desktop.tui.turns import Conversation
from atlas_desktop.tui.widgets.change_bar import UndoBar
from atlas_desktop.tui.widgets.empty import EmptyPage
from atlas_desktop.tui.widgets.reading_on import PAGE as PAGE_OF_MESSAGES
from atlas_desktop.tui.widgets.sidebar import PAGE, Sidebar
from memory.entities import Message, RoomKind, Session
from memory.errors import QueryUnclear, SavedSearchNotFound
from memory.search.entities import All, Is, Mark, Not, Page, Query, SessionHit

STARRED = Query(All((Is(Mark.STARRED), Not(Is(Mark.ARCHIVED)))))


def _last_used(session: Session) -> tuple[datetime, str]:
    return session.updated_at, session.id


class SessionActions(ChatPart):
    """Mixed into the conversation screen."""

    if TYPE_CHECKING:
        _editing: Message | None

        def stop_editing(self) -> None: ...

        def keep_typed(self, *, edited: bool = False) -> None: ...

        async def resumed(self, session: Session) -> None: ...

    _limit = PAGE

    @property
    def _sidebar(self) -> Sidebar:
        return self.query_one(Sidebar)

    # --- the list --------------------------------------------------------------------------------

    def refresh_list(self) -> None:
        """Reads the list anew; a newer request replaces an older one that is still under way."""
        if not self.atlas.leaving:
            self.atlas.attempt(self._refresh_list, group="list", exclusive=True)

    async def _refresh_list(self) -> None:
        sidebar = self._sidebar
        wanted, limit = sidebar.containing, self._limit
        try:
            found = await (self._filtered(wanted, limit) if wanted else self._recent(limit))
        except QueryUnclear as fault:
            # What was found before stays: the query may be half typed.
            from atlas_desktop.error_table import unclear

            sidebar.explain(unclear(fault))
            return
        except SavedSearchNotFound:
            found = []
        replying = {c.id for c in self.turns.active if c.id}
        sidebar.show(found, self.atlas.now(), self.current.id, replying)
        first = not found and not wanted and self.atlas.can_demo
        key = key_words(keys_of(BY_ID["app.demo"], self.atlas.keys)) or BY_ID["app.demo"].slash
        self.query_one(EmptyPage).offer_samples(key if first else "")

    async def _recent(self, limit: int) -> list[Session]:
        desk = self.atlas.desk
        each: list[list[Session]] = await desk.of_each(lambda room: room.sessions.recent(limit=limit), [])
        found = {s.id: s for of_room in each for s in of_room}
        latest = sorted(found.values(), key=_last_used, reverse=True)[:limit]
        # Those with a star are on top, however long ago they were used.
        pages: list[Page[SessionHit]] = await desk.of_each(
            lambda room: room.store.find.sessions(STARRED, limit=PAGE, snippets=False), Page((), 0)
        )
        starred = {hit.session.id: hit.session for page in pages for hit in page.hits}
        others = (s for s in latest if s.id not in starred)
        return [*sorted(starred.values(), key=_last_used, reverse=True), *others]

    async def _filtered(self, wanted: str, limit: int) -> list[Session]:
        # No first screen needs it.
        from atlas_desktop.services.search import FindingService

        finding = FindingService(self.atlas.desk)
        asked = await finding.understand(wanted, typing=True)
        page = await finding.sessions(asked.query, limit=limit, snippets=False)
        return [hit.session for hit in page.hits]

    def on_empty_page_demo(self) -> None:
        self.atlas.action_demo()

    def on_sidebar_filtered(self) -> None:
        self._limit = PAGE
        self.refresh_list()

    def on_sidebar_more_wanted(self) -> None:
        self._limit += PAGE
        self.refresh_list()

    def on_sidebar_opened(self, event: Sidebar.Opened) -> None:
        self.open_session(event.session_id)

    def open_session(self, ref: str) -> None:
        """Shows a conversation by id, prefix or `last`."""
        self.atlas.attempt(self._open(ref), group="open", exclusive=True)

    async def _open(self, ref: str, *, again: bool = False) -> None:
        """`again` says that it is shown already, and another branch of it is wanted."""
        async with self.turning:
            room, session = await self.atlas.desk.rooms.find(ref)
            branch = await room.branches.open(session.id, newest=PAGE_OF_MESSAGES)
            conversation = self.turns.of(branch.session)
            if branch.newest and not conversation.busy:
                conversation.shows(branch.newest[-1].id)
            if not any(conversation.unsent):
                conversation.draft = await self.atlas.drafts.of(conversation)
            await self.show_conversation(conversation, branch.newest, branch)
        self.refresh_list()
        if not conversation.busy and not again:
            await self.resumed(branch.session)

    async def move_on(self, conversation: Conversation) -> None:
        """Shows a conversation that has begun by itself out of the one that is shown; what is being typed,
        and what was, go along. Call it while holding `turning`."""
        if self._editing is not None:
            self.stop_editing()
        sent = self.prompt.history_of_sent
        conversation.draft = self.prompt.text
        self.prompt.put("")
        await self.show_conversation(conversation, ())
        self.prompt.history_of_sent = sent

    async def sessions_renamed(self, ids: list[str]) -> None:
        """Shows new titles of conversations that were named in the background."""
        if not ids:
            return
        if self.current.id in ids:
            self.current.session = await self.atlas.room_of(self.current).store.get_session(self.current.id)
        self.refresh_list()

    # --- actions ---------------------------------------------------------------------------------

    def _target(self) -> str | None:
        """The conversation an action is about: the marked one while the list has the focus."""
        return self._sidebar.marked if self._sidebar.sessions.has_focus else self.current.id

    def action_new_session(self) -> None:
        # Who is in the private room means to stay there, and not to begin where everybody can look.
        stays = self.current.room is RoomKind.PRIVATE
        self.atlas.attempt(partial(self._show_new, private=stays), group="open", exclusive=True)

    async def _show_new(self, *, private: bool = False) -> None:
        async with self.turning:
            self.keep_typed()
            await self.atlas.drafts.keep_all()
            stays = private and self.atlas.desk.rooms.private is not None
            fresh = Conversation(begins_in=RoomKind.PRIVATE if stays else None)
            fresh.draft = await self.atlas.drafts.of(fresh)
            await self.show_conversation(fresh, ())
        self.refresh_list()

    def action_focus_sessions(self) -> None:
        if self._folded:
            self.action_toggle_sidebar()
        self._sidebar.query_one("#filter").focus()

    @property
    def _folded(self) -> bool:
        bar = self._sidebar
        return not bar.has_class("-over") if self.has_class("-narrow") else bar.has_class("-folded")

    def action_toggle_sidebar(self) -> None:
        self._sidebar.toggle_class("-over" if self.has_class("-narrow") else "-folded")
        if self._folded:
            self.query_one("#prompt").focus()
        elif self.has_class("-narrow"):
            self._sidebar.query_one("#filter").focus()

    def action_rename(self, words: str = "") -> None:
        """Gives the conversation the title that is named; without one it asks for it."""
        target = self.current.id if words else self._target()
        if target:
            self.atlas.attempt(self._rename(target, words), group="rename", exclusive=True)

    async def _rename(self, session_id: str, words: str) -> None:
        from atlas_desktop.tui.screens.dialogs import RenameScreen

        room, session = await self.atlas.desk.rooms.find(session_id)
        title: str | None = words or await self.atlas.push_screen_wait(RenameScreen(session.title))
        if title is not None:
            self._renamed(await room.sessions.rename(session_id, title))

    def _renamed(self, session: Session) -> None:
        self.turns.of(session)
        self.tell()
        self.refresh_list()

    def action_delete(self) -> None:
        self._delete_soon(self.current.id)

    def action_delete_marked(self) -> None:
        self._delete_soon(self._sidebar.marked)

    def _delete_soon(self, session_id: str | None) -> None:
        if session_id is not None:
            self.atlas.attempt(self._delete(session_id), group="delete")

    async def _delete(self, session_id: str) -> None:
        room, _ = await self.atlas.desk.rooms.find(session_id)
        session = await room.sessions.delete(session_id)
        conversation = self.turns.of(session)
        self.turns.stop(conversation)
        if conversation is self.current:
            listing = self._sidebar.sessions
            in_list = listing.has_focus
            await self._show_new()
            if in_list:
                # Turning to an empty page leads to the prompt, where the key that undoes would be typed, and
                # puts a list away that lies over it.
                if self._folded:
                    self.action_toggle_sidebar()
                listing.focus()
        self.query_one(UndoBar).offer(f"Deleted “{session.title}”", session.id)
        self.tell()
        self.refresh_list()

    def on_undo_bar_undone(self) -> None:
        self.action_undo()

    def action_undo(self) -> None:
        if (session_id := self.query_one(UndoBar).take()) is not None:
            self.atlas.attempt(self._restore(session_id), group="delete")

    async def _restore(self, session_id: str) -> None:
        room, _ = await self.atlas.desk.rooms.find(session_id)
        await room.sessions.restore(session_id)
        await self._open(session_id)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "undo":
            return self.query_one(UndoBar).offered is not None
        if action == "rename":
            return True if self._target() else None
        if action == "delete":
            return self.current.id is not None
        if action == "delete_marked":
            return self._sidebar.marked is not None
        return super().check_action(action, parameters)
