"""States of the model through the worker's pipe: in pieces, so that neither side stops for long."""

from models import errors, protocol
from models.connection import Connection, next_answer
from models.messages import ModelState

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
