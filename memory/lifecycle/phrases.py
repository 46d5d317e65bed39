"""What people say when something matters, and when nothing does (the phrases themselves: `phrases.toml`)."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True)
class Phrases:
    """Patterns for whole words: asked to be remembered, decisions, facts about the person, small talk; and
    what a model says instead of a summary, or before it."""

    asked: re.Pattern[str]
    decision: re.Pattern[str]
    fact: re.Pattern[str]
    filler: re.Pattern[str]
    refusal: re.Pattern[str]
    chatter: re.Pattern[str]
    preamble: re.Pattern[str]


@cache
def phrases() -> Phrases:
    found = tomllib.loads((files(__package__) / "phrases.toml").read_text("utf-8"))
    return Phrases(**{name: _any(alternatives) for name, alternatives in found.items()})


def _any(alternatives: list[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(alternatives)})(?!\w)", re.IGNORECASE)
