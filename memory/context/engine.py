"""Makes append-only prompts: one epoch after another, each prepared while the model is idle."""

import asyncio
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from memory.context.assembly import Head, Prompt, Read, TokenSizes, assemble, make_head, sendable, to_send
from memory.context.entities import (
    TOLD,
    Budget,
    Epoch,
    HistoryCompactor,
    Limits,
    NewEpoch,
    RecallDecision,
    TierUse,
    TurnRecord,
    WholeDocument,
    allocate,
)
from memory.context.epochs import Compaction, ContextView, EpochBuilder, EpochPlace, EpochSelector, Prepared
from memory.context.library import NO_PASSAGES, AttachmentContext, LibraryContext, TellsPassages, Told
from memory.context.recalling import USES_MEMORY, ContextRecall, RecalledContext
from memory.context.skills import NO_SKILLS, SkillContext, ToldSkills
from memory.documents.entities import Material
from memory.entities import Message, MessagePatch, Session
from memory.errors import ContextTooSmall, MessageNotFound
from memory.memories.profile import Profile, ProfileMaker
from memory.recall.entities import Hit
from memory.storage.store import Store
from models.messages import ChatMessage, Completion, ModelInfo, Role
from models.ports import ChatModel, TokenCounter

# The end of a paragraph, of a sentence or line, of a word. A run of marks is matched once, from its first
# character: that keeps the patterns linear.
_BORDERS = (
    re.compile(r"\n[^\S\n]*+\n\s*+"),
    re.compile(r"\n++|(?<![.!?…])[.!?…]++[\"”’)\]]*+\s++|[。！？]++"),
    re.compile(r"(?<=\S)\s++"),
)

_JOINERS = frozenset("\u200d\ufe0f")
_MOST_JOINED = 32
"""The most characters of one cluster kept together. Longer ones do not occur in real writing."""


async def in_parts(text: str, counter: TokenCounter, most: int) -> list[str]:
    """Returns parts of at most `most` tokens each, in order, with all words of the text.

    A word is cut only when it alone is longer than a part, as a key or a line of data can be.
    """
    parts: list[str] = []
    held, size = "", 0
    for piece, tokens in await _pieces(text.strip(), counter, most):
        if held and size + tokens > most:
            parts.append(held.strip())
            held, size = "", 0
        held, size = held + piece, size + tokens
    # A part may be only a border, which has no content.
    return [part for part in (*parts, held.strip()) if part]


async def _pieces(text: str, counter: TokenCounter, most: int) -> list[tuple[str, int]]:
    """Returns pieces with their tokens, as coarse as the size allows."""
    found = [(text, (await counter.count([text]))[0])] if text else []
    for border in _BORDERS:
        finer: list[tuple[str, int]] = []
        for piece, tokens in found:
            if tokens <= most:
                finer.append((piece, tokens))
            else:
                finer += await _counted(await asyncio.to_thread(_cut, piece, border), counter)
        found = finer
    while any(tokens > most and len(piece) > 1 for piece, tokens in found):
        halves: list[tuple[str, int]] = []
        for piece, tokens in found:
            if tokens <= most or len(piece) < 2:
                halves.append((piece, tokens))
            else:
                halves += await _counted(_halves(piece), counter)
        found = halves
    return found


def _cut(text: str, border: re.Pattern[str]) -> list[str]:
    """Cuts the text after each border. The concatenated pieces are the whole text."""
    ends = [*(match.end() for match in border.finditer(text)), len(text)]
    return [text[begin:end] for begin, end in pairwise([0, *ends]) if begin < end]


def _halves(piece: str) -> tuple[str, ...]:
    """Returns both halves of a piece. Combining characters stay with the one before, where possible."""
    middle = len(piece) // 2
    for at in range(middle, max(0, middle - _MOST_JOINED), -1):
        if not unicodedata.combining(piece[at]) and not _JOINERS.intersection(piece[at - 1 : at + 1]):
            return piece[:at], piece[at:]
    return piece[:middle], piece[middle:]


