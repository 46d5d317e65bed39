"""The installed program reads, searches, moves and forgets documents, and no file holds a trace of them."""

import json
import secrets
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import PASSPHRASE, Program
from tests.security.pages import log_pages, pages
from tests.security.rows import key_of
from tests.security.scanner import Needle, needles_of, scan

pytestmark = pytest.mark.real_model


def canary(name: str) -> str:
    return f"{name} {secrets.token_hex(4)} Vassdal {secrets.token_hex(4)}"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tmp"
    folder.mkdir()
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, str(folder))
    return folder


def look(program: Program, temporary: Path, needles: list[Needle], since: float, outside: Path) -> None:
    """No file of the home, its logs included, and of the temporary folders holds any of it."""
    inside = scan([program.paths.home, temporary], needles)
    assert inside.files > 3
    assert list(map(str, inside.hits)) == []
    around = scan([Path(tempfile.gettempdir()), Path("/dev/shm")], needles, since=since, but=[outside])
    assert list(map(str, around.hits)) == []


def killed_in_mid_reply(program: Program, *args: str) -> list[dict[str, Any]]:
    with subprocess.Popen(
        program.command(*args), env=program.environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        heard = [json.loads(process.stdout.readline())]
        process.kill()
        process.wait(timeout=60)
    return heard


def test_no_file_holds_a_word_of_a_document(program: Program, tmp_path: Path, temporary: Path) -> None:
    begun = time.time()
    texts = {name: canary(name) for name in ("text", "title", "name", "folder", "query", "question")}
    papers = tmp_path / texts["folder"]
    papers.mkdir()
    paper = papers / f"{texts['name']}.md"
    paper.write_text(f"# {texts['title']}\n\nThe boat of {texts['text']} has a red hull and two masts.\n")
    needles = needles_of(texts)

    def check() -> None:
        # Tests that run beside this one write to folders next to its own.
        look(program, temporary, needles, begun, tmp_path.parents[1])

    (document,) = program.json("docs", "add", str(paper), "--copy")["documents"]
    program.json("docs", "watch", str(papers))
    assert program.json("jobs", "run") is not None
    (hit,) = program.json("docs", "search", texts["text"])["hits"]
    assert texts["text"] in hit["text"]
    assert "hits" in program.json("docs", "search", texts["query"])
    program.json("docs", "summary", document)
    reply = program.json("docs", "ask", document, f"{texts['question']}: which hull?", "--max-tokens", "12")
    assert reply
    check()
    assert killed_in_mid_reply(program, "docs", "ask", document, texts["question"], "--jsonl")
    check()

    # Nothing that the open room tells names a private document, whose file is still there.
    assert program.json("docs", "private", document)[0]["room"] == "private"
    for command in (("list",), ("status",), ("rescan",), ("search", texts["text"])):
        told = program.json("docs", *command)
        assert document not in json.dumps(told)
        assert texts["title"] not in json.dumps(told)
    for looking in ("show", "text", "summary"):
        unknown, random = (program.run("docs", looking, ref) for ref in (document, f"{document[:-4]}0000"))
        assert unknown.returncode == random.returncode != 0
        assert unknown.stderr == random.stderr.replace(f"{document[:-4]}0000", document)
    assert [one["id"] for one in program.json("docs", "list", "--private")] == [document]
    check()
    assert program.json("docs", "open", document)[0]["room"] == "open"

    gone = program.json("memory", "forget", "--about", texts["text"], "--yes")
    assert gone["verified"] is True
    assert gone["forgotten"]["documents"] == 1
    check()
    rooms = program.paths.rooms
    key = key_of(program.paths, PASSPHRASE)
    every = [*pages(rooms / "open.db", key), *log_pages(rooms / "open.db", key)]
    assert [name for name in ("text", "title") for page in every if texts[name].encode() in page] == []
