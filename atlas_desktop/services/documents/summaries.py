"""TEMP"""
from memory.documents.entities import DocumentSummary
class DocumentSummaries:
    def __init__(self, store): self._store=store
    async def queue(self): pass
    async def summary(self, document_id, *, refresh=False):
        d=await self._store.documents.get(document_id)
        if d.summary is None or refresh:
            t=await self._store.documents.text(document_id)
            await self._store.documents.put_summary(document_id, DocumentSummary(t[:300], True, None), d.sha256)
            d=await self._store.documents.get(document_id)
        return d.summary
