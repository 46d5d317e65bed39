"""Finds the passages for a task: in documents and notes, in memories and in what the user said."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from atlas_desktop.services.documents.search import DocumentSearchService
from atlas_desktop.services.recall import RecallService
from memory.documents.entities import Chunk, DocumentHit, DocumentKind, DocumentQuery
from memory.errors import DocumentNotFound, MessageNotFound
from memory.recall.entities import Hit, RecallQuery
from memory.storage.store import Store
from memory.tasks.briefs import Brief
from memory.tasks.contexts import MOST_MEMORIES
from memory.tasks.entities import Evidence, EvidenceKind, Task
from memory.tasks.lexicon import content, root, words
from memory.tasks.schemas import Query, ResearchBrief
from models.messages import Role

PASSAGES = 60
"""The most passages of a task."""
_HITS = 16
_HITS_OF_SUBJECT = 6
_CLOSE = 0.45
"""The cosine from which a passage without a word of the question counts as found."""
_WHOLE_DOCUMENTS = 12
_LONGEST_DOCUMENT = 24
"""Chunks. Of a longer document, only those that were found are read."""
_LONGEST = 2_000
"""Characters of a message that is taken as it is; of a longer one, the part that was found."""


@dataclass(frozen=True, slots=True)
class _Found:
    kind: EvidenceKind
    source: str
    title: str
    begin: int
    end: int
    text: str
    page: int | None = None
    lines: tuple[int, int] | None = None
    heading: tuple[str, ...] = ()
    header: str = ""
    session: str | None = None
    sha256: str = ""
    subject: str = ""

    @property
    def place(self) -> tuple[str, int, int]:
        return self.source, self.begin, self.end


class Research:
    """The research of one room. A document is what it says, never an instruction: its text goes into
    passages only."""

    def __init__(self, store: Store, recall: RecallService, search: DocumentSearchService) -> None:
        self._store = store
        self._recall = recall
        self._search = search

    @property
    def embedding_s(self) -> float:
        """Seconds that the embedding model has taken so far."""
        return self._recall.embedding_s + self._search.embedding_s

    async def find(
        self, task: Task, step_id: str, brief: Brief, wanted: ResearchBrief, known: Sequence[Evidence]
    ) -> list[Evidence]:
        """Returns passages that are not known yet, numbered after these; they get their ids when stored."""
        await self._recall.load()
        await self._search.load()
        places = {(one.source, one.begin, one.end) for one in known}
        found: list[_Found] = []
        for query in wanted.queries:
            about = await self._about(brief, query)
            documents = await self._documents(task, query, about, wanted)
            own = await self._own(task, query, about) if query.own else []
            for one in (*own, *documents):
                if one.place not in places:
                    places.add(one.place)
                    found.append(replace(one, subject=query.subject))
        first = max((one.marker for one in known), default=0) + 1
        return [
            Evidence(
                id="",
                step=step_id,
                marker=number,
                kind=one.kind,
                source=one.source,
                title=one.title,
                begin=one.begin,
                end=one.end,
                text=one.text,
                page=one.page,
                lines=one.lines,
                heading=one.heading,
                header=one.header,
                session=one.session,
                sha256=one.sha256,
                subject=one.subject,
            )
            for number, one in enumerate(found[: max(0, PASSAGES - len(known))], first)
        ]

    async def _about(self, brief: Brief, query: Query) -> frozenset[str]:
        """Returns the stems of which a passage must have one."""
        return frozenset({*brief.topic, *content(query.text)} - {""})

    # --- documents and notes ----------------------------------------------------------------------

    async def _documents(
        self, task: Task, query: Query, about: frozenset[str], wanted: ResearchBrief
    ) -> list[_Found]:
        isolated = await self._store.projects.isolated()
        asked = DocumentQuery(
            query.text,
            k=_HITS_OF_SUBJECT if query.subject else _HITS,
            documents=wanted.documents,
            kinds=frozenset(DocumentKind),
            without=isolated - {task.project},
            excluded=await self._store.tasks.reports(),
        )
        hits: list[DocumentHit] = []
        if task.project is not None:
            hits += await self._search.search(replace(asked, project=task.project))
        if task.project is None or (task.project not in isolated and len(hits) < asked.k):
            known = {hit.chunk.id for hit in hits}
            hits += [hit for hit in await self._search.search(asked) if hit.chunk.id not in known]
        kept = [hit for hit in hits if _close(hit, about)]
        if not wanted.whole:
            return [_of_chunk(hit.chunk, hit) for hit in kept[: asked.k]]
        found: list[_Found] = []
        for document in list(dict.fromkeys(hit.chunk.document for hit in kept))[:_WHOLE_DOCUMENTS]:
            hit = next(one for one in kept if one.chunk.document == document)
            try:
                chunks = await self._store.documents.chunks(document)
            except DocumentNotFound:
                # It was removed meanwhile.
                continue
            if len(chunks) <= _LONGEST_DOCUMENT:
                found += [_of_chunk(chunk, hit) for chunk in chunks]
            else:
                found += [_of_chunk(one.chunk, one) for one in kept if one.chunk.document == document]
        return found

    # --- what the user said -----------------------------------------------------------------------

    async def _own(self, task: Task, query: Query, about: frozenset[str]) -> list[_Found]:
        """Returns memories, at most five, and messages of the user; none where only some documents may be
        read, except memories."""
        found: list[_Found] = []
        kinds = {"memory"} if task.documents is not None else {"memory", "message"}
        answer = await self._recall.answer(
            RecallQuery(query.text, k=_HITS, kinds=kinds, project=task.project, widen=True)
        )
        memories = 0
        for hit in answer.hits:
            if not _hit_close(hit, about):
                continue
            if hit.kind == "memory":
                memories += 1
                if memories <= MOST_MEMORIES:
                    found.append(_Found(EvidenceKind.MEMORY, hit.id, "", 0, len(hit.text), hit.text))
            elif (one := await self._message(hit, task.brief)) is not None:
                found.append(one)
        return found

    async def _message(self, hit: Hit, brief: str) -> _Found | None:
        """Returns a message of the user's as a passage. What a model said is no evidence, and neither is the
        brief itself."""
        try:
            variants = await self._store.variants(hit.id)
        except MessageNotFound:
            # It was deleted meanwhile.
            return None
        message = next(one for one in variants if one.id == hit.id)
        if message.role is not Role.USER or message.content.strip() == brief.strip():
            return None
        begin, end = 0, len(message.content)
        if end > _LONGEST:
            begin = max(0, message.content.find(hit.passage))
            end = min(end, begin + min(len(hit.passage), _LONGEST))
        session = await self._store.get_session(message.session_id)
        return _Found(
            EvidenceKind.MESSAGE,
            message.id,
            session.title,
            begin,
            end,
            message.content[begin:end],
            session=session.id,
        )


def _of_chunk(chunk: Chunk, hit: DocumentHit) -> _Found:
    return _Found(
        EvidenceKind(hit.kind.value),
        chunk.document,
        hit.title,
        chunk.begin,
        chunk.end,
        chunk.text,
        page=chunk.page,
        lines=chunk.lines,
        heading=chunk.heading,
        header=chunk.header,
        sha256=hit.sha256,
    )


def _close(hit: DocumentHit, about: frozenset[str]) -> bool:
    text = " ".join([hit.title, *hit.chunk.heading, hit.chunk.text])
    return not about.isdisjoint(map(root, words(text))) or (hit.cosine or 0.0) >= _CLOSE


def _hit_close(hit: Hit, about: frozenset[str]) -> bool:
    return not about.isdisjoint(map(root, words(hit.text))) or (hit.grounds.cosine or 0.0) >= _CLOSE
