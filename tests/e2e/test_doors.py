"""The installed program as a server: the openai package, MCP's client, and attackers."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.e2e.conftest import Program
from tests.e2e.terminal import Terminal

pytestmark = [pytest.mark.real_model, pytest.mark.skipif(sys.platform == "win32", reason="Unix sockets")]
SAID = "My sister Zephyra-6612 lives in Graz. Remember that."
SECRET = "My secret garden is called Brimstone-5517."


def free_port() -> int:
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def serving(program: Program, *args: str) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Runs `atlas serve` and gives its address."""
    command = program.command("serve", *args)
    started = subprocess.Popen(command, env=program.environment, stderr=subprocess.PIPE, text=True)
    try:
        assert started.stderr is not None
        yield json.loads(started.stderr.readline())["listening"], started
    finally:
        started.kill()
        started.wait()


def add(program: Program, name: str, scopes: str, *more: str) -> str:
    return str(program.json("clients", "add", name, "--scopes", scopes, *more)["token"])


def post(port: int, path: str, value: object, **headers: str) -> tuple[int, dict[str, Any]]:
    """Sends JSON and returns the status and the body."""
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    given = {"Host": f"127.0.0.1:{port}", "Content-Length": str(len(body)), "Connection": "close"}
    given |= {name.replace("_", "-"): text for name, text in headers.items()}
    head = "".join(f"{name}: {text}\r\n" for name, text in given.items())
    with socket.create_connection(("127.0.0.1", port), 60) as to:
        to.sendall(f"POST {path} HTTP/1.1\r\n{head}\r\n".encode() + body)
        answer = b""
        while part := to.recv(65536):
            answer += part
    top, _, rest = answer.partition(b"\r\n\r\n")
    return int(top.split()[1]), json.loads(rest)


def test_the_openai_package_talks_to_the_model_with_its_memory(program: Program) -> None:
    program.json("ask", SAID, "--max-tokens", "5")
    token, port = add(program, "editor", "chat,recall"), free_port()
    with serving(program, "--port", str(port)) as (url, process):
        assert url == f"http://127.0.0.1:{port}/v1"
        client = openai.OpenAI(base_url=url, api_key=token, max_retries=0)
        models = [one.id for one in client.models.list()]
        assert models[0] == "atlas"
        question: Any = {"role": "user", "content": "Where does my sister Zephyra-6612 live?"}
        reply: Any = client.chat.completions.create(model="atlas", messages=[question], max_tokens=30)
        text = reply.choices[0].message.content
        assert SAID in [hit["text"] for hit in reply.atlas["recalled"]]
        again: Any = [
            question,
            {"role": "assistant", "content": text},
            {"role": "user", "content": "Thank you."},
        ]
        second: Any = client.chat.completions.create(model="atlas", messages=again, max_tokens=5)
        cached = second.usage.prompt_tokens_details.cached_tokens
        assert cached >= reply.usage.prompt_tokens
        pieces = [
            event.choices[0].delta.content
            for event in client.chat.completions.create(
                model=models[1],
                messages=[{"role": "user", "content": "Say hello."}],
                max_tokens=20,
                stream=True,
            )
            if event.choices
        ]
        assert len([one for one in pieces if one]) > 2
        vectors = client.embeddings.create(model="atlas", input=["one", "two"]).data
        assert [len(one.embedding) for one in vectors] == [384, 384]
        response = client.responses.create(model="atlas", input="Say hello.", max_output_tokens=8)
        assert response.output_text
        kinds = [
            event.type
            for event in client.responses.create(
                model="atlas", input="Say hello.", max_output_tokens=8, stream=True
            )
        ]
        assert kinds[0] == "response.created"
        assert kinds[-1] in ("response.completed", "response.incomplete")
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert process.stderr is not None
        printed = process.stderr.read()
        assert "Zephyra" not in printed
        assert token not in printed
    log = program.json("clients", "log", "editor")
    assert {"models", "chat", "embeddings"} <= {one["kind"] for one in log}
    assert "Zephyra" not in json.dumps(log)


