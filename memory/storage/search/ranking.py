"""Scores how well messages match the wanted words. Pure functions.

BM25 (Robertson and Zaragoza, 2009). The frequency of a word is counted on its surface, by the prefix that all
of its forms share. Words that occur together as typed get a bonus.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

K1, B = 1.2, 0.75
_TOGETHER = 0.3
_LETTERS_A_WORD = 6.0
_SHORT = 3
_HALF_SHORT = 4


_BEFORE_WORDS = (" ", "\n", "(", '"', "'", "*", "`", "-")


@dataclass(frozen=True, slots=True)
class Surface:
    """The visible form of consecutive words in a text.

    `roots` are the prefixes that all of their forms share; `pattern` describes how they follow one another.
    Other texts may look the same.
    """

    roots: tuple[str, ...]
    pattern: re.Pattern[str]

    def may_be_in(self, text: str) -> bool:
        """Whether a text, in the form of `plain`, contains all roots; several times faster than `is_in`."""
        return all(root in text for root in self.roots)

    def is_in(self, text: str) -> bool:
        if not self.may_be_in(text):
            return False
        # Most words follow a space, where they are found many times faster.
        if len(self.roots) == 1 and f" {self.roots[0]}" in text:
            return True
        return self.pattern.search(text) is not None

    def count(self, text: str) -> int:
        """Returns the estimated number of occurrences."""
        return min(_count(root, text) for root in self.roots)


@dataclass(frozen=True, slots=True)
class Sought:
    """One wanted word or phrase and its rarity (higher is rarer)."""

    surface: Surface
    rarity: float = 1.0


def _count(root: str, text: str) -> int:
    """Counts occurrences at the beginning of words; those after characters not listed are not counted."""
    return text.startswith(root) + sum(text.count(sign + root) for sign in _BEFORE_WORDS)


def plain(text: str) -> str:
    """Returns the text as patterns see it: in lower case and without combining marks."""
    if text.isascii():
        return text.lower()
    spread = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(char for char in spread if not unicodedata.combining(char))
    # Parts of Hangul syllables are letters of their own: left apart, one syllable would be found in another.
    return unicodedata.normalize("NFC", bare)


def surface(words: Sequence[str], *, prefix: bool, unspaced: bool = False) -> Surface:
    """Returns the surface of stems; with `prefix`, of words as typed, the last of which may be a prefix."""
    if unspaced:
        root = "".join(plain(one) for one in words)
        return Surface((root,), re.compile(re.escape(root)))
    folded = [plain(word) for word in words]
    roots = tuple(word if prefix and at == len(folded) - 1 else _root(word) for at, word in enumerate(folded))
    parts = [rf"(?<!\w){re.escape(root)}\w*" for root in roots]
    return Surface(roots, re.compile(r"\W+".join(parts)))


@dataclass(frozen=True, slots=True)
class Typed:
    """Consecutive words as typed.

    The index finds every ASCII text that contains them in this form; it finds other forms too.
    """

    words: tuple[str, ...]
    together: str
    pattern: re.Pattern[str]

    def is_in(self, text: str) -> bool:
        """Whether `text`, in the form of `plain`, contains the words."""
        if not all(word in text for word in self.words):
            return False
        # Most words are between spaces, where they are found many times faster.
        return self.together in text or self.pattern.search(text) is not None


def typed(text: str) -> Typed | None:
    """Returns the words as typed; None if the index may read them differently."""
    words = tuple(text.lower().split())
    if not words or not text.isascii():
        return None
    pattern = re.compile(rf"(?<!\w){r'[^a-z0-9_]+'.join(map(re.escape, words))}(?!\w)")
    return Typed(words, f" {' '.join(words)} ", pattern)


def _root(stem: str) -> str:
    """Returns the part of a stem that all its words share: pony and ponies have stem poni, hoping hope."""
    if any(char.isdigit() for char in stem):
        return stem
    if len(stem) <= _SHORT:
        return stem[:-1] if stem.endswith("i") and len(stem) > 1 else stem
    return stem[: -1 if len(stem) == _HALF_SHORT else -2]


def rarity(documents: int, holders: int) -> float:
    return math.log(1 + (documents - holders + 0.5) / (holders + 0.5))


def scores(texts: Sequence[str], sought: Sequence[Sought], together: str) -> list[float]:
    """Returns one score for each text, higher is better.

    `together` is all words one after the other as typed, or empty.
    """
    if not texts or not sought:
        return [0.0] * len(texts)
    folded = [plain(text) for text in texts]
    lengths = [len(text) / _LETTERS_A_WORD for text in folded]
    mean = max(sum(lengths) / len(lengths), 1.0)
    phrase = plain(together)
    found = []
    for text, length in zip(folded, lengths, strict=True):
        norm = K1 * (1 - B + B * length / mean)
        total = 0.0
        for one in sought:
            count = one.surface.count(text)
            total += one.rarity * count * (K1 + 1) / (count + norm)
        if phrase and phrase in text:
            total *= 1 + _TOGETHER
        # The index has found the text, though its surface may differ.
        found.append(max(total, 1e-6))
    return found
