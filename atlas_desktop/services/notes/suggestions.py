"""Suggests links between the notes of one room, and finds where notes are mentioned without a link."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from atlas_desktop.services.recall import QueryEmbedder
from memory.notes.entities import LinkKind, LinkSuggestion, Note
from memory.notes.markup import read_markup
from memory.notes.names import Mention, NoteText
from memory.notes.suggesting import LinkSuggester
from memory.storage.store import Store
from memory.vectors.entities import StoredVector
from models.ports import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_PAGE = 500


class NoteSuggestions:
    """The notes of one room as they are compared. The first question reads all of them, also with a new
    embedding model; later ones read what has changed. Without such a model, words and titles decide alone."""

    def __init__(self, store: Store, embedder: Callable[[], Embedder | None]) -> None:
        self._store = store
        self._model = QueryEmbedder(embedder).model
        self._suggester = LinkSuggester()
        self._known: set[str] = set()
        self._vectors_of: str | None = None
        self._notes: int | None = None
        self._vectors: int | None = None
        self._lock = asyncio.Lock()

    async def suggest(self, note_id: str, k: int = 10) -> list[LinkSuggestion]:
        """Returns up to `k` notes that this one could link to, best first; none that it links to already."""
        async with self._lock:
            await self._follow()
            if note_id not in self._known:
                return []
            return await asyncio.to_thread(self._suggester.suggest, note_id, k)

    async def mentions(self, note_id: str) -> list[Mention]:
        """Returns where other notes have this one's title or an alias as words, without a link."""
        async with self._lock:
            await self._follow()
            if note_id not in self._known:
                return []
            return await asyncio.to_thread(self._suggester.mentions, note_id)

    async def _follow(self) -> None:
        """Applies what was written since the last call."""
        model = await self._model()
        is_new_model = model is not None and model != self._vectors_of
        if self._notes is None or self._vectors is None or is_new_model:
            self._suggester, self._known, self._vectors_of = LinkSuggester(), set(), model
            self._notes, _ = await self._store.notes.changes(None)
            self._vectors = (await self._store.documents.vectors.changes(None)).version
            changed = {one.id for one in await self._store.notes.list()}
        else:
            self._notes, notes = await self._store.notes.changes(self._notes)
            vectors = await self._store.documents.vectors.changes(self._vectors)
            self._vectors = vectors.version
            changed = set(notes)
            if vectors.owners and model is not None:
                found = await self._store.documents.vectors.of(model, owners=vectors.owners)
                changed.update(one.session_id for one in found if one.session_id in self._known)
        waiting = sorted(changed)
        for at in range(0, len(waiting), _PAGE):
            await self._read(waiting[at : at + _PAGE], model)

    async def _read(self, ids: Sequence[str], model: str | None) -> None:
        found = await self._store.notes.get_many(ids, with_backlinks=False)
        notes = {one.id: one for one in found}
        made = [] if model is None else await self._store.documents.vectors.of(model, sessions=ids)
        await asyncio.to_thread(self._put, ids, notes, made)

    def _put(self, ids: Sequence[str], notes: dict[str, Note], made: Sequence[StoredVector]) -> None:
        vectors: dict[str, list[bytes]] = {}
        for one in made:
            vectors.setdefault(one.session_id or "", []).append(one.data)
        for note_id in ids:
            note = notes.get(note_id)
            if note is None or note.deleted_at is not None:
                if note_id in self._known:
                    self._suggester.remove(note_id)
                    self._known.discard(note_id)
                continue
            links = {link.to for link in note.links if link.kind is LinkKind.NOTE and link.to is not None}
            self._suggester.put(_as_ranked(note), _matrix(vectors.get(note_id, ())), links)
            self._known.add(note_id)


def _as_ranked(note: Note) -> NoteText:
    markup = read_markup(note.text)
    return NoteText(
        id=note.id,
        title=note.title,
        text=note.text,
        aliases=note.aliases,
        tags=note.tags,
        path=note.external_id,
        quiet=markup.quiet,
        properties=markup.properties,
    )


def _matrix(data: Sequence[bytes]) -> "NDArray[np.float32] | None":
    """Returns float32[n, dim]; None without vectors."""
    import numpy as np

    return np.stack([np.frombuffer(one, "<f4") for one in data]) if data else None
