"""Remembering and forgetting from the chat screen."""

from typing import TYPE_CHECKING

from atlas_desktop.locale import _
from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.tui.chat.conversation_view import ConversationView
from memory.entities import MemoryMode

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.chat.sessions import SessionsController
    from memory.forgetting import Target

_SHOWN = 5


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
        """Forgets `last` (the default), `this` or the item with an id."""
        if self._view.current.busy:
            self._app.say_stop_first()
        elif len(words.split()) > 1:
            self._app.say(_("Use /forget last, /forget this or /forget ID."))
        else:
            self._app.attempt(self.forget_now(words or "last"), group="forget", exclusive=True)

    async def forget_now(self, word: str) -> None:
        from atlas_desktop.phrases.forgetting import preview_text, receipt_text
        from atlas_desktop.tui.dialogs.messages import ConfirmScreen

        session_id = self._view.current.id
        room = self._view.room
        target = await self._meant(room, word)
        if target is None:
            self._app.say(_("No messages from you yet."))
            return
        forgetting = self._app.desk.rooms.forgetting
        plan = await forgetting.preview(target)
        affected = plan.affected
        asked = ConfirmScreen(
            _("Forget permanently?"),
            preview_text(affected, shown=_SHOWN, ids=False),
            agree=_("Forget"),
            refuse=_("Keep"),
        )
        if not await self._app.push_screen_wait(asked):
            return
        receipt = await forgetting.forget(plan)
        if self._view.current.id == session_id and session_id is not None:
            # The size of the next prompt is known only with the next turn.
            self._view.current.measured.clear()
            gone = session_id in {one.id for one in affected.sessions}
            await (self._sessions.show_new() if gone else self._sessions.open(session_id, again=True))
        self._view.refresh_list()
        await self._view.note(receipt_text(receipt))

    async def _meant(self, room: "RoomServices", word: str) -> "Target | None":
        from atlas_desktop.services.forgetting_in_rooms import newest_words
        from memory.forgetting import Target

        if word not in {"last", "this"}:
            return Target(ids=(word,))
        if self._view.current.id is None:
            return None
        if word == "this":
            return Target(sessions=(self._view.current.id,))
        said = await newest_words(room, self._view.current.id)
        return Target(messages=said) if said else None
