"""Words of documents that exist nowhere else are in no file: not while a room is used, killed, or closed."""

import secrets
import struct
import time
from pathlib import Path

from memory.storage.connection import Connection
from tests.security.crash import attack
from tests.security.figures import Figures
from tests.security.scanner import needles_of, vector_needles
from tests.security.scenarios.forgetting import tables_with
from tests.security.scenarios.reading import NAMES, Reading
from tests.security.scenarios.secrets import vaults_in
from tests.security.stage import Stage
from tests.security.test_canaries import hits, hits_around, key_bytes
from tests.storage.conftest import Place, database_of
from tests.storage.test_forgetting import pages_with

NOT_STORED = {"query"}


async def test_no_file_holds_a_canary_of_a_document(tmp_path: Path, figures: Figures) -> None:
    begun = time.time()
    rooms = tmp_path / "home" / "rooms"
    keys, _ = vaults_in(rooms).create(f"{secrets.token_hex(6)} small herons")
    place = Place(rooms / "open.db", keys.open)
    texts = {name: f"{name} {secrets.token_hex(5)} vassdal {secrets.token_hex(5)}" for name in NAMES}
    scenario = Reading(place)
    scenario.given = "\n".join(texts.values())
    await attack(scenario, rounds=2, seed=3)

    stage = await Stage.open(place)

    def read(conn: Connection) -> list[bytes]:
        return [bytes(row[0]) for row in conn.execute("SELECT data FROM chunk_vectors")]

    vectors = [
        struct.unpack(f"<{len(data) // 4}f", data) for data in await database_of(stage.store).read(read)
    ]
    needles = needles_of(texts, key_bytes(keys.open))
    # One that is mostly zeros could not be told from others.
    richest = [vector for vector in vectors if sum(map(bool, vector)) * 2 > len(vector)][:3]
    assert richest
    for number, vector in enumerate(richest):
        needles += vector_needles(f"vector {number}", vector, numbers=len(vector))
    # They are all there, for who has the key.
    for name in set(NAMES) - NOT_STORED:
        assert await tables_with(stage.store, texts[name]) != set(), name
    assert hits(place, needles) == ()
    await stage.close()
    assert hits(place, needles) == ()
    await attack(scenario, rounds=1, seed=4)
    assert hits(place, needles) == ()
    assert hits_around(place, needles, begun) == ()

    # Whoever has the key finds nothing either, once the documents and the talk about them are gone.
    stage = await Stage.open(place)
    gone = await stage.room.documents.remove([one.id for one in await stage.store.documents.list()])
    assert gone.verified
    for folder in await stage.room.documents.folders():
        await stage.room.documents.unwatch(folder)
    kept = {"question", "text"}
    assert [name for name in set(NAMES) - kept if pages_with(place, texts[name].encode())] == []
    assert pages_with(place, *(struct.pack(f"<{len(one)}f", *one) for one in richest)) == 0
    states = place.path.with_name("open-states.db")
    assert pages_with(Place(states, keys.open), *(text.encode() for text in texts.values())) == 0
    for session in await stage.store.list_sessions():
        assert (await stage.room.forgetting.erase_session(session.id)).verified
    assert pages_with(place, *(text.encode() for text in texts.values())) == 0
    await stage.close()
    figures.add("canaries of documents in any file", attempts=3 * len(needles), hits=0)
