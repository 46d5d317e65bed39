"""Words, keys and vectors that exist nowhere else are in no file: not while a room is used, not after."""

import secrets
import struct
import tempfile
import time
from pathlib import Path

from memory.vault.keys import RoomKey
from tests.security.crash import attack
from tests.security.figures import Figures
from tests.security.scanner import Needle, needles_of, scan, vector_needles
from tests.security.scenarios.confiding import NAMES, Confiding
from tests.security.scenarios.forgetting import tables_with
from tests.security.scenarios.secrets import vaults_in
from tests.security.stage import Stage
from tests.storage.conftest import Place

SYSTEM = ("/tmp", "/var/tmp", "/dev/shm", "/var/crash", "/var/lib/systemd/coredump")


def hits(place: Place, needles: list[Needle]) -> tuple[str, ...]:
    """Forms that are in a file of the home."""
    found = scan([place.path.parents[1]], needles)
    assert found.files > 3
    return tuple(map(str, found.hits))


def hits_around(place: Place, needles: list[Needle], since: float) -> tuple[str, ...]:
    """Forms that are in files which came to be in the system's temporary folders since then."""
    roots = dict.fromkeys(Path(root) for root in (*SYSTEM, tempfile.gettempdir()))
    # What other tests write meanwhile holds other canaries.
    found = scan(roots, needles, since=since, but=[place.path.parents[4]])
    return tuple(map(str, found.hits))


async def test_no_file_holds_a_canary_in_use_killed_or_closed(tmp_path: Path, figures: Figures) -> None:
    begun = time.time()
    passphrase = f"{secrets.token_hex(6)} small herons"
    rooms = tmp_path / "home" / "rooms"
    vaults = vaults_in(rooms)
    keys, recovery_key = vaults.create(passphrase)
    place = Place(rooms / "open.db", keys.open)
    texts = {name: f"{name} {secrets.token_hex(5)} vassdal {secrets.token_hex(5)}" for name in NAMES}
    scenario = Confiding(place)
    scenario.given = "\n".join(texts.values())
    await attack(scenario, rounds=2, seed=3)

    stage = await Stage.open(place)
    await stage.room.remember()
    vectors = [
        struct.unpack(f"<{len(one.data) // 4}f", one.data)
        for model in (await stage.store.vectors.counts()).by_model
        for one in (await stage.store.vectors.scan(model)).rows()
    ]
    texts |= {"passphrase": passphrase, "recovery key": recovery_key}
    needles = needles_of(texts, key_bytes(keys.open))
    richest = sorted(vectors, key=lambda vector: sum(map(bool, vector)))[-3:]
    for number, vector in enumerate(richest):
        needles += vector_needles(f"vector {number}", vector, numbers=len(vector))
    # They are all there, for who has the key.
    for name in NAMES:
        assert await tables_with(stage.store, texts[name]) != set()
    await stage.turn(f"{texts['message']} once more")
    assert hits(place, needles) == ()
    await stage.close()
    assert hits(place, needles) == ()
    await attack(scenario, rounds=1, seed=4)
    assert hits(place, needles) == ()
    assert hits_around(place, needles, begun) == ()
    figures.add("canaries in any file", attempts=3 * len(needles), hits=0)


def key_bytes(key: RoomKey) -> dict[str, bytes]:
    return {"data key": key.data, "key with salt": key.data + key.salt}
