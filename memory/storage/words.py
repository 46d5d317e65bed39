"""From what a person typed to what FTS5 understands. No input can reach FTS5's own syntax."""

import re
import unicodedata
from dataclasses import dataclass

from memory.errors import BadQuery

_PIECE = re.compile(r'"([^"]*)"|([^\s"]+)')
_WORD_PARTS = ("L", "N", "M", "Co")


@dataclass(frozen=True, slots=True)
class Term:
    """A word or phrase to find; `prefix` when its last word may be a beginning."""

    text: str
    prefix: bool = False

    def fts(self) -> str:
        return f'"{self.text}"' + ("*" if self.prefix else "")


def _searchable(text: str) -> str:
    """The words of `text` as FTS5's unicode61 tokenizer sees them: letters, digits, and marks on them."""
    kept = "".join(char if unicodedata.category(char).startswith(_WORD_PARTS) else " " for char in text)
    return " ".join(word for word in kept.split() if any(char.isalnum() for char in word))


def terms(query: str) -> list[Term]:
    """The words and "quoted phrases" of `query`; `word*` is a beginning, and so is an unquoted last word.

    Raises `BadQuery` when no word is left.
    """
    found: list[Term] = []
    pieces = list(_PIECE.finditer(query))
    for piece in pieces:
        phrase, word = piece.group(1), piece.group(2)
        text = _searchable(phrase if word is None else word)
        if text:
            last = piece is pieces[-1] and piece.end() == len(query)
            found.append(Term(text, prefix=word is not None and (last or word.endswith("*"))))
    if not found:
        raise BadQuery("no word to search for")
    return found


def match_expression(query: str) -> str:
    """An FTS5 expression for messages that hold every term of `query`. Raises `BadQuery`."""
    return " AND ".join(term.fts() for term in terms(query))


def beginnings(text: str) -> list[str]:
    """The words of `text`; empty when it has none."""
    return _searchable(text).split()


def prefix_expression(text: str) -> str:
    """An FTS5 expression for messages in which each word of `text` begins some word. Raises `BadQuery`."""
    words = beginnings(text)
    if not words:
        raise BadQuery("no word to search for")
    return " AND ".join(Term(word, prefix=True).fts() for word in words)


_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
_LETTERS_A_PIECE = 3


def is_unspaced(text: str) -> bool:
    """Whether `text` holds letters of a script that is written without spaces between words."""
    return _UNSPACED.search(text) is not None


def pieces(word: str) -> list[str]:
    """The word itself; of a script without spaces, every three letters that follow one another."""
    if not is_unspaced(word):
        return [word]
    found: list[str] = []
    for run in _UNSPACED.findall(word):
        found += [run[at : at + _LETTERS_A_PIECE] for at in range(max(len(run) - _LETTERS_A_PIECE + 1, 1))]
    found += [part for part in _UNSPACED.split(word) if part]
    return found
