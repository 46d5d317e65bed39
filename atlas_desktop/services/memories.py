"""Memory operations for the interfaces: browse, add, correct, accept, pin, maintain."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from atlas_desktop.locale import _
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.settings.schema import MemorySettings, Settings
from memory.clock import Clock
from memory.entities import Message, StoredReceipt
from memory.errors import AmbiguousId, ChangeNotFound, MessageNotFound, SessionNotFound
from memory.jobs.queue import Job
from memory.jobs.runner import Duty
from memory.learning.reader import understand
from memory.memories.entities import (
    FINDABLE,
    UNSET,
    Memory,
    MemoryChange,
    MemoryCounts,
    MemoryFilter,
    MemoryKind,
    MemoryOrigin,
    MemoryPatch,
    MemorySource,
    MemoryState,
    MemoryTier,
    MemoryUse,
    MemoryVersion,
    NewMemory,
)
from memory.memories.lifetime import (
    Expiry,
    Retention,
    RetentionPlan,
    expires_at,
    rescued,
    route,
    with_project,
)
from memory.memories.profile import candidates, in_order
from memory.memories.upkeep import Consolidation, Promotion, Rewording, Upkeep
from memory.recall.decay import PRESETS, StrengthCurve, half_life_days, strength
from memory.storage.store import Store
from models.ports import ChatModel


@dataclass(frozen=True, slots=True)
class SourceView:
    """The text behind a memory, with the message that contains it; None if the message can no longer be
    found.

    Of a memory that was learned from a note, `note` is the note's title.
    """

    source: MemorySource
    message: Message | None
    note: str = ""


@dataclass(frozen=True, slots=True)
class MemoryView:
    """A memory with its sources, its current weight (without a floor), and how fast it fades."""

    memory: Memory
    sources: tuple[SourceView, ...]
    weight: float
    half_life_days: float


@dataclass(frozen=True, slots=True)
class MemoryDetails:
    """Everything about one memory."""

    view: MemoryView
    versions: tuple[MemoryVersion, ...]
    uses: tuple[MemoryUse, ...]
    parts: tuple[Memory, ...]
    changes: tuple[MemoryChange, ...]


FORGOTTEN = "forgotten"
"""The action of an event that is a receipt."""


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """Something that happened to memories: a change, by its action in the change log, or forgetting.

    `memories` are the memories concerned, in their current state, those that others of them have replaced
    last; forgetting has a receipt instead.
    """

    id: str
    at: datetime
    action: str
    automatic: bool = False
    memories: tuple[Memory, ...] = ()
    receipt: StoredReceipt | None = None


def _when(event: TimelineEvent) -> datetime:
    return event.at


def _replaced_last(memories: Sequence[Memory]) -> tuple[Memory, ...]:
    known = {one.id for one in memories}
    return tuple(sorted(memories, key=lambda one: one.superseded_by in known))


@dataclass(frozen=True, slots=True)
class Ending:
    """A memory in use, and when it expires."""

    memory: Memory
    at: datetime


@dataclass(frozen=True, slots=True)
class ProjectLifetime:
    """The memories that expire in a project, the soonest first.

    `ends_at` is when its episodic memories do; None while the project is open. `returning` are memories
    archived since the project was archived, which reopening it restores.
    """

    ends_at: datetime | None = None
    ending: tuple[Ending, ...] = ()
    returning: tuple[Memory, ...] = ()


LONGEST = 4000
"""Maximum characters of a memory."""
_SUBJECT = 200
_LOG = 100_000


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user specifies about a memory to add; None lets the text and the rules decide."""

    kind: MemoryKind | None = None
    subject: str | None = None
    tier: MemoryTier | None = None
    project: str | None = None
    importance: float = 0.7
    pinned: bool = False
    expires_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None


