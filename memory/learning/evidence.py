"""Whether words are evidence: a quote is found in what was said, and a text says no more than its quote."""

import re
from functools import lru_cache

from memory.summaries.evidence import fold, names, numbers, stem
from memory.summaries.languages import lexicon, words

_LEAST_SHARE = 0.5
_DENIES = re.compile(
    r"\b(?:not|never|no|none|neither|nor|without|cannot|hardly|nobody|nothing|nowhere|kein\w*|nicht|nie|ne|pas|jamais|sans|nunca|"
    r"jamás|sin|tampoco)\b|n[’']t\b",
    re.IGNORECASE,
)


def spaced(text: str) -> str:
    """The text with single spaces."""
    return " ".join(text.split())


def found(quote: str, message: str) -> bool:
    """Whether the quote stands in the message letter by letter, white space apart."""
    looked_for = spaced(quote)
    return bool(looked_for) and looked_for in spaced(message)


def supported(text: str, quote: str, message: str) -> bool:
    """Whether everything that `text` says was said: the quote is found in the message, every word that
    carries meaning, every number and every name of the text stands in the message, half of the words in the
    quote itself, and neither denies what the other does not."""
    if not found(quote, message):
        return False
    told, there, near = _meaning(text), _meaning(message), _meaning(quote)
    if not told <= there or len(told & near) < _LEAST_SHARE * len(told):
        return False
    values = {value for known in numbers(message) for value in known}
    if any(not number & values for number in numbers(text)):
        return False
    said = {fold(word) for word in words(message)}
    if any(fold(word) not in said for name in names(text) for word in words(name)):
        return False
    return denies(text) == denies(quote)


def denies(text: str) -> bool:
    """Whether something in it is said not to be so."""
    return _DENIES.search(text) is not None


@lru_cache(maxsize=20_000)
def normal(text: str) -> str:
    """A text as it is compared with others: its words in order, folded, without marks."""
    return " ".join(fold(word) for word in re.findall(r"[\w’'\-]+", text))


def _meaning(text: str) -> set[str]:
    """Stems of all words but the smallest, and everything that holds a digit."""
    small = lexicon().small
    plain = {stem(folded) for word in words(text) if (folded := fold(word)) not in small}
    return plain | set(re.findall(r"\b\w*\d\w*", text.casefold()))
