"""Rooms of every earlier schema, killed while they are brought up to date: each opens with all it held."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from memory.storage.connection import create_file
from memory.storage.migrations import ALL, LATEST, m0004_vectors, m0011_vectors_in_rows, migrate
from tests.security.crash import Said, Say, Scenario
from tests.storage.conftest import Place
from tests.storage.test_room_upgrade import ANSWER, NOW, QUESTION, SESSION, WORDS, fill

VECTORS = 600


class Migrating(Scenario):
    name = "migration"
    steps = 1
    rounds = LATEST - 1

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.version = 0

    async def prepare(self) -> str:
        self.version = self.version % (LATEST - 1) + 1
        # As long as an upgrade takes here: longer where there are vectors to put into rows.
        moves = m0004_vectors.VERSION <= self.version < m0011_vectors_in_rows.VERSION
        self.moment_s = 0.11 if moves else 0.03
        folder = self.place.path.parent
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
        earlier = folder.with_name(f"{folder.name}.{self.version}")
        if not earlier.exists():
            self._make(earlier)
        shutil.copyfile(earlier, self.place.path)
        return ""

    def _make(self, path: Path) -> None:
        """A room as that version had it."""
        conn = create_file(path, self.place.key)
        migrate(conn, NOW, ALL[: self.version])
        fill(conn)
        if self.version >= m0004_vectors.VERSION:
            conn.executemany(
                "INSERT INTO vectors (kind, owner_id, part, session_id, model, data)"
                " VALUES ('message', ?, ?, ?, 'f', zeroblob(1536))",
                [(QUESTION, part, SESSION) for part in range(VECTORS)],
            )
        conn.close()

    async def act(self, given: str, say: Say) -> None:
        say("begins")
        store = await self.place.open()
        say("opened")
        await store.close()

    async def look(self, said: Sequence[Said]) -> None:
        store = await self.place.open()
        report = await store.verify()
        branch = await store.branch(SESSION)
        vectors = await store.vectors.counts()
        await store.close()
        assert (report.schema_version, report.sessions, report.messages) == (LATEST, 1, len(WORDS))
        assert report.problems == ()
        assert [message.id for message in branch] == [QUESTION, ANSWER]
        assert vectors.by_model == ({"f": VECTORS} if self.version >= m0004_vectors.VERSION else {})
