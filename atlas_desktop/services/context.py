"""The context of a session: epochs, model states, boundaries between sessions, and a meter by tier."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from atlas_desktop.locale import N_, _, formats, ngettext, plural
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.events import Replied
from atlas_desktop.services.sessions import branch_of
from atlas_desktop.settings.schema import SessionSettings
from memory.clock import Clock
from memory.context.boundaries import (
    Boundary,
    BoundaryRules,
    Reminder,
    boundary,
    cosine,
    names_topic,
    reminder,
    topic,
)
from memory.context.engine import ContextEngine
from memory.context.entities import TierUse
from memory.context.epochs import Compaction, ContextView
from memory.entities import MemoryMode, Message, Session
from memory.errors import SessionNotFound
from memory.jobs.queue import Job, Priority
from memory.storage.store import Store
from models.errors import ModelsError, StateRefused
from models.messages import Role, common_tokens
from models.ports import Embedder, PrefixKeeper

if TYPE_CHECKING:
    from memory.storage.snapshots import SnapshotStore
_METER_TEXTS = {
    "system": N_("instructions"),
    "profile": N_("profile"),
    "skill": N_("skills"),
    "pinned": N_("kept word for word"),
    "summary": N_("summaries"),
    "document": N_("documents"),
    "recent": N_("recent, verbatim"),
    "recall": N_("recalled"),
    "user": N_("latest message"),
}
_METER_COUNT_COUNTS = {
    "profile": plural("1 memory", "{count} memories"),
    "skill": plural("1 skill", "{count} skills"),
    "pinned": plural("1 message", "{count} messages"),
    "summary": plural("1 summary", "{count} summaries"),
    "document": plural("1 source", "{count} sources"),
    "recent": plural("1 message", "{count} messages"),
    "recall": plural("1 passage", "{count} passages"),
}


_WIDTH = 24
_MOST_OF_DATE = len("[Wednesday, 30 September 2026, 23:59]")
"""The characters of the longest line with the date and time. It has no more tokens than characters."""


def meter(view: ContextView) -> str:
    """Returns one line in total and one for each tier, with bars on one scale."""
    number, limit = formats().number, view.budget.limit
    in_all = _(
        "{tokens} of {limit} tokens ({share:.0%}), plus {reply} for the reply. Above {working}, "
        "older messages are summarised down to {target}.",
        tokens=number(view.tokens),
        limit=number(limit),
        share=view.tokens / limit if limit else 0.0,
        reply=number(view.budget.reply),
        working=number(view.budget.working),
        target=number(view.budget.target),
    )
    most = max((tier.tokens for tier in view.tiers), default=1) or 1
    note = (
        [_("These numbers are estimates: the engine does not count tokens.")] if view.info.estimated else []
    )
    return "\n".join([in_all, *(tier_line(tier, most) for tier in view.tiers if tier.tokens), *note])


def tier_name(tier: TierUse) -> str:
    """Returns a tier's name as shown to the user."""
    if tier.tier == "recall" and not tier.ids and not recalled_since_gone(tier):
        # The recall tier also contains the date and time, and nothing else when nothing is recalled.
        return _("date and time")
    return _(_METER_TEXTS[tier.tier]) if tier.tier in _METER_TEXTS else tier.tier


def recalled_since_gone(tier: TierUse) -> bool:
    """Whether something was recalled that has left the room since: the tier is longer than a date alone."""
    return tier.tier == "recall" and not tier.ids and tier.tokens > _MOST_OF_DATE


def tier_line(tier: TierUse, most: int) -> str:
    """Returns a tier's tokens, its bar (as long as its share of `most`), and how many items it has."""
    filled = max(1, round(_WIDTH * tier.tokens / most))
    counted = tier.ids and tier.tier in _METER_COUNT_COUNTS
    count = f"  {ngettext(*_METER_COUNT_COUNTS[tier.tier], len(tier.ids))}" if counted else ""
    return f"{tier_name(tier):<19}{formats().number(tier.tokens):>8}  {'█' * filled}{count}"


def next_prompt(view: ContextView) -> str:
    """Returns the exact messages that the model is given before the user's next message."""
    return "\n\n".join(f"[{message.role}]\n{message.content}" for message in view.messages)


