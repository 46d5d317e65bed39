"""Splits a typed query into terms with positions, and finds the piece of a text that best shows them."""

import difflib
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto

from memory.errors import QueryUnclear
from memory.search.entities import (
    Condition,
    Field,
    Has,
    Is,
    ItemKind,
    Mark,
    Named,
    OfKind,
    Relation,
    SaidBy,
    Snippet,
    Thing,
    Trouble,
    When,
)
from models.messages import Role

_WORD_PARTS = ("L", "N", "M", "Co")
# Also in `memory/storage/migrations/m0014_pairs.py`.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3130-\u318f\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]+"
)
LETTERS_A_PIECE = 3
"""The index of such scripts contains every three consecutive characters; fewer are beginnings of these."""


def searchable(text: str) -> str:
    """Returns the words of `text`, separated by one space: letters, digits, and marks on them."""
    kept = "".join(char if unicodedata.category(char).startswith(_WORD_PARTS) else " " for char in text)
    return " ".join(word for word in kept.split() if any(char.isalnum() for char in word))


def is_unspaced(text: str) -> bool:
    """Returns whether `text` contains letters of a script written without spaces between words, or Hangul:
    Korean writes spaces, but joins endings to its words."""
    return _UNSPACED.search(text) is not None


def pieces(word: str) -> list[str]:
    """Returns the word itself; if it has letters as in `is_unspaced`, every one of them, every pair of
    characters with one, and the parts between. Most words of Chinese have one or two letters."""
    if not is_unspaced(word):
        return [word]
    pairs = [word[at : at + 2] for at in range(len(word) - 1)]
    return [
        *filter(is_unspaced, word),
        *filter(is_unspaced, pairs),
        *filter(None, _UNSPACED.split(word)),
    ]


EXAMPLES = ("2024-05-01", "2024-05", "2024", "yesterday", '"last week"', "7d")

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_UNITS = {"h": "hour", "d": "day", "w": "week", "m": "month", "y": "year"}

_ISO = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?")
_SHORT = re.compile(r"(\d{1,4})([hdwmy])")
_AGO = re.compile(r"(\d{1,4}|an?) (hour|day|week|month|year)s?(?: ago)?")
_PERIOD = re.compile(r"(this|last|past|previous) (hour|day|week|month|year)")
_WEEKDAY = re.compile(r"(?:(last|this) )?(" + "|".join(_DAYS) + ")")
_MONTH = re.compile(
    r"(?:(\d{1,2}) )?(" + "|".join(f"{m}|{m[:3]}" for m in _MONTHS) + r")(?: (\d{1,2}))?(?: (\d{4}))?"
)


def normal(text: str) -> str:
    """Returns the canonical form of a date: lower case, one space between words, in place of `-` and `_`."""
    joined = re.sub(r"(?<=[a-z\d])[-_](?=[a-z])|(?<=[a-z])[-_](?=\d)", " ", text.strip().lower())
    return " ".join(joined.replace(",", " ").split())


def span_of(text: str, now: datetime) -> tuple[datetime, datetime] | None:
    """Returns a start and an exclusive end in the time zone of `now`; None if `text` is not a date.

    A time counted back from now is the whole hour, day, week, month or year that contains it.
    """
    said = normal(text)
    try:
        for pattern, read in _FORMS:
            if (match := pattern.fullmatch(said)) is not None:
                return read(match, now)
    except (ValueError, OverflowError):
        # For example 31 June, or a year beyond the calendar.
        return None
    return None


