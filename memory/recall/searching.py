"""Looks for meaning in the index of a room, and a second time where the first answers say more."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.recall.entities import NOTES
from memory.recall.feature_builder import Question
from memory.recall.question import CONSIDERED, QueryEmbedder, RecallQuery, beyond_the_others, kinship
from memory.recall.room import RoomView
from memory.recall.rows import NoteRows, Rows
from memory.recall.scoring import Evidence
from memory.recall.semantic_scores import Meaning, Nearest, meaning, nearest
from memory.vectors.entities import Near, Scope
from memory.vectors.indexing import IndexMirror

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEAREST = 3000
"""Passages that a search asks the index for; what is further away counts like the last of them."""
ECHO = 0.6
"""How much the best answers add to the question when it is asked again."""
ECHOES = 2
"""So many of the best are taken."""
LONG = 80
"""From so many words on a message says more than one thing: some 500 characters."""
STATEMENT = 40
"""A person's message of fewer words to a model, which asks nothing, is taken for a statement as a whole."""
_NOTHING = Near((), (), (), complete=True)


@dataclass(frozen=True, slots=True)
class Search:
    """One question, as a vector of length 1 of the model in the index, over one room or project of it."""

    mirror: IndexMirror
    meanings: QueryEmbedder
    room: RoomView
    wanted: RecallQuery
    project: str | None
    vector: Sequence[float]

    async def look(self) -> Nearest:
        """The nearest passages of what may be found. Memories belong to no session, and to all projects when
        to none, so they are looked for by themselves."""
        said = [self._said()] if "message" in self.wanted.kinds else []
        known = [Scope(NOTES)] if self.wanted.kinds & NOTES else []
        found = await self.mirror.index.search_each(self.vector, limit=NEAREST, scopes=said + known)
        messages, notes = found[0] if said else _NOTHING, found[-1] if known else _NOTHING
        return nearest(self.room.catalogue, self.room.shelf, messages, notes)

    async def look_again(
        self,
        question: Question,
        rows: Rows,
        notes: NoteRows,
        near: Nearest,
        evidence: Evidence,
        totals: "NDArray[np.float64]",
    ) -> Evidence:
        """With what the first answers, which scored `totals`, say beyond the question.

        A request for advice is compared by topic with what people said of themselves in few words. In talk
        with a model, where all of it can be compared, long answers ask once more.
        """
        found = evidence
        if question.asks_advice:
            found = await self._by_topic(rows, notes, near, evidence, totals)
        if near.complete and rows.with_machine.any():
            again = await self._echoes(rows, notes, near, totals)
            found = found if again is None else echoed(found, again, rows)
        return found

    async def _by_topic(
        self,
        rows: Rows,
        notes: NoteRows,
        near: Nearest,
        evidence: Evidence,
        totals: "NDArray[np.float64]",
    ) -> Evidence:
        import numpy as np

        catalogue = self.room.catalogue
        said = rows.with_machine & (rows.lengths < STATEMENT)
        said &= ~(catalogue.asks[rows.rows] | catalogue.machine[rows.rows])
        places = np.flatnonzero(np.concatenate([said, np.ones(len(notes.rows), np.bool_)]))
        places = places[np.argsort(-totals[places], kind="stable")][:CONSIDERED]
        topics = await self.meanings.topics(self.mirror.model or "") if len(places) else None
        if topics is None:
            return evidence
        n = len(rows.rows)
        owners = {}
        for place in places.tolist():
            if place < n:
                row = int(rows.rows[place])
                owners[self.room.catalogue.ids[row], near.part(row)] = place
            else:
                owners[self.room.shelf.notes[int(notes.rows[place - n])].id, 0] = place
        found = await self._vectors(owners)
        if not found:
            return evidence
        kin = np.zeros(len(totals))
        statements = np.array(list(found.values()), float)
        kin[list(found)] = beyond_the_others(kinship(np.asarray(self.vector), statements, topics))
        return replace(evidence, topic=kin)

    async def _echoes(
        self, rows: Rows, notes: NoteRows, near: Nearest, totals: "NDArray[np.float64]"
    ) -> Meaning | None:
        """The meaning of messages for the question together with its best answers (pseudo-relevance feedback,
        Rocchio 1971)."""
        import numpy as np

        first = np.argsort(-totals[: len(rows.rows)], kind="stable")[:ECHOES]
        best = first[rows.lengths[first] >= LONG].tolist()
        owners = {
            (self.room.catalogue.ids[row], near.part(row)): place
            for place, row in zip(best, rows.rows[best].tolist(), strict=True)
        }
        found = await self._vectors(owners) if owners else {}
        if not found:
            return None
        asked = np.asarray(self.vector) + ECHO * np.mean(list(found.values()), axis=0)
        asked /= np.linalg.norm(asked)
        messages = await self.mirror.index.search(asked.tolist(), limit=NEAREST, scope=self._said())
        return meaning(rows, notes, nearest(self.room.catalogue, self.room.shelf, messages, _NOTHING))

    async def _vectors(self, owners: dict[tuple[str, int], int]) -> "dict[int, NDArray[np.float32]]":
        """The stored vectors of passages, by the numbers given for them."""
        import numpy as np

        stored = await self.mirror.of({owner for owner, _ in owners})
        return {
            owners[one.owner_id, one.part]: np.frombuffer(one.data, "<f4")
            for one in stored
            if (one.owner_id, one.part) in owners
        }

    def _said(self) -> Scope:
        return Scope(frozenset({"message"}), self.project, self.wanted.session)


def echoed(evidence: Evidence, again: Meaning, rows: Rows) -> Evidence:
    """With the meaning of the second look in talk with a model: there the best answer is long, and says more
    of what is meant than the question. Between people it says something else as well."""
    import numpy as np

    chosen = np.zeros(len(evidence.words), np.bool_)
    chosen[: len(rows.rows)] = rows.with_machine

    def mixed(
        first: "NDArray[np.float64] | None", second: "NDArray[np.float64]"
    ) -> "NDArray[np.float64] | None":
        return None if first is None else np.where(chosen, second, first)

    return replace(
        evidence,
        whole_meaning=mixed(evidence.whole_meaning, again.whole),
        near_meaning=mixed(evidence.near_meaning, again.near),
        session_meaning=mixed(evidence.session_meaning, again.session),
    )
