"""The parts of the prompts of one room: summaries, epochs, turns, attachments."""

from collections.abc import Sequence

from memory.attachments import Attachment, Document, NewAttachment
from memory.clock import Clock
from memory.context.entities import (
    Epoch,
    NewEpoch,
    NewSummary,
    RecallDecision,
    Summary,
    SummaryState,
    TurnRecord,
)
from memory.storage.connection import Connection
from memory.storage.database import Database
from memory.storage.queries import context


class ContextStore:
    """The summaries, epochs and turns of one room. Raises the errors of `Store`, and `SummaryNotFound`. A
    call that has returned is durable."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def add_summary(self, session_id: str, new: NewSummary) -> Summary:
        """Stores a summary and marks those it replaces as merged, in one transaction.

        If one of those has become stale meanwhile, it stays stale, and so is the new one. Raises
        `MessageNotFound` when it covers a message that the session does not have, `SummaryNotFound` when it
        replaces a summary that the session does not have, and `ValueError` when it covers nothing, is not of
        a higher level than each it replaces, or does not cover everything that they cover.
        """
        now = self._clock.now()
        return await self._database.write(lambda conn: context.insert_summary(conn, session_id, new, now))

    async def summaries(self, session_id: str) -> list[Summary]:
        """Returns all summaries of a session, in every state, oldest first."""
        return await self._database.read(lambda conn: context.summaries_of_session(conn, session_id))

    async def summary(self, ref: str) -> Summary:
        """Returns a summary by id or unique prefix."""
        return await self._database.read(lambda conn: context.get_summary(conn, context.resolve(conn, ref)))

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

        Epochs whose head contains it end if it was stale or the user has `edited` it. A better text in place
        of a fallback is used from the next epoch on.
        """
        now = self._clock.now()

        def work(conn: Connection) -> Summary:
            before = context.get_summary(conn, summary_id)
            if edited or before.state is SummaryState.STALE:
                context.drop_holding(conn, [before.session_id], [before.id])
            return context.rewrite(
                conn,
                before.id,
                now,
                text=text,
                topics=topics,
                fallback=fallback,
                edited=edited,
                model=model,
            )

        return await self._database.write(work)

    async def age_summaries(self, message_ids: Sequence[str]) -> list[Summary]:
        """Marks every summary that covers one of the messages as stale, and ends the epochs whose head
        contains one of the summaries or messages. Returns the summaries, oldest first. Unknown ids are
        ignored."""
        return await self._database.write(lambda conn: context.age_summaries(conn, message_ids))

    async def to_improve(self, *, limit: int = 20) -> list[Summary]:
        """Returns fallback and stale summaries that the user has not edited, oldest first."""
        return await self._database.read(lambda conn: context.to_improve(conn, limit))

    async def add_epoch(self, new: NewEpoch) -> Epoch:
        """Stores an epoch. Raises `MessageNotFound` when it starts at none of the session's messages, and
        `SummaryStale` when its parts name a summary that has become stale."""
        now = self._clock.now()
        return await self._database.write(lambda conn: context.insert_epoch(conn, new, now))

    async def epochs(self, session_id: str, model: str) -> list[Epoch]:
        """Returns the epochs of a session for a model fingerprint, oldest first."""
        return await self._database.read(lambda conn: context.epochs_of_session(conn, session_id, model))

    async def drop_epochs(self, session_id: str) -> int:
        """Ends all epochs of a session: the next turn begins a new one. Returns how many there were."""
        return await self._database.write(lambda conn: context.drop(conn, session_id))

    async def record_turn(self, record: TurnRecord) -> None:
        """Records the parts of a reply's prompt; a second record of the same reply replaces the first.

        An epoch that has ended meanwhile is left out. Raises `MessageNotFound` if it is not a reply of the
        session.
        """
        await self._database.write(lambda conn: context.record_turn(conn, record))

    async def turn(self, reply_id: str) -> TurnRecord | None:
        return await self._database.read(lambda conn: context.turn(conn, reply_id))

    async def record_considered(
        self, session_id: str, reply_id: str, found: Sequence[RecallDecision]
    ) -> None:
        """Stores the items considered for a reply, in their order, replacing earlier ones. They are deleted
        with the reply, and each with the item it names."""
        await self._database.write(lambda conn: context.put_considered(conn, session_id, reply_id, found))

    async def considered(self, reply_id: str) -> list[RecallDecision]:
        """Returns the items considered for a reply, in ranking order."""
        return await self._database.read(lambda conn: context.considered_for(conn, reply_id))

    async def considered_in(self, item_id: str, *, limit: int = 20) -> list[tuple[str, RecallDecision]]:
        """Returns the ids of replies for which a message, memory or summary was considered, latest first,
        each with what was decided."""
        return await self._database.read(lambda conn: context.considered_naming(conn, item_id, limit))


class AttachmentStore:
    """The attachments of one room. They are deleted with their session, and copied with it. Raises the errors
    of `Store`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock

    async def attach(self, session_id: str, new: NewAttachment) -> Attachment:
        """Stores an attachment; one of the same name and text is stored once. Raises `SessionNotFound`."""
        now = self._clock.now()
        return await self._database.write(lambda conn: context.insert_attachment(conn, session_id, new, now))

    async def attached(self, session_id: str) -> list[Attachment]:
        """Returns the attachments in the order in which they were added."""
        return await self._database.read(lambda conn: context.attachments_of_session(conn, session_id))

    async def documents(self) -> list[Document]:
        """Returns the documents attached to any session that is not in the bin, by name."""
        return await self._database.read(context.documents)

    async def detach(self, session_id: str, ref: str) -> Attachment:
        """Erases an attachment (by its name, its id or a unique prefix of that), and removes it from the
        session's prompts: prefaces that contain its text are emptied, and the epochs end.

        Raises `AttachmentNotFound`, `AmbiguousId`.
        """

        def work(conn: Connection) -> Attachment:
            return context.erase(conn, session_id, ref)

        return await self._database.erase(work)
