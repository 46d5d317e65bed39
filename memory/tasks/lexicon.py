"""The words and values in briefs and sources: amounts with units, money, dates, periods, and limits on
values."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from importlib.resources import files

from memory.documents.statements import MONTHS, Day, dates
from memory.summaries.evidence import fold, readings, stem
from memory.summaries.languages import common_in, lexicon

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
    """The lists of `tasks.toml`, as stems; articles, `which`, openers, limits, ceilings and questions as
    words. `best` is the kind and "least" or "most", by stem."""

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
    spending: frozenset[str]
    wishing: frozenset[str]
    totals: frozenset[str]
    earlier: frozenset[str]
    taxes: frozenset[str]
    included: frozenset[str]
    supposed: frozenset[str]
    asked: frozenset[str]
    remembering: frozenset[str]
    same: tuple[frozenset[str], ...]
    alike: tuple[frozenset[str], ...]
    papers: frozenset[str]
    ceilings: tuple[str, ...]
    questions: frozenset[str]
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
        spending=_stems(found["spending"]),
        wishing=_stems(found["wishing"]),
        totals=_stems(found["totals"]),
        earlier=_stems(found["earlier"]),
        taxes=_stems(found["taxes"]),
        included=_stems(found["included"]),
        supposed=_stems(found["supposed"]),
        asked=_stems(found["asked"]),
        remembering=_stems(found["remembering"]),
        same=tuple(map(_stems, found["same"])),
        alike=tuple(map(_stems, found["alike"])),
        papers=_stems(found["papers"]),
        ceilings=tuple(found["ceilings"]),
        questions=frozenset(map(fold, found["questions"].split())),
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


def meaningful(text: str) -> list[str]:
    """Returns the words that show what a text is about, as written."""
    found = words(text)
    common = common_in([fold(word) for word in found])
    return [word for word in found if len(word) > 1 and fold(word) not in common]


def content(text: str) -> list[str]:
    """Returns the stems of the words that show what a text is about, in order."""
    return [root(word) for word in meaningful(text)]


_NUMBER = re.compile(
    # "1 299,00": with a decimal comma, spaces separate thousands.
    r"(?<![\w.,:/])(?<!\w-)(?:\d{1,3}(?: \d{3})+,\d{1,2}(?![\d.,])"
    r"|\d+(?:[.,'’\u00a0\u202f]\d+)*(?![\d:/]|-\d))"
)
_AFTER = re.compile(r"(?:,[-\u2013\u2014])?[ \u00a0\u202f-]?([%€£$]|°[CF]|km/h|square [^\W\d_]+|[^\W\d_]+)")
_CODE = re.compile(r"(?<!\w)([A-Z]{3})[ \u00a0]?$")
"""The code of a currency before an amount: "EUR 12.50"."""
_COMPOUND = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)?")
_UNIT = re.compile(r"[%€£$]|°[CF]|km/h|[^\W\d_]+")
_CURRENCY = "€£$"
_MINUS = "-\u2212"
_SCALES = {"thousand": 3, "tausend": 3, "mil": 3, "million": 6, "millionen": 6, "millones": 6, "billion": 9}
_ONE = frozenset({"one", "ein", "eine", "einen", "einem", "einer"})
_PERIODS = frozenset({"week", "month", "year"})
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
    # "63 million euros" is one amount.
    taken = [(one.begin, one.end) for one in found]
    numbers = lexicon().number_words
    for match in _COMPOUND.finditer(text):
        word = fold(match[0])
        if (word in numbers or word in _ONE) and free(*match.span()):
            value = _amount(text, match.start(), match.end(), numbers.get(word, "1"))
            # "One" may be a person or a thing; "one month" is a time.
            sure = word in numbers and word not in lexicon().ambiguous_numbers
            known_ = sure or (value is not None and value.unit in _PERIODS)
            if value is not None and value.unit and value.dimension != "count" and known_:
                found.append(value)
    return sorted(found, key=lambda one: one.begin)


def value_in(unit: str, text: str) -> Value | None:
    """Returns the value of a bare number whose unit is in another text: that of its column, such as "Price
    (€)". None if the text is more than a number, or no unit is named."""
    if not is_number(text):
        return None
    found = [values(f"{text} {word}") for word in _UNIT.findall(unit) if fold(word) in known().units]
    return found[0][0] if found else None


