"""Moves between rooms: a session is whole, in one of them."""

import secrets
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from memory.entities import NewMessage, NewSession, RoomKind
from memory.errors import DocumentNotFound, SessionNotFound
from memory.memories.entities import MemoryKind, MemoryOrigin, MemorySource, NewMemory
from memory.storage.room import open_room
from memory.storage.store import Store
from models.messages import Role
from tests.contract.reading import MODEL, asked_about, read, shelved
from tests.fakes.clock import FakeClock
from tests.security.crash import Said, Say, Scenario
from tests.security.scenarios.forgetting import tables_with
from tests.storage.conftest import Place
from tests.unit.services.two_rooms import TwoRooms

MESSAGES = 6

_ROOM_AFTER = {"private": RoomKind.PRIVATE, "back": RoomKind.OPEN}


class Pair:
    """Both rooms, open, with the service that moves sessions between them."""

    def __init__(self, stores: dict[RoomKind, Store], home: Path) -> None:
        self.stores = stores
        self.two = TwoRooms(home, lambda room: stores[room])

    @classmethod
    async def open(cls, place: Place) -> "Pair":
        stores = {
            room: await open_room(
                place.path.with_name(f"{room}.db"), place.key, room, FakeClock(), create=True
            )
            for room in (RoomKind.OPEN, RoomKind.PRIVATE)
        }
        return cls(stores, place.path.parent)

    async def holders(self, session_id: str) -> list[RoomKind]:
        found = []
        for room, store in self.stores.items():
            with suppress(SessionNotFound):
                await store.get_session(session_id)
                found.append(room)
        return found


class Moving(Scenario):
    name = "move between rooms"
    steps = 6
    moment_s = 0.02

    async def act(self, given: str, say: Say) -> None:
        pair = await Pair.open(self.place)
        await pair.two.both()
        store = pair.stores[RoomKind.OPEN]
        say("open")
        for n in range(10_000):
            word = f"zeppelin{n}x"
            session, said = await store.create_session(NewSession(word), NewMessage(Role.USER, word))
            for _ in range(MESSAGES - 1):
                await store.append_message(session.id, NewMessage(Role.ASSISTANT, f"more of {word}"))
            source = MemorySource(said.id, session.id, word)
            await store.memories.add(
                NewMemory(MemoryKind.FACT, f"It is {word}.", MemoryOrigin.PATTERN, (source,))
            )
            say("stored", word, session.id)
            await pair.two.rooms.move(session.id, RoomKind.PRIVATE)
            say("private", word, session.id)
            if n % 2:
                await pair.two.rooms.move(session.id, RoomKind.OPEN)
                say("back", word, session.id)

    async def look(self, said: Sequence[Said]) -> None:
        """First as the open room alone is seen, then with what was cut short completed."""
        last = {words[1]: (words[0], words[2]) for words in said if len(words) == 3}
        pair = await Pair.open(self.place)
        opened, private = pair.stores[RoomKind.OPEN], pair.stores[RoomKind.PRIVATE]
        waiting = {move.item_id for store in (opened, private) for move in await store.moves.waiting()}
        assert len(waiting) <= 1
        for word, (_, session_id) in last.items():
            held = await pair.holders(session_id)
            if RoomKind.OPEN not in held:
                assert await tables_with(opened, word) == set()
            assert len(held) == 1 or session_id in waiting
        await pair.two.both()
        newest = next(reversed(last), "")
        for word, (state, session_id) in last.items():
            (room,) = await pair.holders(session_id)
            store = pair.stores[room]
            # The blow may have fallen when the next move had been made and not been told of.
            assert word == newest or room is _ROOM_AFTER[state]
            assert len(await store.branch(session_id)) == MESSAGES
            assert [one.text for one in await store.memories.select() if word in one.text] == [
                f"It is {word}."
            ]
        for store in (opened, private):
            assert await store.moves.waiting() == []
            assert (await store.verify()).problems == ()
            for session in await store.list_sessions():
                await store.erase_session(session.id)
        await pair.two.desk.close()


class MovingDocuments(Scenario):
    """As for sessions; the session that cites the document stays in the open room, without its text."""

    name = "move documents"
    steps = 4
    moment_s = 0.02

    async def act(self, given: str, say: Say) -> None:
        pair = await Pair.open(self.place)
        await pair.two.both()
        store = pair.stores[RoomKind.OPEN]
        folder = await store.documents.watch("~", "/home/me")
        say("open")
        for n in range(10_000):
            # The room remembers the places of files that left it, also after a kill: each has its own.
            word = f"zeppelin{secrets.token_hex(4)}x"
            place = f"/home/me/{word}.txt"
            new = read(place, f"It is {word}.", "More.", folder=folder.id, content=word.encode())
            document = await shelved(store, new, summary=f"About {word}.")
            await asked_about(store, document)
            say("stored", word, document)
            await pair.two.rooms.move_document(document, RoomKind.PRIVATE)
            say("private", word, document)
            if n % 2:
                await pair.two.rooms.move_document(document, RoomKind.OPEN)
                say("back", word, document)

    async def look(self, said: Sequence[Said]) -> None:
        last = {words[1]: (words[0], words[2]) for words in said if len(words) == 3}
        pair = await Pair.open(self.place)
        opened, private = pair.stores[RoomKind.OPEN], pair.stores[RoomKind.PRIVATE]
        waiting = {move.item_id for store in (opened, private) for move in await store.moves.waiting()}
        assert len(waiting) <= 1
        for word, (_, document) in last.items():
            held = await self._holders(pair, document)
            if RoomKind.OPEN not in held:
                assert await tables_with(opened, word) == set()
            assert len(held) == 1 or document in waiting
        await pair.two.both()
        newest = next(reversed(last), "")
        for word, (state, document) in last.items():
            (room,) = await self._holders(pair, document)
            store = pair.stores[room]
            # The blow may have fallen when the next move had been made and not been told of.
            assert word == newest or room is _ROOM_AFTER[state]
            assert await store.documents.text(document) == f"It is {word}.\nMore."
            assert await store.documents.content(document) == word.encode()
            assert len(await store.documents.vectors.of(MODEL, sessions=[document])) == 2
            place = f"/home/me/{word}.txt"
            left = await opened.documents.excluded([place])
            assert left == (frozenset() if room is RoomKind.OPEN else {place})
        for store in (opened, private):
            assert await store.moves.waiting() == []
            assert (await store.verify()).problems == ()
            await store.documents.erase([one.id for one in await store.documents.list()])
        for session in await opened.list_sessions():
            await opened.erase_session(session.id)
        await pair.two.desk.close()

    async def _holders(self, pair: Pair, document: str) -> list[RoomKind]:
        found = []
        for room, store in pair.stores.items():
            with suppress(DocumentNotFound):
                await store.documents.get(document)
                found.append(room)
        return found