async def _counted(pieces: Sequence[str], counter: TokenCounter) -> list[tuple[str, int]]:
    # Where two pieces meet, the text may tokenise differently from the whole: one more token is allowed for.
    counts = await counter.count(pieces)
    return [(piece, tokens + 1) for piece, tokens in zip(pieces, counts, strict=True)]


async def trace(
    store: Store,
    session_id: str,
    reply_id: str,
    model: str,
    recalled: Sequence[Hit],
    read: Sequence[str] = (),
    skills: Sequence[str] = (),
) -> None:
    """Records what a preface contains before the preface is stored: hits, and ids of attachments (`read`)
    and of `skills`.

    If the reply never arrives, its own record does not either.
    """
    parts = [TierUse("recall", 0, tuple(hit.id for hit in recalled))] if recalled else []
    parts += [TierUse("document", 0, tuple(read))] if read else []
    parts += [TierUse("skill", 0, tuple(skills))] if skills else []
    await store.context.record_turn(TurnRecord(reply_id, session_id, None, model, "", 0, tuple(parts)))


async def traced(store: Store, reply_id: str) -> Mapping[str, TierUse]:
    """Returns the items recalled, by tier, for an earlier reply to the message that `reply_id` answers."""
    for earlier in await store.variants(reply_id):
        record = await store.context.turn(earlier.id)
        told = {part.tier: part for part in record.parts if part.tier in TOLD} if record is not None else {}
        if any(part.ids for part in told.values()):
            return told
    return {}


async def considered_before(store: Store, reply_id: str) -> tuple[RecallDecision, ...]:
    """Returns the items considered for an earlier reply to the message that `reply_id` answers.

    Its preface is kept as it was made then, and so are the reasons for it.
    """
    for earlier in await store.variants(reply_id):
        if found := await store.context.considered(earlier.id):
            return tuple(found)
    return ()


_LEAST_PART = 64
_PART_LABEL = 24
"""Tokens of the words before each part that say which it is."""
_LEAST_BESIDE = 512
"""Tokens that the instructions must leave for earlier parts, what is attached, and replies."""


