"""Attachments in turns: their vectors, and what is said of how much of them is read."""

from collections.abc import Callable, Sequence

from atlas_desktop.services.cleaning import clean_line
from atlas_desktop.services.events import Notice
from atlas_desktop.words.catalogue import tr
from atlas_desktop.words.formats import formats
from memory.context.documents import DocumentUse, Reading
from models.errors import ModelsError
from models.ports import Embedder

DOCUMENTS = "documents"
"""The code of the notice that says how much is read."""


class PassageEmbedder:
    """`memory.context.documents.PassageVectors`; `embedder` is asked for each time: it can be changed."""

    def __init__(self, embedder: Callable[[], Embedder | None]) -> None:
        self._embedder = embedder

    async def model(self) -> str | None:
        embedder = self._embedder()
        if embedder is None:
            return None
        try:
            return await embedder.embedding_fingerprint()
        except ModelsError:
            # Words alone still find a lot; a model that is broken is told of by the work in the background.
            return None

    async def vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]] | None:
        embedder = self._embedder()
        if embedder is None:
            return None
        try:
            return await embedder.embed(texts)
        except ModelsError:
            return None


def reading_of(use: DocumentUse) -> str:
    """How much of an attachment is read, in words."""
    if use.of:
        if use.reading is Reading.UNREAD:
            return tr("turn.document.none", count=use.of)
        return tr("turn.document.part", count=use.of, passages=formats().number(use.passages))
    if use.reading is Reading.UNREAD:
        return tr("turn.document.no_room")
    return tr("turn.document.whole", count=use.tokens)


def documents_notice(uses: Sequence[DocumentUse]) -> Notice | None:
    """What to say of the attachments of a turn; nothing when all stand in the prompt since an earlier one."""
    told = [use for use in uses if use.reading is not Reading.STANDING]
    if not told:
        return None
    each = "; ".join(tr("turn.document", name=clean_line(use.name), reading=reading_of(use)) for use in told)
    return Notice(DOCUMENTS, tr("turn.documents", each=each))
