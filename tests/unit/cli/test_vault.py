"""`atlas vault`, run in this process on a home of its own."""

import argparse
import contextlib
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.cli import vault as group
from atlas_desktop.cli.context import Context
from atlas_desktop.paths import Paths
from atlas_desktop.services.vault import VaultService
from memory.clock import SystemClock
from memory.entities import NewMessage, NewSession, RoomKind
from memory.storage.room import open_room
from memory.storage.store import Store
from memory.vault import keys
from memory.vault.keys import RoomKey
from memory.vault.vault import Vault, Vaults
from models.messages import Role
from tests.unit.vault.conftest import CHEAP, PASSPHRASE, FakeKeyring

Run = Callable[..., Awaitable[tuple[int, Any]]]
CHANGED = {"changed": True, "rooms": ["open", "private"]}


@pytest.fixture
def keyring() -> FakeKeyring:
    return FakeKeyring()


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "passphrase"
    path.write_text(PASSPHRASE + "\n")
    return path


@pytest.fixture
def run(
    tmp_path: Path,
    keyring: FakeKeyring,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Runs a command; returns its exit status and what it printed (a value with `--json`, else text)."""

    def build_vault(paths: Paths) -> VaultService:
        async def open_store(key: RoomKey, room: RoomKind, create: bool) -> Store:
            return await open_room(paths.rooms / f"{room}.db", key, room, SystemClock(), create=create)

        opened = Vault(paths.rooms, RoomKind.OPEN, CHEAP, keyring)
        return VaultService(Vaults(opened, Vault(paths.rooms, RoomKind.PRIVATE, CHEAP), CHEAP), open_store)

    monkeypatch.setattr("atlas_desktop.bootstrap.build_vault", build_vault)
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--passphrase-file")
    common.add_argument("--json", action="store_true")
    parser = argparse.ArgumentParser()
    group.register(parser.add_subparsers(), common)

    async def run_one(*words: str | Path) -> tuple[int, Any]:
        args = parser.parse_args(["vault", *map(str, words)])
        ctx = Context.from_args(argparse.Namespace(home=str(tmp_path / "home"), **vars(args)))
        try:
            status: int = await args.handler(ctx, args)
        except Exception as error:
            status = ctx.fail(error)
        finally:
            await ctx.close()
        printed = capsys.readouterr()
        return status, json.loads(printed.out) if ctx.json else printed.out + printed.err

    return run_one


async def test_create_prints_the_recovery_key_once(run: Run, secret: Path) -> None:
    status, printed = await run("create", "--passphrase-file", secret, "--json")
    assert status == 0
    assert printed["created"] is True
    assert len(printed["recovery_key"]) == 44
    status, printed = await run("create", "--passphrase-file", secret, "--json")
    assert (status, printed["error"]["code"]) == (1, "vault_exists")


async def test_create_refuses_a_short_passphrase(run: Run, tmp_path: Path) -> None:
    short = tmp_path / "short"
    short.write_text("short")
    status, printed = await run("create", "--passphrase-file", short, "--json")
    assert (status, printed["error"]["code"]) == (2, "weak_passphrase")
    assert (await run("status", "--json"))[1]["error"]["code"] == "no_vault"


async def test_create_warns_of_a_passphrase_that_is_easy_to_guess(run: Run, tmp_path: Path) -> None:
    weak = tmp_path / "weak"
    weak.write_text("password1")
    status, text = await run("create", "--passphrase-file", weak)
    assert status == 0
    assert "easy to guess" in text


async def test_status_needs_no_secret(run: Run, secret: Path) -> None:
    await run("create", "--passphrase-file", secret)
    status, printed = await run("status", "--json")
    assert status == 0
    assert [slot["kind"] for slot in printed["slots"]] == ["passphrase", "recovery"]
    assert printed["slots"][0]["kdf"]["memory_kib"] == CHEAP.memory_kib
    assert (printed["copies_sound"], printed["database_present"], printed["keyring"]) == (True, True, None)
    status, text = await run("status")
    assert status == 0
    assert "Argon2id, 64 MiB" in text
    assert "Database: present" in text


@pytest.mark.parametrize("room", ["open", "private"])
async def test_status_says_what_can_be_seen_of_a_damaged_room(
    run: Run, secret: Path, tmp_path: Path, room: str
) -> None:
    await run("create", "--passphrase-file", secret)
    path = tmp_path / "home" / "rooms" / f"{room}.db"
    path.write_bytes(bytes(4096) + path.read_bytes()[4096:])
    _, text = await run("status")
    assert f"damaged: the start of {path.name} was altered" in text
    assert ("Database: present" in text) is (room == "private")
    _, printed = await run("status", "--json")
    found, other = (printed, printed["private"]) if room == "open" else (printed["private"], printed)
    assert "salvage" in found["flaw"]["next_step"]
    assert other["flaw"] is None
    path.unlink()
    assert f"the database is missing ({path.name})" in (await run("status"))[1]


async def test_the_passphrase_changes_with_the_old_one_or_the_recovery_key(
    run: Run, secret: Path, tmp_path: Path
) -> None:
    _, created = await run("create", "--passphrase-file", secret, "--json")
    new, newest, recovery = tmp_path / "new", tmp_path / "newest", tmp_path / "recovery"
    new.write_text("another passphrase\n")
    newest.write_text("a third passphrase")
    recovery.write_text(created["recovery_key"].lower())

    change = ("change-passphrase", "--json", "--new-passphrase-file")
    assert await run(*change, new, "--passphrase-file", secret) == (0, CHANGED)
    status, printed = await run(*change, new, "--passphrase-file", secret)
    assert (status, printed["error"]["code"]) == (3, "wrong_passphrase")
    assert await run(*change, newest, "--recovery-key-file", recovery) == (0, CHANGED)
    assert (await run("verify", "--passphrase-file", newest, "--json"))[0] == 0
    recovery.write_text("ABCD")
    status, _ = await run(*change, new, "--recovery-key-file", recovery)
    assert status == 3


async def test_a_forgotten_passphrase_is_replaced_through_the_keyring_only_on_request(
    run: Run, secret: Path, tmp_path: Path
) -> None:
    await run("create", "--passphrase-file", secret)
    await run("keyring", "on", "--passphrase-file", secret)
    new = tmp_path / "new"
    new.write_text("another passphrase")
    status, _ = await run("change-passphrase", "--new-passphrase-file", new, "--json")
    assert status == 2
    status, _ = await run("change-passphrase", "--new-passphrase-file", new, "--use-keyring", "--json")
    assert status == 0
    assert (await run("verify", "--passphrase-file", new, "--json"))[0] == 0


async def test_a_new_recovery_key_replaces_the_old(run: Run, secret: Path, tmp_path: Path) -> None:
    _, created = await run("create", "--passphrase-file", secret, "--json")
    status, printed = await run("recovery-key", "--passphrase-file", secret, "--json")
    assert status == 0
    old = tmp_path / "old"
    old.write_text(created["recovery_key"])
    status, refused = await run("recovery-key", "--recovery-key-file", old, "--json")
    assert (status, printed["recovery_key"] != created["recovery_key"]) == (3, True)
    assert refused["error"]["code"] == "wrong_recovery_key"


async def test_the_keyring_is_switched_on_and_off(run: Run, secret: Path, keyring: FakeKeyring) -> None:
    await run("create", "--passphrase-file", secret)
    assert await run("keyring", "on", "--passphrase-file", secret, "--json") == (
        0,
        {"keyring": True, "backend": "fake.Keyring"},
    )
    assert (await run("verify", "--json"))[0] == 0
    assert await run("keyring", "off", "--json") == (0, {"keyring": False, "entry_removed": True})
    assert keyring.entries == {}
    assert (await run("keyring", "off", "--json"))[0] != 0


async def test_verify_reports_mends_and_fails(run: Run, secret: Path, tmp_path: Path) -> None:
    _, created = await run("create", "--passphrase-file", secret, "--json")
    rooms = tmp_path / "home" / "rooms"
    vault = Vault(rooms, RoomKind.OPEN, CHEAP)
    store = await open_room(
        vault.database_path,
        vault.unlock_with_recovery(created["recovery_key"]),
        RoomKind.OPEN,
        SystemClock(),
    )
    await store.create_session(NewSession("t"), NewMessage(Role.USER, "words " * 5000))
    await store.close()

    status, printed = await run("verify", "--passphrase-file", secret, "--json")
    assert (status, printed["sound"], printed["sessions"], printed["messages"]) == (0, True, 1, 1)
    (rooms / "open.keys").write_bytes(b"damaged")
    status, printed = await run("verify", "--passphrase-file", secret, "--json")
    assert (status, printed["healed"]) == (0, ["open.keys"])

    data = bytearray(vault.database_path.read_bytes())
    data[-2000] ^= 1
    vault.database_path.write_bytes(data)
    status, printed = await run("verify", "--passphrase-file", secret, "--json")
    assert (status, printed["sound"]) == (4, False)
    assert printed["problems"]
    vault.database_path.write_bytes(data[:5000])
    status, printed = await run("verify", "--passphrase-file", secret, "--json")
    assert (status, printed["error"]["code"]) == (4, "not_a_room")


def test_only_what_reads_may_run_beside_an_open_program() -> None:
    parser = argparse.ArgumentParser()
    group.register(parser.add_subparsers(), argparse.ArgumentParser(add_help=False))
    commands = [
        "create",
        "status",
        "change-passphrase",
        "recovery-key",
        "keyring on",
        "verify",
        "backup",
        "rekey",
    ]
    shared = [line for line in commands if not parser.parse_args(["vault", *line.split()]).exclusive]
    assert shared == ["status", "backup"]


@pytest.mark.parametrize("gone", ["private.db", "private.keys*", "private*"])
async def test_a_missing_private_room_is_called_that_and_keeps_no_backup_from_the_open_one(
    run: Run, secret: Path, tmp_path: Path, gone: str
) -> None:
    by = ("--passphrase-file", secret)
    await run("create", *by)
    for file in (tmp_path / "home" / "rooms").glob(gone):
        file.unlink()
    status, printed = await run("backup", *by, "--json")
    assert (status, printed["verified"], printed["missing"]) == (4, False, ["private"])
    assert printed["rooms"] == ["open"]
    assert "The private room is not included" in (await run("backup", *by))[1]
    text = (await run("status"))[1]
    assert "private room cannot be opened" in text or "the database is missing (private.db)" in text
    assert (await run("status", "--json"))[1]["private_missing"] is True
    status, printed = await run("verify", *by, "--json")
    assert (status, printed["sound"], printed["missing"]) == (4, False, ["private"])
    assert [one["room"] for one in printed["rooms"] if one["sound"]] == ["open"]
    status, printed = await run("salvage", "--room", "private", *by, "--json")
    assert (status, printed["error"]["code"] in ("keyslots_missing", "nothing_readable")) == (4, True)


@pytest.mark.parametrize(
    "command",
    [
        ("verify",),
        ("backup",),
        ("change-passphrase", "--new-passphrase-file", "/dev/null"),
        ("recovery-key",),
    ],
    ids=lambda words: words[0],
)
async def test_after_three_wrong_passphrases_the_next_has_to_wait(
    run: Run, secret: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    await run("create", "--passphrase-file", secret)
    wrong, attempts = tmp_path / "wrong", tmp_path / "home" / "cache" / "attempts"
    wrong.write_text("none of them at all")
    for _ in range(3):
        status, printed = await run(*command, "--passphrase-file", wrong, "--json")
        assert (status, printed["error"]["code"]) == (3, "wrong_passphrase")
    # Nothing is looked at, nothing is waited for, and what is refused does not count.
    for given in (wrong, secret, wrong):
        status, printed = await run(*command, "--passphrase-file", given, "--json")
        assert (status, printed["error"]["code"]) == (3, "too_many_attempts")
    assert attempts.read_text().split()[0] == "3"
    attempts.write_text("3 0")
    await run("verify", "--passphrase-file", secret)
    assert not attempts.exists()


async def test_wrong_recovery_keys_are_counted_too_and_slips_are_not(
    run: Run, secret: Path, tmp_path: Path
) -> None:
    await run("create", "--passphrase-file", secret)
    given, attempts = tmp_path / "given", tmp_path / "home" / "cache" / "attempts"
    given.write_text(keys.to_text(bytes(20)))
    status, printed = await run("recovery-key", "--recovery-key-file", given, "--json")
    assert (status, printed["error"]["code"]) == (3, "wrong_recovery_key")
    given.write_text("AAAA")
    assert (await run("recovery-key", "--recovery-key-file", given))[0] == 3
    assert attempts.read_text().split()[0] == "1"


async def test_a_backup_is_no_way_around_the_waits(run: Run, secret: Path, tmp_path: Path) -> None:
    await run("create", "--passphrase-file", secret)
    _, made = await run("backup", "--passphrase-file", secret, "--json")
    wrong = tmp_path / "wrong"
    wrong.write_text("none of them at all")
    codes = [
        (await run("restore", made["path"], "--passphrase-file", wrong, "--json"))[1]["error"]["code"]
        for _ in range(4)
    ]
    assert codes == ["wrong_backup_passphrase"] * 3 + ["too_many_attempts"]


# --- recovery keys that nobody has seen -------------------------------------------------------------


@pytest.fixture
def run_unseen(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """As `run`, with a standard output that takes nothing."""

    async def run_one(*words: str | Path) -> tuple[int, Any]:
        with monkeypatch.context() as patch, Path("/dev/full").open("w") as full:  # noqa: ASYNC230
            patch.setattr(sys, "stdout", full)
            status, printed = await run(*words)
            with contextlib.suppress(OSError):
                full.close()
        return status, printed

    return run_one


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
async def test_a_recovery_key_that_could_not_be_shown_is_not_in_force(
    run: Run, run_unseen: Run, secret: Path, tmp_path: Path
) -> None:
    by = ("--passphrase-file", secret)
    status, text = await run_unseen("create", *by)
    assert (status, "disk is full" in text) == (1, True)
    assert (await run("status"))[0] == 3
    assert not list((tmp_path / "home" / "rooms").iterdir())

    (tmp_path / "known").write_text((await run("create", *by, "--json"))[1]["recovery_key"])
    for command in ("recovery-key", "rekey"):
        status, text = await run_unseen(command, *by)
        assert (status, "disk is full" in text) == (1, True)
        slots = (await run("status", "--json"))[1]
        for found in (slots, slots["private"]):
            assert [slot["kind"] for slot in found["slots"]] == ["passphrase", "recovery"]
    assert (await run("verify", *by))[0] == 0
    status, printed = await run("recovery-key", "--recovery-key-file", tmp_path / "known", "--json")
    assert (status, printed["rooms"]) == (0, ["open", "private"])


async def test_salvage_of_what_cannot_be_read_is_refused_with_its_own_status(
    run: Run, secret: Path, tmp_path: Path
) -> None:
    await run("create", "--passphrase-file", secret)
    path = tmp_path / "home" / "rooms" / "open.db"
    path.write_bytes(bytes(path.stat().st_size))
    before = path.read_bytes()
    status, printed = await run("salvage", "--passphrase-file", secret, "--json")
    assert (status, printed["error"]["code"]) == (4, "nothing_readable")
    assert path.read_bytes() == before
