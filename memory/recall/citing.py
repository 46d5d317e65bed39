"""Whether a memory was of use in a reply: pure functions of stems."""

import re
from collections.abc import Collection, Sequence

from memory.recall.words import content_words

_LEAST_SHARE = 0.5
_LEAST_WORDS = 2
_CONFIRMS = re.compile(
    r"\W*(?:yes|yeah|yep|yup|right|correct|exactly|indeed|true|that(?:'s| is) (?:right|correct|true|it)"
    r"|(?:you(?:'re| are) right)|perfect|precisely)\b",
    re.IGNORECASE,
)


def cited(memory: Sequence[str], asked: Collection[str], reply: Collection[str]) -> bool:
    """Whether a reply says what the memory says, beyond what the question had said already.

    All three are stems. Half of what the memory adds to the question must be in the reply, and of a longer
    memory at least two words.
    """
    added = {stem for stem in content_words(memory) if stem not in asked}
    said = added.intersection(reply)
    return len(said) >= min(_LEAST_WORDS, len(added)) > 0 and len(said) >= _LEAST_SHARE * len(added)


def confirms(text: str) -> bool:
    """Whether somebody agrees with what was said to them just before."""
    return _CONFIRMS.match(text) is not None
