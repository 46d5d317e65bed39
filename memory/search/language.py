"""The query language, as pure functions: parses text into a tree of conditions, and writes it back.

    words "a phrase" begin* -not  this OR that  (a group)  tag:name -is:starred after:2024-05  ~a question

All conditions must match. OR binds most tightly: it joins only its two neighbours.
"""

import re
from collections.abc import Iterator
from datetime import datetime

from memory.errors import QueryUnclear
from memory.search.entities import (
    All,
    AnyOf,
    Condition,
    Has,
    Is,
    ItemKind,
    Named,
    Not,
    OfKind,
    Query,
    SaidBy,
    Trouble,
    When,
    Words,
)
from memory.search.terms import Kind, Token, condition, is_unspaced, searchable, tokens

MOST_CHARACTERS = 2_000
MOST_CONDITIONS = 60
MOST_DEPTH = 12


def parse(text: str, now: datetime, *, typing: bool = False) -> Query:
    """Parses a query. `now` is aware and in the user's time zone, which decides where days begin.

    With `typing`, a last word without quotes may be the beginning of a word. An empty text finds everything.
    Raises `QueryUnclear`.
    """
    if len(text) > MOST_CHARACTERS:
        raise QueryUnclear(Trouble.TOO_LONG, MOST_CHARACTERS, len(text))
    found = list(tokens(text))
    parser = _Parser(found, now, len(text) if typing else None)
    where = parser.everything()
    asked = [token for token in found if token.kind is Kind.QUESTION]
    question = " ".join(token.text for token in asked).strip()
    if asked and not searchable(question):
        raise QueryUnclear(Trouble.NO_QUESTION, asked[0].at, asked[-1].until)
    if where is None and not question and text.strip():
        raise QueryUnclear(Trouble.NO_WORD, 0, len(text))
    return Query(where, question)


class _Parser:
    """Parses the tokens in one pass."""

    def __init__(self, found: list[Token], now: datetime, end: int | None) -> None:
        self._tokens = found
        self._now = now
        self._end = end
        self._at = 0
        self._conditions = 0
        self._depth = 0

    def everything(self) -> Condition | None:
        parts: list[Condition | None] = []
        while self._here is not None:
            parts.append(self._all())
            # A closing bracket without an opening one is ignored.
            self._take(Kind.CLOSE)
        return _all_of(parts)

    @property
    def _here(self) -> Token | None:
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self, kind: Kind) -> Token | None:
        token = self._here
        if token is None or token.kind is not kind:
            return None
        self._at += 1
        return token

    def _all(self) -> Condition | None:
        parts: list[Condition | None] = []
        while (token := self._here) is not None and token.kind is not Kind.CLOSE:
            if token.kind in {Kind.AND, Kind.QUESTION}:
                self._at += 1
                continue
            parts.append(self._any())
        return _all_of(parts)

    def _any(self) -> Condition | None:
        first = self._one()
        parts = [first]
        while (joint := self._take(Kind.OR)) is not None:
            following = self._here
            second = None if following is None or following.kind is Kind.CLOSE else self._one()
            if parts[-1] is None or second is None:
                raise QueryUnclear(Trouble.NOTHING_BESIDE_OR, joint.at, joint.until)
            parts.append(second)
        return _any_of([part for part in parts if part is not None])

    def _one(self) -> Condition | None:
        token = self._here
        assert token is not None
        if token.kind is Kind.OR:
            # Nothing precedes it; `_any` raises the error.
            return None
        self._at += 1
        if token.kind is Kind.NOT:
            return self._negated(token)
        if token.kind is Kind.OPEN:
            inner = self._deeper(token)
            self._take(Kind.CLOSE)
            return inner
        self._conditions += 1
        if self._conditions > MOST_CONDITIONS:
            raise QueryUnclear(Trouble.TOO_MANY, token.at, token.until)
        if token.kind is Kind.FIELD:
            return condition(token, self._now)
        return self._words(token)

    def _negated(self, token: Token) -> Condition | None:
        following = self._here
        if following is None or following.kind in {Kind.CLOSE, Kind.OR, Kind.AND, Kind.QUESTION}:
            raise QueryUnclear(Trouble.NOTHING_AFTER_NOT, token.at, token.until)
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise QueryUnclear(Trouble.TOO_DEEP, token.at, token.until)
        part = self._one()
        self._depth -= 1
        if isinstance(part, Not):
            return part.part
        return None if part is None else Not(part)

    def _deeper(self, token: Token) -> Condition | None:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise QueryUnclear(Trouble.TOO_DEEP, token.at, token.until)
        inner = self._all()
        self._depth -= 1
        return inner

    def _words(self, token: Token) -> Condition | None:
        last = token.kind is Kind.WORD and token.until == self._end
        return worded(token.text, prefix=token.prefix or last)


