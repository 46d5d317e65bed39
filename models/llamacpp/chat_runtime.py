"""A loaded chat model with the chat's context, the tasks' context and cached states."""

import hashlib
from collections.abc import Callable
from pathlib import Path

from models.errors import StateNotHeld, StateRefused
from models.library.files import fingerprint
from models.llamacpp.jobs import ContextRunner, DraftModel, Embedding, Send
from models.llamacpp.native import BATCH, Context, Interrupt, Model
from models.llamacpp.prompts import PromptBuilder
from models.llamacpp.speculation import BatchCosts
from models.llamacpp.states import (
    SLICE,
    SequenceState,
    StateCache,
    StateLayout,
    begins_with,
    default_cache_bytes,
    new_buffer,
    prepare_buffer,
    restore,
    snapshot,
    state_size,
    try_out,
)
from models.llamacpp.templates import template_limits
from models.messages import hash_tokens, pack_tokens
from models.tuning.kernels import Kernels, hide_amx
from models.worker import protocol
from models.worker.scheduler import Job

# Longest context of a task in tokens. Its memory is allocated only when it is needed.
TASK_CONTEXT = 8192
_STEP = 1024
# A pre-empted batch is lost, so tasks evaluate small batches. A model that cannot drop the end of its state
# would lose everything: it is not pre-empted, and evaluates batches so short that nothing waits long for
# them.
TASK_BATCH = 128
UNINTERRUPTED_BATCH = 32
_REMEMBERED = 32


