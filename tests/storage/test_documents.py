"""Documents as rows: what is stored, what an edit changes, and that a removed one leaves nothing."""

import hashlib

import pytest

from memory.documents.chunking import chunks
from memory.documents.entities import (
    DocumentError,
    DocumentState,
    DocumentSummary,
    FileFacts,
    Heading,
    NewDocument,
    OnMissing,
    ParsedText,
    StoredCitation,
    StoredPassage,
)
from memory.entities import NewMessage, NewSession
from memory.errors import AmbiguousId, DocumentNotFound, FolderNotFound
from memory.storage.store import Store
from models.messages import Role

VECTOR = b"\0" * 16


def read(
    text: str, path: str = "/files/a.md", *, document: str | None = None, title: str = "Guide", **rest: object
) -> NewDocument:
    parsed = ParsedText(text, headings=(Heading(1, title, 0),))
    return NewDocument(
        path=path,
        facts=FileFacts(path, len(text), 1_000_000, 1, hash(path) % 1000),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        media_type="text/markdown",
        parser="markdown-1",
        title=title,
        parsed=parsed,
        chunks=tuple(chunks(parsed, "text/markdown")),
        document=document,
        **rest,  # type: ignore[arg-type]
    )


def paragraphs(*words: str) -> str:
    """Returns a text with one long paragraph for each word, too long to share a chunk."""
    return "# Guide\n\n" + "\n\n".join(f"The {word} stands here. " * 40 for word in words)


async def talk(store: Store) -> tuple[str, str, str]:
    session, said = await store.create_session(NewSession("t"), NewMessage(Role.USER, "what stands here?"))
    reply = await store.append_message(session.id, NewMessage(Role.ASSISTANT, "The oak stands here."))
    return session.id, said.id, reply.id


async def test_a_chunk_is_its_characters_of_the_text(store: Store) -> None:
    (document,) = await store.documents.put([read(paragraphs("oak", "elm", "ash"))])
    text = await store.documents.text(document)
    assert text is not None
    found = await store.documents.chunks(document)
    assert len(found) > 2
    for number, one in enumerate(found):
        assert one.number == number
        assert text[one.begin : one.end] == one.text


async def test_an_edit_keeps_the_chunks_and_vectors_of_other_paragraphs(store: Store) -> None:
    words = [f"tree{n}" for n in range(12)]
    (document,) = await store.documents.put([read(paragraphs(*words))])
    before = await store.documents.chunks(document)
    await store.documents.vectors.put("m", [(one.id, [VECTOR]) for one in before])
    words[6] = "shrub"
    (again,) = await store.documents.put([read(paragraphs(*words), document=document)])
    after = await store.documents.chunks(document)
    assert again == document
    kept = {one.id for one in before} & {one.id for one in after}
    assert len(before) - len(kept) <= 4
    missing = await store.documents.vectors.unembedded("m", limit=100)
    assert {one.id for one in missing} == {one.id for one in after} - kept
    assert any("shrub" in one.text for one in after if one.id not in kept)


async def test_a_file_that_cannot_be_read_is_a_document_with_an_error(store: Store) -> None:
    broken = NewDocument(
        path="bad.pdf",
        facts=FileFacts("/files/bad.pdf", 9, 1),
        sha256="0",
        media_type="application/pdf",
        parser="pdf-1",
        title="bad.pdf",
        error=DocumentError("damaged"),
    )
    (document,) = await store.documents.put([broken])
    found = await store.documents.get(document)
    assert (found.state, found.error, found.chunks) == (DocumentState.FAILED, DocumentError("damaged"), 0)
    assert await store.documents.counts() == {"failed": 1}


async def test_a_document_is_found_by_path_id_and_prefix(store: Store) -> None:
    one, two = await store.documents.put([read("x", "/a.md"), read("y", "/b.md")])
    assert (await store.documents.get("/a.md")).id == one
    assert (await store.documents.get(two)).id == two
    with pytest.raises(AmbiguousId):
        await store.documents.get(one[:8])
    with pytest.raises(DocumentNotFound):
        await store.documents.get("/c.md")


async def test_documents_may_exchange_their_places(store: Store) -> None:
    one, two = await store.documents.put([read("x", "/a.md"), read("y", "/b.md")])
    await store.documents.place(
        [(one, "/b.md", FileFacts("/b.md", 1, 2), None), (two, "/a.md", FileFacts("/a.md", 1, 2), None)]
    )
    assert (await store.documents.get("/a.md")).id == two
    assert (await store.documents.get("/b.md")).id == one


async def test_a_missing_file_that_is_back_is_searched_again(store: Store) -> None:
    (one,) = await store.documents.put([read("x", "/a.md")])
    await store.documents.set_state([one], DocumentState.ARCHIVED)
    assert [entry.searched for entry in await store.documents.evidence.documents()] == [False]
    await store.documents.place([(one, "/c.md", FileFacts("/c.md", 1, 2), None)])
    assert (await store.documents.get(one)).state is DocumentState.INDEXED
    assert [entry.searched for entry in await store.documents.evidence.documents()] == [True]


