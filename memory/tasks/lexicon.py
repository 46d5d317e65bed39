"""The words and values in briefs and sources: amounts with units, money, dates, and limits on them."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from importlib.resources import files

from memory.documents.statements import Day, dates
from memory.summaries.evidence import fold, readings, stem
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
    """A kind of value that can be compared: the stems of the words that refer to it, and its values."""

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
    particular: frozenset[str]
    distinct: frozenset[str]
    valued: frozenset[str]
    remembering: frozenset[str]
    unpaid: frozenset[str]
    per: frozenset[str]
    rates: frozenset[str]
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
        particular=_stems(found["particular"]),
        distinct=_stems(found["distinct"]),
        valued=_stems(found["valued"]),
        remembering=_stems(found["remembering"]),
        unpaid=_stems(found["unpaid"]),
        per=frozenset(found["per"].split()),
        rates=_stems(found["rates"]),
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
    """Whether a word shows what a text is about."""
    folded = fold(word)
    return len(folded) > 1 and folded not in lexicon().common


def content(text: str) -> list[str]:
    """Returns the stems of the words that show what a text is about, in order."""
    return [root(word) for word in words(text) if means_something(word)]


_NUMBER = re.compile(r"(?<![\w.,:/-])\d+(?:[.,'’\u00a0\u202f]\d+)*(?![\d:/]|-\d)")
_AFTER = re.compile(r"[ \u00a0\u202f-]?([%€£$]|°[CF]|km/h|[^\W\d_]+)")
_COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?")
_UNIT = re.compile(r"[%€£$]|°[CF]|km/h|[^\W\d_]+")
_CURRENCY = "€£$"
_SCALES = {"thousand": 3, "tausend": 3, "mil": 3, "million": 6, "millionen": 6, "millones": 6, "billion": 9}
_LOOKED = 24
_LONGEST_RATE = 24


@dataclass(frozen=True, slots=True)
class Value:
    """A value and its place in the text. `dimension` is "date", "count" or one of the units' dimensions.

    `amount` is in the first unit of the dimension (of money: in `unit`), None for a date.
    """

    begin: int
    end: int
    text: str
    dimension: str
    unit: str = ""
    amount: Decimal | None = None
    day: Day | None = None

    def same(self, other: "Value") -> bool:
        """Whether both are the same value."""
        if self.dimension == "date" or other.dimension == "date":
            mine, others = self.day, other.day
            return mine is not None and others is not None and (mine.within(others) or others.within(mine))
        return self.comparable(other) and self.amount == other.amount

    def comparable(self, other: "Value") -> bool:
        """Whether one can be more than the other."""
        if self.dimension != other.dimension or self.amount is None or other.amount is None:
            return False
        return self.dimension not in ("money", "count") or self.unit == other.unit

    @property
    def order(self) -> tuple[int, int, int]:
        """The date as numbers to sort by; missing parts come first."""
        day = self.day or Day(None, None, None)
        return day.year or 0, day.month or 0, day.day or 0


def values(text: str) -> list[Value]:
    """Returns the values in a text, in order; none overlap."""
    found = [
        Value(begin, end, text[begin:end], "date", day=days[0])
        for begin, end, days in dates(text)
        if days and days[0].month is not None
    ]
    taken: Sequence[tuple[int, int]] = [(one.begin, one.end) for one in found]

    def free(begin: int, end: int) -> bool:
        return not any(begin < last and end > first for first, last in taken)

    found += [
        value
        for match in _NUMBER.finditer(text)
        if free(*match.span()) and (value := _amount(text, *match.span(), match[0])) is not None
    ]
    numbers = lexicon().number_words
    for match in _COMPOUND.finditer(text):
        word = fold(match[0])
        if word in numbers and word not in lexicon().ambiguous_numbers and free(*match.span()):
            value = _amount(text, match.start(), match.end(), numbers[word])
            if value is not None and value.unit and value.dimension != "count":
                found.append(value)
    return sorted(found, key=lambda one: one.begin)


def value_in(unit: str, text: str) -> Value | None:
    """Returns the value of a bare number whose unit is in another text: that of its column, such as "Price
    (€)". None if the text is more than a number, or no unit is named."""
    if _NUMBER.fullmatch(text) is None:
        return None
    found = [values(f"{text} {word}") for word in _UNIT.findall(unit) if fold(word) in known().units]
    return found[0][0] if found else None


def _amount(text: str, begin: int, end: int, written: str) -> Value | None:
    number = _decimal(written)
    if number is None:
        return None
    units = known().units
    after = _AFTER.match(text, end)
    word = fold(after[1]) if after is not None else ""
    if after is not None and word in _SCALES:
        number, end = number * 10 ** _SCALES[word], after.end()
        after = _AFTER.match(text, end)
        word = fold(after[1]) if after is not None else ""
    before = text[max(0, begin - 2) : begin].strip()
    unit: Unit | None = None
    if before[-1:] in _CURRENCY and before:
        unit = units[before[-1]]
        begin = text.rindex(before[-1], max(0, begin - 2), begin)
    elif after is not None and word in units:
        unit, end = units[word], after.end()
    if unit is None:
        counted = after[1] if after is not None and after[1].isalpha() else ""
        return Value(begin, end, text[begin:end], "count", fold(counted), number)
    amount = number if unit.dimension == "money" else (number * unit.factor).normalize()
    return Value(begin, end, text[begin:end], unit.dimension, unit.name, amount)


def _decimal(written: str) -> Decimal | None:
    """Returns the value of a number. 1,250 can be read in two ways; thousands are more likely."""
    found = sorted(readings(written), key=lambda one: ("." in one and len(one.rpartition(".")[2]) == 3, one))
    try:
        return Decimal(found[0])
    except InvalidOperation:
        return None


def plain(amount: Decimal) -> str:
    """Returns a number without trailing zeros or an exponent."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


_LIMIT_WITHIN = 40


@dataclass(frozen=True, slots=True)
class Limit:
    """An upper limit, or with `least` a lower limit."""

    value: Value
    least: bool = False

    def allows(self, other: Value) -> bool | None:
        """Whether a value keeps to the limit; None if they cannot be compared."""
        if self.value.dimension == "date" and other.dimension == "date":
            return other.order >= self.value.order if self.least else other.order <= self.value.order
        if not self.value.comparable(other) or self.value.amount is None or other.amount is None:
            return None
        return other.amount >= self.value.amount if self.least else other.amount <= self.value.amount


def limits(text: str) -> list[Limit]:
    """Returns the limits that a sentence sets."""
    lists = known().limits
    found: list[Limit] = []
    last = 0
    for value in values(text):
        before = [fold(word) for word in words(text[max(last, value.begin - _LIMIT_WITHIN) : value.begin])]
        last = value.end
        denied = any(word in lists["denied"] for word in before)
        if any(word in lists["more"] for word in before):
            found.append(Limit(value, least=not denied))
        elif any(word in lists["least"] for word in before):
            found.append(Limit(value, least=True))
        elif any(word in lists["most"] for word in before[-3:]):
            found.append(Limit(value, least=denied and "less" in before))
    return [one for one in found if one.value.dimension != "count" or one.value.unit]


def rate_of(text: str, value: Value) -> str:
    """Returns what a value is paid for each time, as it is written after it ("a day"); empty for a value that
    is paid once or yearly."""
    after = text[value.end : value.end + _LONGEST_RATE].replace("/", " / ").split()[:2]
    said = [word.strip(".,;:!?)") for word in after]
    if len(said) == 2 and said[0].casefold() in known().per and root(said[1]) in known().rates:
        return " ".join(said)
    return ""
