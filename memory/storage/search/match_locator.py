"""Matches words against a few given texts and locates them.

Uses a small in-memory full-text index with the tokenizer of the room's index. It is filled with the texts for
each query and emptied again. In the room's index, checking one row costs as much as checking a thousand.
"""
# ruff: noqa: S608  # the names put into SQL are all written in this module

import json
from collections.abc import Sequence

from memory.search.entities import All, AnyOf, Condition, Not, Words
from memory.search.snippets import Ranges, merged
from memory.search.terms import is_unspaced
from memory.storage.connection import Connection, open_memory
from memory.storage.search.sql import expression
from memory.storage.words import pieces

_BEGIN, _END = "\ufdd0", "\ufdd1"
# Both are Unicode noncharacters, which may occur in a text all the same.
_HARMLESS = str.maketrans({_BEGIN: " ", _END: " ", "\x00": " "})


class Lens:
    """An in-memory index over a few texts. Belongs to one thread."""

    def __init__(self) -> None:
        self._conn: Connection = open_memory()
        self._conn.execute(
            "CREATE VIRTUAL TABLE texts USING fts5 (text, tokenize = 'porter unicode61 remove_diacritics 2')"
        )
        self._conn.execute("CREATE VIRTUAL TABLE places USING fts5vocab(texts, instance)")
        self._stems: dict[str, list[str]] = {}

    def stems(self, text: str) -> list[str]:
        """Returns the stems of the words of `text`, in order, as the index stores them."""
        if text not in self._stems:
            if len(self._stems) > 1000:
                self._stems.clear()
            self._fill([text])
            rows = self._conn.execute("SELECT term FROM places ORDER BY offset").fetchall()
            self._conn.execute("ROLLBACK")
            self._stems[text] = [piece for (term,) in rows for piece in pieces(term)]
        return self._stems[text]

    def fitting(self, texts: Sequence[str], wanted: Condition) -> set[int]:
        """Returns the positions in `texts` of those that match a condition about words alone."""
        self._fill(texts)
        try:
            return self._fitting(texts, wanted)
        finally:
            self._conn.execute("ROLLBACK")

    def marks(self, texts: Sequence[str], wanted: Sequence[Words]) -> list[Ranges]:
        """Returns, for each text, the ranges of the words, in order and disjoint."""
        found: list[list[tuple[int, int]]] = [[] for _ in texts]
        spaced = [one for one in wanted if not is_unspaced(one.text)]
        if spaced:
            whole = AnyOf(tuple(spaced)) if len(spaced) > 1 else spaced[0]
            self._fill(texts)
            rows = self._conn.execute(
                f"SELECT rowid, highlight(texts, 0, '{_BEGIN}', '{_END}') FROM texts WHERE texts MATCH ?",
                (expression(whole),),
            ).fetchall()
            self._conn.execute("ROLLBACK")
            for row, marked in rows:
                found[row - 1] += _ranges(marked)
        for one in wanted:
            if is_unspaced(one.text):
                for at, text in enumerate(texts):
                    found[at] += occurrences(text, one.text)
        return [merged(ranges) for ranges in found]

    def _fill(self, texts: Sequence[str]) -> None:
        self._conn.execute("BEGIN")
        try:
            self._conn.execute(
                "INSERT INTO texts (rowid, text) SELECT key + 1, value FROM json_each(?)",
                (json.dumps([text.translate(_HARMLESS) for text in texts]),),
            )
        except BaseException:
            self._conn.execute("ROLLBACK")
            raise

    def _fitting(self, texts: Sequence[str], wanted: Condition) -> set[int]:
        match wanted:
            case All(parts):
                return set.intersection(*(self._fitting(texts, one) for one in parts))
            case AnyOf(parts):
                return set.union(*(self._fitting(texts, one) for one in parts))
            case Not(inner):
                return set(range(len(texts))) - self._fitting(texts, inner)
            case Words(text) if is_unspaced(text):
                return {at for at, one in enumerate(texts) if occurrences(one, text)}
            case Words():
                rows = self._conn.execute(
                    "SELECT rowid FROM texts WHERE texts MATCH ?", (expression(wanted),)
                ).fetchall()
                return {row - 1 for (row,) in rows}
        raise TypeError(f"{type(wanted).__name__} is not about words")


def _ranges(marked: str) -> list[tuple[int, int]]:
    """Returns the highlighted ranges as offsets into the text without marks."""
    found: list[tuple[int, int]] = []
    at = begin = 0
    for piece in marked.split(_BEGIN)[:1]:
        at = len(piece)
    for piece in marked.split(_BEGIN)[1:]:
        inside, _, after = piece.partition(_END)
        begin = at
        found.append((begin, begin + len(inside)))
        at = begin + len(inside) + len(after)
    return found


def occurrences(text: str, wanted: str) -> list[tuple[int, int]]:
    """Returns the ranges of `wanted` in `text`; ignores case where that does not change the offsets."""
    lower, sought = text.lower(), wanted.lower()
    if len(lower) != len(text):
        lower, sought = text, wanted
    found = []
    at = lower.find(sought)
    while at >= 0:
        found.append((at, at + len(sought)))
        at = lower.find(sought, at + len(sought))
    return found
