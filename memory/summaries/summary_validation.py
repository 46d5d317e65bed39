"""Pure checks that a model's summary must pass before it may replace messages."""

import re
from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from memory.summaries.evidence import Evidence, fold
from memory.summaries.importance import phrases
from memory.summaries.languages import language, script

SHARE = 0.35
"""The longest a summary may be, as a share of the tokens that it covers."""

LEAST_TOKENS = 40
"""No summary has to be shorter than this, unless its source is."""

_ECHO_WORDS = 6
_LOOP_WORDS = 4
_LOOP_TIMES = 3
_DETAILS = 5
_LONGEST_PREAMBLE = 120
_SPEECH = re.compile(r"^[^\S\n]*(?:[-*]\s*)?\**([\w .’'\-]{1,40})\**:\**\s", re.MULTILINE)
_SENTENCE_END = re.compile(r"[.!?…。！？][\"”’»)\]]*(?=\s|$)")


class Flaw(StrEnum):
    """Why a summary is refused."""

    EMPTY = "empty"
    TOO_LONG = "too long"
    UNKNOWN_NUMBER = "unknown number"
    UNKNOWN_NAME = "unknown name"
    REFUSAL = "refusal"
    CHATTER = "chatter"
    ECHO = "echo"
    DIALOGUE = "dialogue"
    LOOP = "loop"
    LANGUAGE = "language"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Refused:
    """One flaw and its evidence (words of the summary, never logged)."""

    flaw: Flaw
    details: tuple[str, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Rule:
    """What a summary is checked against. `prompt` is the text around the source, which must not be echoed."""

    source: str = field(repr=False)
    speakers: tuple[str, ...]
    most_tokens: int
    prompt: str = ""


def longest(source_tokens: int) -> int:
    """Returns the most tokens of a summary: 35 % of the source, but at least 40 where the source has them."""
    return max(int(source_tokens * SHARE), min(source_tokens, LEAST_TOKENS))


def tidied(text: str, *, cut_off: bool = False) -> str:
    """Strips the text around a model's answer; one that was cut off ends with its last whole sentence."""
    tidy = _preamble(text.strip()).strip('"“”').strip()
    if cut_off:
        ends = [match.end() for match in _SENTENCE_END.finditer(tidy)]
        tidy = tidy[: ends[-1]] if ends else ""
    return "\n".join(line.rstrip() for line in tidy.splitlines() if line.strip())


def _preamble(text: str) -> str:
    """Removes `Here is a short summary of the conversation:` and the like."""
    first, colon, rest = text.partition(":")
    said = len(first) <= _LONGEST_PREAMBLE and "\n" not in first and phrases().preamble.search(first)
    return rest.strip().removeprefix("**") if colon and said else text


def flaws(text: str, tokens: int, rule: Rule) -> list[Refused]:
    """Returns everything wrong with a summary of `tokens` tokens; empty when it passes."""
    if not any(char.isalnum() for char in text):
        return [Refused(Flaw.EMPTY)]
    evidence = Evidence(rule.source, also=" ".join((*rule.speakers, "User Assistant Summary")))
    found = []
    if tokens > rule.most_tokens:
        found.append(Refused(Flaw.TOO_LONG))
    for flaw, unknown in (
        (Flaw.UNKNOWN_NUMBER, evidence.unknown_numbers(text)),
        (Flaw.UNKNOWN_NAME, evidence.unknown_names(text)),
    ):
        if unknown:
            found.append(Refused(flaw, tuple(dict.fromkeys(unknown))[:_DETAILS]))
    checks = {
        Flaw.REFUSAL: bool(phrases().refusal.search(text)),
        Flaw.CHATTER: bool(phrases().chatter.match(text)),
        Flaw.ECHO: _echoes(text, rule.prompt),
        Flaw.DIALOGUE: _is_dialogue(text, rule.speakers),
        Flaw.LOOP: loops(text),
        Flaw.LANGUAGE: _other_language(text, rule.source),
    }
    return found + [Refused(flaw) for flaw, wrong in checks.items() if wrong]


def _folded(text: str) -> list[str]:
    return [fold(word) for word in re.findall(r"[^\W_]+(?:['’][^\W_]+)*", text)]


def _grams(words: list[str], width: int) -> list[tuple[str, ...]]:
    return [tuple(words[at : at + width]) for at in range(len(words) - width + 1)]


def _echoes(text: str, prompt: str) -> bool:
    return not set(_grams(_folded(text), _ECHO_WORDS)).isdisjoint(_grams(_folded(prompt), _ECHO_WORDS))


def _is_dialogue(text: str, speakers: tuple[str, ...]) -> bool:
    """Whether the text continues the dialogue instead of summarising it: lines begin with a speaker."""
    labels = {fold(name) for name in (*speakers, "User", "Assistant", "Human", "AI", "System")}
    return sum(fold(match.group(1).strip()) in labels for match in _SPEECH.finditer(text)) > 1


def loops(text: str) -> bool:
    """Whether a text repeats itself."""
    words = _folded(text)
    most = Counter(_grams(words, _LOOP_WORDS)).most_common(1)
    lines = Counter(" ".join(_folded(line)) for line in re.split(r"[\n.!?]", text))
    del lines[""]
    twice = any(times > 1 and len(line.split()) >= _LOOP_WORDS for line, times in lines.items())
    return twice or bool(most and most[0][1] >= _LOOP_TIMES)


def _other_language(text: str, source: str) -> bool:
    ours, theirs = script(text), script(source)
    if ours and theirs and ours != theirs:
        return True
    ours, theirs = language(text), language(source)
    return bool(ours and theirs and ours != theirs)
