"""All that can be read of a damaged room comes into a new one."""

import random
from pathlib import Path

import pytest

from memory.entities import NewMessage, NewSession, RoomKind, SessionPatch
from memory.errors import NothingReadable, NothingToSalvage
from memory.storage.salvage import salvage
from models.messages import Role
from tests.contract.reading import MODEL, asked_about, shelved
from tests.contract.reading import read as read_file
from tests.unit.vault.conftest import PASSPHRASE
from tests.upkeep.conftest import Home

SESSIONS, EACH = 20, 15


async def filled(made: Home) -> dict[str, str]:
    """What was said, by the ids of the messages; some of it long, so that it takes more than a page."""
    store = await made.open()
    said = {m.id: m.content for s in await store.list_sessions() for m in await store.branch(s.id)}
    for n in range(SESSIONS):
        first = NewMessage(Role.USER, f"session {n} begins")
        session, message = await store.create_session(NewSession(f"t{n}", project="garden"), first)
        said[message.id] = first.content
        await store.update_session(session.id, SessionPatch(starred=n == 0))
        for m in range(1, EACH):
            words = f"session {n} message {m} " + f"word{n}x{m} " * (3000 if m == 7 else 60)
            added = await store.append_message(session.id, NewMessage(Role.USER, words))
            said[added.id] = words
    await store.close()
    return said


def spoil(path: Path, share: float, seed: int) -> int:
    """Flips one bit in some of the pages; how many."""
    chance = random.Random(seed)
    data = bytearray(path.read_bytes())
    pages = range(len(data) // 4096)
    chosen = chance.sample(pages, max(1, round(len(pages) * share)))
    for page in chosen:
        data[page * 4096 + chance.randrange(4096)] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    return len(chosen)


async def read(made: Home) -> dict[str, str]:
    """All messages of all sessions, by id. The room must be sound."""
    store = await made.open()
    found = {m.id: m.content for s in await store.list_sessions() for m in await store.branch(s.id)}
    problems = (await store.verify()).problems
    await store.close()
    assert problems == ()
    return found


async def test_a_room_with_spoilt_pages_gives_what_is_in_the_others(made: Home) -> None:
    said = await filled(made)
    path = made.rooms / "open.db"
    spoilt = spoil(path, 0.02, seed=5)
    damaged = path.read_bytes()
    done = await made.repairs().salvage(RoomKind.OPEN, made.key())
    found = await read(made)
    assert done.salvaged.bad_pages == spoilt
    assert found.items() <= said.items()
    assert len(found) == done.salvaged.messages
    # Each lost page can take the rows that begin in it, and the one long message that passes through it.
    assert len(found) >= 0.85 * len(said)
    assert (done.kept / "open.db").read_bytes() == damaged
    assert await made.said(RoomKind.PRIVATE) == ["a secret"]


async def test_a_room_whose_beginning_is_gone_loses_no_message(made: Home) -> None:
    """The first page holds the schema: SQLite reads nothing of such a file."""
    said = await filled(made)
    path = made.rooms / "open.db"
    data = bytearray(path.read_bytes())
    data[:4096] = bytes(4096)
    path.write_bytes(data)
    done = await made.repairs().salvage(RoomKind.OPEN, made.key())
    assert await read(made) == said
    assert (done.salvaged.sessions, done.salvaged.placeholders) == (SESSIONS + 1, 0)


async def test_the_words_that_are_in_the_log_alone_come_along(made: Home) -> None:
    store = await made.open()
    await store.create_session(NewSession("late"), NewMessage(Role.USER, "in the log"))
    for name in ("open.db", "open.db-wal"):
        (made.folder / name).write_bytes((made.rooms / name).read_bytes())
    await store.close()
    found = salvage(made.folder / "open.db", made.key(), made.folder / "new.db", made.clock.now())
    assert (found.messages, found.expected, found.bad_pages) == (3, 3, 0)


@pytest.mark.parametrize("whole", [True, False])
async def test_sessions_on_their_way_arrive_after_a_rescue(made: Home, whole: bool) -> None:
    """In the room that they leave they wait as a parcel; the room that they go to holds the key to it."""
    opened, private = await made.open(), await made.open(RoomKind.PRIVATE)
    sealer = await private.moves.sealer()
    coming, going = (await opened.list_sessions())[0], (await private.list_sessions())[0]
    await opened.moves.depart(coming.id, RoomKind.PRIVATE, sealer)
    await private.moves.depart(going.id, RoomKind.OPEN, sealer)
    await opened.close()
    await private.close()
    path = made.rooms / "private.db"
    if not whole:
        path.write_bytes(bytes(4096) + path.read_bytes()[4096:])
    await made.repairs().salvage(RoomKind.PRIVATE, made.key(RoomKind.PRIVATE), always=whole)

    opened, private = await made.open(), await made.open(RoomKind.PRIVATE)
    sealer = await private.moves.sealer()
    for source, target, session in ((opened, private, coming), (private, opened, going)):
        assert [one.item_id for one in await source.moves.waiting()] == [session.id]
        assert await target.moves.arrive(sealer.unseal(await source.moves.parcel(session.id), session.id))
        await source.moves.delivered(session.id)
        assert await target.branch(session.id)
    await opened.close()
    await private.close()


async def test_what_a_person_made_beside_messages_comes_along(made: Home) -> None:
    said = await filled(made)
    found = await made.repairs().salvage(RoomKind.OPEN, made.key(), always=True)
    assert found.salvaged.rows["projects"] == 1
    assert await read(made) == said
    store = await made.open()
    starred = [s for s in await store.list_sessions() if s.starred]
    assert [(s.title, s.project) for s in starred] == [("t0", "garden")]
    assert [hit.message.content for hit in await store.search('"session 3 begins"')] == ["session 3 begins"]
    await store.close()


async def test_a_sound_room_is_left_alone(made: Home) -> None:
    before = {file: file.read_bytes() for file in made.rooms.iterdir()}
    with pytest.raises(NothingToSalvage):
        await made.repairs().salvage(RoomKind.OPEN, made.key())
    after = {file: file.read_bytes() for file in made.rooms.iterdir()}
    assert after == before


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(40))
async def test_many_rooms_with_spoilt_pages(made: Home, seed: int) -> None:
    said = await filled(made)
    spoil(made.rooms / "open.db", 0.01 + seed / 200, seed)
    await made.repairs().salvage(RoomKind.OPEN, made.key())
    assert (await read(made)).items() <= said.items()


