"""What takes more than a clause to tell: procedures, code, open questions, and what is to be remembered (the
phrases: `forms.toml`)."""

import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from memory.learning.voice import LONGEST_SENTENCE, Block, asks, plain

_LONGEST_CODE = 2_000
_LONGEST_PROCEDURE = 900
_LEAST_WORDS = 2


@dataclass(frozen=True, slots=True)
class Forms:
    """The phrases, by what they tell."""

    remember: tuple[re.Pattern[str], ...]
    not_remembered: tuple[re.Pattern[str], ...]
    procedure: tuple[re.Pattern[str], ...]
    steps: tuple[re.Pattern[str], ...]
    code: tuple[re.Pattern[str], ...]
    not_code: tuple[re.Pattern[str], ...]
    question: tuple[re.Pattern[str], ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What it is about (empty when that is not said), and the words that tell it."""

    about: str = field(repr=False)
    words: str = field(repr=False)


@cache
def forms() -> Forms:
    found = tomllib.loads((files(__package__) / "forms.toml").read_text("utf-8"))
    flags = re.IGNORECASE | re.DOTALL
    return Forms(**{name: tuple(re.compile(one, flags) for one in ones) for name, ones in found.items()})


def to_remember(sentence: str) -> str | None:
    """What a sentence asks to be remembered, in its own words."""
    bare = sentence.strip().rstrip(" .!")
    if len(bare) > LONGEST_SENTENCE or asks(bare):
        return None
    for pattern in forms().remember:
        match = pattern.fullmatch(bare)
        if match is None:
            continue
        wish = match["v"].strip(" ,:;")
        if len(wish.split()) >= _LEAST_WORDS and not any(no.match(wish) for no in forms().not_remembered):
            return wish
    return None


def procedure(text: str) -> Told | None:
    """How the person does something, when `text` (a sentence, or a line with its list) tells that."""
    if len(text) > LONGEST_SENTENCE:
        return None
    words = plain(text)
    if asks(words) or len(words) > _LONGEST_PROCEDURE or not _has_steps(words):
        return None
    for pattern in forms().procedure:
        match = pattern.match(words)
        if match is not None:
            about = match.groupdict().get("s") or re.split(r"[:,]", words, maxsplit=1)[0]
            return Told(about.strip(), words)
    return None


def code(block: Block) -> Told | None:
    """Code that the person keeps, when the line in front of it says what for."""
    if not block.code or len(block.whole) > _LONGEST_CODE or asks(block.intro):
        return None
    intro = plain(block.intro.rstrip(": "))
    if any(no.search(intro) for no in forms().not_code):
        return None
    for pattern in forms().code:
        match = pattern.match(intro)
        if match is not None:
            about = (match["p"] or "").strip(" :.,")
            return Told(re.sub(r"\s+(?:is|are)$", "", about), block.whole)
    return None


def open_question(clause: str) -> Told | None:
    """What the person has not decided, or does not know yet."""
    if len(clause) > LONGEST_SENTENCE:
        return None
    words = plain(clause)
    if asks(words):
        return None
    for pattern in forms().question:
        match = pattern.match(words.rstrip(" .!…"))
        if match is not None:
            about = re.sub(r"^(?:about|on|over|as to|with|what happens with)\s+", "", match["v"].strip())
            return Told(about.strip(" .,"), words)
    return None


def _has_steps(words: str) -> bool:
    return any(pattern.search(words) for pattern in forms().steps)
