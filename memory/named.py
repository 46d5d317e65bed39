"""Finding things by the names that people gave them: pure functions."""

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from memory.errors import AmbiguousId, NameTaken


class Named(Protocol):
    @property
    def id(self) -> str: ...

    @property
    def name(self) -> str: ...


T = TypeVar("T", bound=Named)


def found_among(known: Sequence[T], ref: str) -> T | None:
    """By its name (in any case), its id, or a unique prefix of one of the two; None when nothing fits.

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
    """The name on one line and the text, both without space around them.

    `known` are the others, of which the one with the id `but` is replaced. Raises `NameTaken`, `ValueError`.
    """
    line, body = " ".join(name.split()), text.strip()
    if not line or not body:
        raise ValueError("a name and a text are needed")
    if any(one.name.casefold() == line.casefold() and one.id != but for one in known):
        raise NameTaken(line)
    return line, body
