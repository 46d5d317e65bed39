"""What a question looks for in documents besides its words: phrases, and the names that financial statements
have for what it asks. Pure."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

PHRASE = 0.4
"""The weight of two words of the question next to each other; that of a single word is 1."""
LINE = 1.0
NAMED_STATEMENT = 4.0
LIKELY_STATEMENT = 2.0
"""The weight of all marks of a statement together, where the question names it and where it asks for one of
its lines."""
LINES_AMONG = 20_000
_PHRASE_GAP = 2
_LINE_GAP = 4
"""The most other words between the words of a phrase, and of the name of a line."""

# Instructions on how to answer, as in "Round your answer to two decimals". What they say is nowhere in a
# document, and their rare words would outweigh the question.
_INSTRUCTS = re.compile(
    r"\b(?:answer|respond|response|reply)\b|\bround (?:it|to|up|down|your|the)\b"
    r"|\byour (?:\w+ )?(?:only )?(?:judg|resource)|\b(?:this|following|the) question\b"
    r"|\b(?:assume|imagine|pretend) (?:that )?you\b|\byou are an?\b|\bhere's\b"
    r"|\bplease (?:state|explain|base|rely|use)\b|\b(?:then|please) (?:\w+ ){0,2}state\b|\bexplain why\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.?!:;]*(?:[.:](?=\S)[^.?!:;]*)*[.?!:;]*\s*")
_UNITS = re.compile(
    r"\((?:in )?(?:usd?|us\$|\$|eur|gbp)?\s*(?:thousand|million|billion)s?\)|\(in %\)"
    r"|\bin (?:(?:usd?|us\$|us dollars?|eur|gbp) )?(?:thousand|million|billion)s\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:fy|cy|fiscal(?: year)?)\s*'?((?:19|20)?\d\d)\b", re.IGNORECASE)
_TOKEN = re.compile(r"[^\W_]+")
_WORD = re.compile(r"[\w&]+")


@dataclass(frozen=True, slots=True)
class Looked:
    """Something to look for: `phrases` are alternatives that mean the same, in words without quotation marks.

    The words of a phrase stand in any order, with at most `gap` other words between them. `weight` is
    relative to that of a word of the question.
    """

    phrases: tuple[str, ...]
    weight: float
    gap: int = _LINE_GAP

    @property
    def match(self) -> str:
        """The expression with which FTS5 finds it in the texts of chunks."""
        return f"text : ({' OR '.join(map(self._near, self.phrases))})"

    def _near(self, phrase: str) -> str:
        words = [f'"{word}"' for word in phrase.split()]
        return words[0] if len(words) == 1 else f"NEAR({' '.join(words)}, {self.gap})"


@dataclass(frozen=True, slots=True)
class _Line:
    asked: tuple[str, ...]
    called: tuple[str, ...]
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Statement:
    asked: tuple[str, ...]
    marks: tuple[str, ...]


def subject(question: str) -> str:
    """Returns the question without sentences that say how to answer it, with years in full ("FY18" becomes
    "2018"). Returns all of it if nothing else is left."""
    kept = [part for part in _SENTENCE.findall(question) if part and not _INSTRUCTS.search(part)]
    left = _UNITS.sub(" ", "".join(kept))
    left = " ".join(_YEAR.sub(lambda match: _full_year(match[1]), left).split())
    return left if re.search(r"\w{2}", left) else question


def names(question: str) -> list[str]:
    """Returns the words of the question that may be names: those with a capital letter or a digit."""
    words = dict.fromkeys(_TOKEN.findall(question))
    return [word for word in words if any(char.isupper() or char.isdigit() for char in word)]


def looked_for(question: str, stems: Sequence[str], *, lines: bool = True) -> list[Looked]:
    """Returns what to look for besides the words themselves: `stems`, those of the question's subject that
    carry meaning, in order, two by two; and with `lines`, the names that statements have for what it asks.

    These are up to 45 phrases. Among 100,000 chunks of reports they take 35 ms, so use them for searches
    among at most `LINES_AMONG` chunks.
    """
    pairs = dict.fromkeys(f"{one} {other}" for one, other in pairwise(stems) if one != other)
    found = [Looked((pair,), PHRASE, _PHRASE_GAP) for pair in pairs]
    return found + _financial(question) if lines else found


def _financial(question: str) -> list[Looked]:
    """Returns the names of the lines that the question asks for, and the marks of the statements that it
    names, or else of those in which the lines stand. Nothing for most questions."""
    statements, lines = _known()
    text = _spaced(question)
    asked = [line for line in lines if any(_spaced(one) in text for one in line.asked)]
    named = {name for name, one in statements.items() if any(_spaced(said) in text for said in one.asked)}
    wanted = named or {name for line in asked for name in line.statements}
    found = [Looked(line.called, LINE) for line in asked]
    for name in sorted(wanted):
        marks = statements[name].marks
        weight = (NAMED_STATEMENT if named else LIKELY_STATEMENT) / len(wanted) / len(marks)
        found.extend(Looked((mark,), weight) for mark in marks)
    return found


def _full_year(year: str) -> str:
    return year if len(year) == len("2018") else f"20{year}"


def _spaced(text: str) -> str:
    """Returns the words of the text in lower case, with spaces around each."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


@cache
def _known() -> tuple[dict[str, _Statement], tuple[_Line, ...]]:
    data = tomllib.loads((files(__package__) / "terms.toml").read_text("utf-8"))
    statements = {
        name: _Statement(tuple(one["asked"]), tuple(one["marks"])) for name, one in data["statements"].items()
    }
    lines = (
        _Line(tuple(one["asked"]), tuple(one["called"]), tuple(one["statements"])) for one in data["lines"]
    )
    return statements, tuple(lines)
