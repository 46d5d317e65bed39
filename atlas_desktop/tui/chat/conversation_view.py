"""State shared by the controllers of the chat screen: the shown conversation and its widgets."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from atlas_desktop.tui.chat.conversation import Conversation
from atlas_desktop.tui.chat.message import Remark
from memory.entities import MemoryMode, Message, RoomKind

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from atlas_desktop.services.sessions import Branch
    from atlas_desktop.tui.base import BaseApp
    from atlas_desktop.tui.chat.prompt import Prompt
    from atlas_desktop.tui.chat.transcript import Transcript

ShowConversation = Callable[[Conversation, tuple[Message, ...], "Branch | None"], Awaitable[None]]
"""Shows another conversation with its newest messages; the others are read from the branch. Call it while
holding `ConversationView.switching`."""


class ConversationView:
    """The conversation that is shown now, with its transcript and the prompt.

    Hold `switching` while replacing the conversation: events of a turn wait until the new one can show them.
    `refresh` updates the lines around the conversation, `refresh_list` the list next to it.
    """

    def __init__(
        self,
        app: "BaseApp",
        transcript: "Transcript",
        prompt: "Prompt",
        *,
        refresh: Callable[[], None],
        refresh_list: Callable[[], None],
    ) -> None:
        self._app = app
        self.transcript = transcript
        self.prompt = prompt
        self.refresh = refresh
        self.refresh_list = refresh_list
        self.current = Conversation()
        self.switching = asyncio.Lock()

    @property
    def room(self) -> "RoomServices":
        """The room of the conversation. Raises `RoomClosed`."""
        return self._app.room_of(self.current)

    @property
    def room_kind(self) -> RoomKind:
        """The kind of the conversation's room. Raises `RoomClosed`."""
        return self.room.store.room

    @property
    def destination(self) -> tuple[RoomKind, MemoryMode | None]:
        """The room and the memory mode of a message that is sent now; None is the default mode."""
        session = self.current.session
        return self.room_kind, session.memory_mode if session else self.current.mode

    @property
    def begun_off_record(self) -> bool:
        """Whether the program has opened no vault, so that there is no other room."""
        room = self._app.desk.room
        return room is not None and room.store.room is RoomKind.OFF_RECORD

    @property
    def is_there(self) -> bool:
        """Whether the screen is still shown, so that its widgets can be changed."""
        return self.prompt.is_attached

    async def note(self, text: str) -> None:
        """Adds a remark at the end of the transcript."""
        await self.transcript.note(Remark(text))

    def show_transcript(self) -> None:
        """Shows the transcript in place of the page of a new conversation."""
        self.transcript.screen.add_class("-talking")
