"""Conversations that outgrow the working memory: the real small model, the installed program."""

import json
from typing import Any

import pytest

from tests.e2e.conftest import Program

pytestmark = pytest.mark.real_model

TOPICS = ("gardens", "trains", "bread", "winter", "chess", "rivers", "music", "bridges", "tea", "maps")
BRIEF = ("--max-tokens", "8", "--temperature", "0")
SLACK = 8
"""Tokens that a turn may evaluate beyond what is new: the template's own, and the last one sampled before."""


def configure(program: Program, text: str) -> None:
    program.paths.config.write_text(text)
    program.paths.config.chmod(0o600)


def remark(number: int) -> str:
    topic = TOPICS[number % len(TOPICS)]
    return (
        f"My cousin Dana likes {topic} and bought {11 + 37 * number} things at the harbour fair. "
        f"I walk by the sea and look at the boats there, and at pier {number} we talked about {topic} and "
        "the weather until the last ferry had left for the islands. "
    )


def chat(program: Program, lines: list[str], *options: str) -> list[dict[str, Any]]:
    done = program.run("chat", "--jsonl", *BRIEF, *options, input="\n".join(lines) + "\n")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def of_type(events: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in events if event["type"] == kind]


def tokens(reply: dict[str, Any], *tiers: str) -> int:
    return sum(part["tokens"] for part in reply["context"] if not tiers or part["tier"] in tiers)


def check_cost(reply: dict[str, Any], *, first: bool = False) -> None:
    """What a reply says of its prompt adds up; only what is new was evaluated."""
    timings = reply["timings"]
    assert timings["prompt_tokens"] == tokens(reply) == timings["cached_tokens"] + timings["evaluated_tokens"]
    if not first:
        assert timings["evaluated_tokens"] <= tokens(reply, "user", "recall") + SLACK


def test_a_conversation_outgrows_its_working_memory(program: Program) -> None:
    configure(program, '[context]\nmax_tokens = 512\nrecall_tokens = 30\n[sessions]\nnew_session = "off"\n')
    lines = [remark(number) for number in range(14)]
    lines[2] = "Remember that I am allergic to shellfish, please."
    lines.insert(3, "/important last")
    events = chat(program, [*lines, "/context"])
    replies = of_type(events, "reply")
    assert len(replies) == 14
    for number, reply in enumerate(replies):
        check_cost(reply, first=number == 0)
    notices = of_type(events, "notice")
    assert [one["code"] for one in notices[:2]] == ["remembered", "important"]
    compactions = [notice for notice in notices if notice["code"] == "compacted"]
    assert len(compactions) >= 2
    assert all("→" in notice["text"] for notice in compactions)
    sizes = [reply["timings"]["prompt_tokens"] for reply in replies]
    shrinks = [number for number in range(1, 14) if sizes[number] < sizes[number - 1]]
    assert len(shrinks) >= 2
    # The turn after a swap was held to the same cost as any other.
    assert shrinks[-1] > shrinks[0] > 3

    session = replies[0]["session"]
    shown = program.json("sessions", "show", session)
    assert len(shown["messages"]) == 28
    ids = [message["id"] for message in shown["messages"]]
    assert len(shown["summaries"]) >= 2
    for summary in shown["summaries"]:
        start = ids.index(summary["covers"][0])
        assert summary["covers"] == ids[start : start + len(summary["covers"])]
        assert summary["text"]
    told = of_type(events, "context")[0]
    tiers = {part["tier"]: part["ids"] for part in told["context"]}
    standing = {summary["id"] for summary in shown["summaries"] if summary["state"] == "current"}
    assert set(tiers["summary"]) <= standing
    # What was marked is word for word in sight after it was summarised.
    assert ids[4] in tiers["pinned"]
    assert ids[4] not in tiers["recent"]

    # What `/context` tells is what the next prompt begins with.
    assert told["tokens"] == tokens({"context": told["context"]})
    assert "allergic to shellfish" in told["prompt"][0]["content"]
    view = program.json("sessions", "context", session, "--prompt")
    assert view["prompt"] == told["prompt"]
    assert [message["role"] for message in view["prompt"][:2]] == ["system", "user"]

    # A text of the person's own stands in the next prompt, and nowhere does the old one.
    chosen = tiers["summary"][0]
    edited = program.json("sessions", "summary", chosen[:-2], "--set", "Dana collects lighthouses.")
    assert (edited["edited"], edited["text"]) == (True, "Dana collects lighthouses.")
    prompt = program.json("sessions", "context", session)["prompt"]
    assert "Dana collects lighthouses." in prompt[0]["content"]
    later = program.json("ask", "What does Dana collect?", "--session", session, *BRIEF)
    assert chosen in {held for part in later["context"] for held in part["ids"] if part["tier"] == "summary"}
    check_cost(later, first=True)

    history = program.json("sessions", "history", session)
    assert [m["id"] for m in history["archived"] + history["active"]] == [
        m["id"] for m in program.json("sessions", "show", session)["messages"]
    ]
    assert history["archived_total"] == len(history["archived"]) > 0
    assert {summary["id"] for summary in history["summaries"]} >= set(tiers["summary"])

    before = program.json("sessions", "context", session)
    made = program.json("sessions", "summarise", session)
    assert made["compacted"]
    assert made["after"] < made["before"]
    after = program.json("sessions", "context", session)
    assert after["tokens"] == made["after"] < before["tokens"]
    assert len(program.json("sessions", "show", session)["messages"]) == 30


