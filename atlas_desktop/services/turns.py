"""Turns: the user's message is made durable, then the reply is streamed and saved as it grows."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from atlas_desktop.services.attachments import documents_notice
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.cleaning import clean
from atlas_desktop.services.context import ContinuityService
from atlas_desktop.services.events import Accepted, Delta, Notice, Replied, TurnEvent, compaction_notice
from atlas_desktop.services.summaries import first_words
from atlas_desktop.words.catalogue import tr
from memory.attachments.entities import NewAttachment
from memory.context.assembly import Prompt
from memory.context.boundaries import Boundary
from memory.context.engine import ContextEngine
from memory.context.prepared import Prepared
from memory.entities import (
    MemoryMode,
    Message,
    MessagePatch,
    MessageStatus,
    NewMessage,
    NewSession,
    Session,
    SessionPatch,
)
from memory.errors import MemoryFault, MessageNotFound, NothingToAnswer, SessionNotFound
from memory.insights.entities import Timed
from memory.ports import Clock, SessionStore
from models.errors import WorkerCrashed
from models.messages import ChatMessage, Completion, GenerationParams, Role, StopReason, Timings
from models.ports import ChatModel, Generation

SAVE_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """How a turn is made. `system` and `project` only matter when it starts a session.

    `memory_mode` is the mode from this turn on; None leaves a session's own. A turn that `goes_on` with the
    one before it never begins something new. `attachments` are attached to its session.
    """

    params: GenerationParams = field(default_factory=GenerationParams)
    memory_mode: MemoryMode | None = None
    system: str | None = None
    project: str | None = None
    goes_on: bool = False
    attachments: tuple[NewAttachment, ...] = ()


class TurnKeeper(Protocol):
    """What a turn needs of the service that began it."""

    async def accept(self, turn: "Turn") -> Accepted: ...

    async def attach(self, turn: "Turn", accepted: Accepted) -> None: ...

    async def something_new(self, turn: "Turn") -> Notice | None: ...

    async def prepare(self, session: Session, said_id: str, params: GenerationParams) -> Prepared: ...

    def about_model(self, prepared: Prepared) -> Notice | None: ...

    def generate(self, prompt: Prompt, params: GenerationParams) -> Generation: ...

    async def save(self, message_id: str, patch: MessagePatch) -> Message: ...

    async def ended(self, prepared: Prepared, reply: Message, completion: Completion) -> bool: ...

    async def session(self, session_id: str) -> Session: ...


class Turn:
    """One turn under way: iterate over its events; `stop()` ends the reply and keeps what came.

    Whatever happens (a stop, an error of the model, the consumer going away), what was streamed is stored:
    the reply ends as complete, partial or failed, never as streaming.
    """

    def __init__(
        self,
        service: TurnKeeper,
        options: TurnOptions,
        *,
        text: str | None,
        session: str | None,
        edits: str | None = None,
        continues: str | None = None,
    ) -> None:
        """Without a `text` the newest message is answered again, or the reply of the id `continues` is gone
        on with; with `edits`, the text takes the place of the message of that id."""
        self.text = text
        self.edits = edits
        self.continues = continues
        self._begun: Message | None = None
        self.session = session
        self.options = options
        self.before: Session | None = None
        self.boundary: Boundary | None = None
        self._service = service
        self._generation: Generation | None = None
        self._preparing: asyncio.Task[Prepared] | None = None
        self._settling: asyncio.Task[Message] | None = None
        self._stopped = False
        self._due = False
        self._said: list[str] = []
        self._saving: asyncio.Task[Message] | None = None
        self._saved_at = 0.0

    def stop(self) -> None:
        """Ends the reply within one token. Safe to call at any time, more than once."""
        self._stopped = True
        if self._generation is not None:
            self._generation.cancel()
        elif self._preparing is not None:
            # The model may still be loading, which can take minutes; the load goes on for the next turn.
            self._preparing.cancel()

    async def __aiter__(self) -> AsyncGenerator[TurnEvent, None]:
        accepted = await self._accepted()
        reply_id = accepted.reply.id
        if self.continues is not None:
            self._begun = accepted.reply
            self._said.append(accepted.reply.content)
        reason = StopReason.ERROR
        try:
            refused = await self._attached(accepted)
            yield accepted
            if refused is not None:
                raise refused
            if (notice := await self._service.something_new(self)) is not None:
                yield notice
            began = time.perf_counter()
            prepared = await self._prepared(accepted)
            prepare_ms = 1000 * (time.perf_counter() - began)
            completion = Completion("", (), StopReason.CANCELLED, Timings())
            if prepared is not None:
                for told in self._notices(prepared):
                    yield told
                found: Completion | None = None
                async for event in self._stream(self._with_begun(prepared), reply_id):
                    if isinstance(event, Completion):
                        found = event
                    else:
                        yield event
                if found is None:
                    raise WorkerCrashed(None)
                completion = found
            message = await self._settled(reply_id, completion, prepared)
            session = await self._service.session(accepted.session.id)
            tiers = prepared.prompt.tiers if prepared is not None else ()
            recalled = prepared.recalled if prepared is not None else ()
            documents = prepared.documents if prepared is not None else ()
            yield Replied(session, message, completion, tiers, recalled, self._due, prepare_ms, documents)
        except (asyncio.CancelledError, GeneratorExit):
            reason = StopReason.CANCELLED
            raise
        finally:
            if self._settling is None:
                await self._keep_what_came(reply_id, reason)
            elif not self._settling.done():
                await asyncio.wait({self._settling})

    def _notices(self, prepared: Prepared) -> Iterator[Notice]:
        """What to know of a prompt before its reply comes."""
        if (notice := self._service.about_model(prepared)) is not None:
            yield notice
        if (notice := documents_notice(prepared.documents)) is not None:
            yield notice
        if prepared.compacted is not None:
            yield compaction_notice(prepared.compacted)

    async def _accepted(self) -> Accepted:
        """What was stored. If this is cancelled in the moment of storing, the reply's row is closed again."""
        storing = asyncio.ensure_future(self._service.accept(self))
        try:
            return await asyncio.shield(storing)
        except asyncio.CancelledError:
            stored = (await asyncio.gather(storing, return_exceptions=True))[0]
            if isinstance(stored, Accepted):
                await self._keep_what_came(stored.reply.id, StopReason.CANCELLED)
            raise

    async def _attached(self, accepted: Accepted) -> Exception | None:
        """Why a file could not be attached: by then the person's words are stored, which comes first."""
        try:
            await self._service.attach(self, accepted)
        except (MemoryFault, OSError) as error:
            return error
        return None

    async def _prepared(self, accepted: Accepted) -> Prepared | None:
        """The prompt and its model, or None when the turn was stopped meanwhile."""
        self._preparing = asyncio.ensure_future(
            self._service.prepare(accepted.session, accepted.message.id, self.options.params)
        )
        if self._stopped:
            self._preparing.cancel()
        try:
            return await self._preparing
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if self._stopped and task is not None and not task.cancelling():
                return None
            raise
        finally:
            self._preparing = None

    def _with_begun(self, prepared: Prepared) -> Prompt:
        """The prompt with what has been said of the reply already, if it is to be gone on with."""
        prompt, begun = prepared.prompt, self._begun
        if begun is None:
            return prompt
        tokens = begun.tokens if begun.token_model == prepared.info.fingerprint else ()
        message = ChatMessage(Role.ASSISTANT, begun.content, tokens)
        return replace(prompt, messages=(*prompt.messages, message))

    async def _stream(self, prompt: Prompt, reply_id: str) -> AsyncIterator[Delta | Notice | Completion]:
        """Streams a reply; a model process that dies before its first word is asked once more."""
        for attempt in (1, 2):
            try:
                async for event in self._attempt(prompt, reply_id):
                    yield event
            except WorkerCrashed:
                if attempt == 2 or self._said or self._stopped:
                    raise
                yield Notice("model_restarted", tr("turn.model_restarted"))
            else:
                return

    async def _attempt(self, prompt: Prompt, reply_id: str) -> AsyncIterator[Delta | Completion]:
        self._generation = self._service.generate(prompt, self.options.params)
        if self._stopped:
            self._generation.cancel()
        async for event in self._generation:
            if isinstance(event, Completion):
                yield event
            elif text := clean(event.text):
                self._said.append(text)
                yield Delta(text)
                self._save_now_and_then(reply_id)

    def _save_now_and_then(self, reply_id: str) -> None:
        """Starts a save in the background; a stream is never held up by the disk."""
        now = time.monotonic()
        if now - self._saved_at < SAVE_EVERY_S or (self._saving is not None and not self._saving.done()):
            return
        self._saved_at = now
        patch = MessagePatch(content="".join(self._said))
        self._saving = asyncio.create_task(self._service.save(reply_id, patch))
        # A save that fails on the way is made good by the last one, which does tell.
        self._saving.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def _saves_done(self) -> None:
        if self._saving is not None:
            await asyncio.wait({self._saving})

    async def _settled(self, reply_id: str, completion: Completion, prepared: Prepared | None) -> Message:
        """Stores how the reply ended. Once begun this is carried out, whoever is cancelled."""
        self._settling = asyncio.ensure_future(self._settle(reply_id, completion, prepared))
        return await asyncio.shield(self._settling)

    async def _settle(self, reply_id: str, completion: Completion, prepared: Prepared | None) -> Message:
        await self._saves_done()
        text = "".join(self._said)
        cut = completion.stop_reason in (StopReason.CANCELLED, StopReason.ERROR)
        status = MessageStatus.PARTIAL if cut else MessageStatus.COMPLETE
        if not text.strip():
            status = MessageStatus.FAILED
        patch = MessagePatch(content=text, status=status, stop_reason=completion.stop_reason)
        if prepared is None:
            return await self._service.save(reply_id, patch)
        # Tokens stand for the text only if cleaning took nothing out of it.
        info = prepared.info
        before = "" if self._begun is None else self._begun.content
        tokens = completion.tokens if text == before + completion.text else ()
        if self._begun is not None:
            known = self._begun.tokens if self._begun.token_model == info.fingerprint else ()
            tokens = (*known, *tokens) if known and tokens else ()
        patch = replace(patch, tokens=tokens, token_model=info.fingerprint, model=info.id)
        message = await self._service.save(reply_id, patch)
        self._due = await self._service.ended(prepared, message, completion)
        return message

    async def _keep_what_came(self, reply_id: str, reason: StopReason) -> None:
        """Stores a reply that ended early. Shielded: the consumer may have been cancelled."""
        if self._generation is not None:
            self._generation.cancel()
        text = "".join(self._said)
        status = MessageStatus.PARTIAL if text.strip() else MessageStatus.FAILED
        patch = MessagePatch(content=text, status=status, stop_reason=reason)

        async def keep() -> None:
            await self._saves_done()
            await self._service.save(reply_id, patch)

        await asyncio.shield(keep())