def test_a_schema_and_a_required_tool_leave_the_model_no_choice(program: Program) -> None:
    token, port = add(program, "editor", "chat"), free_port()
    with serving(program, "--port", str(port)):
        bearer = {"Authorization": f"Bearer {token}"}
        schema = {
            "type": "object",
            "properties": {"fruit": {"enum": ["apple", "plum"]}},
            "required": ["fruit"],
            "additionalProperties": False,
        }
        ask = {"model": "atlas", "max_tokens": 60, "messages": [{"role": "user", "content": "Name a fruit."}]}
        form = {"type": "json_schema", "json_schema": {"name": "fruit", "schema": schema}}
        status, told = post(port, "/v1/chat/completions", {**ask, "response_format": form}, **bearer)
        assert status == 200
        assert json.loads(told["choices"][0]["message"]["content"])["fruit"] in ("apple", "plum")
        tool = {"type": "function", "function": {"name": "pick", "parameters": schema}}
        wanted = {**ask, "tools": [tool], "tool_choice": "required"}
        status, told = post(port, "/v1/chat/completions", wanted, **bearer)
        assert (status, told["choices"][0]["finish_reason"]) == (200, "tool_calls")
        called = told["choices"][0]["message"]["tool_calls"][0]["function"]
        assert called["name"] == "pick"
        assert json.loads(called["arguments"])["fruit"] in ("apple", "plum")


def test_what_a_client_says_in_a_session_is_not_learned(program: Program) -> None:
    token, port = add(program, "editor", "chat,recall"), free_port()
    other = add(program, "other", "chat,recall")
    with serving(program, "--port", str(port)):
        ask = {"model": "atlas", "max_tokens": 5, "messages": [{"role": "user", "content": SAID}]}
        kept = {**ask, "metadata": {"session": "new"}}
        status, told = post(port, "/v1/chat/completions", kept, Authorization=f"Bearer {token}")
        assert (status, told["atlas"]["memory_mode"]) == (200, "reads")
        session = told["atlas"]["session"]
        theirs = {**ask, "metadata": {"session": session}}
        assert post(port, "/v1/chat/completions", theirs, Authorization=f"Bearer {token}")[0] == 200
        assert post(port, "/v1/chat/completions", theirs, Authorization=f"Bearer {other}")[0] == 404
    program.run("jobs", "run")
    assert program.json("memory", "list", "--state", "all") == []
    assert program.json("sessions", "show", session)["memory_mode"] == "reads"


def test_attacks_are_refused_in_words_and_the_server_goes_on(program: Program) -> None:
    asked = program.json("ask", SECRET, "--max-tokens", "5")
    program.json("sessions", "private", asked["session"])
    token, weak = add(program, "editor", "chat,recall", "--rate", "6000"), add(program, "weak", "recall")
    port = free_port()
    chat = {"model": "atlas", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 2}
    path = "/v1/chat/completions"
    good = {"Authorization": f"Bearer {token}"}
    with serving(program, "--port", str(port)) as (_url, process):

        def status(value: object = chat, at: str = path, **headers: str) -> tuple[int, str]:
            code, told = post(port, at, value, **headers)
            return code, told["error"]["code"]

        assert status() == (401, "door_no_token")
        assert status(Authorization="Bearer wrong") == (401, "door_wrong_token")
        assert status(Authorization=f"Bearer {weak}") == (403, "door_scope")
        assert status(**good, Host="evil.example") == (421, "door_host")
        assert status(**good, Origin="https://evil.example") == (403, "door_origin")
        assert status(b"[" * 1_000_000, **good) == (400, "door_bad_request")
        assert status({**chat, "metadata": {"room": "private"}}, **good) == (403, "door_private")
        assert status({**chat, "metadata": {"session": asked["session"]}}, **good) == (
            404,
            "door_not_its_own",
        )
        assert status(at="/v1/files", **good) == (404, "door_not_found")
        found = post(port, "/atlas/recall", {"query": "secret garden Brimstone"}, **good)
        assert found[0] == 200
        assert "Brimstone" not in json.dumps(found[1])

        # A body of 100 MB is announced, and refused before it is read.
        assert status(b"{}", **good, Content_Length=str(100_000_000)) == (413, "door_too_large")

        # Connections that send a byte now and then are closed, and hold nobody up meanwhile.
        slow = [socket.create_connection(("127.0.0.1", port), 30) for _ in range(50)]
        for one in slow:
            one.sendall(b"POST ")
        assert post(port, path, chat, **good)[0] == 200
        began = time.monotonic()
        assert slow[0].recv(1) == b""
        assert time.monotonic() - began < 20
        for one in slow:
            one.close()

        # Many at a time: each is answered, or told to wait.
        with ThreadPoolExecutor(64) as many:
            answers = list(many.map(lambda _: post(port, path, chat, **good)[0], range(200)))
        assert set(answers) <= {200, 429, 503}
        assert 200 in answers
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


