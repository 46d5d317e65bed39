"""The values in a text: amounts with their units, money, and dates, each with its place."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from memory.documents.statements import Day, dates
from memory.summaries.evidence import fold, readings
from memory.summaries.languages import lexicon
from memory.tasks.lexicon import Unit, known

_NUMBER = re.compile(r"(?<![\w.,:/-])\d+(?:[.,'’\u00a0\u202f]\d+)*(?![\d:/]|-\d)")
_AFTER = re.compile(r"[ \u00a0\u202f-]?([%€£$]|°[CF]|km/h|[^\W\d_]+)")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?")
_CURRENCY = "€£$"
_SCALES = {"thousand": 3, "tausend": 3, "mil": 3, "million": 6, "millionen": 6, "millones": 6, "billion": 9}
_LOOKED = 24


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
        """The date as numbers to sort by; unsaid parts come first."""
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
    for match in _WORD.finditer(text):
        word = fold(match[0])
        if word in numbers and word not in lexicon().ambiguous_numbers and free(*match.span()):
            value = _amount(text, match.start(), match.end(), numbers[word])
            if value is not None and value.unit and value.dimension != "count":
                found.append(value)
    return sorted(found, key=lambda one: one.begin)


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
    """Returns the value of a number. Of 1,250 both readings are possible: in thousands is the likelier."""
    found = sorted(readings(written), key=lambda one: ("." in one and len(one.rpartition(".")[2]) == 3, one))
    try:
        return Decimal(found[0])
    except InvalidOperation:
        return None


def plain(amount: Decimal) -> str:
    """Returns a number without trailing zeros or an exponent."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