def money_in(text: str) -> Value | None:
    """Returns a bare number as an amount of money without a currency; None if it is more than that."""
    number = _decimal(text.replace(" ", "").lstrip(_MINUS)) if is_number(text) else None
    if number is None:
        return None
    # What comes back: "-40.00".
    return Value(0, len(text), text, "money", "", -number if text.strip()[0] in _MINUS else number)


def is_number(text: str) -> bool:
    """Whether a text is only a number, which may be negative."""
    return _NUMBER.fullmatch(text.strip().removeprefix("-").removeprefix("\u2212")) is not None


def is_currency(text: str) -> bool:
    """Whether a text is only a currency."""
    unit = known().units.get(fold(text.strip()))
    return unit is not None and unit.dimension == "money"


def _amount(text: str, begin: int, end: int, written: str) -> Value | None:
    number = _decimal(written.replace(" ", ""))
    if number is None:
        return None
    units = known().units
    after = _AFTER.match(text, end)
    word = fold(after[1]).replace(" ", "") if after is not None else ""
    if after is not None and word in _SCALES:
        number, end = number * 10 ** _SCALES[word], after.end()
        after = _AFTER.match(text, end)
        word = fold(after[1]).replace(" ", "") if after is not None else ""
    before = text[max(0, begin - 2) : begin].strip()
    unit: Unit | None = None
    if before[-1:] in _CURRENCY and before:
        unit = units[before[-1]]
        begin = text.rindex(before[-1], max(0, begin - 2), begin)
    elif after is not None and word in units:
        unit, end = units[word], after.end()
    elif (code := _CODE.search(text[max(0, begin - 4) : begin])) is not None:
        named = units.get(fold(code[1]))
        if named is not None and named.dimension == "money":
            unit, begin = named, begin - len(code[0])
    if unit is None:
        counted = after[1] if after is not None and after[1].isalpha() else ""
        return Value(begin, end, text[begin:end], "count", fold(counted), number)
    sign, before = text[max(0, begin - 1) : begin], text[max(0, begin - 3) : max(0, begin - 1)]
    if unit.dimension == "money" and sign and sign in _MINUS and not before.strip()[-1:].isdigit():
        # What comes back: "-50.00 EUR".
        number, begin = -number, begin - 1
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


# --- periods ----------------------------------------------------------------------------------------

_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_POINT = re.compile(
    rf"(?<![\w-])(?:(?P<iso>(?:19|20)\d\d-(?:0[1-9]|1[0-2]))(?![\d-])"
    rf"|(?:\d{{1,2}}(?:st|nd|rd|th|\.)?\s(?:of |de )?)?(?P<month>{_MONTH})\b\.?"
    rf"(?:\s\d{{1,2}}(?:st|nd|rd|th)?\b)?(?:,?\s(?:of |de |del )?(?P<year>(?:19|20)\d\d)\b)?"
    rf"|(?P<alone>(?:19|20)\d\d)(?![\w.,-]*\w))",
    re.IGNORECASE,
)
_BEFORE = re.compile(
    r"\b(in|of|for|during|from|since|until|till|between|year|im|vom|von|seit|ab|bis|zwischen|jahr|des"
    r"|wir|ich|en|de|del|desde|hasta|entre|año)\s(?:the |el |año |jahr )?$",
    re.IGNORECASE,
)
_JOINED = re.compile(
    r"\s?(to|until|till|through|and|bis|und|a|hasta|y|-|–|,)\s?(?:the )?(?:in )?", re.IGNORECASE
)
_RANGES = frozenset(("to", "until", "till", "through", "bis", "a", "hasta", "-", "–"))
_FROM_TO = frozenset(("between", "zwischen", "entre"))
_SINCE = frozenset(("since", "seit", "ab", "desde"))
_UNTIL = frozenset(("until", "till", "bis", "hasta"))
_ALSO_WORDS = frozenset(("may", "march", "august"))
"""Months that are other words too, if they have no capital letter."""
_SHORT_MONTH = 3
_CELL_DATE = re.compile(
    rf"(?:\d{{1,2}}[.-])?(?:(?P<number>0?[1-9]|1[0-2])|(?P<name>{_MONTH})\.?)[./\s-](?P<year>(?:19|20)?\d\d)",
    re.IGNORECASE,
)
_LOOKED_BEFORE = 20


