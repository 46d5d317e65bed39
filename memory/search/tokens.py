"""The pieces of a typed query, each with its place."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from memory.search.fields import NAMES, meant

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
    """`text` without quotes and star; for a field its value, whose name is `name`. `at` and `until` are its
    place in characters, `value_at` that of a field's value."""

    kind: Kind
    text: str
    at: int
    until: int
    prefix: bool = False
    name: str = ""
    value_at: int = 0


def tokens(text: str) -> Iterator[Token]:
    """Raises `QueryUnclear` for a name of a condition that is nearly one."""
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
            # Conditions may follow a question, and be excluded; whatever else follows belongs to it.
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
        """Up to the next space or quote."""
        match = _RUN.match(self._text, self._at)
        if match is None:
            return ""
        self._at = match.end()
        return match[0]

    def _unbracketed(self, run: str) -> str:
        """Without the brackets at its end that close a group rather than one of its own."""
        while self._open and run.endswith(")") and run.count("(") < run.count(")") and len(run) > 1:
            run = run[:-1]
            self._at -= 1
        return run

    def _quoted(self) -> str:
        """What stands between the quote that is here and the next; without one, all the rest."""
        begin = self._at + 1
        end = self._text.find('"', begin)
        self._at = len(self._text) if end < 0 else end + 1
        return self._text[begin : len(self._text) if end < 0 else end]

    def _star(self) -> bool:
        if self._text[self._at - 1 : self._at + 1] != '"*':
            return False
        self._at += 1
        return True
