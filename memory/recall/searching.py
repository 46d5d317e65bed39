"""Looks for meaning in the index of a room, once and, where all of it can be compared, a second time."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memory.recall.asking import Wanted
from memory.recall.nearness import Meaning, Nearest, meaning, nearest
from memory.recall.ports import NOTES
from memory.recall.room import RoomView
from memory.recall.rows import NoteRows, Rows
from memory.recall.scoring import Evidence
from memory.vectors.entities import Near, Scope
from memory.vectors.mirror import IndexMirror

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NEAREST = 3000
"""Passages that a search asks the index for; what is further away counts like the last of them."""
ECHO = 0.6
"""How much the best answers add to the question when it is asked again."""
ECHOES = 2
"""So many of the best are taken."""
_NOTHING = Near((), (), (), complete=True)


async def look(
    mirror: IndexMirror, room: RoomView, wanted: Wanted, project: str | None, vector: Sequence[float]
) -> Nearest:
    """The nearest passages of what may be found. Memories belong to no session, and to all projects when to
    none, so they are looked for by themselves."""
    messages = notes = _NOTHING
    if "message" in wanted.kinds:
        messages = await _of_messages(mirror, wanted, project, vector)
    if wanted.kinds & NOTES:
        notes = await mirror.index.search(vector, limit=NEAREST, scope=Scope(NOTES))
    return nearest(room.catalogue, room.shelf, messages, notes)


async def look_again(
    mirror: IndexMirror,
    room: RoomView,
    wanted: Wanted,
    project: str | None,
    vector: Sequence[float],
    rows: Rows,
    notes: NoteRows,
    near: Nearest,
    totals: "NDArray[np.float64]",
) -> Meaning | None:
    """The meaning of messages for the question together with its best answers (pseudo-relevance feedback,
    Rocchio 1971); None where there is no vector of these."""
    import numpy as np

    best = rows.rows[np.argsort(-totals[: len(rows.rows)], kind="stable")[:ECHOES]]
    parts = {room.catalogue.ids[row]: near.part(row) for row in best.tolist()}
    stored = await mirror.of(list(parts))
    found = [np.frombuffer(one.data, "<f4") for one in stored if parts.get(one.owner_id) == one.part]
    if not found:
        return None
    asked = np.asarray(vector) + ECHO * np.mean(found, axis=0)
    asked /= np.linalg.norm(asked)
    messages = await _of_messages(mirror, wanted, project, asked.tolist())
    return meaning(rows, notes, nearest(room.catalogue, room.shelf, messages, _NOTHING))


def echoed(evidence: Evidence, again: Meaning, rows: Rows) -> Evidence:
    """With the meaning of the second look in talk with a model: there the best answer is long, and says more
    of what is meant than the question. Between people it says something else as well."""
    import numpy as np

    n = len(rows.rows)
    chosen = np.zeros(len(evidence.words), np.bool_)
    chosen[:n] = rows.with_machine

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


async def _of_messages(
    mirror: IndexMirror, wanted: Wanted, project: str | None, vector: Sequence[float]
) -> Near:
    scope = Scope(frozenset({"message"}), project, wanted.session)
    return await mirror.index.search(vector, limit=NEAREST, scope=scope)
