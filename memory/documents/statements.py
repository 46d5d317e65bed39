"""The parts of a statement that rules can compare: words, names, numbers, dates, negation."""

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from importlib.resources import files
from itertools import pairwise

from memory.memories.upkeep import negated
from memory.search.terms import is_unspaced
from memory.summaries.evidence import fold, readings, stem
from memory.summaries.languages import common_in, lexicon

# A run of marks is examined once, from its first one: that keeps it linear.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]*_]*+(?=\s|\Z)|[。！？]++[”’」』）]*+|\n")
_MARKERS = re.compile(r"(?:[^\S\n]{0,3}\[\d{1,3}(?:[,;] ?\d{1,3}){0,20}\])++[.]?(?=\s|\Z)")
_NEW_LINE = re.compile(r"[^\S\n]*+(?:[-*+•|#>]|\d{1,2}[.)]\s|\n|\Z)")
_LABELLED = re.compile(r"[^\S\n]*+[^\W\d_][^\n:.!?]{0,40}: ")
_ABBREVIATED = re.compile(
    r"(?:^|[\s(\[])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Nr|No|Nos|vs|etc|approx|ca|cf|Fig|Sec|p|pp|Art|bzw|usw|z\.\s?B"
    r"|inkl|zzgl|evtl|ggf|Tel|Str|d\.\s?h|[Ee]\.g|[Ii]\.e|al|Mio|Mrd|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|Inc|Ltd|Co|Jr|Sr)\.$"
)
_ORDINAL = re.compile(r"(?:^|\D)\d{1,2}\.$")
_WORD_IN_SENTENCE = re.compile(r"\s*+(\w*)")
_LOOKED_BACK = 16
_WRAPPED = 60
"""A line of at least this many characters without a mark at its end continues on the next line."""


def sentences(text: str, whole: Sequence[tuple[int, int]] = ()) -> list[tuple[int, int]]:
    """Returns the ranges of the sentences, without white space around them.

    Items of lists, rows and headings are also sentences. In wrapped paragraphs, sentences continue over line
    breaks. Markers such as [1] after a sentence belong to it. No sentence ends inside the ranges of `whole`
    (in order).
    """
    found: list[tuple[int, int]] = []
    begin = line = number = 0
    rows = _rows(text)
    for match in _END.finditer(text):
        at = match.end()
        while number < len(whole) and whole[number][1] <= match.start():
            number += 1
        inside = number < len(whole) and whole[number][0] < at < whole[number][1]
        newline = match[0] == "\n"
        if newline:
            ends = line in rows or at in rows or _line_ends(text, line, match.start())
            line = at
        else:
            ends = line not in rows and _sentence_ends(text, begin, match)
        ends = ends and not inside
        if not ends:
            continue
        markers = None if newline else _MARKERS.match(text, at)
        at = at if markers is None else markers.end()
        _add(found, text, begin, at)
        begin = max(begin, at)
    _add(found, text, begin, len(text))
    return found


def _rows(text: str) -> frozenset[int]:
    """Returns where the lines begin that are rows of a table: neighbours with equally many bars."""
    lines, begin = [], 0
    for line in text.split("\n"):
        lines.append((begin, line.count(" | ")))
        begin += len(line) + 1
    pairs = [(one, other) for (one, bars), (other, more) in pairwise(lines) if bars and bars == more]
    return frozenset(begin for pair in pairs for begin in pair)


def _add(found: list[tuple[int, int]], text: str, begin: int, end: int) -> None:
    stripped = text[begin:end].strip()
    if stripped:
        begin = text.index(stripped[0], begin)
        found.append((begin, begin + len(stripped)))


def _sentence_ends(text: str, begin: int, match: re.Match[str]) -> bool:
    if match[0][0] != ".":
        return True
    at = match.start() + 1
    back = text[max(begin, at - _LOOKED_BACK) : at]
    word = _WORD_IN_SENTENCE.match(text, match.end())
    following = word[1] if word is not None else ""
    alone = at - begin <= _LOOKED_BACK and back.strip(" .\n").isdigit()
    if _ORDINAL.search(back) and (alone or following.casefold() in lexicon().calendar):
        return False
    return not following[:1].islower() and (not following or not _ABBREVIATED.search(back))


def _line_ends(text: str, line: int, at: int) -> bool:
    if _LABELLED.match(text, line) and _LABELLED.match(text, at + 1):
        # "Rent: 400 €", "electricity: 30 €": each line tells something else.
        return True
    if _NEW_LINE.match(text, at + 1) or text[line : line + 1] in ("|", "#") or "\t" in text[line:at]:
        return True
    following = text[at + 1 : at + 40].lstrip()
    return not (following[:1].islower() or at - line >= _WRAPPED)


