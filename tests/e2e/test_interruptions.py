"""The installed program is stopped, killed, or left by its reader in mid-reply."""

import json
import signal
import subprocess

import psutil
import pytest

from tests.e2e.conftest import Program
from tests.e2e.test_cli import error_of

pytestmark = pytest.mark.real_model


def start_long_reply(program: Program, longest: int = 2000) -> "subprocess.Popen[str]":
    """A reply of so many tokens under way; returns once its first words have come."""
    process = subprocess.Popen(
        program.command(
            "chat", "--jsonl", "--max-tokens", f"{longest}", "--temperature", "0.9", "--seed", "3"
        ),
        env=program.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("Tell me a very long story about the sea and everyone who lives by it.\n")
    process.stdin.flush()
    for line in process.stdout:
        if json.loads(line)["type"] == "delta":
            return process
    raise AssertionError("no words came")


def test_ctrl_c_in_mid_reply_keeps_what_came(program: Program) -> None:
    process = start_long_reply(program)
    process.send_signal(signal.SIGINT)
    assert process.stdin is not None
    out, _ = process.communicate("exit\n", timeout=60)
    assert process.returncode == 0
    reply = next(e for e in map(json.loads, out.splitlines()) if e["type"] == "reply")
    assert reply["stop_reason"] == "cancelled"
    stored = program.json("sessions", "show", "last")["messages"][1]
    assert stored["status"] == "partial"
    assert stored["content"] == reply["text"] != ""


def test_kill_9_in_mid_reply_loses_no_word_that_was_said(program: Program) -> None:
    process = start_long_reply(program)
    process.kill()
    process.communicate(timeout=60)
    person, reply = program.json("sessions", "show", "last")["messages"]
    assert person["content"].startswith("Tell me a very long story")
    assert reply["status"] in ("partial", "failed")
    assert program.json("vault", "verify")["sound"] is True


def test_a_second_instance_is_told_who_holds_the_home(program: Program) -> None:
    process = start_long_reply(program)
    try:
        done = program.run("sessions", "list", "--json")
        assert done.returncode == 1
        error = error_of(done)
        assert error["code"] == "already_running"
        assert str(process.pid) in error["message"]
        # What needs no room works all the same.
        assert program.run("models", "list", "--json").returncode == 0
        assert program.run("doctor", "--json").returncode == 0
    finally:
        process.kill()
        process.communicate(timeout=60)


def test_a_killed_model_process_is_said_and_the_talk_goes_on(program: Program) -> None:
    process = start_long_reply(program, 250)
    workers = psutil.Process(process.pid).children()
    for worker in workers:
        worker.kill()
    out, _ = process.communicate("Are you there?\nexit\n", timeout=120)
    events = [json.loads(line) for line in out.splitlines()]
    assert [e["error"]["code"] for e in events if e["type"] == "error"] == ["model_crashed"]
    assert [e["stop_reason"] in ("stop", "length") for e in events if e["type"] == "reply"] == [True]
    assert len(workers) == 1


def test_a_reader_that_goes_away_costs_no_word(program: Program) -> None:
    command = " ".join(
        f"'{part}'" for part in program.command("ask", "Tell me a long story.", "--max-tokens", "200")
    )
    done = subprocess.run(
        ["sh", "-c", f"{command} | head -c 20"],
        env=program.environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert "Traceback" not in done.stderr
    reply = program.json("sessions", "show", "last")["messages"][1]
    assert reply["status"] == "partial"
    assert reply["content"].startswith(done.stdout[:15])


def test_a_list_whose_reader_goes_away_ends_in_silence(empty_program: Program) -> None:
    command = " ".join(f"'{part}'" for part in empty_program.command("config", "list", "--json"))
    done = subprocess.run(
        ["sh", "-c", f"{command} | true"], env=empty_program.environment, capture_output=True, check=False
    )
    assert (done.stdout, done.stderr) == (b"", b"")