class KnowledgeService:
    """The memories of one room.

    A `ref` is an id or a unique prefix of one; raises `MemoryNotFound`, `AmbiguousId`. `changed` is called
    after a text has changed: it has no vector yet.
    """

    def __init__(
        self,
        store: Store,
        clock: Clock,
        settings: Callable[[], MemorySettings],
        changed: Callable[[], Awaitable[None]],
    ) -> None:
        self._store = store
        self._memories = store.memories
        self._clock = clock
        self._settings = settings
        self._changed = changed

    # --- reading ----------------------------------------------------------------------------------

    async def select(
        self, wanted: MemoryFilter | None = None, *, limit: int | None = None, offset: int = 0
    ) -> list[Memory]:
        """Returns pinned memories first, then the most recently changed first."""
        return await self._memories.select(wanted, limit=limit, offset=offset)

    async def learned_in(self, session: str) -> list[Memory]:
        """Returns the memories learned in a session. Raises `SessionNotFound`, `AmbiguousId`."""
        found = await self._store.get_session(session)
        return await self._memories.select(MemoryFilter(session=found.id))

    async def inbox(self, *, limit: int | None = None) -> list[Memory]:
        """Returns the learned memories that have not been reviewed yet."""
        wanted = MemoryFilter(states=frozenset({MemoryState.INBOX}))
        return await self._memories.select(wanted, limit=limit)

    async def views(self, memories: Sequence[Memory]) -> list[MemoryView]:
        """Returns the memories with the details that an interface shows."""
        known: dict[str, Message | None] = {}
        return [await self._view(memory, known) for memory in memories]

    async def curves(self, memories: Sequence[Memory]) -> list[StrengthCurve]:
        """Returns how strong each memory was, is and will be."""
        used = await self._memories.useful_uses([one.id for one in memories])
        now, threshold = self._clock.now(), rules_of(self._settings()).forgetting_weight
        return [StrengthCurve(one, now, tuple(used.get(one.id, ())), threshold) for one in memories]

    async def timeline(self, *, limit: int = 200) -> list[TimelineEvent]:
        """Returns what was learned, changed and forgotten, latest first."""
        changes = [one for one in await self._memories.changes(limit=limit) if one.undone_at is None]
        ids = list({key for one in changes for key in one.memory_ids})
        known = {one.id: one for one in await self._memories.get_many(ids)}
        events = [
            TimelineEvent(
                one.id,
                one.created_at,
                one.action,
                automatic=one.automatic,
                memories=_replaced_last([known[key] for key in one.memory_ids if key in known]),
            )
            for one in changes
        ]
        events += [
            TimelineEvent(one.id, one.forgotten_at, FORGOTTEN, receipt=one)
            for one in await self._store.receipts.list(limit=limit)
            if any(one.what.counts.values())
        ]
        return sorted((one for one in events if one.memories or one.receipt), key=_when, reverse=True)[:limit]

    async def details(self, ref: str) -> MemoryDetails:
        memory = await self._memories.get(ref)
        (view,) = await self.views([memory])
        return MemoryDetails(
            view,
            tuple(await self._memories.versions(memory.id)),
            tuple(await self._memories.uses(memory.id)),
            tuple(await self._memories.parts(memory.id)),
            tuple(await self._memories.changes(memory_id=memory.id)),
        )

    async def profile(self) -> list[Memory]:
        """Returns the memories of the user's profile, in its order; the model gets as many as fit."""
        settings, now = self._settings(), self._clock.now()
        known = await self._memories.select()
        found = await asyncio.to_thread(
            candidates, known, now, decay=PRESETS[settings.decay], ask_first=settings.ask_first
        )
        return list(in_order(found))

    async def counts(self) -> MemoryCounts:
        return await self._memories.counts()

    async def changes(self, *, limit: int = 50) -> list[MemoryChange]:
        """Returns the latest changes first."""
        return await self._memories.changes(limit=limit)

    async def _view(self, memory: Memory, known: dict[str, Message | None]) -> MemoryView:
        sources = []
        for source in await self._memories.sources(memory.id):
            if not source.session_id:
                notes = await self._store.notes.get_many([source.message_id])
                sources.append(SourceView(source, None, notes[0].title if notes else ""))
                continue
            if source.message_id not in known:
                known[source.message_id] = await self._message(source)
            sources.append(SourceView(source, known[source.message_id]))
        weight = strength(memory, self._clock.now())
        return MemoryView(memory, tuple(sources), weight, half_life_days(memory.tier))

    async def _message(self, source: MemorySource) -> Message | None:
        try:
            found = await self._store.branch(source.session_id, source.message_id, newest=1)
        except (MessageNotFound, SessionNotFound):
            # Forgotten between two reads: the source is deleted too.
            return None
        return found[-1] if found else None

    # --- changing ---------------------------------------------------------------------------------

    async def add(self, text: str, wish: Wish | None = None) -> Memory:
        """Stores what the user wants Atlas to remember. It is accepted at once, whatever else is known.

        Raises ValueError when the text is empty or too long, and `TimesOutOfOrder`.
        """
        wanted, worded = wish or Wish(), _worded(text)
        understood = understand(worded)
        kind = wanted.kind or understood.kind
        subject = understood.subject if wanted.subject is None else wanted.subject
        way = route(
            kind,
            wanted.importance,
            self._clock.now(),
            rules_of(self._settings()),
            origin=MemoryOrigin.PERSON,
            project=wanted.project,
            project_ended=await self._ended(wanted.project),
            wish=wanted.tier,
        )
        new = NewMemory(
            kind=kind,
            text=worded,
            origin=MemoryOrigin.PERSON,
            tier=way.tier,
            state=way.state,
            subject=clean_line(subject)[:_SUBJECT],
            importance=wanted.importance,
            pinned=wanted.pinned,
            valid_from=wanted.valid_from,
            valid_until=wanted.valid_until,
            expires_at=wanted.expires_at or way.expires_at,
            project=wanted.project,
        )
        made = await self._memories.add(new)
        await self._changed()
        return made

    async def propose(self, text: str, *, client_id: str, project: str | None = None) -> Memory:
        """Puts a client's proposal into the inbox; it is used once the user has accepted it.

        Raises ValueError when the text is empty or too long.
        """
        worded = _worded(text)
        understood = understand(worded)
        way = route(
            understood.kind,
            Wish().importance,
            self._clock.now(),
            rules_of(self._settings()),
            origin=MemoryOrigin.PERSON,
            project=project,
            project_ended=await self._ended(project),
        )
        return await self._memories.add(
            NewMemory(
                kind=understood.kind,
                text=worded,
                origin=MemoryOrigin.PERSON,
                tier=way.tier,
                state=MemoryState.INBOX,
                subject=clean_line(understood.subject)[:_SUBJECT],
                importance=Wish().importance,
                expires_at=way.expires_at,
                project=project,
                proposed_by=client_id,
            )
        )

    async def edit(self, ref: str, patch: MemoryPatch) -> Memory:
        """Corrects a memory. Another tier sets its own expiry, unless the patch gives one.

        A memory in the inbox is accepted, because the user's own wording is no longer a guess. Raises
        ValueError like `add`.
        """
        memory = await self._memories.get(ref)
        patch.require_order(memory)
        if patch.text is not None:
            patch = replace(patch, text=_worded(patch.text))
        if patch.subject is not None:
            patch = replace(patch, subject=clean_line(patch.subject)[:_SUBJECT])
        if patch.tier is not None and patch.tier is not memory.tier and patch.expires_at is UNSET:
            importance = memory.importance if patch.importance is None else patch.importance
            rules = rules_of(self._settings())
            ended = await self._ended(memory.project)
            end = expires_at(
                patch.tier,
                importance,
                self._clock.now(),
                rules,
                project=memory.project,
                project_ended=ended,
            )
            patch = replace(patch, expires_at=end)
        if memory.state is MemoryState.INBOX and patch.state is None:
            patch = replace(patch, state=MemoryState.KEPT)
        made = await self._memories.change(memory.id, patch)
        if patch.text is not None or patch.subject is not None:
            await self._changed()
        return made

    async def accept(self, refs: Sequence[str]) -> list[Memory]:
        """Accepts memories. Rejected, archived, superseded or expired ones are used again.

        Expired ones get a new expiry.
        """
        now, rules = self._clock.now(), rules_of(self._settings())
        archived = {one.name for one in await self._store.projects.list(archived=True)}

        def kept(memory: Memory) -> MemoryPatch:
            over = memory.expires_at is not None and memory.expires_at <= now
            anew = expires_at(
                memory.tier,
                memory.importance,
                now,
                rules,
                project=memory.project,
                project_ended=now if memory.project in archived else None,
            )
            return MemoryPatch(state=MemoryState.KEPT, expires_at=anew if over else UNSET)

        return await self._change(refs, kept, "accept")

    async def accept_all(self) -> list[Memory]:
        """Accepts everything in the inbox, as one change that can be undone."""
        return await self.accept([memory.id for memory in await self.inbox()])

    async def reject(self, refs: Sequence[str]) -> list[Memory]:
        """Rejects memories: they are never used, and never learned from the same text again."""
        return await self._change(refs, lambda _unused: MemoryPatch(state=MemoryState.REJECTED), "reject")

    async def pin(self, refs: Sequence[str], *, pinned: bool = True) -> list[Memory]:
        """Pins or unpins memories. Pinned ones are always given to the model, and never fade or expire."""
        return await self._change(
            refs, lambda _unused: MemoryPatch(pinned=pinned), "pin" if pinned else "unpin"
        )

    async def pin_latest(self, ref: str = "") -> Memory | None:
        """Pins the given memory, otherwise the one learned last; returns None if there is none."""
        if ref and ref != "last":
            return (await self.pin([ref]))[0]
        found = await self._memories.select(MemoryFilter(pinned=False))
        if not found:
            return None
        return (await self.pin([max(found, key=lambda one: (one.created_at, one.id)).id]))[0]

    async def rescue(self, refs: Sequence[str]) -> list[Memory]:
        """Keeps fading or archived memories permanently."""
        return await self._change(refs, rescued, "rescue")

    async def undo(self, ref: str) -> MemoryChange:
        """Undoes a change; with `last`, the newest one that is not undone.

        Raises `ChangeNotFound`, `AmbiguousId`, `CannotUndo`.
        """
        log = await self._memories.changes(limit=_LOG)
        wanted = ref.strip().lower()
        if wanted == "last":
            found = [one.id for one in log if one.undone_at is None][:1]
        else:
            found = [one.id for one in log if wanted and one.id.startswith(wanted)]
        if len(found) != 1:
            raise AmbiguousId(ref, len(found)) if found else ChangeNotFound(ref)
        undone = await self._memories.undo(found[0])
        await self._changed()
        return undone

    async def end_project(self, project: str, at: datetime | None) -> list[Memory]:
        """Makes the episodic memories of a project expire some time after its end; None: it continues."""
        end = None if at is None else at + timedelta(days=self._settings().episodic_days)
        patches = with_project(await self._episodes(project), await self._memories.changes(limit=_LOG), end)
        if not patches:
            return []
        action = "project_reopened" if at is None else "project_ended"
        return await self._memories.change_many(patches, action=action, automatic=True)

    async def lifetime(
        self, project: str, archived_at: datetime | None, *, preview: bool = False
    ) -> ProjectLifetime:
        """Returns what expires and when in a project archived at this time (None: it is open); with
        `preview`, what would expire if it were archived."""
        found = [
            one
            for one in await self._memories.select(MemoryFilter(states=None, project=project))
            if one.project == project
        ]
        days = timedelta(days=self._settings().episodic_days)
        end = None if archived_at is None else archived_at + days
        ending = [(one, at) for one in found if (at := _ends(one, end if preview else None)) is not None]
        log = await self._memories.changes(limit=_LOG)
        back = {key for key, patch in with_project(found, log, None) if patch.state is MemoryState.INBOX}
        return ProjectLifetime(
            end,
            tuple(Ending(one, at) for one, at in sorted(ending, key=lambda pair: (pair[1], pair[0].id))),
            tuple(one for one in found if one.id in back),
        )

    async def _ended(self, project: str | None) -> datetime | None:
        """Returns the current time for an archived project: memories added to it last as long from now on."""
        archived = await self._store.projects.list(archived=True) if project is not None else []
        return self._clock.now() if any(one.name == project for one in archived) else None

    async def _episodes(self, project: str) -> list[Memory]:
        """Returns the episodic memories of a project in every state."""
        wanted = MemoryFilter(states=None, tiers=frozenset({MemoryTier.EPISODIC}), project=project)
        return [one for one in await self._memories.select(wanted) if one.project == project]

    async def _change(
        self, refs: Sequence[str], patch: Callable[[Memory], MemoryPatch], action: str
    ) -> list[Memory]:
        found = [await self._memories.get(ref) for ref in refs]
        unique = {memory.id: memory for memory in found}
        if not unique:
            return []
        patches = [(memory.id, patch(memory)) for memory in unique.values()]
        made = await self._memories.change_many(patches, action=action)
        if action in {"accept", "rescue"}:
            await self._changed()
        return made