def _longest_part(info: ModelInfo, bare: Head, budget: Budget) -> int:
    """Returns how many tokens of a text fit after the instructions as one part of several; 0 if these leave
    too little room."""
    beside = budget.limit - bare.tokens - info.shape.overhead[Role.USER] - _PART_LABEL
    return beside if beside >= max(_LEAST_PART, min(_LEAST_BESIDE, budget.limit // 2)) else 0


@dataclass(frozen=True, slots=True)
class Selection:
    """The parts of a prompt before it is assembled. `held` are ids of the contents of the newest message's
    preface.
    """

    epoch: Epoch | NewEpoch
    messages: list[Message]
    recalled: RecalledContext
    held: tuple[str, ...]
    documents: Told
    passages: TellsPassages = NO_PASSAGES
    skills: ToldSkills = NO_SKILLS

    @property
    def said(self) -> Message:
        """The user's newest message, with its preface."""
        return self.messages[-1]

    async def assembled(self, sizes: TokenSizes) -> Prompt:
        head = Head(self.epoch.head, self.epoch.parts)
        skills = Read(self.skills.tokens, self.skills.standing, self.skills.ids)
        return await assemble(head, self.messages, sizes, self.held, self._read(), skills)

    def _read(self) -> Read:
        """Returns the documents outside the head: attachments, and passages."""
        read = self.documents.read()
        if not self.passages.passages:
            return read
        return Read(read.new + self.passages.tokens, read.standing, (*read.ids, *self.passages.documents))


class ContextEngine:
    """Makes the prompts of one room's sessions, and decides when their epochs end."""

    def __init__(
        self,
        store: Store,
        model: ChatModel,
        counter: TokenCounter,
        compactor: HistoryCompactor,
        *,
        default_system: Callable[[], str],
        limits: Callable[[], Limits],
        recalling: ContextRecall | None = None,
        profile: ProfileMaker | None = None,
        documents: AttachmentContext | None = None,
        library: LibraryContext | None = None,
        skills: SkillContext | None = None,
    ) -> None:
        self._store = store
        self._model = model
        self._counter = counter
        self._profile = profile
        self._documents = documents
        self._library = library
        self._skills = skills
        self._beginnings = EpochBuilder(store, compactor, self._page, self._whole_documents, self._skills_of)
        self._default_system = default_system
        self._limits = limits
        self._recalling = recalling
        self._sizes: TokenSizes | None = None
        self._serving = EpochSelector(store)

    # --- a turn -----------------------------------------------------------------------------------

    async def prepare(
        self, session: Session, said_id: str, *, reply: int, reply_id: str | None = None
    ) -> Prepared:
        """Returns the prompt for the branch that ends with the user's message `said_id`.

        `reply` is the longest reply requested, in tokens; `reply_id` is the id of the reply. Raises
        `ContextTooSmall` when the message alone does not fit: nothing is ever cut silently.
        """
        info, bare, budget = await self._measures(session, reply)
        sizes = self._sizes_for(info)
        selected = await self._select(session, said_id, reply_id, info, bare, budget, sizes)
        prompt = await selected.assembled(sizes)
        compacted = None
        if prompt.tokens > budget.limit:
            compacted, selected = await self._compact(session, selected, sizes, budget, prompt.tokens)
            prompt = await selected.assembled(sizes)
        if prompt.tokens > budget.limit and selected.said.preface:
            # What was recalled is dropped first, never the user's text.
            selected = await self._without_recalled(selected)
            prompt = await selected.assembled(sizes)
        if prompt.tokens > budget.limit:
            needed, in_parts = prompt.tokens + budget.reply, bool(_longest_part(info, bare, budget))
            raise ContextTooSmall(needed, info.context_length, in_parts=in_parts)
        recalled, read, skills = selected.recalled, selected.documents.uses, selected.skills
        if reply_id is not None:
            for use in skills.uses:
                await self._store.skills.begin_use(session.id, reply_id, use)
        return Prepared(
            prompt,
            info,
            budget,
            session,
            selected.said,
            selected.epoch,
            recalled.hits,
            recalled.considered,
            compacted,
            read,
            (*selected.passages.known, *selected.passages.passages),
            skills.uses,
            skills.too_long,
        )

    async def _select(
        self,
        session: Session,
        said_id: str,
        reply_id: str | None,
        info: ModelInfo,
        bare: Head,
        budget: Budget,
        sizes: TokenSizes,
    ) -> Selection:
        """Selects the epoch and its messages, what is recalled, and what is read of documents.

        Raises `ContextTooSmall`.
        """
        epoch, messages = await self._current(session, said_id, info, bare, budget, turn=True)
        said = messages[-1]
        alone = (await sizes.of([replace(said, preface="")]))[0] + bare.tokens
        if alone > budget.limit:
            in_parts = bool(_longest_part(info, bare, budget))
            raise ContextTooSmall(alone + budget.reply, info.context_length, in_parts=in_parts)
        recalled = RecalledContext(said.preface)
        held: tuple[str, ...] = ()
        if said.preface:
            # Answered before: the preface is kept as it was made then, and so are the reasons for it.
            if reply_id is not None:
                part = (await traced(self._store, reply_id)).get("recall")
                held = part.ids if part is not None else ()
                considered = await considered_before(self._store, reply_id)
                recalled = replace(recalled, considered=considered)
        elif self._recalling is not None:
            limits = self._limits()
            recalled = await self._recalling.preface(session, messages, epoch, limits, budget.recall)
            held = tuple(hit.id for hit in recalled.hits)
        material = await self._store.documents.material(session.id)
        documents = await self._told(session, material, messages, epoch, budget, sizes)
        passages = await self._passages(session, material, messages, epoch, budget, sizes, documents)
        used = epoch_tokens(epoch.parts) + sum(await sizes.of(sendable(messages)))
        used += documents.read().new + passages.tokens
        skills = await self._told_skills(session, messages, budget, used) if material.skills else NO_SKILLS
        text = documents.text + passages.text + skills.text
        if (recalled.hits or text) and reply_id is not None:
            read = [*(use.id for use in documents.uses), *passages.documents]
            await trace(self._store, session.id, reply_id, info.fingerprint, recalled.hits, read, skills.ids)
        said = await self._with_preface(said, recalled.text + text)
        return Selection(epoch, [*messages[:-1], said], recalled, held, documents, passages, skills)

    async def _told_skills(
        self, session: Session, messages: Sequence[Message], budget: Budget, used: int
    ) -> ToldSkills:
        """Selects the skill that goes with the newest of `messages`."""
        if self._skills is None or session.memory_mode not in USES_MEMORY:
            return NO_SKILLS
        return await self._skills.tell(session.id, messages, budget, used)

    async def _skills_of(self, session: Session, budget: Budget) -> list[WholeDocument]:
        """Returns the part of a head about skills; empty if this session may not use them."""
        if self._skills is None or session.memory_mode not in USES_MEMORY:
            return []
        return await self._skills.head(budget)

    async def _passages(
        self,
        session: Session,
        material: Material,
        messages: Sequence[Message],
        epoch: Epoch | NewEpoch,
        budget: Budget,
        sizes: TokenSizes,
        documents: Told,
    ) -> TellsPassages:
        """Selects the passages of documents and notes that go with the newest of `messages`."""
        if self._library is None:
            return NO_PASSAGES
        used = epoch_tokens(epoch.parts) + sum(await sizes.of(sendable(messages))) + documents.read().new
        recalls = self._recalling is not None and self._limits().recall and session.memory_mode in USES_MEMORY
        return await self._library.tell(session, material, messages, budget, used, recalls=recalls)

    async def _compact(
        self, session: Session, selected: Selection, sizes: TokenSizes, budget: Budget, tokens: int
    ) -> tuple[Compaction, Selection]:
        """Begins a new epoch at once, with summaries made without a model, and selects for it again."""
        place = EpochPlace(session, await self.system_of(session), selected.said)
        compacted = await self._beginnings.at_once(place, sizes, self._limits(), budget, tokens)
        epoch, said = compacted.epoch, selected.said
        messages = await self._store.branch(session.id, said.id, since=[epoch.start_id])
        # The new epoch summarises some messages whose prefaces contained files, so documents are selected
        # again.
        before = [*messages[:-1], replace(said, preface=selected.recalled.text)]
        material = await self._store.documents.material(session.id)
        documents = await self._told(session, material, before, epoch, budget, sizes)
        preface = selected.recalled.text + documents.text + selected.passages.text + selected.skills.text
        said = await self._with_preface(said, preface)
        chosen = replace(selected, epoch=epoch, messages=[*messages[:-1], said], documents=documents)
        return compacted, chosen

    async def _without_recalled(self, selected: Selection) -> Selection:
        said = await self._with_preface(selected.said, "")
        return replace(
            selected,
            messages=[*selected.messages[:-1], said],
            recalled=selected.recalled.without_room(),
            held=(),
            documents=selected.documents.without_new(),
            passages=TellsPassages(known=selected.passages.known),
            skills=ToldSkills(standing=selected.skills.standing),
        )

    async def _told(
        self,
        session: Session,
        material: Material,
        messages: Sequence[Message],
        epoch: Epoch | NewEpoch,
        budget: Budget,
        sizes: TokenSizes,
    ) -> Told:
        """Selects what is read of the session's attachments with the newest of `messages`."""
        if self._documents is None:
            return Told()
        used = epoch_tokens(epoch.parts) + sum(await sizes.of(sendable(messages)))
        return await self._documents.told(session.id, material.attachments, messages, epoch, budget, used)

    async def _whole_documents(self, session_id: str, budget: Budget) -> list[WholeDocument]:
        """Returns the session's documents in a head: attachments in full, summaries of others."""
        found = [] if self._documents is None else await self._documents.whole(session_id, budget)
        return found + ([] if self._library is None else await self._library.summaries(session_id, budget))

    async def in_parts(
        self, text: str, *, system: str | None, reply: int, project: str | None = None
    ) -> list[str]:
        """Returns the text alone if one message can contain it, else parts (`memory.context.engine`).

        `system` is the session's own system prompt, None for the default; `project` is its project. A part
        takes at most a third of the working memory, so that earlier parts also fit. Raises
        `ContextTooSmall` when the instructions leave no room for parts.
        """
        own = await self._system(system, project)
        info, bare, budget = await self._measures_for(own, reply)
        (tokens,) = await self._counter.count([text])
        # The head of an ongoing session may have grown to the target.
        if tokens + info.shape.overhead[Role.USER] <= budget.limit - max(budget.target, bare.tokens):
            return [text]
        longest = _longest_part(info, bare, budget)
        if not longest:
            needed = bare.tokens + tokens + budget.reply
            raise ContextTooSmall(needed, info.context_length, in_parts=False)
        part = max(_LEAST_PART, (budget.working - bare.tokens) // 3)
        return await in_parts(text, self._counter, min(part, longest))

    async def record(self, prepared: Prepared, reply: Message, completion: Completion) -> bool:
        """Stores the parts of the reply's prompt; returns whether the next epoch is due."""
        epoch = prepared.epoch
        stored = epoch if isinstance(epoch, Epoch) else await self._store.context.add_epoch(epoch)
        session_id = prepared.session.id
        self._serving.served(stored)
        await self._store.context.record_turn(
            TurnRecord(
                reply.id,
                session_id,
                stored.id,
                prepared.info.fingerprint,
                completion.prompt_hash,
                completion.timings.prompt_tokens,
                prepared.prompt.tiers,
            )
        )
        if prepared.considered:
            await self._store.context.record_considered(session_id, reply.id, prepared.considered)
        held = prepared.prompt.tokens + completion.timings.completion_tokens
        return held > prepared.budget.working

    async def replay(self, reply_id: str) -> tuple[ChatMessage, ...]:
        """Returns the exact messages that a stored reply answered.

        Raises `MessageNotFound` when its epoch was deleted.
        """
        record = await self._store.context.turn(reply_id)
        if record is None:
            raise MessageNotFound(reply_id)
        epochs = await self._store.context.epochs(record.session_id, record.model)
        epoch = next((epoch for epoch in epochs if epoch.id == record.epoch_id), None)
        if epoch is None:
            raise MessageNotFound(reply_id)
        branch = await self._store.branch(record.session_id, reply_id, since=[epoch.start_id])
        return to_send(epoch.head, branch[:-1], self._sizes_for(await self._model.info()))

    async def model_info(self) -> ModelInfo:
        """Returns the model that prompts are currently made for."""
        return await self._model.info()

    async def system_of(self, session: Session) -> str:
        """Returns the system prompt of a session, its own or the default, and the project's instructions."""
        return await self._system(session.system_prompt, session.project)

    async def _system(self, own: str | None, project: str | None) -> str:
        system = self._default_system() if own is None else own
        added = "" if project is None else await self._store.projects.instructions(project)
        return "\n\n".join(part for part in (system, added) if part)

    # --- epochs -----------------------------------------------------------------------------------

    async def next_epoch(self, session_id: str, *, force: bool = False) -> Compaction | None:
        """Prepares the next epoch of a session in the background; returns None when none is due.

        It serves from the turn after `ready`. With `force` it begins however short the prompt is.
        """
        session = await self._store.get_session(session_id)
        if session.head_id is None:
            return None
        info, bare, budget = await self._measures(session, 0)
        sizes = self._sizes_for(info)
        epoch, messages = await self._current(session, session.head_id, info, bare, budget, turn=False)
        before = epoch_tokens(epoch.parts) + sum(await sizes.of(sendable(messages)))
        if before <= budget.working and not force:
            return None
        place = EpochPlace(session, await self.system_of(session), sendable(messages)[-1])
        return await self._beginnings.planned(place, sizes, self._limits(), budget, before, force=force)

    def wait_for(self, compaction: Compaction) -> None:
        """Withholds the epoch until `ready` is called for it."""
        self._serving.wait_for(compaction.epoch)

    def ready(self, session_id: str) -> None:
        """Lets the newest epoch of the session serve, now that the model has read it."""
        self._serving.ready(session_id)

    def waiting(self, session_id: str) -> bool:
        return self._serving.waiting(session_id)

    async def resting(self, session_id: str) -> tuple[ChatMessage, ...] | None:
        """Returns the known beginning of the next turn's prompt; None for an empty session."""
        view = await self.view(session_id, reply=0)
        return view.messages if view is not None else None

    async def view(self, session_id: str, *, reply: int) -> ContextView | None:
        """Returns what the model would receive before the user's next message; None for an empty session."""
        session = await self._store.get_session(session_id)
        if session.head_id is None:
            return None
        info, bare, budget = await self._measures(session, reply)
        sizes = self._sizes_for(info)
        epoch, messages = await self._current(session, session.head_id, info, bare, budget, turn=False)
        kept = sendable(messages)
        recent = TierUse("recent", sum(await sizes.of(kept)), tuple(m.id for m in kept))
        sent = to_send(epoch.head, messages, sizes)
        return ContextView(session, info, budget, (*epoch.parts, recent), sent)

    async def _current(
        self, session: Session, leaf_id: str, info: ModelInfo, bare: Head, budget: Budget, *, turn: bool
    ) -> tuple[Epoch | NewEpoch, list[Message]]:
        """Returns the epoch that serves a branch, and the branch from its start on."""
        find = self._serving.for_turn if turn else self._serving.newest

        async def first() -> Head:
            """Makes the head of a session without an epoch: the system prompt, the profile, skills."""
            page = await self._page(session, budget)
            library = [] if self._library is None else await self._library.summaries(session.id, budget)
            skills = await self._skills_of(session, budget)
            if not page.memories and not library and not skills:
                return bare
            return await make_head(
                bare.text,
                profile=page,
                documents=library,
                skills=skills,
                counter=self._counter,
                shape=info.shape,
            )

        epoch, messages = await find(session.id, leaf_id, info.fingerprint, bare.text, first)
        if isinstance(epoch, Epoch):
            return epoch, messages
        place = EpochPlace(session, await self.system_of(session), messages[-1])
        sizes, limits = self._sizes_for(info), self._limits()
        begun = await self._beginnings.from_summaries(place, sizes, limits, budget)
        if begun is None and len(messages) > limits.recent_messages_min:
            # The model has read none of it: a long imported session need not be read whole.
            held = epoch_tokens(epoch.parts) + sum(await sizes.of(sendable(messages)))
            if held > budget.working:
                begun = (await self._beginnings.at_once(place, sizes, limits, budget, held, messages)).epoch
        if begun is None:
            return epoch, messages
        return begun, await self._store.branch(session.id, leaf_id, since=[begun.start_id])

    async def _page(self, session: Session, budget: Budget) -> Profile:
        """Returns the profile of the user; empty if this session may not use it."""
        if self._profile is None or session.memory_mode not in USES_MEMORY:
            return Profile()
        return await self._profile.page(budget.most("profile"), project=session.project)

    async def _with_preface(self, said: Message, preface: str) -> Message:
        if preface == said.preface:
            return said
        return await self._store.update_message(said.id, MessagePatch(preface=preface))

    async def _measures(self, session: Session, reply: int) -> tuple[ModelInfo, Head, Budget]:
        """Returns the model, the head of a session that has no epoch yet, and the budget."""
        return await self._measures_for(await self.system_of(session), reply)

    async def _measures_for(self, system: str, reply: int) -> tuple[ModelInfo, Head, Budget]:
        info = await self._model.info()
        bare = await make_head(system, counter=self._counter, shape=info.shape)
        budget = allocate(
            self._limits(),
            context_length=info.context_length,
            reply=reply,
            system=bare.tokens,
            parameters=info.parameters,
        )
        return info, bare, budget

    def _sizes_for(self, info: ModelInfo) -> TokenSizes:
        if self._sizes is None or self._sizes.info.fingerprint != info.fingerprint:
            self._sizes = TokenSizes(self._counter, info)
        return self._sizes


def epoch_tokens(parts: Sequence[TierUse]) -> int:
    """Returns the tokens of a head in a prompt."""
    return sum(part.tokens for part in parts)
