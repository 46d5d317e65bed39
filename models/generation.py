"""A reply that the worker is making, as the application sees it."""

from collections.abc import AsyncIterator, Awaitable, Callable

from models import protocol
from models.connection import Answers, Connection
from models.messages import Completion, Lane, TokenDelta
from models.wire import completion

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
