"""In-memory columns over the messages, memories and summaries of a room, with the places of their words."""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import repeat
from typing import TYPE_CHECKING

from memory.recall.entities import Entry, RecallItem, SessionEntry, Wording
from memory.recall.moments import speaks_of_time
from memory.recall.words import instructs, states_preference

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_FIRST_ROOM = 256
NOBODY = -1


class Catalogue:
    """Columns over messages (`int` and `bool` arrays of equal length) and over sessions. `version` increases
    with every change."""

    def __init__(self) -> None:
        import numpy as np

        self._np = np
        self._size = 0
        self._seq = np.zeros(_FIRST_ROOM, np.int64)
        self._session = np.zeros(_FIRST_ROOM, np.int32)
        self._time = np.zeros(_FIRST_ROOM, np.int64)
        self._length = np.zeros(_FIRST_ROOM, np.int32)
        self._speaker = np.zeros(_FIRST_ROOM, np.int32)
        self._machine = np.zeros(_FIRST_ROOM, np.bool_)
        self._important = np.zeros(_FIRST_ROOM, np.bool_)
        self._asks = np.zeros(_FIRST_ROOM, np.bool_)
        self._worded = np.zeros(_FIRST_ROOM, np.bool_)
        self._dated = np.zeros(_FIRST_ROOM, np.bool_)
        self._prefers = np.zeros(_FIRST_ROOM, np.bool_)
        self._instructs = np.zeros(_FIRST_ROOM, np.bool_)
        self._alive = np.zeros(_FIRST_ROOM, np.bool_)
        self._before = np.full(_FIRST_ROOM, NOBODY, np.int64)
        self._after = np.full(_FIRST_ROOM, NOBODY, np.int64)
        self.ids: list[str] = []
        self.rows: dict[str, int] = {}
        self._row_of_seq = np.full(_FIRST_ROOM, NOBODY, np.int64)
        self.version = 0
        self._last: dict[int, int] = {}
        self.speakers: list[str] = []
        self._speaker_codes: dict[str, int] = {}
        self.sessions: list[SessionEntry] = []
        self.session_codes: dict[str, int] = {}

    # --- columns ----------------------------------------------------------------------------------

    @property
    def seq(self) -> "NDArray[np.int64]":
        return self._seq[: self._size]

    @property
    def session(self) -> "NDArray[np.int32]":
        """The number of each message's session."""
        return self._session[: self._size]

    @property
    def time(self) -> "NDArray[np.int64]":
        """Microseconds since 1970."""
        return self._time[: self._size]

    @property
    def length(self) -> "NDArray[np.int32]":
        return self._length[: self._size]

    @property
    def speaker(self) -> "NDArray[np.int32]":
        """The number of each message's speaker in `speakers`, whose names are in lower case."""
        return self._speaker[: self._size]

    @property
    def machine(self) -> "NDArray[np.bool_]":
        return self._machine[: self._size]

    @property
    def important(self) -> "NDArray[np.bool_]":
        return self._important[: self._size]

    @property
    def asks(self) -> "NDArray[np.bool_]":
        return self._asks[: self._size]

    @property
    def dated(self) -> "NDArray[np.bool_]":
        """Whether each message states when something was; valid only for rows whose wording was read."""
        return self._dated[: self._size]

    @property
    def prefers(self) -> "NDArray[np.bool_]":
        """Whether each message states a preference; valid only for rows whose wording was read."""
        return self._prefers[: self._size]

    @property
    def instructs(self) -> "NDArray[np.bool_]":
        """Whether each message states how later replies should be; valid only for rows whose wording was
        read.
        """
        return self._instructs[: self._size]

    @property
    def alive(self) -> "NDArray[np.bool_]":
        return self._alive[: self._size]

    @property
    def before(self) -> "NDArray[np.int64]":
        """The row that each message answers, or -1."""
        return self._before[: self._size]

    @property
    def after(self) -> "NDArray[np.int64]":
        """The row of the latest answer to each message, or -1."""
        return self._after[: self._size]

    def __len__(self) -> int:
        return self._size

    def rows_of(self, seqs: Collection[int]) -> "NDArray[np.int64]":
        """Returns the rows of these messages, -1 for unknown ones."""
        import numpy as np

        asked = np.fromiter(seqs, np.int64, len(seqs))
        inside = asked < len(self._row_of_seq)
        found: NDArray[np.int64] = np.where(inside, self._row_of_seq[np.where(inside, asked, 0)], NOBODY)
        return found

    # --- changes ----------------------------------------------------------------------------------

    def take(self, entries: Sequence[Entry]) -> None:
        """Adds messages, or replaces those known. Their sessions must be known."""
        self.version += 1
        if not entries:
            return
        seqs, ids, sessions, parents, speakers, machine, times, important, asks, lengths = zip(
            *entries, strict=True
        )
        codes = [self.session_codes[one] for one in sessions]
        speaker_codes = {one: self._speaker_code(one) for one in dict.fromkeys(speakers)}
        rows = self.rows_of(seqs)
        if len(new := (rows == NOBODY).nonzero()[0]):
            rows[new] = self._new_rows([(seqs[at], ids[at], codes[at], parents[at]) for at in new.tolist()])
        self._session[rows] = codes
        self._time[rows] = times
        self._length[rows] = lengths
        self._speaker[rows] = [speaker_codes[one] for one in speakers]
        self._machine[rows] = machine
        self._important[rows] = important
        self._asks[rows] = asks
        # The text may have changed.
        for column in (self._worded, self._dated, self._prefers, self._instructs):
            column[rows] = False
        self._alive[rows] = True

    def unworded(self, rows: "NDArray[np.int64] | None" = None) -> "NDArray[np.int64]":
        """Returns the `seq` of those of these rows (or of all) whose wording has not been read yet."""
        waiting = self.alive & ~self._worded[: self._size]
        return self.seq[waiting] if rows is None else self.seq[rows[waiting[rows]]]

    def take_wordings(self, asked: Sequence[int], found: Sequence[Wording]) -> None:
        """Records the wordings `found` for the messages `asked` for. All of them count as read, found or
        not."""
        rows = self.rows_of(asked)
        self._worded[rows[rows != NOBODY]] = True
        rows = self.rows_of([one.seq for one in found])
        known = rows != NOBODY
        self._dated[rows[known]] = self._np.array([one.dated for one in found], self._np.bool_)[known]
        self._prefers[rows[known]] = self._np.array([one.prefers for one in found], self._np.bool_)[known]
        self._instructs[rows[known]] = self._np.array([one.instructs for one in found], self._np.bool_)[known]

    def take_sessions(self, entries: Iterable[SessionEntry]) -> None:
        self.version += 1
        for entry in entries:
            code = self.session_codes.get(entry.id)
            if code is None:
                self.session_codes[entry.id] = len(self.sessions)
                self.sessions.append(entry)
            else:
                self.sessions[code] = entry

    def drop(self, seqs: Collection[int]) -> None:
        """Removes messages. Their rows are no longer alive."""
        self.version += 1
        for seq, row in zip(seqs, self.rows_of(seqs).tolist(), strict=True):
            if row != NOBODY:
                self._alive[row] = False
                self._row_of_seq[seq] = NOBODY
                self.rows.pop(self.ids[row], None)
                self.ids[row] = ""

    def _new_rows(self, messages: Sequence[tuple[int, str, int, str | None]]) -> "NDArray[np.int64]":
        """Creates rows for messages (`seq`, id, session number, parent id), in their order."""
        import numpy as np

        first, self._size = self._size, self._size + len(messages)
        while self._size > len(self._seq):
            self._grow()
        found: NDArray[np.int64] = np.arange(first, self._size)
        seqs, ids, sessions, parents = zip(*messages, strict=True)
        places = np.array(seqs)
        while places.max() >= len(self._row_of_seq):
            self._row_of_seq = np.concatenate([self._row_of_seq, np.full_like(self._row_of_seq, NOBODY)])
        self._seq[found] = places
        self._row_of_seq[places] = found
        self.ids += ids
        self.rows.update(zip(ids, range(first, self._size), strict=True))
        parent_rows = np.fromiter(map(self.rows.get, parents, repeat(NOBODY)), np.int64, len(messages))
        answers = (parent_rows != NOBODY) & (parent_rows < found)
        before = np.where(answers, parent_rows, self._rows_before(found, np.array(sessions)))
        self._before[found] = before
        self._after[found] = NOBODY
        # For duplicate indices the last value is kept: the latest of several answers.
        self._after[before[before != NOBODY]] = found[before != NOBODY]
        return found

    def _rows_before(self, rows: "NDArray[np.int64]", sessions: "NDArray[np.int64]") -> "NDArray[np.int64]":
        """Returns the row before each of these new rows in its session, or -1."""
        import numpy as np

        order = np.argsort(sessions, kind="stable")
        same = np.zeros(len(rows), np.bool_)
        same[1:] = sessions[order][1:] == sessions[order][:-1]
        before = np.full(len(rows), NOBODY, np.int64)
        before[order[same]] = rows[order[np.flatnonzero(same) - 1]]
        starts = np.flatnonzero(~same)
        ends = np.append(starts[1:], len(rows)) - 1
        for at, last in zip(order[starts].tolist(), order[ends].tolist(), strict=True):
            session = int(sessions[at])
            before[at] = self._last.get(session, NOBODY)
            self._last[session] = int(rows[last])
        return before

    def _speaker_code(self, name: str) -> int:
        folded = name.casefold()
        code = self._speaker_codes.get(folded)
        if code is None:
            code = self._speaker_codes[folded] = len(self.speakers)
            self.speakers.append(folded)
        return code

    def _grow(self) -> None:
        for name in (
            "_seq", "_session", "_time", "_length", "_speaker",
            "_machine", "_important", "_asks", "_worded", "_dated", "_prefers", "_instructs",
            "_alive", "_before", "_after",
        ):  # fmt: skip
            column = getattr(self, name)
            setattr(self, name, self._np.concatenate([column, self._np.zeros_like(column)]))


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
    instructs: "NDArray[np.bool_]"


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
        """Adds items with their stems, or replaces those known."""
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

    def vocabulary(self, beginning: str) -> list[str]:
        """Returns the stems that start with `beginning`."""
        return [word for word in self._words if word.startswith(beginning)]

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
            instructs(item.text),
        )


@dataclass(frozen=True, slots=True)
class Sought:
    """Which items a question may find. `kinds` are memory, summary or both. A project has its own items and,
    unless it is `isolated`, the memories without a project. Excluded are those of projects in `without`,
    items learned from `messages` or only in `hidden` (sessions), and items whose id is in `messages`.
    """

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
    """Returns the rows that may be found: procedures and the like only once approved, and nothing expired."""
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
