"""Where an epoch begins, and which of a session's epochs serves a turn: pure functions."""

from collections.abc import Sequence

from memory.context.entities import Epoch
from memory.context.head import made_for
from memory.entities import Message
from models.messages import Role


def verbatim_start(
    messages: Sequence[Message], sizes: Sequence[int], *, tokens: int, turns: int, least: int
) -> int:
    """Index of the first message that stays verbatim when a new epoch begins.

    As many of the newest as fit into `tokens`, at most `turns` turns, but at least `least` messages; it
    begins with the person's words, as templates expect. `sizes` are tokens, one for each message.
    """
    start = len(messages)
    held = spoken = 0
    for index in range(len(messages) - 1, -1, -1):
        kept = len(messages) - index
        held += sizes[index]
        if kept > least and held > tokens:
            break
        if messages[index].role is Role.USER:
            if spoken == turns and kept > least:
                break
            spoken += 1
            start = index
    return start if start < len(messages) else 0


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
