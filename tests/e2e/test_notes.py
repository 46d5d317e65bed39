"""Notes with the installed program and the real models: written, linked, recalled, imported, forgotten."""

import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tests.e2e.test_document_traces import canary
from tests.security.scanner import needles_of, scan

pytestmark = pytest.mark.real_model


def test_a_note_answers_a_question_and_is_cited(program: Program) -> None:
    text = "The spare key of the boathouse hangs behind the third oar. See [[Harbour]]."
    note = program.json("notes", "new", "Boathouse", "--text", text)
    assert (note["title"], note["text"], note["version"]) == ("Boathouse", text, 1)
    harbour = program.json("notes", "new", "Harbour", "--text", "Berth 12. #place")
    (link,) = program.json("notes", "show", "Boathouse")["links"]
    assert (link["to"], link["kind"], text[slice(*link["at"])]) == (harbour["id"], "note", "[[Harbour]]")
    (back,) = program.json("notes", "backlinks", harbour["id"])
    assert (back["from"], back["kind"]) == (note["id"], "note")
    assert program.run("jobs", "run").returncode == 0

    reply = program.json("ask", "Where does the spare key of the boathouse hang?", "--seed", "1")
    cited = [one for one in reply["citations"] if one["verified"]]
    assert cited
    for one in cited:
        whole = program.json("notes", "show", one["note"])["text"]
        assert whole[slice(*one["chars"])] == one["quote"]
    assert any("third oar" in one["quote"] for one in cited)
    assert "citations" not in program.json("ask", "What is the capital of France?", "--max-tokens", "5")

    renamed = program.json("notes", "rename", harbour["id"], "Port")
    assert renamed["id"] == harbour["id"]
    assert "[[Port]]" in program.json("notes", "show", note["id"])["text"]
    assert program.json("notes", "edit", note["id"], "--undo")["text"] == text
    assert [one["title"] for one in program.json("notes", "list", "--tag", "place")] == ["Port"]


def test_an_interrupted_import_goes_on_where_it_was(program: Program, tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(1500):
        text = f"Token Quillon{number}x, see [[n{number + 1}]].\n\n" + "More words follow here. " * 20
        (vault / f"n{number}.md").write_text(text, encoding="utf-8")
    importing = subprocess.Popen(
        program.command("notes", "import", str(vault)), env=program.environment, stdout=subprocess.DEVNULL
    )
    room = program.paths.rooms / "open.db-wal"
    deadline = time.monotonic() + 60
    while (not room.exists() or room.stat().st_size < 500_000) and importing.poll() is None:
        assert time.monotonic() < deadline
        os.sched_yield()
    importing.send_signal(signal.SIGKILL)
    importing.wait()
    report = program.json("notes", "import", str(vault))
    assert (report["notes"], report["added"] + report["unchanged"]) == (1500, 1500)
    assert (report["links"], report["unresolved"], report["skipped"]) == (1500, 1, [])
    out = tmp_path / "out"
    assert program.json("notes", "export", str(out))["written"] == 1500
    assert all((out / one.name).read_bytes() == one.read_bytes() for one in vault.iterdir())
    assert program.run("vault", "verify").returncode == 0


def test_no_file_holds_a_word_of_a_note_and_a_private_one_is_unknown(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.setenv(name, str(temporary))
    begun = time.time()
    texts = {name: canary(name) for name in ("text", "earlier", "title", "alias", "link", "question")}
    needles = needles_of(texts)

    def check() -> None:
        inside = scan([program.paths.home, temporary], needles)
        assert inside.files > 3
        assert list(map(str, inside.hits)) == []
        # Tests that run beside this one write to folders next to its own.
        around = scan([Path(tempfile.gettempdir())], needles, since=begun, but=[tmp_path.parents[1]])
        assert list(map(str, around.hits)) == []

    top = f"---\naliases: [{texts['alias']}]\n---\n"
    note = program.json("notes", "new", texts["title"], "--text", f"{top}{texts['earlier']}")
    program.json("notes", "edit", note["id"], "--text", f"{top}{texts['text']} [[{texts['link']}]]")
    program.json("jobs", "run")
    assert program.json("notes", "search", texts["text"])["hits"]
    assert program.json("ask", f"{texts['question']}: what of {texts['text']}?", "--max-tokens", "8")
    check()

    assert program.json("notes", "private", note["id"])[0]["room"] == "private"
    for command in (("list",), ("list", "--bin"), ("search", texts["text"]), ("export", str(tmp_path / "o"))):
        told = json.dumps(program.json("notes", *command)).replace(texts["text"], "", 1)
        assert note["id"] not in told
        assert texts["title"] not in told
        assert texts["text"] not in told
    assert not list((tmp_path / "o").glob("*.md"))
    unknown = program.run("notes", "show", note["id"])
    assert unknown.returncode != 0
    assert [one["id"] for one in program.json("notes", "list", "--private")] == [note["id"]]
    check()
    gone = program.json("notes", "delete", note["id"], "--forever", "--yes", "--private")
    assert gone["verified"] is True
    assert gone["forgotten"]["notes"] == 1
    assert program.json("notes", "list", "--private") == []


@pytest.mark.parametrize(
    ("args", "status", "code"),
    [
        (("notes", "show", "nothing"), 1, "note_not_found"),
        (("notes", "new", "  "), 2, "title_missing"),
        (("notes", "edit", "nothing"), 2, "usage"),
        (("notes", "edit", "nothing", "--text", "a"), 1, "note_not_found"),
        (("notes", "import", "/no/such/folder"), 2, "document_not_a_folder"),
        (("notes", "search", "x", "-k", "0"), 2, "usage"),
        (("notes", "delete", "nothing", "--yes"), 1, "note_not_found"),
    ],
)
def test_bad_input_gets_a_clear_error(vault: Program, args: tuple[str, ...], status: int, code: str) -> None:
    done = vault.run(*args, "--json")
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (status, code)
