"""Conversations and messages for tests that need no screen."""

from datetime import UTC, datetime
from typing import Any

from atlas_desktop.tui.chat.conversation import Conversation
from memory.entities import MemoryMode, Message, MessageStatus, RoomKind, Session, TitleSource
from models.messages import Role

NOW = datetime(2026, 3, 12, 15, 30, tzinfo=UTC)


def conversation(*, begun: bool = True, busy: bool = False, waiting: tuple[str, ...] = ()) -> Conversation:
    worker: Any = object() if busy else None
    return Conversation(stored() if begun else None, waiting=list(waiting), worker=worker)


def stored(session_id: str = "s") -> Session:
    return Session(session_id, "Trip", TitleSource.PERSON, RoomKind.OPEN, MemoryMode.NORMAL, NOW, NOW)


def message(
    message_id: str, role: Role, content: str = "words", status: MessageStatus = MessageStatus.COMPLETE
) -> Message:
    return Message(message_id, "s", None, role, "", content, NOW, status=status)