# January to December by language; a month of several languages is one.
_MONTH_NAMES = (
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sept oct nov dec",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
)
MONTHS: Mapping[str, int] = {
    **{name: at for names in _MONTH_NAMES for at, name in enumerate(names.split(), 1)},
    "sep": 9,
}
"""The numbers of months by their names in several languages."""

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_DATE = re.compile(
    r"(?<![\d.\-])(?P<iso>\d{4}[-/]\d{1,2}[-/]\d{1,2})(?![\d\-])"
    r"|(?P<han>\d{4}年(?:\d{1,2}月(?:\d{1,2}日)?)?|\d{1,2}月\d{1,2}日)"
    r"|(?<![\d.])(?P<numeric>\d{1,2}[./]\d{1,2}[./]\d{4})(?!\d)"
    r"|(?<![\d.,])(?P<d1>\d{1,2})(?:st|nd|rd|th|\.|er|º)?\s{1,3}(?:de |of )?(?P<m1>MONTH)\b\.?,?"
    r"(?:\s{1,3}(?:de |del |of )?(?P<y1>\d{4})\b)?"
    r"|\b(?P<m2>MONTH)\b\.?\s{1,3}(?P<d2>\d{1,2})(?:st|nd|rd|th)?\b(?![.,]?\d)(?:,?\s{1,3}(?P<y2>\d{4})\b)?"
    r"|\b(?P<m3>MONTH)\b\.?,?\s{1,3}(?:de |of )?(?P<y3>\d{4})\b".replace("MONTH", _MONTH),
    re.IGNORECASE,
)
_SPACED = re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d.,:/\-]?\d)")
_NUMBER = re.compile(r"(?<![^\W\d_])(?:[^\W\d_]*+)\d+(?:[.,:/'’\-\u2013\u00a0\u202f]\d+)*")
_DIGITS = re.compile(r"\d+")
_DECIMAL = re.compile(r"\d+(?:\.\d+)?")
_HAN_PART = re.compile(r"(\d{1,4})([年月日])")
_RANGE = re.compile(r"(\d+)[-\u2013](\d+)")
_WORD = re.compile(r"[^\W\d_]+(?:['’\-][^\W\d_]+)*")
_AFTER = re.compile(r"[ \u00a0\u202f-]?(%|°[CF]|€|£|\$|[^\W\d_]+\.?)")
_CURRENCY = re.compile(r"([€£$])\s?$")
_CLAUSE = re.compile(
    r"[,;:–—](?=\s|\Z|\D)(?!\s\d{4}\b)|[，、；：。！？]"
    r"|\b(?:and|but|while|whereas|although|or|und|aber|während|sondern|oder|et|mais|y|pero|ma)\b"
    r"|\b(?:except|excepting|außer|ausgenommen|excepto|salvo)\b",
    re.IGNORECASE,
)
_COMMAND = re.compile(
    r"\W*(\w+) (?:the|a|an|your|all|any|each|this|these|it|der|die|das|den|ein|eine|einen|le|la|les)\b",
    re.IGNORECASE,
)
_PASSIVE = re.compile(r"\b(?:by|von|durch|par|por|da)\b", re.IGNORECASE)
_LEAST_LETTERS = 3
_ALIKE = 5
"""Words that begin with this many equal letters count as one: supply, supplier."""


@dataclass(frozen=True, slots=True)
class _Lists:
    """Word lists: units, directions and powers of ten by word; pairs of stems with opposite meanings."""

    of_sources: frozenset[str]
    negations: frozenset[str]
    exceptions: frozenset[str]
    universals: frozenset[str]
    date_directions: Mapping[str, str]
    unit_stems: frozenset[str]
    before_subjects: frozenset[str]
    attributes: frozenset[str]
    opposites: tuple[tuple[frozenset[str], frozenset[str]], ...]
    scopes: tuple[frozenset[str], ...]
    directions: Mapping[str, str]
    scales: Mapping[str, int]
    units: Mapping[str, str]


