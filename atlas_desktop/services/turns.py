"""Turns: stores the user's message durably, then streams the reply and saves it as it grows."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

from atlas_desktop.locale import N_, _
from atlas_desktop.services.attachments import documents_notice
from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.cleaning import clean, clean_line
from atlas_desktop.services.context import ContinuityService
from atlas_desktop.services.documents.search import cited_reply
from atlas_desktop.services.events import Accepted, Delta, Notice, Replied, TurnEvent, compaction_notice
from atlas_desktop.services.summaries import first_words
from memory.attachments import NewAttachment
from memory.clock import Clock
from memory.context.assembly import Prompt
from memory.context.boundaries import Boundary
from memory.context.engine import ContextEngine
from memory.context.epochs import Prepared
from memory.documents.entities import CitedReply
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
from memory.insights import Timed
from memory.storage.store import Store
from models.errors import WorkerCrashed
from models.messages import ChatMessage, Completion, GenerationParams, Lane, Role, StopReason, Timings
from models.ports import ChatModel, Generation

_NEW_SESSION_TEXTS = {
    "pause": N_("New conversation started: the last message was a while ago."),
    "length": N_("New conversation started: the previous one had become long."),
    "topic": N_("New conversation started: the topic seems to have changed."),
}
_SOMETHING_NEW_TEXTS = {
    "pause": N_("Start a new conversation? The last message was a while ago. Use /new."),
    "length": N_("Start a new conversation? This one has become long. Use /new."),
    "topic": N_("Start a new conversation? The topic seems to have changed. Use /new."),
}

SAVE_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """How a turn is made. `system` and `project` only matter when it starts a session.

    `memory_mode` is the mode from this turn on; None keeps the session's. A turn that continues the previous
    one (`continues`) never starts a new session. `attachments` are attached to its session, which is then
    also about `documents` (IDs). `lane` is the urgency of the reply.
    """

    params: GenerationParams = field(default_factory=GenerationParams)
    memory_mode: MemoryMode | None = None
    system: str | None = None
    project: str | None = None
    continues: bool = False
    attachments: tuple[NewAttachment, ...] = ()
    documents: tuple[str, ...] = ()
    lane: Lane = Lane.CHAT


_NEAR_THE_END = 8
_NEW = 2
"""Number of messages in a session that has just begun."""


@dataclass(slots=True)
class TurnParts:
    """The services that the turns of one room use.

    `bring_back` restores the model's saved state of a session. `described` are the fingerprints of models
    whose limits were reported to the user.
    """

    store: Store
    model: ChatModel
    context: ContextEngine
    continuity: ContinuityService | None = None
    background: BackgroundService | None = None
    bring_back: Callable[[str], Awaitable[object]] | None = None
    described: set[str] = field(default_factory=set)

    @asynccontextmanager
    async def foreground(self) -> AsyncIterator[None]:
        """Makes background work wait while inside."""
        if self.background is None:
            yield
            return
        async with self.background.gate.foreground():
            yield


class Turn:
    """One turn in progress: iterate over its events; `stop()` ends the reply and keeps what was generated.

    Close the iterator when it is left early (`contextlib.aclosing`). Whatever happens (a stop, an error of
    the model, a cancelled consumer), the streamed text is stored: the reply ends as complete, partial or
    failed, never as streaming.
    """

    def __init__(
        self,
        parts: TurnParts,
        options: TurnOptions,
        *,
        text: str | None,
        session: str | None,
        edits: str | None = None,
        continues: str | None = None,
    ) -> None:
        """Without a `text`, the newest message is answered again, or the reply `continues` is continued.

        `edits` and `continues` are ids. With `edits`, the text replaces that message.
        """
        self.text = text
        self.edits = edits
        self.continues = continues
        self.session = session
        self.options = options
        self._parts = parts
        self._store = parts.store
        self._before: Session | None = None
        self._boundary: Boundary | None = None
        self._begun: Message | None = None
        self._generation: Generation | None = None
        self._preparing: asyncio.Task[Prepared] | None = None
        self._settling: asyncio.Task[Message] | None = None
        self._stopped = False
        self._due = False
        self._said: list[str] = []
        self._saving: asyncio.Task[Message] | None = None
        self._saved_at = 0.0
        self._cited: CitedReply | None = None

    def stop(self) -> None:
        """Ends the reply within one token. Safe to call at any time, more than once."""
        self._stopped = True
        if self._generation is not None:
            self._generation.cancel()
        elif self._preparing is not None:
            # The model may still be loading, which can take minutes; loading continues for the next turn.
            self._preparing.cancel()

    async def __aiter__(self) -> AsyncGenerator[TurnEvent, None]:  # noqa: C901 - the turn, top to bottom
        """Stores the message, prepares the prompt, generates the reply and settles it.

        Then it runs the hooks of the room's background work.
        """
        background = self._parts.background
        async with self._parts.foreground():
            accepted = await self._accepted()
            reply_id = accepted.reply.id
            if self.continues is not None:
                self._begun = accepted.reply
                self._said.append(accepted.reply.content)
            reason = StopReason.ERROR
            try:
                refused = await self._attach(accepted)
                heard = [] if background is None else await background.message_stored(accepted)
                yield accepted
                for memory in heard:
                    yield Notice("remembered", _("Remembered: {text}", text=clean_line(memory.text)))
                if await self._remembers_nothing(accepted):
                    yield Notice(
                        "not_remembered", _("Not remembered: this conversation adds nothing to the memory.")
                    )
                if (notice := await self._forgets_nothing(accepted)) is not None:
                    yield notice
                if refused is not None:
                    raise refused
                if (notice := await self._something_new()) is not None:
                    yield notice
                began = time.perf_counter()
                prepared = await self._prepared(accepted)
                prepare_ms = 1000 * (time.perf_counter() - began)
                completion: Completion | None = Completion("", (), StopReason.CANCELLED, Timings())
                if prepared is not None:
                    for notice in self._notices(prepared):
                        yield notice
                    prompt, completion = self._with_begun(prepared), None
                    # A model process that dies before its first token is asked a second time.
                    for attempt in (1, 2):
                        try:
                            async for event in self._generate(prompt):
                                if isinstance(event, Completion):
                                    completion = event
                                elif text := clean(event.text):
                                    self._said.append(text)
                                    yield Delta(text)
                                    self._save_now_and_then(reply_id)
                            break
                        except WorkerCrashed:
                            if attempt == 2 or self._said or self._stopped:
                                raise
                        yield Notice("model_restarted", _("The model process stopped and was restarted."))
                if completion is None:
                    raise WorkerCrashed(None)
                message = await self._settled(reply_id, completion, prepared)
                replied = await self._replied(accepted, message, completion, prepared, prepare_ms)
                yield replied
            except (asyncio.CancelledError, GeneratorExit):
                reason = StopReason.CANCELLED
                raise
            finally:
                if self._settling is None:
                    await self._keep_what_came(reply_id, reason)
                elif not self._settling.done():
                    await asyncio.wait({self._settling})
        if background is not None:
            await background.reply_settled(replied)

    # --- accept and store -------------------------------------------------------------------------

    async def _accepted(self) -> Accepted:
        """Returns the stored rows. If cancelled while storing, closes the reply's row again."""
        storing = asyncio.ensure_future(self._accept())
        try:
            return await asyncio.shield(storing)
        except asyncio.CancelledError:
            stored = (await asyncio.gather(storing, return_exceptions=True))[0]
            if isinstance(stored, Accepted):
                await self._keep_what_came(stored.reply.id, StopReason.CANCELLED)
            raise

    async def _accept(self) -> Accepted:
        """Stores the user's message and the empty row for the reply, in one transaction."""
        empty = NewMessage(Role.ASSISTANT, "", status=MessageStatus.STREAMING)
        if self.continues is not None:
            return await self._accept_further(self.session or "last", self.continues)
        if self.text is None:
            return await self._accept_again(self.session or "last", empty)
        said = NewMessage(Role.USER, self.text)
        if self.session is None:
            new = NewSession(
                title=first_words(self.text),
                memory_mode=self.options.memory_mode or MemoryMode.NORMAL,
                project=self.options.project,
                system_prompt=self.options.system,
            )
            return Accepted(*await self._store.begin_turn(None, new, said, empty))
        session = self._before = await self._store.get_session(self.session)
        if self.edits is not None:
            branch = await self._store.branch(session.id)
            if not any(m.id == self.edits and m.role is Role.USER for m in branch):
                raise MessageNotFound(self.edits)
            await self._store.edit_message(self.edits, self.text)
            return await self._accept_again(session.id, empty)
        continuity = self._parts.continuity
        automatic = continuity is not None and continuity.automatic and not self.options.continues
        if continuity is not None and automatic and session.deleted_at is None:
            self._boundary = await continuity.boundary(session, self.text)
            if self._boundary is not None:
                new = NewSession(
                    title=first_words(self.text),
                    memory_mode=self.options.memory_mode or session.memory_mode,
                    project=session.project,
                    system_prompt=session.system_prompt,
                )
                return Accepted(*await self._store.begin_turn(None, new, said, empty))
        if self.options.memory_mode not in (None, session.memory_mode):
            patch = SessionPatch(memory_mode=self.options.memory_mode)
            session = await self._store.update_session(session.id, patch)
        return Accepted(*await self._store.begin_turn(session.id, None, said, empty))

    async def _accept_again(self, ref: str, empty: NewMessage) -> Accepted:
        session = await self._store.get_session(ref)
        # The newest user message is among the last messages, however long the session is.
        branch = await self._store.branch(session.id, newest=_NEAR_THE_END)
        if not any(m.role is Role.USER for m in branch):
            branch = await self._store.branch(session.id)
        message = next((m for m in reversed(branch) if m.role is Role.USER), None)
        if message is None or not message.content.strip():
            raise NothingToAnswer
        reply = await self._store.append_message(session.id, empty, parent_id=message.id)
        return Accepted(await self._store.get_session(session.id), message, reply)

    async def _accept_further(self, ref: str, reply_id: str) -> Accepted:
        """Prepares to continue a reply, which stays as stored until more text arrives."""
        session = await self._store.get_session(ref)
        last = await self._store.branch(session.id, newest=2)
        if [m.role for m in last] != [Role.USER, Role.ASSISTANT] or last[-1].id != reply_id:
            raise MessageNotFound(reply_id)
        return Accepted(session, last[0], last[1])

    async def _attach(self, accepted: Accepted) -> Exception | None:
        """Attaches the turn's files and documents to its session; returns the error if that failed.

        The user's message is already stored by then.
        """
        try:
            for attachment in self.options.attachments:
                await self._store.attachments.attach(accepted.session.id, attachment)
            if self.options.documents:
                await self._store.documents.bind(accepted.session.id, self.options.documents)
        except (MemoryFault, OSError) as error:
            return error
        return None

    async def _remembers_nothing(self, accepted: Accepted) -> bool:
        """Whether the message asks to remember something in a session that adds no memories."""
        from memory.learning.learner import heard_in, may_learn
        from memory.learning.reader import asked_to_remember

        if self.text is None or may_learn(accepted.session.memory_mode):
            return False
        return bool(await asyncio.to_thread(asked_to_remember, heard_in(accepted.message)))

    async def _forgets_nothing(self, accepted: Accepted) -> Notice | None:
        """Returns the notice for a message that asks to forget something: only a command forgets."""
        from memory.learning.reader import asked_to_forget

        if self.text is None:
            return None
        words = await asyncio.to_thread(asked_to_forget, accepted.message.content)
        if words is None:
            return None
        return Notice(
            "not_forgotten",
            _(
                "Nothing is forgotten yet. /forget {words} shows what is stored about it, and forgets it.",
                words=clean_line(words),
            ),
        )

    async def _something_new(self) -> Notice | None:
        """Returns the notice to show when the turn's message, which is stored, starts something new."""
        if self._boundary is not None:
            return Notice("new_session", _(_NEW_SESSION_TEXTS[self._boundary.value]))
        if self._parts.continuity is None or self._before is None or self.text is None:
            return None
        if self.options.continues or self.edits is not None:
            return None
        found = await self._parts.continuity.boundary(self._before, self.text)
        if found is None:
            return None
        return Notice("boundary", _(_SOMETHING_NEW_TEXTS[found.value]))

    # --- prepare ----------------------------------------------------------------------------------

    async def _prepared(self, accepted: Accepted) -> Prepared | None:
        """Returns the prompt and its model, or None when the turn was stopped meanwhile."""
        self._preparing = asyncio.ensure_future(self._prepare(accepted))
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

    async def _prepare(self, accepted: Accepted) -> Prepared:
        session = accepted.session
        if self._parts.bring_back is not None and session.message_count > _NEW:
            await self._parts.bring_back(session.id)
        return await self._parts.context.prepare(
            session,
            accepted.message.id,
            reply=self.options.params.max_tokens,
            # The row of the reply is the head by now.
            reply_id=session.head_id,
        )

    def _notices(self, prepared: Prepared) -> Iterator[Notice]:
        """Yields notices about a prompt before the reply arrives."""
        info = prepared.info
        if not info.prefix_stable and info.fingerprint not in self._parts.described:
            self._parts.described.add(info.fingerprint)
            yield Notice(
                "not_append_only",
                _(
                    "This model rereads part of the conversation with every message, so replies start later "
                    "in long conversations."
                ),
            )
        if (notice := documents_notice(prepared.documents)) is not None:
            yield notice
        if prepared.too_long:
            yield Notice(
                "skill_too_long",
                _("The skill “{name}” is too long for this model's context.", name=prepared.too_long),
            )
        if prepared.compacted is not None:
            yield compaction_notice(prepared.compacted)

    # --- generate ---------------------------------------------------------------------------------

    def _with_begun(self, prepared: Prepared) -> Prompt:
        """Returns the prompt, with the existing text of a reply that is to be continued."""
        prompt, begun = prepared.prompt, self._begun
        if begun is None:
            return prompt
        tokens = begun.tokens if begun.token_model == prepared.info.fingerprint else ()
        message = ChatMessage(Role.ASSISTANT, begun.content, tokens)
        return replace(prompt, messages=(*prompt.messages, message))

    def _generate(self, prompt: Prompt) -> Generation:
        self._generation = self._parts.model.generate(prompt.messages, self.options.params, self.options.lane)
        if self._stopped:
            self._generation.cancel()
        return self._generation

    def _save_now_and_then(self, reply_id: str) -> None:
        """Starts a save in the background, so that the stream never waits for the disk."""
        now = time.monotonic()
        if now - self._saved_at < SAVE_EVERY_S or (self._saving is not None and not self._saving.done()):
            return
        self._saved_at = now
        patch = MessagePatch(content="".join(self._said))
        self._saving = asyncio.create_task(self._store.update_message(reply_id, patch))
        # The last save makes up for an earlier one that failed, and reports its own error.
        self._saving.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def _saves_done(self) -> None:
        if self._saving is not None:
            await asyncio.wait({self._saving})

    # --- settle -----------------------------------------------------------------------------------

    async def _settled(self, reply_id: str, completion: Completion, prepared: Prepared | None) -> Message:
        """Stores how the reply ended. Once started, this completes even if the caller is cancelled."""
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
            return await self._store.update_message(reply_id, patch)
        # Tokens match the text only if cleaning removed nothing from it.
        info = prepared.info
        before = "" if self._begun is None else self._begun.content
        tokens = completion.tokens if text == before + completion.text else ()
        if self._begun is not None:
            known = self._begun.tokens if self._begun.token_model == info.fingerprint else ()
            tokens = (*known, *tokens) if known and tokens else ()
        patch = replace(patch, tokens=tokens, token_model=info.fingerprint, model=info.id)
        message = await self._store.update_message(reply_id, patch)
        self._due = await self._parts.context.record(prepared, message, completion)
        if prepared.skills and message.status is not MessageStatus.FAILED:
            await self._store.skills.count_uses(message.id)
        if prepared.passages:
            found = await cited_reply(message.content, prepared.passages)
            await self._store.documents.put_citations(
                message.session_id, message.id, found.citations, found.unsupported
            )
            self._cited = await self._store.documents.cited(message.id)
        return message

    async def _replied(
        self,
        accepted: Accepted,
        message: Message,
        completion: Completion,
        prepared: Prepared | None,
        prepare_ms: float,
    ) -> Replied:
        session = await self._store.get_session(accepted.session.id)
        if prepared is None:
            return Replied(session, message, completion, (), (), self._due, prepare_ms, ())
        tiers, recalled, documents = prepared.prompt.tiers, prepared.recalled, prepared.documents
        return Replied(
            session,
            message,
            completion,
            tiers,
            recalled,
            self._due,
            prepare_ms,
            documents,
            self._cited,
            prepared.skills,
        )

    async def _keep_what_came(self, reply_id: str, reason: StopReason) -> None:
        """Stores a reply that ended early. Shielded: the consumer may have been cancelled."""
        if self._generation is not None:
            self._generation.cancel()
        text = "".join(self._said)
        status = MessageStatus.PARTIAL if text.strip() else MessageStatus.FAILED
        patch = MessagePatch(content=text, status=status, stop_reason=reason)

        async def keep() -> None:
            await self._saves_done()
            await self._store.update_message(reply_id, patch)

        await asyncio.shield(keep())