def test_a_session_that_is_resumed_reads_only_what_is_new_until_its_state_goes(program: Program) -> None:
    secret = "Zephyrine-7731"
    story = f"The code word is {secret}. " + "I like walking by the sea when the gulls are loud. " * 30
    states = program.paths.rooms / "open-states.db"
    off = program.json("ask", story, "--memory", "off", *BRIEF)
    assert off["timings"]["prompt_tokens"] > 300
    assert not states.exists()

    first = program.json("ask", story, *BRIEF)
    session = first["session"]
    check_cost(first, first=True)
    assert states.stat().st_mode & 0o777 == 0o600
    raw = states.read_bytes()
    assert secret.encode() not in raw
    assert b"gulls" not in raw
    assert not raw.startswith(b"SQLite format 3")

    second = program.json("ask", "Go on.", "--session", session, *BRIEF)
    check_cost(second)
    assert second["timings"]["cached_tokens"] >= first["timings"]["prompt_tokens"]

    # Damaged or cut short, it is made anew.
    size = states.stat().st_size
    with states.open("r+b") as file:
        file.seek(size // 2)
        file.write(b"\xff" * 4096)
        file.truncate(size - 5000)
    third = program.json("ask", "Go on.", "--session", session, *BRIEF)
    assert third["timings"]["cached_tokens"] < 300
    check_cost(third, first=True)
    states.write_bytes(b"")
    fourth = program.json("ask", "Go on.", "--session", session, *BRIEF)
    check_cost(fourth, first=True)
    fifth = program.json("ask", "Go on.", "--session", session, *BRIEF)
    check_cost(fifth)

    # Another size of context is another state, and no error.
    configure(program, "[models]\ncontext_length = 1536\n")
    sixth = program.json("ask", "Go on.", "--session", session, *BRIEF)
    assert sixth["text"]
    check_cost(sixth, first=True)

    # In the bin it is kept, erased for good it is not.
    program.json("sessions", "delete", session, "--yes")
    program.json("sessions", "restore", session)
    receipt = program.json("sessions", "delete", session, "--forever", "--yes")
    assert receipt["verified"] is True
    assert receipt["forgotten"]["messages"] == 12
    assert receipt["forgotten"]["fulltext"] == 12
    assert receipt["forgotten"]["snapshots"] >= 1
    assert set(receipt) == {"forgotten", "rewritten", "cleared", "copies", "verified"}
    assert set(receipt["forgotten"]) == {
        "messages",
        "summaries",
        "memories",
        "vectors",
        "fulltext",
        "snapshots",
        "jobs",
        "documents",
        "chunks",
        "notes",
    }
    for look in (("memory", "recall", "code word"), ("sessions", "search", secret), ("sessions", "list")):
        assert secret not in program.run(*look, "--json").stdout
    gone = program.run("sessions", "show", session, "--json")
    assert json.loads(gone.stdout)["error"]["code"] == "session_not_found"

    # Not wanted, there is none, and what was there goes.
    program.json("ask", story, *BRIEF)
    large = states.stat().st_size
    configure(program, "[context]\nsnapshots = false\n")
    program.json("ask", "Go on.", "--session", "last", *BRIEF)
    assert not states.exists() or states.stat().st_size < large // 4
