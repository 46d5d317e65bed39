"""Summaries, epochs and turns in dictionaries."""

from collections.abc import Sequence
from dataclasses import replace

from memory.context.compacting import require_wider, state_of_new
from memory.context.decisions import RecallDecision
from memory.context.entities import (
    Epoch,
    NewEpoch,
    NewSummary,
    Summary,
    SummaryState,
    TurnRecord,
)
from memory.errors import AmbiguousId, MessageNotFound, SummaryNotFound, SummaryStale
from memory.storage.values import id_range, new_id, storable
from memory.testing.context_rows import ContextRows
from models.messages import Role


class InMemoryContext(ContextRows):
    """`memory.context.ports.ContextStore` in dictionaries, beside the sessions and messages of `rows`."""

    async def add_summary(self, session_id: str, new: NewSummary) -> Summary:
        self._rows.require_open()
        now = self._clock.now()
        self._rows.session(session_id)
        for message_id in new.covers:
            self._rows.message_in(session_id, message_id)
        replaced = [self._summary(summary_id) for summary_id in new.replaces]
        for one in replaced:
            if one.session_id != session_id:
                raise SummaryNotFound(one.id)
        require_wider(new, replaced)
        added = self._keep(
            Summary(
                id=new_id(),
                session_id=session_id,
                level=new.level,
                text=storable(new.text),
                covers=new.covers,
                created_at=now,
                updated_at=now,
                state=state_of_new(replaced),
                topics=tuple(storable(topic) for topic in new.topics),
                fallback=new.fallback,
                model=new.model,
            )
        )
        for one in replaced:
            self._keep(self._settled(replace(one, merged_into=added.id), was=one.state))
        return added

    async def summaries(self, session_id: str) -> list[Summary]:
        self._rows.require_open()
        self._rows.session(session_id)
        return [one for one in self._summaries.values() if one.session_id == session_id]

    async def summary(self, ref: str) -> Summary:
        self._rows.require_open()
        span = id_range(ref)
        found = [] if span is None else [one for one in self._summaries.values() if self._in(one.id, span)]
        if not found:
            raise SummaryNotFound(ref)
        if len(found) > 1:
            raise AmbiguousId(ref, len(found))
        return found[0]

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
        self._rows.require_open()
        now = self._clock.now()
        before = self._summary(summary_id)
        if edited or before.state is SummaryState.STALE:
            self._end_epochs({before.id}, {before.session_id})
        changed = replace(
            before,
            text=storable(text),
            topics=tuple(storable(topic) for topic in topics),
            fallback=fallback,
            edited=edited,
            model=model,
            updated_at=now,
        )
        return self._keep(self._settled(changed))

    async def age_summaries(self, message_ids: Sequence[str]) -> list[Summary]:
        self._rows.require_open()
        return self.age(message_ids)

    async def to_improve(self, *, limit: int = 20) -> list[Summary]:
        self._rows.require_open()
        found = [
            one
            for one in self._summaries.values()
            if not one.edited and (one.fallback or one.state is SummaryState.STALE)
        ]
        return found[: max(limit, 0)]

    async def add_epoch(self, new: NewEpoch) -> Epoch:
        self._rows.require_open()
        now = self._clock.now()
        self._rows.message_in(new.session_id, new.start_id)
        for held in (held for part in new.parts for held in part.ids):
            found = self._summaries.get(held)
            if found is not None and found.state is SummaryState.STALE:
                raise SummaryStale(held)
        epoch = Epoch(new_id(), new.session_id, new.model, storable(new.head), new.parts, new.start_id, now)
        self._epochs[epoch.id] = epoch
        return epoch

    async def epochs(self, session_id: str, model: str) -> list[Epoch]:
        self._rows.require_open()
        self._rows.session(session_id)
        return [one for one in self._epochs.values() if (one.session_id, one.model) == (session_id, model)]

    async def drop_epochs(self, session_id: str) -> int:
        self._rows.require_open()
        self._rows.session(session_id)
        return self._drop([one for one in self._epochs.values() if one.session_id == session_id])

    async def record_turn(self, record: TurnRecord) -> None:
        self._rows.require_open()
        if self._rows.message_in(record.session_id, record.reply_id).role is not Role.ASSISTANT:
            raise MessageNotFound(record.reply_id)
        epoch = self._epochs.get(record.epoch_id or "")
        here = epoch is not None and epoch.session_id == record.session_id
        self._turns[record.reply_id] = record if here else replace(record, epoch_id=None)

    async def turn(self, reply_id: str) -> TurnRecord | None:
        self._rows.require_open()
        return self._turns.get(reply_id)

    async def record_considered(
        self, session_id: str, reply_id: str, found: Sequence[RecallDecision]
    ) -> None:
        self._rows.message_in(session_id, reply_id)
        self._considered[reply_id] = list(found)

    async def considered(self, reply_id: str) -> list[RecallDecision]:
        self._rows.require_open()
        found = self._considered.get(reply_id, []) if reply_id in self._rows.messages else []
        return [one for one in found if self._is_there(one.id)]

    async def considered_in(self, item_id: str, *, limit: int = 20) -> list[tuple[str, RecallDecision]]:
        found = [
            (reply, one)
            for reply in sorted(self._considered, reverse=True)
            for one in await self.considered(reply)
            if one.id == item_id
        ]
        return found[:limit]

    @staticmethod
    def _in(summary_id: str, span: tuple[str, str]) -> bool:
        return span[0] <= summary_id <= span[1]

    @staticmethod
    def _settled(summary: Summary, was: SummaryState = SummaryState.CURRENT) -> Summary:
        if was is SummaryState.STALE:
            return summary
        merged = summary.merged_into is not None
        return replace(summary, state=SummaryState.MERGED if merged else SummaryState.CURRENT)

    def _summary(self, summary_id: str) -> Summary:
        found = self._summaries.get(summary_id)
        if found is None:
            raise SummaryNotFound(summary_id)
        return found
