"""Titles of conversations that begin with the same words, told apart by a number at their end."""

import re
from collections.abc import Collection

_NUMBER = re.compile(r" \(([2-9]|[1-9][0-9]{1,2})\)$")


def number_of(title: str) -> str:
    """What tells a title apart: ` (2)`; empty for one without a number."""
    found = _NUMBER.search(title)
    return found.group() if found else ""


def without_number(title: str) -> str:
    return title.removesuffix(number_of(title))


def numbered(title: str, taken: Collection[str]) -> str:
    """The title with the first number, from 2 on, that makes none of those that are `taken`."""
    base, number = without_number(title), 2
    while f"{base} ({number})" in taken:
        number += 1
    return f"{base} ({number})"
