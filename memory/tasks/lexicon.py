"""The words by which briefs and sources are read (they are in `tasks.toml`)."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, lru_cache
from importlib.resources import files

from memory.summaries.evidence import fold, stem
from memory.summaries.languages import lexicon

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit: `factor` is how many of its dimension's first unit it is. Amounts of money in different units
    cannot be compared."""

    name: str
    dimension: str
    factor: Decimal


@dataclass(frozen=True, slots=True)
class Kind:
    """What is compared: the stems by which it is spoken of, and what its values are."""

    name: str
    stems: frozenset[str]
    dimensions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Words:
    """The lists of `tasks.toml`, as stems; articles, `which`, openers and limits as words. `best` is the
    kind and "least" or "most", by stem."""

    goals: Mapping[str, frozenset[str]]
    choice: frozenset[str]
    asking: frozenset[str]
    articles: frozenset[str]
    which: frozenset[str]
    openers: frozenset[str]
    limits: Mapping[str, frozenset[str]]
    duties: frozenset[str]
    kinds: Mapping[str, Kind]
    best: Mapping[str, tuple[str, str]]
    units: Mapping[str, Unit]


@cache
def known() -> Words:
    found = tomllib.loads((files(__package__) / "tasks.toml").read_text("utf-8"))
    units: dict[str, Unit] = {}
    for dimension, names in found["units"].items():
        for name, text in names.items():
            factor, *words = text.split()
            units.update({word: Unit(name, dimension, Decimal(factor)) for word in words})
    return Words(
        goals={name: _stems(text) for name, text in found["goals"].items()},
        choice=_stems(found["choice"]),
        asking=_stems(found["asking"]),
        articles=frozenset(found["articles"].split()),
        which=frozenset(found["which"].split()),
        openers=frozenset(found["openers"].split()),
        limits={name: frozenset(text.split()) for name, text in found["limits"].items()},
        duties=_stems(found["duties"]["words"]),
        kinds={
            name: Kind(name, _stems(one["words"]), frozenset(one["dimensions"].split()))
            for name, one in found["attributes"].items()
        },
        best={root(word): (text.split()[0], text.split()[1]) for word, text in found["best"].items()},
        units=units,
    )


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(root, text.split()))


@lru_cache(maxsize=20_000)
def root(word: str) -> str:
    """Returns the stem of a word, folded: the same for "printer" and "printers"."""
    found = fold(word)
    while (shorter := stem(found)) != found:
        found = shorter
    return found


def words(text: str) -> list[str]:
    """Returns the words of a text as written."""
    return _WORD.findall(text)


@lru_cache(maxsize=20_000)
def means_something(word: str) -> bool:
    """Whether a word says what a text is about."""
    folded = fold(word)
    return len(folded) > 1 and folded not in lexicon().common


def content(text: str) -> list[str]:
    """Returns the stems of the words that say what a text is about, in order."""
    return [root(word) for word in words(text) if means_something(word)]
