"""The installed program, driven from outside as a script would."""

import base64
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from models.confinement import can_filter
from tests.e2e.conftest import Program
from tests.unit.models.gguf_files import write_gguf

pytestmark = pytest.mark.real_model

CANARY = "Zephyrine-7731"


def error_of(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    assert "Traceback" not in done.stderr
    error: dict[str, str] = json.loads(done.stdout)["error"]
    assert set(error) == {"code", "title", "message", "next_step"}
    assert all(error.values())
    return error


def traces(folder: Path, text: str) -> list[Path]:
    """Files below `folder` that hold the text in a readable form."""
    raw = text.encode()
    forms = [raw, text.encode("utf-16-le"), raw.hex().encode(), base64.b64encode(raw)[:-4]]
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.is_symlink() and any(form in path.read_bytes() for form in forms)
    ]


def test_a_conversation_is_kept_encrypted_and_remembered(program: Program) -> None:
    first = program.json(
        "ask", f"The code word is {CANARY}. Say hello.", "--max-tokens", "24", "--temperature", "0"
    )
    assert first["type"] == "reply"
    assert first["text"]
    second = program.json(
        "ask", "What is the code word?", "--session", "last", "--max-tokens", "24", "--temperature", "0"
    )
    assert second["session"] == first["session"]
    assert CANARY in second["text"]
    assert {"stop_reason", "model", "memory_mode", "timings", "context", "recalled"} <= set(second)
    assert second["model"] == "smollm2-135m-instruct"
    timings = second["timings"]
    assert timings["prompt_tokens"] == sum(tier["tokens"] for tier in second["context"])
    shown = program.json("sessions", "show", first["session"][:-3])
    assert [m["role"] for m in shown["messages"]] == ["user", "assistant"] * 2
    assert [m["status"] for m in shown["messages"]] == ["complete"] * 4 or shown["messages"][1]["status"]
    assert shown["messages"][2]["parent"] == shown["messages"][1]["id"]
    assert not traces(program.paths.home, CANARY)


def test_greedy_answers_are_the_same_every_time(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    # The minute may change between the two.
    monkeypatch.setenv("ATLAS_CONTEXT_DATE_AND_TIME", "false")
    options = ("--temperature", "0", "--max-tokens", "16", "--memory", "off")
    answers = {program.json("ask", "Name a colour.", *options)["text"] for _ in range(2)}
    assert len(answers) == 1


def test_typed_control_tokens_cost_as_much_as_text(program: Program) -> None:
    options = ("--max-tokens", "1", "--memory", "off")
    marks = program.json("ask", "<|im_end|>" * 8, *options)["timings"]["prompt_tokens"]
    letters = program.json("ask", "a a a a a a a a", *options)["timings"]["prompt_tokens"]
    assert marks - letters >= 20


def test_off_the_record_leaves_no_trace(program: Program) -> None:
    said = program.json("ask", f"I am {CANARY}.", "--memory", "off", "--max-tokens", "8")
    assert said["memory_mode"] == "off"
    assert program.json("sessions", "list") == []
    assert not traces(program.paths.home, CANARY)


def test_a_wrong_passphrase_changes_nothing(program: Program) -> None:
    before = {p: p.read_bytes() for p in program.paths.rooms.iterdir()}
    program.passphrase_file.write_text("wrong wrong wrong\n")
    done = program.run("sessions", "list", "--json")
    assert done.returncode == 3
    assert error_of(done)["code"] == "wrong_passphrase"
    assert {p: p.read_bytes() for p in program.paths.rooms.iterdir()} == before


def test_without_a_vault_or_a_model_the_next_step_is_told(empty_program: Program) -> None:
    done = empty_program.run("ask", "hello", "--json")
    assert (done.returncode, error_of(done)["code"]) == (3, "no_vault")
    empty_program.json("vault", "create")
    done = empty_program.run("ask", f"keep {CANARY}", "--json")
    assert (done.returncode, error_of(done)["code"]) == (5, "no_model")
    # What was said is kept all the same.
    kept = empty_program.json("sessions", "show", "last")["messages"]
    assert [(m["content"], m["status"]) for m in kept] == [(f"keep {CANARY}", "complete"), ("", "failed")]


@pytest.mark.parametrize("args", [("ask",), ("nonsense",)])
def test_wrong_usage_is_status_two_with_words(empty_program: Program, args: tuple[str, ...]) -> None:
    done = empty_program.run(*args, "--json")
    assert done.returncode == 2
    assert error_of(done)


def test_global_options_stand_before_or_after_the_command(program: Program) -> None:
    secret = ["--passphrase-file", str(program.passphrase_file), "--home", str(program.paths.home), "--json"]
    base = [str(program.executable)]
    environment = {**program.environment, "ATLAS_HOME": "/nonexistent"}
    for command in ([*base, *secret, "sessions", "list"], [*base, "sessions", "list", *secret]):
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=True
        )
        assert json.loads(done.stdout) == []


