"""Remembering and forgetting from the chat screen."""

from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.chat.conversation_view import ConversationView
from memory.entities import MemoryMode

if TYPE_CHECKING:
    from atlas_desktop.services.forgetting import Receipt
    from atlas_desktop.services.forgetting_in_rooms import ForgettingPlan
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.chat.sessions import SessionsController
    from memory.entities import Target


class MemoriesController:
    """Adds, pins and forgets memories."""

    def __init__(self, app: "BaseApp", view: ConversationView, sessions: "SessionsController") -> None:
        self._app = app
        self._view = view
        self._sessions = sessions

    def remember(self, words: str = "") -> None:
        """Remembers a statement."""
        session = self._view.current.session
        mode = session.memory_mode if session is not None else self._view.current.mode
        if not words:
            self._app.say(_("Type /remember followed by what to remember."))
        elif mode not in (None, MemoryMode.NORMAL):
            self._app.say(_("This conversation does not add memories."))
        else:
            self._app.attempt(self._remember(words), group="remember")

    async def _remember(self, words: str) -> None:
        session = self._view.current.session
        project = None if session is None else session.project
        made = await self._view.room.learning.remember(
            words, project=project, session_id=None if session is None else session.id
        )
        await self._view.note(_("Remembered: {text}", text=clean_line(made.text)))

    def pin(self, ref: str = "") -> None:
        """Pins a memory; without an id the one learned last."""
        self._app.attempt(self._pin(ref), group="remember")

    async def _pin(self, ref: str) -> None:
        made = await self._view.room.knowledge.pin_latest(ref)
        if made is None:
            self._app.say(_("No memories yet."))
        else:
            await self._view.note(_("Pinned: {text}", text=clean_line(made.text)))

    def forget(self, words: str = "") -> None:
        """Forgets `last` (the default), `this`, the item with an id, or everything with some words."""
        alone = words in ("", "last", "this")
        if self._view.current.busy if alone else self._app.replying:
            self._app.say_stop_first()
        else:
            self._app.attempt(self.forget_now(words or "last"), group="forget", exclusive=True)

    def forget_words(self) -> None:
        """Asks for words and forgets everything that has them."""
        if self._app.replying:
            self._app.say_stop_first()
        else:
            self._app.attempt(self._forget_words(), group="forget", exclusive=True)

    async def _forget_words(self) -> None:
        from atlas_desktop.tui.forgetting import forget_words

        await self._forgotten(await forget_words(self._app))

    def show_receipts(self) -> None:
        """Shows what was forgotten so far."""
        from atlas_desktop.tui.forgetting import show_receipts

        self._app.attempt(show_receipts(self._app), group="forget", exclusive=True)

    async def forget_now(self, words: str) -> None:
        from atlas_desktop.tui.forgetting import forget

        target = await self._meant(self._view.room, words)
        if target is None:
            self._app.say(_("No messages from you yet."))
        else:
            await self._forgotten(await forget(self._app, target))

    async def _forgotten(self, done: "tuple[ForgettingPlan, Receipt] | None") -> None:
        """Shows the conversation without what was forgotten, and the receipt."""
        from atlas_desktop.phrases import receipt_text

        if done is None:
            return
        plan, receipt = done
        session_id = self._view.current.id
        if session_id is not None:
            # The size of the next prompt is known only with the next turn.
            self._view.current.measured.clear()
            gone = session_id in {one.id for one in plan.affected.sessions}
            await (self._sessions.show_new() if gone else self._sessions.open(session_id, again=True))
        self._view.refresh_list()
        await self._view.note(receipt_text(receipt))

    async def _meant(self, room: "RoomServices", word: str) -> "Target | None":
        from atlas_desktop.services.forgetting_in_rooms import newest_words, target_of
        from memory.entities import Target

        if word not in {"last", "this"}:
            return await target_of(self._app.desk.rooms.forgetting, word)
        if self._view.current.id is None:
            return None
        if word == "this":
            return Target(sessions=(self._view.current.id,))
        said = await newest_words(room, self._view.current.id)
        return Target(messages=said) if said else None
