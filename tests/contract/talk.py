"""What the suites say to a store."""

from memory.entities import (
    Message,
    MessageStatus,
    NewMessage,
    NewSession,
    Session,
)
from memory.storage.store import Store
from models.messages import Role


def user(text: str) -> NewMessage:
    return NewMessage(Role.USER, text)


def assistant(text: str, status: MessageStatus = MessageStatus.COMPLETE) -> NewMessage:
    return NewMessage(Role.ASSISTANT, text, status=status)


async def begin(store: Store, text: str = "hello", title: str = "A chat") -> tuple[Session, Message]:
    return await store.create_session(NewSession(title), user(text))


def texts(messages: list[Message]) -> list[str]:
    return [message.content for message in messages]


async def talk(store: Store, messages: int) -> tuple[Session, list[Message]]:
    """A session of so many messages, a person's and a model's in turn."""
    session, first = await begin(store, "message 0")
    said = [first]
    for n in range(1, messages):
        said.append(await store.append_message(session.id, (assistant if n % 2 else user)(f"message {n}")))
    return await store.get_session(session.id), said
