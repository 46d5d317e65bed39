"""What a room holds, as columns: who said what when in which session, without a word of it.

A row keeps its number for as long as the catalogue lives; what is erased leaves a row that is not alive.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from memory.recall.entities import Entry, SessionEntry

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FIRST_ROOM = 256
NOBODY = -1


class Catalogue:
    """Columns over messages (`int`, `bool` and `float` arrays of one length) and over sessions. `version`
    rises with every change."""

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
        self._dated = np.zeros(_FIRST_ROOM, np.bool_)
        self._prefers = np.zeros(_FIRST_ROOM, np.bool_)
        self._alive = np.zeros(_FIRST_ROOM, np.bool_)
        self._before = np.full(_FIRST_ROOM, NOBODY, np.int64)
        self._after = np.full(_FIRST_ROOM, NOBODY, np.int64)
        self.ids: list[str] = []
        self.rows: dict[str, int] = {}
        self.by_seq: dict[int, int] = {}
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
        return self._dated[: self._size]

    @property
    def prefers(self) -> "NDArray[np.bool_]":
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

    def rows_of(self, seqs: Sequence[int]) -> "NDArray[np.int64]":
        """The rows of these messages, -1 for those that are not there."""
        import numpy as np

        asked = np.fromiter(seqs, np.int64, len(seqs))
        inside = asked < len(self._row_of_seq)
        found: NDArray[np.int64] = np.where(inside, self._row_of_seq[np.where(inside, asked, 0)], NOBODY)
        return found

    # --- changes ----------------------------------------------------------------------------------

    def take(self, entries: Iterable[Entry]) -> None:
        """Adds messages, or puts new facts in place of the old ones. Their sessions must be known."""
        self.version += 1
        for entry in entries:
            row = self.by_seq.get(entry.seq)
            if row is None:
                row = self._new_row(entry)
            self._session[row] = self.session_codes[entry.session_id]
            self._time[row] = entry.created_at
            self._length[row] = entry.length
            self._speaker[row] = self._speaker_code(entry.speaker)
            self._machine[row] = entry.machine
            self._important[row] = entry.important
            self._asks[row] = entry.asks
            self._dated[row] = entry.dated
            self._prefers[row] = entry.prefers
            self._alive[row] = True

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
        """Forgets messages that are gone."""
        self.version += 1
        for seq in seqs:
            row = self.by_seq.pop(seq, None)
            if row is not None:
                self._alive[row] = False
                self._row_of_seq[seq] = NOBODY
                self.rows.pop(self.ids[row], None)
                self.ids[row] = ""

    def _new_row(self, entry: Entry) -> int:
        row = self._size
        if row == len(self._seq):
            self._grow()
        self._size += 1
        self._seq[row] = entry.seq
        self.ids.append(entry.id)
        self.rows[entry.id] = row
        self.by_seq[entry.seq] = row
        while entry.seq >= len(self._row_of_seq):
            self._row_of_seq = self._np.concatenate(
                [self._row_of_seq, self._np.full_like(self._row_of_seq, NOBODY)]
            )
        self._row_of_seq[entry.seq] = row
        session = self.session_codes[entry.session_id]
        answered = self.rows.get(entry.parent_id or "", self._last.get(session, NOBODY))
        self._before[row] = answered
        self._after[row] = NOBODY
        if answered != NOBODY:
            self._after[answered] = row
        self._last[session] = row
        return row

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
            "_machine", "_important", "_asks", "_dated", "_prefers", "_alive", "_before", "_after",
        ):  # fmt: skip
            column = getattr(self, name)
            setattr(self, name, self._np.concatenate([column, self._np.zeros_like(column)]))
