"""Memories and summaries as columns, with the places of their words.

There are thousands, not hundreds of thousands, so they are searched in memory.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from memory.recall.catalogue import NOBODY, Catalogue
from memory.recall.entities import RecallItem
from memory.recall.moments import speaks_of_time
from memory.recall.words import states_preference

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_NEVER = 2**62
_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Columns:
    """One element per item, in the order of the index's rows; `project` is a number, -1 for none."""

    alive: "NDArray[np.bool_]"
    memory: "NDArray[np.bool_]"
    procedure: "NDArray[np.bool_]"
    approved: "NDArray[np.bool_]"
    project: "NDArray[np.int64]"
    created: "NDArray[np.int64]"
    since: "NDArray[np.int64]"
    expires: "NDArray[np.int64]"
    rate: "NDArray[np.float64]"
    importance: "NDArray[np.float64]"
    length: "NDArray[np.float64]"
    prefers: "NDArray[np.bool_]"
    dated: "NDArray[np.bool_]"


_TYPES = {"int64": ("project", "created", "since", "expires"), "float64": ("rate", "importance", "length")}


class ItemIndex:
    """The items of a room. A row keeps its number; a removed item leaves a row that is not alive."""

    def __init__(self) -> None:
        self.items: list[RecallItem] = []
        self.rows: dict[str, int] = {}
        self.by_message: dict[str, set[int]] = {}
        self.by_session: dict[str, set[int]] = {}
        self._values: list[tuple[object, ...]] = []
        self._words: dict[str, dict[int, int]] = {}
        self._own: list[Counter[str]] = []
        self._projects: dict[str, int] = {}
        self._columns: Columns | None = None
        self._codes: tuple[int, int, NDArray[np.int64]] | None = None

    def __len__(self) -> int:
        return len(self.items)

    def take(self, items: Sequence[RecallItem], stems: Iterable[Sequence[str]]) -> None:
        """Adds items with their stems, or replaces what was known of them."""
        self.drop([item.id for item in items])
        for item, words in zip(items, stems, strict=True):
            row = len(self.items)
            self.items.append(item)
            self.rows[item.id] = row
            own = Counter(words)
            self._own.append(own)
            for word, count in own.items():
                self._words.setdefault(word, {})[row] = count
            for message in item.messages:
                self.by_message.setdefault(message, set()).add(row)
            for session in item.sessions:
                self.by_session.setdefault(session, set()).add(row)
            self._values.append(self._row(item, len(words)))
        self._columns = None

    def drop(self, ids: Collection[str]) -> None:
        for one in ids:
            row = self.rows.pop(one, None)
            if row is None:
                continue
            item = self.items[row]
            for word in self._own[row]:
                self._words[word].pop(row)
            for message in item.messages:
                self.by_message[message].discard(row)
            for session in item.sessions:
                self.by_session[session].discard(row)
            self._own[row] = Counter()
            self._values[row] = (False, *self._values[row][1:])
            self._columns = None

    def places(self, word: str) -> dict[int, int]:
        """Returns the rows in which a stem occurs, and how often."""
        return self._words.get(word, {})

    def project_code(self, name: str) -> int:
        return self._projects.get(name, _NOWHERE - 1)

    def session_codes(self, catalogue: Catalogue) -> "NDArray[np.int64]":
        """Returns the catalogue's number for the session of each row, -1 for none."""
        import numpy as np

        if self._codes is None or self._codes[:2] != (len(self.items), len(catalogue.sessions)):
            known = catalogue.session_codes
            found = [known.get(item.sessions[0], NOBODY) if item.sessions else NOBODY for item in self.items]
            self._codes = len(self.items), len(catalogue.sessions), np.array(found, np.int64)
        return self._codes[2]

    def columns(self) -> Columns:
        import numpy as np

        if self._columns is None:
            kinds = {name: kind for kind, names in _TYPES.items() for name in names}
            names = [field.name for field in fields(Columns)]
            lists = list(zip(*self._values, strict=True)) or [()] * len(names)
            self._columns = Columns(
                *(np.array(own, kinds.get(name, "bool")) for name, own in zip(names, lists, strict=True))
            )
        return self._columns

    def _row(self, item: RecallItem, words: int) -> tuple[object, ...]:
        project = _NOWHERE
        if item.project is not None:
            project = self._projects.setdefault(item.project, len(self._projects))
        return (
            True,
            item.kind == "memory",
            item.procedure,
            item.approved,
            project,
            item.created_at,
            item.since,
            _NEVER if item.expires_at is None else item.expires_at,
            item.rate,
            item.importance,
            float(words),
            item.prefers or states_preference(item.text),
            speaks_of_time(item.text),
        )


@dataclass(frozen=True, slots=True)
class Sought:
    """Which items a question may find. `kinds` are memory, summary or both. A project has its own items and,
    unless it is `isolated`, the memories of no project. Excluded are those of projects in `without`, items
    learned from `messages` or only in `hidden` (sessions), and items whose id is in `messages`."""

    kinds: frozenset[str]
    now: int
    project: str | None = None
    session: str | None = None
    since: int | None = None
    before: int | None = None
    messages: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    ask_first: bool = False
    isolated: bool = False
    without: frozenset[str] = frozenset()


def findable(item_index: ItemIndex, sought: Sought) -> "NDArray[np.int64]":
    """Returns the rows that may be found: procedures only once approved, and nothing expired."""
    import numpy as np

    own = item_index.columns()
    wanted = np.array([kind in sought.kinds for kind in ("summary", "memory")])[own.memory.astype(int)]
    found = own.alive & wanted & (own.expires > sought.now)
    found &= own.approved | ~(own.procedure | sought.ask_first)
    if sought.project is not None:
        code = item_index.project_code(sought.project)
        of_none = own.memory & (own.project == _NOWHERE) & (not sought.isolated)
        found &= (own.project == code) | of_none
    for name in sought.without:
        found &= own.project != item_index.project_code(name)
    if sought.since is not None:
        found &= own.created >= sought.since
    if sought.before is not None:
        found &= own.created < sought.before
    if sought.session is not None:
        inside = np.zeros(len(found), np.bool_)
        inside[list(item_index.by_session.get(sought.session, ()))] = True
        found &= inside
    gone = {row for one in sought.messages if (row := item_index.rows.get(one)) is not None}
    gone.update(*(item_index.by_message.get(one, ()) for one in sought.messages))
    for session in sought.hidden:
        held = item_index.by_session.get(session, ())
        gone.update(row for row in held if sought.hidden.issuperset(item_index.items[row].sessions))
    found[list(gone)] = False
    return np.flatnonzero(found)
