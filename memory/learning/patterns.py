"""Recognises statements worth remembering by patterns (in `patterns.toml`)."""

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from memory.memories.entities import MemoryKind

_PIECE = re.compile(r"<([A-Z]+)>")
_DEPTH = 4
_LONGEST = 1_000
"""The most characters of a clause."""
_LEAD = "<LEAD>"


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to say something.

    `denies`: it says that something is not so. `only_ends`: it matters only to what is known already.
    `dated`: it counts only with a date.
    """

    kind: MemoryKind
    attribute: str
    confidence: float
    denies: bool
    only_ends: bool
    dated: bool
    when: tuple["Phrase", ...]
    ends: str | None = None


@dataclass(frozen=True, slots=True)
class Phrase:
    """One phrase of a pattern. `led`: words that say when or where may precede it."""

    words: re.Pattern[str]
    led: bool


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """What a clause was understood to say.

    `who` is empty when it is about the user; `key` distinguishes several such things (the favourite *drink*).
    """

    pattern: Pattern
    value: str = field(repr=False)
    who: str = field(default="", repr=False)
    ended: str = field(default="", repr=False)
    key: str = field(default="", repr=False)


@cache
def patterns() -> tuple[Pattern, ...]:
    found = _data()
    return tuple(_pattern(one, found["pieces"]) for one in found["pattern"])


@cache
def vague() -> frozenset[str]:
    """Returns the words that name nothing on their own."""
    return frozenset(_data()["words"]["vague"].split())


@cache
def piece(name: str) -> str:
    """Returns the regular expression that `<NAME>` stands for."""
    return _filled(f"<{name}>", _data()["pieces"])


@cache
def _data() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "patterns.toml").read_text("utf-8"))


def _pattern(one: dict[str, Any], pieces: dict[str, str]) -> Pattern:
    return Pattern(
        kind=MemoryKind(one["kind"]),
        attribute=one.get("attribute", ""),
        confidence=one.get("confidence", 0.85),
        denies=one.get("denies", False),
        only_ends=one.get("only_ends", False),
        dated=one.get("dated", False),
        when=tuple(_phrase(text, pieces) for text in one["when"]),
        ends=one.get("ends"),
    )


def _phrase(text: str, pieces: dict[str, str]) -> Phrase:
    # Removed once for all patterns: a copy in each would take twice as long to compile.
    bare = text.removeprefix(_LEAD)
    return Phrase(re.compile(_filled(bare, pieces), re.IGNORECASE), led=bare != text)


def _filled(text: str, pieces: dict[str, str]) -> str:
    for _ in range(_DEPTH):
        text = _PIECE.sub(lambda match: pieces[match[1]], text)
    return text


@lru_cache(maxsize=4096)
def reading(clause: str) -> PatternMatch | None:
    """Returns what a clause (without fillers) says, or None when it is not worth remembering."""
    if len(clause) > _LONGEST:
        return None
    bare = clause.strip().rstrip(" .!…,;:")
    rest = _leading().sub("", bare, count=1)
    for pattern in patterns():
        for phrase in pattern.when:
            match = phrase.words.match(bare)
            if match is None and phrase.led and rest != bare:
                match = phrase.words.match(rest)
            if match is None:
                continue
            groups = match.groupdict()
            value = (groups.get("v") or match.string[match.end() :] or match[0]).strip(" ,.;:")
            if not re.search(r"\w", value):
                continue
            ended = (groups.get("e") or "").strip(" ,.;:")
            key = (groups.get("k") or "").strip()
            return PatternMatch(pattern, value, (groups.get("who") or "").strip(" ,"), ended, key)
    return None


@cache
def _leading() -> re.Pattern[str]:
    return re.compile(rf"^{piece('LEAD')}", re.IGNORECASE)


@cache
def _date() -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){piece('DATE')}(?!\w)", re.IGNORECASE)


def tells_date(text: str) -> bool:
    """Whether the text names a day, a month, a year or a period."""
    return _date().search(text) is not None
