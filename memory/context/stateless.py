"""Makes prompts of conversations that are sent whole with each request and are stored nowhere.

Other programs send the whole conversation with each request. So that the model need not read it again, the
prompt of a request has to begin with the whole prompt of the one before. The instructions and prefaces that
were added then are therefore kept, in memory only, under digests of the conversation up to that point.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memory.clock import Clock
from memory.context.assembly import Head, Prompt, alternating, make_head, sent_text
from memory.context.entities import Budget, Limits, NewEpoch, TierUse, allocate
from memory.context.library import LibraryContext
from memory.context.recalling import USES_MEMORY, ContextRecall
from memory.documents.entities import StoredPassage
from memory.entities import MemoryMode, Message, RoomKind, Session, TitleSource
from memory.errors import ContextTooSmall
from memory.memories.profile import Profile, ProfileMaker
from memory.recall.entities import Hit
from models.messages import ChatMessage, Completion, ModelInfo, Role
from models.ports import ChatModel, TokenCounter

MOST_REMEMBERED = 2_048
"""Messages whose additions are remembered; the least recently used are dropped first."""
_SHARE = 4
"""Passages take at most a quarter of the working memory."""


@dataclass(frozen=True, slots=True)
class StatelessRequest:
    """A whole conversation, which ends with the user's newest message.

    `owner` keeps the conversations of different programs apart. `system` holds the instructions, and
    `messages` those of the user and the model in turn. With a `mode` that uses memory, memories are added;
    with `notes`, passages of notes. Passages of `documents` (ids) are always added. With `only_project`,
    nothing from outside `project` is added.
    """

    owner: str
    system: str
    messages: tuple[ChatMessage, ...]
    mode: MemoryMode = MemoryMode.BLANK
    project: str | None = None
    only_project: bool = False
    documents: tuple[str, ...] = ()
    notes: bool = False
    dated: bool = True


@dataclass(frozen=True, slots=True)
class _Known:
    """What was added to one message: a head for the first, a preface for each of the user's, the exact
    tokens of each of the model's."""

    head: Head | None = None
    preface: str = ""
    hits: tuple[Hit, ...] = ()
    passages: tuple[StoredPassage, ...] = ()
    tokens: tuple[int, ...] = field(default=(), repr=False)
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class StatelessPrompt:
    """A prompt and what was added to it. `key` names the conversation up to the newest message."""

    prompt: Prompt
    info: ModelInfo
    key: bytes
    recalled: tuple[Hit, ...] = ()
    passages: tuple[StoredPassage, ...] = ()
    known: tuple[StoredPassage, ...] = ()