def _ends(memory: Memory, would_end: datetime | None) -> datetime | None:
    """Returns when a memory of a project expires; None if it does not, or is no longer used. `would_end` is
    when the episodic ones would expire if the project were archived."""
    if memory.state not in FINDABLE or memory.pinned:
        return None
    if memory.tier is MemoryTier.EPISODIC and would_end is not None:
        return would_end
    return memory.expires_at


def _worded(text: str) -> str:
    told = clean(text).strip()
    if not told or len(told) > LONGEST:
        raise ValueError(
            _("a memory has at most {most} characters", most=LONGEST)
            if told
            else _("a memory needs at least one visible character")
        )
    return told


def rules_of(settings: MemorySettings) -> Retention:
    """Returns the settings as retention rules."""
    return Retention(
        working_hours=settings.working_hours,
        short_term_hours_min=settings.short_term_hours_min,
        short_term_hours_max=settings.short_term_hours_max,
        episodic_days=settings.episodic_days,
        archive_days=settings.archive_days,
        lasting_importance=settings.lasting_importance,
        often=settings.often,
        promote_uses=settings.promote_uses,
        promote_importance=settings.promote_importance,
        promote_turns=settings.promote_turns,
        promote_similarity=settings.promote_similarity,
        consolidate_similarity=settings.consolidate_similarity,
    )


