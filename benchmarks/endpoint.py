"""Compares the endpoint with the server of llama-cpp-python: `python -m benchmarks.endpoint --bare PYTHON`.

PYTHON is that of an environment with `llama-cpp-python[server]` in the same version. Both servers run the
same file with the same number of threads and the same priority, and are asked in turns, one at a time, over
HTTP as streams. Ratios are medians of the ratios of each round, because the speed of a machine changes.
Without `--bare`, only the endpoint is measured. Bars: the first token takes at most 1.1 times as long,
throughput is at least .97 of the other's, a repeated history of 2,000 tokens and 20 new ones is at least 20
times faster than reading it, and recall over MCP takes at most 80 ms at the 95th percentile.
"""

import argparse
import asyncio
import http.client
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from atlas_desktop.paths import Paths, find_home
from models.tuning.kernels import real_cores

PASSPHRASE = "correct horse battery staple"
CHAT = "smollm2-135m-instruct"
FIRST_TOKEN, THROUGHPUT, REPEATED, RECALL_MS = 1.1, 0.97, 20.0, 80.0
_SENTENCE = "I like walking by the sea with my sister, and in June we go to the mountains of the north. "


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Server:
    """A server that is asked for streams; `ask` returns the times of one."""

    def __init__(self, port: int, model: str, token: str) -> None:
        self._port = port
        self._model = model
        self._token = token

    def ask(self, messages: list[dict[str, str]], most: int) -> tuple[float, float, str]:
        """Returns ms to the first piece of text, ms in all, and the text."""
        to = http.client.HTTPConnection("127.0.0.1", self._port, timeout=600)
        body = {
            "model": self._model,
            "messages": messages,
            "max_tokens": most,
            "stream": True,
            "temperature": 0,
        }
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        began = time.perf_counter()
        to.request("POST", "/v1/chat/completions", json.dumps(body), headers)
        answer = to.getresponse()
        assert answer.status == 200, answer.read()
        first, said = 0.0, []
        for line in answer:
            if not line.startswith(b"data: {"):
                continue
            choices = json.loads(line[6:]).get("choices") or [{}]
            if text := choices[0].get("delta", {}).get("content"):
                first = first or time.perf_counter()
                said.append(text)
        ended = time.perf_counter()
        to.close()
        return 1000 * (first - began), 1000 * (ended - began), "".join(said)


def history(sentences: int, salt: str) -> list[dict[str, str]]:
    """Returns a conversation of two turns, of about 20 tokens a sentence; `salt` makes it new."""
    text = salt + " " + _SENTENCE * sentences
    return [{"role": "user", "content": text}]


def measured(servers: dict[str, Server], rounds: int) -> dict[str, dict[str, list[float]]]:
    """Asks all servers in turns; returns the figures by server and kind, and prints those of each round."""
    found: dict[str, dict[str, list[float]]] = {
        name: {"first": [], "speed": [], "cold": [], "repeated": []} for name in servers
    }
    for number in range(rounds):
        for name, server in servers.items():
            figures = found[name]
            prompt = history(6, f"{number} {name}.")
            first, _whole, _text = server.ask(prompt, 1)
            figures["first"].append(first)
            first, whole, _text = server.ask(history(1, f"Tell a long story, {number}."), 128)
            figures["speed"].append(127_000 / (whole - first))
            long = history(100, f"{number}, {name}:")
            cold, _whole, text = server.ask(long, 8)
            more = [*long, {"role": "assistant", "content": text}]
            new = "And what would you tell somebody who has never been there and goes in June?"
            again, _whole, _text = server.ask([*more, {"role": "user", "content": new}], 1)
            figures["cold"].append(cold)
            figures["repeated"].append(again)
            print(number, name, {kind: round(each[-1], 1) for kind, each in figures.items()}, flush=True)
    return found


def ratio(above: list[float], below: list[float]) -> float:
    """Returns the median of the ratios of the rounds."""
    return statistics.median(one / other for one, other in zip(above, below, strict=True))


async def recall_times(command: list[str], environment: dict[str, str], times: int) -> list[float]:
    """Returns the ms of recalls over MCP, in one process."""
    server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        found = []
        for number in range(times):
            began = time.perf_counter()
            answer = await session.call_tool("recall", {"query": f"where did I go in {2000 + number % 25}"})
            found.append(1000 * (time.perf_counter() - began))
            assert not answer.is_error
        return found


def sample(messages: int) -> str:
    """Returns an import of conversations with that many messages in all."""
    lines = []
    for number in range(0, messages, 100):
        said = [
            {
                "id": f"{number}-{at}",
                "role": "user" if at % 2 == 0 else "assistant",
                "content": f"In {2000 + (number + at) % 25} I went to town {number + at}, {at % 37} of us.",
                "created_at": f"2024-{1 + number // 100 % 12:02d}-{1 + at % 28:02d}T10:00:00Z",
            }
            for at in range(min(100, messages - number))
        ]
        lines.append(json.dumps({"id": f"s{number}", "title": f"Trip {number}", "messages": said}))
    return "\n".join(lines)


