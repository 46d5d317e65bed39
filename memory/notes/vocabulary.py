"""Reads the words of notes, with a number for each stem."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from memory.recall.words import carries_meaning
from memory.search.terms import is_unspaced, pieces
from memory.summaries.evidence import stem

BREAK = -1
"""Stands in a stream of numbers for words that were left out."""
WORD = re.compile(r"[^\W_]+")

Ranges = Sequence[tuple[int, int]]
_Read = tuple[tuple[int, ...], tuple[int, ...]]


class Word(NamedTuple):
    """A word without case and accents, and its place in a text."""

    folded: str
    begin: int
    end: int


def words_of(text: str) -> Iterator[Word]:
    """Yields the words of a text; of scripts without spaces, each letter."""
    for found in WORD.finditer(text):
        if found[0].isascii() or not is_unspaced(found[0]):
            yield Word(_folded(found[0]), *found.span())
            continue
        begin = found.start()
        for at, letter in enumerate(found[0], found.start()):
            if is_unspaced(letter):
                if begin < at:
                    yield Word(_folded(text[begin:at]), begin, at)
                yield Word(_folded(letter), at, at + 1)
                begin = at + 1
        if begin < found.end():
            yield Word(_folded(text[begin : found.end()]), begin, found.end())


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    apart = unicodedata.normalize("NFKD", word).casefold()
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


def terms_of(words: Iterable[str]) -> list[str]:
    """Returns stems to count; of scripts without spaces, every pair of letters."""
    found: list[str] = []
    run = ""
    for word in [*words, ""]:
        if word and is_unspaced(word):
            run += word
            continue
        if run:
            found.extend(one for one in pieces(run) if len(one) > 1 or len(run) == 1)
            run = ""
        if word:
            found.append(stem(word))
    return found


class Vocabulary:
    """Numbers for the stems of words, in the order in which they were first read."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._words: dict[str, _Read] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, term: str) -> int | None:
        """Returns the number of a term; None if no note has it."""
        return self._numbers.get(term)

    def phrase(self, text: str) -> tuple[int, ...]:
        """Returns the numbers of the stems of a text in order."""
        return tuple(number for word in WORD.findall(text) for number in self._read(word)[0])

    def terms(self, text: str) -> list[int]:
        """Returns the numbers of the terms of a text that carry meaning."""
        return [number for word in WORD.findall(text) for number in self._read(word)[1]]

    def text(self, text: str, quiet: Ranges) -> tuple[list[int], list[int]]:
        """Returns the numbers of the stems of a text outside of the `quiet` ranges, with `BREAK` where some
        were left out and at the end, and those of all its terms that carry meaning."""
        stream: list[int] = []
        terms: list[int] = []
        at = 0
        known, read = self._words, self._read
        for begin, end in [*sorted(quiet), (len(text), len(text))]:
            begin = max(at, begin)
            found = [known.get(word) or read(word) for word in WORD.findall(text, at, begin)]
            stream += [number for numbers, _ in found for number in numbers]
            terms += [number for _, numbers in found for number in numbers]
            stream.append(BREAK)
            at = max(begin, end)
            terms += [number for word in WORD.findall(text, begin, at) for number in read(word)[1]]
        return stream, terms

    def _read(self, word: str) -> _Read:
        """Returns the numbers of the stems of a word, and of those that carry meaning. In scripts without
        spaces, these are its letters and pairs of letters."""
        known = self._words.get(word)
        if known is None:
            folded = [one.folded for one in words_of(word)]
            numbers = tuple(self._added(stem(one)) for one in folded)
            known = numbers, tuple(self._added(one) for one in terms_of(folded) if carries_meaning([one]))
            if not is_unspaced(word):
                self._words[word] = known
        return known

    def _added(self, term: str) -> int:
        return self._numbers.setdefault(term, len(self._numbers))
