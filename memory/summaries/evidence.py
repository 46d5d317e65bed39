"""Numbers and names in a text, which a summary must neither lose nor invent."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from memory.summaries.languages import language, lexicon, words

# Digits with what may join them: 1,000 · 3.5 · 2026-11-22 · 18:30 · 555-0147 · preceding letters make a code.
_NUMBER = re.compile(r"(?<![^\W\d_])[^\W\d_]*+\d+(?:[.,:/'’\-\u00a0\u202f]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:([.,'’\u00a0\u202f ])\d{3})(?:\1\d{3})*(?:[.,]\d{1,2})?")
_SPACED = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d.,:/\-]?\d)")
_DECIMAL = re.compile(r"(\d+)[.,](\d+)")
_TOKEN = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
# Characters that end a sentence, or open a title or a remark.
_SENTENCE_END = '.!?:…。！？\n•*"“„«(['
_TRANSPARENT = " \t\r_#>-–"
_GERMAN_NOUN = re.compile(r"(ung|heit|keit|schaft|tion|tät|nis|chen|lein|ment|ismus|zeit|plan)(en|s|e)?$")
_NOT_A_NAME_END = re.compile(r"(ing|ed|ly|tion|ment|ness|ions|ments|ings)$")
_ALWAYS_CAPITAL = frozenset({"i", "i'm", "i’m", "i've", "i’ve", "i'd", "i’d", "i'll", "i’ll", "ok"})


def fold(word: str) -> str:
    """Returns a word for comparison: NFKC, casefolded, straight apostrophes, without a possessive ending."""
    folded = unicodedata.normalize("NFKC", word).casefold().replace("’", "'")
    return folded.removesuffix("'s").rstrip("'")


def stem(word: str) -> str:
    """Returns a word without common endings, roughly, so that `planning` and `planned` are equal."""
    for ending in ("ingly", "edly", "ings", "ing", "ied", "ies", "ed", "es", "er", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            root = word[: -len(ending)]
            if ending in ("ied", "ies"):
                return root + "y"
            doubled = len(root) > 3 and root[-1] == root[-2] and ending not in ("s", "es")
            return (root[:-1] if doubled else root).rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


def readings(number: str) -> frozenset[str]:
    """Returns the values a written number may have, normalised: `1,000`, `1.000` and `1000` share one."""
    text = unicodedata.normalize("NFKC", number).casefold()
    if not text[0].isdigit():
        return frozenset({text.replace("’", "'")})
    found: set[str] = set()
    grouped = _THOUSANDS.fullmatch(text)
    decimal = _DECIMAL.fullmatch(text)
    if grouped:
        whole, point, cents = text, "", ""
        if len(text) > 3 and re.search(r"[.,]\d{1,2}$", text):
            whole, point, cents = re.split(r"([.,])(?=\d{1,2}$)", text)
        digits = re.sub(r"\D", "", whole).lstrip("0") or "0"
        cents = cents.rstrip("0")
        found.add(f"{digits}.{cents}" if point and cents else digits)
    if decimal and (not grouped or grouped.group(1) in (".", ",")):
        before, after = decimal.group(1).lstrip("0") or "0", decimal.group(2)
        # Three decimal places may be thousands, so their zeros count; 3.50 and 3.5 are equal.
        after = after if grouped else after.rstrip("0")
        found.add(f"{before}.{after}" if after else before)
    if not found:
        parts = [part.lstrip("0") or "0" for part in re.split(r"\D+", text)]
        found.add("-".join(parts))
    return frozenset(found)


def _written_numbers(text: str) -> list[str]:
    text = unicodedata.normalize("NFKC", text)
    spaced = _SPACED.findall(text)
    return [match.group() for match in _NUMBER.finditer(_SPACED.sub(" ", text))] + spaced


def numbers(text: str) -> list[frozenset[str]]:
    """Returns each number of a text as its possible values, whether digits or words (two and more)."""
    known = lexicon()
    found = [readings(written) for written in _written_numbers(text)]
    for word in words(text):
        value = known.number_words.get(folded := fold(word))
        if value is not None and folded not in known.ambiguous_numbers:
            found.append(frozenset({value}))
    return found


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    opens: bool
    before: str
    after: str


def _tokens(text: str) -> list[_Token]:
    """Returns the capitalised words, with their surroundings."""
    found = list(_TOKEN.finditer(text))
    return [_token(text, found, index) for index, match in enumerate(found) if _capital(match.group())]


def _token(text: str, found: Sequence[re.Match[str]], index: int) -> _Token:
    at = found[index].start() - 1
    while at >= 0 and text[at] in _TRANSPARENT:
        at -= 1
    opens = at < 0 or text[at] in _SENTENCE_END
    previous = found[index - 1].group() if index else ""
    # A full stop after one capital letter marks an initial, not an end: J. L. Carr.
    if opens and at > 0 and text[at] == "." and len(previous) == 1 and previous.isupper():
        opens = previous == "I"
    after = found[index + 1].group() if index + 1 < len(found) else ""
    return _Token(found[index].group(), opens, fold(previous), after)


def _capital(word: str) -> bool:
    return word[0].isupper() and any(char.isalpha() for char in word)


def names(text: str) -> list[str]:
    """Returns words that look like names.

    These are capitalised within a sentence, in all capitals, or at a sentence start before what one says of
    people and things. In German, where nouns are capitalised too, words after an article and words with a
    noun's ending are left out.
    """
    german = language(text) == "de"
    return [token.text for token in _tokens(text) if _is_name(token, german=german)]


def _is_name(token: _Token, *, german: bool) -> bool:
    word = token.text
    folded = fold(word)
    if folded in _ALWAYS_CAPITAL or word.casefold() in _ALWAYS_CAPITAL:
        return False
    if len(word) > 1 and word.isupper():
        return True
    if folded in lexicon().small or (len(word) == 1 and not token.opens and not _capital(token.after or "a")):
        return False
    if token.opens:
        return _opens_with_name(token)
    return not (german and (token.before in lexicon().german_before_noun or _GERMAN_NOUN.search(folded)))


def _opens_with_name(token: _Token) -> bool:
    folded = fold(token.text)
    if _NOT_A_NAME_END.search(folded) or folded in lexicon().number_words:
        return False
    after = token.after
    return (
        token.text.casefold().replace("’", "'").endswith("'s")
        or after in lexicon().said_of_somebody
        or (bool(after) and _capital(after) and fold(after) not in _ALWAYS_CAPITAL)
    )


class Evidence:
    """The words, numbers and names of a source text, to check another text against. Computed lazily, once."""

    def __init__(self, text: str, *, also: str = "") -> None:
        """`also` are words that may be used in addition: names of the speakers."""
        self._text = f"{also}\n{text}"

    @cached_property
    def _words(self) -> frozenset[str]:
        found = {fold(word) for word in set(_TOKEN.findall(self._text))}
        return frozenset(found | {part for word in found for part in word.split("-")})

    @cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(stem(word) for word in self._words)

    @cached_property
    def _numbers(self) -> frozenset[str]:
        found = {value for readings_ in numbers(self._text) for value in readings_}
        known = lexicon()
        ambiguous = {known.number_words[word] for word in self._words & known.ambiguous_numbers}
        return frozenset(found | ambiguous)

    @cached_property
    def _joined(self) -> frozenset[str]:
        """Long numbers by their digits alone: a telephone number may be grouped differently."""
        plain = re.findall(r"\d(?:[\d \-/().]*\d)?", unicodedata.normalize("NFKC", self._text))
        digits = (re.sub(r"\D", "", run) for run in plain)
        return frozenset(run for run in digits if len(run) >= 6)

    def has_number(self, values: frozenset[str]) -> bool:
        return bool(values & self._numbers) or any(
            len(run) >= 6 and run in self._joined for run in (re.sub(r"\D", "", value) for value in values)
        )

    def has_name(self, name: str) -> bool:
        folded = fold(name)
        if folded in self._words or stem(folded) in self._stems:
            return True
        if folded in lexicon().calendar:
            return any(word in self._words for word in (folded[:3], folded[:4]))
        return len(folded) > 2 and all(part in self._words for part in folded.split("-"))

    def unknown_numbers(self, text: str) -> list[str]:
        """Returns the numbers of `text` that the source does not contain."""
        return [min(values) for values in numbers(text) if not self.has_number(values)]

    def unknown_names(self, text: str) -> list[str]:
        """Returns the names in `text` that the source does not contain."""
        return [name for name in names(text) if not self.has_name(name)]
