"""Numbers, names and important messages, which a summary must not lose, and the checks of that."""

import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from importlib.resources import files

from memory.summaries.languages import language, lexicon, script, words
from models.messages import Role

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

    These are capitalised within a sentence, in all capitals, or at a sentence start before words used about
    people and things. In German, which also capitalises nouns, words after an article and words with a noun's
    ending are left out.
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
        """Phrases of a model that refuses to summarise."""
        return self._any("refusal")

    @cached_property
    def leaning(self) -> re.Pattern[str]:
        """Words that refer to earlier messages."""
        return self._any("leaning")

    @cached_property
    def joining(self) -> re.Pattern[str]:
        """Opening words that join a text to an earlier one."""
        return self._any("joining")

    @cached_property
    def chatter(self) -> re.Pattern[str]:
        """Phrases that a model addresses to the user instead of summarising."""
        return self._any("chatter")

    @cached_property
    def preamble(self) -> re.Pattern[str]:
        """Phrases that a model writes before a summary."""
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
    """Rates the content of a message that would be missed. The user's text counts twice as much as the
    model's.
    """
    # Code is full of names and numbers that do not count; the text around it decides.
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


SHARE = 0.35
"""The longest a summary may be, as a share of the tokens that it covers."""

LEAST_TOKENS = 40
"""A summary need not be shorter than this, unless its source is."""

_ECHO_WORDS = 6
_LOOP_WORDS = 4
_LOOP_TIMES = 3
_DETAILS = 5
_LONGEST_PREAMBLE = 120
_SPEECH = re.compile(r"^[^\S\n]*(?:[-*]\s*)?\**([\w .’'\-]{1,40})\**:\**\s", re.MULTILINE)
_CHECKED_SENTENCE_END = re.compile(r"[.!?…。！？][\"”’»)\]]*(?=\s|$)")


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
    """The requirements that a summary is checked against. `prompt` is the text around the source, which must
    not be echoed.
    """

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
        ends = [match.end() for match in _CHECKED_SENTENCE_END.finditer(tidy)]
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