def worded(text: str, *, prefix: bool = False) -> Condition | None:
    """Returns a condition for the words of `text` in sequence; None when it has none.

    In scripts without spaces, each run between other characters is searched for separately.
    """
    words = searchable(text)
    if not is_unspaced(words) or " " not in words:
        return Words(words, prefix) if words else None
    first, *others = reversed(words.split())
    return All((*(Words(word) for word in reversed(others)), Words(first, prefix)))


def _all_of(parts: list[Condition | None]) -> Condition | None:
    flat: list[Condition] = []
    for part in parts:
        if isinstance(part, All):
            flat += part.parts
        elif part is not None:
            flat.append(part)
    return None if not flat else flat[0] if len(flat) == 1 else All(tuple(flat))


def _any_of(parts: list[Condition]) -> Condition | None:
    flat: list[Condition] = []
    for part in parts:
        flat += part.parts if isinstance(part, AnyOf) else (part,)
    return None if not flat else flat[0] if len(flat) == 1 else AnyOf(tuple(flat))


# --- back to text ----------------------------------------------------------------------------------

_PLAIN = re.compile(r"[^\s\"()~*:]+")


def written(query: Query) -> str:
    """Returns the query as text that could have been typed; `parse` turns it into the same query."""
    parts = [] if query.where is None else [_written(query.where)]
    if query.question:
        parts.append(f"~{query.question}")
    return " ".join(parts)


def _written(part: Condition) -> str:
    match part:
        case All(parts):
            return " ".join(_written(one) for one in parts)
        case AnyOf(parts):
            return " OR ".join(_grouped(one) for one in parts)
        case Not(inner):
            return f"-{f'({_written(inner)})' if isinstance(inner, AnyOf | All) else _written(inner)}"
        case Words(text, prefix):
            plain = " " not in text and text not in {"OR", "AND", "NOT"}
            return (text if plain else f'"{text}"') + ("*" if prefix else "")
        case Named(field, name, prefix):
            star = "*" if prefix else ""
            return f"{field}:{name}{star}" if _PLAIN.fullmatch(name) else f'{field}:"{name}"{star}'
        case SaidBy(role):
            return f"role:{role}"
        case Is(mark):
            return f"is:{mark}"
        case Has(thing):
            return f"has:{thing}"
        case OfKind(kind):
            return f"kind:{kind}"
        case When(relation, said):
            return f'{relation}:"{said}"' if " " in said else f"{relation}:{said}"


def _grouped(part: Condition) -> str:
    return f"({_written(part)})" if isinstance(part, All) else _written(part)


# --- kinds of things ---------------------------------------------------------------------------------


def of_kind(query: Query, kind: ItemKind) -> Query | None:
    """Returns the query as it is for things of one kind, without its conditions on the kind.

    None if no such thing can match.
    """
    where = True if query.where is None else _of_kind(query.where, kind)
    if where is False:
        return None
    return Query(None if where is True else where, query.question)


def _of_kind(part: Condition, kind: ItemKind) -> Condition | bool:
    """Returns what is left of a condition; True or False if the kind decides it."""
    match part:
        case OfKind(wanted):
            return wanted is kind
        case Not(inner):
            found = _of_kind(inner, kind)
            if isinstance(found, bool):
                return not found
            return found.part if isinstance(found, Not) else Not(found)
        case All(parts):
            each = [_of_kind(one, kind) for one in parts]
            if any(one is False for one in each):
                return False
            return _all_of([one for one in each if not isinstance(one, bool)]) or True
        case AnyOf(parts):
            each = [_of_kind(one, kind) for one in parts]
            if any(one is True for one in each):
                return True
            return _any_of([one for one in each if not isinstance(one, bool)]) or False
        case _:
            return part


# --- what is in a query ----------------------------------------------------------------------------


def conditions(part: Condition | None) -> Iterator[Condition]:
    """Yields the condition and everything beneath it."""
    if part is None:
        return
    yield part
    for one in part.parts if isinstance(part, All | AnyOf) else (part.part,) if isinstance(part, Not) else ():
        yield from conditions(one)


def wanted_words(part: Condition | None) -> Iterator[Words]:
    """Yields the words searched for, without those that are excluded."""
    if isinstance(part, Words):
        yield part
    elif isinstance(part, All | AnyOf):
        for one in part.parts:
            yield from wanted_words(one)