ACKNOWLEDGEMENT = 8
"""Tokens: the longest answer to a part that is not the last."""


def labelled(parts: Sequence[str]) -> list[str]:
    """Each part with its number, and with what is wanted of the model; a single one stays as it is."""
    if len(parts) < 2:
        return list(parts)
    total = len(parts)
    rest = [
        f"Part {number} of {total}. Only answer OK, the rest follows.\n\n{text}"
        for number, text in enumerate(parts[:-1], 1)
    ]
    return [*rest, f"Part {total} of {total}, the last one. Answer now.\n\n{parts[-1]}"]


def part_options(options: TurnOptions, number: int, total: int) -> TurnOptions:
    """How to say the part of that number, counted from 1: the last one is answered as any message."""
    goes_on = number > 1 or options.goes_on
    if number == total:
        return replace(options, goes_on=goes_on)
    brief = min(ACKNOWLEDGEMENT, options.params.max_tokens)
    return replace(options, goes_on=goes_on, params=replace(options.params, max_tokens=brief))


_NEAR_THE_END = 8
_NEW = 2
"""Messages of a session that has just begun."""


class ChatService:
    """Turns of any session of one room."""

    def __init__(
        self,
        store: SessionStore,
        model: ChatModel,
        context: ContextEngine,
        continuity: ContinuityService | None = None,
        bring_back: Callable[[str], Awaitable[object]] | None = None,
    ) -> None:
        """`bring_back` gives the model what it held of a session when it was last talked in."""
        self._bring_back = bring_back
        self.context = context
        self._continuity = continuity
        self._store = store
        self._model = model
        self._told_of: set[str] = set()

    def turn(self, text: str, *, session: str | None = None, options: TurnOptions | None = None) -> Turn:
        """Says `text` in `session` (an id, a prefix, `last`), or in a new session. Iterate to run it."""
        return Turn(self, options or TurnOptions(), text=clean(text), session=session)

    def regenerate(self, session: str, *, options: TurnOptions | None = None) -> Turn:
        """Answers the person's newest message once more; the earlier answers stay as variants."""
        return Turn(self, options or TurnOptions(), text=None, session=session)

    def edit(self, session: str, message_id: str, text: str, *, options: TurnOptions | None = None) -> Turn:
        """Says `text` in the place of one of the person's messages; what followed stays, as a variant."""
        return Turn(self, options or TurnOptions(), text=clean(text), session=session, edits=message_id)

    def go_on(self, session: str, reply_id: str, *, options: TurnOptions | None = None) -> Turn:
        """Goes on with the newest reply, which was stopped or cut, from its last word."""
        return Turn(self, options or TurnOptions(), text=None, session=session, continues=reply_id)

    async def in_parts(self, text: str, *, session: str | None, options: TurnOptions) -> list[str]:
        """What to say, one turn after another, when `text` is too long for one; else the text alone.

        Each part says which it is; all but the last ask for no more than a word. Say them with
        `atlas_desktop.services.turns.part_options`.
        """
        system = options.system
        if session is not None:
            system = (await self._store.get_session(session)).system_prompt
        return labelled(
            await self.context.in_parts(clean(text), system=system, reply=options.params.max_tokens)
        )

    async def accept(self, turn: Turn) -> Accepted:
        """Stores what the person said and the empty row that the reply will grow in, in one step."""
        empty = NewMessage(Role.ASSISTANT, "", status=MessageStatus.STREAMING)
        if turn.continues is not None:
            return await self._accept_further(turn.session or "last", turn.continues)
        if turn.text is None:
            return await self._accept_again(turn.session or "last", empty)
        said = NewMessage(Role.USER, turn.text)
        if turn.session is None:
            new = NewSession(
                title=first_words(turn.text),
                memory_mode=turn.options.memory_mode or MemoryMode.NORMAL,
                project=turn.options.project,
                system_prompt=turn.options.system,
            )
            return Accepted(*await self._store.begin_turn(None, new, said, empty))
        session = turn.before = await self._store.get_session(turn.session)
        if turn.edits is not None:
            branch = await self._store.branch(session.id)
            if not any(m.id == turn.edits and m.role is Role.USER for m in branch):
                raise MessageNotFound(turn.edits)
            await self._store.edit_message(turn.edits, turn.text)
            return await self._accept_again(session.id, empty)
        automatic = self._continuity is not None and self._continuity.automatic and not turn.options.goes_on
        if self._continuity is not None and automatic and session.deleted_at is None:
            turn.boundary = await self._continuity.boundary(session, turn.text)
            if turn.boundary is not None:
                new = NewSession(
                    title=first_words(turn.text),
                    memory_mode=turn.options.memory_mode or session.memory_mode,
                    project=session.project,
                    system_prompt=session.system_prompt,
                )
                return Accepted(*await self._store.begin_turn(None, new, said, empty))
        if turn.options.memory_mode not in (None, session.memory_mode):
            patch = SessionPatch(memory_mode=turn.options.memory_mode)
            session = await self._store.update_session(session.id, patch)
        return Accepted(*await self._store.begin_turn(session.id, None, said, empty))

    async def attach(self, turn: Turn, accepted: Accepted) -> None:
        """Attaches the files of a turn to its session."""
        for attachment in turn.options.attachments:
            await self._store.attachments.attach(accepted.session.id, attachment)

    async def _accept_again(self, ref: str, empty: NewMessage) -> Accepted:
        session = await self._store.get_session(ref)
        # The newest message is among the last ones, however long the session is.
        branch = await self._store.branch(session.id, newest=_NEAR_THE_END)
        if not any(m.role is Role.USER for m in branch):
            branch = await self._store.branch(session.id)
        message = next((m for m in reversed(branch) if m.role is Role.USER), None)
        if message is None or not message.content.strip():
            raise NothingToAnswer
        reply = await self._store.append_message(session.id, empty, parent_id=message.id)
        return Accepted(await self._store.get_session(session.id), message, reply)

    async def _accept_further(self, ref: str, reply_id: str) -> Accepted:
        """The reply stays as it is stored until more of it comes."""
        session = await self._store.get_session(ref)
        last = await self._store.branch(session.id, newest=2)
        if [m.role for m in last] != [Role.USER, Role.ASSISTANT] or last[-1].id != reply_id:
            raise MessageNotFound(reply_id)
        return Accepted(session, last[0], last[1])

    async def something_new(self, turn: Turn) -> Notice | None:
        """What to tell when the words of a turn, which are stored, begin something new."""
        if turn.boundary is not None:
            return Notice("new_session", tr(f"turn.new_session.{turn.boundary.value}"))
        if self._continuity is None or turn.before is None or turn.text is None:
            return None
        if turn.options.goes_on or turn.edits is not None:
            return None
        found = await self._continuity.boundary(turn.before, turn.text)
        if found is None:
            return None
        return Notice("boundary", tr(f"turn.something_new.{found.value}"))

    async def prepare(self, session: Session, said_id: str, params: GenerationParams) -> Prepared:
        """The prompt for the branch that ends with the person's message `said_id`, and how it was made."""
        if self._bring_back is not None and session.message_count > _NEW:
            await self._bring_back(session.id)
        # The row that the reply will grow in is the head by now.
        return await self.context.prepare(session, said_id, reply=params.max_tokens, reply_id=session.head_id)

    async def ended(self, prepared: Prepared, reply: Message, completion: Completion) -> bool:
        """Keeps what the reply's prompt was made of; returns whether the session's next epoch is due."""
        return await self.context.record(prepared, reply, completion)

    def about_model(self, prepared: Prepared) -> Notice | None:
        """What a person should know of the model in use, once while the program runs."""
        info = prepared.info
        if info.prefix_stable or info.fingerprint in self._told_of:
            return None
        self._told_of.add(info.fingerprint)
        return Notice("not_append_only", tr("turn.not_append_only"))

    def generate(self, prompt: Prompt, params: GenerationParams) -> Generation:
        return self._model.generate(prompt.messages, params)

    async def save(self, message_id: str, patch: MessagePatch) -> Message:
        return await self._store.update_message(message_id, patch)

    async def replayed(self, reply_id: str) -> tuple[ChatMessage, ...]:
        """The exact messages that a reply answered; nothing when its epoch has ended."""
        try:
            return await self.context.replay(reply_id)
        except MessageNotFound:
            return ()

    async def session(self, session_id: str) -> Session:
        return await self._store.get_session(session_id)


class TimingService:
    """Notes it after every reply that has any words."""

    def __init__(self, store: SessionStore, clock: Clock, background: BackgroundService) -> None:
        self._store = store
        self._clock = clock
        background.register_hook(self.after_reply)

    async def after_reply(self, replied: Replied) -> None:
        message, timings = replied.message, replied.completion.timings
        if message.status is MessageStatus.FAILED or not timings.completion_tokens or message.model is None:
            return
        timed = Timed(
            message.id,
            message.model,
            self._clock.now(),
            # What went by before the model was asked is waited for, too.
            timings.first_token_ms + replied.prepare_ms,
            timings.tokens_per_second,
            timings.prompt_tokens,
            timings.completion_tokens,
        )
        try:
            await self._store.insights.note_timing(replied.session.id, timed)
        except SessionNotFound:
            # Erased, or moved to another room, since the reply ended.
            return
