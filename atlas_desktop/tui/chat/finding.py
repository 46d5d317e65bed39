"""Find in the conversation that is shown: a line above the prompt, with next and previous."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from atlas_desktop.locale import _, number
from atlas_desktop.tui.chat.conversation_view import ConversationView
from atlas_desktop.tui.widgets import CleanInput
from memory.errors import RoomClosed, SessionNotFound
from models.messages import Role

if TYPE_CHECKING:
    from atlas_desktop.tui.base import BaseApp

GROUP = "find-here"


class FindBar(Horizontal):
    """Enter and Down go to the next message with the words, Up and Shift+Enter to the previous one."""

    DEFAULT_CSS = """
    FindBar {
        height: 1;
        margin: 0 2;
        background: $panel;
        display: none;
        &.-shown { display: block; }
        Input { width: 1fr; }
        #count { width: auto; height: 1; color: $quiet; padding: 0 1; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "step(1)", _("Next"), priority=True),
        Binding("up,shift+enter", "step(-1)", _("Previous"), priority=True),
        Binding("escape", "leave", _("Close"), priority=True),
    ]

    @dataclass
    class Typed(Message):
        """The words have changed."""

        words: str

    @dataclass
    class Stepped(Message):
        """The user wants the next match (1) or the previous one (-1)."""

        by: int

    class Left(Message):
        """The user closes the line."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.field = CleanInput(
            placeholder=_("Find in this conversation"), compact=True, select_on_focus=True
        )

    def compose(self) -> ComposeResult:
        yield self.field
        yield Static("", id="count", markup=False)

    def open(self, words: str) -> None:
        """Shows the line with the focus in it."""
        self.add_class("-shown")
        if words:
            self.field.value = words
        self.field.focus()

    def close(self) -> None:
        self.remove_class("-shown")

    @property
    def is_open(self) -> bool:
        return self.has_class("-shown")

    def tell(self, text: str) -> None:
        """Shows the number of the current match, and how many there are."""
        self.query_one("#count", Static).update(Content(text))

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Typed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.post_message(self.Stepped(1))

    def action_step(self, by: int) -> None:
        self.post_message(self.Stepped(by))

    def action_leave(self) -> None:
        self.post_message(self.Left())


class FindingController:
    """Searches all messages of the shown branch, and shows one match after the other."""

    def __init__(self, app: "BaseApp", view: ConversationView, bar: FindBar) -> None:
        self._app = app
        self._view = view
        self._bar = bar
        self._found: list[str] = []
        """The ids of the messages with the words, the oldest first."""
        self._at = 0
        self._conversation: object = None

    def open(self, words: str = "") -> None:
        self._bar.open(words)
        self.look(self._bar.field.value)

    def close(self) -> None:
        """Closes the line and returns to the prompt; the match stays in view."""
        self._bar.close()
        self._view.transcript.forget_found()
        self._view.prompt.focus()

    def look(self, words: str) -> None:
        """Searches for the words and shows the newest match."""
        self._app.attempt(partial(self._look, words), group=GROUP, exclusive=True)

    async def _look(self, words: str) -> None:
        shown = self._view.current
        self._conversation = shown
        self._found = await self._matches(words)
        if self._conversation is not shown or not self._bar.is_attached:
            return
        self._at = len(self._found) - 1
        await self._show(words)

    async def _matches(self, words: str) -> list[str]:
        wanted, session_id = words.strip().casefold(), self._view.current.id
        if not wanted or session_id is None:
            return []
        try:
            said = await self._view.room.store.branch(session_id)
        except (SessionNotFound, RoomClosed):
            # The conversation was removed, or closed with its room, and something else is shown instead.
            return []
        return [one.id for one in said if one.role is not Role.SYSTEM and wanted in one.content.casefold()]

    async def _show(self, words: str) -> None:
        if not self._found:
            self._view.transcript.forget_found()
        if not words.strip():
            self._bar.tell(_("↓ next · ↑ previous · Esc closes"))
        elif not self._found:
            self._bar.tell(_("No matches."))
        else:
            place = _("{at} of {all}", at=number(self._at + 1), all=number(len(self._found)))
            self._bar.tell(place)
            await self._view.transcript.show_found(self._found[self._at], words.strip())

    def step(self, by: int) -> None:
        """Shows the next match or the previous one; after the last comes the first."""
        if self._conversation is not self._view.current:
            self.look(self._bar.field.value)
        elif self._found:
            self._at = (self._at + by) % len(self._found)
            self._app.attempt(partial(self._show, self._bar.field.value), group=GROUP, exclusive=True)
