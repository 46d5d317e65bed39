"""The whole way of a new person, in a real terminal with the real model."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from atlas_desktop.paths import Paths
from tests.e2e.conftest import Program
from tests.e2e.terminal import Terminal, atlas, ctrl

pytestmark = pytest.mark.real_model

PASSPHRASE = "a lamp by the harbour"
CANARY = "heliotrope"


def test_from_an_empty_home_to_a_conversation_and_back(home_with_models: Paths, tmp_path: Path) -> None:
    home = home_with_models.home
    with atlas(home) as terminal:
        terminal.see("Choose a passphrase")
        terminal.write(PASSPHRASE)
        terminal.see("strong|good|fair")
        terminal.press("tab")
        terminal.settle()
        terminal.write(PASSPHRASE)
        terminal.press("enter")
        terminal.see("Your recovery key")
        groups = dict(
            re.findall(r"([1-9]) ([A-Z2-7]{4})\b", terminal.see(r"(?s)1 [A-Z2-7]{4}.*9 [A-Z2-7]{4}")[0])
        )
        first, second = terminal.see(r"(?s)Group (\d).*?Group (\d)").groups()
        terminal.write(groups[first])
        terminal.see(groups[first])
        terminal.press("tab")
        terminal.settle()
        terminal.write(groups[second])
        terminal.see(groups[second])
        terminal.press("enter")
        terminal.see("What is on your mind")
        terminal.write(f"The code word is {CANARY}. Say hello.")
        terminal.press("enter")
        terminal.see(r"\d+ tok/s")
        terminal.press(ctrl("q"))
        assert terminal.wait_for_end() == 0
        # The screen is given back as it was, and the title of the window told nothing.
        assert "\x1b[?1049l" in terminal.raw
        assert CANARY not in "".join(re.findall(r"\x1b\][012];[^\x07\x1b]*", terminal.raw))

    secret = tmp_path / "passphrase"
    secret.write_text(PASSPHRASE)
    shown = Program(home_with_models, secret).json("sessions", "show", "last")
    assert shown["messages"][0]["content"] == f"The code word is {CANARY}. Say hello."
    assert shown["messages"][1]["status"] == "complete"
    hits = [
        p for p in home.rglob("*") if p.is_file() and not p.is_symlink() and CANARY.encode() in p.read_bytes()
    ]
    assert hits == []

    with atlas(home, "--continue") as terminal:
        terminal.see("Locked")
        assert CANARY not in terminal.text
        terminal.write("not the passphrase")
        terminal.press("enter")
        terminal.see("Wrong passphrase")
        terminal.write(PASSPHRASE)
        terminal.press("enter")
        terminal.see(f"code word is {CANARY}")
        terminal.press(ctrl("q"))
        assert terminal.wait_for_end() == 0


def test_escape_ends_a_reply_and_what_came_is_kept(program: Program) -> None:
    with atlas(program.paths.home, "--passphrase-file", str(program.passphrase_file)) as terminal:
        terminal.see("What is on your mind")
        terminal.write("Tell me a very long story about the sea.")
        terminal.press("enter")
        terminal.see("Writing")
        terminal.press("escape")
        terminal.see("stopped")
        terminal.press(ctrl("q"))
        assert terminal.wait_for_end() == 0
    person, reply = program.json("sessions", "show", "last")["messages"]
    assert person["status"] == "complete"
    assert reply["status"] == "partial"
    assert reply["stop_reason"] == "cancelled"
    assert reply["content"]


def test_off_the_record_needs_no_vault_and_leaves_nothing(home_with_models: Paths) -> None:
    with atlas(home_with_models.home, "--off-record") as terminal:
        terminal.see("What is on your mind")
        terminal.write("My name is Quoxilbrandt.")
        terminal.press("enter")
        terminal.see(r"\d+ tok/s")
        terminal.press(ctrl("q"))
        terminal.see("will be lost")
        terminal.press(ctrl("q"))
        assert terminal.wait_for_end() == 0
    files = [p for p in home_with_models.home.rglob("*") if p.is_file() and not p.is_symlink()]
    assert not any(b"Quoxilbrandt" in p.read_bytes() for p in files)
    assert list(home_with_models.rooms.iterdir()) == []


def test_the_demo_shows_a_year_and_ends_without_a_trace(home_with_models: Paths) -> None:
    with atlas(home_with_models.home, "demo", columns=140, rows=40) as terminal:
        terminal.see("you get a rash from epoxy")
        terminal.press("f2")
        terminal.see(r"History · 64 conversations")
        terminal.press("escape")
        terminal.settle()
        terminal.press("f7")
        terminal.see("13 documents · 1 watched folder")
        terminal.press("escape")
        terminal.settle()
        terminal.press("f8")
        terminal.see("25 notes")
        terminal.press("escape")
        terminal.settle()
        terminal.press(ctrl("g"))
        words = terminal.see(r"passphrase is:.*\n.*│\s+([a-z]+ [a-z]+ [a-z]+ [a-z]+)\s+│")[1]
        terminal.write(words)
        terminal.press("enter")
        terminal.see("private Money, hon")
        terminal.press(ctrl("q"))
        assert terminal.wait_for_end() == 0
    assert not (home_with_models.cache / "demo").exists()


def test_a_first_run_can_look_around_first_and_comes_back(home_with_models: Paths) -> None:
    with atlas(home_with_models.home, columns=140, rows=40) as terminal:
        terminal.see("Look around first")
        terminal.press("f10")
        terminal.see("you get a rash from epoxy")
        terminal.press(ctrl("q"))
        terminal.see("Choose a passphrase to begin")
        terminal.press(ctrl("q"))
        assert terminal.wait_for_end() == 0
    assert list(home_with_models.rooms.iterdir()) == []
    assert not (home_with_models.cache / "demo").exists()


def test_ctrl_c_at_a_prompt_ends_the_program_at_once_with_the_echo_on(program: Program, home: Paths) -> None:
    with atlas(program.paths.home, "chat", "--passphrase-file", str(program.passphrase_file)) as terminal:
        terminal.see("> ")
        terminal.press(ctrl("c"))
        terminal.see("Stopped")
        assert terminal.wait_for_end() == 130
    with atlas(program.paths.home, "sessions", "list") as terminal:
        terminal.see("Passphrase: ")
        terminal.press(ctrl("c"))
        terminal.see("Stopped")
        assert terminal.echo
        assert terminal.wait_for_end() == 130


def test_a_question_is_answered_with_no(program: Program) -> None:
    program.json("ask", "Hello", "--max-tokens", "2")
    secret = str(program.passphrase_file)
    with atlas(program.paths.home, "sessions", "delete", "last", "--passphrase-file", secret) as terminal:
        terminal.see(r"bin\? \[y/N\]")
        terminal.write("n\r")
        terminal.see("No changes made")
        assert terminal.wait_for_end() == 1
    assert len(program.json("sessions", "list")) == 1


def test_errors_sent_elsewhere_leave_the_interface_in_the_terminal(program: Program, tmp_path: Path) -> None:
    elsewhere = tmp_path / "errors.txt"
    command = ["/bin/sh", "-c", f"exec {program.executable} 2>{elsewhere}"]
    with Terminal(command, program.environment) as terminal:
        terminal.see("Locked")
        terminal.press(ctrl("q"))
        assert terminal.wait_for_end() == 0
    assert elsewhere.read_bytes() == b""


def test_without_a_terminal_the_interface_says_so_and_does_not_wait_for_ever(program: Program) -> None:
    for arguments in ([], ["demo"]):
        done = subprocess.run(
            [program.executable, *arguments, "--json"],
            env=program.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (2, "usage")
        assert b"terminal" in done.stdout
