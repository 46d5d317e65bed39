"""Sends the endpoint 1,000 requests over 8 connections: `python -m benchmarks.endpoint_load`.

The requests are mixed: models, recall, embeddings, replies of a few tokens as a whole and as streams, and
MCP. They go to `atlas serve` first, and then to the open interface while somebody types. Bars: no error, and
a key is drawn within 33 ms at the 95th percentile. With more than 64 connections, requests may also be told
to wait (429 or 503).

The requests are sent by another process, so that they do not slow down the one that watches the interface.
"""

import argparse
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atlas_desktop.paths import Paths, find_home
from atlas_desktop.serve.replies import MOST_WAITING
from benchmarks.endpoint import CHAT, free_port, sample
from benchmarks.program import environment, key_delays, prepare
from tests.e2e.terminal import Terminal, ctrl

KEY_MS = 33.0
_MCP_HEADERS = {"Accept": "application/json, text/event-stream"}


def _chat(number: int, model: str, *, stream: bool) -> dict[str, Any]:
    said = [{"role": "user", "content": f"Where did I go in {2000 + number % 25}?"}]
    return {"model": model, "messages": said, "max_tokens": 4, "stream": stream, "temperature": 0}


def _recall(number: int) -> dict[str, Any]:
    return {"query": f"where did I go in {2000 + number % 25}", "k": 5}


def _call(number: int) -> dict[str, Any]:
    tool = {"name": "recall", "arguments": _recall(number)}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": tool}


def _streamed(answer: bytes) -> bool:
    return answer.rstrip().endswith(b"data: [DONE]") and b'"error"' not in answer


@dataclass(frozen=True)
class Kind:
    """A kind of request, and whether an answer to it is right."""

    path: str
    body: Callable[[int], dict[str, Any] | None]
    right: Callable[[bytes], bool]


KINDS = {
    "models": Kind("/v1/models", lambda _: None, lambda it: json.loads(it)["data"][0]["id"] == "atlas"),
    "recall": Kind("/atlas/recall", _recall, lambda it: len(json.loads(it)["hits"]) == 5),
    "embeddings": Kind(
        "/v1/embeddings",
        lambda number: {"model": "atlas", "input": [f"The sea, {number}", f"A town, {number}"]},
        lambda it: [len(one["embedding"]) for one in json.loads(it)["data"]] == [384, 384],
    ),
    "reply": Kind(
        "/v1/chat/completions",
        lambda number: _chat(number, CHAT, stream=False),
        lambda it: json.loads(it)["usage"]["completion_tokens"] >= 1,
    ),
    "stream": Kind("/v1/chat/completions", lambda number: _chat(number, CHAT, stream=True), _streamed),
    "memory": Kind(
        "/v1/chat/completions",
        lambda number: _chat(number, "atlas", stream=True),
        _streamed,
    ),
    "mcp": Kind("/mcp", _call, lambda it: not json.loads(it)["result"].get("isError")),
}
MIX = ("models", "recall", "embeddings", "reply", "mcp", "recall", "models", "stream", "embeddings", "memory")
"""The kinds of ten requests that follow each other."""


@dataclass
class Answers:
    """The milliseconds of each answer by kind, how many were told to wait, and what went wrong."""

    took: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    waiting: int = 0
    wrong: list[str] = field(default_factory=list)


def _ask(connection: http.client.HTTPConnection, token: str, number: int, found: Answers) -> None:
    name = MIX[number % len(MIX)]
    kind = KINDS[name]
    body = kind.body(number)
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **_MCP_HEADERS}
    began = time.perf_counter()
    try:
        given = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", kind.path, given, headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status in (429, 503) and "error" in json.loads(text):
            found.waiting += 1
            return
        if answer.status != 200 or not kind.right(text):
            found.wrong.append(f"{name}: {answer.status} {text[:300]!r}")
            return
    except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
        connection.close()
        found.wrong.append(f"{name}: {error!r}")
        return
    found.took[name].append(1000 * (time.perf_counter() - began))


