"""Files that were cut, flipped or lost: what can be read is consistent, and what is wrong is noticed."""

import random
import shutil
from pathlib import Path

import pytest

from memory.entities import Freshness, NewMessage, NewSession, RoomKind
from memory.errors import NotARoom, RoomDamaged
from memory.storage.store import Store
from memory.vault.vault import Vault
from models.messages import Role
from tests.security.figures import Figures
from tests.security.scenarios.secrets import CHEAP, passphrase
from tests.storage.conftest import Place

MESSAGES = 60


class Torn:
    """A room whose newest words are in its write-ahead log only, as after a loss of power."""

    def __init__(self, place: Place, taken: Path) -> None:
        self.place = place
        self._taken = taken

    @property
    def log(self) -> Path:
        return self.place.path.with_name(self.place.path.name + "-wal")

    def again(self) -> None:
        """The files as they were in the moment of the loss."""
        for file in self.place.path.parent.iterdir():
            file.unlink()
        for file in self._taken.iterdir():
            shutil.copy(file, self.place.path.parent)

    async def said(self) -> tuple[list[int], bool]:
        """The numbers of the messages that are there, after a check that the room is sound; and whether
        opening it warned of a loss."""
        store = await self.place.open()
        try:
            report = await store.verify()
            assert report.problems == ()
            sessions = await store.list_sessions()
            numbers = [int(m.content) for s in sessions for m in await store.branch(s.id)]
            return numbers, report.freshness is Freshness.ROLLED_BACK
        finally:
            await store.close()


@pytest.fixture
async def torn(place: Place, tmp_path: Path) -> Torn:
    store = await place.open(create=True)
    session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "0"))
    for n in range(1, MESSAGES):
        await store.append_message(session.id, NewMessage(Role.USER, str(n)))
    taken = tmp_path / "taken"
    taken.mkdir()
    for name in ("open.db", "open.db-wal"):
        shutil.copy(place.path.with_name(name), taken)
    await store.close()
    return Torn(place, taken)


async def assert_a_cut_log_holds(torn: Torn, figures: Figures, rounds: int) -> None:
    chance = random.Random(5)
    lengths: set[int] = set()
    for _ in range(rounds):
        torn.again()
        size = torn.log.stat().st_size
        with torn.log.open("r+b") as log:
            log.truncate(chance.randrange(size))
        said, _ = await torn.said()
        assert said == list(range(len(said)))
        lengths.add(len(said))
    assert len(lengths) > min(rounds, 20) // 2
    figures.add("write-ahead log cut", attempts=rounds)


async def assert_a_flipped_log_holds(torn: Torn, figures: Figures, rounds: int) -> None:
    chance = random.Random(6)
    torn.again()
    assert await torn.said() == (list(range(MESSAGES)), False)
    warned = 0
    for _ in range(rounds):
        torn.again()
        data = bytearray(torn.log.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        torn.log.write_bytes(data)
        said, warning = await torn.said()
        assert said == list(range(len(said)))
        # Whatever was lost was told of, and a flip that cost nothing alarmed nobody.
        assert warning == (len(said) < MESSAGES)
        warned += warning
        assert await torn.said() == (said, False)
    figures.add("write-ahead log: a bit flipped", attempts=rounds, warned=warned)


async def assert_flips_are_noticed(place: Place, figures: Figures, rounds: int) -> None:
    store = await place.open(create=True)
    await fill(store)
    await store.close()
    whole = place.path.read_bytes()
    chance = random.Random(7)
    noticed = 0
    for _ in range(rounds):
        data = bytearray(whole)
        # The salt at the beginning is kept with the key and not read from the file.
        at = chance.randrange(16, len(data))
        data[at] ^= 1 << chance.randrange(8)
        place.path.write_bytes(data)
        noticed += await is_noticed(place)
    assert noticed == rounds
    figures.add("database: a bit flipped, noticed", attempts=rounds, survived=noticed)


async def fill(store: Store) -> None:
    session, _ = await store.create_session(NewSession("t"), NewMessage(Role.USER, "x"))
    for n in range(30):
        await store.append_message(session.id, NewMessage(Role.USER, f"{n} " + "words " * 300))


async def is_noticed(place: Place) -> bool:
    try:
        store = await place.open()
    except (NotARoom, RoomDamaged):
        return True
    try:
        return (await store.verify()).problems != ()
    finally:
        await store.close()


async def test_a_log_that_was_cut_holds_a_consistent_beginning(torn: Torn, figures: Figures) -> None:
    await assert_a_cut_log_holds(torn, figures, 25)


async def test_a_flipped_log_holds_a_consistent_beginning(torn: Torn, figures: Figures) -> None:
    await assert_a_flipped_log_holds(torn, figures, 25)


async def test_every_flipped_bit_of_a_room_is_noticed(place: Place, figures: Figures) -> None:
    await assert_flips_are_noticed(place, figures, 30)


@pytest.mark.soak
async def test_a_log_that_was_cut_in_a_long_run(torn: Torn, figures: Figures) -> None:
    await assert_a_cut_log_holds(torn, figures, 1000)


@pytest.mark.soak
async def test_a_flipped_log_in_a_long_run(torn: Torn, figures: Figures) -> None:
    await assert_a_flipped_log_holds(torn, figures, 1000)


@pytest.mark.soak
async def test_every_flipped_bit_in_a_long_run(place: Place, figures: Figures) -> None:
    await assert_flips_are_noticed(place, figures, 1000)


async def test_a_damaged_salt_in_the_header_locks_nobody_out(place: Place, figures: Figures) -> None:
    store = await place.open(create=True)
    await fill(store)
    await store.close()
    for at in range(16):
        place.flip(at)
        store = await place.open()
        assert len(await store.list_sessions()) == 1
        await store.append_message((await store.list_sessions())[0].id, NewMessage(Role.USER, "goes on"))
        await store.close()
    figures.add("header salt damaged", attempts=16)


@pytest.mark.parametrize("which", [0, 1])
def test_one_damaged_copy_of_the_keyslots_locks_nobody_out(
    tmp_path: Path, figures: Figures, which: int
) -> None:
    folder = tmp_path / "rooms"
    vault = Vault(folder, RoomKind.OPEN, CHEAP)
    key, recovery_key = vault.create(passphrase(0))
    copy = sorted(folder.glob("open.keys*"))[which]
    whole = copy.read_bytes()
    chance = random.Random(which)
    for n in range(12):
        data = bytearray(whole)
        if n % 3 == 0:
            del data[chance.randrange(len(data)) :]
        else:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        copy.write_bytes(data)
        # The costly derivation once; the recovery key needs none.
        assert (vault.unlock_with_recovery(recovery_key) if n else vault.unlock(passphrase(0))) == key
        assert copy.read_bytes() == whole
    figures.add("a keyslot copy damaged", attempts=12)