def test_a_passphrase_comes_through_a_descriptor(program: Program) -> None:
    reading, writing = os.pipe()
    os.write(writing, program.passphrase_file.read_bytes())
    os.close(writing)
    command = [str(program.executable), "sessions", "list", "--json", "--passphrase-fd", str(reading)]
    done = subprocess.run(
        command,
        env=program.environment,
        capture_output=True,
        text=True,
        timeout=60,
        pass_fds=[reading],
        check=True,
    )
    os.close(reading)
    assert json.loads(done.stdout) == []


def test_sessions_are_listed_found_renamed_binned_and_restored(program: Program) -> None:
    said = program.json("ask", "A ferry to the Lofoten islands", "--max-tokens", "4", "--project", "Norway")
    ref = said["session"]
    [listed] = program.json("sessions", "list")
    assert (listed["id"], listed["title"]) == (ref, "A ferry to the Lofoten islands")
    assert listed["project"] == "Norway"
    assert program.json("sessions", "rename", ref, "Ferries\x1b[31m\n!")["title"] == "Ferries[31m !"
    [hit] = program.json("sessions", "search", "lofot*")["hits"]
    assert hit["source"]["session"] == ref
    assert hit["kind"] == "message"
    done = program.run("sessions", "delete", ref, "--json")
    assert (done.returncode, error_of(done)["code"]) == (2, "usage")
    assert program.json("sessions", "delete", ref, "--yes")["deleted_at"]
    assert program.json("sessions", "list") == []
    assert program.json("sessions", "search", "Lofoten")["hits"] == []
    [binned] = program.json("sessions", "list", "--binned")
    assert program.json("sessions", "restore", binned["id"])["deleted_at"] is None
    assert (
        len(program.json("sessions", "list", "--query", "project:norway -is:archived after:today ferr*")) == 1
    )
    assert program.json("sessions", "searches", "add", "trips", "project:norway")["query"] == "project:norway"
    found = program.json("sessions", "search", "@trips", "role:user")
    assert (found["total"], found["hits"][0]["source"]["session"]) == (1, ref)
    done = program.run("sessions", "search", "is:stared", "--json")
    assert (done.returncode, error_of(done)["code"]) == (2, "bad_query")
    assert "starred" in error_of(done)["message"]
    done = program.run("sessions", "show", "zzz", "--json")
    assert (done.returncode, error_of(done)["code"]) == (1, "session_not_found")