class StatelessContext:
    """The prompts of conversations that only their programs know, for one room and one model."""

    def __init__(
        self,
        model: ChatModel,
        counter: TokenCounter,
        clock: Clock,
        *,
        limits: Callable[[], Limits],
        recalling: ContextRecall,
        profile: ProfileMaker,
        library: LibraryContext,
        erasures: Callable[[], int] = lambda: 0,
    ) -> None:
        """`erasures` counts what was erased from the room: nothing is remembered across an erasure."""
        self._model = model
        self._counter = counter
        self._clock = clock
        self._limits = limits
        self._recalling = recalling
        self._profile = profile
        self._library = library
        self._erasures = erasures
        self._seen = erasures()
        self._known: OrderedDict[bytes, _Known] = OrderedDict()

    async def prepare(self, request: StatelessRequest, *, reply: int) -> StatelessPrompt:
        """Returns the prompt of a request for a reply of at most `reply` tokens.

        Raises `ContextTooSmall` when the conversation does not fit: nothing is cut.
        """
        if self._erasures() != self._seen:
            self._seen = self._erasures()
            self._known.clear()
        info = await self._model.info()
        keys = _keys(request, info)
        first = self._find(keys[0])
        head = first.head if first is not None and first.head is not None else None
        budget = await self._budget(request.system, info, reply)
        if head is None:
            head = await self._head(request, info, budget)
            self._put(keys[0], _Known(head=head, at=self._clock.now()))
        messages, before = self._as_stored(request, keys)
        counts = await self._counter.count([sent_text(one) for one in messages])
        sizes = [n + info.shape.overhead[one.role] for n, one in zip(counts, messages, strict=True)]
        used = head.tokens + sum(sizes)
        if used > budget.limit:
            raise ContextTooSmall(used + budget.reply, info.context_length)
        newest = self._find(keys[-1])
        if newest is None or newest.at is None or (not newest.preface and len(keys) == 1):
            made = await self._preface(request, messages, head, budget, used, before)
            newest = replace(made, head=head if len(keys) == 1 else None)
            self._put(keys[-1], newest)
        said = replace(messages[-1], preface=newest.preface)
        added = (await self._counter.count([newest.preface]))[0] if newest.preface else 0
        if used + added > budget.limit:
            newest, said, added = _Known(), messages[-1], 0
        opening = [ChatMessage(Role.SYSTEM, head.text)] if head.text else []
        told = [ChatMessage(m.role, sent_text(m), self._exact(m, info)) for m in [*messages[:-1], said]]
        tiers = [*head.parts]
        if len(messages) > 1:
            tiers.append(TierUse("recent", used - head.tokens - sizes[-1], ()))
        if added:
            tiers.append(TierUse("recall", added, tuple(hit.id for hit in newest.hits)))
        tiers.append(TierUse("user", sizes[-1], ()))
        prompt = Prompt((*opening, *alternating(told)), tuple(tiers), used + added)
        known = tuple(one for each in before for one in each.passages)
        return StatelessPrompt(prompt, info, keys[-1], newest.hits, newest.passages, known)

    def settle(self, prepared: StatelessPrompt, text: str, completion: Completion) -> None:
        """Remembers the exact tokens of a reply, for the request that repeats it."""
        if completion.tokens and text == completion.text:
            key = _next(prepared.key, Role.ASSISTANT, text)
            self._put(key, _Known(tokens=completion.tokens, at=self._clock.now()))

    def forget(self) -> None:
        """Forgets all conversations."""
        self._known.clear()

    # --- parts ------------------------------------------------------------------------------------

    async def _budget(self, system: str, info: ModelInfo, reply: int) -> Budget:
        bare = await make_head(system, counter=self._counter, shape=info.shape)
        return allocate(
            self._limits(),
            context_length=info.context_length,
            reply=reply,
            system=bare.tokens,
            parameters=info.parameters,
        )

    async def _head(self, request: StatelessRequest, info: ModelInfo, budget: Budget) -> Head:
        page = Profile()
        if request.mode in USES_MEMORY:
            page = await self._profile.page(budget.most("profile"), project=request.project)
            if request.only_project:
                own = tuple(one for one in page.memories if one.project == request.project)
                page = Profile(own)
        return await make_head(request.system, profile=page, counter=self._counter, shape=info.shape)

    def _as_stored(
        self, request: StatelessRequest, keys: Sequence[bytes]
    ) -> tuple[list[Message], list[_Known]]:
        """Returns the messages with what was added to them before, and these additions."""
        messages: list[Message] = []
        before: list[_Known] = []
        now = self._clock.now()
        for number, (one, key) in enumerate(zip(request.messages, keys, strict=True)):
            known = self._find(key) or _Known()
            last = number == len(keys) - 1
            if not last:
                before.append(known)
            messages.append(
                Message(
                    id=key.hex(),
                    session_id="",
                    parent_id=None,
                    role=one.role,
                    speaker="",
                    content=one.content,
                    created_at=now if last or known.at is None else known.at,
                    preface="" if last else known.preface,
                    tokens=known.tokens,
                )
            )
        return messages, before

    @staticmethod
    def _exact(message: Message, _info: ModelInfo) -> tuple[int, ...]:
        """Returns the tokens that this model produced for a reply; the keys name the model."""
        return message.tokens if message.role is Role.ASSISTANT else ()

    async def _preface(
        self,
        request: StatelessRequest,
        messages: list[Message],
        head: Head,
        budget: Budget,
        used: int,
        before: Sequence[_Known],
    ) -> _Known:
        now = self._clock.now()
        session = Session(
            id="",
            title="",
            title_source=TitleSource.FIRST_WORDS,
            room=RoomKind.OPEN,
            memory_mode=request.mode,
            created_at=now,
            updated_at=now,
            project=request.project,
        )
        limits = self._limits()
        limits = replace(limits, date_and_time=limits.date_and_time and request.dated)
        standing = {hit.id for each in before for hit in each.hits}
        epoch = NewEpoch("", "", head.text, (*head.parts, TierUse("recall", 0, tuple(standing))), "")
        recalled = await self._recalling.preface(
            session, messages, epoch, limits, budget.recall, widen=not request.only_project
        )
        passages = tuple(one for each in before for one in each.passages)
        told = await self._library.select(
            request.project,
            request.documents,
            messages,
            min(budget.working // _SHARE, budget.limit - used),
            notes=request.notes and request.mode in USES_MEMORY,
            marker=max((one.marker for one in passages), default=0),
            standing=passages,
            only_project=request.only_project,
        )
        return _Known(preface=recalled.text + told.text, hits=recalled.hits, passages=told.passages, at=now)

    # --- what is remembered -----------------------------------------------------------------------

    def _find(self, key: bytes) -> _Known | None:
        known = self._known.get(key)
        if known is not None:
            self._known.move_to_end(key)
        return known

    def _put(self, key: bytes, known: _Known) -> None:
        self._known[key] = known
        self._known.move_to_end(key)
        while len(self._known) > MOST_REMEMBERED:
            self._known.popitem(last=False)


def _keys(request: StatelessRequest, info: ModelInfo) -> list[bytes]:
    """Returns a digest for each message, of everything that determines what was added up to it."""
    facts = (
        request.owner,
        info.fingerprint,
        request.mode.value,
        request.project or "",
        str(request.only_project),
        ",".join(request.documents),
        str(request.notes),
        str(request.dated),
        request.system,
    )
    key = hashlib.sha256("\0".join(facts).encode("utf-8", "surrogatepass")).digest()
    keys = []
    for one in request.messages:
        key = _next(key, one.role, one.content)
        keys.append(key)
    return keys


def _next(key: bytes, role: Role, content: str) -> bytes:
    said = f"{role}\0{content}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(key + said).digest()