class ChatRuntime:
    """The contexts of one model for the chat, for other programs and for tasks, and their cached states.

    `cache` is the limit of cached states in bytes (negative: chosen by this class). `new_context(length,
    interruptible)` creates a context. With `speculation`, replies are written speculatively if the model can
    drop the end of its state; in the chat, `draft` then guesses, too.
    """

    def __init__(
        self,
        model: Model,
        prompts: PromptBuilder,
        context: Context,
        layout: StateLayout,
        *,
        fingerprint: str,
        cache: int,
        new_context: Callable[[int, bool], Context],
        speculation: bool = True,
        draft: DraftModel | None = None,
    ) -> None:
        self.model = model
        self.draft = draft
        self.prompts = prompts
        self.fingerprint = fingerprint
        limit = cache if cache >= 0 else default_cache_bytes()
        self.states = StateCache(limit, layout, whole=context.keeps_whole_state)
        self._costs = BatchCosts() if speculation and context.trims else None
        self.length = context.length
        self._chat: ContextRunner | None = self._runner(context, context.batch, keeps=True, draft=draft)
        self._new_context = new_context
        self._task: ContextRunner | None = None
        self._door: ContextRunner | None = None
        self._told: dict[str, int] = {}

    @property
    def chat(self) -> ContextRunner:
        """Runs the chat."""
        if self._chat is None:
            context = self._new_context(self.length, True)  # noqa: FBT003 - a callback
            self._chat = self._runner(context, context.batch, keeps=True, draft=self.draft)
        return self._chat

    @property
    def has_chat(self) -> bool:
        """Whether the chat has a context now."""
        return self._chat is not None

    @property
    def chat_tokens(self) -> list[int]:
        """The present tokens of the chat's context."""
        return [] if self._chat is None else self._chat.context.tokens

    @property
    def door(self) -> ContextRunner:
        """Runs the requests of other programs in a separate context.

        Their tokens never replace those of a chat, and stay for their next request. The chat's context is
        taken if no reply was made in it, so that an Atlas that only serves others needs memory for one. None
        of the chat's jobs is in progress then, because they are more urgent.
        """
        if self._door is None:
            whole = self.model.keeps_whole_state
            if self._chat is not None and not self._told and not whole:
                self._door, self._chat = self._chat, None
                return self._door
            context = self._new_context(self.length, not whole)
            # Like tasks, a model that cannot drop the end of its state is not pre-empted.
            batch = UNINTERRUPTED_BATCH if whole else context.batch
            self._door = self._runner(context, batch, keeps=True)
        return self._door

    def task(self, tokens: int) -> ContextRunner:
        """Runs tasks, with a context of at least `tokens` tokens or the maximum for tasks.

        A context that is too short is replaced by a longer one, so only one task may be in progress.
        """
        longest = min(TASK_CONTEXT, self.length)
        wanted = min(longest, -(-tokens // _STEP) * _STEP)
        if self._task is not None and self._task.context.length < wanted:
            self._task.context.close()
            self._task = None
        if self._task is None:
            whole = self.model.keeps_whole_state
            context = self._new_context(wanted, not whole)
            batch = min(UNINTERRUPTED_BATCH if whole else TASK_BATCH, context.batch)
            self._task = self._runner(context, batch, keeps=False)
        return self._task

    def _runner(
        self, context: Context, batch: int, *, keeps: bool, draft: DraftModel | None = None
    ) -> ContextRunner:
        return ContextRunner(self.model, self.prompts, context, self.states, batch, keeps, self._costs, draft)

    def prefill(
        self, request: protocol.Prefill, prefix: list[int], send: Send, cancelled: Callable[[], bool]
    ) -> Job:
        """Evaluates the beginning of a prompt in the task context, unless the chat's context contains it.

        Ends with `Prefilled`.
        """
        if self.states.shared(self.chat_tokens, [*prefix, -1]) == len(prefix):
            send(protocol.Prefilled(request.id, len(prefix), 0, hash_tokens(prefix)))
            return
        yield from self.task(len(prefix) + 1).prefill(request, prefix, send, cancelled)

    def remember_chat(self) -> None:
        """Records the present tokens of the chat's context, so that they are found after more is appended."""
        tokens = self.chat_tokens
        held_hash = hash_tokens(tokens)
        self._told.pop(held_hash, None)
        self._told[held_hash] = len(tokens)
        while len(self._told) > _REMEMBERED:
            del self._told[next(iter(self._told))]

    def length_of(self, held_hash: str) -> int:
        """Number of tokens with that hash; 0 when it was never recorded or too long ago."""
        return self._told.get(held_hash, 0)

    def chat_holds(self, held_hash: str) -> bool:
        """Whether the chat's context contains the tokens with that hash, possibly followed by others."""
        tokens = self.chat_tokens
        return hash_tokens(tokens) == held_hash or begins_with(tokens, held_hash, self.length_of(held_hash))

    def pieces(self, request: int) -> protocol.Pieces:
        """Everything needed to rebuild the tokenizer."""
        vocab = self.model.vocab
        tokens = range(vocab.size)
        return protocol.Pieces(
            request,
            kind=vocab.kind,
            pre=self.model.metadata("tokenizer.ggml.pre") or "",
            raw=[vocab.raw_text(t) for t in tokens],
            attributes=[vocab.attributes(t) for t in tokens],
        )

    def drop_states(self) -> None:
        """Discards every evaluated prompt, without allocating memory again."""
        self.states.clear()
        self._told.clear()
        for runner in (self._chat, self._task, self._door):
            if runner is not None:
                runner.context.clear()
        if self.draft is not None:
            self.draft.context.clear()

    def close(self) -> None:
        """Frees the model and its contexts."""
        for runner in (self._chat, self._task, self._door):
            if runner is not None:
                runner.context.close()
        if self.draft is not None:
            self.draft.close()
        self.states.clear()
        self.model.close()


EMBED_CONTEXT = 512
LONGEST_BY_DEFAULT = 8192


def load_vocabulary(load: protocol.Load) -> protocol.Loaded:
    """Tests whether the file can be read at all, then releases it."""
    model = _model(load)
    loaded = protocol.Loaded(
        load.id,
        fingerprint=fingerprint(Path(load.path)),
        architecture="",
        context_length=0,
        train_context=0,
        vocabulary=model.vocab.size,
        embedding_length=0,
        prefix_stable=True,
        base=0,
        overhead={},
        tokenizer="",
    )
    model.close()
    return loaded


def load_embedding(load: protocol.Load) -> tuple[Embedding, protocol.Loaded]:
    model = _model(load)
    length = min(EMBED_CONTEXT, model.train_context)
    context = Context(model, length=length, threads=load.threads, batch=length, embeddings=True)
    context.embed(model.vocab.framed("one two three four"), model.embedding_length)
    return Embedding(model, context), _described(load, model, length)


def load_chat(load: protocol.Load, interrupt: Interrupt) -> tuple[ChatRuntime, protocol.Loaded]:
    model = _model(load)
    with template_limits():
        prompts = PromptBuilder(model)
        base, overhead = prompts.shape()
        stable = prompts.only_appends() and not model.keeps_whole_state

    def new_context(length: int, interruptible: bool) -> Context:  # noqa: FBT001 - a callback
        return Context(
            model,
            length=length,
            threads=load.threads,
            interrupt=interrupt if interruptible else None,
            batch=load.batch or BATCH,
            flash=load.flash,
            kv_type=load.kv_type,
        )

    wanted = load.context_length or min(LONGEST_BY_DEFAULT, model.train_context)
    context = new_context(min(wanted, model.train_context), True)  # noqa: FBT003 - a callback
    layout = try_out(context, max(0, model.vocab.bos))
    loaded = _described(load, model, context.length, stable=stable, base=base, overhead=overhead)
    runtime = ChatRuntime(
        model,
        prompts,
        context,
        layout,
        fingerprint=loaded.fingerprint,
        cache=load.state_cache,
        new_context=new_context,
        speculation=load.speculation,
        draft=_draft(load, model, context, interrupt),
    )
    return runtime, loaded


def _draft(load: protocol.Load, model: Model, chat: Context, interrupt: Interrupt) -> DraftModel | None:
    """Loads the draft model; returns None if there is none, or none that can guess for this model."""
    if not (load.draft and load.speculation and chat.trims):
        return None
    draft = _model(load, load.draft)
    if draft.keeps_whole_state or not draft.vocab.same(model.vocab):
        draft.close()
        return None
    length = min(chat.length, draft.train_context)
    context = Context(draft, length=length, threads=load.threads, interrupt=interrupt, flash=load.flash)
    try_out(context, max(0, draft.vocab.bos))
    found = DraftModel(draft, context)
    if not context.trims:
        found.close()
        return None
    return found


def _model(load: protocol.Load, path: str = "") -> Model:
    if load.kernels == Kernels.WITHOUT_AMX:
        # Repeated at every load; harmless when it is already in force.
        hide_amx()
    return Model(
        Path(path or load.path),
        gpu_layers=load.gpu_layers,
        vocab_only=load.vocab_only,
        plain_kernels=load.kernels == Kernels.PLAIN,
    )


def _described(
    load: protocol.Load,
    model: Model,
    length: int,
    *,
    stable: bool = True,
    base: int = 0,
    overhead: dict[str, int] | None = None,
) -> protocol.Loaded:
    return protocol.Loaded(
        load.id,
        fingerprint=fingerprint(Path(load.path)),
        architecture=model.architecture,
        context_length=length,
        train_context=model.train_context,
        vocabulary=model.vocab.size,
        embedding_length=model.embedding_length,
        prefix_stable=stable,
        base=base,
        overhead=overhead or {},
        tokenizer=model.metadata("tokenizer.ggml.pre") or "",
        parameters=model.parameters,
    )


def send_state(
    request: protocol.SaveState, runtime: ChatRuntime, send: Send, cancelled: Callable[[], bool]
) -> Job:
    """Sends an available state in chunks. Raises `StateNotHeld`."""
    buffer = None
    state = None
    while state is None:
        if runtime.chat_holds(request.held_hash):
            context = runtime.chat.context
            # The chat may continue while memory is prepared, and then needs more of it.
            if buffer is not None and len(buffer) >= state_size(context):
                state = snapshot(context, buffer)
            else:
                buffer = yield from prepare_buffer(state_size(context) + SLICE)
        else:
            state = runtime.states.find(request.held_hash, runtime.length_of(request.held_hash))
            if state is None:
                raise StateNotHeld
    send(protocol.State(request.id, state.tokens, state.size))
    digest = new_digest(runtime.fingerprint, state.tokens)
    with memoryview(state.buffer) as view:
        for at in range(0, state.size, SLICE):
            if cancelled():
                return
            chunk = bytes(view[at : min(at + SLICE, state.size)])
            digest.update(chunk)
            send(protocol.StateChunk(request.id, chunk))
            yield
    send(protocol.StateSaved(request.id, digest.hexdigest()))


def new_digest(fingerprint: str, tokens: list[int]) -> "hashlib._Hash":
    """The SHA-256 of a `ModelState` before its first chunk."""
    digest = hashlib.sha256(fingerprint.encode())
    digest.update(pack_tokens(tokens))
    return digest


class Upload:
    """A state that arrives in pieces, on the thread that reads requests; the worker's thread restores it.

    llama.cpp trusts such bytes, so none of them reaches it before the announced checksum has been verified.
    Raises `StateRefused`.
    """

    def __init__(self, announced: protocol.LoadState, runtime: ChatRuntime) -> None:
        self._announced = announced
        self._runtime = runtime
        self._check()
        self._buffer = new_buffer(announced.size)
        self._digest = new_digest(announced.model, announced.tokens)
        self._came = 0

    def _check(self) -> None:
        announced, runtime = self._announced, self._runtime
        if announced.model != runtime.fingerprint:
            raise StateRefused("model")
        if not announced.tokens or not all(0 <= t < runtime.model.vocab.size for t in announced.tokens):
            raise StateRefused("tokens")
        if len(announced.tokens) >= runtime.length:
            raise StateRefused("length")
        expected = runtime.states.expected_size(len(announced.tokens))
        if announced.size != expected if expected is not None else announced.size < 1:
            raise StateRefused("size")
        if announced.size > runtime.states.limit:
            raise StateRefused("memory")

    def take(self, data: bytes) -> bool:
        """Adds the next piece; returns True when it was the last."""
        end = self._came + len(data)
        if end > self._announced.size:
            raise StateRefused("size")
        self._buffer[self._came : end] = data
        self._digest.update(data)
        self._came = end
        return end == self._announced.size

    def settle(self) -> int:
        """Puts the complete state where the next prompt finds it; returns its number of tokens.

        An empty chat context restores it at once, which shows that llama.cpp accepts it. Otherwise, and if
        only other programs use the model, it is cached and tried when a prompt needs it.
        """
        announced, runtime = self._announced, self._runtime
        if self._digest.hexdigest() != announced.sha256:
            raise StateRefused("checksum")
        state = SequenceState(announced.tokens, self._buffer, announced.size)
        if runtime.has_chat and not runtime.chat_tokens:
            if not restore(runtime.chat.context, state):
                raise StateRefused("layout")
        elif not runtime.states.put(state):
            raise StateRefused("memory")
        return len(announced.tokens)