def test_chat_as_lines_of_json(program: Program) -> None:
    lines = [
        json.dumps({"say": f"My name is {CANARY}."}),
        "What is my name?",
        json.dumps({"command": "/rename Names"}),
        "{broken",
        json.dumps({"nothing": 1}),
        "/unknown",
        "/regenerate",
        "/new",
        "Hello",
        "!save",
        "exit",
        "never read",
    ]
    options = ("--jsonl", "--max-tokens", "16", "--temperature", "0")
    done = program.run("chat", *options, input="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stderr
    events: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
    replies = [e for e in events if e["type"] == "reply"]
    assert len(replies) == 4
    assert CANARY in replies[1]["text"]
    # In one process a turn reads only its new tokens.
    assert replies[1]["timings"]["cached_tokens"] >= replies[0]["timings"]["prompt_tokens"]
    assert replies[1]["timings"]["evaluated_tokens"] < 30
    assert replies[0]["session"] == replies[1]["session"] == replies[2]["session"] != replies[3]["session"]
    assert [e["error"]["code"] for e in events if e["type"] == "error"] == ["usage"] * 3
    first = events[: events.index(replies[0])]
    assert "".join(e["text"] for e in first if e["type"] == "delta") == replies[0]["text"]
    assert {s["title"] for s in program.json("sessions", "list")} == {"Names", "Hello"}


def test_chat_in_plain_lines_ends_with_its_input(program: Program) -> None:
    done = program.run("chat", "--max-tokens", "4", input="Hello there\n/help\n")
    assert done.returncode == 0, done.stderr
    assert "/resume" in done.stdout
    assert len(program.json("sessions", "list")) == 1


def test_attached_files_are_read_as_text(program: Program, tmp_path: Path) -> None:
    note = tmp_path / "note.md"
    note.write_text("The boat is called Alba.\n")
    said = program.json("ask", "What is the boat called?", "--attach", str(note), "--max-tokens", "16")
    shown = program.json("sessions", "show", said["session"])
    assert shown["messages"][0]["content"] == "What is the boat called?"
    (attached,) = shown["attachments"]
    assert (attached["name"], attached["media_type"], attached["bytes"]) == ("note.md", "text/markdown", 25)
    (tier,) = [tier for tier in said["context"] if tier["tier"] == "document"]
    assert (tier["ids"], tier["tokens"] > 5) == ([attached["id"]], True)
    (document,) = program.json("sessions", "documents")
    assert document == program.json("sessions", "documents", "note.md")[0]
    assert [(one["id"], one["attachment"]) for one in document["sessions"]] == [(shown["id"], attached["id"])]
    assert program.json("sessions", "documents", "other.md") == []
    assert said["documents"][0]["reading"] == "whole"
    note.write_bytes(b"\xff\xfe\x00")
    assert program.run("ask", "x", "--attach", str(note), "--json").returncode == 2


def test_system_instructions_belong_to_the_session(program: Program, tmp_path: Path) -> None:
    system = tmp_path / "system.txt"
    system.write_text("You answer in one word.")
    options = ("--system", str(system), "--max-tokens", "4")
    tiers = {t["tier"]: t["tokens"] for t in program.json("ask", "Hello", *options)["context"]}
    plain = {t["tier"]: t["tokens"] for t in program.json("ask", "Hello", "--max-tokens", "4")["context"]}
    assert 0 < tiers["system"] < plain["system"]


def test_config_is_listed_changed_and_checked(empty_program: Program) -> None:
    assert empty_program.json("config", "set", "chat.max_tokens", "77") == {
        "key": "chat.max_tokens",
        "value": 77,
    }
    values = {row["key"]: row["value"] for row in empty_program.json("config", "list")}
    assert values["chat.max_tokens"] == 77
    assert empty_program.json("config", "path")["path"] == str(empty_program.paths.config)
    empty_program.paths.config.write_text("[chat]\nmax_tokens = 'x'\n")
    assert empty_program.run("config", "get", "chat.seed", "--json").returncode == 2


def test_keys_that_cannot_be_had_are_told_and_mended(empty_program: Program) -> None:
    empty_program.paths.config.write_text('[keys]\n"session.new" = "ctrl+o"\n')
    done = empty_program.run("doctor", "--json")
    assert done.returncode == 1
    found = {one["check"]: one for one in json.loads(done.stdout)["findings"]}
    assert found["settings"]["verdict"] == "bad"
    assert "keys.session.new" in found["settings"]["message"]
    assert "atlas config set keys.session.new" in found["settings"]["next_step"]
    assert empty_program.json("config", "get", "keys.session.new")["value"] == "ctrl+o"
    assert empty_program.json("config", "list")
    assert empty_program.run("config", "set", "keys.session.new", "ctrl+q").returncode == 2
    assert empty_program.json("config", "set", "keys.session.new")["value"] is None
    assert "ctrl" not in empty_program.paths.config.read_text()


def test_doctor_is_honest_about_an_empty_home_and_a_whole_one(
    empty_program: Program, program: Program
) -> None:
    report = program.json("doctor")
    assert report["healthy"] is True
    by_check = {f["check"]: f["verdict"] for f in report["findings"]}
    assert by_check["vault"] == by_check["chat model"] == by_check["privacy"] == "good"
    (program.paths.rooms / "open.db").rename(program.paths.rooms / "elsewhere.db")
    done = program.run("doctor", "--json")
    assert done.returncode == 1
    assert {f["check"] for f in json.loads(done.stdout)["findings"] if f["verdict"] == "bad"} == {"vault"}


@pytest.mark.skipif(not can_filter(), reason="makes the kernel look older by a filter")
@pytest.mark.parametrize(
    ("lacking", "said"),
    [
        ("landlock", "This kernel has no Landlock."),
        ("seccomp", "This kernel has no system call filters"),
        ("landlock+seccomp", "neither Landlock nor system call filters"),
    ],
)
def test_doctor_tells_what_the_system_cannot_deny(empty_program: Program, lacking: str, said: str) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.security.older_kernel", lacking),
            *empty_program.command("doctor", "--json"),
        ],
        env=empty_program.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    found = {one["check"]: one for one in json.loads(done.stdout)["findings"]}["model process"]
    assert found["verdict"] == "warning"
    assert said in found["message"]
    assert "Landlock and seccomp" in found["next_step"]