@pytest.mark.parametrize("gone", ["every page", "empty", "missing"])
async def test_where_nothing_can_be_read_no_empty_room_is_put_in_place(made: Home, gone: str) -> None:
    path = made.rooms / "open.db"
    if gone == "every page":
        spoil(path, 1.0, seed=1)
    elif gone == "empty":
        path.write_bytes(b"")
    else:
        path.unlink()
    before = {file: file.read_bytes() for file in made.rooms.iterdir()}
    assert await made.repairs().damaged(RoomKind.OPEN, made.key())
    with pytest.raises(NothingReadable):
        await made.repairs().salvage(RoomKind.OPEN, made.key())
    assert {file: file.read_bytes() for file in made.rooms.iterdir()} == before
    assert [folder.name for folder in made.folder.iterdir() if folder.is_dir()] == ["rooms"]


@pytest.mark.parametrize("gone", ["private.keys*", "private.db", "private*"])
async def test_a_private_room_that_is_lost_can_be_begun_anew(made: Home, gone: str) -> None:
    with pytest.raises(NothingToSalvage):
        await made.repairs().new_private_room(PASSPHRASE)
    for file in made.rooms.glob(gone):
        file.unlink()
    left = {file.name: file.read_bytes() for file in made.rooms.glob("private*")}
    kept = await made.repairs().new_private_room(PASSPHRASE)
    assert {file.name: file.read_bytes() for file in kept.glob("private*")} == left
    assert not made.vaults().private_missing()
    made.known = None
    assert made.keys.private is not None
    assert await made.said() == ["and beans", "tomatoes"]
    store = await made.open(RoomKind.PRIVATE, create=True)
    assert await store.list_sessions() == []
    await store.close()


async def with_documents(made: Home) -> dict[str, str]:
    """Documents of several pages with all that is made of them; their texts, by id."""
    store = await made.open()
    folder = await store.documents.watch("~", "/home/me", project="garden")
    texts = {}
    for n in range(12):
        parts = [f"Document {n} part {m}. " + f"word{n}x{m} " * 200 for m in range(12)]
        new = read_file(
            f"/home/me/{n}.txt", *parts, folder=folder.id, project="garden", content=bytes([n]) * 9000
        )
        document = await shelved(store, new, summary=f"About {n}.")
        texts[document] = "\n".join(parts)
    await asked_about(store, next(iter(texts)))
    await store.close()
    return texts


@pytest.mark.parametrize("how", ["whole", "without its beginning", "with spoilt pages"])
async def test_documents_come_back(made: Home, how: str) -> None:
    texts = await with_documents(made)
    path = made.rooms / "open.db"
    if how == "without its beginning":
        path.write_bytes(bytes(4096) + path.read_bytes()[4096:])
    elif how == "with spoilt pages":
        spoil(path, 0.03, seed=7)
    await made.repairs().salvage(RoomKind.OPEN, made.key(), always=how == "whole")
    store = await made.open()
    assert (await store.verify()).problems == ()
    found = {one.id: one for one in await store.documents.list()}
    got = {one: await store.documents.text(one) for one in found}
    assert got.items() <= texts.items()
    assert len(got) == len(texts) if how != "with spoilt pages" else 3 <= len(got) < len(texts)
    readable = set()
    for one in found.values():
        chunks = await store.documents.chunks(one.id)
        assert all(texts[one.id][chunk.begin : chunk.end] == chunk.text for chunk in chunks)
        readable |= {chunk.text.split(". ")[0] for chunk in chunks}
        # A document that lost some of its chunks is read again by the next scan.
        assert bool(one.parser) == (len(chunks) == 12)
        assert await store.documents.content(one.id) is not None
    hits = await store.documents.evidence.postings(["word3x4"], at_most=99)
    assert bool(hits) == ("Document 3 part 4" in readable)
    if how == "whole":
        first = found[next(iter(texts))]
        assert len(await store.documents.vectors.of(MODEL, sessions=[first.id])) == 12
        assert (first.project, first.summary.text if first.summary else "") == ("garden", "About 0.")
        assert len(await store.documents.passages(first.sessions[0])) == 1
        assert [one.location for one in await store.documents.folders()] == ["/home/me"]
    await store.close()
