"""Compacts the older messages of a branch: summaries are made one by one and stored at once."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass

from memory.context.entities import (
    CompactedHistory,
    Limits,
    NewSummary,
    Summary,
    SummaryState,
    TokenAllowance,
)
from memory.entities import Message, MessageStatus
from memory.jobs.foreground_gate import Gently
from memory.jobs.queue import Job
from memory.storage.store import Store
from memory.summaries.planning import (
    Fold,
    Foldable,
    Merge,
    PlanLimits,
    SourceMessage,
    SummaryPlan,
    active_summaries,
    foldables,
    plan,
    plan_all,
)
from memory.summaries.summarise import Draft, Summariser
from models.ports import TokenCounter

SUMMARISE = "summarise"
"""Kind of job: compacts its session; its payload may name the leaf of the branch (`leaf_id`)."""

IMPROVE = "improve"
"""Kind of job: makes fallback and stale summaries again."""

Handler = Callable[[Job], Awaitable[None]]

_REMADE_TOKENS = 120
_EMPTIED_TOKENS = 240
"""The lower bounds of the token limit of a remade summary; the second for one that was emptied."""

_LOOKED_THROUGH = 1000


@dataclass(frozen=True, slots=True)
class CompactionResult:
    """Tokens of a branch, as messages and summaries, before and after.

    `made` are the summaries that were made or remade and are current.
    """

    before: int
    after: int
    made: tuple[Summary, ...] = ()


class Compactor:
    """Summarises sessions of one room. A call that was interrupted in any way can simply be repeated.

    Raises what the store, the counter and the model raise.
    """

    def __init__(self, store: Store, summariser: Summariser, counter: TokenCounter) -> None:
        self._store = store
        self._summariser = summariser
        self._counter = counter

    async def plan(self, session_id: str, limits: PlanLimits, leaf_id: str | None = None) -> SummaryPlan:
        """Returns the plan that `compact` would carry out."""
        branch = await self._store.branch(session_id, leaf_id)
        return await self._plan(session_id, branch, limits, plan)

    async def compact(
        self, session_id: str, limits: PlanLimits, leaf_id: str | None = None, *, quick: bool = False
    ) -> CompactionResult:
        """Summarises what is over the limits. With `quick` no model is asked: the summaries are fallbacks."""
        branch = await self._store.branch(session_id, leaf_id)
        made = await self._plan(session_id, branch, limits, plan)
        return await self.carry_out(session_id, branch, made, quick=quick)

    async def force(
        self, session_id: str, limits: PlanLimits, leaf_id: str | None = None, *, quick: bool = False
    ) -> CompactionResult:
        """Summarises everything but the last `recent_messages_min` messages."""
        branch = await self._store.branch(session_id, leaf_id)
        made = await self._plan(session_id, branch, limits, plan_all)
        return await self.carry_out(session_id, branch, made, quick=quick)

    async def carry_out(
        self, session_id: str, branch: Sequence[Message], made: SummaryPlan, *, quick: bool = False
    ) -> CompactionResult:
        """Carries out a plan for the branch. Finished parts are not repeated."""
        before = await self._tokens(session_id, branch)
        if made.remake:
            await self.refresh(session_id, quick=quick)
        texts = {message.id: message for message in branch}
        done = [await self._fold(session_id, fold, texts, made.most, quick=quick) for fold in made.folds]
        done += [await self._merge(session_id, merge, texts, made.most, quick=quick) for merge in made.merges]
        new = {summary.id for summary in done if summary} | set(made.remake)
        summaries = await self._store.context.summaries(session_id)
        left = tuple(s for s in summaries if s.id in new and s.state is SummaryState.CURRENT)
        return CompactionResult(before, await self._tokens(session_id, branch), left)

    async def refresh(self, session_id: str, *, quick: bool = False) -> list[Summary]:
        """Makes a session's stale summaries again, lowest level first, since others are merged from them."""
        stale = [
            summary
            for summary in await self._store.context.summaries(session_id)
            if summary.state is SummaryState.STALE
        ]
        made = [await self._remake(s, quick=quick) for s in sorted(stale, key=lambda s: s.level)]
        return [summary for summary in made if summary]

    async def left_by_another(self, model: str | None = None) -> bool:
        """Whether other models failed to write a summary and this one has not been asked for it.

        `model` is a fingerprint; None means the model in use, which is loaded only when such a summary
        exists.
        """
        found = await self._store.context.to_improve(limit=_LOOKED_THROUGH)
        asked = {summary.model for summary in found if summary.fallback and summary.model is not None}
        if not asked:
            return False
        return asked != {model or await self._summariser.fingerprint()}

    async def improve(self, *, limit: int | None = 20) -> list[Summary]:
        """Makes stale summaries again, and fallbacks for which the current model was not asked yet.

        Makes at most `limit` summaries, or (None) all that are waiting.
        """
        found = await self._store.context.to_improve(limit=_LOOKED_THROUGH)
        if not found:
            return []
        model = await self._summariser.fingerprint()
        waiting = [
            summary for summary in found if summary.state is SummaryState.STALE or summary.model != model
        ]
        made = [await self._remake(s, quick=False) for s in sorted(waiting[:limit], key=lambda s: s.level)]
        return [summary for summary in made if summary]

    async def _fold(
        self, session_id: str, fold: Fold, texts: dict[str, Message], most: int | None, *, quick: bool
    ) -> Summary | None:
        if any(s.covers == fold.covers for s in await self._store.context.summaries(session_id)):
            # This plan was carried out before.
            return None
        covered = [texts[id_] for id_ in fold.covers]
        draft = await self._drafted(session_id, covered, most, quick=quick)
        new = NewSummary(draft.text, fold.covers, 0, draft.topics, draft.fallback, draft.model)
        return await self._stored(session_id, new, covered)

    async def _merge(
        self, session_id: str, merge: Merge, texts: dict[str, Message], most: int | None, *, quick: bool
    ) -> Summary | None:
        found = {s.covers: s for s in await self._store.context.summaries(session_id)}
        if merge.covers in found:
            return None
        parts = [found[part] for part in merge.parts]
        covered = [texts[id_] for id_ in merge.covers]
        draft = await self._merged(session_id, parts, covered, most, quick=quick)
        level = max(part.level for part in parts) + 1
        replaced = tuple(part.id for part in parts)
        new = NewSummary(draft.text, merge.covers, level, draft.topics, draft.fallback, draft.model, replaced)
        return await self._stored(session_id, new, covered)

    async def _stored(self, session_id: str, new: NewSummary, covered: Sequence[Message]) -> Summary:
        summary = await self._store.context.add_summary(session_id, new)
        await self._age_if_changed(session_id, covered)
        return summary

    async def _remake(self, summary: Summary, *, quick: bool) -> Summary | None:
        """Makes a summary again; returns None when a user has edited it meanwhile."""
        covered = await self._covered(summary)
        forgotten = any(not message.content for message in covered)
        if summary.edited and not forgotten:
            # The user's text still represents the messages.
            return await self._store.context.rewrite_summary(
                summary.id, summary.text, topics=summary.topics, edited=True, model=summary.model
            )
        of_session = await self._store.context.summaries(summary.session_id)
        order = {id_: index for index, id_ in enumerate(summary.covers)}
        parts = sorted(
            (s for s in of_session if s.merged_into == summary.id and s.covers[0] in order),
            key=lambda s: order[s.covers[0]],
        )
        most = await self._room(summary, of_session)
        whole = tuple(id_ for part in parts for id_ in part.covers) == summary.covers
        if whole and all(part.state is SummaryState.MERGED for part in parts):
            draft = await self._merged(summary.session_id, parts, covered, most, quick=quick)
        else:
            draft = await self._drafted(summary.session_id, covered, most, quick=quick)
        if (await self._store.context.summary(summary.id)).edited and not summary.edited:
            return None
        made = await self._store.context.rewrite_summary(
            summary.id, draft.text, topics=draft.topics, fallback=draft.fallback, model=draft.model
        )
        await self._age_if_changed(summary.session_id, covered)
        return made

    async def _room(self, summary: Summary, of_session: Sequence[Summary]) -> int:
        """Returns the tokens that a remade summary may have: as many as before, if known."""
        if summary.text:
            return max((await self._counter.count([summary.text]))[0], _REMADE_TOKENS)
        # An emptied summary's former length is unknown, and a share of what it covers may exceed the room in
        # a prompt.
        sizes = await self._counter.count([s.text for s in of_session if s.text])
        return max([*sizes, _EMPTIED_TOKENS])

    async def _drafted(
        self, session_id: str, covered: Sequence[Message], most: int | None, *, quick: bool
    ) -> Draft:
        if quick:
            return await self._summariser.quick(sources(covered), most=most)
        return await self._summariser.summarise(sources(covered), most=most, session_id=session_id)

    async def _merged(
        self,
        session_id: str,
        parts: Sequence[Summary],
        covered: Sequence[Message],
        most: int | None,
        *,
        quick: bool,
    ) -> Draft:
        texts = sources(covered)
        if quick:
            return await self._summariser.quick_merge(parts, texts, most=most)
        return await self._summariser.merge(parts, texts, most=most, session_id=session_id)

    async def _covered(self, summary: Summary) -> list[Message]:
        ids = set(summary.covers)
        last = summary.covers[-1]
        branch = await self._store.branch(summary.session_id, last, since=summary.covers[:1])
        return [message for message in branch if message.id in ids]

    async def _age_if_changed(self, session_id: str, covered: Sequence[Message]) -> None:
        """Ages the new summary if a message it covers was forgotten or changed while it was written."""
        first, last = covered[0].id, covered[-1].id
        now = {m.id: m.content for m in await self._store.branch(session_id, last, since=[first])}
        changed = [m.id for m in covered if now.get(m.id) != m.content]
        if changed:
            await self._store.context.age_summaries(changed)

    async def _plan(
        self,
        session_id: str,
        branch: Sequence[Message],
        limits: PlanLimits,
        make: Callable[[Sequence[Foldable], Sequence[Summary], PlanLimits], SummaryPlan],
    ) -> SummaryPlan:
        summaries = await self._store.context.summaries(session_id)
        sizes = await self._counter.count([message.content for message in branch])
        messages = await asyncio.to_thread(foldables, Gently(branch), sizes, summaries)
        return make(messages, summaries, limits)

    async def _tokens(self, session_id: str, branch: Sequence[Message]) -> int:
        found = active_summaries([m.id for m in branch], await self._store.context.summaries(session_id))
        covered = {id_ for stretch in found if stretch.summary for id_ in stretch.summary.covers}
        texts = [stretch.summary.text for stretch in found if stretch.summary]
        texts += [m.content for m in branch if m.id not in covered]
        return sum(await self._counter.count(texts))


