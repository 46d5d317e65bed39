"""While the private room is closed, no command says a word of what is in it, and no file holds one."""

import argparse
import asyncio
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from atlas_desktop.__main__ import build_parser
from atlas_desktop.cli.context import Context
from atlas_desktop.paths import Paths
from memory.entities import RoomKind
from memory.vault.keys import KdfParams
from memory.vault.vault import Vault, Vaults
from tests.security.scanner import scan, text_needles

PASSPHRASE = "crimson kettle oblong fiddle"
CHEAP = KdfParams(memory_kib=64 * 1024, iterations=1)
WORD = "Brimstonequill"
TITLE = "The Brimstonequill plan"
PROJECT = "Brimstonequill works"
ID = "0197a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
Run = Callable[..., tuple[int, str]]

# Everything that shows something without being told to open the private room.
SILENT = (
    ("sessions", "list"),
    ("sessions", "list", "--binned"),
    ("sessions", "search", WORD),
    ("sessions", "show", ID),
    ("sessions", "context", ID),
    ("sessions", "fork", ID),
    ("sessions", "keep", ID),
    ("memory", "list"),
    ("memory", "recall", "the secret plan", "--kinds", "message,memory,summary"),
    ("memory", "search", WORD),
    ("memory", "stats"),
    ("jobs", "run"),
    ("export", "--all"),
    ("export", ID),
    ("vault", "status"),
    ("vault", "verify"),
    ("doctor",),
)


@pytest.fixture
def run(home: Paths, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command of a home with a vault; returns its status and all that it printed."""
    secret = tmp_path / "passphrase"
    secret.write_text(PASSPHRASE)
    rooms = [Vault(home.rooms, room, CHEAP) for room in (RoomKind.OPEN, RoomKind.PRIVATE)]
    Vaults(rooms[0], rooms[1], CHEAP).create(PASSPHRASE)

    def one(*words: str, at: Path = home.home) -> tuple[int, str]:
        args = build_parser().parse_args([*words, "--json", "--yes", "--passphrase-file", str(secret)])
        args.home = str(at)
        status = asyncio.run(_run(args))
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return one


async def _run(args: argparse.Namespace) -> int:
    ctx = Context.from_args(args)
    try:
        status: int = await args.handler(ctx, args)
    except Exception as error:
        status = ctx.fail(error)
    finally:
        await ctx.close()
    return status


@pytest.fixture
def secret_session(run: Run, tmp_path: Path) -> None:
    """A session in the private room that was in the open one, with another that stays there."""
    said = {"role": "user", "speaker": "user", "created_at": "2026-01-02T03:04:05Z"}
    lines = [
        {
            "id": ID,
            "title": TITLE,
            "project": PROJECT,
            "created_at": said["created_at"],
            "tags": [WORD],
            "messages": [{**said, "id": "m1", "content": f"the secret plan is called {WORD}"}],
        },
        {
            "id": "plain",
            "title": "plain",
            "created_at": said["created_at"],
            "tags": [],
            "messages": [{**said, "id": "p1", "content": "the plan of the garden"}],
        },
    ]
    file = tmp_path / "talk.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    assert run("import", str(file))[0] == 0
    assert run("jobs", "run")[0] == 0
    status, printed = run("sessions", "private", ID)
    assert (status, json.loads(printed)["room"]) == (0, "private")
    file.unlink()


@pytest.mark.usefixtures("secret_session")
def test_closed_nothing_says_anything_and_open_it_is_there_and_clearly_marked(run: Run, home: Paths) -> None:
    told = {words: run(*words)[1] for words in SILENT}
    leaks = [words for words, printed in told.items() if WORD in printed.replace(WORD * (WORD in words), "")]
    assert leaks == []
    assert "plain" in told["sessions", "list"]
    # What is there and closed is told of exactly as what has never been.
    nowhere = ID.replace("0197", "0198")
    for command in ("show", "fork"):
        assert told["sessions", command, ID] == run("sessions", command, nowhere)[1].replace(nowhere, ID)
    needles = [*text_needles("word", WORD), *text_needles("title", TITLE)]
    seen = scan([home.home], needles)
    assert (seen.hits, seen.files > 5) == ((), True)

    listed = json.loads(run("sessions", "list", "--private")[1])
    assert {one["title"]: one["room"] for one in listed} == {TITLE: "private", "plain": "open"}
    assert json.loads(run("sessions", "show", ID, "--private")[1])["room"] == "private"
    assert WORD in run("memory", "recall", "secret plan", "--private")[1]
    assert WORD in run("export", "--all", "--include-private")[1]
    assert json.loads(run("sessions", "open", ID)[1])["room"] == "open"
    assert WORD in run("sessions", "search", WORD)[1]
    assert json.loads(run("sessions", "list", "--private", "--containing", WORD)[1])[0]["project"] == PROJECT


# What tells of sizes and counts, too.
MEASURING = (
    ("insights",),
    ("vault", "backup"),
    ("insights",),
    ("memory", "fading"),
    ("memory", "inbox"),
    ("jobs", "list"),
    ("project", "list"),
    ("sessions", "retention"),
    ("sessions", "tags"),
)
_TIMES = re.compile(r"\d{4}-\d\d-\d\d[T-][\d:.]+(\+\d\d:\d\d)?|\"took_ms\": [\d.]+|\b[\d.]+ GB are free")


def test_closed_it_is_told_of_as_in_a_vault_whose_private_room_was_never_used(
    run: Run, home: Paths, tmp_path: Path
) -> None:
    """Sizes and counts, too."""
    assert run("jobs", "run")[0] == 0
    never = tmp_path / "never"
    shutil.copytree(home.home, never)
    talk = tmp_path / "talk.md"
    talk.write_text(
        f"## User\n\nthe secret plan is called {WORD}\n\n" + "## Assistant\n\nnoted. " + "More. " * 20_000
    )
    assert run("import", str(talk), "--room", "private", "--private")[0] == 0
    assert (home.rooms / "private.db").stat().st_size > (
        never / "rooms" / "private.db"
    ).stat().st_size + 100_000
    assert (home.rooms / "private-states.db").exists()

    for words in (*SILENT, *MEASURING):
        printed = [
            _TIMES.sub("…", run(*words, at=place)[1].replace(str(place), "HOME"))
            for place in (home.home, never)
        ]
        assert printed[0] == printed[1], words
    ends = [
        json.loads(run("vault", "destroy", "--with-backups", at=place)[1]) for place in (home.home, never)
    ]
    assert ends[0] == ends[1]
