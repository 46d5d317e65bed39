"""A reply that the worker is making, and the model states that pass through its pipe."""

from collections.abc import AsyncIterator, Awaitable, Callable

from models import errors
from models.messages import Completion, Lane, ModelState, TokenDelta
from models.worker import protocol
from models.worker.client import Answers, Connection, next_answer
from models.worker.wire import completion

StartGeneration = Callable[
    [list[protocol.WireMessage], protocol.WireParams, Lane], Awaitable[tuple[int, Connection, Answers]]
]


class HostGeneration:
    """A reply that the worker is making."""

    def __init__(
        self,
        start: StartGeneration,
        messages: list[protocol.WireMessage],
        params: protocol.WireParams,
        lane: Lane,
    ) -> None:
        self._start = start
        self._messages = messages
        self._params = params
        self._lane = lane
        self._cancelled = False
        self._cancel_sent: Callable[[], None] | None = None

    def cancel(self) -> None:
        self._cancelled = True
        if self._cancel_sent is not None:
            self._cancel_sent()

    async def __aiter__(self) -> AsyncIterator[TokenDelta | Completion]:
        number, connection, queue = await self._start(self._messages, self._params, self._lane)
        self._cancel_sent = lambda: connection.cancel(number)
        if self._cancelled:
            connection.cancel(number)
        done = False
        try:
            while not done:
                answer = await queue.get()
                if isinstance(answer, protocol.Delta):
                    yield TokenDelta(answer.text, tuple(answer.tokens))
                    continue
                done = True
                yield completion(answer)
        finally:
            if not done:
                connection.cancel(number)
            self._cancel_sent = None
            connection.forget(number)


PIECE = 1024 * 1024


async def stoppable(
    connection: Connection, request: protocol.AnyRequest, kind: type[protocol.Answered]
) -> protocol.Answered:
    """The one answer to a request; a caller that is cancelled stops the work for it."""
    queue = connection.send(request)
    done = False
    try:
        answer = await next_answer(queue, kind)
        done = True
    finally:
        if not done:
            connection.cancel(request.id)
        connection.forget(request.id)
    return answer


async def receive_state(connection: Connection, request: protocol.SaveState, fingerprint: str) -> ModelState:
    """The state that was asked for. Raises `StateNotHeld`."""
    queue = connection.send(request)
    done = False
    try:
        header = await next_answer(queue, protocol.State)
        chunks, came = list[bytes](), 0
        while came < header.size:
            chunk = await next_answer(queue, protocol.StateChunk)
            chunks.append(chunk.data)
            came += len(chunk.data)
        end = await next_answer(queue, protocol.StateSaved)
        done = True
    finally:
        if not done:
            connection.cancel(request.id)
        connection.forget(request.id)
    return ModelState(fingerprint, tuple(header.tokens), tuple(chunks), end.sha256)


async def send_state(connection: Connection, number: int, state: ModelState, fingerprint: str) -> None:
    """Hands a state over; when this returns the worker has it. Raises `StateRefused`."""
    if state.model != fingerprint:
        raise errors.StateRefused("model")
    announced = protocol.LoadState(number, state.model, list(state.tokens), state.size, state.sha256)
    queue = connection.send(announced)
    done = False
    try:
        for chunk in state.chunks:
            for at in range(0, len(chunk), PIECE):
                # An answer before the end is a refusal: then the rest need not be sent.
                if queue.empty():
                    await connection.write(protocol.StatePiece(number, chunk[at : at + PIECE]))
        await next_answer(queue, protocol.StateLoaded)
        done = True
    finally:
        if not done:
            connection.cancel(number)
        connection.forget(number)
