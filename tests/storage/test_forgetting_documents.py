"""After a document is removed or forgotten no table, no page, used or free, and no log holds a word of it."""

from datetime import timedelta

import pytest

from memory.documents.entities import NewDocument
from memory.entities import NewMessage, NewSession, Target
from memory.errors import MemoryNotFound
from memory.storage.connection import Connection
from memory.storage.store import Store
from models.messages import Role
from tests.contract.reading import MODEL, asked_about, read, shelved
from tests.storage.conftest import Place, database_of
from tests.storage.test_erasure import holding
from tests.storage.test_forgetting import pages_with

WORD = "zeppelin"
FOLDER = "/home/me/docs"
PLACE = f"{FOLDER}/{WORD}.txt"
SECRETS = (WORD, WORD.title(), "seppuku", "\u98a8\u8239\u98db\u884c")
VECTOR = bytes([7]) * 64


def about(folder: str | None = None, project: str | None = "Airships") -> NewDocument:
    return read(
        PLACE,
        f"The {WORD} leaks. seppuku",
        f"\u98a8\u8239\u98db\u884c {WORD}",
        title=f"{WORD.title()} manual",
        author=f"Count {WORD.title()}",
        folder=folder,
        project=project,
        content=f"raw {WORD}".encode(),
    )


async def plant(store: Store) -> tuple[str, str, str]:
    """A document with the word in everything that is made of it: its id, and a session that cites it; and a
    document without the word."""
    folder = await store.documents.watch(FOLDER, FOLDER, project="Airships")
    document = await shelved(store, about(folder.id), summary=f"A {WORD}.")
    chunks = await store.documents.chunks(document)
    await store.documents.vectors.put("n", [(chunks[0].id, [VECTOR])])
    session, *_ = await asked_about(store, document)
    await store.jobs.add("summarise_document", document)
    other = await shelved(store, read("/home/me/heron.txt", "Herons wade."), summary="Waders.")
    await asked_about(store, other)
    return document, session.id, other


async def tables_with(store: Store, *words: str) -> set[str]:
    return await database_of(store).read(lambda conn: holding(conn, *words))


async def check_gone(store: Store, place: Place, document: str, session: str, other: str) -> None:
    assert await tables_with(store, *SECRETS, document) <= {"document_folders"}
    assert pages_with(place, *(word.encode() for word in SECRETS), VECTOR) == 0
    assert [one.preface for one in await store.branch(session)] == ["", ""]
    assert await store.context.epochs(session, MODEL) == []
    # What has nothing to do with it is as before.
    assert await store.documents.text(other) == "Herons wade."
    assert len((await store.documents.get(other)).sessions) == 1
    assert (await store.verify()).problems == ()


async def test_nothing_of_a_removed_document_is_left(store: Store, place: Place) -> None:
    document, session, other = await plant(store)
    assert pages_with(place, *(word.encode() for word in SECRETS), VECTOR) > 0
    erased = await store.documents.erase([document], for_good=True)
    assert (erased.documents, erased.chunks, erased.vectors, erased.summaries) == (1, 2, 3, 1)
    assert (erased.citations, erased.jobs, erased.recalled_in) == (1, 1, (session,))
    assert erased.verified
    await check_gone(store, place, document, session, other)
    await store.close()
    assert pages_with(place, *(word.encode() for word in SECRETS), VECTOR) == 0


@pytest.mark.parametrize("how", ["id", "prefix", "project", "about", "about one of its words"])
async def test_nothing_of_a_forgotten_document_is_left(store: Store, place: Place, how: str) -> None:
    document, session, other = await plant(store)
    target = {
        "id": Target(ids=(document,)),
        "prefix": Target(ids=(document[:-1],)),
        "project": Target(project="Airships"),
        "about": Target(about=WORD),
        "about one of its words": Target(about="seppuku"),
    }[how]
    before = await tables_with(store, *SECRETS, document)
    tried = await store.forget(target, dry_run=True)
    assert await tables_with(store, *SECRETS, document) == before
    assert [one.id for one in tried.documents] == [document]
    done = await store.forget(target)
    assert done == tried
    assert done.erased.verified
    assert (done.erased.documents, done.erased.chunks) == (1, 2)
    assert session in done.erased.recalled_in
    await check_gone(store, place, document, session, other)
    # A scan does not bring back what was forgotten, and a forgotten project watches nothing.
    assert await store.documents.excluded([PLACE]) == {PLACE}
    assert [one.location for one in await store.documents.folders()] == ([] if how == "project" else [FOLDER])


