"""One turn: what the person said made durable, the reply streamed and saved as it grows."""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from atlas_desktop.services.cleaning import clean
from atlas_desktop.services.documents import documents_notice
from atlas_desktop.services.events import Accepted, Delta, Notice, Replied, TurnEvent, compaction_notice
from atlas_desktop.words.catalogue import tr
from memory.attachments.entities import NewAttachment
from memory.context.assembly import Prompt
from memory.context.boundaries import Boundary
from memory.context.prepared import Prepared
from memory.entities import MemoryMode, Message, MessagePatch, MessageStatus, Session
from memory.errors import MemoryFault
from models.errors import WorkerCrashed
from models.messages import ChatMessage, Completion, GenerationParams, Role, StopReason, Timings
from models.ports import Generation

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
