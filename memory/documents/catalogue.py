"""All chunks of a room as columns, without their texts: what the search compares."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from memory.documents.entities import ChunkEntry, DocumentEntry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NOBODY = -1


@dataclass(slots=True)
class ChunkColumns:
    """The chunks in the order of their documents and numbers. A row is a chunk.

    `document` and `page` number the documents and the pages (a document without pages is one page).
    `before` and `after` are the rows of the neighbours in the document, `NOBODY` at its ends. `words` are the
    lengths of chunks, `page_words` and `document_words` those of all chunks of a page and a document.
    `by_seq` is the row of each `seq`, or `NOBODY`.
    """

    seq: "NDArray[np.int64]"
    document: "NDArray[np.int64]"
    page: "NDArray[np.int64]"
    before: "NDArray[np.int64]"
    after: "NDArray[np.int64]"
    words: "NDArray[np.float64]"
    page_words: "NDArray[np.float64]"
    document_words: "NDArray[np.float64]"
    ids: tuple[str, ...]
    documents: tuple[str, ...]
    rows: dict[str, int] = field(repr=False)
    by_seq: "NDArray[np.int64]"

    def __len__(self) -> int:
        return len(self.ids)

    def rows_of(self, seqs: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Returns the rows of chunks, by `seq` (0 and more); those that are unknown are left out."""
        import numpy as np

        rows = self.by_seq[seqs[seqs < len(self.by_seq)]]
        return np.asarray(rows[rows != NOBODY])


@dataclass(frozen=True, slots=True)
class _Block:
    """The chunks of one document, in order; `page` numbers its pages from 0."""

    seq: "NDArray[np.int64]"
    page: "NDArray[np.int64]"
    words: "NDArray[np.float64]"
    pages: int
    ids: tuple[str, ...]


def columns(entries: Iterable[ChunkEntry]) -> ChunkColumns:
    """Returns the columns of chunks, in any order."""
    library = Library()
    library.add(entries)
    return library.columns


def _block(entries: Iterable[ChunkEntry]) -> _Block:
    import numpy as np

    ordered = sorted(entries, key=lambda one: one.number)
    pages: dict[int | None, int] = {}
    page = [pages.setdefault(one.page, len(pages)) for one in ordered]
    return _Block(
        np.array([one.seq for one in ordered], np.int64),
        np.array(page, np.int64),
        np.array([one.words for one in ordered], np.float64),
        len(pages),
        tuple(one.id for one in ordered),
    )


def _joined(blocks: Mapping[str, _Block]) -> ChunkColumns:
    import numpy as np

    names = tuple(sorted(blocks))
    ordered = [blocks[name] for name in names]
    sizes = np.array([len(one.ids) for one in ordered], np.int64)
    pages = np.array([one.pages for one in ordered], np.int64)
    document = np.repeat(np.arange(len(names)), sizes)
    page = _concatenated([one.page for one in ordered], np.int64)
    page += np.repeat(np.cumsum(pages) - pages, sizes)
    words = _concatenated([one.words for one in ordered], np.float64)
    seq = _concatenated([one.seq for one in ordered], np.int64)
    rows = np.arange(len(seq))
    same = np.flatnonzero(document[1:] == document[:-1])
    before, after = np.full(len(seq), NOBODY), np.full(len(seq), NOBODY)
    after[same], before[same + 1] = same + 1, same
    by_seq = np.full(int(seq.max(initial=-1)) + 1, NOBODY)
    by_seq[seq] = rows
    ids = tuple(chain.from_iterable(one.ids for one in ordered))
    return ChunkColumns(
        seq=seq,
        document=document,
        page=page,
        before=before,
        after=after,
        words=words,
        page_words=np.asarray(np.bincount(page, words, int(pages.sum())), np.float64),
        document_words=np.asarray(np.bincount(document, words, len(names)), np.float64),
        ids=ids,
        documents=names,
        rows=dict(zip(ids, range(len(ids)), strict=True)),
        by_seq=by_seq,
    )


def _concatenated(parts: "Sequence[NDArray[Any]]", kind: Any) -> "NDArray[Any]":
    import numpy as np

    return np.concatenate([np.zeros(0, kind), *parts])


class Library:
    """The chunks and documents of a room in memory, kept in step with it.

    Only the documents that have changed are sorted again: a change among 100,000 chunks takes some 20 ms.
    """

    def __init__(self) -> None:
        self._chunks: dict[str, dict[int, ChunkEntry]] = {}
        self._document_of: dict[int, str] = {}
        self._blocks: dict[str, _Block] = {}
        self.documents: dict[str, DocumentEntry] = {}
        self._columns: ChunkColumns | None = None

    @property
    def columns(self) -> ChunkColumns:
        if self._columns is None:
            for name, chunks in self._chunks.items():
                if name not in self._blocks:
                    self._blocks[name] = _block(chunks.values())
            self._columns = _joined(self._blocks)
        return self._columns

    def add(self, entries: Iterable[ChunkEntry]) -> None:
        """Adds chunks. One that is known already, by `seq`, is replaced."""
        for one in entries:
            if self._document_of.get(one.seq, one.document) != one.document:
                self._remove(one.seq)
            self._document_of[one.seq] = one.document
            self._chunks.setdefault(one.document, {})[one.seq] = one
            self._blocks.pop(one.document, None)
        self._columns = None

    def replace(self, changed: Collection[int], entries: Sequence[ChunkEntry]) -> None:
        """Removes chunks (by `seq`) and adds those of them that still exist."""
        for seq in changed:
            self._remove(seq)
        self.add(entries)

    def replace_documents(self, changed: Collection[str], entries: Sequence[DocumentEntry]) -> None:
        for one in changed:
            self.documents.pop(one, None)
        self.documents.update((one.id, one) for one in entries)

    def _remove(self, seq: int) -> None:
        document = self._document_of.pop(seq, None)
        if document is None:
            return
        chunks = self._chunks[document]
        del chunks[seq]
        if not chunks:
            del self._chunks[document]
        self._blocks.pop(document, None)
