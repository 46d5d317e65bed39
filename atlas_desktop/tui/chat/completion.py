"""Completes what is typed: commands after `/`, and names after `@`.

The names are those of documents, notes, conversations, memories and attachments.
"""

import asyncio
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.actions import SLASH, Action
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.documents.rows import title_text
from atlas_desktop.tui.paths import places
from atlas_desktop.tui.widgets import CompletionMenu, Offer
from memory.entities import RoomKind
from memory.notes.entities import LinkKind

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from memory.documents.entities import Document

GROUP = "completion"
_COMMAND = re.compile(r"/[\w-]*")
_MENTION = re.compile(r"(?:^|(?<=\s))@([^\s@][^@\n]{0,40}|)$")
_OF_PATHS = frozenset({"/attach", "/import"})
"""Commands that are followed by a path."""
_OF_EACH = 8
_SHORT = 60


class CompletionController:
    """Offers completions in a list above the prompt and inserts the one that is picked."""

    def __init__(
        self,
        app: "BaseApp",
        view: ConversationView,
        menu: CompletionMenu,
        *,
        send: Callable[[str], None],
        attach_session: Callable[[str], None],
        use_document: Callable[[str], None],
        attach_note: Callable[[str], None],
        attach_file: Callable[[str, str], None],
        can_run: Callable[[Action, tuple[str, ...]], bool],
    ) -> None:
        self._app = app
        self._view = view
        self._menu = menu
        self._send = send
        self._attach_session = attach_session
        self._use_document = use_document
        self._attach_note = attach_note
        self._attach_file = attach_file
        self._can_run = can_run
        self._library: list[Document] | None = None
        """The documents of the room, read once for each name that is typed."""

    def complete(self) -> None:
        """Offers completions for the text before the cursor."""
        text = self._view.prompt.text
        if _COMMAND.fullmatch(text):
            self._menu.offer(self._commands(text), text)
        elif (command := text.partition(" ")[0]) in _OF_PATHS and text != command and "\n" not in text:
            self._app.attempt(partial(self._paths, command, text), group=GROUP, exclusive=True)
        elif (match := _MENTION.search(self._view.prompt.before_cursor)) is not None:
            wanted = match.group(1).strip().casefold()
            self._app.attempt(self._mention(wanted), group=GROUP, exclusive=True)
        else:
            self._app.workers.cancel_group(self._app, GROUP)
            self._library = None
            self._menu.offer(())

    async def _paths(self, command: str, typed: str) -> None:
        """Offers the files and folders that the path after a command can become."""
        found = await asyncio.to_thread(places, typed.removeprefix(command).lstrip())
        if self._view.is_there and typed == self._view.prompt.text:
            offers = [
                Offer(
                    f"{command} {one.text}",
                    f"{one.name}/" if one.is_folder else one.name,
                    _("folder") if one.is_folder else _("file"),
                    whole=not one.is_folder,
                )
                for one in found
            ]
            exact = [one for one in offers if one.insert == typed]
            self._menu.offer([] if exact and len(offers) == 1 else offers, typed)

    def _commands(self, typed: str) -> list[Offer]:
        """Returns the commands that begin with `typed` and can be run now."""
        now: list[Offer] = []
        for slash, action in sorted(SLASH.items()):
            can = self._can_run(action, ("",) if action.words else ())
            if slash.startswith(typed) and can:
                now.append(Offer(slash + (" " if action.words else ""), slash, action.help, not action.words))
        return [] if len(now) == 1 and now[0].insert == typed and not now[0].whole else now

    async def _mention(self, wanted: str) -> None:
        """Offers attachments, documents, notes, conversations and memories that contain the words."""
        typed = self._view.prompt.text
        here = self._view.room
        offers: list[Offer] = []
        if self._view.current.id is not None:
            attached = await here.attachments.attached(self._view.current.id)
            names = [clean_line(one.name) for one in attached if wanted in one.name.casefold()]
            offers += [Offer(f"“{name}” ", name, _("attached here")) for name in names]
        offers += [
            Offer(
                f"“{title_text(one)}” ", title_text(one)[:_SHORT], _("document: use it here"), document=one.id
            )
            for one in await self._documents(here, wanted)
        ]
        offers += await self._notes(here, wanted)
        offers += await self._files(here, wanted)
        for room in self._app.desk.open_rooms:
            # Private content is not offered in a conversation that is not private.
            if room is not here and room.store.room is not RoomKind.OPEN:
                continue
            for session in await room.sessions.recent(containing=wanted, limit=_OF_EACH):
                if session.id != self._view.current.id:
                    title = clean_line(session.title) or _("Untitled")
                    text = _("conversation: attach its text here")
                    offers.append(Offer(f"“{title}” ", title[:_SHORT], text, key=session.id))
        for memory in await self._memories(wanted):
            text = clean_line(memory)
            short = text if len(text) <= _SHORT else f"{text[: _SHORT - 1].rstrip()}…"
            offers.append(Offer(f"“{text}” ", short, _("memory")))
        if self._view.is_there:
            self._menu.offer(offers, typed)

    async def _documents(self, room: "RoomServices", wanted: str) -> "list[Document]":
        """Returns the documents whose title or path contains the words; none that could not be read."""
        if self._library is None:
            self._library = [one for one in await room.documents.list() if one.chunks]
        found = [
            one for one in self._library if wanted in one.title.casefold() or wanted in one.path.casefold()
        ]
        return found[:_OF_EACH]

    async def _notes(self, room: "RoomServices", wanted: str) -> list[Offer]:
        """Returns the notes of the room whose title or alias contains the words."""
        found = [
            one
            for one in await room.notes.targets(wanted, limit=CompletionMenu.MOST)
            if one.kind is LinkKind.NOTE
        ][:_OF_EACH]
        text = _("note: attach its text here")
        return [
            Offer(f"“{clean_line(one.title)}” ", clean_line(one.title)[:_SHORT], text, note=one.id)
            for one in found
        ]

    async def _files(self, room: "RoomServices", wanted: str) -> list[Offer]:
        """Returns the files attached in other conversations of the room whose name contains the words, each
        name once."""
        offers: dict[str, Offer] = {}
        here = self._view.current.id
        for one in await room.attachments.documents():
            if wanted not in one.name.casefold() or any(session == here for session, _id in one.places):
                continue
            session_id, _attachment = one.places[0]
            title = clean_line((await room.store.get_session(session_id)).title) or _("Untitled")
            name, text = (
                clean_line(one.name),
                _("attached in “{title}”: attach it here", title=title[:_SHORT]),
            )
            offers.setdefault(one.name, Offer(f"“{name}” ", name[:_SHORT], text, file=one.places[0]))
            if len(offers) == _OF_EACH:
                break
        return list(offers.values())

    async def _memories(self, wanted: str) -> list[str]:
        from memory.memories.entities import MemoryFilter

        room = self._view.room
        found = await room.knowledge.select(MemoryFilter(containing=wanted), limit=_OF_EACH)
        return [one.text for one in found]

    def take(self, send: bool) -> None:  # noqa: FBT001 - the prompt calls it
        """Takes the marked completion: Tab, or Enter (`send`)."""
        text = self._view.prompt.text
        if send and (text in SLASH or self._menu.offered_for != text):
            # The text is a complete command, or the list is older than the text.
            self._menu.offer(())
            self._send(text)
        elif (offer := self._menu.picked) is not None:
            if send and text.startswith("/import ") and offer.insert == f"{text}/":
                # The whole name of a folder is typed.
                self._menu.offer(())
                self._send(text)
            else:
                self._take(offer, send=send)

    def pick(self, offer: Offer) -> None:
        """Takes a completion that was clicked."""
        self._take(offer, send=True)
        self._view.prompt.focus()

    def _take(self, offer: Offer, *, send: bool) -> None:
        prompt = self._view.prompt
        if offer.insert.startswith("/"):
            prompt.put(offer.insert)
            if send and offer.whole:
                self._menu.offer(())
                self._send(offer.insert)
            return
        if (match := _MENTION.search(prompt.before_cursor)) is not None:
            prompt.replace_before_cursor(len(match.group(0)), offer.insert)
        self._menu.offer(())
        self._library = None
        if offer.key:
            self._attach_session(offer.key)
        elif offer.document:
            self._use_document(offer.document)
        elif offer.note:
            self._attach_note(offer.note)
        elif offer.file is not None:
            self._attach_file(*offer.file)
