"""Translates typed text into FTS5 expressions. No input can reach FTS5's own syntax."""

import re
from dataclasses import dataclass
from string import ascii_lowercase

from memory.errors import BadQuery
from memory.search.entities import All, Condition, Query
from memory.search.language import worded
from memory.search.terms import is_unspaced, pieces, searchable

__all__ = [
    "Term",
    "beginning",
    "beginnings",
    "is_unspaced",
    "match_expression",
    "pieces",
    "plain_query",
    "prefix_expression",
    "terms",
]

_PIECE = re.compile(r'"([^"]*)"|([^\s"]+)')


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase to find; with `prefix`, its last word may be a beginning."""

    text: str
    prefix: bool = False

    def fts(self) -> str:
        return f"({' OR '.join(beginning(self.text))})" if self.prefix else f'"{self.text}"'


def beginning(text: str) -> list[str]:
    """Returns FTS5 expressions, joined by OR, for a text whose last word may be a beginning.

    The index cuts endings off: `"gas"*` would find what begins with "ga". With one more letter nothing is cut
    off, except an "s" after another ending.
    """
    word = text.rsplit(" ", 1)[-1].lower()
    is_inflected = word.endswith(("ed", "ing"))
    if not is_inflected and not (word.endswith("s") and not word.endswith("ss")):
        return [f'"{text}"*']
    letters = ascii_lowercase.replace("s", "") if is_inflected else ascii_lowercase
    return [f'"{text}"', *(f'"{text}{letter}"*' for letter in letters)]


def terms(query: str) -> list[Term]:
    """Returns the words and "quoted phrases" of `query`; `word*` is a beginning, and so is an unquoted last
    word.

    Raises `BadQuery` when no word is left.
    """
    found: list[Term] = []
    pieces = list(_PIECE.finditer(query))
    for piece in pieces:
        phrase, word = piece.group(1), piece.group(2)
        text = searchable(phrase if word is None else word)
        if text:
            last = piece is pieces[-1] and piece.end() == len(query)
            found.append(Term(text, prefix=word is not None and (last or word.endswith("*"))))
    if not found:
        raise BadQuery("no word to search for")
    return found


def match_expression(query: str) -> str:
    """Returns an FTS5 expression for messages that contain every term of `query`. Raises `BadQuery`."""
    return " AND ".join(term.fts() for term in terms(query))


def plain_query(text: str) -> Query:
    """Returns a query for messages that contain every term of `text`. Raises `BadQuery`."""
    found: list[Condition] = []
    for term in terms(text):
        part = worded(term.text, prefix=term.prefix)
        found += part.parts if isinstance(part, All) else () if part is None else (part,)
    return Query(All(tuple(found)) if len(found) > 1 else found[0])


def beginnings(text: str) -> list[str]:
    """Returns the words of `text`; empty when it has none."""
    return searchable(text).split()


def prefix_expression(text: str) -> str:
    """Returns an FTS5 expression for messages in which each word of `text` begins some word. Raises
    `BadQuery`."""
    words = beginnings(text)
    if not words:
        raise BadQuery("no word to search for")
    return " AND ".join(Term(word, prefix=True).fts() for word in words)