def compact(tiers: Sequence[TierUse]) -> str:
    """Returns all tiers in one line: `system 38 · summary 410 · recent 1,204`."""
    return " · ".join(f"{tier.tier} {tier.tokens:,}" for tier in tiers if tier.tokens)


_LOOKED_AT = 12
"""Newest messages that determine the topic, including replies (only the newest reply is used)."""
_REMEMBERED = 256
_OF_A_REPLY = 1000
"""Characters of a reply that determine its topic."""
_OF_A_MESSAGE = 4000
"""Characters of a message that determine its topic; an embedding model reads fewer."""
_SETTLED = 2
"""Turns after which Atlas offers a new session for another topic.

Users who introduce themselves mention many topics and should not be asked each time.
"""
_PATIENCE_S = 1.5
"""Seconds that a message waits at most to learn whether its topic is new."""


class ContinuityService:
    """Session boundaries and reminders in one room. Without an embedder only pauses and lengths count."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        settings: Callable[[], SessionSettings],
        *,
        embedder: Callable[[], Embedder | None] = lambda: None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._embedder = embedder
        self._vectors: OrderedDict[str, Sequence[float]] = OrderedDict()

    @property
    def automatic(self) -> bool:
        """Whether a new session is started without asking."""
        return self._settings().new_session == "automatic"

    async def boundary(self, session: Session, text: str) -> Boundary | None:
        """Returns the reason why `text` would start something new; None if it would not, or detection is off.

        `session` is as it was before `text` was stored.
        """
        settings = self._settings()
        if settings.new_session == "off" or session.head_id is None:
            return None
        rules = BoundaryRules(
            timedelta(minutes=settings.after_minutes),
            settings.after_turns,
            settings.topic_similarity,
            1 if self.automatic else _SETTLED,
        )
        now, turns = self._clock.now(), await self._turns(session, session.head_id, rules.turns)
        found = boundary(rules, now=now, last=session.updated_at, turns=turns)
        text = text[:_OF_A_MESSAGE]
        if found is not None or not names_topic(text):
            return found
        newest = await self._store.branch(session.id, session.head_id, newest=_LOOKED_AT)
        said = [m for m in newest if m.role is Role.USER]
        replied = next((m for m in reversed(newest) if m.role is Role.ASSISTANT and m.content.strip()), None)
        similarity = await self._similarity(text, said, replied, rules.similarity) if said else None
        return boundary(rules, now=now, last=session.updated_at, turns=turns, similarity=similarity)

    async def reminder(self, session: Session) -> Reminder | None:
        """Returns the reminder to show when a session is resumed after a pause; None if there is none."""
        settings = self._settings()
        if not settings.reminder:
            return None
        now, after = self._clock.now(), timedelta(minutes=settings.after_minutes)
        if session.head_id is None or now - session.updated_at < after:
            return None
        # The first and the last messages are enough, however long the session is.
        path = branch_of(await self._store.outline(session.id), session.head_id)
        ends = await self._store.branch(session.id, newest=_LOOKED_AT)
        own = [node.id for node in path if node.role is Role.USER]
        if own and own[0] not in {m.id for m in ends}:
            ends = [*await self._store.branch(session.id, own[0], newest=1), *ends]
        summaries = await self._store.context.summaries(session.id)
        on_branch = {node.id for node in path}
        standing = [s for s in summaries if on_branch.issuperset(s.covers)]
        found = reminder(ends, standing, now=now, after=after)
        return None if found is None else replace(found, turns=max(found.turns, len(own)))

    async def _turns(self, session: Session, head_id: str, length: int) -> int:
        """Returns the turns on the session's branch; if it cannot have `length` yet, about half its messages.

        Variants of replies and replaced messages count as messages, but not as turns.
        """
        if session.message_count < length:
            return session.message_count // 2
        path = branch_of(await self._store.outline(session.id), head_id)
        return sum(node.role is Role.USER for node in path)

    async def _similarity(
        self, text: str, said: Sequence[Message], replied: Message | None, enough: float
    ) -> float | None:
        """Returns the cosine between `text` and the topic; None when it cannot be computed in time.

        A question about something in the newest reply continues the topic: if the similarity to what was
        `said` is less than `enough`, that to the reply counts as well.
        """
        embedder = self._embedder()
        if embedder is None:
            return None
        unknown = [m for m in said if m.id not in self._vectors]
        try:
            async with asyncio.timeout(_PATIENCE_S):
                *made, new = await embedder.embed([*(m.content[:_OF_A_MESSAGE] for m in unknown), text])
                self._keep(unknown, made)
                known = [self._vectors[m.id] for m in said if m.id in self._vectors]
                similarity = cosine(topic(known), new)
                if similarity < enough and replied is not None:
                    if replied.id not in self._vectors:
                        self._keep([replied], await embedder.embed([replied.content[:_OF_A_REPLY]]))
                    similarity = max(similarity, cosine(self._vectors[replied.id], new))
        except (TimeoutError, ModelsError):
            return None
        return similarity

    def _keep(self, messages: Sequence[Message], made: Sequence[Sequence[float]]) -> None:
        self._vectors.update({m.id: vector for m, vector in zip(messages, made, strict=True)})
        while len(self._vectors) > _REMEMBERED:
            self._vectors.popitem(last=False)


EPOCH = "epoch"
WORTH_KEEPING = 256
"""Tokens. Evaluating fewer again is faster than loading them."""
REST_S = 20.0
"""Seconds after a reply until its state is saved, unless the session continues."""


class EpochService:
    """Epochs and saved model states of one room.

    `engine` and `model` are called for each use, because the model can change. `model` returns None when the
    model in use cannot prefill; `snapshots` is None in a room that stores nothing.
    """

    def __init__(
        self,
        store: Store,
        engine: Callable[[], ContextEngine],
        model: Callable[[], PrefixKeeper | None],
        background: BackgroundService,
        *,
        snapshots: "SnapshotStore | None" = None,
    ) -> None:
        self.on_compaction: Callable[[Compaction], None] = lambda _made: None
        self._store = store
        self._engine = engine
        self._model = model
        self._background = background
        self._keeping: asyncio.Task[None] | None = None
        self._snapshots = snapshots
        self._held: dict[str, str] = {}
        self._back: set[str] = set()
        background.register(EPOCH, self._prepare)
        background.register_hook(self._after_reply)

    # --- resuming a session -----------------------------------------------------------------------

    async def bring_back(self, session_id: str) -> bool:
        """Restores the model's saved state of a session, once in a run; returns whether there was any.

        Raises `models.errors.ModelsError`.
        """
        model = self._model()
        if model is None or self._snapshots is None or session_id in self._back:
            return False
        self._back.add(session_id)
        messages = await self._engine().resting(session_id)
        if messages is None:
            return False
        return await self._load(session_id, model, await model.render(messages))

    async def warm(self, session_id: str) -> None:
        """Prefills an opened session before the first message, at lower priority than any chat."""
        await self.bring_back(session_id)
        model = self._model()
        messages = await self._engine().resting(session_id)
        if model is not None and messages is not None:
            read = await model.prefill(messages)
            session = await self._store.get_session(session_id)
            self._worth_keeping(session, read.held_hash, min(read.tokens, read.evaluated))

    async def _load(self, session_id: str, model: PrefixKeeper, prompt: list[int]) -> bool:
        if self._snapshots is None or len(prompt) < WORTH_KEEPING:
            return False
        fingerprint = (await self._engine().model_info()).fingerprint
        await self._snapshots.drop_other_models(fingerprint)
        found = await self._snapshots.find(session_id, fingerprint)
        if found is None or common_tokens(found.tokens, prompt) < WORTH_KEEPING:
            return False
        state = await self._snapshots.load(found)
        if state is None:
            return False
        try:
            await model.load_state(state)
        except StateRefused:
            # It belongs to other model settings, so its text is evaluated again.
            await self._snapshots.drop_session(session_id)
            return False
        return True

    # --- after a reply ----------------------------------------------------------------------------

    async def summarise_now(self, session_id: str) -> Compaction | None:
        """Summarises all but the newest messages; returns None for an empty session.

        The result is used once the model has read it, which happens in the background.
        """
        engine = self._engine()
        made = await engine.next_epoch(session_id, force=True)
        if made is not None and self._model() is not None:
            engine.wait_for(made)
            await self._background.add(EPOCH, session_id, session_id=session_id, priority=Priority.HIGH)
        return made

    async def _after_reply(self, replied: Replied) -> None:
        session = replied.session
        self._back.add(session.id)
        if replied.due or self._engine().waiting(session.id):
            await self._background.add(EPOCH, session.id, session_id=session.id, priority=Priority.HIGH)
        self._worth_keeping(session, replied.completion.held_hash, replied.completion.held_tokens)

    def _worth_keeping(self, session: Session, held_hash: str, tokens: int) -> None:
        """Schedules saving the state whose tokens have this hash, if it is long enough."""
        if self._snapshots is None or session.memory_mode is MemoryMode.OFF or tokens < WORTH_KEEPING:
            return
        self._held[session.id] = held_hash
        self._keep_soon()

    async def _prepare(self, job: Job) -> None:
        """Makes the next epoch, has the model read it, and lets it be used from the next turn on."""
        engine, session_id = self._engine(), job.session_id
        assert session_id is not None
        try:
            if not engine.waiting(session_id):
                made = await engine.next_epoch(session_id)
                if made is None:
                    return
                if self._model() is not None:
                    engine.wait_for(made)
                self.on_compaction(made)
            await self._read_ahead(session_id)
        except SessionNotFound:
            return
        except ModelsError:
            # Stop reading ahead; the new epoch is shorter to read.
            engine.ready(session_id)
            raise

    async def _read_ahead(self, session_id: str) -> None:
        """Prefills the beginning of the next turn, and again if a turn came in between."""
        model = self._model()
        if model is None:
            return
        engine = self._engine()
        while True:
            await self._background.gate.checkpoint()
            head = (await self._store.get_session(session_id)).head_id
            messages = await engine.resting(session_id)
            if messages is None:
                return
            read = await model.prefill(messages)
            session = await self._store.get_session(session_id)
            if session.head_id == head:
                engine.ready(session_id)
                # A later resume begins with this state, not with the prompt of the last reply.
                self._worth_keeping(session, read.held_hash, min(read.tokens, read.evaluated))
                return

    # --- snapshots --------------------------------------------------------------------------------

    def _keep_soon(self) -> None:
        """Saves states once there has been no message for a while.

        The model's states do not outlive this process, so this is not a job for the queue.
        """
        if self._keeping is not None:
            self._keeping.cancel()
        self._keeping = asyncio.create_task(self._keep_later(), name="snapshots")

    async def _keep_later(self) -> None:
        await asyncio.sleep(REST_S)
        await self._background.gate.idle()
        await self._keep_held()

    async def keep(self, session_id: str) -> bool:
        """Saves the model's state of a session, if it still has it; returns whether it was saved."""
        held, model = self._held.get(session_id), self._model()
        if held is None or model is None or self._snapshots is None:
            return False
        try:
            state = await model.save_state(held)
            await self._snapshots.drop_other_models(state.model)
            kept = await self._snapshots.put(session_id, state)
        except ModelsError:
            # A snapshot only saves time: without one the text is evaluated again.
            kept = False
        if self._held.get(session_id) == held:
            del self._held[session_id]
        return kept

    async def forget(self, session_ids: Sequence[str]) -> int:
        """Deletes the saved states of these sessions, and drops all states of the model.

        Returns how many saved states were deleted.

        Raises `StorageFull` when they cannot be removed from the disk, `models.errors.ModelsError`.
        """
        gone = 0
        for session_id in session_ids:
            self._held.pop(session_id, None)
            if self._snapshots is not None:
                gone += await self._snapshots.drop_session(session_id)
        model = self._model()
        if model is not None:
            await model.drop_states()
        return gone

    async def close(self) -> None:
        """Saves every session's state that is not saved yet."""
        task, self._keeping = self._keeping, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
        await self._keep_held()

    async def _keep_held(self) -> None:
        for session_id in list(self._held):
            await self.keep(session_id)