def _iso(match: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    year, month, day = (None if part is None else int(part) for part in match.groups())
    begin = _day(now, year or 0, month or 1, day or 1)
    return _around(begin, "year" if month is None else "month" if day is None else "day")


def _short(match: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    return _back(now, int(match[1]), _UNITS[match[2]])


def _ago(match: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    return _back(now, 1 if match[1].startswith("a") else int(match[1]), match[2])


def _period(match: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    return _back(now, 0 if match[1] == "this" else 1, match[2])


def _named(match: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    return _back(now, ("today", "yesterday").index(match[0]), "day")


def _weekday(match: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    back = (now.weekday() - _DAYS.index(match[2])) % 7
    return _back(now, 7 if match[1] == "last" and back == 0 else back, "day")


def _month(match: re.Match[str], now: datetime) -> tuple[datetime, datetime] | None:
    before, name, after, year = match.groups()
    if before is not None and after is not None:
        return None
    number = next(n for n, month in enumerate(_MONTHS, start=1) if month.startswith(name))
    day = before or after
    at = _day(now, int(year) if year else now.year, number, int(day) if day else 1)
    if not year and at > now:
        at = _day(now, now.year - 1, number, at.day)
    return _around(at, "month" if day is None else "day")


_FORMS = (
    (_ISO, _iso),
    (_SHORT, _short),
    (_AGO, _ago),
    (_PERIOD, _period),
    (re.compile("today|yesterday"), _named),
    (_WEEKDAY, _weekday),
    (_MONTH, _month),
)


def _back(now: datetime, count: int, unit: str) -> tuple[datetime, datetime] | None:
    if unit in {"month", "year"}:
        months = now.year * 12 + now.month - 1 - count * (12 if unit == "year" else 1)
        return _around(_day(now, months // 12, months % 12 + 1, 1), unit)
    return _around(now - timedelta(**{f"{unit}s": count}), unit)


def _around(moment: datetime, unit: str) -> tuple[datetime, datetime] | None:
    """Returns the hour, day, week (from Monday), month or year that contains the moment."""
    if unit == "hour":
        begin = moment.replace(minute=0, second=0, microsecond=0)
        return begin, begin + timedelta(hours=1)
    begin = _day(moment, moment.year, moment.month, moment.day)
    if unit == "day":
        return begin, begin + timedelta(days=1)
    if unit == "week":
        begin -= timedelta(days=begin.weekday())
        return begin, begin + timedelta(days=7)
    year, month = begin.year, begin.month
    if unit == "month":
        return _day(moment, year, month, 1), _day(moment, year + month // 12, month % 12 + 1, 1)
    return _day(moment, year, 1, 1), _day(moment, year + 1, 1, 1)


def _day(like: datetime, year: int, month: int, day: int) -> datetime:
    if not _FIRST_YEAR <= year <= _LAST_YEAR:
        raise ValueError("no such year")
    return datetime(year, month, day, tzinfo=like.tzinfo)


_FIRST_YEAR, _LAST_YEAR = 1900, 9000


VALUES: Mapping[str, tuple[str, ...]] = {
    "role": tuple(Role),
    "is": tuple(Mark),
    "has": tuple(Thing),
    "kind": tuple(ItemKind),
    **dict.fromkeys(Relation, EXAMPLES),
    **dict.fromkeys(Field, ()),
}
"""What may follow each name: all values for role, is, has and kind, examples for dates, nothing for names."""
NAMES = tuple(VALUES)
_OTHER_VALUES: Mapping[str, Mapping[str, str]] = {
    "role": {"me": Role.USER, "person": Role.USER, "model": Role.ASSISTANT, "atlas": Role.ASSISTANT},
    "kind": {"conversation": ItemKind.MESSAGE, "session": ItemKind.MESSAGE},
}
_NEAR = 0.75
_SHORTEST, _LONGEST = 3, 12


def meant(name: str, at: int, until: int) -> str | None:
    """Returns the condition called `name`; None when it is some other word, as in `http:`.

    Raises `QueryUnclear` if it is nearly the name of a condition.
    """
    folded = name.lower()
    if folded in VALUES:
        return folded
    if _SHORTEST <= len(folded) <= _LONGEST:
        near = difflib.get_close_matches(folded, NAMES, cutoff=_NEAR)
        if near:
            raise QueryUnclear(Trouble.UNKNOWN_FIELD, at, until, tuple(f"{one}:" for one in near))
    return None


def condition(token: "Token", now: datetime) -> Condition:
    """Returns the condition of a field token. Raises `QueryUnclear` for a value that is not valid."""
    name, value = token.name, token.text.strip()
    if not value and not (token.prefix and name in set(Field)):
        raise QueryUnclear(Trouble.NO_VALUE, token.at, token.until, VALUES[name])
    if name in set(Field):
        return Named(Field(name), " ".join(value.split()), token.prefix)
    if name in set(Relation):
        span = None if token.prefix else span_of(value, now)
        if span is None:
            raise QueryUnclear(Trouble.NOT_A_DATE, token.value_at, token.until, EXAMPLES)
        return When(Relation(name), normal(value), *span)
    chosen = _OTHER_VALUES.get(name, {}).get(value.lower(), value.lower())
    if token.prefix or chosen not in VALUES[name]:
        raise QueryUnclear(Trouble.UNKNOWN_VALUE, token.value_at, token.until, VALUES[name])
    if name == "role":
        return SaidBy(Role(chosen))
    if name == "kind":
        return OfKind(ItemKind(chosen))
    return Is(Mark(chosen)) if name == "is" else Has(Thing(chosen))


_QUOTES = str.maketrans(dict.fromkeys("“”„‟«»＂", '"'))
_FIELD = re.compile(r"([A-Za-z]+):")
_RUN = re.compile(r'[^\s"]+')
_WORDS = {"OR", "AND", "NOT"}


class Kind(Enum):
    WORD = auto()
    PHRASE = auto()
    FIELD = auto()
    OPEN = auto()
    CLOSE = auto()
    NOT = auto()
    OR = auto()
    AND = auto()
    QUESTION = auto()


@dataclass(frozen=True, slots=True)
class Token:
    """One term. `text` is without quotes and star; for a field it is the value, and `name` the field. `at`
    and `until` are its range in characters; `value_at` is where a field's value begins."""

    kind: Kind
    text: str
    at: int
    until: int
    prefix: bool = False
    name: str = ""
    value_at: int = 0


def tokens(text: str) -> Iterator[Token]:
    """Yields the terms of `text`. Raises `QueryUnclear` for a name that is nearly that of a condition."""
    return _Tokens(text.translate(_QUOTES)).all()


class _Tokens:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._open = 0
        self._asking = False

    def all(self) -> Iterator[Token]:
        while self._skip_spaces():
            yield self._next()

    def _skip_spaces(self) -> bool:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._at < len(self._text)

    def _next(self) -> Token:
        at, char = self._at, self._text[self._at]
        if (field := self._field()) is not None:
            return field
        if self._asking:
            # Conditions, also excluded ones, may follow a question; anything else belongs to the question.
            return self._minus() if char == "-" and self._name_at(at + 1) else self._question_word()
        following = self._text[at + 1 : at + 2]
        if char == "~":
            self._at += 1
            self._asking = True
            return Token(Kind.QUESTION, "", at, at + 1)
        if char == "-" and following and not following.isspace() and following != "-":
            return self._minus()
        if char == "(":
            self._at += 1
            self._open += 1
            return Token(Kind.OPEN, char, at, at + 1)
        if char == ")":
            self._at += 1
            self._open = max(self._open - 1, 0)
            return Token(Kind.CLOSE, char, at, at + 1)
        if char == '"':
            phrase = self._quoted()
            return Token(Kind.PHRASE, phrase, at, self._at, prefix=self._star())
        return self._word()

    def _minus(self) -> Token:
        self._at += 1
        return Token(Kind.NOT, "-", self._at - 1, self._at)

    def _name_at(self, at: int) -> str | None:
        match = _FIELD.match(self._text, at)
        if match is None or (self._asking and match[1].lower() not in NAMES):
            return None
        return meant(match[1], match.start(), match.end())

    def _field(self) -> Token | None:
        name = self._name_at(self._at)
        if name is None:
            return None
        at, value_at = self._at, self._at + len(name) + 1
        self._at = value_at
        if self._text[value_at : value_at + 1] == '"':
            value, prefix = self._quoted(), self._star()
        else:
            value = self._unbracketed(self._run())
            prefix = value.endswith("*")
            value = value.removesuffix("*")
        return Token(Kind.FIELD, value, at, self._at, prefix, name, value_at)

    def _word(self) -> Token:
        at = self._at
        run = self._unbracketed(self._run())
        if run in _WORDS:
            return Token(Kind[run], run, at, self._at)
        return Token(Kind.WORD, run.rstrip("*"), at, self._at, prefix=run.endswith("*"))

    def _question_word(self) -> Token:
        at = self._at
        while self._at < len(self._text) and not self._text[self._at].isspace():
            self._at += 1
        return Token(Kind.QUESTION, self._text[at : self._at], at, self._at)

    def _run(self) -> str:
        """Returns the text up to the next space or quote."""
        match = _RUN.match(self._text, self._at)
        if match is None:
            return ""
        self._at = match.end()
        return match[0]

    def _unbracketed(self, run: str) -> str:
        """Removes trailing brackets that close a group rather than one opened in `run`."""
        while self._open and run.endswith(")") and run.count("(") < run.count(")") and len(run) > 1:
            run = run[:-1]
            self._at -= 1
        return run

    def _quoted(self) -> str:
        """Returns the text between the quote at this position and the next; without a next one, all the
        rest."""
        begin = self._at + 1
        end = self._text.find('"', begin)
        self._at = len(self._text) if end < 0 else end + 1
        return self._text[begin : len(self._text) if end < 0 else end]

    def _star(self) -> bool:
        if self._text[self._at - 1 : self._at + 1] != '"*':
            return False
        self._at += 1
        return True


WIDTH = 160
_LEAD = 30
_CUT = "…"

Ranges = Sequence[tuple[int, int]]


def snippet(text: str, marks: Ranges, width: int = WIDTH) -> Snippet:
    """Returns about `width` characters of `text` at most, on one line, around the densest group of marks.

    `marks` are in order and disjoint.
    """
    begin = _begin(text, marks, width)
    end = _word_end(text, min(len(text), begin + width))
    line, places = _one_line(text, begin, end)
    kept = [(places[a - begin], places[min(b, end) - begin]) for a, b in marks if begin <= a < end]
    lead = _CUT if begin > 0 else ""
    shift = len(lead)
    return Snippet(
        lead + line + (_CUT if end < len(text) else ""),
        tuple((a + shift, b + shift) for a, b in kept if b > a),
    )


def merged(ranges: Ranges) -> tuple[tuple[int, int], ...]:
    """Returns the ranges in order, with those that touch or overlap merged."""
    found: list[tuple[int, int]] = []
    for begin, end in sorted(ranges):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        elif end > begin:
            found.append((begin, end))
    return tuple(found)


def _begin(text: str, marks: Ranges, width: int) -> int:
    """Returns where the piece with the most marks begins, the first of several."""
    if not marks or len(text) <= width:
        return 0
    best, most = marks[0][0], 0
    last = 0
    for at, (begin, _) in enumerate(marks):
        last = max(last, at)
        while last < len(marks) and marks[last][1] <= begin + width - _LEAD:
            last += 1
        if last - at > most:
            best, most = begin, last - at
    begin = max(best - _LEAD, 0)
    if begin == 0:
        return 0
    space = next((at for at in range(begin, best) if text[at].isspace()), begin - 1)
    return space + 1


def _word_end(text: str, end: int) -> int:
    if end >= len(text):
        return len(text)
    back = next((at for at in range(end, max(end - _LEAD, 0), -1) if text[at].isspace()), end)
    return back or end


def _one_line(text: str, begin: int, end: int) -> tuple[str, list[int]]:
    """Returns the piece with each run of white space as one space, and the new position of each character."""
    line: list[str] = []
    places: list[int] = []
    for char in text[begin:end]:
        places.append(len(line))
        if not char.isspace():
            line.append(char)
        elif line and line[-1] != " ":
            line.append(" ")
    places.append(len(line))
    joined = "".join(line)
    stripped = joined.rstrip()
    return stripped, [min(place, len(stripped)) for place in places]
