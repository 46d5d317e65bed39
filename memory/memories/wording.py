"""The full text of a memory, and whether a text depends on content that is to be erased."""

import re
from collections.abc import Iterable

from memory.recall.words import carries_meaning
from memory.storage.words import is_unspaced, pieces
from memory.summaries.languages import lexicon

ONESELF = "I"
"""The subject of statements about the user."""

_WORD = re.compile(r"\w+")
_SENTENCE_ENDS = frozenset(".!?\n")
_ENDINGS = ("ing", "es", "ed", "s", "d")
_SHORTEST_STEM = 3


def reading(subject: str, text: str) -> str:
    """Returns the text of a memory with its subject: this is embedded, and used in prompts.

    The subject is omitted when it is the user, or is in the text.
    """
    known = not subject or subject == ONESELF or subject.casefold() in text.casefold()
    return text if known else f"{subject}: {text}"


def rests_on(text: str, gone: Iterable[str], left: Iterable[str]) -> bool:
    """Whether `text` contains a word that occurs in `gone` and nowhere in `left`.

    Stop words ("the", "in") do not count. A word and its English endings are one; numbers are compared as
    they are.
    """
    words = _words(text)
    only_there = words - _without(words, gone)
    return bool(_without(only_there, left))


def particulars(texts: Iterable[str]) -> frozenset[str]:
    """Returns the names and numbers of the texts.

    These are words that contain a digit, and words with a capital letter that is not only due to a sentence
    start.
    """
    known = lexicon()
    found = set()
    for text in texts:
        end = 0
        for match in _WORD.finditer(text):
            word, between = match.group(), text[end : match.start()]
            begins = end == 0 or not _SENTENCE_ENDS.isdisjoint(between)
            end = match.end()
            numbered = len(word) > 1 and any(map(str.isdigit, word))
            capital = any(map(str.isupper, word[1:] if begins else word))
            if numbered or (capital and word.casefold() not in known.common | known.calendar):
                found.add(_stem(word.casefold()))
    return frozenset(found)


def names(text: str, wanted: frozenset[str], left: Iterable[str]) -> bool:
    """Whether `text` contains one of `wanted` (particulars) that nothing of `left` contains.

    Stricter than `rests_on`: for texts that may be unrelated to what is erased, where everyday words mean
    nothing.
    """
    return bool(_without(_words(text) & wanted, left))


def repeats(text: str, gone: Iterable[str], left: Iterable[str]) -> bool:
    """Whether `text` occurs word for word in `gone` and nowhere in `left`.

    Stop words count here: a text may consist of nothing else.
    """
    said = _in_a_row(text)
    return any(said in _in_a_row(one) for one in gone) and not any(said in _in_a_row(one) for one in left)


def _in_a_row(text: str) -> str:
    """Returns the words of the text, each with a space on both sides."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


def _without(words: set[str], texts: Iterable[str]) -> set[str]:
    """Returns those of `words` that none of the texts contains."""
    missing = set(words)
    for text in texts:
        if not missing:
            break
        folded = text.casefold()
        # A stem is the beginning of its word, so most texts need no closer check.
        if any(word in folded for word in missing):
            missing -= _words(text)
    return missing


def _words(text: str) -> set[str]:
    small = lexicon().common
    found = set()
    for word in _WORD.findall(text.casefold()):
        if is_unspaced(word):
            found.update(pieces(word))
        elif word not in small and carries_meaning([word]) and (len(word) > 1 or word.isdigit()):
            found.add(_stem(word))
    return found


def _stem(word: str) -> str:
    if word.isalpha():
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
                return word[: -len(ending)].removesuffix("e")
    return word.removesuffix("e") if word.isalpha() and len(word) > _SHORTEST_STEM else word
