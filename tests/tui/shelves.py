"""Documents for tests of the interface, stored as if they had been read from files."""

import hashlib
from collections.abc import Sequence

from memory.documents.entities import (
    CitedReply,
    DocumentError,
    DocumentSummary,
    FileFacts,
    Heading,
    NewChunk,
    NewDocument,
    OnMissing,
    ParsedText,
    StoredCitation,
)
from memory.entities import Session
from memory.storage.store import Store
from tests.stores import InMemoryStore
from tests.tui.desk import talk

PAPERS = "/home/ada/papers"
FERRIES = """Ferries of the north

Times in summer

The ferry leaves Bodø at eight and reaches Moskenes at noon.
In strong wind it stays in the harbour.

Times in winter

In winter there is one ferry a day, at ten.
"""
TIDES = (
    "The moon raises the tides.\n\n"
    + "Twice a day the water rises, and twice it falls. " * 12
    + "\n\nAt new moon they are highest: spring tides.\n"
)


async def shelve(
    store: Store,
    path: str,
    text: str = "",
    *,
    title: str = "",
    headings: Sequence[str] = (),
    pages: tuple[int, ...] = (),
    folder: str | None = None,
    error: DocumentError | None = None,
    summary: DocumentSummary | None = None,
) -> str:
    """Stores a document whose paragraphs are its chunks; returns its id. Without a text it was not read."""
    parsed: ParsedText | None = None
    chunks: list[NewChunk] = []
    at = 0
    for piece in text.split("\n\n") if text else ():
        begin = text.index(piece, at)
        at = begin + len(piece)
        page = sum(one <= begin for one in pages) or None
        lines = (text.count("\n", 0, begin) + 1, text.count("\n", 0, max(at - 1, begin)) + 1)
        chunks.append(NewChunk(begin, at, page, lines))
    if text:
        found = tuple(Heading(1 if not n else 2, one, text.index(one)) for n, one in enumerate(headings))
        parsed = ParsedText(text, pages, found)
    digest = hashlib.sha256(text.encode() or path.encode()).hexdigest()
    name = path.rpartition("/")[2]
    (document_id,) = await store.documents.put(
        [
            NewDocument(
                path=path,
                facts=FileFacts(path, max(len(text), 2_000), 1_770_000_000_000_000_000),
                sha256=digest,
                media_type="text/markdown",
                parser="plain-1",
                title=title or name,
                parsed=parsed,
                chunks=tuple(chunks),
                error=error,
                folder=folder,
            )
        ]
    )
    if summary is not None:
        await store.documents.put_summary(document_id, summary, digest)
    return document_id


async def library(store: InMemoryStore) -> dict[str, str]:
    """A watched folder with two documents, one of which cannot be read, and two single files; ids by name."""
    folder = await store.documents.watch(PAPERS, PAPERS, exclude=("drafts/",), on_missing=OnMissing.ARCHIVE)
    await store.documents.scanned(folder.id, [("drafts/old.md", "ignored")])
    return {
        "ferries": await shelve(
            store,
            f"{PAPERS}/ferries.md",
            FERRIES,
            title="Ferries of the north",
            headings=("Ferries of the north", "Times in summer", "Times in winter"),
            folder=folder.id,
            summary=DocumentSummary("When the ferries to the islands go.", fallback=True, model=None),
        ),
        "scan": await shelve(store, f"{PAPERS}/scan.pdf", folder=folder.id, error=DocumentError("pictures")),
        "tides": await shelve(
            store, "/home/ada/tides.pdf", TIDES, title="Tides", pages=(0, TIDES.index("At new moon"))
        ),
    }


async def cite(
    store: Store, reply_id: str, session_id: str, document_id: str, quotes: Sequence[tuple[str, bool]]
) -> CitedReply:
    """Stores citations of a document for a reply: quotations, and whether they are verified."""
    document = await store.documents.get(document_id)
    text = await store.documents.text(document_id) or ""
    citations = []
    for marker, (quote, verified) in enumerate(quotes, 1):
        begin = max(text.find(quote), 0)
        line = text.count("\n", 0, begin) + 1
        citations.append(
            StoredCitation(
                marker=marker,
                document=document_id,
                title=document.title,
                page=None,
                lines=(line, line),
                begin=begin,
                end=begin + len(quote),
                quote=quote if verified else "",
                verified=verified,
                sha256=document.sha256,
            )
        )
    await store.documents.put_citations(session_id, reply_id, citations, [(0, 20)])
    return await store.documents.cited(reply_id)


async def cited_talk(store: InMemoryStore, document_id: str) -> Session:
    """A conversation about a document, whose reply cites it twice; the second quotation is not in it."""
    session = await talk(
        store,
        "When do we go?",
        [("When does the ferry leave?", "Everybody knows it. At eight [1]. Or ten [2].")],
    )
    await store.documents.bind(session.id, [document_id])
    reply = (await store.branch(session.id))[-1]
    await cite(
        store,
        reply.id,
        session.id,
        document_id,
        [("The ferry leaves Bodø at eight", True), ("The ferry never leaves", False)],
    )
    return await store.get_session(session.id)
