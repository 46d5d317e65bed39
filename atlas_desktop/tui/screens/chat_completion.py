"""The part of the conversation screen that completes what is typed: commands after `/`, things after `@`."""

import re
from typing import TYPE_CHECKING

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.actions import SLASH, Where
from atlas_desktop.tui.screens.chat_part import ChatPart
from atlas_desktop.tui.widgets.completion import CompletionMenu, Offer
from atlas_desktop.tui.widgets.prompt import Prompt
from atlas_desktop.words.catalogue import tr
from memory.entities import RoomKind

GROUP = "completion"
_COMMAND = re.compile(r"/[\w-]*")
_MENTION = re.compile(r"(?:^|(?<=\s))@([^\s@][^@\n]{0,40}|)$")
_OF_EACH = 8
_SHORT = 60


class Completion(ChatPart):
    """Mixed into the conversation screen."""

    if TYPE_CHECKING:

        def attach_session(self, session_id: str) -> None: ...

        def send_typed(self, text: str) -> None: ...

    @property
    def menu(self) -> CompletionMenu:
        return self.query_one(CompletionMenu)

    def complete(self) -> None:
        """Offers what fits to what is typed now."""
        text = self.prompt.text
        if _COMMAND.fullmatch(text):
            self.menu.offer(self._commands(text), text)
        elif (match := _MENTION.search(self.prompt.before_cursor)) is not None:
            wanted = match.group(1).strip().casefold()
            self.atlas.attempt(self._mention(wanted), group=GROUP, exclusive=True)
        else:
            self.atlas.workers.cancel_group(self.atlas, GROUP)
            self.menu.offer(())

    def _commands(self, typed: str) -> list[Offer]:
        """The commands that begin as `typed`, and behind them those that can be done later."""
        now: list[Offer] = []
        for slash, action in sorted(SLASH.items()):
            target = self.app if action.where is Where.EVERYWHERE else self.screen
            can = target.check_action(action.run, ("",) if action.words else ())
            if slash.startswith(typed) and can:
                now.append(Offer(slash + (" " if action.words else ""), slash, action.help, not action.words))
        return [] if len(now) == 1 and now[0].insert == typed and not now[0].whole else now

    async def _mention(self, wanted: str) -> None:
        """Conversations, memories and attachments that hold the words."""
        typed = self.prompt.text
        here = self.atlas.room_of(self.current)
        offers: list[Offer] = []
        if self.current.id is not None:
            attached = await here.attachments.attached(self.current.id)
            names = [clean_line(one.name) for one in attached if wanted in one.name.casefold()]
            offers += [Offer(f"“{name}” ", name, tr("chat.attached_here")) for name in names]
        for room in self.atlas.desk.open_rooms:
            # What is private is not brought into a conversation that is not.
            if room is not here and room.store.room is not RoomKind.OPEN:
                continue
            for session in await room.sessions.recent(containing=wanted, limit=_OF_EACH):
                if session.id != self.current.id:
                    title = clean_line(session.title) or tr("chat.untitled")
                    text = tr("chat.conversation_offered")
                    offers.append(Offer(f"“{title}” ", title[:_SHORT], text, key=session.id))
        for memory in await self._memories(wanted):
            text = clean_line(memory)
            short = text if len(text) <= _SHORT else f"{text[: _SHORT - 1].rstrip()}…"
            offers.append(Offer(f"“{text}” ", short, tr("chat.memory_offered")))
        if self.is_attached:
            self.menu.offer(offers, typed)

    async def _memories(self, wanted: str) -> list[str]:
        from memory.memories.entities import MemoryFilter

        room = self.atlas.room_of(self.current)
        found = await room.knowledge.select(MemoryFilter(containing=wanted), limit=_OF_EACH)
        return [one.text for one in found]

    # --- what the prompt passes on ----------------------------------------------------------------

    def take_completion(self, send: bool) -> None:  # noqa: FBT001 - as the prompt calls it
        """Tab, or Enter, on the mark."""
        text = self.prompt.text
        if send and (text in SLASH or self.menu.offered_for != text):
            # It is a command already, or was typed faster than the list could follow.
            self.menu.offer(())
            self.send_typed(text)
        elif (offer := self.menu.picked) is not None:
            self._take(offer, send=send)

    def on_prompt_moves(self, event: Prompt.Moves) -> None:
        self.menu.step(event.by)

    def on_prompt_closes(self) -> None:
        self.menu.offer(())

    def on_completion_menu_picked(self, event: CompletionMenu.Picked) -> None:
        self._take(event.offer, send=True)
        self.prompt.focus()

    def _take(self, offer: Offer, *, send: bool) -> None:
        prompt = self.prompt
        if offer.insert.startswith("/"):
            prompt.put(offer.insert)
            if send and offer.whole:
                self.menu.offer(())
                self.send_typed(offer.insert)
            return
        if (match := _MENTION.search(prompt.before_cursor)) is not None:
            prompt.replace_before_cursor(len(match.group(0)), offer.insert)
        self.menu.offer(())
        if offer.key:
            self.attach_session(offer.key)