@pytest.mark.parametrize("room", ["open", "private"])
def test_doctor_sees_without_a_key_that_a_file_cannot_be_the_room(program: Program, room: str) -> None:
    vault = next(f for f in program.json("doctor")["findings"] if f["check"] == "vault")
    assert "not checked" in vault["message"]
    path = program.paths.rooms / f"{room}.db"
    path.write_bytes(bytes(4096) + path.read_bytes()[4096:])
    done = program.run("doctor", "--json")
    (bad,) = (f for f in json.loads(done.stdout)["findings"] if f["verdict"] == "bad")
    assert done.returncode == 1
    assert (bad["check"], path.name in bad["message"], "salvage" in bad["next_step"]) == ("vault", True, True)


def test_doctor_tells_of_a_model_whose_file_is_damaged(empty_program: Program) -> None:
    def told() -> dict[str, dict[str, str]]:
        return {f["check"]: f for f in json.loads(empty_program.run("doctor", "--json").stdout)["findings"]}

    path = write_gguf(empty_program.paths.models / "all-minilm-l6-v2.gguf", architecture="bert")
    assert told()["embed model"]["verdict"] == "good"
    path.write_bytes(path.read_bytes()[:-40])
    found = told()["embed model"]
    assert (found["verdict"], path.name in found["message"]) == ("bad", True)
    assert "`atlas models pull all-minilm-l6-v2`" in found["next_step"]


def test_what_is_found_by_words_alone_because_a_model_is_damaged_says_so(empty_program: Program) -> None:
    path = write_gguf(empty_program.paths.models / "all-minilm-l6-v2.gguf", architecture="bert")
    empty_program.json("vault", "create")
    empty_program.json("models", "list")
    path.write_bytes(path.read_bytes()[:-40])
    for asked in (("memory", "recall", "the sea"), ("sessions", "search", "~the sea")):
        said = empty_program.run(*asked).stderr
        assert "`atlas models pull all-minilm-l6-v2`" in said, asked
        assert empty_program.run(*asked, "--json").stderr == ""


def test_a_file_for_people_not_for_the_world(program: Program) -> None:
    program.json("ask", "Hello", "--max-tokens", "2")
    loose = [
        path
        for path in program.paths.home.rglob("*")
        # The model folder was filled by the test itself.
        if path.parent != program.paths.models and path.stat().st_mode & 0o077
    ]
    assert loose == []
    assert list(program.paths.temporary.iterdir()) == []


def test_what_a_session_began_with_cannot_be_given_later(program: Program) -> None:
    program.json("ask", "Hello", "--max-tokens", "2")
    done = program.run("ask", "x", "--session", "last", "--project", "P", "--json")
    assert (done.returncode, error_of(done)["code"]) == (2, "usage")
    said = program.json("ask", "Hello", "--session", "last", "--memory", "blank", "--max-tokens", "2")
    assert said["memory_mode"] == "blank"
    program.json("sessions", "delete", said["session"], "--yes")
    done = program.run("ask", "x", "--session", said["session"], "--json")
    assert (done.returncode, error_of(done)["code"]) == (1, "session_binned")


def test_no_control_sequence_reaches_the_terminal_from_names_and_projects(
    program: Program, tmp_path: Path
) -> None:
    evil = "e\x1b]0;pwned\x07\x9b31m\u202e"
    bad = tmp_path / f"{evil}.gguf"
    bad.write_bytes(b"no model")
    program.json("ask", "Hello", "--max-tokens", "2", "--project", evil)
    runs = [
        program.run("models", "import", str(bad)),
        program.run("models", "import", str(bad), "--json"),
        program.run("ask", "x", "--attach", str(tmp_path / f"{evil}.txt")),
        program.run("sessions", "list"),
        program.run("sessions", "list", "--json"),
        program.run("sessions", "show", "last", "--json"),
    ]
    shown = "".join(run.stdout + run.stderr for run in runs)
    assert not any(c in shown for c in "\x1b\x07\x9b\u202e")
    assert json.loads(runs[4].stdout)[0]["project"]


def test_a_home_that_cannot_be_found_is_said_in_words(program: Program) -> None:
    done = program.run("sessions", "list", "--json", "--home", "~nobody-of-that-name/x")
    assert (done.returncode, error_of(done)["code"]) == (2, "no_such_home")
