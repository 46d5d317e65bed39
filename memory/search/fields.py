"""Conditions with a name and a value: what they are called, and what may follow."""

import difflib
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from memory.errors import QueryUnclear
from memory.search.dates import EXAMPLES, normal, span_of
from memory.search.entities import (
    Condition,
    Field,
    Has,
    Is,
    Mark,
    Named,
    Relation,
    SaidBy,
    Thing,
    Trouble,
    When,
)
from models.messages import Role

if TYPE_CHECKING:
    from memory.search.tokens import Token

VALUES: Mapping[str, tuple[str, ...]] = {
    "role": tuple(Role),
    "is": tuple(Mark),
    "has": tuple(Thing),
    **dict.fromkeys(Relation, EXAMPLES),
    **dict.fromkeys(Field, ()),
}
"""What may follow each name: all of it for role, is and has, examples for dates, nothing for free names."""
NAMES = tuple(VALUES)
_OTHER_VALUES = {"me": Role.USER, "person": Role.USER, "model": Role.ASSISTANT, "atlas": Role.ASSISTANT}
_NEAR = 0.75
_SHORTEST, _LONGEST = 3, 12


def meant(name: str, at: int, until: int) -> str | None:
    """The condition that is called `name`; None when it is some other word, as in `http:`.

    Raises `QueryUnclear` for what is nearly the name of one.
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
    """Raises `QueryUnclear` for a value that cannot be meant."""
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
    chosen = _OTHER_VALUES.get(value.lower(), value.lower()) if name == "role" else value.lower()
    if token.prefix or chosen not in VALUES[name]:
        raise QueryUnclear(Trouble.UNKNOWN_VALUE, token.value_at, token.until, VALUES[name])
    if name == "role":
        return SaidBy(Role(chosen))
    return Is(Mark(chosen)) if name == "is" else Has(Thing(chosen))
