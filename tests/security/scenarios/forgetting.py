"""Forgetting: a session is whole or gone, one whose receipt was given is in no table, and the others stay."""

from collections.abc import Sequence

from memory.storage.connection import Connection
from memory.storage.store import Store
from tests.security.crash import Said, Say, Scenario
from tests.security.stage import Stage
from tests.storage.conftest import Place, database_of
from tests.storage.test_erasure import holding

TURNS = 3
KEPT = "something else entirely"


async def tables_with(store: Store, *words: str) -> set[str]:
    def look(conn: Connection) -> set[str]:
        return holding(conn, *words)

    return await database_of(store).read(look)


def mark(run: int) -> str:
    """What every code word of one process begins with, and of no other."""
    return f"zeppelin{run}x"


class Forgetting(Scenario):
    name = "forget"
    steps = 8
    moment_s = 0.02

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._kept = ""
        self._runs = 0

    async def prepare(self) -> str:
        if not self._kept:
            stage = await Stage.open(self.place, create=True)
            accepted, _ = await stage.turn(KEPT)
            self._kept = accepted.session.id
            await stage.close()
        self._runs += 1
        return f"{self._kept} {self._runs}"

    async def act(self, given: str, say: Say) -> None:
        kept, run = given.split()
        stage = await Stage.open(self.place)
        # By its id: the clock of the store begins anew in each process and says nothing of their order.
        for session in await stage.store.list_sessions():
            if session.id != kept:
                await stage.room.forgetting.erase_session(session.id)
        say("open")
        for n in range(10_000):
            word = f"{mark(int(run))}{n}x"
            accepted, _ = await stage.turn(f"the code word is {word}")
            session_id = accepted.session.id
            for _ in range(TURNS - 1):
                await stage.turn(f"once more: {word}", session_id)
            await stage.room.background.run()
            await stage.room.epochs.keep(session_id)
            say("stored", word, session_id)
            receipt = await stage.room.forgetting.erase_session(session_id)
            assert receipt.verified
            say("forgotten", word, session_id)

    async def look(self, said: Sequence[Said]) -> None:
        stored = {words[1]: words[2] for words in said if words[0] == "stored"}
        gone = {words[1] for words in said if words[0] == "forgotten"}
        stage = await Stage.open(self.place)
        sessions = {session.id: session for session in await stage.store.list_sessions()}
        assert sessions.pop(self._kept).message_count == 2
        assert "messages" in await tables_with(stage.store, KEPT)
        assert len(sessions) <= 1
        # The process said that it is open when it had erased what those before it left half done.
        assert await tables_with(stage.store, *map(mark, range(1, self._runs))) == set()
        for word, session_id in stored.items():
            if word in gone or session_id not in sessions:
                assert await tables_with(stage.store, word) == set()
                assert session_id not in sessions
            else:
                # The blow fell before or within the forgetting: then it has not begun.
                assert sessions[session_id].message_count == TURNS * 2
        assert (await stage.store.verify()).problems == ()
        await stage.close()
