"""What recall knows of a room: read once, then kept up to date with every change."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory.recall.catalogue import Catalogue
from memory.recall.entities import ITEM_KINDS, EntryChanges
from memory.recall.feature_builder import Places, placed
from memory.recall.item_index import ItemIndex
from memory.recall.rows import Rows, in_scope
from memory.storage.evidence import EvidenceStore

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PAGE = 4000
"""Rows read at a time, which bounds how long other calls of the room wait."""
_SCOPES = 4
HELD = 500_000
"""How many places of words are cached: about 8 MB."""


class RoomView:
    """The catalogue of messages and the index of items of one room."""

    def __init__(self, evidence: EvidenceStore) -> None:
        self._evidence = evidence
        self._lock = asyncio.Lock()
        self._read = False
        self._version = 0
        self._rows: dict[tuple[int, str | None, str | None, frozenset[str]], Rows] = {}
        self._places: dict[str, Places | None] = {}
        self._places_of = 0, 0
        self._held = 0
        self.catalogue = Catalogue()
        self.item_index = ItemIndex()
        self.isolated: frozenset[str] = frozenset()
        """The names of the projects that keep to themselves."""

    async def follow(self) -> None:
        """Applies what was written since the last call. Raises the errors of storage."""
        async with self._lock:
            if not self._read:
                await self._read_all()
            changes = await self._evidence.changes(self._version)
            await self._take(changes)
            self._version = changes.version
            self.isolated = changes.isolated

    async def read_wordings(self, rows: "NDArray[np.int64] | None" = None) -> None:
        """Reads the wording of these messages (or of all) where it is not known yet. Raises the errors of
        storage."""
        while len(waiting := self.catalogue.unworded(rows)):
            # The lock keeps changes out, so that what is read belongs to the current rows.
            async with self._lock:
                asked = waiting[:PAGE].tolist()
                self.catalogue.take_wordings(asked, await self._evidence.wordings(asked))

    def scope(self, *, project: str | None, session: str | None, without: frozenset[str]) -> Rows:
        """Returns the messages that a question is compared with, those of no project in `without`; built
        again only after a change."""
        key = self.catalogue.version, project, session, without
        found = self._rows.get(key)
        if found is None:
            for old in [one for one in self._rows if one[0] != key[0]] or list(self._rows)[: 1 - _SCOPES]:
                self._rows.pop(old)
            chosen = in_scope(self.catalogue, project=project, session=session, without=without)
            found = self._rows[key] = Rows(self.catalogue, chosen)
        return found

    async def places(self, words: Sequence[str], *, at_most: int) -> list[Places]:
        """Returns where each of these stems occurs; those in more than `at_most` messages come without
        places. Results are cached until the next change. Raises the errors of storage."""
        known = self.catalogue.version, at_most
        if self._places_of != known:
            self._places, self._places_of, self._held = {}, known, 0
        new = [word for word in words if word not in self._places]
        if new:
            read = await self._evidence.postings(new, at_most=at_most)
            found = {one.term: placed(self.catalogue, one) for one in read}
            here = [self._places.get(word) or found.get(word) for word in words]
            if self._places_of == known:
                self._hold({word: found.get(word) for word in new})
        else:
            here = [self._places[word] for word in words]
        return [one for one in here if one is not None]

    def _hold(self, found: dict[str, Places | None]) -> None:
        """Caches places; the words read first are dropped first."""
        for word in found.keys() - self._places.keys():
            self._places[word] = own = found[word]
            self._held += 0 if own is None else len(own.rows)
        while self._held > HELD:
            gone = self._places.pop(next(iter(self._places)))
            self._held -= 0 if gone is None else len(gone.rows)

    def hidden(self, *, but: str | None, without: frozenset[str]) -> frozenset[str]:
        """Returns the sessions that lend nothing, are in the bin or in a project in `without`, except
        `but`."""
        return frozenset(
            one.id
            for one in self.catalogue.sessions
            if (one.binned or not one.lends or one.project in without) and one.id != but
        )

    async def _take(self, changes: EntryChanges) -> None:
        if changes.sessions:
            self.catalogue.take_sessions(await self._evidence.session_entries(changes.sessions))
        if changes.messages:
            entries = await self._evidence.entries_of(changes.messages)
            self.catalogue.drop(changes.messages - {entry.seq for entry in entries})
            self.catalogue.take(entries)
        if changes.items:
            items = await self._evidence.items_of(changes.items)
            self.item_index.drop(changes.items)
            self.item_index.take(items, await self._evidence.stems_of([item.text for item in items]))

    async def _read_all(self) -> None:
        version = (await self._evidence.changes(None)).version
        catalogue, item_index = Catalogue(), ItemIndex()
        catalogue.take_sessions(await self._evidence.session_entries())
        after = 0
        while page := await self._evidence.entries(after=after, limit=PAGE):
            known = catalogue.session_codes.keys()
            if new := {entry.session_id for entry in page} - known:
                catalogue.take_sessions(await self._evidence.session_entries(new))
            catalogue.take(page)
            after = page[-1].seq
        for kind in sorted(ITEM_KINDS):
            after = 0
            while items := await self._evidence.items(kind, after=after, limit=PAGE):
                item_index.take(items, await self._evidence.stems_of([item.text for item in items]))
                after = items[-1].seq
        self.catalogue, self.item_index, self._version, self._read = catalogue, item_index, version, True