@cache
def _lists() -> _Lists:
    found = tomllib.loads((files(__package__) / "statements.toml").read_text("utf-8"))
    pairs = [(_stems(one), _stems(other)) for one, other in found["opposites"]]
    return _Lists(
        of_sources=frozenset(found["of_sources"].split()),
        negations=frozenset(map(fold, found["negations"].split())),
        exceptions=frozenset(map(fold, found["exceptions"].split())),
        universals=_stems(found["universals"]),
        date_directions={fold(one): name for one, name in _by_word(found["date_directions"]).items()},
        unit_stems=_stems(" ".join(_by_word(found["units"]))),
        before_subjects=frozenset(found["before_subjects"].split()),
        attributes=frozenset(found["attributes"].split()),
        opposites=tuple(pair for one, other in pairs for pair in ((one, other), (other, one))),
        scopes=tuple(map(_stems, found["scopes"])),
        directions=_by_word(found["directions"]),
        scales={word: int(power) for word, power in _by_word(found["scales"]).items()},
        units=_by_word(found["units"]),
    )


def _stems(words: str) -> frozenset[str]:
    return frozenset(map(stem, words.split()))


def _by_word(lists: Mapping[str, str]) -> dict[str, str]:
    return {word: name for name, words in lists.items() for word in words.split()}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number: the values it may have, its unit, the direction word before it ("from", "to"), and the stem
    of the word after it.
    """

    values: frozenset[str]
    unit: str = ""
    direction: str = ""
    counted: str = ""

    def agrees(self, other: "Quantity") -> bool:
        """Whether both may be the same number, in the same unit where both have one."""
        same_unit = not (self.unit and other.unit) or self.unit == other.unit
        turned = self.direction and other.direction and self.direction != other.direction
        return bool(self.values & other.values) and same_unit and not turned


@dataclass(frozen=True, slots=True)
class Day:
    """A date; None where a part of it is not stated."""

    year: int | None
    month: int | None
    day: int | None

    def within(self, other: "Day") -> bool:
        """Whether the other date states everything that this one does."""
        mine, others = (self.year, self.month, self.day), (other.year, other.month, other.day)
        return all(one is None or one == two for one, two in zip(mine, others, strict=True))


class Statement:
    """A text and what it states. `excepted`: it is the exception of what stands in front of it."""

    def __init__(self, text: str, *, excepted: bool = False) -> None:
        self.text = text
        self.excepted = excepted
        days: list[tuple[Day, ...]] = []
        rest = _DATE.sub(lambda match: _taken(match, days), text)
        self.days = tuple(days)
        """Each date as what it may mean: 3/4/2024 means two days."""
        self.turns = tuple(_turn(text, match.start()) for match in _DATE.finditer(text))
        """The direction in front of each date: "from", "to", "before" or "after"; "" if there is none."""
        self.quantities = _quantities(rest)
        found = _WORD.findall(rest)
        self.stems = frozenset(map(_root, found))
        """Stems of all words, including those that carry no meaning of their own."""
        common = common_in([fold(word) for word in found])
        content = [word for word in found if _has_content(word, common)]
        self.moments = {
            _root(word): turn
            for before, word in pairwise(found)
            if _is_calendar(word) and (turn := _lists().date_directions.get(fold(before)))
        }
        """The directions in front of days and months without a date ("until Wednesday"), by their stems."""
        self.words = frozenset(piece for word in content for piece in _pieces(word))
        subjects = [word for word in content if not _is_calendar(word)]
        opening = next((word for word in subjects if fold(word) not in _lists().attributes), "")
        self.opening = _pieces(opening)[0] if opening else ""
        """The stem of the first content word that is no month, day or attribute: of most sentences, their
        subject."""
        before = found[: found.index(opening)] if opening else []
        self.opens_with_noun = not _lists().before_subjects.isdisjoint(map(fold, before))
        """Whether an article or the like shows that the opening is a noun."""
        command = _COMMAND.match(text)
        verb = command[1] if command is not None else None
        capital = dict.fromkeys(word for word in content if word[0].isupper() and word != verb)
        self.names = tuple(dict.fromkeys(map(_root, capital)))
        """Stems of words with a capital letter, in order. At the start of a sentence it need not be a name; a
        command ("Run the …") is not.
        """
        self.who = any(not _is_calendar(word) for word in capital)
        """Whether one of the names is no month or day."""

    @cached_property
    def things(self) -> frozenset[str]:
        """The stems of the words after an article or the like: "the gutter", "a new bow"."""
        found = _WORD.findall(_DATE.sub(" ", self.text))
        things = set()
        for at, word in enumerate(found):
            if fold(word) in _lists().before_subjects or word.endswith(("'s", "’s")):
                following = (one for one in found[at + 1 : at + 4] if _root(one) in self.words)
                thing = next(following, "")
                if thing and fold(thing) not in _lists().attributes:
                    things.add(_root(thing))
        return frozenset(things)

    @cached_property
    def negated(self) -> bool:
        said = not _lists().negations.isdisjoint(map(fold, _WORD.findall(self.text)))
        said = (
            said or negated(self.text) or any(mark in self.text for mark in ("不", "没有", "ない", "ません"))
        )
        return said != self.excepted

    @property
    def is_universal(self) -> bool:
        return not self.stems.isdisjoint(_lists().universals)

    @property
    def opens_with_name(self) -> bool:
        first = _WORD.search(self.text)
        return first is not None and first[0][0].isupper() and _root(first[0]) in self.names

    @cached_property
    def passive(self) -> bool:
        return bool(_PASSIVE.search(self.text))

    @cached_property
    def sentences(self) -> tuple[tuple["Statement", ...], ...]:
        """The clauses that say something, by sentence."""
        pieces = [_clauses(self.text[begin:end]) for begin, end in sentences(self.text)]
        if len(pieces) == 1 == len(pieces[0]):
            return ((self,),)
        found = [tuple(one for one in parts if one.says_something) for parts in pieces]
        return tuple(clauses for clauses in found if clauses)

    @property
    def clauses(self) -> tuple["Statement", ...]:
        return tuple(clause for clauses in self.sentences for clause in clauses)

    @property
    def says_something(self) -> bool:
        return bool(self.words or self.quantities or self.days)

    def coverage(self, words: Collection[str]) -> float:
        """Returns the share of this statement's words that are among `words`; 1 if it has none."""
        return self.shared(words) / len(self.words) if self.words else 1.0

    def shared(self, words: Collection[str]) -> int:
        """Counts this statement's words that are among `words`."""
        beginnings = {word[:_ALIKE] for word in words if len(word) >= _ALIKE}
        return sum(
            word in words or (len(word) >= _ALIKE and word[:_ALIKE] in beginnings) for word in self.words
        )


