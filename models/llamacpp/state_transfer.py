"""Sends states from the worker and receives them, in pieces between other work."""

import hashlib
from collections.abc import Callable

from models.errors import StateNotHeld, StateRefused
from models.llamacpp.chat_runtime import ChatRuntime
from models.llamacpp.jobs import Send
from models.llamacpp.states import (
    SLICE,
    SequenceState,
    new_buffer,
    prepare_buffer,
    restore,
    snapshot,
    state_size,
)
from models.messages import pack_tokens
from models.worker import protocol
from models.worker.scheduler import Job


def send_state(
    request: protocol.SaveState, runtime: ChatRuntime, send: Send, cancelled: Callable[[], bool]
) -> Job:
    """Sends an available state in chunks. Raises `StateNotHeld`."""
    context = runtime.chat.context
    buffer = None
    state = None
    while state is None:
        if runtime.chat_holds(request.held_hash):
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
        if len(announced.tokens) >= runtime.chat.context.length:
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

        An empty chat context restores it at once, which shows that llama.cpp accepts it. Otherwise it is
        cached and tried when a prompt needs it.
        """
        announced, runtime = self._announced, self._runtime
        if self._digest.hexdigest() != announced.sha256:
            raise StateRefused("checksum")
        state = SequenceState(announced.tokens, self._buffer, announced.size)
        if not runtime.chat.context.tokens:
            if not restore(runtime.chat.context, state):
                raise StateRefused("layout")
        elif not runtime.states.put(state):
            raise StateRefused("memory")
        return len(announced.tokens)
