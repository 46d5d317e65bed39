"""Makes the summaries of documents, in the background and on request."""

from collections.abc import Callable

from atlas_desktop.services.background import BackgroundService
from atlas_desktop.services.events import Replied
from memory.documents.entities import Document, DocumentSummary
from memory.documents.summarising import DocumentSummariser
from memory.errors import DocumentEmpty, DocumentNotFound
from memory.jobs.queue import Job, Priority
from memory.storage.documents import DocumentStore
from memory.summaries.summarise import Summariser
from models.errors import ModelsError

KIND = "summarise_documents"
ALL = "all"
MANY = 20
"""Of more new documents than this, the model summarises only those that the user turns to: it takes seconds
for each, and the others get a summary of their own sentences at once."""
SHORT = 2_000
"""Characters. A shorter document is summarised by its own sentences, unless the user asks for more."""


class DocumentSummaries:
    """The summaries of one room's documents. `summariser` is called for each use, because the model can
    change."""

    def __init__(
        self, store: DocumentStore, summariser: Callable[[], Summariser], background: BackgroundService
    ) -> None:
        self._store = store
        self._summariser = summariser
        self._background = background
        background.register(KIND, self._work)
        background.register_hook(self.after_reply)

    async def queue(self) -> None:
        """Queues the summaries that are missing or out of date."""
        await self._background.add(KIND, ALL, priority=Priority.LOW + 1)

    async def after_reply(self, replied: Replied) -> None:
        """Queues a model's summaries of the documents that a conversation is about."""
        if replied.cited is not None:
            for document in await self._store.bound(replied.session.id):
                await self._improve(document)

    async def _improve(self, document: Document) -> None:
        """Queues a model's summary of a document that has one without a model so far."""
        if document.summary is None or (document.summary.fallback and document.summary.model is None):
            await self._background.add(KIND, document.id, payload={"document": document.id})

    async def summary(self, document_id: str, *, refresh: bool = False) -> DocumentSummary:
        """Returns the summary of a document; makes it if there is none, or with `refresh`.

        Without a working model it is made of the document's own sentences. Raises `DocumentNotFound`,
        `DocumentEmpty`.
        """
        document = await self._store.get(document_id)
        if document.summary is not None and not refresh:
            return document.summary
        if refresh:
            await self._store.drop_summary_parts(document_id, but=())
        made = await self._made(document_id, self._summariser())
        if made is None:
            raise DocumentEmpty(document_id)
        return made

    async def _made(
        self, document_id: str, writer: Summariser, *, ask: bool = True
    ) -> DocumentSummary | None:
        summariser = DocumentSummariser(self._store, writer, self._background.gate.checkpoint)
        try:
            return await summariser.summarise(document_id, ask=ask)
        except ModelsError:
            return await summariser.summarise(document_id, ask=False)

    async def _work(self, job: Job) -> None:
        # One writer for all: it stops asking a model whose answers keep failing.
        writer = self._summariser()
        if (wanted := job.payload.get("document")) is not None:
            await self._try(wanted, writer, ask=True)
            return
        done: set[str] = set()
        while waiting := [one for one in await self._store.unsummarised() if one[0] not in done]:
            few = len(waiting) <= MANY and not done
            for document_id, characters in waiting:
                done.add(document_id)
                await self._try(document_id, writer, ask=few and characters > SHORT)

    async def _try(self, document_id: str, writer: Summariser, *, ask: bool) -> None:
        try:
            await self._made(document_id, writer, ask=ask)
        except DocumentNotFound:
            # It was removed meanwhile.
            return
