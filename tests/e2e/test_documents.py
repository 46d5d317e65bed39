"""Documents with the installed program and the real models: found, cited, watched, interrupted, removed."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from reportlab.pdfgen import canvas

from tests.e2e.conftest import Program

pytestmark = pytest.mark.real_model

FACT = "The kestrel station recorded 417 fledglings in the spring of 2019."


def report(path: Path, pages: int = 5) -> Path:
    """A PDF with the fact on page 3."""
    page = canvas.Canvas(str(path))
    for number in range(1, pages + 1):
        page.drawString(72, 780, f"Page {number} of the survey of the valley")
        for line in range(12):
            text = f"Paragraph {line} on page {number} tells of weather, roads and hedges."
            page.drawString(72, 740 - 30 * line, text)
        if number == 3:
            page.drawString(72, 120, FACT)
        page.showPage()
    page.save()
    return path


def test_a_question_is_answered_with_the_page_and_the_words(program: Program, tmp_path: Path) -> None:
    file = report(tmp_path / "survey.pdf")
    key = "The spare key of the boathouse hangs behind the third oar."
    filler = "\n\n".join(f"Step {number}: do as usual." for number in range(100))
    (tmp_path / "guide.md").write_text(f"# Guide\n\n{filler}\n\n## Spare key\n\n{key}\n", encoding="utf-8")
    added = program.json("docs", "add", str(file), str(tmp_path / "guide.md"))
    assert (added["added"], added["skipped"]) == (2, [])
    assert program.run("jobs", "run").returncode == 0

    (hit,) = program.json("docs", "search", "how many kestrel fledglings", "-k", "1")["hits"]
    source = hit["source"]
    assert (source["page"], source["lines"], source["title"]) == (3, None, "survey.pdf")
    whole = program.run("docs", "text", source["document"]).stdout
    begin, end = source["chars"]
    assert whole[begin:end] == hit["text"]
    assert FACT in program.run("docs", "text", source["document"], "--page", "3").stdout
    (hit,) = program.json("docs", "search", "where can I find the key of the boat house", "-k", "1")["hits"]
    assert key in hit["text"]
    assert hit["source"]["heading"] == ["Guide", "Spare key"]
    assert hit["source"]["page"] is None

    reply = program.json(
        "docs",
        "ask",
        source["document"],
        "How many fledglings did the kestrel station record?",
        "--seed",
        "1",
    )
    cited = [one for one in reply["citations"] if one["verified"]]
    assert any("417" in one["quote"] and one["page"] == 3 for one in cited)
    assert all(whole[slice(*one["chars"])] == one["quote"] for one in cited)
    known = program.json("docs", "show", source["document"])
    assert known["sessions"] == [reply["session"]]
    assert (known["state"], known["pages"]) == ("indexed", 5)
    assert known["summary"]["text"]

    moved = tmp_path / "elsewhere" / "renamed.pdf"
    moved.parent.mkdir()
    file.rename(moved)
    assert program.json("docs", "add", str(moved))["documents"] == [source["document"]]
    assert program.json("docs", "show", str(moved))["sessions"] == [reply["session"]]
    gone = program.json("docs", "remove", source["document"], "--yes")
    assert gone["verified"] is True
    assert gone["forgotten"]["citations"] == len(reply["citations"])
    assert program.run("docs", "show", source["document"], "--json").returncode == 1


def test_queries_are_answered_line_by_line_and_bad_ones_named(program: Program, tmp_path: Path) -> None:
    file = report(tmp_path / "survey.pdf")
    program.json("docs", "add", str(file))
    lines = ["kestrel", json.dumps({"query": "kestrel", "k": 2, "docs": [str(file)], "by": "page"})]
    done = program.run("docs", "search", "--stdin", "--jsonl", input="\n".join(lines) + "\n")
    first, second = map(json.loads, done.stdout.splitlines())
    assert first["hits"][0]["source"]["page"] == 3
    pages = [hit["source"]["page"] for hit in second["hits"]]
    assert (pages[0], len(pages)) == (3, len(set(pages)))
    bad = program.run("docs", "search", "--stdin", "--jsonl", input='{"query": 5}\n')
    assert bad.returncode == 2
    assert "Line 1" in bad.stdout


def test_an_interrupted_addition_goes_on_where_it_was(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(600):
        text = f"# File {number}\n\nThe token is Quillon{number}x. " + "More words follow here. " * 60
        (folder / f"f{number}.md").write_text(text, encoding="utf-8")
    adding = subprocess.Popen(
        program.command("docs", "watch", str(folder)), env=program.environment, stdout=subprocess.DEVNULL
    )
    room = program.paths.rooms / "open.db-wal"
    deadline = time.monotonic() + 60
    while (not room.exists() or room.stat().st_size < 500_000) and adding.poll() is None:
        assert time.monotonic() < deadline
        os.sched_yield()
    adding.send_signal(signal.SIGKILL)
    adding.wait()
    report_ = program.json("docs", "watch", str(folder))
    assert report_["added"] + report_["unchanged"] == 600
    assert len(program.json("docs", "list", "--state", "indexed")) == 600
    assert program.run("vault", "verify").returncode == 0


@pytest.mark.parametrize(
    ("args", "status", "code"),
    [
        (("docs", "show", "nothing"), 1, "document_not_found"),
        (("docs", "watch", "/no/such/folder"), 2, "document_not_a_folder"),
        (("docs", "unwatch", "/no/such/folder"), 1, "folder_not_found"),
        (("docs", "ask", "nothing", "what?"), 1, "document_not_found"),
        (("docs", "search", "x", "-k", "0"), 2, "usage"),
        (("docs", "ask", "only a question"), 2, "usage"),
    ],
)
def test_bad_input_gets_a_clear_error(vault: Program, args: tuple[str, ...], status: int, code: str) -> None:
    done = vault.run(*args, "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (status, code)
