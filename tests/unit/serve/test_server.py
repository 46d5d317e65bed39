"""What every request passes: host, origin, token, rate, size and time."""

import asyncio
import json
import socket
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import pytest
from starlette.types import Message, Receive, Send
from starlette.types import Scope as AsgiScope

from atlas_desktop.serve.listening import listen_on
from atlas_desktop.serve.server import MOST_BODY, MOST_CONNECTIONS, DoorServer, Guard, Rates
from memory.clients import AccessKind, AccessOutcome, Client, Scope
from tests.fakes.clock import FakeClock

CLIENT = Client("1", "editor", frozenset({Scope.CHAT}), rate=3, created_at=FakeClock().now())
HOSTS = {"127.0.0.1:8642", "localhost:8642"}
GOOD = {"host": "127.0.0.1:8642", "authorization": "Bearer token"}


async def ask(
    headers: dict[str, str],
    parts: Sequence[bytes] = (b"{}",),
    *,
    guard: Guard | None = None,
    hang: bool = False,
) -> tuple[int, dict[str, Any]]:
    """Returns the status of the answer, and its body."""
    waiting = [
        {"type": "http.request", "body": part, "more_body": hang or number + 1 < len(parts)}
        for number, part in enumerate(parts)
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        if waiting:
            return waiting.pop(0)
        return await asyncio.Event().wait()  # type: ignore[return-value]

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    await (guard or made())(scope, receive, send)
    return sent[0]["status"], json.loads(sent[1]["body"] or b"{}")


def made(
    limited: list[AccessOutcome] | None = None,
    body_s: float = 5,
    client: Client = CLIENT,
    hosts: Callable[[], Collection[str] | None] = lambda: HOSTS,
) -> Guard:
    async def app(scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for part in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{part}.complete"})
            return
        body = (await receive())["body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})
        told = json.dumps({"client": scope["state"]["client"].name, "length": len(body)})
        await send({"type": "http.response.body", "body": told.encode()})

    async def authenticate(token: str) -> Client | None:
        return client if token == "token" else None

    async def record(_client: Client, _kind: AccessKind, outcome: AccessOutcome) -> None:
        if limited is not None:
            limited.append(outcome)

    return Guard(app, hosts=hosts, authenticate=authenticate, record=record, body_s=body_s)


async def test_a_good_request_goes_on_with_its_client_and_its_whole_body() -> None:
    status, told = await ask(GOOD, [b"ab", b"cd"])
    assert (status, told) == (200, {"client": "editor", "length": 4})


@pytest.mark.parametrize(
    ("changed", "status", "code"),
    [
        ({"authorization": ""}, 401, "door_no_token"),
        ({"authorization": "Basic token"}, 401, "door_no_token"),
        ({"authorization": "Bearer wrong"}, 401, "door_wrong_token"),
        ({"host": "evil.example"}, 421, "door_host"),
        ({"host": "127.0.0.1:8642.evil.example"}, 421, "door_host"),
        ({"host": "127.0.0.1:1"}, 421, "door_host"),
        ({"origin": "https://evil.example"}, 403, "door_origin"),
        ({"origin": "null"}, 403, "door_origin"),
        ({"sec-fetch-site": "cross-site"}, 403, "door_origin"),
        ({"content-length": str(MOST_BODY + 1)}, 413, "door_too_large"),
    ],
)
async def test_everything_else_is_refused_in_words(changed: dict[str, str], status: int, code: str) -> None:
    answered, told = await ask(GOOD | changed)
    assert (answered, told["error"]["code"]) == (status, code)
    assert told["error"]["message"]
    assert told["error"]["next_step"]


async def test_a_body_is_refused_when_it_grows_too_large() -> None:
    status, told = await ask(GOOD, [b"x" * (MOST_BODY // 2 + 1)] * 2)
    assert (status, told["error"]["code"]) == (413, "door_too_large")


async def test_a_body_that_does_not_end_is_refused() -> None:
    status, told = await ask(GOOD, [b"x"], guard=made(body_s=0.01), hang=True)
    assert (status, told["error"]["code"]) == (408, "door_too_slow")


async def test_a_client_that_is_too_fast_waits_and_is_logged() -> None:
    limited: list[AccessOutcome] = []
    guard = made(limited)
    found = [(await ask(GOOD, guard=guard))[0] for _ in range(4)]
    assert found == [200, 200, 200, 429]
    assert limited == [AccessOutcome.LIMITED]


def test_a_rate_fills_up_again_in_a_minute() -> None:
    now = [0.0]
    rates = Rates(lambda: now[0])
    assert [rates.take(CLIENT) for _ in range(4)] == [True, True, True, False]
    now[0] = 20
    assert [rates.take(CLIENT) for _ in range(2)] == [True, False]
    now[0] = 1_000
    assert [rates.take(CLIENT) for _ in range(4)] == [True, True, True, False]


async def request(port: int) -> tuple[int, dict[str, Any]]:
    """Sends a request over a connection of its own and returns the status and the body."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        given = f"Host: 127.0.0.1:{port}\r\nAuthorization: Bearer token\r\nConnection: close\r\n"
        writer.write(f"POST / HTTP/1.0\r\n{given}Content-Length: 2\r\n\r\n{{}}".encode())
        answer = await reader.read()
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


async def test_a_thousand_requests_at_once_are_answered_or_refused_in_words() -> None:
    listening = listen_on("127.0.0.1", 0)
    port = listening.getsockname()[1]
    client = replace(CLIENT, rate=6_000)
    server = DoorServer(lambda hosts: made(client=client, hosts=hosts))
    await server.start(listening)
    try:
        found = await asyncio.gather(*(request(port) for _ in range(1_000)))
        statuses = Counter(status for status, _told in found)
        assert set(statuses) <= {200, 503}
        assert statuses[200] >= MOST_CONNECTIONS
        refused = [told["error"] for status, told in found if status == 503]
        assert all(one["code"] == "door_busy" and one["message"] for one in refused)
        assert (await request(port))[0] == 200
    finally:
        await server.stop()


async def test_the_pieces_of_an_answer_do_not_wait_for_each_other() -> None:
    found: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def connected(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = writer.get_extra_info("socket")
        found.set_result(bool(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)))
        writer.close()

    listening = listen_on("127.0.0.1", 0)
    async with await asyncio.start_server(connected, sock=listening):
        _reader, writer = await asyncio.open_connection(*listening.getsockname())
        assert await found
        writer.close()
