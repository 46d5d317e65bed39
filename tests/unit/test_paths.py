"""A home that others can reach into, or that is not what it should be, is refused before it is used."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.__main__ import main
from atlas_desktop.paths import Danger, Paths, UnsafeHome
from atlas_desktop.process import InstanceLock
from memory.vault.keyslots import CopyState
from memory.vault.status import counter_path
from tests.unit.vault.conftest import PASSPHRASE
from tests.upkeep.conftest import Home, example, made, place

__all__ = ["example", "made", "place"]

pytestmark = pytest.mark.skipif(os.name == "nt", reason="other rights, and no such files")

Atlas = Callable[..., tuple[int, Any]]


@pytest.fixture
def atlas(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Atlas:
    """Runs a command in this process; returns its status and what it printed as JSON."""
    monkeypatch.setattr("atlas_desktop.process.harden", lambda: None)

    def run(home: Paths, *words: str) -> tuple[int, Any]:
        given = [*words, "--json", "--home", str(home.home)]
        monkeypatch.setattr(sys, "argv", ["atlas", *given])
        status = main(given)
        return status, json.loads(capsys.readouterr().out)

    return run


def refused(home: Paths) -> tuple[Path, Danger]:
    with pytest.raises(UnsafeHome) as caught:
        home.ensure()
    return caught.value.path, caught.value.danger


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777, 0o1777])
@pytest.mark.parametrize("part", ["home", "rooms", "logs", "cache"])
def test_where_others_can_write_nothing_is_used_until_the_command_that_is_named_has_run(
    home: Paths, atlas: Atlas, part: str, mode: int
) -> None:
    folder: Path = getattr(home, part)
    folder.chmod(mode)
    assert refused(home) == (folder, Danger.WRITABLE)
    for words in (("vault", "status"), ("sessions", "list"), ("config", "list")):
        status, printed = atlas(home, *words)
        assert (status, printed["error"]["code"]) == (1, "unsafe_home")
    status, printed = atlas(home, "doctor")
    assert (status, [one["check"] for one in printed["findings"]]) == (1, ["home"])
    command = printed["findings"][0]["next_step"].partition(": ")[2]
    subprocess.run(command, shell=True, check=True)
    home.ensure()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="gives a folder to another user")
def test_what_belongs_to_another_user_is_refused(home: Paths, atlas: Atlas) -> None:
    os.chown(home.home, 12345, 12345)
    assert refused(home) == (home.home, Danger.OWNER)
    assert "chown" in atlas(home, "vault", "status")[1]["error"]["next_step"]


@pytest.mark.parametrize(
    "name", ["lock", "lock.owner", "rooms.lock", "rooms.exchange", "cache/attempts", "rooms/open.db"]
)
def test_nothing_is_written_through_a_link(home: Paths, atlas: Atlas, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    link = home.home / name
    link.symlink_to(victim)
    status, printed = atlas(home, "vault", "create", "--passphrase-file", "/dev/null")
    assert (status, printed["error"]["code"]) == (1, "unsafe_home")
    assert printed["error"]["next_step"].endswith(f"rm {link}")
    link.unlink()
    home.ensure()
    assert victim.read_text() == "precious"


def test_a_lock_notes_its_owner_in_no_other_file(home: Paths, tmp_path: Path) -> None:
    """Also when the link is made after the home was looked at."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    home.lock.with_suffix(".owner").symlink_to(victim)
    with InstanceLock(home):
        assert victim.read_text() == "precious"


def test_settings_may_be_a_link_to_a_file(home: Paths, tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    file.write_text("")
    home.config.symlink_to(file)
    home.ensure()
    assert home.config.is_symlink()


# --- what is no file --------------------------------------------------------------------------------


def a_socket(path: Path) -> None:
    # Its path would be too long.
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(path.name)
    finally:
        os.chdir(before)


KINDS: dict[str, Callable[[Path], object]] = {"pipe": os.mkfifo, "folder": Path.mkdir, "socket": a_socket}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name",
    [
        "rooms/open.db",
        "rooms/open.keys",
        "rooms/private.db",
        "rooms/open.count",
        "rooms/open.db-wal",
        "config.toml",
    ],
)
def test_what_should_be_a_file_and_is_none_is_said_at_once(
    made: Home, atlas: Atlas, kind: str, name: str
) -> None:
    home = Paths(made.folder)
    path = home.home / name
    path.unlink(missing_ok=True)
    KINDS[kind](path)
    for words in (("vault", "status"), ("vault", "backup"), ("doctor",), ("config", "list")):
        status, printed = atlas(home, *words)
        assert status == 1
        assert f"mv {path}" in json.dumps(printed)


@pytest.mark.timeout(60)
def test_below_the_command_line_too_a_pipe_is_not_waited_for(made: Home) -> None:
    opened = made.vaults().open
    (made.rooms / "open.keys").unlink()
    os.mkfifo(made.rooms / "open.keys")
    assert CopyState.DAMAGED in opened.status().copies.values()
    assert opened.unlock(PASSPHRASE) == made.key()
    assert opened.status().copies_sound
    counter = counter_path(opened.database_path)
    counter.unlink()
    os.mkfifo(counter)
    opened.database_path.unlink()
    os.mkfifo(opened.database_path)
    assert opened.status().flaw is not None
    assert not made.vaults().private_missing()
