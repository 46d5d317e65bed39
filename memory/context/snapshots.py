"""What is kept of the model's own memory of a session, so that resuming it reads nothing again."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SnapshotInfo:
    """A stored state of a session: for which model, and which tokens it has read.

    `model` is the model's fingerprint, `prefix_hash` the `models.messages.hash_tokens` of the tokens, `size`
    the bytes of the state.
    """

    session_id: str
    model: str
    prefix_hash: str
    token_count: int
    size: int
    tokens: tuple[int, ...] = field(repr=False)
