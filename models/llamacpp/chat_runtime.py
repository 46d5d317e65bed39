"""A loaded chat model and all that it has read: the chat's context, the tasks' context, kept states."""

from collections.abc import Callable

from models.llamacpp.jobs import ChatRuntime, Send
from models.llamacpp.native import Context, Model
from models.llamacpp.prompts import PromptBuilder
from models.llamacpp.states import StateCache, StateLayout, begins_with, default_cache_bytes
from models.messages import hash_tokens
from models.worker import protocol
from models.worker.scheduler import Job

# The longest prompt of a task: what it takes of memory is taken only when it is needed.
TASK_CONTEXT = 8192
_STEP = 1024
# A pre-empted batch is lost, so tasks read in batches that do not cost much. A model that cannot drop the end
# of what it has read would lose everything: it is not pre-empted, and reads in steps that nobody waits for
# long.
TASK_BATCH = 128
UNINTERRUPTED_BATCH = 32
_REMEMBERED = 32


class ChatRuntimes:
    """Who speaks on which lane. `new_context(length, interruptible)` makes a context."""

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
        self.chat = ChatRuntime(model, prompts, context, self.states, context.batch, keeps=True)
        self._new_context = new_context
        self._task: ChatRuntime | None = None
        self._told: dict[str, int] = {}

    def task(self, tokens: int) -> ChatRuntime:
        """A speaker whose context takes so many tokens, or as many as any task may have.

        A context that is too short is replaced by a longer one, so only one task may be under way.
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
            self._task = ChatRuntime(self.model, self.prompts, context, self.states, batch, keeps=False)
        return self._task

    def prefill(
        self, request: protocol.Prefill, prefix: list[int], send: Send, cancelled: Callable[[], bool]
    ) -> Job:
        """Reads a prompt's beginning beside the chat, unless the chat holds it; ends with `Prefilled`."""
        if self.states.shared(self.chat.context.tokens, [*prefix, -1]) == len(prefix):
            send(protocol.Prefilled(request.id, len(prefix), 0, hash_tokens(prefix)))
            return
        yield from self.task(len(prefix) + 1).prefill(request, prefix, send, cancelled)

    def remember_chat(self) -> None:
        """Remembers what the chat holds now, so that it is found again when more has come after it."""
        tokens = self.chat.context.tokens
        held_hash = hash_tokens(tokens)
        self._told.pop(held_hash, None)
        self._told[held_hash] = len(tokens)
        while len(self._told) > _REMEMBERED:
            del self._told[next(iter(self._told))]

    def length_of(self, held_hash: str) -> int:
        """How many tokens had that hash; 0 when it was never told or too long ago."""
        return self._told.get(held_hash, 0)

    def chat_holds(self, held_hash: str) -> bool:
        """Whether the chat's context holds tokens of that hash, and at most some after them."""
        tokens = self.chat.context.tokens
        return hash_tokens(tokens) == held_hash or begins_with(tokens, held_hash, self.length_of(held_hash))

    def pieces(self, request: int) -> protocol.Pieces:
        """Everything that a tokenizer can be rebuilt from."""
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
        """Forgets every prompt that was read, without asking for memory anew."""
        self.states.clear()
        self._told.clear()
        self.chat.context.clear()
        if self._task is not None:
            self._task.context.clear()

    def close(self) -> None:
        """Frees the model and its contexts."""
        for speaker in (self.chat, self._task):
            if speaker is not None:
                speaker.context.close()
        self.states.clear()
        self.model.close()
