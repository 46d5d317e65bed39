"""Search in the documents of one room, and the summaries of their parts and of the whole."""

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.documents.entities import (
    ALL_CHUNKS,
    ChunkPosting,
    DocumentHit,
    DocumentQuery,
    DocumentSummary,
    Grain,
)
from memory.documents.ranking import (
    LINES_AMONG,
    ChunkColumns,
    Library,
    Scores,
    Weights,
    best,
    everywhere,
    looked_for,
    names,
    score,
    subject,
)
from memory.recall.entities import QueryVectors
from memory.recall.words import carries_meaning, content_words, without_names
from memory.storage.documents import DocumentStore
from memory.storage.store import Store
from memory.summaries.summarise import Draft, Summariser
from memory.vectors.entities import Scope
from memory.vectors.indexing import IndexMirror

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_PAGE = 20_000
COMMON = 15_000
COMMON_SHARE = 0.25
FEW = 1_000
"""A stem in more chunks than the share `COMMON_SHARE` of the room (at least `FEW`, at most `COMMON`) is too
common to look up."""
NEAREST = 1_000
"""Chunks compared by meaning: the nearest ones; the others count as the farthest of these."""


def _within(query: DocumentQuery, columns: ChunkColumns, allowed: "NDArray[np.bool_]") -> tuple[int, int]:
    """Returns which chunks are read, by `seq`: all of them, unless documents are named."""
    return ALL_CHUNKS if query.documents is None else _span(columns, allowed)


def _span(columns: ChunkColumns, allowed: "NDArray[np.bool_]") -> tuple[int, int]:
    seqs = columns.seq[allowed]
    return (int(seqs.min()), int(seqs.max())) if len(seqs) else (0, 0)


@dataclass(frozen=True, slots=True)
class FoundChunks:
    """Hits, best first; `took_ms` covers embedding, search, ranking and loading. `semantic`: meaning took
    part."""

    hits: tuple[DocumentHit, ...]
    took_ms: float
    semantic: bool


