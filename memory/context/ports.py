"""What the making of prompts needs to have kept."""

from collections.abc import Sequence
from typing import Protocol

from memory.context.decisions import RecallDecision
from memory.context.entities import Epoch, NewEpoch, NewSummary, Summary, TurnRecord


class ContextStore(Protocol):
    """Summaries, epochs and turns of one room. Raises as `memory.ports.SessionStore`, and
    `SummaryNotFound`. A call that has returned is durable."""

    async def add_summary(self, session_id: str, new: NewSummary) -> Summary:
        """Stores a summary and marks those that it replaces as merged, in one transaction.

        When one of those has become stale in the meantime it stays so, and the new one is stale as well.
        Raises `MessageNotFound` when it covers a message that the session does not have, `SummaryNotFound`
        when it replaces a summary that the session does not have, and `ValueError` when it covers nothing,
        or is not of a higher level than each that it replaces, or does not cover all that they cover.
        """
        ...

    async def summaries(self, session_id: str) -> list[Summary]:
        """All of a session, in every state, oldest first."""
        ...

    async def summary(self, ref: str) -> Summary:
        """By id or unique prefix."""
        ...

    async def rewrite_summary(
        self,
        summary_id: str,
        text: str,
        *,
        topics: Sequence[str] = (),
        fallback: bool = False,
        edited: bool = False,
        model: str | None = None,
    ) -> Summary:
        """Replaces the text; a stale summary becomes current (or merged again, if it was merged).

        Epochs whose head holds it end when it was stale or a person has `edited` it. A better text in place
        of a fallback waits for the next epoch.
        """
        ...

    async def age_summaries(self, message_ids: Sequence[str]) -> list[Summary]:
        """Marks every summary that covers one of the messages as stale, and ends the epochs whose head holds
        one of the summaries or messages; returns the summaries, oldest first. Unknown ids are passed over."""
        ...

    async def to_improve(self, *, limit: int = 20) -> list[Summary]:
        """Fallback and stale summaries that no person has edited, oldest first."""
        ...

    async def add_epoch(self, new: NewEpoch) -> Epoch:
        """Raises `MessageNotFound` when it starts at none of the session's messages, and `SummaryStale` when
        its parts name a summary that has become stale."""
        ...

    async def epochs(self, session_id: str, model: str) -> list[Epoch]:
        """The epochs of a session for a model's fingerprint, oldest first."""
        ...

    async def drop_epochs(self, session_id: str) -> int:
        """Ends all epochs of a session: the next turn begins a new one. Returns how many there were."""
        ...

    async def record_turn(self, record: TurnRecord) -> None:
        """What a reply's prompt was made of; a second record of the same reply replaces the first.

        An epoch that has ended meanwhile is left out. Raises `MessageNotFound` for what is no reply of the
        session.
        """
        ...

    async def turn(self, reply_id: str) -> TurnRecord | None: ...

    async def record_considered(
        self, session_id: str, reply_id: str, found: Sequence[RecallDecision]
    ) -> None:
        """Keeps what was looked at for a reply, in its order, in place of what was kept before. It goes with
        the reply, and each with what it names."""
        ...

    async def considered(self, reply_id: str) -> list[RecallDecision]:
        """In the order in which they were ranked."""
        ...

    async def considered_in(self, item_id: str, *, limit: int = 20) -> list[tuple[str, RecallDecision]]:
        """Ids of replies for which a message, memory or summary was looked at, the latest first, and what
        became of it."""
        ...
