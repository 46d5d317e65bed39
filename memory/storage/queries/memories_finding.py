"""Finding memories by words or the beginnings of words."""
# the names put into SQL are all written in this module

from memory.storage.connection import fold
from memory.storage.words import Term, beginnings, is_unspaced

_TEXT = "m.subject || ' ' || m.text"
_LEAST_PIECE = 3


def containing(text: str) -> tuple[str, list[object]]:
    """A condition on `memories AS m`, and its parameters: every word of `text` begins a word of the memory.

    Words of scripts without spaces may stand anywhere. The index of pieces leads to the few memories that are
    looked at; those that are not in it, because nothing finds them any more, are all looked at.
    """
    words = beginnings(text)
    if not words:
        return "0", []
    conditions: list[str] = []
    parameters: list[object] = []
    long = [word for word in words if len(word) >= _LEAST_PIECE]
    if long:
        conditions.append(
            """
            (m.state NOT IN ('inbox', 'kept')
                OR m.seq IN (SELECT rowid FROM memories_pieces WHERE memories_pieces MATCH ?))
            """
        )
        parameters.append(" AND ".join(Term(word).fts() for word in long))
    for word in words:
        unspaced = is_unspaced(word)
        conditions.append(f"instr({'fold' if unspaced else 'spaced'}({_TEXT}), ?) > 0")
        parameters.append(fold(word) if unspaced else f" {fold(word)}")
    return "(" + " AND ".join(conditions) + ")", parameters
