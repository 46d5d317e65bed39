"""Documents in a room, and conversations that cite them."""

import hashlib

from memory.context.entities import NewEpoch, TierUse, TurnRecord
from memory.documents.entities import (
    DocumentSummary,
    FileFacts,
    NewChunk,
    NewDocument,
    ParsedText,
    StoredCitation,
    StoredPassage,
)
from memory.entities import MessagePatch, NewMessage, NewSession, Session
from memory.storage.store import Store
from models.messages import Role

MODEL = "m"


def read(
    location: str,
    *paragraphs: str,
    title: str = "",
    project: str | None = None,
    folder: str | None = None,
    document: str | None = None,
    author: str = "",
    content: bytes | None = None,
) -> NewDocument:
    """A document of these paragraphs, each of which is a chunk."""
    text = "\n".join(paragraphs)
    chunks, begin = [], 0
    for line, paragraph in enumerate(paragraphs, start=1):
        chunks.append(NewChunk(begin, begin + len(paragraph), None, (line, line)))
        begin += len(paragraph) + 1
    return NewDocument(
        path=location,
        facts=FileFacts(location, len(text), 1_000),
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        media_type="text/plain",
        parser="plain-1",
        title=title or location.rpartition("/")[2],
        parsed=ParsedText(text, author=author),
        chunks=tuple(chunks),
        project=project,
        folder=folder,
        content=content,
        document=document,
    )


async def shelved(store: Store, new: NewDocument, *, summary: str = "") -> str:
    """Stores a document with a vector for each chunk, and its summary; returns its id."""
    (document,) = await store.documents.put([new])
    chunks = await store.documents.chunks(document)
    await store.documents.vectors.put(
        MODEL, [(one.id, [bytes([number]) * 8]) for number, one in enumerate(chunks)]
    )
    if summary:
        made = DocumentSummary(summary, fallback=False, model=MODEL)
        await store.documents.put_summary(document, made, new.sha256)
        await store.documents.put_summary_part(document, b"part", made)
    return document


async def asked_about(
    store: Store, document: str, text: str = "What does it say?"
) -> tuple[Session, str, str]:
    """A session about a document, and the ids of its question, whose preface contains the first chunk, and of
    the reply that cites it."""
    session, said = await store.create_session(NewSession(text), NewMessage(Role.USER, text))
    reply = await store.append_message(session.id, NewMessage(Role.ASSISTANT, "As it says [1]."))
    await store.documents.bind(session.id, [document])
    known, chunk = await store.documents.get(document), (await store.documents.chunks(document))[0]
    passage = StoredPassage(
        marker=1,
        document=document,
        title=known.title,
        page=None,
        lines=chunk.lines,
        begin=chunk.begin,
        end=chunk.end,
        heading=(),
        text=chunk.text,
        sha256=known.sha256,
        message=said.id,
    )
    await store.documents.put_passages(session.id, [passage])
    citation = StoredCitation(
        marker=1,
        document=document,
        title=known.title,
        page=None,
        lines=chunk.lines,
        begin=chunk.begin,
        end=chunk.end,
        quote=chunk.text,
        verified=True,
        sha256=known.sha256,
    )
    await store.documents.put_citations(session.id, reply.id, [citation], [(0, 5)])
    await store.update_message(said.id, MessagePatch(preface=f"[1] {chunk.text}"))
    head = (TierUse("documents", 3, (document,)),)
    made = await store.context.add_epoch(NewEpoch(session.id, MODEL, f"About {known.title}", head, said.id))
    parts = (TierUse("document", 5, (document,)), TierUse("recent", 5, (said.id,)))
    await store.context.record_turn(TurnRecord(reply.id, session.id, made.id, MODEL, "00", 13, parts))
    return await store.get_session(session.id), said.id, reply.id
