"""The value types of learning, and the check that a quote supports what is learned from it."""

import re
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache

from memory.memories.entities import MemoryKind, MemoryOrigin
from memory.summaries.evidence import fold, names, numbers, stem
from memory.summaries.languages import lexicon, words


@dataclass(frozen=True, slots=True)
class Utterance:
    """A message of the user. `before` is the reply that it answers: context, never evidence."""

    message_id: str
    session_id: str
    text: str = field(repr=False)
    at: datetime
    important: bool = False
    before: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """The parts of a statement that can be compared with those of others.

    `attribute` is the kind of statement about the subject (`residence`, `like`…), empty where it is not known
    to exclude anything. `value` are stems of the value, `words` stems of the whole text. `denies`: it states
    that something is not so. `ended` are stems of what has ended. `changed`: it states that something is
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
class Correction:
    """`right` stands where something known says `wrong`: "… is in July, not June".

    `about` are stems of what it names besides, and `denied` is the statement that it denies ("… is in
    June"); without them ("It isn't June, it's July") it corrects what was said just before, or what the reply
    that it answers (stems in `answered`) has told.
    """

    wrong: str = field(repr=False)
    right: str = field(repr=False)
    about: frozenset[str] = field(default=frozenset(), repr=False)
    denied: str = field(default="", repr=False)
    answered: frozenset[str] = field(default=frozenset(), repr=False)

    def applied(self, text: str) -> str | None:
        """Returns a text with what is right in place of what is wrong; None if it does not say that."""
        wrong = re.compile(rf"(?<!\w){re.escape(self.wrong)}(?!\w)", re.IGNORECASE)
        corrected = wrong.sub(lambda _: self.right, text)
        return None if corrected == text else corrected[:1].upper() + corrected[1:]


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that may be learned from one message, which contains `quote`.

    `only_ends`: of no interest on its own, it only states that something known is no longer true. With
    `correction`, the text that is learned is that of the memory that it corrects.
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
    correction: Correction | None = None
    model: str | None = None


_LEAST_SHARE = 0.5
_DENIES = re.compile(
    r"\b(?:not|never|no|none|neither|nor|without|cannot|hardly|nobody|nothing|nowhere|kein\w*|nicht|nie|ne|pas|jamais|sans|nunca|"
    r"jamás|sin|tampoco|niemals)\b|n[’']t\b|[不没]",
    re.IGNORECASE,
)


def spaced(text: str) -> str:
    """Returns the text with single spaces."""
    return " ".join(text.split())


def found(quote: str, message: str) -> bool:
    """Whether the message contains the quote verbatim, apart from white space."""
    looked_for = spaced(quote)
    return bool(looked_for) and looked_for in spaced(message)


def supported(text: str, quote: str, message: str) -> bool:
    """Whether the user said everything that `text` states.

    The quote must be found in the message. The message must contain every meaningful word, number and name of
    the text, and the quote half of those words. Either both text and quote contain a negation, or neither.
    """
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
    """Whether the text contains a negation."""
    return _DENIES.search(text) is not None


@lru_cache(maxsize=20_000)
def normal(text: str) -> str:
    """Returns a text for comparison: its words in order, folded, without punctuation."""
    return " ".join(fold(word) for word in re.findall(r"[\w’'\-]+", text))


def content(text: str) -> frozenset[str]:
    """Returns the stems of all words but the commonest and contractions: "I'm" and "I am" say the same."""
    return frozenset(word for word in _stems(text) if word.isalnum())


def _stems(text: str) -> set[str]:
    small = lexicon().small
    return {stem(folded) for word in words(text) if (folded := fold(word)) not in small}


def _meaning(text: str) -> set[str]:
    """Returns the stems of all words except the commonest, and everything that contains a digit."""
    return _stems(text) | set(re.findall(r"\b\w*\d\w*", text.casefold()))