async def test_other_passages_of_a_document_that_is_forgotten_go_from_prompts_too(store: Store) -> None:
    # The passage in the prompt is the first paragraph; the word is only in the second.
    document = await shelved(store, read("/home/me/a.txt", "It is a plain passage.", f"The {WORD}."))
    session, *_ = await asked_about(store, document)
    done = await store.forget(Target(about=WORD))
    assert done.erased.recalled_in == (session.id,)
    assert await tables_with(store, "plain passage", "About a.txt") == set()


async def test_everything_includes_documents(store: Store, place: Place) -> None:
    document, *_ = await plant(store)
    done = await store.forget(Target(everything=True))
    assert done.erased.verified
    assert (done.erased.documents, done.erased.chunks) == (2, 3)
    assert await tables_with(store, *SECRETS, document, "Heron", "me/docs") == set()
    assert pages_with(place, *(word.encode() for word in SECRETS), VECTOR, b"Heron") == 0
    assert await store.documents.excluded([PLACE]) == frozenset()


async def test_a_document_is_forgotten_by_when_it_was_added(store: Store) -> None:
    document, _, other = await plant(store)
    added = (await store.documents.get(document)).added_at
    assert (await store.forget(Target(before=added), dry_run=True)).documents == ()
    tried = await store.forget(Target(about=WORD, since=added + timedelta(days=1)), dry_run=True)
    assert tried.documents == ()
    done = await store.forget(Target(since=added))
    assert {one.id for one in done.documents} == {document, other}


async def test_an_id_of_nothing_is_that_of_no_document_either(store: Store) -> None:
    with pytest.raises(MemoryNotFound):
        await store.forget(Target(ids=("0" * 36,)))


@pytest.mark.parametrize(
    "leftover",
    [
        "INSERT INTO later (document_id) VALUES ('{document}')",
        "INSERT INTO chunks_fts (rowid, context, text) VALUES ({row}, 'x', 'zeppelin')",
        "INSERT INTO chunks_pieces (rowid, content) VALUES ({row}, 'zeppelin')",
    ],
)
async def test_a_leftover_of_a_document_is_noticed(store: Store, leftover: str) -> None:
    document = await shelved(store, about())

    def betray(conn: Connection) -> None:
        conn.execute("CREATE TABLE later (document_id TEXT) STRICT")
        (row,) = conn.execute("SELECT min(seq) FROM chunks").fetchone()
        statement = leftover.format(document=document, row=row)
        conn.execute(f"CREATE TRIGGER betrayal AFTER DELETE ON documents BEGIN {statement}; END")

    await database_of(store).write(betray)
    assert not (await store.documents.erase([document])).verified


async def test_a_deleted_project_leaves_its_documents_without_one(store: Store) -> None:
    document, *_ = await plant(store)
    await store.projects.rename("Airships", "Balloons")
    assert (await store.documents.get(document)).project == "Balloons"
    assert [one.id for one in await store.documents.list(project="balloons")] == [document]
    await store.projects.archive("Balloons")
    assert (await store.documents.get(document)).project == "Balloons"
    await store.projects.delete("Balloons")
    assert (await store.documents.get(document)).project is None
    assert [one.project for one in await store.documents.folders()] == [None]
    assert await tables_with(store, "Balloons", "Airships") == set()


async def test_a_conversation_that_quotes_a_removed_document_stays(store: Store) -> None:
    document = await shelved(store, about())
    session, said = await store.create_session(
        NewSession("t"), NewMessage(Role.USER, f"It says: the {WORD} leaks.")
    )
    assert (await store.documents.erase([document])).verified
    assert [one.id for one in await store.branch(session.id)] == [said.id]
    assert [one.content for one in await store.branch(session.id)] == [f"It says: the {WORD} leaks."]
