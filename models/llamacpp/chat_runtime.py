"""A loaded chat model with the chat's context, the tasks' context and cached states."""

from collections.abc import Callable

from models.llamacpp.jobs import ContextRunner, Send
from models.llamacpp.native import Context, Model
from models.llamacpp.prompts import PromptBuilder
from models.llamacpp.states import StateCache, StateLayout, begins_with, default_cache_bytes
from models.messages import hash_tokens
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

    `cache` is the limit of cached states in bytes (negative: chosen here). `new_context(length,
    interruptible)` creates a context.
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
    ) -> None:
        self.model = model
        self.prompts = prompts
        self.fingerprint = fingerprint
        limit = cache if cache >= 0 else default_cache_bytes()
        self.states = StateCache(limit, layout, whole=context.keeps_whole_state)
        self.chat = ContextRunner(model, prompts, context, self.states, context.batch, keeps=True)
        self._new_context = new_context
        self._task: ContextRunner | None = None
        self._door: ContextRunner | None = None
        self._told: dict[str, int] = {}

    @property
    def door(self) -> ContextRunner:
        """What runs requests of other programs, with a context of its own from the first of them on.

        What they read never replaces what the chat has read, and stays for their next request.
        """
        if self._door is None:
            context = self._new_context(self.chat.context.length, not self.model.keeps_whole_state)
            # Like tasks, a model that cannot drop the end of its state is not pre-empted.
            batch = UNINTERRUPTED_BATCH if self.model.keeps_whole_state else context.batch
            self._door = ContextRunner(self.model, self.prompts, context, self.states, batch, keeps=True)
        return self._door

    def task(self, tokens: int) -> ContextRunner:
        """What runs tasks, with a context of at least `tokens` tokens or the maximum for tasks.

        A context that is too short is replaced by a longer one, so only one task may be in progress.
        """
        longest = min(TASK_CONTEXT, self.chat.context.length)
        wanted = min(longest, -(-tokens // _STEP) * _STEP)
        if self._task is not None and self._task.context.length < wanted:
            self._task.context.close()
            self._task = None
        if self._task is None:
            whole = self.model.keeps_whole_state
            context = self._new_context(wanted, not whole)
            batch = min(UNINTERRUPTED_BATCH if whole else TASK_BATCH, context.batch)
            self._task = ContextRunner(self.model, self.prompts, context, self.states, batch, keeps=False)
        return self._task

    def prefill(
        self, request: protocol.Prefill, prefix: list[int], send: Send, cancelled: Callable[[], bool]
    ) -> Job:
        """Evaluates the beginning of a prompt in the task context, unless the chat's context contains it.

        Ends with `Prefilled`.
        """
        if self.states.shared(self.chat.context.tokens, [*prefix, -1]) == len(prefix):
            send(protocol.Prefilled(request.id, len(prefix), 0, hash_tokens(prefix)))
            return
        yield from self.task(len(prefix) + 1).prefill(request, prefix, send, cancelled)

    def remember_chat(self) -> None:
        """Records what the chat's context contains now, so that it is found after more is appended."""
        tokens = self.chat.context.tokens
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
        tokens = self.chat.context.tokens
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
        self.chat.context.clear()
        for runner in (self._task, self._door):
            if runner is not None:
                runner.context.clear()

    def close(self) -> None:
        """Frees the model and its contexts."""
        for runner in (self.chat, self._task, self._door):
            if runner is not None:
                runner.context.close()
        self.states.clear()
        self.model.close()
