"""Words as the full-text index sees them."""

import re
import unicodedata

_WORD_PARTS = ("L", "N", "M", "Co")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
LETTERS_A_PIECE = 3


def searchable(text: str) -> str:
    """The words of `text`, one space between them: letters, digits, and marks on them."""
    kept = "".join(char if unicodedata.category(char).startswith(_WORD_PARTS) else " " for char in text)
    return " ".join(word for word in kept.split() if any(char.isalnum() for char in word))


def is_unspaced(text: str) -> bool:
    """Whether `text` holds letters of a script that is written without spaces between words."""
    return _UNSPACED.search(text) is not None


def pieces(word: str) -> list[str]:
    """The word itself; of a script without spaces, every three letters that follow one another."""
    if not is_unspaced(word):
        return [word]
    found: list[str] = []
    for run in _UNSPACED.findall(word):
        found += [run[at : at + LETTERS_A_PIECE] for at in range(max(len(run) - LETTERS_A_PIECE + 1, 1))]
    found += [part for part in _UNSPACED.split(word) if part]
    return found