DAILY = timedelta(days=1)
WEEKLY = timedelta(days=7)
PROMOTE, CONSOLIDATE, COLLECT = "promote", "consolidate", "collect"


class UpkeepService:
    """The maintenance of one room's memories. `complete` makes the missing vectors."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        background: BackgroundService,
        settings: Callable[[], Settings],
        chat: Callable[[], ChatModel],
        complete: Callable[[], Awaitable[None]],
    ) -> None:
        self._settings = settings
        self._chat = chat
        self._complete = complete
        self._upkeep = Upkeep(
            store,
            clock,
            lambda: rules_of(settings().memory),
            pause=lambda: timedelta(minutes=settings().sessions.after_minutes),
            checkpoint=background.gate.checkpoint,
            reword=self._reword,
        )
        for kind, every, name, work in (
            (PROMOTE, DAILY, "promote memories", self.promote),
            (COLLECT, DAILY, "collect faded memories", self.collect),
            (CONSOLIDATE, WEEKLY, "consolidate memories", self.consolidate),
        ):
            background.register(kind, _handler(work))
            background.register_duty(Duty(name, every, kind))

    async def promote(self) -> list[Promotion]:
        return await self._upkeep.promote()

    async def consolidate(self, *, dry_run: bool = False) -> list[Consolidation]:
        """Like `Upkeep.consolidate`, once every memory has its vector."""
        await self._complete()
        made = await self._upkeep.consolidate(dry_run=dry_run)
        if any(one.made is not None for one in made):
            await self._complete()
        return made

    async def collect(self, *, dry_run: bool = False) -> RetentionPlan:
        return await self._upkeep.collect(dry_run=dry_run)

    async def fading(self) -> list[Expiry]:
        """Returns memories that expire soon or have become faint, the first to expire first."""
        return await self._upkeep.fading()

    def _reword(self) -> Rewording | None:
        return Rewording(self._chat()) if self._settings().memory.consolidate_with_model else None


def _handler(work: Callable[[], Awaitable[object]]) -> Callable[[Job], Awaitable[None]]:
    async def handle(_job: Job) -> None:
        await work()

    return handle
