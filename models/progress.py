"""How a long operation on a model file reports itself and is stopped."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Stage = Literal["download", "verify", "convert", "place"]


@dataclass(frozen=True, slots=True)
class Progress:
    """`done` of `total` bytes of one stage; `total=None` when nobody can know it."""

    stage: Stage
    done: int
    total: int | None


Report = Callable[[Progress], None]
Cancelled = Callable[[], bool]


def silent(_progress: Progress) -> None:
    """Reports nothing."""


def never() -> bool:
    """Is never cancelled."""
    return False