@dataclass(frozen=True, slots=True)
class Span:
    """Months from `first` to `last`, both included; None: open. With years they are counted from year 0;
    `yearly`: they are 1 to 12, of any year."""

    first: int | None
    last: int | None
    yearly: bool

    def holds(self, day: Day) -> bool | None:
        """Whether a date is in it; None if the date does not tell."""
        if self.yearly:
            first, last = self.first or 1, self.last or 12
            if day.month is None:
                return None
            inside = first <= day.month <= last
            return inside if first <= last else day.month >= first or day.month <= last
        if day.year is None:
            if day.month is None or self.first is None or self.last is None:
                return None
            # 18 July is not in March to May of any year.
            months = {(month - 1) % 12 + 1 for month in range(self.first, self.last + 1)}
            return None if day.month in months else False
        low, high = day.year * 12 + (day.month or 1), day.year * 12 + (day.month or 12)
        if (self.first is not None and high < self.first) or (self.last is not None and low > self.last):
            return False
        whole = (self.first is None or low >= self.first) and (self.last is None or high <= self.last)
        return True if whole else None


@dataclass(frozen=True, slots=True)
class Period:
    """The months and years that a brief names."""

    spans: tuple[Span, ...]

    def holds(self, day: Day) -> bool | None:
        """Whether a date is in it; None if the date does not tell."""
        found = [one.holds(day) for one in self.spans]
        return True if True in found else None if None in found else False


_WHOLE_NAME = 4
"""Letters; shorter names of months are abbreviations, or the same in several languages."""


def is_month(word: str) -> bool:
    return fold(word) in MONTHS or word.casefold() in MONTHS


_ENDINGS = ("nen", "en", "er", "es", "e", "n", "s")
_LEAST_STEM = 5


def other_forms(text: str) -> str:
    """Returns the longer words of a German text without their endings: "Rechnungen" is "Rechnung" in the
    sources. The index knows other forms of English words only."""
    found: dict[str, None] = {}
    for word in meaningful(text):
        for ending in _ENDINGS:
            if word.endswith(ending) and len(word) - len(ending) >= _LEAST_STEM:
                found[word.removesuffix(ending)] = None
    return " ".join(found)


def months_elsewhere(text: str) -> str:
    """Returns the months that dates in a text name, as other languages write them, each with its year: a
    deadline in January may be in a German letter, too."""
    said = {word.casefold() for word in words(text)}
    named = {MONTHS[word] for word in said if word in MONTHS}
    found = dict.fromkeys(
        (day.month, day.year) for _, _, meant in dates(text) for day in meant if day.month in named
    )
    return " ".join(
        f"{name} {year or ''}".strip()
        for month, year in found
        for name in _names_of(month or 0)
        if name not in said and len(name) >= _WHOLE_NAME
    )


def months_in(text: str) -> frozenset[str]:
    """Returns the stems of the months that a text names, in every language, also those of dates in numbers
    ("14.04.2026")."""
    numbers = {MONTHS[name] for word in words(text) if (name := word.casefold()) in MONTHS}
    numbers |= {day.month for day in days_in(text) if day.month is not None}
    return frozenset(root(name) for number in numbers for name in _names_of(number))


def _names_of(month: int) -> list[str]:
    return [name for name, number in MONTHS.items() if number == month]


