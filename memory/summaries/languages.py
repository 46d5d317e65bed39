"""Languages: their stop words, number words and scripts (the words are in `languages.toml`)."""

import re
import tomllib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_LEAST_EVIDENCE = 4
_CLEARLY = 1.3


@dataclass(frozen=True, slots=True)
class Lexicon:
    """Casefolded word lists.

    `number_words` are small numbers (two and more) with their digits; `ambiguous_numbers` those that are
    common words of another language. `small_words` are articles, pronouns and the like by language, `common`
    words that name no topic; `nouns` are those of them that do in one language. `german_before_noun` and
    `said_of_somebody` help to recognise names.
    """

    number_words: Mapping[str, str]
    ambiguous_numbers: frozenset[str]
    calendar: frozenset[str]
    german_before_noun: frozenset[str]
    said_of_somebody: frozenset[str]
    small_words: Mapping[str, frozenset[str]]
    small: frozenset[str]
    common: frozenset[str]
    nouns: Mapping[str, frozenset[str]]


@cache
def lexicon() -> Lexicon:
    found = tomllib.loads((files(__package__) / "languages.toml").read_text("utf-8"))
    small = {language: frozenset(text.split()) for language, text in found["small_words"].items()}
    numbers = {word: str(value) for word, value in found["number_words"].items()}
    for counted in found["numbers_from_two"].values():
        numbers.update({word: str(value) for value, word in enumerate(counted.split(), 2)})
    every = frozenset().union(*small.values())
    return Lexicon(
        number_words=numbers,
        ambiguous_numbers=frozenset(found["ambiguous_numbers"].split()),
        calendar=frozenset(f"{found['months']} {found['days']}".split()),
        german_before_noun=frozenset(found["german_before_noun"].split()),
        said_of_somebody=frozenset(found["said_of_somebody"].split()),
        small_words=small,
        small=every,
        common=every | frozenset(found["common"].split()),
        nouns={language: frozenset(text.split()) for language, text in found["nouns"].items()},
    )


def common_in(found: Sequence[str]) -> frozenset[str]:
    """Returns the common words of a text with these words (casefolded), without those that are nouns in its
    language: in English "van" is one. Without any small word, the text counts as English, of equally many as
    another language."""
    known = lexicon()
    doubtful = {word for nouns in known.nouns.values() for word in nouns.intersection(found)}
    if not doubtful:
        return known.common
    counts = {
        language: sum(word in small for word in found if word not in doubtful)
        for language, small in known.small_words.items()
    }
    likely = max(counts, key=lambda one: (counts[one], counts[one] == 0 or one != "en"))
    return known.common - known.nouns.get(likely, frozenset())


def words(text: str) -> list[str]:
    """Returns runs of letters (with inner hyphens and apostrophes), as written."""
    return _WORD.findall(text)


def script(text: str) -> str | None:
    """Returns the script of most letters (`LATIN`, `CYRILLIC`, `CJK`…), or None without letters."""
    counts: dict[str, int] = {}
    for char in text[:4000]:
        if char.isalpha():
            name = _script_of(char)
            counts[name] = counts.get(name, 0) + 1
    return max(counts, key=lambda name: counts[name]) if counts else None


@lru_cache(maxsize=4096)
def _script_of(char: str) -> str:
    first = unicodedata.name(char, "UNKNOWN").split(" ", 1)[0]
    return "CJK" if first in ("CJK", "HIRAGANA", "KATAKANA") else first


def language(text: str) -> str | None:
    """Returns the language whose stop words clearly prevail in a text in Latin script, or None."""
    found = [word.casefold() for word in words(text[:20_000])]
    known = lexicon().small_words.items()
    scores = {name: sum(word in small for word in found) for name, small in known}
    best, second = sorted(scores.values(), reverse=True)[:2]
    if best < _LEAST_EVIDENCE or best < _CLEARLY * second:
        return None
    return max(scores, key=lambda name: scores[name])