def sources(messages: Sequence[Message]) -> list[SourceMessage]:
    """Returns the messages that may be summarised: all but failed replies."""
    return [
        SourceMessage(m.id, m.role, m.speaker, m.content, m.created_at, m.important)
        for m in messages
        if m.status is not MessageStatus.FAILED
    ]


def register_summaries(
    handlers: MutableMapping[str, Handler],
    compactor: Compactor,
    limits: Callable[[str], Awaitable[PlanLimits]],
) -> None:
    """Adds the handlers for both kinds of job; `limits` returns a session's limits when its turn comes."""

    async def summarise(job: Job) -> None:
        if job.session_id is not None:
            leaf = job.payload.get("leaf_id")
            await compactor.compact(job.session_id, await limits(job.session_id), leaf)

    async def improve(job: Job) -> None:
        if job.session_id is not None:
            await compactor.refresh(job.session_id)
        await compactor.improve()

    handlers[SUMMARISE] = summarise
    handlers[IMPROVE] = improve


class SummaryCompactor:
    """A `memory.context.entities.HistoryCompactor` that uses summaries."""

    def __init__(self, store: Store, compactor: Compactor) -> None:
        self._store = store
        self._compactor = compactor

    async def fold(
        self,
        session_id: str,
        branch: Sequence[Message],
        sizes: Sequence[int],
        room: TokenAllowance,
        limits: Limits,
        *,
        quick: bool,
    ) -> CompactedHistory:
        known = await self._store.context.summaries(session_id)
        messages = await asyncio.to_thread(foldables, Gently(branch), sizes, known)
        made = plan(messages, known, plan_limits(room, limits))
        await self._compactor.carry_out(session_id, branch, made, quick=quick)
        summaries = await self._store.context.summaries(session_id)
        found = active_summaries([m.id for m in branch[: made.start]], summaries)
        kept = set(made.pinned)
        return CompactedHistory(
            made.start,
            tuple(stretch.summary for stretch in found if stretch.summary is not None),
            tuple(message for message in branch if message.id in kept),
        )


def plan_limits(room: TokenAllowance, limits: Limits) -> PlanLimits:
    """Returns the plan's limits from the settings and the budget."""
    return PlanLimits(
        target_tokens=room.recent,
        pinned_tokens=room.pinned,
        summary_tokens=room.summary,
        immediate_turns=limits.immediate_turns,
        summary_turns=limits.summary_turns,
        max_summaries=limits.max_summaries,
        recent_messages_min=limits.recent_messages_min,
        relevance_decay=limits.relevance_decay,
    )
