"""Rates how much a message would be missed, by its text alone (the phrases are in `phrases.toml`)."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache, cached_property
from importlib.resources import files

from memory.summaries.evidence import names, numbers
from models.messages import Role


class Phrases:
    """Whole-word patterns.

    Each is compiled on first use: compiling all of them would block the interface for too long.
    """

    def __init__(self, found: Mapping[str, Sequence[str]]) -> None:
        self._found = found

    @cached_property
    def asked(self) -> re.Pattern[str]:
        """Requests to remember something."""
        return self._any("asked")

    @cached_property
    def decision(self) -> re.Pattern[str]:
        return self._any("decision")

    @cached_property
    def fact(self) -> re.Pattern[str]:
        """Facts about the user."""
        return self._any("fact")

    @cached_property
    def filler(self) -> re.Pattern[str]:
        """Small talk."""
        return self._any("filler")

    @cached_property
    def refusal(self) -> re.Pattern[str]:
        """What a model writes instead of a summary."""
        return self._any("refusal")

    @cached_property
    def leaning(self) -> re.Pattern[str]:
        """Words that refer to what was said before."""
        return self._any("leaning")

    @cached_property
    def joining(self) -> re.Pattern[str]:
        """Opening words that join what follows to what was said before."""
        return self._any("joining")

    @cached_property
    def chatter(self) -> re.Pattern[str]:
        """What a model says to the user instead of a summary."""
        return self._any("chatter")

    @cached_property
    def preamble(self) -> re.Pattern[str]:
        """What a model writes before a summary."""
        return self._any("preamble")

    def _any(self, name: str) -> re.Pattern[str]:
        return re.compile(rf"(?<!\w)(?:{'|'.join(self._found[name])})(?!\w)", re.IGNORECASE)


@cache
def phrases() -> Phrases:
    return Phrases(tomllib.loads((files(__package__) / "phrases.toml").read_text("utf-8")))


DECAY = 0.9
PIN_FROM = 0.6
"""From this score on a message stays verbatim while there is room for it."""

_MARKED_FLOOR = 0.5
_ASKED_FLOOR = 0.25
_MODEL_SHARE = 0.5
_PLAIN = 0.2
_LONG_WORDS = 12
_SMALL_TALK_AT_MOST = 200
_LOOKED_AT = 20_000
_BEGINS = 3_000
_TITLE = re.compile(r"[\"“„«‹][^\W\d_][^\"”“»›\n]{2,80}[\"”“»›]|(?<!\*)\*{1,2}[A-Z][^*\n]{2,80}\*")
_QUESTION = re.compile(r"[^.!?。\n]*[?？]")
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)


class Reason(StrEnum):
    """Why a message is important."""

    MARKED = "marked"
    ASKED = "asked to be remembered"
    DECISION = "decision"
    FACT = "about the person"
    NUMBER = "number"
    NAME = "name"
    SMALL_TALK = "small talk"


_WEIGHT = {
    Reason.MARKED: 1.0,
    Reason.ASKED: 0.9,
    Reason.DECISION: 0.75,
    Reason.FACT: 0.65,
    Reason.NUMBER: 0.5,
    Reason.NAME: 0.4,
}
_TOGETHER = 0.3


@dataclass(frozen=True, slots=True)
class Importance:
    """`score` is in [0, 1]; `reasons` explain it, the strongest first."""

    score: float
    reasons: tuple[Reason, ...] = ()

    @property
    def small_talk(self) -> bool:
        return Reason.SMALL_TALK in self.reasons

    @property
    def floor(self) -> float:
        """The least relevance, whatever the age."""
        if Reason.MARKED in self.reasons:
            return _MARKED_FLOOR
        return _ASKED_FLOOR if Reason.ASKED in self.reasons else 0.0


def importance(text: str, role: Role, *, marked: bool = False) -> Importance:
    """Rates what a message says that would be missed. The user's text counts twice as much as the model's."""
    # Code is full of names and numbers that mean nothing here; the text around it decides.
    said = _CODE.sub(" ", text[:_LOOKED_AT])
    begins = said[:_BEGINS]
    found: set[Reason] = {Reason.MARKED} if marked else set()
    known = phrases()
    if role is Role.USER:
        own = ((Reason.ASKED, known.asked), (Reason.FACT, known.fact))
        found |= {reason for reason, pattern in own if pattern.search(said)}
    if known.decision.search(said):
        found.add(Reason.DECISION)
    if numbers(begins):
        found.add(Reason.NUMBER)
    if names(begins) or _TITLE.search(begins):
        found.add(Reason.NAME)
    if not found - {Reason.NAME} and is_small_talk(text):
        return Importance(0.0, (Reason.SMALL_TALK,))
    return Importance(_score(said, role, found), tuple(sorted(found, key=lambda r: -_WEIGHT[r])))


def _score(said: str, role: Role, found: set[Reason]) -> float:
    if Reason.MARKED in found:
        return 1.0
    count = len(said.split())
    score = _PLAIN * min(1.0, count / _LONG_WORDS)
    # Each further reason adds a share of what is missing to 1, so several weigh more together.
    for weight in sorted((_WEIGHT[reason] for reason in found), reverse=True):
        score = max(score, weight) if score < weight else score + (1 - score) * weight * _TOGETHER
    if _QUESTION.fullmatch(said.strip()) and Reason.ASKED not in found:
        score *= 0.7
    return score if role is Role.USER else score * _MODEL_SHARE


def is_small_talk(text: str) -> bool:
    """Whether a text is only greetings, thanks, agreement or laughter."""
    if len(text) > _SMALL_TALK_AT_MOST:
        return False
    left = phrases().filler.sub(" ", text)
    return not any(char.isalnum() for char in left)


def relevance(value: Importance, age: int, *, decay: float = DECAY) -> float:
    """Returns the score after `age` turns: times `decay` for each, but not below the floor."""
    return max(value.score * decay**age, min(value.floor, value.score))