def _clauses(sentence: str) -> list[Statement]:
    """Returns the clauses of a sentence. A value alone belongs to what is in front of it ("Battery: 215 €"),
    and a word such as "not" to what follows ("but not in the hall")."""
    found: list[tuple[int, Statement]] = []
    begin, mark = 0, ""
    for match in (*_CLAUSE.finditer(sentence), None):
        end = len(sentence) if match is None else match.start()
        one = Statement(sentence[begin:end], excepted=mark in _lists().exceptions)
        if match is not None and one.negated and not one.says_something:
            continue
        alone = one.words <= _lists().unit_stems and (one.quantities or one.days)
        if alone and found and found[-1][1].words:
            first, before = found.pop()
            found.append((first, Statement(sentence[first:end], excepted=before.excepted)))
        else:
            found.append((begin, one))
        if match is not None:
            begin, mark = match.end(), fold(match[0])
    return [one for _, one in found]


def without_article(text: str) -> str:
    """Returns a text without an article or the like at its beginning."""
    first, _, rest = text.partition(" ")
    return rest if fold(first) in _lists().before_subjects else text


def has(word: str, words: Collection[str]) -> bool:
    """Whether a stem, or one that begins alike, is among `words`."""
    return word in words or (len(word) >= _ALIKE and any(one[:_ALIKE] == word[:_ALIKE] for one in words))


def contradicts(one: Statement, other: Statement) -> bool:
    """Whether one statement contains the opposite of a word in the other."""
    return any(
        not one.stems.isdisjoint(said)
        and other.stems.isdisjoint(said)
        and one.stems.isdisjoint(opposite)
        and not other.stems.isdisjoint(opposite)
        for said, opposite in _lists().opposites
    )


def exceeds(one: Statement, other: Statement) -> bool:
    """Whether one statement says "only", "even" or "except" where the other does not."""
    return any(not one.stems.isdisjoint(scope) and other.stems.isdisjoint(scope) for scope in _lists().scopes)


def _has_content(word: str, common: Collection[str]) -> bool:
    """Whether a word, that is not among the `common` ones, shows what a sentence is about. Numbers are
    compared separately."""
    folded = fold(word)
    if len(word) < _LEAST_LETTERS and not is_unspaced(word) and not (word.isupper() and len(word) > 1):
        return False
    if folded in common or folded in _lists().of_sources:
        return False
    return _worded(folded) is None and folded not in _lists().scales


def _is_calendar(word: str) -> bool:
    return fold(word).removesuffix("s") in lexicon().calendar


