"""Searches a room's index by meaning, and again where the first answers add to the question."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from memory.recall.entities import ITEM_KINDS
from memory.recall.feature_builder import Question
from memory.recall.question import CONSIDERED, QueryEmbedder, Wanted, beyond_the_others, kinship
from memory.recall.room import RoomView
from memory.recall.rows import ItemRows, Rows
from memory.recall.scoring import Evidence
from memory.recall.semantic_scores import Meaning, Nearest, meaning, nearest
from memory.vectors.entities import Near, Scope
from memory.vectors.indexing import IndexMirror

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEAREST = 3000
"""Passages requested from the index; anything further away counts like the last of them."""
ECHO = 0.6
"""The weight of the best answers when they are added to the question for the second search."""
ECHOES = 2
"""How many of the best answers are used."""
LONG = 80
"""A message of this many words or more (about 500 characters) says more than one thing."""
STATEMENT = 40
"""A person's message to a model with fewer words, which asks nothing, counts as one statement."""
_NOTHING = Near((), (), (), complete=True)


@dataclass(frozen=True, slots=True)
class Search:
    """One question, as a vector of length 1 of the index's model, over one room or one of its projects."""

    mirror: IndexMirror
    meanings: QueryEmbedder
    room: RoomView
    wanted: Wanted
    project: str | None
    vector: Sequence[float]

    async def look(self) -> Nearest:
        """Returns the nearest passages that may be found. Memories belong to no session, and those of no
        project belong to all, so they are searched separately."""
        said = [self._said()] if "message" in self.wanted.kinds else []
        known = [Scope(ITEM_KINDS)] if self.wanted.kinds & ITEM_KINDS else []
        found = await self.mirror.index.search_each(self.vector, limit=NEAREST, scopes=said + known)
        messages, items = found[0] if said else _NOTHING, found[-1] if known else _NOTHING
        return nearest(self.room.catalogue, self.room.item_index, messages, items)

    async def look_again(
        self,
        question: Question,
        rows: Rows,
        items: ItemRows,
        near: Nearest,
        evidence: Evidence,
        totals: "NDArray[np.float64]",
    ) -> Evidence:
        """Returns the evidence with what the first answers, scored `totals`, add to the question.

        A request for advice is compared by topic with short statements of people about themselves. In a
        conversation with a model, if all of it can be compared, a second search uses the long answers.
        """
        found = evidence
        if question.asks_advice:
            found = await self._by_topic(rows, items, near, evidence, totals)
        if near.complete and rows.with_machine.any():
            again = await self._echoes(rows, items, near, totals)
            found = found if again is None else echoed(found, again, rows)
        return found

    async def _by_topic(
        self,
        rows: Rows,
        items: ItemRows,
        near: Nearest,
        evidence: Evidence,
        totals: "NDArray[np.float64]",
    ) -> Evidence:
        import numpy as np

        catalogue = self.room.catalogue
        said = rows.with_machine & (rows.lengths < STATEMENT)
        said &= ~(catalogue.asks[rows.rows] | catalogue.machine[rows.rows])
        places = np.flatnonzero(np.concatenate([said, np.ones(len(items.rows), np.bool_)]))
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
                owners[self.room.item_index.items[int(items.rows[place - n])].id, 0] = place
        found = await self._vectors(owners)
        if not found:
            return evidence
        kin = np.zeros(len(totals))
        statements = np.array(list(found.values()), float)
        kin[list(found)] = beyond_the_others(kinship(np.asarray(self.vector), statements, topics))
        return replace(evidence, topic=kin)

    async def _echoes(
        self, rows: Rows, items: ItemRows, near: Nearest, totals: "NDArray[np.float64]"
    ) -> Meaning | None:
        """Returns the meaning of messages for the question together with its best answers (pseudo-relevance
        feedback, Rocchio 1971); None if none of these is long."""
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
        return meaning(rows, items, nearest(self.room.catalogue, self.room.item_index, messages, _NOTHING))

    async def _vectors(self, owners: dict[tuple[str, int], int]) -> "dict[int, NDArray[np.float32]]":
        """Returns the stored vectors of passages, by the numbers in `owners`."""
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
    """Returns the evidence with the meaning of the second search in conversations with a model. There the
    best answer is long and says more about what is meant than the question. Between people it also says other
    things."""
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
