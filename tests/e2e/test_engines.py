"""The installed program with a real server of another process in place of its own model."""

import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from atlas_desktop.paths import Paths
from tests.e2e.conftest import Program
from tests.e2e.test_doors import add, examples, free_port, serving

pytestmark = [pytest.mark.real_model, pytest.mark.skipif(sys.platform == "win32", reason="Unix sockets")]
SAID = "My sister Zephyra lives in Graz. Remember that my locker is 14B."
KEY = "sk-Brimstone-5517"
needs_server = pytest.mark.skipif(
    importlib.util.find_spec("fastapi") is None, reason="needs llama-cpp-python[server]"
)


@contextmanager
def llama_cpp_server(model: Path, *args: str) -> Iterator[str]:
    """Runs the server of llama-cpp-python and gives its address."""
    port = free_port()
    command = [sys.executable, "-m", "llama_cpp.server", "--model", str(model), "--port", str(port)]
    started = subprocess.Popen(
        [*command, "--model_alias", "small", "--n_ctx", "4096", "--n_threads", "2", *args],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(os.environ),
    )
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + 60
        while not answers(f"{url}/v1/models"):
            assert started.poll() is None
            assert time.monotonic() < until
        yield url
    finally:
        started.kill()
        started.wait()


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError as error:
        # With a key, the server answers, too.
        return getattr(error, "code", 0) == 401


def no_trace(program: Program, secret: str) -> bool:
    """Whether no file of the home but the encrypted rooms, which are unreadable anyway, contains a text."""
    return not any(
        secret.encode() in path.read_bytes()
        for path in program.paths.home.rglob("*")
        if path.is_file() and "models" not in path.parts
    )


@needs_server
def test_a_conversation_with_its_memory_through_llama_cpp_python(program: Program, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(KEY)
    models = program.paths.models
    with llama_cpp_server(models / "smollm2-135m-instruct.gguf", "--api_key", KEY) as url:
        refused = program.run("engines", "add", "box", "--url", url, "--json")
        assert refused.returncode == 1
        assert '"engine_key_refused"' in refused.stdout
        assert program.json("engines", "list") == []
        told = program.json("engines", "add", "box", "--url", url, "--key-file", str(key))
        assert told == {
            "name": "box",
            "url": f"{url}/v1",
            "local": True,
            "server": "llama-cpp-python",
            "models": ["small"],
            "supports": {
                "stream": True,
                "json_schema": True,
                "embeddings": False,
                "context": None,
                "exact_tokens": True,
            },
        }
        assert program.json("engines", "probe", "box") == told
        program.json("ask", SAID, "--model", "box:small", "--max-tokens", "5")
        assert any("14B" in one["text"] for one in program.json("memory", "list"))
        asked = "Where does my sister Zephyra live?"
        reply = program.json("ask", asked, "--model", "box:small", "--max-tokens", "30", "--temperature", "0")
        assert reply["model"] == "box:small"
        assert reply["stop_reason"] in ("stop", "length")
        assert reply["text"].strip()
        tiers = {tier["tier"]: tier for tier in reply["context"]}
        assert tiers["recall"]["ids"] or tiers["profile"]["ids"]
        # The server's own tokenizer and the template's measured size: every tier is counted exactly.
        assert sum(tier["tokens"] for tier in reply["context"]) == reply["timings"]["prompt_tokens"]
        assert program.json("models", "use", "box:small")["chosen_for"] == ["chat"]
        more = program.json("ask", "Thank you.", "--session", "last", "--max-tokens", "5")
        assert (more["model"], more["session"]) == ("box:small", reply["session"])
        assert program.json("jobs", "run")["failed"] == 0
        assert "My sister Zephyra lives in Graz." in [one["text"] for one in program.json("memory", "list")]
    gone = program.run("ask", "Are you there?", "--session", "last", "--json")
    assert gone.returncode == 1
    assert '"engine_unreachable"' in gone.stdout
    messages = program.json("sessions", "show", "last")["messages"]
    assert [m["content"] for m in messages if m["role"] == "user"][-1] == "Are you there?"
    assert no_trace(program, KEY)
    assert no_trace(program, "Zephyra")
    assert program.json("engines", "list")[0]["used_for"] == ["chat"]
    program.json("engines", "remove", "box", "--yes")
    own = program.json("ask", "Hello.", "--max-tokens", "5")
    assert own["model"] == "smollm2-135m-instruct"


@needs_server
def test_vectors_of_an_engine(program: Program) -> None:
    with llama_cpp_server(program.paths.models / "all-minilm-l6-v2.gguf", "--embedding", "true") as url:
        told = program.json("engines", "add", "vectors", "--url", url)
        assert told["supports"]["embeddings"] is True
        program.json("models", "use", "vectors:small", "--for", "embed")
        program.json("ask", "The cat sleeps in the wardrobe.", "--max-tokens", "5")
        program.json("jobs", "run")
        hits = program.json("memory", "recall", "Where does the pet rest?")
        assert any("wardrobe" in hit["text"] for hit in hits["hits"])


def test_another_atlas_is_an_engine(program: Program, tmp_path: Path) -> None:
    token, port = add(program, "desk", "chat"), free_port()
    key = tmp_path / "key"
    key.write_text(token)
    # It has no models of its own.
    other = Program(Paths(tmp_path / "other"), program.passphrase_file)
    other.paths.ensure()
    shutil.copytree(program.paths.rooms, other.paths.rooms, dirs_exist_ok=True)
    with serving(program, "--port", str(port)) as (url, _):
        told = other.json("engines", "add", "desk", "--url", url, "--key-file", str(key))
        assert told["models"][0] == "atlas"
        assert told["supports"]["stream"] is True
        assert told["supports"]["json_schema"] is True
        model = f"desk:{told['models'][1]}"
        reply = other.json("ask", "Say hello.", "--model", model, "--max-tokens", "8")
        assert reply["text"].strip()
        assert reply["model"] == model
    assert no_trace(other, token)


def test_the_examples_of_the_docs_run(program: Program, tmp_path: Path) -> None:
    token, port = add(program, "desk", "chat"), free_port()
    key = tmp_path / "key"
    key.write_text(token)
    other = Program(Paths(tmp_path / "other"), program.passphrase_file)
    other.paths.ensure()
    shutil.copytree(program.paths.rooms, other.paths.rooms, dirs_exist_ok=True)
    (commands,) = examples("engines.md", "sh")
    with serving(program, "--port", str(port)) as (url, _):
        told = []
        for line in commands.splitlines():
            words = shlex.split(line.replace("http://127.0.0.1:11434", url).replace("llama3.2:3b", "atlas"))
            assert words.pop(0) == "atlas"
            more = ["--key-file", str(key)] if words[:2] == ["engines", "add"] else []
            told.append(other.json(*words, *more))
    added, probed, reply, used, listed, removed = told
    assert added == probed
    assert reply["model"] == "ollama:atlas"
    assert used["id"] == "ollama:atlas"
    assert [one["used_for"] for one in listed] == [["chat"]]
    assert removed == {"removed": "ollama"}
    (table,) = examples("engines.md", "toml")
    other.paths.config.write_text(table)
    assert other.json("engines", "list")[0]["url"] == "http://127.0.0.1:11434/v1"