def test_a_revoked_client_is_refused_at_once_and_an_open_address_is_refused(program: Program) -> None:
    program.json("clients", "add", "editor", "--scopes", "chat")
    refused = program.run("serve", "--host", "0.0.0.0", "--json")
    assert json.loads(refused.stdout)["error"]["code"] == "door_address"
    assert program.json("clients", "revoke", "editor", "--yes") == {"revoked": "editor"}
    assert program.json("clients", "list") == []
    busy = socket.socket()
    with closing(busy):
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        taken = program.run("serve", "--port", str(busy.getsockname()[1]), "--json")
    assert json.loads(taken.stdout)["error"]["code"] == "door_port"


def test_a_token_is_revoked_while_atlas_serves(program: Program) -> None:
    token, port = add(program, "editor", "chat,recall"), free_port()
    good = {"Authorization": f"Bearer {token}"}
    with serving(program, "--port", str(port)):
        assert post(port, "/atlas/recall", {"query": "garden"}, **good)[0] == 200

        async def revoked_meanwhile(session: ClientSession) -> Any:
            assert not (await session.call_tool("recall", {"query": "garden"})).is_error
            unasked = await asyncio.to_thread(program.run, "clients", "revoke", "editor", "--json")
            assert json.loads(unasked.stdout)["error"]["next_step"] == "Use --yes to agree in advance."
            told = await asyncio.to_thread(program.json, "clients", "revoke", "editor", "--yes")
            assert told == {"revoked": "editor"}
            return await session.call_tool("recall", {"query": "garden"})

        assert asyncio.run(with_mcp(program, token, revoked_meanwhile)).is_error
        refused, told = post(port, "/atlas/recall", {"query": "garden"}, **good)
        assert (refused, told["error"]["code"]) == (401, "door_wrong_token")
        assert program.json("clients", "list") == []


