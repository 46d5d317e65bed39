"""What the suites say to a store."""

from memory.entities import (
    Message,
    MessageStatus,
    NewMessage,
    NewSession,
    Session,
)
from memory.ports import SessionStore
from models.messages import Role


def user(text: str) -> NewMessage:
    return NewMessage(Role.USER, text)


def assistant(text: str, status: MessageStatus = MessageStatus.COMPLETE) -> NewMessage:
    return NewMessage(Role.ASSISTANT, text, status=status)


async def begin(store: SessionStore, text: str = "hello", title: str = "A chat") -> tuple[Session, Message]:
    return await store.create_session(NewSession(title), user(text))


def texts(messages: list[Message]) -> list[str]:
    return [message.content for message in messages]
