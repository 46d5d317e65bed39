"""Which messages are copies of others: those that say the very same, and enough to be no chance."""

from models.messages import Role

LEAST = {Role.USER: 12, Role.ASSISTANT: 40, Role.SYSTEM: 40}
"""So many characters at least. "Thanks" is no copy of anything, nor is "You are welcome, ask away": a model
says so in every other session."""


def counts(role: Role, content: str) -> bool:
    """Whether a message says enough for another one of the same words to be a copy of it."""
    return len(content.strip()) >= LEAST[role]
