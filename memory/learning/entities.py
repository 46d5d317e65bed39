"""The values of learning, and whether words are evidence for what is learned from them."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from memory.memories.entities import MemoryKind, MemoryOrigin
from memory.summaries.evidence import fold, names, numbers, stem
from memory.summaries.languages import lexicon, words


@dataclass(frozen=True, slots=True)
class Heard:
    """A message of the person. `before` is the reply that it answers: it helps to understand, it is never
    evidence."""

    message_id: str
    session_id: str
    text: str = field(repr=False)
    at: datetime
    important: bool = False
    before: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a statement says, so far as it can be compared with others.

    `attribute` is what of the subject it tells (`residence`, `like`…), empty where nothing is known to
    exclude anything; `value` are stems of what it says it is, `words` stems of all it says. `denies`: it says
    that it is not so. `ended` are stems of what it says has ended. `changed`: it says that something is
    different now.
    """

    subject: frozenset[str]
    attribute: str = ""
    value: frozenset[str] = frozenset()
    denies: bool = False
    ended: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    changed: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that may be learned from one message: `quote` is found in it.

    `only_ends`: of no interest by itself, it only tells that something known does not hold any more.
    """

    kind: MemoryKind
    text: str = field(repr=False)
    quote: str = field(repr=False)
    message_id: str
    session_id: str
    said_at: datetime
    subject: str = field(default="", repr=False)
    origin: MemoryOrigin = MemoryOrigin.PATTERN
    confidence: float = 0.8
    importance: float = 0.5
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    only_ends: bool = False
    model: str | None = None


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