def period_in(text: str) -> Period | None:
    """Returns the period in a brief: "in March", "since May 2025", "from January to April", "of 2024, 2025".

    A month or year counts only after a word such as "in"; of "what Jan paid" there is none.
    """
    spans: list[Span] = []
    points = _points(text)
    for at in range(len(points) - 2, -1, -1):
        # "In January and March 2026": both are of that year.
        begin, end, day = points[at]
        joined = _JOINED.fullmatch(text, end, points[at + 1][0])
        if day.year is None and joined is not None and joined[1].casefold() not in _RANGES:
            points[at] = begin, end, replace(day, year=points[at + 1][2].year)
    following = ""
    for at, (begin, end, day) in enumerate(points):
        how = following or _how(text, begin)
        following = ""
        if not how or how == "done":
            continue
        joined = _JOINED.fullmatch(text, end, points[at + 1][0]) if at + 1 < len(points) else None
        word = joined[1].casefold() if joined is not None else ""
        if word in _RANGES or (word in ("and", "und", "y") and how in _FROM_TO):
            spans.append(_span(day, points[at + 1][2]))
            following = "done"
        elif how in _SINCE:
            spans.append(_span(day, None))
        elif how in _UNTIL:
            spans.append(_span(None, day))
        else:
            spans.append(_span(day, day))
            following = how if word else ""
    return Period(tuple(spans)) if spans else None


def _span(first: Day | None, last: Day | None) -> Span:
    if first is not None and last is not None:
        turns = (first.month or 1) > (last.month or 12)
        if first.year is None and last.year is not None:
            first = Day(last.year - turns, first.month, None)
        elif last.year is None and first.year is not None:
            last = Day(first.year + turns, last.month, None)
    yearly = all(one is None or one.year is None for one in (first, last))
    if yearly:
        first_month, last_month = (None if one is None else one.month for one in (first, last))
        return Span(first_month, last_month, yearly=True)
    return Span(
        None if first is None else (first.year or 0) * 12 + (first.month or 1),
        None if last is None else (last.year or 0) * 12 + (last.month or 12),
        yearly=False,
    )


def _how(text: str, begin: int) -> str:
    found = _BEFORE.search(text[max(0, begin - _LOOKED_BEFORE) : begin])
    return found[1].casefold() if found is not None else ""


def _points(text: str) -> list[tuple[int, int, Day]]:
    """Returns the months and years in a text, with their places."""
    amounts = [(one.begin, one.end) for one in values(text) if one.dimension not in ("date", "count")]
    found = []
    for match in _POINT.finditer(text):
        if any(begin < match.end() and match.start() < end for begin, end in amounts):
            continue
        if match["month"] is None:
            year, _dash, month = (match["iso"] or match["alone"]).partition("-")
            found.append((match.start(), match.end(), Day(int(year), int(month) if month else None, None)))
            continue
        name = match["month"]
        # "Jan", "Mar" and the like are months only with a year; "may" and "march" only with a capital.
        if not match["year"] and (
            (len(name) <= _SHORT_MONTH and name.casefold() not in ("may", "mai"))
            or (name.islower() and name in _ALSO_WORDS)
        ):
            continue
        year_ = int(match["year"]) if match["year"] else None
        found.append((match.start(), match.end(), Day(year_, MONTHS[name.casefold()], None)))
    return found


def days_in(text: str, *, title: bool = False) -> list[Day]:
    """Returns the dates that a sentence, a cell or a title states, if only by month or year.

    In a sentence, a month or year without a word such as "in" before it is none; in a title it is.
    """
    cell = text.strip()
    if (found := _CELL_DATE.fullmatch(cell)) is not None:
        year = int(found["year"])
        month = int(found["number"]) if found["number"] else MONTHS[found["name"].casefold()]
        return [Day(year if year >= _FULL_YEAR else 2000 + year, month, None)]
    days: list[Day] = []
    taken: list[tuple[int, int]] = []
    for begin, end, meant in dates(text):
        taken.append((begin, end))
        written = text[begin:end]
        if len(meant) > 1 and "." in written:
            # With dots, the day comes first.
            meant = tuple(one for one in meant if one.day == int(written.split(".")[0]))[:1]
        if len({(one.year, one.month) for one in meant}) == 1:
            days.append(meant[0])
    for begin, end, day in _points(text):
        whole = not text[:begin].strip() and not text[end:].strip()
        if (title or whole or _how(text, begin)) and not any(b < end and begin < e for b, e in taken):
            days.append(day)
    return days


_FULL_YEAR = 1900
