"""In-memory columns over the messages of a room (author, time, session and flags), without their text.

A row keeps its number for the lifetime of the catalogue. An erased message leaves a row that is not alive.
"""

from collections.abc import Collection, Iterable, Sequence
from itertools import repeat
from typing import TYPE_CHECKING

from memory.recall.entities import Entry, SessionEntry, Wording

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
        """Whether each message says when something was; valid only for rows whose wording was read."""
        return self._dated[: self._size]

    @property
    def prefers(self) -> "NDArray[np.bool_]":
        """Whether each message states a preference; valid only for rows whose wording was read."""
        return self._prefers[: self._size]

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
        """Adds messages, or replaces what is known of them. Their sessions must be known."""
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
        self._worded[rows] = self._dated[rows] = self._prefers[rows] = False
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
            "_machine", "_important", "_asks", "_worded", "_dated", "_prefers", "_alive", "_before", "_after",
        ):  # fmt: skip
            column = getattr(self, name)
            setattr(self, name, self._np.concatenate([column, self._np.zeros_like(column)]))