def _root(word: str) -> str:
    return stem(fold(word))


def _pieces(word: str) -> list[str]:
    """Returns the word's stem; for a script without spaces its pairs of letters."""
    if not is_unspaced(word):
        return [_root(word)]
    return [word[at : at + 2] for at in range(max(1, len(word) - 1))]


def _taken(match: re.Match[str], days: list[tuple[Day, ...]]) -> str:
    """Adds the date to `days`, and returns its placeholder in the text."""
    found = match.groupdict()
    if found["iso"]:
        year, month, day = map(int, _DIGITS.findall(found["iso"]))
        meant = [Day(year, month, day)]
    elif found["han"]:
        parts = {mark: int(value) for value, mark in _HAN_PART.findall(found["han"])}
        meant = [Day(parts.get("年"), parts.get("月"), parts.get("日"))]
    elif found["numeric"]:
        first, second, year = map(int, _DIGITS.findall(found["numeric"]))
        meant = [Day(year, second, first), Day(year, first, second)]
    else:
        month_name = found["m1"] or found["m2"] or found["m3"]
        year_said, day_said = found["y1"] or found["y2"] or found["y3"], found["d1"] or found["d2"]
        year_number = int(year_said) if year_said else None
        meant = [Day(year_number, MONTHS[month_name.casefold()], int(day_said) if day_said else None)]
    days.append(tuple(meant))
    return " "


_AFTER_TURN = frozenset({"dem", "den", "zum", "zur"})


def _turn(text: str, begin: int) -> str:
    """Returns the direction of the date at a place: the last word in front of it but an article."""
    before = [fold(word) for word in _WORD.findall(text[max(0, begin - 24) : begin])]
    said = [word for word in before[-2:] if word not in _lists().before_subjects and word not in _AFTER_TURN]
    return _lists().date_directions.get(said[-1], "") if said else ""


def _quantities(text: str) -> tuple[Quantity, ...]:
    text = _SPACED.sub(lambda match: "".join(match[0].split()), text)
    found: list[Quantity] = []
    for match in _NUMBER.finditer(text):
        written = match[0].replace("–", "-")
        letters = _WORD.match(written)
        if letters is not None and is_unspaced(letters[0]):
            written = written[letters.end() :]
        ends = _RANGE.fullmatch(written)
        parts = list(ends.groups()) if ends is not None and len(ends[2]) >= len(ends[1]) else [written]
        found += [_quantity(text, part, match) for part in parts]
    for match in _WORD.finditer(text):
        value = _worded(fold(match[0]))
        if value is not None:
            found.append(_quantity(text, value, match))
    return tuple(found)


def _quantity(text: str, written: str, match: re.Match[str]) -> Quantity:
    values = readings(written)
    scales, units = _lists().scales, _lists().units
    at = match.end()
    after = _AFTER.match(text, at)
    word = fold(after[1].rstrip(".")) if after is not None else ""
    if word in scales and after is not None:
        values = frozenset(
            format((Decimal(value) * 10 ** scales[word]).normalize(), "f")
            for value in values
            if _DECIMAL.fullmatch(value)
        )
        after = _AFTER.match(text, after.end())
        word = fold(after[1].rstrip(".")) if after is not None else ""
    currency = _CURRENCY.search(text, max(0, match.start() - 3), match.start())
    unit = units[currency[1]] if currency is not None else units.get(word, "")
    before = _WORD.findall(text[max(0, match.start() - 24) : match.start()].casefold())[-1:]
    counted = _root(word) if word.isalpha() and word not in lexicon().common else ""
    return Quantity(values, unit, _lists().directions.get(before[0], "") if before else "", counted)


def _worded(word: str) -> str | None:
    """Returns the value of a number word, from two; `twenty-five` is 25."""
    known = lexicon()
    if word in known.ambiguous_numbers or word in _lists().scales:
        return None
    tens, _, ones = word.partition("-")
    if ones in known.number_words and int(known.number_words.get(tens, "0")) in range(20, 100, 10):
        return str(int(known.number_words[tens]) + int(known.number_words[ones]))
    return known.number_words.get(word)


def dates(text: str) -> list[tuple[int, int, tuple[Day, ...]]]:
    """Returns where dates occur in a text, each with the days that it may mean."""
    found: list[tuple[int, int, tuple[Day, ...]]] = []
    for match in _DATE.finditer(text):
        meant: list[tuple[Day, ...]] = []
        _taken(match, meant)
        found.append((match.start(), match.end(), meant[0]))
    return found
