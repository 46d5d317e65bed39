"""From the best places of a ranking to hits with their reasons."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from memory.recall.catalogue import Catalogue
from memory.recall.entities import Hit, Note, RawScores, Source, Text
from memory.recall.nearness import Nearest
from memory.recall.rows import NoteRows, Rows
from memory.recall.scoring import Evidence, Scores
from memory.vectors.passages import passages

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Ranked:
    """What was compared, how it scored, and the places of the best, best first: messages come before
    notes."""

    catalogue: Catalogue
    rows: Rows
    notes: NoteRows
    evidence: Evidence
    scores: Scores
    best: "NDArray[np.int64]"

    def messages(self) -> list[int]:
        """The `seq` of every message whose words are needed: of hits, and of what memories were learned
        from."""
        n, catalogue = len(self.rows.rows), self.catalogue
        found = [int(seq) for seq in catalogue.seq[self.rows.rows[self.best[self.best < n]]]]
        for at in self.best[self.best >= n]:
            row = self._learned_from(self._note(int(at)))
            found += [] if row is None else [int(catalogue.seq[row])]
        return found

    def hits(self, texts: Sequence[Text], near: Nearest | None) -> list[Hit]:
        """`texts` are those of `messages`; one that is gone by now is no hit."""
        known = {text.seq: text for text in texts}
        n, found = len(self.rows.rows), []
        for at in map(int, self.best):
            if at >= n:
                found.append(self._of_note(at, known))
            elif (text := known.get(int(self.catalogue.seq[self.rows.rows[at]]))) is not None:
                found.append(self._of_message(at, text, near))
        return found

    def _of_message(self, at: int, text: Text, near: Nearest | None) -> Hit:
        message = text.source.message or ""
        pieces = passages(text.text)
        part = 0 if near is None else near.part(int(self.rows.rows[at]))
        return Hit(
            id=message,
            kind="message",
            text=text.text,
            passage=pieces[min(part, len(pieces) - 1)],
            score=float(self.scores.total[at]),
            parts=self.reasons(at),
            source=text.source,
            grounds=self._grounds(at),
        )

    def _of_note(self, at: int, texts: dict[int, Text]) -> Hit:
        note = self._note(at)
        row = self._learned_from(note)
        text = None if row is None else texts.get(int(self.catalogue.seq[row]))
        session = note.sessions[0] if note.sessions else None
        return Hit(
            id=note.id,
            kind=note.kind,
            text=note.text,
            passage=note.text,
            score=float(self.scores.total[at]),
            parts=self.reasons(at),
            source=Source(session, None, None, None, note.created, "") if text is None else text.source,
            grounds=self._grounds(at),
            sources=note.messages,
        )

    def reasons(self, at: int) -> dict[str, float]:
        return {name: float(values[at]) for name, values in self.scores.parts.items()}

    def _note(self, at: int) -> Note:
        return self.notes.shelf.notes[int(self.notes.rows[at - len(self.rows.rows)])]

    def _learned_from(self, note: Note) -> int | None:
        """The row of the first message that a memory was learned from."""
        return next((row for one in note.messages if (row := self.catalogue.rows.get(one)) is not None), None)

    def _grounds(self, at: int) -> RawScores:
        meaning = self.evidence.meaning
        cosine = None if meaning is None else float(meaning[at])
        # Not a number: there is no vector of it yet.
        return RawScores(cosine if cosine == cosine else None, float(self.evidence.held[at]))