async def test_a_page_is_the_text_between_two_page_marks(store: Store) -> None:
    text = "first page\n\nsecond page\n\nthird"
    parsed = ParsedText(text, pages=(0, 12, 25))
    new = NewDocument("p.pdf", FileFacts("/p.pdf", 1, 1), "0", "application/pdf", "pdf-1", "P", parsed)
    (document,) = await store.documents.put([new])
    assert [await store.documents.text(document, page) for page in (1, 2, 3, 4, 0)] == [
        "first page",
        "second page",
        "third",
        None,
        None,
    ]
    assert (await store.documents.get(document)).pages == 3


async def test_a_folder_keeps_its_documents_when_it_is_no_longer_watched(store: Store) -> None:
    folder = await store.documents.watch("d", "/d", project="Trees", on_missing=OnMissing.ARCHIVE)
    (one,) = await store.documents.put([read("x", "/d/a.md", folder=folder.id, project="Trees")])
    again = await store.documents.watch("d", "/d", include=["*.md"])
    assert (again.id, again.include, again.on_missing) == (folder.id, ("*.md",), OnMissing.KEEP)
    await store.documents.scanned(folder.id, [("/d/b.bin", "unknown_format")])
    assert (await store.documents.folder("/d")).skipped == (("/d/b.bin", "unknown_format"),)
    await store.documents.unwatch(folder.id)
    found = await store.documents.get(one)
    assert (found.folder, found.project) == (None, "Trees")
    with pytest.raises(FolderNotFound):
        await store.documents.folder("/d")


async def test_what_a_reply_cites_is_stored_with_it(store: Store) -> None:
    session, said, reply = await talk(store)
    (document,) = await store.documents.put([read("The oak stands here.")])
    known = await store.documents.get(document)
    await store.documents.bind(session, [document])
    passage = StoredPassage(
        1, document, "Guide", None, (1, 1), 0, 20, (), "The oak stands here.", known.sha256, said
    )
    await store.documents.put_passages(session, [passage])
    assert await store.documents.passages(session) == [passage]
    citation = StoredCitation(
        1, document, "Guide", None, (1, 1), 0, 20, "The oak stands here.", True, known.sha256
    )
    await store.documents.put_citations(session, reply, [citation], [(3, 9)])
    cited = await store.documents.cited(reply)
    assert cited.citations == (citation,)
    assert cited.unsupported == ((3, 9),)
    texts = await store.evidence.texts(range(1, 10))
    assert {text.source.message: text.source.supported for text in texts} == {said: True, reply: False}
    assert {text.source.message: text.source.by_model for text in texts} == {said: False, reply: True}
    await store.documents.put([read("The oak is gone.", document=document)])
    assert [one.current for one in (await store.documents.cited(reply)).citations] == [False]
    assert (await store.documents.get(document)).sessions == (session,)


async def test_a_removed_document_leaves_nothing(store: Store) -> None:
    session, said, reply = await talk(store)
    one, other = await store.documents.put(
        [read("The zeppelin lands.", "/a.md", title="Airships"), read("The oak stands.", "/b.md")]
    )
    found = await store.documents.chunks(one)
    await store.documents.vectors.put("m", [(chunk.id, [VECTOR]) for chunk in found])
    await store.documents.put_summary(
        one, DocumentSummary("A zeppelin.", True, None), (await store.documents.get(one)).sha256
    )
    await store.documents.bind(session, [one])
    passage = StoredPassage(1, one, "Airships", None, (1, 1), 0, 19, (), "The zeppelin lands.", "0", said)
    await store.documents.put_passages(session, [passage])
    await store.documents.put_citations(
        session, reply, [StoredCitation(1, one, "Airships", None, (1, 1), 0, 19, "x", True, "0")], []
    )
    erased = await store.documents.erase([one])
    assert erased.verified
    assert (erased.documents, erased.chunks, erased.vectors, erased.citations) == (1, 1, 1, 1)
    assert await store.documents.passages(session) == []
    assert (await store.documents.cited(reply)).citations == ()
    assert await store.documents.evidence.postings(["zeppelin", "airship"], at_most=10) == []
    assert [entry.id for entry in await store.documents.evidence.documents()] == [other]
    assert (await store.documents.erase([one])).documents == 0


async def test_a_stem_is_found_in_text_and_context_and_pieces(store: Store) -> None:
    (one,) = await store.documents.put([read("The boats sail to 京都駅 tomorrow.", title="Sailing")])
    (chunk,) = await store.documents.evidence.entries()
    assert (chunk.document, chunk.number, chunk.page) == (one, 0, None)
    found = {
        p.term: p for p in await store.documents.evidence.postings(["boat", "sail", "京都駅"], at_most=10)
    }
    assert list(found["boat"].text) == [chunk.seq]
    assert list(found["sail"].text) == [chunk.seq]
    assert list(found["sail"].context) == [chunk.seq]
    assert list(found["京都駅"].text) == [chunk.seq]


async def test_changes_name_what_was_written(store: Store) -> None:
    begun = (await store.documents.evidence.changes(None)).version
    (one,) = await store.documents.put([read("The oak stands.")])
    changes = await store.documents.evidence.changes(begun)
    (chunk,) = await store.documents.evidence.entries_of(changes.chunks)
    assert changes.documents == {one}
    await store.documents.vectors.put("m", [(chunk.id, [VECTOR])])
    page = await store.documents.vectors.scan("m")
    assert (list(page.owners), list(page.sessions), page.data) == ([chunk.id], [one], VECTOR)
    await store.documents.erase([one])
    assert (await store.documents.evidence.changes(changes.version)).documents == {one}
