"""Copies states of sequences from a context, restores them, and caches them in memory.

A state is what llama.cpp stores for one sequence of tokens: keys and values, and nothing else. The logits of
the last token, whose buffer is as large as the batch times the vocabulary, are not part of it
(`llama_state_seq_get_data` leaves them out, `llama_state_get_data` does not). After a state is restored, at
least one token must therefore be evaluated before the next can be sampled.
"""

import ctypes
import mmap
import sys
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

import llama_cpp.llama_cpp as C  # noqa: N812 - the C interface

from models.llamacpp.native import Context
from models.messages import common_tokens, hash_tokens

DEFAULT_CACHE = 512 * 1024 * 1024
MEMORY_SHARE = 8
# Loading a state costs as much as evaluating this many tokens.
MIN_GAIN = 32
SLICE = 256 * 1024
_PAGE = 4096


@dataclass(frozen=True, slots=True, eq=False)
class SequenceState:
    """Evaluated tokens and llama.cpp's bytes for them: the first `size` bytes of `buffer`."""

    tokens: list[int] = field(repr=False)
    buffer: mmap.mmap = field(repr=False)
    size: int

    @property
    def prefix_hash(self) -> str:
        return hash_tokens(self.tokens)


@dataclass(frozen=True, slots=True)
class StateLayout:
    """Size of a state in bytes: `fixed` plus `per_token` for each token; exact only where `linear`."""

    fixed: int
    per_token: int
    linear: bool

    def size(self, tokens: int) -> int:
        return self.fixed + self.per_token * tokens


def try_out(context: Context, token: int) -> StateLayout:
    """Evaluates a few tokens and drops them; a build that this processor cannot run dies here.

    Single tokens and batches use different code, so both are tried. The sizes of the two states give the
    layout.
    """
    context.evaluate([token] * 8)
    eight = state_size(context)
    context.evaluate([token])
    nine = state_size(context)
    context.trims = context.rewind(8) == 8
    context.rewind(0)
    per_token = nine - eight
    return StateLayout(eight - 8 * per_token, per_token, linear=not context.keeps_whole_state)


def new_buffer(size: int) -> mmap.mmap:
    """Memory that the system allocates page by page when written to, in large pages where it has them."""
    if sys.platform == "win32":
        return mmap.mmap(-1, size)
    buffer = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if sys.platform == "linux":
        buffer.madvise(mmap.MADV_HUGEPAGE)
    return buffer


def state_size(context: Context) -> int:
    return int(C.llama_state_seq_get_size(context.handle, 0))


def snapshot(context: Context, buffer: mmap.mmap | None = None) -> SequenceState:
    """A copy of what the context contains, in `buffer` if given (it must be large enough)."""
    size = state_size(context)
    if buffer is None:
        buffer = new_buffer(size)
    target = (ctypes.c_uint8 * size).from_buffer(buffer)
    written = int(C.llama_state_seq_get_data(context.handle, target, size, 0))
    return SequenceState(list(context.tokens), buffer, written)


def prepare_buffer(size: int) -> Generator[None, None, mmap.mmap]:
    """A buffer whose memory is already allocated, in small steps, so that filling it is quick.

    Most of the cost of a copy is the system's, which clears every page before providing it.
    """
    buffer = new_buffer(size)
    with memoryview(buffer) as view:
        for at in range(0, size, SLICE):
            for page in range(at, min(at + SLICE, size), _PAGE):
                view[page] = 0
            yield
    return buffer


def restore(context: Context, state: SequenceState) -> bool:
    """Replaces the context's contents with a state; empties it and returns False when that fails.

    llama.cpp trusts the bytes, so they must be its own.
    """
    context.clear()
    if len(state.tokens) > context.length:
        return False
    source = (ctypes.c_uint8 * state.size).from_buffer(state.buffer)
    read = int(C.llama_state_seq_set_data(context.handle, source, state.size, 0))
    if read != state.size or context.held() != len(state.tokens):
        context.clear()
        return False
    context.tokens = list(state.tokens)
    return True


class StateCache:
    """States of other prompts, at most `limit` bytes; the least recently used are dropped first.

    `whole`: the model cannot drop the end of its state: a state then only serves prompts that begin with all
    of its tokens.
    """

    def __init__(self, limit: int, layout: StateLayout, *, whole: bool = False) -> None:
        self.limit = limit
        self._layout = layout
        self._whole = whole
        self._entries: list[SequenceState] = []

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def size(self) -> int:
        """Bytes of memory that the states use."""
        return sum(len(entry.buffer) for entry in self._entries)

    def expected_size(self, tokens: int) -> int | None:
        """Exact size in bytes of a state of `tokens` tokens; None when the layout is not linear."""
        return self._layout.size(tokens) if self._layout.linear else None

    def has_room_for(self, tokens: int) -> bool:
        return self._layout.size(tokens) <= self.limit

    def shared(self, tokens: Sequence[int], prompt: Sequence[int]) -> int:
        """Number of `tokens` that can be reused for a prompt.

        The prompt's last token is always evaluated again.
        """
        common = common_tokens(tokens, prompt[:-1])
        return common if common == len(tokens) or not self._whole else 0

    def best(self, prompt: Sequence[int], *, above: int, length: int) -> SequenceState | None:
        """The state of at most `length` tokens that shares most with a prompt.

        None unless it shares more than `above` tokens.
        """
        fitting = [entry for entry in self._entries if len(entry.tokens) <= length]
        found = max(fitting, key=lambda entry: self.shared(entry.tokens, prompt), default=None)
        if found is None or self.shared(found.tokens, prompt) <= above:
            return None
        self._touch(found)
        return found

    def covers(self, tokens: Sequence[int]) -> bool:
        """Whether a cached state serves every prompt that these tokens would serve."""
        return any(self._covers(entry, tokens) for entry in self._entries)

    def _covers(self, entry: SequenceState, tokens: Sequence[int]) -> bool:
        if self._whole:
            return entry.tokens == list(tokens)
        return common_tokens(entry.tokens, tokens) == len(tokens)

    def put(self, state: SequenceState) -> bool:
        """Caches a state in place of those that it covers; returns False when it is too large or empty."""
        if len(state.buffer) > self.limit or not state.tokens:
            return False
        self._entries = [entry for entry in self._entries if not self._covers(state, entry.tokens)]
        self._entries.append(state)
        while self.size > self.limit:
            self._entries.pop(0)
        return True

    def find(self, held_hash: str, length: int = 0) -> SequenceState | None:
        """The state with that hash, or one whose first `length` tokens have it, or None."""
        for entry in self._entries:
            if entry.prefix_hash == held_hash or begins_with(entry.tokens, held_hash, length):
                self._touch(entry)
                return entry
        return None

    def drop(self, state: SequenceState) -> None:
        self._entries = [entry for entry in self._entries if entry is not state]

    def clear(self) -> None:
        self._entries = []

    def _touch(self, entry: SequenceState) -> None:
        self._entries.remove(entry)
        self._entries.append(entry)


def begins_with(tokens: Sequence[int], held_hash: str, length: int) -> bool:
    """Whether the first `length` tokens have that hash; False when `length` is 0."""
    return 0 < length <= len(tokens) and hash_tokens(tokens[:length]) == held_hash


def default_cache_bytes() -> int:
    """Half a gibibyte or an eighth of the available memory, whichever is less."""
    import psutil

    return int(min(DEFAULT_CACHE, psutil.virtual_memory().available // MEMORY_SHARE))