def send(port: int, token: str, requests: int, connections: int) -> Answers:
    """Sends the requests over that many connections, each of which stays open."""
    found = Answers()

    def over_one(first: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        for number in range(first, requests, connections):
            _ask(connection, token, number, found)
        connection.close()

    with ThreadPoolExecutor(connections) as many:
        list(many.map(over_one, range(connections)))
    return found


def sender(port: int, token: str, requests: int, connections: int) -> "subprocess.Popen[str]":
    """Starts another process that sends the requests and prints the outcome as JSON."""
    words = ["--send", str(port), "--requests", str(requests), "--connections", str(connections)]
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.endpoint_load", *words],
        env={**os.environ, "ATLAS_CLIENT_TOKEN": token},
        stdout=subprocess.PIPE,
        text=True,
    )


def outcome(process: "subprocess.Popen[str]", connections: int) -> bool:
    """Prints what the sender measured; returns whether all requests were answered."""
    printed, _errors = process.communicate()
    told = json.loads(printed)
    for name, took in told["took"].items():
        p50, p95 = statistics.median(took), statistics.quantiles(took, n=20)[-1]
        print(f"  {name:<11} {len(took):5} answers, p50 {p50:6.0f} ms, p95 {p95:6.0f} ms")
    answered = sum(map(len, told["took"].values()))
    waiting, wrong = told["waiting"], told["wrong"]
    print(f"  {answered} answers in {told['seconds']:.1f} s, {waiting} told to wait, {len(wrong)} errors")
    for one in wrong[:5]:
        print(f"    {one}")
    return not wrong and (not waiting or connections > MOST_WAITING)


def typing(terminal: Terminal, going: Callable[[], bool]) -> list[float]:
    """Types into the prompt while `going`; returns the seconds from each key to its paint."""
    delays: list[float] = []
    while going():
        delays += key_delays(terminal, 50)
        terminal.press(ctrl("u"))
        terminal.settle()
    return delays


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=1_000)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--messages", type=int, default=1_000, help="in the room that is recalled from")
    parser.add_argument("--send", type=int, metavar="PORT", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.send:
        began = time.perf_counter()
        found = send(args.send, os.environ["ATLAS_CLIENT_TOKEN"], args.requests, args.connections)
        seconds = time.perf_counter() - began
        print(json.dumps({**vars(found), "seconds": seconds}))
        return 0

    os.environ.setdefault("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    models = Path(os.environ.get("ATLAS_TEST_MODELS", Paths(find_home()).models))
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        secret = prepare(home, models)

        def command(*words: str) -> list[str]:
            return [str(Path(sys.executable).with_name("atlas")), *words, "--passphrase-file", str(secret)]

        def run(*words: str) -> Any:
            words = (*command(*words), "--json")
            return json.loads(
                subprocess.run(words, env=environment(home), capture_output=True, check=True).stdout
            )

        lines = Path(folder) / "lines.jsonl"
        lines.write_text(sample(args.messages))
        run("import", str(lines), "--format", "jsonl")
        token = run("clients", "add", "load", "--scopes", "chat,recall", "--rate", "6000")["token"]

        print("atlas serve", flush=True)
        port = free_port()
        server = subprocess.Popen(
            command("serve", "--port", str(port)), env=environment(home), stderr=subprocess.PIPE, text=True
        )
        try:
            assert server.stderr is not None
            server.stderr.readline()
            sending = sender(port, token, args.requests, args.connections)
            answered = outcome(sending, args.connections)
        finally:
            server.terminate()
            server.wait()

        print("the open interface", flush=True)
        port = free_port()
        open_door = {**environment(home), "ATLAS_DOORS_SERVE": "true", "ATLAS_DOORS_PORT": str(port)}
        with Terminal(command(), open_door, columns=100, rows=30) as terminal:
            terminal.see("door open")
            terminal.settle()
            rounds = iter(range(3))
            idle = typing(terminal, lambda: next(rounds, None) is not None)
            sending = sender(port, token, args.requests, args.connections)
            busy = typing(terminal, lambda: sending.poll() is None)
            answered = outcome(sending, args.connections) and answered
            terminal.press(ctrl("q"))
            terminal.wait_for_end()
    for name, delays in (("without requests", idle), ("during the requests", busy)):
        p95 = 1000 * statistics.quantiles(delays, n=20)[-1]
        p50 = 1000 * statistics.median(delays)
        print(f"  key to paint {name}: p50 {p50:.0f} ms, p95 {p95:.0f} ms of {len(delays)} keys")
    print(f"bars: no error, key to paint p95 at most {KEY_MS:.0f} ms")
    return 0 if answered and p95 <= KEY_MS else 1


if __name__ == "__main__":
    sys.exit(main())
