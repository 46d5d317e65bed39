"""Imports: a session comes in whole or not at all, and importing once more completes what was cut short."""

import json
from collections.abc import Sequence
from pathlib import Path

from atlas_desktop.importing.entities import ImportOptions, ImportReport
from atlas_desktop.importing.importer import Importer
from memory.storage.store import Store
from tests.security.crash import Said, Say, Scenario
from tests.storage.conftest import Place

SESSIONS = 6
LENGTH = 15


class Importing(Scenario):
    name = "import"
    steps = 3
    moment_s = 0.02

    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self.promised = 0

    @property
    def file(self) -> Path:
        return self.place.path.with_name("in.jsonl")

    def write(self, number: int) -> None:
        with self.file.open("w") as file:
            for n in range(SESSIONS):
                said = [
                    {"id": f"m{k}", "role": "assistant" if k % 2 else "user", "content": f"{number} {n} {k}"}
                    for k in range(LENGTH)
                ]
                line = {"id": f"s{number}.{n}", "title": "t", "created_at": "2024-02-03T04:05:06Z"}
                file.write(json.dumps({**line, "messages": said}) + "\n")

    async def take(self, store: Store) -> ImportReport:
        return await Importer(store.transfer).take([self.file], ImportOptions(learn=True))

    async def act(self, given: str, say: Say) -> None:
        store = await self.place.open(create=True)
        known = len(await store.list_sessions()) // SESSIONS
        say("open")
        for number in range(known, 10_000):
            self.write(number)
            await self.take(store)
            say("imported", str(number + 1))

    async def look(self, said: Sequence[Said]) -> None:
        self.promised = max([self.promised, *(int(words[1]) for words in said if words[0] == "imported")])
        store = await self.place.open()
        sessions = await store.list_sessions()
        assert len(sessions) >= self.promised * SESSIONS
        assert {session.message_count for session in sessions} <= {LENGTH}
        self.write(self.promised)
        report = await self.take(store)
        assert report.messages + report.already_there == SESSIONS * LENGTH
        assert report.skipped == []
        assert (await store.verify()).problems == ()
        assert len(await store.list_sessions()) == (self.promised + 1) * SESSIONS
        await store.close()
