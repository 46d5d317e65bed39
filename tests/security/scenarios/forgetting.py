"""Forgetting: a session is whole or gone, and one whose receipt was given is in no table."""

from collections.abc import Sequence

from memory.storage.connection import Connection
from memory.storage.store import SqlSessionStore
from tests.security.crash import Said, Say, Scenario
from tests.security.stage import Stage
from tests.storage.conftest import database_of
from tests.storage.test_erasure import holding

TURNS = 3
KEPT = "something else entirely"


async def tables_with(store: SqlSessionStore, word: str) -> set[str]:
    def look(conn: Connection) -> set[str]:
        return holding(conn, word)

    return await database_of(store).read(look)


class Forgetting(Scenario):
    name = "forget"
    steps = 8
    moment_s = 0.02

    async def act(self, given: str, say: Say) -> None:
        stage = await Stage.open(self.place, create=True)
        if not await stage.store.list_sessions():
            await stage.turn(KEPT)
        for session in (await stage.store.list_sessions())[:-1]:
            await stage.room.forgetting.erase_session(session.id)
        say("open")
        for n in range(10_000):
            word = f"zeppelin{n}x"
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
        stage = await Stage.open(self.place, create=True)
        sessions = {session.id: session for session in await stage.store.list_sessions()}
        for word, session_id in stored.items():
            found = await tables_with(stage.store, word)
            if word in gone or session_id not in sessions:
                assert found == set()
                assert session_id not in sessions
            else:
                # The blow fell before or within the forgetting: then it has not begun.
                assert sessions[session_id].message_count == TURNS * 2
        assert (await stage.store.verify()).problems == ()
        await stage.close()
