"""Summaries of documents: each part first, then the whole from the notes on its parts.

What was made of a part is stored by a digest of its text, so a changed paragraph costs its own part and the
end. Of a long document the parts are condensed without a model, which then reads only these notes.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence

from memory.documents.entities import DocumentSummary
from memory.storage.documents import DocumentStore
from memory.summaries.summarise import Draft, Summariser

PART = 6_000
"""Characters of a part: some 1,500 tokens."""
MOST_PARTS = 12
"""Parts that the model reads itself. A longer document is condensed without it first."""
_NOTES = 16
"""Notes that are joined at a time."""
_LONGEST_NOTE = 120
_LONGEST = 220
_VERSION = 1
_BOUNDARY = 16
"""One in so many lines can end a part, chosen by its text: an edit moves only the parts beside it."""


def parts(text: str, size: int = PART) -> list[str]:
    """Splits a text at lines into parts of about half of `size` to `size` characters, all of it in order.

    Where a part ends depends on the lines around, so that an edit leaves other parts as they are.
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
