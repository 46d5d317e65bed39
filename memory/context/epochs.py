"""Which of a session's epochs may serve a turn: pure functions."""

from collections.abc import Sequence

from memory.context.entities import Epoch
from memory.context.head import made_for
from memory.entities import Message


def usable(epochs: Sequence[Epoch], system: str) -> list[Epoch]:
    """Those that were made with this system prompt, newest first."""
    return [epoch for epoch in reversed(epochs) if made_for(epoch.head, system)]


def on_branch(epochs: Sequence[Epoch], branch: Sequence[Message]) -> list[Epoch]:
    """Those whose first verbatim message is on the branch.

    That is enough: a message's ancestors are the same on every branch it is on, and a head speaks only of
    ancestors.
    """
    ids = {message.id for message in branch}
    return [epoch for epoch in epochs if epoch.start_id in ids]
