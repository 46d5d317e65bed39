"""What the parts of the conversation screen know of one another."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from textual.dom import DOMNode

from atlas_desktop.tui.turns import Conversation, Turns

if TYPE_CHECKING:
    from atlas_desktop.services.branches import Branch
    from atlas_desktop.tui.app import AtlasApp
    from atlas_desktop.tui.origins import Chosen
    from atlas_desktop.tui.widgets.prompt import Prompt
    from atlas_desktop.tui.widgets.transcript import Transcript
    from memory.entities import Message

Act = Callable[[], Coroutine[Any, Any, object]]


class ChatPart(DOMNode):
    """Each part is mixed into the conversation screen, which has, or another part of which does, what is
    declared here."""

    atlas: "AtlasApp"
    turns: Turns
    current: Conversation
    turning: asyncio.Lock
    changing: dict[object, str]
    """Changes of the room or the memory mode that are under way, by what was asked for; an empty one is a
    command that may begin one."""

    if TYPE_CHECKING:

        @property
        def prompt(self) -> Prompt: ...

        @property
        def transcript(self) -> Transcript: ...

        def tell(self) -> None: ...

        def refresh_list(self) -> None: ...

        def place_chosen(self, chosen: "Chosen | None") -> None: ...

        @property
        def is_mounted(self) -> bool: ...

        async def _open(self, ref: str, *, again: bool = False) -> None: ...

        async def show_conversation(
            self, conversation: Conversation, messages: tuple[Message, ...], branch: "Branch | None" = None
        ) -> None: ...
