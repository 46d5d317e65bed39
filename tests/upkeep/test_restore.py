"""A restore says what would be lost, and is whole or has not happened."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from atlas_desktop.services.backup import Loss, Unlock, by_room
from memory.entities import ChosenBy, Freshness, NewReceipt, RoomKind
from memory.errors import FutureSchema, RoomMissing, VaultMissing, WrongBackupPassphrase
from memory.personas import NewPersona
from memory.storage import connection
from memory.vault import files, upkeep
from memory.vault.upkeep import AtomicRoomSwap
from tests.contract.reading import MODEL, asked_about, read, shelved
from tests.unit.vault.conftest import PASSPHRASE
from tests.upkeep.conftest import Home


def by(passphrase: str) -> Unlock:
    return lambda vaults: vaults.unlock_both(passphrase)


async def test_what_else_the_user_made_since_is_named(made: Home) -> None:
    store = await made.open()
    await store.projects.create("Boat")
    await store.close()
    backup = (await made.backups().make(by_room(made.keys))).path
    store = await made.open()
    await store.projects.create("Garden")
    await store.personas.add_persona(NewPersona("Pirate", "Talk like a pirate."))
    await store.close()
    async with made.backups().restoring(backup, by(PASSPHRASE)) as found:
        assert found.loss == Loss(0, 0, 0, others={"projects": 1, "personas": 1})
        assert found.loss


async def test_what_would_be_lost_is_counted(made: Home) -> None:
    backup = (await made.backups().make(by_room(made.keys))).path
    await made.say("newer", "newest")
    async with made.backups().restoring(backup, by(PASSPHRASE)) as found:
        assert found.loss == Loss(1, 2, 0)
        assert found.present is not None
        assert (len(found.contents.messages), len(found.present.messages)) == (2, 4)
        assert found.private_loss is None
    await made.say("another secret", room=RoomKind.PRIVATE)
    async with made.backups().restoring(backup, by(PASSPHRASE), private=True) as found:
        assert found.private_loss == Loss(1, 1, 0)
    assert await made.said() == ["and beans", "newer", "newest", "tomatoes"]
    assert not list(made.folder.glob("rooms.next*"))


async def test_what_was_forgotten_since_and_would_come_back_is_counted(made: Home) -> None:
    backup = (await made.backups().make(by_room(made.keys))).path
    store = await made.open()
    for number in (1, 2):
        await store.receipts.add(NewReceipt(ChosenBy.WORDS, {"messages": number}, {}, 0, True))
    await store.close()
    async with made.backups().restoring(backup, by(PASSPHRASE)) as found:
        assert found.loss is not None
        assert found.loss.forgotten == 2
        assert not found.loss, "what was forgotten is no loss"


async def test_documents_are_restored_with_all_that_was_made_of_them(made: Home) -> None:
    store = await made.open()
    new = read("/home/me/heron.txt", "Herons wade.", "They eat frogs.", content=b"raw")
    document = await shelved(store, new, summary="About waders.")
    session, _, reply = await asked_about(store, document)
    before = await store.documents.get(document)
    chunks, cited = await store.documents.chunks(document), await store.documents.cited(reply)
    vectors = await store.documents.vectors.of(MODEL, sessions=[document])
    await store.close()
    backup = (await made.backups().make(by_room(made.keys))).path
    store = await made.open()
    await store.documents.erase([document])
    await shelved(store, read("/home/me/later.txt", "Later."))
    await store.close()
    async with made.backups().restoring(backup, by(PASSPHRASE)) as found:
        assert found.loss == Loss(0, 0, 0, documents=1)
        assert len(found.contents.documents) == 1
        await found.put_in_place()
    store = await made.open()
    assert await store.documents.get(document) == before
    assert await store.documents.chunks(document) == chunks
    assert await store.documents.content(document) == b"raw"
    assert await store.documents.vectors.of(MODEL, sessions=[document]) == vectors
    assert await store.documents.cited(reply) == cited
    assert [one.message for one in await store.documents.passages(session.id)] != []
    assert (await store.verify()).problems == ()
    await store.close()


async def test_the_secrets_are_those_of_the_time_of_the_backup(made: Home) -> None:
    backup = (await made.backups().make(by_room(made.keys))).path
    made.vaults().change_passphrase(made.keys, "another passphrase")
    with pytest.raises(WrongBackupPassphrase):
        async with made.backups().restoring(backup, by("another passphrase")):
            pass
    with pytest.raises(WrongBackupPassphrase):
        async with made.backups().restoring(backup, by("no passphrase at all")):
            pass
    recovery = made.recovery_key
    async with made.backups().restoring(backup, lambda v: v.unlock_with_recovery(recovery)) as found:
        assert found.loss == Loss(0, 0, 0)
        await found.put_in_place()
    assert await made.said() == ["and beans", "tomatoes"]
    assert await made.said(RoomKind.PRIVATE) == ["a secret"]


async def test_into_an_empty_home(made: Home, tmp_path_factory: pytest.TempPathFactory) -> None:
    backup = (await made.backups().make(by_room(made.keys))).path
    other = Home(tmp_path_factory.mktemp("other"))
    async with other.backups().restoring(backup, by(PASSPHRASE)) as found:
        assert (found.replaces, found.loss) == (False, Loss(0, 0, 0))
        await found.put_in_place()
    assert await other.said() == ["and beans", "tomatoes"]


async def test_over_a_home_that_cannot_be_opened_the_loss_is_unknown(made: Home) -> None:
    backup = (await made.backups().make(by_room(made.keys))).path
    (made.rooms / "open.db").write_bytes(b"damaged")
    async with made.backups().restoring(backup, by(PASSPHRASE)) as found:
        assert (found.replaces, found.loss) == (True, None)
        await found.put_in_place()
    assert await made.said() == ["and beans", "tomatoes"]


async def test_a_room_that_the_backup_does_not_hold_stays(made: Home) -> None:
    hidden = made.folder / "hidden"
    hidden.mkdir()
    for file in made.rooms.glob("private*"):
        file.rename(hidden / file.name)
    backup = (await made.backups().make({RoomKind.OPEN: made.vaults().open.unlock(PASSPHRASE)})).path
    for file in hidden.iterdir():
        file.rename(made.rooms / file.name)
    async with made.backups().restoring(backup, by(PASSPHRASE)) as found:
        assert found.kept == (RoomKind.PRIVATE,)
        await found.put_in_place()
    assert await made.said(RoomKind.PRIVATE) == ["a secret"]


async def test_a_backup_from_the_future_is_refused(made: Home) -> None:
    conn = connection.open_file(made.rooms / "open.db", made.key())
    conn.execute("PRAGMA user_version = 999")
    conn.close()
    backup = (await made.backups().make(by_room(made.keys))).path
    with pytest.raises(FutureSchema):
        async with made.backups().restoring(backup, by(PASSPHRASE)):
            pass


async def test_a_restored_room_is_not_taken_for_one_that_was_rolled_back(made: Home) -> None:
    backup = (await made.backups().make(by_room(made.keys))).path
    for n in range(3):
        await made.say(f"newer {n}")
    async with made.backups().restoring(backup, by(PASSPHRASE)) as found:
        await found.put_in_place()
    for room in (RoomKind.OPEN, RoomKind.PRIVATE):
        store = await made.open(room)
        assert store.freshness is Freshness.CURRENT
        await store.close()


class Killed(BaseException):
    """The process is gone: nothing after this is done, not even tidying."""


STEPS: list[tuple[Any, str]] = [
    (Path, "rename"),
    (Path, "unlink"),
    (Path, "rmdir"),
    (Path, "replace"),
    (shutil, "rmtree"),
    (files, "_overwrite"),
    (upkeep, "sync_folder"),
    (files, "sync_folder"),
]


async def test_killed_at_any_step_old_or_new_rooms_are_there(
    made: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup = (await made.backups().make(by_room(made.keys))).path
    await made.say("newer")
    seen = set()
    for after in range(60):
        left = [after]
        with monkeypatch.context() as patch:
            count_down(patch, left)
            exchanging = AtomicRoomSwap(made.rooms)
            done = False
            try:
                with exchanging.prepared() as folder:
                    made.backups()._files.unpack(backup, folder)
                    exchanging.put_in_place()
                done = True
            except Killed:
                pass
        try:
            made.vaults().open.unlock(PASSPHRASE)
        except (VaultMissing, RoomMissing):
            seen.add("between")
        AtomicRoomSwap(made.rooms).recover()
        left_over = {f.name for f in made.folder.iterdir() if not f.name.startswith(".")}
        assert left_over == {"backups", "rooms", "rooms.lock"}
        said = await made.said()
        seen.add("old" if "newer" in said else "new")
        if "newer" not in said:
            assert said == ["and beans", "tomatoes"]
            await made.say("newer")
        if done:
            break
    else:
        raise AssertionError("it never came to its end")
    assert {"old", "new"} <= seen


def count_down(patch: pytest.MonkeyPatch, left: list[int]) -> None:
    """From the step on that counts to nought, nothing is done any more."""

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise Killed
            return real(*args, **options)

        return step

    for owner, name in STEPS:
        patch.setattr(owner, name, dying(getattr(owner, name)))
