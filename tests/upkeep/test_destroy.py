"""The end of everything: keys first, then the rest; what is left is said."""

from pathlib import Path

import pytest

from atlas_desktop.services.backup import by_room
from memory.errors import VaultMissing
from memory.vault import files
from tests.unit.vault.conftest import FakeKeyring
from tests.upkeep.conftest import Home


async def test_keys_are_overwritten_before_anything_is_removed(
    made: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {file: file.read_bytes() for file in made.rooms.iterdir() if ".keys" in file.name}
    assert len(keys) == 4
    real = files.shutil.rmtree  # type: ignore[attr-defined]

    def rmtree(folder: Path) -> None:
        for file, data in keys.items():
            now = file.read_bytes()
            assert len(now) == len(data)
            assert sum(a == b for a, b in zip(now, data, strict=True)) < len(data) / 20
        real(folder)

    monkeypatch.setattr("memory.vault.files.shutil.rmtree", rmtree)
    done = await made.repairs().destroy()
    assert (done.shredded.keys, done.verified, done.keyring_entry_removed) == (4, True, None)
    assert not made.rooms.exists()
    with pytest.raises(VaultMissing):
        await made.repairs().destroy()


async def test_damaged_rooms_kept_aside_the_keyring_and_backups_go_too(made: Home) -> None:
    made.keyring = FakeKeyring()
    made.vaults().open.keyring_on(made.keys.open)
    backup = (await made.backups().make(by_room(made.keys))).path
    aside = made.folder / "rooms.damaged-2026-01-01-000000"
    aside.mkdir()
    (aside / "open.keys").write_bytes(b"a wrapped key")
    left = await made.repairs().destroy((backup,), with_backups=True)
    assert (left.backups_destroyed, left.backups_left, left.keyring_entry_removed) == (1, (), True)
    assert not made.keyring.entries
    assert not aside.exists()
    assert not backup.exists()
