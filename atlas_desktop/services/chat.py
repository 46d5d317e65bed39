"""A turn: the person's words made durable, the model's reply streamed and saved as it grows."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field, replace

from atlas_desktop.services.cleaning import clean
from atlas_desktop.services.events import Accepted, Delta, Notice, Replied, TurnEvent
from atlas_desktop.services.titles import first_words
from memory.context.assembly import Prompt, TokenSizes, assemble
from memory.context.entities import TierUse
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
from memory.ports import SessionStore
from models.errors import WorkerCrashed
from models.messages import Completion, GenerationParams, ModelInfo, Role, StopReason, Timings
from models.ports import ChatModel, Generation, TokenCounter

SAVE_EVERY_S = 0.4


@dataclass(frozen=True, slots=True)
class TurnOptions:
    """How a turn is made. `system` and `project` only matter when it starts a session.

    `memory_mode` is the mode from this turn on; None leaves a session's own.
    """

    params: GenerationParams = field(default_factory=GenerationParams)
    memory_mode: MemoryMode | None = None
    system: str | None = None
    project: str | None = None


class ChatService:
    """Turns of any session of one room. Holds no state but what has been counted."""

    def __init__(
        self, store: SessionStore, model: ChatModel, counter: TokenCounter, *, default_system: str
    ) -> None:
        self._store = store
        self._model = model
        self._counter = counter
        self._default_system = default_system
        self._sizes: TokenSizes | None = None
        self._sizes_of = ""

    def turn(self, text: str, *, session: str | None = None, options: TurnOptions | None = None) -> "Turn":
        """Says `text` in `session` (an id, a prefix, `last`), or in a new session. Iterate to run it."""
        return Turn(self, options or TurnOptions(), text=clean(text), session=session)

    def regenerate(self, session: str, *, options: TurnOptions | None = None) -> "Turn":
        """Answers the person's newest message once more; the earlier answers stay as variants."""
        return Turn(self, options or TurnOptions(), text=None, session=session)

    async def accept(self, turn: "Turn") -> Accepted:
        """Stores what the person said and the empty row that the reply will grow in, in one step."""
        empty = NewMessage(Role.ASSISTANT, "", status=MessageStatus.STREAMING)
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
        session = await self._store.get_session(turn.session)
        if turn.options.memory_mode not in (None, session.memory_mode):
            patch = SessionPatch(memory_mode=turn.options.memory_mode)
            session = await self._store.update_session(session.id, patch)
        return Accepted(*await self._store.begin_turn(session.id, None, said, empty))

    async def _accept_again(self, ref: str, empty: NewMessage) -> Accepted:
        session = await self._store.get_session(ref)
        branch = await self._store.branch(session.id)
        message = next((m for m in reversed(branch) if m.role is Role.USER), None)
        if message is None:
            raise ValueError("there is no message to answer")
        reply = await self._store.append_message(session.id, empty, parent_id=message.id)
        return Accepted(await self._store.get_session(session.id), message, reply)

    async def prompt(self, session: Session, leaf: str, params: GenerationParams) -> tuple[Prompt, ModelInfo]:
        """The prompt for the branch that ends at `leaf`, and the model it was made for."""
        info = await self._model.info()
        if self._sizes is None or self._sizes_of != info.fingerprint:
            self._sizes, self._sizes_of = TokenSizes(self._counter, info), info.fingerprint
        branch = await self._store.branch(session.id, leaf)
        system = self._default_system if session.system_prompt is None else session.system_prompt
        # A reply may not claim more than half of a small context.
        reserve = min(params.max_tokens, info.context_length // 2)
        made = await assemble(branch, system=system, sizes=self._sizes, info=info, reserve=reserve)
        return made, info

    def generate(self, prompt: Prompt, params: GenerationParams) -> Generation:
        return self._model.generate(prompt.messages, params)

    async def save(self, message_id: str, patch: MessagePatch) -> Message:
        return await self._store.update_message(message_id, patch)

    async def session(self, session_id: str) -> Session:
        return await self._store.get_session(session_id)


class Turn:
    """One turn under way: iterate over its events; `stop()` ends the reply and keeps what came.

    Whatever happens (a stop, an error of the model, the consumer going away), what was streamed is stored:
    the reply ends as complete, partial or failed, never as streaming.
    """

    def __init__(
        self, service: ChatService, options: TurnOptions, *, text: str | None, session: str | None
    ) -> None:
        self.text = text
        self.session = session
        self.options = options
        self._service = service
        self._generation: Generation | None = None
        self._preparing: asyncio.Task[tuple[Prompt, ModelInfo]] | None = None
        self._settling: asyncio.Task[Message] | None = None
        self._stopped = False
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
        reason = StopReason.ERROR
        try:
            yield accepted
            prepared = await self._prepared(accepted)
            if prepared is None:
                completion = Completion("", (), StopReason.CANCELLED, Timings())
                tiers: tuple[TierUse, ...] = ()
                info = None
            else:
                prompt, info = prepared
                tiers = prompt.tiers
                if prompt.left_out:
                    text = f"{prompt.left_out} older messages did not fit this reply."
                    yield Notice("older_left_out", text)
                found: Completion | None = None
                async for event in self._stream(prompt, reply_id):
                    if isinstance(event, Completion):
                        found = event
                    else:
                        yield event
                if found is None:
                    raise WorkerCrashed(None)
                completion = found
            message = await self._settled(reply_id, completion, info)
            session = await self._service.session(accepted.session.id)
            yield Replied(session, message, completion, tiers)
        except (asyncio.CancelledError, GeneratorExit):
            reason = StopReason.CANCELLED
            raise
        finally:
            if self._settling is None:
                await self._keep_what_came(reply_id, reason)
            elif not self._settling.done():
                await asyncio.wait({self._settling})

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

    async def _prepared(self, accepted: Accepted) -> tuple[Prompt, ModelInfo] | None:
        """The prompt and its model, or None when the turn was stopped meanwhile."""
        self._preparing = asyncio.ensure_future(
            self._service.prompt(accepted.session, accepted.message.id, self.options.params)
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

    async def _stream(self, prompt: Prompt, reply_id: str) -> AsyncIterator[Delta | Notice | Completion]:
        """Streams a reply; a model process that dies before its first word is asked once more."""
        for attempt in (1, 2):
            try:
                async for event in self._attempt(prompt, reply_id):
                    yield event
            except WorkerCrashed:
                if attempt == 2 or self._said or self._stopped:
                    raise
                yield Notice("model_restarted", "The model process stopped and was started again.")
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

    async def _settled(self, reply_id: str, completion: Completion, info: ModelInfo | None) -> Message:
        """Stores how the reply ended. Once begun this is carried out, whoever is cancelled."""
        self._settling = asyncio.ensure_future(self._settle(reply_id, completion, info))
        return await asyncio.shield(self._settling)

    async def _settle(self, reply_id: str, completion: Completion, info: ModelInfo | None) -> Message:
        await self._saves_done()
        text = "".join(self._said)
        cut = completion.stop_reason in (StopReason.CANCELLED, StopReason.ERROR)
        status = MessageStatus.PARTIAL if cut else MessageStatus.COMPLETE
        if not text.strip():
            status = MessageStatus.FAILED
        patch = MessagePatch(content=text, status=status, stop_reason=completion.stop_reason)
        if info is not None:
            # Tokens stand for the text only if cleaning took nothing out of it.
            tokens = completion.tokens if text == completion.text else ()
            patch = replace(patch, tokens=tokens, token_model=info.fingerprint, model=info.id)
        return await self._service.save(reply_id, patch)

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