def start(stack: ExitStack, words: list[str], port: int, **more: Any) -> None:
    """Starts a server that ends with the stack; returns when it listens."""
    process = subprocess.Popen(words, **more)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    for _attempt in range(600):
        with closing(socket.socket()) as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise SystemExit("a server does not start")


class Bench:
    """A home of its own with the models, and the results that miss their bars."""

    def __init__(self, folder: Path, models: Path) -> None:
        home = folder / "home"
        home.mkdir(mode=0o700)
        shutil.copytree(models, home / "models")
        self._chat_model = home / "models" / f"{CHAT}.gguf"
        self._secret = folder / "secret"
        self._secret.write_text(PASSPHRASE + "\n")
        self._lines = folder / "lines.jsonl"
        self._threads = str(real_cores())
        self._environment = {
            **os.environ,
            "ATLAS_HOME": str(home),
            "ATLAS_MODELS_THREADS": self._threads,
            "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring",
        }
        self.missed: list[str] = []
        self._run("vault", "create")
        told = self._run("clients", "add", "bench", "--scopes", "chat,recall", "--rate", "6000")
        self._token: str = told["token"]

    def _command(self, *words: str) -> list[str]:
        atlas = Path(sys.executable).with_name("atlas")
        return [str(atlas), *words, "--passphrase-file", str(self._secret)]

    def _run(self, *words: str) -> Any:
        command = self._command(*words, "--json")
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def _tell(self, name: str, value: float, bar: float, *, least: bool = False) -> None:
        holds = value >= bar if least else value <= bar
        limit = f"at {'least' if least else 'most'} {bar:g}"
        print(f"{name:<52} {value:9.2f}   ({limit}) {'' if holds else 'MISSED'}", flush=True)
        self.missed.extend([] if holds else [name])

    def compare(self, bare: str | None, rounds: int) -> None:
        """Measures the endpoint, beside the server of llama-cpp-python if `bare` is its Python."""
        with ExitStack() as both:
            port, other = free_port(), free_port()
            words = self._command("serve", "--port", str(port))
            start(both, words, port, env=self._environment, stderr=subprocess.DEVNULL)
            servers = {"atlas": Server(port, CHAT, self._token)}
            if bare:
                # Atlas runs its models with this priority.
                words = ["nice", "-n", "5", bare, "-m", "llama_cpp.server", "--model", str(self._chat_model)]
                words += ["--port", str(other), "--n_ctx", "8192"]
                words += ["--n_threads", self._threads, "--n_threads_batch", self._threads]
                start(both, words, other, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                servers["bare"] = Server(other, CHAT, "none")
            for server in servers.values():
                server.ask(history(1, "Warm up."), 8)
            found = measured(servers, rounds)
        own = found["atlas"]
        if bare:
            with_bare = {kind: ratio(own[kind], found["bare"][kind]) for kind in ("first", "speed")}
            self._tell("first token, times that of llama-cpp-python", with_bare["first"], FIRST_TOKEN)
            self._tell(
                "tokens a second, share of llama-cpp-python's", with_bare["speed"], THROUGHPUT, least=True
            )
        repeated = ratio(own["cold"], own["repeated"])
        self._tell("repeated history, times faster than reading it", repeated, REPEATED, least=True)

    def recall(self, messages: int) -> None:
        """Measures recall over MCP in a room with that many messages."""
        self._lines.write_text(sample(messages))
        self._run("import", str(self._lines), "--format", "jsonl")
        asked = self._command("mcp", "--client", "bench")
        environment = {**self._environment, "ATLAS_CLIENT_TOKEN": self._token}
        times = asyncio.run(recall_times(asked, environment, 200))
        p95 = statistics.quantiles(times, n=20)[-1]
        print(f"recall over MCP: p50 {statistics.median(times):.1f} ms", flush=True)
        self._tell(f"ms for recall over MCP, {messages} messages, p95", p95, RECALL_MS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bare", help="the Python of an environment with llama-cpp-python[server]")
    parser.add_argument("--rounds", type=int, default=5, help="of requests to the servers; 0: none")
    parser.add_argument(
        "--messages", type=int, default=100_000, help="in the room that is recalled from; 0: no recall"
    )
    args = parser.parse_args()
    models = Path(os.environ.get("ATLAS_TEST_MODELS", Paths(find_home()).models))
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), models)
        if args.rounds:
            bench.compare(args.bare, args.rounds)
        if args.messages:
            bench.recall(args.messages)
    return 1 if bench.missed else 0


if __name__ == "__main__":
    sys.exit(main())