ACKNOWLEDGEMENT = 8
"""Tokens: the longest reply to a part that is not the last."""


def labelled(parts: Sequence[str]) -> list[str]:
    """Returns each part with its number and an instruction for the model; a single part is unchanged."""
    if len(parts) < 2:
        return list(parts)
    total = len(parts)
    rest = [
        f"Part {number} of {total}. Only answer OK, the rest follows.\n\n{text}"
        for number, text in enumerate(parts[:-1], 1)
    ]
    return [*rest, f"Part {total} of {total}, the last one. Answer now.\n\n{parts[-1]}"]


def part_options(options: TurnOptions, number: int, total: int) -> TurnOptions:
    """Returns the options for a part, counted from 1; the last one is answered like any message."""
    continues = number > 1 or options.continues
    if number == total:
        return replace(options, continues=continues)
    brief = min(ACKNOWLEDGEMENT, options.params.max_tokens)
    return replace(options, continues=continues, params=replace(options.params, max_tokens=brief))


class TurnService:
    """Starts turns in any session of one room."""

    def __init__(self, parts: TurnParts) -> None:
        self._parts = parts
        self.context = parts.context

    def turn(self, text: str, *, session: str | None = None, options: TurnOptions | None = None) -> Turn:
        """Returns a turn that sends `text` to `session` (an id, a prefix, `last`), or to a new session.

        Iterate over it to run it.
        """
        return Turn(self._parts, options or TurnOptions(), text=clean(text), session=session)

    def regenerate(self, session: str, *, options: TurnOptions | None = None) -> Turn:
        """Answers the user's newest message again; the earlier replies stay as variants."""
        return Turn(self._parts, options or TurnOptions(), text=None, session=session)

    def edit(self, session: str, message_id: str, text: str, *, options: TurnOptions | None = None) -> Turn:
        """Replaces one of the user's messages with `text`; what followed stays, as a variant."""
        options = options or TurnOptions()
        return Turn(self._parts, options, text=clean(text), session=session, edits=message_id)

    def go_on(self, session: str, reply_id: str, *, options: TurnOptions | None = None) -> Turn:
        """Continues the newest reply, which was stopped or cut off, from its last word."""
        return Turn(self._parts, options or TurnOptions(), text=None, session=session, continues=reply_id)

    async def in_parts(self, text: str, *, session: str | None, options: TurnOptions) -> list[str]:
        """Returns the messages to send, one turn each, if `text` is too long for one; otherwise only the
        text.

        Each part states its number; all but the last ask for only a word. Send them with
        `atlas_desktop.services.turns.part_options`.
        """
        system, project = options.system, options.project
        if session is not None:
            found = await self._parts.store.get_session(session)
            system, project = found.system_prompt, found.project
        return labelled(
            await self.context.in_parts(
                clean(text), system=system, project=project, reply=options.params.max_tokens
            )
        )

    async def replayed(self, reply_id: str) -> tuple[ChatMessage, ...]:
        """Returns the exact messages that a reply answered; empty when its epoch has ended."""
        try:
            return await self.context.replay(reply_id)
        except MessageNotFound:
            return ()


class TimingService:
    """Records how fast each reply was generated, if it contains any text."""

    def __init__(self, store: Store, clock: Clock, background: BackgroundService) -> None:
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
            # The user also waits for the work before the model is asked.
            timings.first_token_ms + replied.prepare_ms,
            timings.tokens_per_second,
            timings.prompt_tokens,
            timings.completion_tokens,
            timings.drafted_tokens,
            timings.accepted_tokens,
        )
        try:
            await self._store.insights.note_timing(replied.session.id, timed)
        except SessionNotFound:
            # The session was erased, or moved to another room, since the reply ended.
            return
