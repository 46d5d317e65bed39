"""All chunks of a room as columns, without their texts: what the search compares."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

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
    sequence: "NDArray[np.int64]"
    by_seq: "NDArray[np.int64]"

    def __len__(self) -> int:
        return len(self.ids)

    def rows_of(self, seqs: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Returns the rows of chunks, by `seq`; those that are unknown are left out."""
        import numpy as np

        at = np.searchsorted(self.sequence, seqs)
        at = np.minimum(at, len(self.sequence) - 1)
        known = self.sequence[at] == seqs
        return np.asarray(self.by_seq[at[known]])


def columns(entries: Collection[ChunkEntry]) -> ChunkColumns:
    """Returns the columns of chunks, in any order."""
    import numpy as np

    ordered = sorted(entries, key=lambda one: (one.document, one.number))
    names: dict[str, int] = {}
    pages: dict[tuple[str, int | None], int] = {}
    document = np.fromiter((names.setdefault(one.document, len(names)) for one in ordered), np.int64)
    page = np.fromiter((pages.setdefault((one.document, one.page), len(pages)) for one in ordered), np.int64)
    words = np.fromiter((one.words for one in ordered), np.float64)
    seq = np.fromiter((one.seq for one in ordered), np.int64)
    rows = np.arange(len(ordered))
    same = np.flatnonzero(document[1:] == document[:-1]) if len(ordered) else rows
    before, after = np.full(len(ordered), NOBODY), np.full(len(ordered), NOBODY)
    after[same], before[same + 1] = same + 1, same
    order = np.argsort(seq)
    ids = tuple(one.id for one in ordered)
    return ChunkColumns(
        seq=seq,
        document=document,
        page=page,
        before=before,
        after=after,
        words=words,
        page_words=np.bincount(page, words, len(pages)),
        document_words=np.bincount(document, words, len(names)),
        ids=ids,
        documents=tuple(names),
        rows=dict(zip(ids, range(len(ids)), strict=True)),
        sequence=seq[order],
        by_seq=order,
    )


class Library:
    """The chunks and documents of a room in memory, kept in step with it."""

    def __init__(self) -> None:
        self._entries: dict[int, ChunkEntry] = {}
        self.documents: dict[str, DocumentEntry] = {}
        self._columns: ChunkColumns | None = None

    @property
    def columns(self) -> ChunkColumns:
        if self._columns is None:
            self._columns = columns(self._entries.values())
        return self._columns

    def add(self, entries: Sequence[ChunkEntry]) -> None:
        self._entries.update((one.seq, one) for one in entries)
        self._columns = None

    def replace(self, changed: Collection[int], entries: Sequence[ChunkEntry]) -> None:
        """Removes chunks (by `seq`) and adds those of them that still exist."""
        for seq in changed:
            self._entries.pop(seq, None)
        self.add(entries)

    def replace_documents(self, changed: Collection[str], entries: Sequence[DocumentEntry]) -> None:
        for one in changed:
            self.documents.pop(one, None)
        self.documents.update((one.id, one) for one in entries)
