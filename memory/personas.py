"""The value types of personas and prompt templates, and look-up by the names that users gave."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, TypeVar

from memory.errors import AmbiguousId, NameTaken


@dataclass(frozen=True, slots=True)
class Persona:
    """A named system prompt; `model` and `temperature` are those it asks for, if any."""

    id: str
    name: str
    system_prompt: str = field(repr=False)
    created_at: datetime
    updated_at: datetime
    model: str | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class NewPersona:
    """A persona before it is stored."""

    name: str
    system_prompt: str = field(repr=False)
    model: str | None = None
    temperature: float | None = None


@dataclass(frozen=True, slots=True)
class Template:
    """A named prompt; the user is asked for each `{placeholder}` in its text when it is used."""

    id: str
    name: str
    text: str = field(repr=False)
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class NewTemplate:
    """A template before it is stored."""

    name: str
    text: str = field(repr=False)


class Named(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


def found_among(known: Sequence[T], ref: str) -> T | None:
    """Finds an item by its name (case ignored), its id, or a unique prefix of either; None when nothing
    matches.

    Raises `AmbiguousId`.
    """
    wanted = ref.strip().casefold()
    for fits in (
        [one for one in known if wanted in (one.id, one.name.casefold())],
        [one for one in known if wanted and one.id.startswith(wanted)],
        [one for one in known if wanted and one.name.casefold().startswith(wanted)],
    ):
        if len(fits) > 1:
            raise AmbiguousId(ref, len(fits))
        if fits:
            return fits[0]
    return None


def required(name: str, text: str, known: Iterable[Named], but: str | None) -> tuple[str, str]:
    """Returns the name on one line and the text, both stripped.

    `known` are the existing ones; the one with the id `but` is being replaced. Raises `NameTaken`, and
    `ValueError` when the name or the text is empty.
    """
    line, body = " ".join(name.split()), text.strip()
    if not line or not body:
        raise ValueError("a name and a text are needed")
    if any(one.name.casefold() == line.casefold() and one.id != but for one in known):
        raise NameTaken(line)
    return line, body
