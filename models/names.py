"""Ids of models, made from file names."""

import re

from models.errors import UnknownModel


def free_id(name: str, taken: set[str]) -> str:
    """`name`, or `name-2`, `name-3`… when it is taken."""
    number = 1
    candidate = name
    while candidate in taken:
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def clean_id(name: str) -> str:
    """A model id from a file name: lower case letters, digits, `.`, `_` and `-`, at most 80 characters.

    Raises `UnknownModel` when nothing is left.
    """
    cleaned = re.sub(r"[^a-z0-9._-]+", "-", name.casefold().removesuffix(".gguf")).strip("-._")[:80]
    if not cleaned:
        raise UnknownModel(name)
    return cleaned
