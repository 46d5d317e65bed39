"""Which memories are worth the time that reading them takes: pure functions of a turn's words and its hits.

A search always finds something. Whether it says anything about this turn shows in what speaks for a hit by
itself: the cosine of question and passage, and the share of the question's words (weighed by rarity) that it
holds.

The bounds were chosen on three kinds of talk. A question about what was said had a close memory in all cases
in chats with an assistant and in 94 per cent in talk between people; a question about something else in two
or three per cent, and the words of another chat on related subjects in 20.
"""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from memory.lifecycle.importance import is_small_talk
from memory.recall.entities import Hit
from memory.recall.references import refers_back

MOST_HITS = 5
LOOKED_AT = 12
"""Hits that are asked for: some of them are only what is asked now, said before."""

_WORDS = 0.3
_MARKED = 0.1
_ASKED, _ASKED_BY_WORDS = 0.38, 0.25
_TOLD, _TOLD_BY_WORDS = 0.55, 0.4
_MOST_TOLD = 2
_LEAST = 0.2
_LEAST_OF_BEST = 0.4
_LEAST_NEW = 0.25
_WORD = re.compile(r"\w+")
_ONLY_ASKS = re.compile(r"[^.!?？。]*+[?？]++\s*")


def needs_nothing(text: str) -> bool:
    """Whether a turn is such that no memory could help: greetings, thanks and the like."""
    return is_small_talk(text)


def asks(text: str) -> bool:
    """Whether a turn asks for something; in others memories are brought back only when they are close."""
    return "?" in text or "？" in text or refers_back(text)


def news(text: str, hits: Sequence[Hit]) -> list[Hit]:
    """Those of `hits` that tell anything that is not in `text` already: no echo, no small talk, and more than
    a question.

    What answers a question may differ from it by a single word. Beside words that ask for nothing, a passage
    that shares more than three quarters of its own with them only says the same once more.
    """
    said, asked = _words(text), asks(text)
    return [hit for hit in hits if _is_news(hit.passage, said, asked=asked)]


def _is_news(passage: str, said: AbstractSet[str], *, asked: bool) -> bool:
    if is_small_talk(passage) or _ONLY_ASKS.fullmatch(passage.strip()):
        return False
    words = _words(passage)
    new = len(words - said)
    return new > 0 and (asked or new >= _LEAST_NEW * len(words))


def worthwhile(text: str, hits: Sequence[Hit]) -> list[Hit]:
    """Those of `hits` (`news`, best first) that may stand in the prompt of a turn, at most `MOST_HITS`.

    A question has its memories when at least one of them is close to it; the others may then be less so,
    since an answer is often beside the words that are like the question.
    """
    if not hits:
        return []
    best = max(map(closeness, hits))
    semantic = any(hit.grounds.cosine is not None for hit in hits)
    if asks(text):
        if best < (_ASKED if semantic else _ASKED_BY_WORDS):
            return []
        least = max(_LEAST, _LEAST_OF_BEST * best) if semantic else _LEAST_OF_BEST * best
        return [hit for hit in hits if closeness(hit) >= least][:MOST_HITS]
    told = _TOLD if semantic else _TOLD_BY_WORDS
    return [hit for hit in hits if closeness(hit) >= told][:_MOST_TOLD]


def closeness(hit: Hit) -> float:
    """How close a hit is to what was asked, whatever else was found. Without vectors: by its words alone.

    What the person has marked as important may be somewhat less close.
    """
    cosine, words = hit.grounds.cosine, hit.grounds.words
    marked = _MARKED * hit.parts.get("importance", 0.0)
    return marked + (words if cosine is None else cosine + _WORDS * words)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))
