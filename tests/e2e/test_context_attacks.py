"""What the context survives: kills, interruptions, messages too long, templates that rewrite."""

import json
import os
import shutil
import signal
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Program
from tests.e2e.test_context import BRIEF, SLACK, chat, check_cost, configure, of_type, remark, tokens

pytestmark = pytest.mark.real_model

STRIPPING = (
    "{% for m in messages %}{% if m['role'] != 'assistant' or loop.revindex < 4 %}"
    "{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>' + '\\n' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
"""Leaves out what the model said earlier, all but the newest answer."""


def start(program: Program, *args: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        program.command(*args),
        env=program.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(process: "subprocess.Popen[str]", beginning: str) -> None:
    """Returns when a line of stderr begins like that."""
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if line.startswith(beginning):
            return
    raise AssertionError(f"no line began with {beginning}: {seen}")


def summarised_once(program: Program, session: str) -> list[dict[str, Any]]:
    """The session's summaries, after a look whether each stretch was summarised once."""
    shown = program.json("sessions", "show", session)
    ids = [message["id"] for message in shown["messages"]]
    current = [s for s in shown["summaries"] if s["state"] == "current"]
    places = sorted((ids.index(s["covers"][0]), ids.index(s["covers"][-1])) for s in current)
    assert all(one[1] < other[0] for one, other in pairwise(places))
    covers = [tuple(s["covers"]) for s in shown["summaries"]]
    assert len(set(covers)) == len(covers)
    return current


@pytest.mark.skipif(os.name == "nt", reason="signals of a terminal")
def test_a_kill_or_ctrl_c_in_mid_compaction_loses_nothing(program: Program) -> None:
    settings = '[context]\nmax_tokens = 512\nrecall = false\n[sessions]\nnew_session = "off"\n'
    configure(program, f"{settings}[jobs]\nenabled = false\n[chat]\nautomatic_titles = false\n")
    # Nothing is done in the background: the session grows beyond its working memory.
    replies = of_type(chat(program, [remark(number) for number in range(8)]), "reply")
    session = replies[0]["session"]
    said = [m["content"] for m in program.json("sessions", "show", session)["messages"]]
    assert any(job["kind"] == "epoch" for job in program.json("jobs", "list")["jobs"])
    configure(program, f"{settings}[chat]\nautomatic_titles = false\n")

    for number, expected in ((signal.SIGKILL, -9), (signal.SIGINT, 130)):
        process = start(program, "jobs", "run")
        with process:
            wait_for(process, "epoch ")
            process.send_signal(number)
            assert process.stderr is not None
            assert "Traceback" not in process.stderr.read()
        assert process.returncode == expected
        assert [m["content"] for m in program.json("sessions", "show", session)["messages"]] == said
        summarised_once(program, session)
        assert program.json("vault", "verify")["sound"] is True

    program.json("jobs", "run")
    left = program.json("jobs", "list")["jobs"]
    assert not [job for job in left if job["kind"] == "epoch" or job["error"]]
    assert summarised_once(program, session)
    (reply,) = of_type(chat(program, ["Go on."], "--session", session), "reply")
    assert tokens(reply, "summary") > 0
    assert reply["timings"]["prompt_tokens"] == tokens(reply) < replies[-1]["timings"]["prompt_tokens"]


def test_a_kill_while_a_state_is_kept_costs_nothing_but_time(program: Program) -> None:
    story = "I like walking by the sea when the gulls are loud. " * 40
    session = "new"
    for _ in range(2):
        process = start(program, "ask", story, "--json", "--session", session, *BRIEF)
        with process:
            assert process.stdout is not None
            # The reply is printed, its state is being written.
            reply = json.loads(process.stdout.readline())
            process.kill()
        session = str(reply["session"])
    done = program.json("ask", "Go on.", "--session", session, *BRIEF)
    assert done["text"]
    assert program.json("vault", "verify")["sound"] is True
    check_cost(program.json("ask", "Go on.", "--session", session, *BRIEF))


def test_a_message_that_is_too_long_is_refused_and_can_be_said_in_parts(
    program: Program, tmp_path: Path
) -> None:
    configure(program, "[models]\ncontext_length = 1024\n[jobs]\nenabled = false\n")
    paragraphs = [f"Paragraph {n}. {remark(n)}" for n in range(40)]
    text = "\n\n".join(paragraphs)
    refused = program.run("ask", text, "--json", *BRIEF)
    assert refused.returncode == 1
    error = json.loads(refused.stdout)["error"]
    assert error["code"] == "message_too_long"
    assert "--split" in error["next_step"]
    (session,) = program.json("sessions", "list")
    saved = program.json("sessions", "show", session["id"])["messages"]
    assert (saved[0]["content"], saved[1]["status"]) == (text, "failed")

    events = chat(program, ["Hello.", "/split"], "--session", session["id"])
    assert of_type(events, "reply")[0]["text"]
    assert [e["error"]["code"] for e in of_type(events, "error")] == ["usage"]

    book = tmp_path / "book.txt"
    book.write_text(text)
    asked = ("ask", "What does Dana like?", "--attach", str(book), "--split")
    done = program.json(*asked, *BRIEF)
    assert set(done) >= {"type", "session", "message", "text", "timings", "context"}
    said = [m for m in program.json("sessions", "show", done["session"])["messages"] if m["role"] == "user"]
    assert len(said) > 2
    assert said[-1]["content"].endswith("What does Dana like?")
    whole = "\n".join(m["content"] for m in said)
    assert all(paragraph.strip() in whole for paragraph in paragraphs)
    assert done["timings"]["prompt_tokens"] <= 1024 - 8


def test_a_template_that_rewrites_what_was_said_is_told_of_and_its_beginning_reused(
    program: Program,
) -> None:
    original = next(file for file in program.paths.models.glob("*.gguf") if "smollm2" in file.name)
    changed = program.paths.models / "stripping.gguf"
    shutil.copyfile(original.resolve(), changed)
    with changed.open("r+b") as file:
        head = file.read(8_000_000)
        start_of = head.index(b"tokenizer.chat_template") + len(b"tokenizer.chat_template") + 4
        size = int.from_bytes(head[start_of : start_of + 8], "little")
        comment = size - len(STRIPPING.encode())
        assert comment >= 4
        file.seek(start_of + 8)
        file.write(STRIPPING.encode() + b"{#" + b" " * (comment - 4) + b"#}")
    story = "I like walking by the sea when the gulls are loud. " * 8
    lines = [story, "And now?", "And then?", "And after that?", "/context"]
    events = chat(program, lines, "--model", "stripping")
    assert [n["code"] for n in of_type(events, "notice")].count("not_append_only") == 1
    replies = of_type(events, "reply")
    assert len(replies) == 4
    beginning = tokens(replies[0], "system") + tokens(replies[0], "user", "recall")
    for reply in replies[2:]:
        timings = reply["timings"]
        assert timings["cached_tokens"] >= beginning - SLACK
        assert timings["evaluated_tokens"] < timings["prompt_tokens"] - beginning + 2 * SLACK
        assert timings["prompt_tokens"] <= tokens(reply)
    assert of_type(events, "context")[0]["append_only"] is False


def test_leaving_and_coming_back_reads_only_what_is_new(program: Program) -> None:
    story = "I like walking by the sea when the gulls are loud. " * 23 + "The end."
    other = "In the hills we count sheep and drink tea from a flask. " * 24
    first = of_type(chat(program, [story]), "reply")[0]["session"]
    lines = [
        other,
        f"/resume {first}",
        "And now?",
        "/regenerate",
        "/edit And then?",
        "/fork elsewhere",
        "Go on.",
        f"/resume {first}",
        "Still here?",
    ]
    events = chat(program, lines)
    replies = of_type(events, "reply")
    assert len(replies) == 6
    for reply in replies[1:]:
        check_cost(reply)
    forked, came_back = replies[4], replies[5]
    assert forked["session"] not in (first, replies[0]["session"])
    assert came_back["session"] == first
    users = [m["content"] for m in program.json("sessions", "show", first)["messages"] if m["role"] == "user"]
    assert users == [story, "And then?", "Still here?"]
    copied = program.json("sessions", "show", forked["session"])
    assert copied["title"] == "elsewhere"
    assert [m["content"] for m in copied["messages"] if m["role"] == "user"] == [
        story,
        "And then?",
        "Go on.",
    ]
    again = program.json("sessions", "fork", first, "--title", "third")
    assert (again["title"], again["message_count"]) == ("third", 6)


def test_a_session_that_rests_is_told_of_when_it_is_taken_up(program: Program) -> None:
    line = {
        "id": "old/1",
        "title": "Reine",
        "project": None,
        "created_at": "2026-01-02T10:00:00Z",
        "tags": [],
        "messages": [
            {
                "id": "old/1/1",
                "role": "user",
                "speaker": "user",
                "content": "We go to Reine in June, by bus.",
                "created_at": "2026-01-02T10:00:00Z",
            },
            {
                "id": "old/1/2",
                "role": "assistant",
                "speaker": "assistant",
                "content": "That is a good plan.",
                "created_at": "2026-01-02T10:00:10Z",
            },
        ],
    }
    source = program.paths.home.parent / "old.jsonl"
    source.write_text(json.dumps(line) + "\n")
    program.json("import", str(source), "--format", "jsonl")
    session = program.json("sessions", "list")[0]["id"]
    events = chat(program, ["/resume last", "Yes?"], "--session", session)
    told = [n for n in of_type(events, "notice") if n["code"] == "last_time"]
    assert len(told) == 2
    assert all("We go to Reine in June, by bus." in n["text"] for n in told)
    sent = chat(program, ["/context"], "--session", session)
    assert sent[0]["type"] == "context"
    assert "Last time" not in json.dumps(sent[0]["prompt"])
