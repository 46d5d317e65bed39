"""A message that is too long, said in parts: what is written around each, and how it is answered."""

from collections.abc import Sequence
from dataclasses import replace

from atlas_desktop.services.turn import TurnOptions

ACKNOWLEDGEMENT = 8
"""Tokens: the longest answer to a part that is not the last."""


def labelled(parts: Sequence[str]) -> list[str]:
    """Each part with its number, and with what is wanted of the model; a single one stays as it is."""
    if len(parts) < 2:
        return list(parts)
    total = len(parts)
    rest = [
        f"Part {number} of {total}. Only answer OK, the rest follows.\n\n{text}"
        for number, text in enumerate(parts[:-1], 1)
    ]
    return [*rest, f"Part {total} of {total}, the last one. Answer now.\n\n{parts[-1]}"]


def part_options(options: TurnOptions, number: int, total: int) -> TurnOptions:
    """How to say the part of that number, counted from 1: the last one is answered as any message."""
    goes_on = number > 1 or options.goes_on
    if number == total:
        return replace(options, goes_on=goes_on)
    brief = min(ACKNOWLEDGEMENT, options.params.max_tokens)
    return replace(options, goes_on=goes_on, params=replace(options.params, max_tokens=brief))