def test_a_unix_socket_is_the_users_own(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "door"
    with serving(program, "--socket", str(path)) as (url, process):
        assert url == f"unix:{path}"
        assert path.stat().st_mode & 0o777 == 0o600
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert not path.exists()


async def with_mcp(program: Program, token: str, use: Callable[[ClientSession], Any]) -> Any:
    command = program.command("mcp", "--client", "editor")
    environment = {**program.environment, "ATLAS_CLIENT_TOKEN": token}
    server = StdioServerParameters(command=command[0], args=command[1:], env=environment)
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        return await use(session)


@pytest.mark.parametrize("handed_over", [False, True])
def test_an_mcp_client_recalls_and_proposes_within_its_scopes(program: Program, *, handed_over: bool) -> None:
    program.json("ask", SAID, "--max-tokens", "5")
    program.json("templates", "add", "letter", "Write to {whom}.")
    token = add(program, "editor", "chat,recall,remember")

    async def use(session: ClientSession) -> None:
        names = [one.name for one in (await session.list_tools()).tools]
        assert names == ["recall", "search_sessions", "read_session", "propose_memory"]
        found = await session.call_tool("recall", {"query": "where does my sister live"})
        hits = json.loads(found.content[0].text)["hits"]  # type: ignore[union-attr]
        assert "Zephyra-6612" in json.dumps(hits)
        assert all(one["id"] for one in hits)
        wrong = await session.call_tool("recall", {"query": 3})
        assert wrong.is_error
        forbidden = await session.call_tool("search_documents", {"query": "x"})
        assert forbidden.is_error
        assert "scope documents" in forbidden.content[0].text  # type: ignore[union-attr]
        proposed = await session.call_tool("propose_memory", {"text": "The user lives on the Moon-7."})
        assert not proposed.is_error
        resources = (await session.list_resources()).resources
        read = await session.read_resource(str(resources[0].uri))
        assert "Zephyra-6612" in read.contents[0].text  # type: ignore[union-attr]
        prompt = await session.get_prompt("letter", {"whom": "Ada"})
        assert prompt.messages[0].content.text == "Write to Ada."  # type: ignore[union-attr]

    if handed_over:
        with serving(program, "--port", str(free_port())):
            asyncio.run(with_mcp(program, token, use))
    else:
        asyncio.run(with_mcp(program, token, use))
    waiting = [one for one in program.json("memory", "inbox") if "Moon-7" in one["text"]]
    assert [one["state"] for one in waiting] == ["inbox"]
    recalled = program.json("memory", "recall", "who lives on the Moon-7", "--kinds", "memory")
    assert "Moon-7" not in json.dumps(recalled["hits"])


def test_a_wrong_token_gets_no_mcp(program: Program) -> None:
    add(program, "editor", "recall")
    environment = {**program.environment, "ATLAS_CLIENT_TOKEN": "wrong"}
    done = subprocess.run(
        program.command("mcp", "--client", "editor", "--json"),
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert json.loads(done.stdout)["error"]["code"] == "door_wrong_token"


def test_the_open_interface_answers_commands_and_other_programs(program: Program) -> None:
    """The interface holds the home; a lock closes its doors."""
    program.json("ask", SAID, "--max-tokens", "5")
    token, port = add(program, "editor", "chat,recall"), free_port()
    environment = {**program.environment, "ATLAS_DOORS_SERVE": "true", "ATLAS_DOORS_PORT": str(port)}
    commands = program.paths.home / "commands"
    with Terminal(program.command(), environment, columns=120, rows=32) as terminal:
        terminal.see("door open")
        assert commands.stat().st_mode & 0o777 == 0o600

        def outside() -> tuple[Any, Any, tuple[int, Any], str]:
            recalled = program.json("memory", "recall", "where does my sister live")
            asked = program.json("ask", "Say hello.", "--max-tokens", "3")
            chat = {"model": "atlas", "messages": [{"role": "user", "content": "hi"}], "max_tokens": 3}
            answered = post(port, "/v1/chat/completions", chat, Authorization=f"Bearer {token}")
            private = program.run("memory", "recall", "x", "--private", "--json").stdout
            return recalled, asked, answered, private

        with ThreadPoolExecutor(1) as beside:
            working = beside.submit(outside)
            # What the interface draws has to be read, or it would wait.
            while not working.done():
                terminal.drain(0.2)
            recalled, asked, answered, private = working.result()
        assert "Zephyra-6612" in json.dumps(recalled["hits"])
        assert asked["type"] == "reply"
        assert answered[0] == 200
        assert json.loads(private)["error"]["code"] == "already_running"
        terminal.write("\x0c")
        terminal.see("Passphrase|passphrase")
        assert not commands.exists()
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", port), 5)


DOCS = Path(__file__).parents[2] / "docs"


def examples(page: str, language: str) -> list[str]:
    """Returns the blocks of a page that are in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), re.DOTALL | re.MULTILINE)


def test_the_examples_of_the_docs_run(program: Program) -> None:
    program.json("ask", SAID, "--max-tokens", "5")
    token, port = add(program, "editor", "chat,recall,documents,remember"), free_port()
    environment = {
        **program.environment,
        "ATLAS_CLIENT_TOKEN": token,
        "PATH": f"{program.executable.parent}:{os.environ['PATH']}",
    }

    def run(*command: str) -> str:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with serving(program, "--port", str(port)):
        asked, form, recalled = (
            run(sys.executable, "-c", block.replace("8642", str(port)))
            for block in examples("serve.md", "python")
        )
        assert "Zephyra-6612" in asked
        assert json.loads(form)["fruit"] in ("apple", "plum")
        assert "Zephyra-6612" in recalled
        (curl,) = examples("serve.md", "sh")
        streamed = run("sh", "-c", curl.replace("8642", str(port)))
        assert streamed.rstrip().endswith("data: [DONE]")
        # The Atlas that serves answers for the one that the program starts.
        (client,) = examples("mcp.md", "python")
        assert "Zephyra-6612" in run(sys.executable, "-c", client)
    (settings,) = examples("mcp.md", "json")
    server = json.loads(settings)["mcpServers"]["atlas"]
    assert server["args"] == ["mcp", "--client", "editor"]
    assert list(server["env"]) == ["ATLAS_CLIENT_TOKEN"]