class DocumentSearch:
    """Search in one room. Words always count as evidence; meaning does once `use` has set an index."""

    def __init__(
        self, store: Store, vectors: QueryVectors | None = None, weights: Weights | None = None
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._weights = weights or Weights()
        self._mirror: IndexMirror | None = None
        self._library = Library()
        self._version: int | None = None
        self._lock = asyncio.Lock()

    def use(self, mirror: IndexMirror) -> None:
        """Uses vectors as evidence from now on."""
        self._mirror = mirror

    async def search(self, query: DocumentQuery) -> Sequence[DocumentHit]:
        return (await self.answer(query)).hits

    async def answer(self, query: DocumentQuery) -> FoundChunks:
        """Returns the best hits for a query."""
        began = time.perf_counter()
        hits: tuple[DocumentHit, ...] = ()
        semantic = False
        if query.text.strip() and query.k > 0:
            hits, semantic = await self._answer(query)
        return FoundChunks(hits, 1000 * (time.perf_counter() - began), semantic)

    async def follow(self) -> None:
        """Applies the changes since the last call."""
        async with self._lock:
            if self._version is None:
                await self._read_all()
                return
            evidence = self._store.documents.evidence
            changes = await evidence.changes(self._version)
            if changes.chunks:
                self._library.replace(changes.chunks, await evidence.entries_of(changes.chunks))
            if changes.documents:
                self._library.replace_documents(
                    changes.documents, await evidence.documents(changes.documents)
                )
            self._version = changes.version

    async def _read_all(self) -> None:
        evidence = self._store.documents.evidence
        version = (await evidence.changes(None)).version
        after = 0
        while entries := await evidence.entries(after=after, limit=_PAGE):
            self._library.add(entries)
            after = entries[-1].seq
        self._library.replace_documents((), await evidence.documents())
        self._version = version

    async def _answer(self, query: DocumentQuery) -> tuple[tuple[DocumentHit, ...], bool]:
        # Among all documents, the question is embedded while words are looked up. Within some of them, names
        # that occur everywhere are found first.
        apart = query.documents is None
        embedding = asyncio.ensure_future(self._embedded(query.text)) if apart else None
        try:
            await self.follow()
            columns = self._library.columns
            if not len(columns):
                return (), False
            allowed = self._allowed(query, columns)
            postings = await self._postings(query, columns, allowed)
            if embedding is None:
                text = await self._without_common_names(query.text, columns, allowed)
                embedding = asyncio.ensure_future(self._embedded(text))
            vector = await embedding
        finally:
            if embedding is not None:
                embedding.cancel()
        cosine = None if vector is None else await self._cosine(query, columns, vector)

        def ranked() -> "tuple[Scores, NDArray[np.int64]]":
            scores = score(columns, allowed, postings, cosine, self._weights)
            return scores, best(columns, scores, query.grain, query.k)

        scores, rows = await asyncio.to_thread(ranked)
        return await self._hits(columns, scores, rows, query.grain, cosine), cosine is not None

    async def _postings(
        self, query: DocumentQuery, columns: ChunkColumns, allowed: "NDArray[np.bool_]"
    ) -> list[ChunkPosting]:
        """Returns where the words of the question occur, pairs of them, and the names that statements have
        for what it asks.
        """
        stems = content_words(await self._store.evidence.stems(subject(query.text)))
        most = min(COMMON, max(FEW, round(COMMON_SHARE * len(columns))))
        lines = int(allowed.sum()) <= LINES_AMONG
        return await self._store.documents.evidence.postings(
            list(dict.fromkeys(stems)),
            at_most=most,
            within=_within(query, columns, allowed),
            phrases=looked_for(query.text, stems, lines=lines),
        )

    async def _without_common_names(
        self, text: str, columns: ChunkColumns, allowed: "NDArray[np.bool_]"
    ) -> str:
        """Returns a question without the names that occur everywhere in the documents: all passages are
        equally near to these.
        """
        found = names(text)
        stems = [content_words(own) for own in await self._store.evidence.stems_of(found)]
        different = list(dict.fromkeys(stem for own in stems for stem in own))
        if not different:
            return text
        span = _span(columns, allowed)
        postings = await self._store.documents.evidence.postings(different, at_most=COMMON, within=span)
        common = everywhere(columns, allowed, postings)
        gone = [
            name
            for name, own in zip(found, stems, strict=True)
            if carries_meaning(own) and common.issuperset(own)
        ]
        return without_names(text, gone)

    def _allowed(self, query: DocumentQuery, columns: ChunkColumns) -> "NDArray[np.bool_]":
        import numpy as np

        documents = self._library.documents
        wanted = None if query.documents is None else set(query.documents)

        def may(document: str) -> bool:
            known = documents.get(document)
            return (
                known is not None
                and known.searched
                and known.kind in query.kinds
                and (wanted is None or document in wanted)
                and document not in query.excluded
                and (query.project is None or known.project == query.project)
                and known.project not in query.without
                and (query.folder is None or known.folder == query.folder)
            )

        by_document = np.fromiter(map(may, columns.documents), bool, len(columns.documents))
        return np.asarray(by_document[columns.document])

    async def _embedded(self, text: str) -> Sequence[float] | None:
        if self._vectors is None or self._mirror is None or self._mirror.model is None:
            return None
        found = await self._vectors.vector(text)
        return None if found is None or found.model != self._mirror.model else found.numbers

    async def _cosine(
        self, query: DocumentQuery, columns: ChunkColumns, vector: Sequence[float]
    ) -> "NDArray[np.float64] | None":
        """Returns the cosine of each row, NaN where it is not known."""
        import numpy as np

        if self._mirror is None:
            return None
        await self._mirror.follow()
        scopes = (
            [Scope(project=query.project)]
            if query.documents is None
            else [Scope(session=one) for one in query.documents]
        )
        found = await self._mirror.index.search_each(vector, limit=NEAREST, scopes=scopes)
        cosine = np.full(len(columns), np.nan)
        for near in found:
            if not near.owners:
                continue
            rows = np.fromiter((columns.rows.get(one, -1) for one in near.owners), np.int64)
            similarity = np.asarray(near.similarity, float)
            np.fmax.at(cosine, rows[rows >= 0], similarity[rows >= 0])
        return None if np.isnan(cosine).all() else cosine

    async def _hits(
        self,
        columns: ChunkColumns,
        scores: Scores,
        rows: "NDArray[np.int64]",
        grain: Grain,
        cosine: "NDArray[np.float64] | None",
    ) -> tuple[DocumentHit, ...]:
        seqs = [int(columns.seq[row]) for row in rows]
        of = scores.of(columns, grain)
        loaded = await self._store.documents.hits(seqs)
        return tuple(
            DocumentHit(
                chunk=loaded[seq].chunk,
                title=loaded[seq].title,
                path=loaded[seq].path,
                score=float(of[row]),
                parts={name: float(values[row]) for name, values in scores.parts.items()},
                created_at=loaded[seq].created_at,
                kind=loaded[seq].kind,
                sha256=loaded[seq].sha256,
                cosine=None if cosine is None or cosine[row] != cosine[row] else float(cosine[row]),
            )
            for row, seq in zip(rows, seqs, strict=True)
            if seq in loaded
        )


PART = 6_000
"""Characters of a part: about 1,500 tokens."""
MOST_PARTS = 12
"""The most parts that the model reads. A longer document is first condensed without it."""
_NOTES = 16
"""Notes that are joined at a time."""
_LONGEST_NOTE = 120
_LONGEST = 220
_VERSION = 1
_BOUNDARY = 16
"""One line in this many can end a part, chosen by its text: an edit moves only the parts next to it."""


def parts(text: str, size: int = PART) -> list[str]:
    """Splits a text at lines into parts of about half of `size` to `size` characters, all of it in order.

    Where a part ends depends on the surrounding lines, so that an edit leaves other parts as they are.
    """
    found: list[str] = []
    current: list[str] = []
    held = 0
    for whole in text.splitlines(keepends=True):
        for line in (whole[at : at + size] for at in range(0, len(whole), size)):
            if current and held + len(line) > size:
                found.append("".join(current))
                current, held = [], 0
            current.append(line)
            held += len(line)
            if (
                held >= size // 2
                and hashlib.blake2b(line.encode(), digest_size=1).digest()[0] % _BOUNDARY == 0
            ):
                found.append("".join(current))
                current, held = [], 0
    if current:
        found.append("".join(current))
    return [part for part in found if part.strip()]


class DocumentSummariser:
    """Summarises the documents of one room. Raises what the store and the model raise."""

    def __init__(
        self, store: DocumentStore, summariser: Summariser, between: Callable[[], Awaitable[None]]
    ) -> None:
        """`between` is awaited between parts, so that turns run first."""
        self._store = store
        self._summariser = summariser
        self._between = between

    async def summarise(self, document_id: str, *, ask: bool = True) -> DocumentSummary | None:
        """Makes and stores the summary of a document's present text; None if it has no text, or has changed
        meanwhile. Without `ask` no model is asked. Raises `DocumentNotFound`."""
        document = await self._store.get(document_id)
        text = await self._store.text(document_id) or ""
        pieces = await asyncio.to_thread(parts, text)
        if not pieces:
            return None
        known = await self._store.summary_parts(document_id)
        used: set[bytes] = set()

        async def made(kind: str, texts: Sequence[str], *, asked: bool) -> DocumentSummary:
            key = hashlib.blake2b(
                "\0".join([str(_VERSION), kind, str(asked), *texts]).encode(), digest_size=16
            ).digest()
            used.add(key)
            if key in known:
                return known[key]
            await self._between()
            if kind == "section":
                draft = await self._summariser.section(texts[0], most=_LONGEST_NOTE, ask=asked)
            else:
                draft = await self._summariser.document(texts, most=_LONGEST, ask=asked)
            summary = _summary(draft)
            await self._store.put_summary_part(document_id, key, summary)
            return summary

        reads = ask and len(pieces) <= MOST_PARTS
        notes = [await made("section", [piece], asked=reads) for piece in pieces]
        while len(notes) > 1:
            last = len(notes) <= _NOTES
            notes = [
                await made(
                    "document",
                    [one.text for one in notes[at : at + _NOTES]],
                    asked=ask and (reads or last),
                )
                for at in range(0, len(notes), _NOTES)
            ]
        await self._store.drop_summary_parts(document_id, but=used)
        stored = await self._store.put_summary(document_id, notes[0], document.sha256)
        return notes[0] if stored else None


def _summary(draft: Draft) -> DocumentSummary:
    return DocumentSummary(draft.text, draft.fallback, draft.model)
