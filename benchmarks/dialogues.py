"""Dialogues in which users state facts about themselves, among other things.

They are made from `extraction.toml` (English) and `extraction.LANGUAGE.toml`.
"""

import random
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

_SLOT = re.compile(r"\{(\w+)\}")


class Half(StrEnum):
    """Phrasings that were used while the rules were written, and those that were not."""

    TUNING = "tuning"
    HELD_OUT = "held_out"


@dataclass(frozen=True, slots=True)
class Fact:
    """What a memory should say: all `words` must be in it; `turn` is the message that states it.

    The words of `gone` must not be in any memory that is still valid beside it.
    """

    name: str
    kind: str
    words: tuple[str, ...]
    turn: int
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dialogue:
    """The user's messages, the replies to them, and what should be learned.

    `distractors` maps turns that state no fact to what they are.
    """

    said: tuple[str, ...]
    replies: tuple[str, ...]
    facts: tuple[Fact, ...]
    distractors: Mapping[int, str]


@cache
def _data(language: str) -> dict[str, Any]:
    name = "extraction.toml" if language == "en" else f"extraction.{language}.toml"
    return tomllib.loads((Path(__file__).parent / name).read_text("utf-8"))


def dialogues(half: Half, count: int, *, seed: int = 11, language: str = "en") -> list[Dialogue]:
    """Returns `count` dialogues of four to ten turns; every phrasing is used before any is used again."""
    rng = random.Random(f"{half}{seed}")
    data = _data(language)
    facts = _endless(rng, [(one, text) for one in data["fact"] for text in one[half]])
    updates = _endless(rng, [(one, pair) for one in data["update"] for pair in one[half]])
    others = _endless(rng, [(one, text) for one in data["distractor"] for text in one[half]])
    return [_dialogue(rng, data, facts, updates, others, update=number % 6 == 5) for number in range(count)]


def _endless(rng: random.Random, items: list[Any]) -> Any:
    while True:
        rng.shuffle(items)
        yield from items


def _dialogue(
    rng: random.Random, data: dict[str, Any], facts: Any, updates: Any, others: Any, *, update: bool
) -> Dialogue:
    plan: list[tuple[str, Any]] = [("other", next(others)) for _ in range(rng.randint(3, 5))]
    plan += [("fact", next(facts)) for _ in range(rng.randint(1, 3))]
    rng.shuffle(plan)
    if update:
        one, (first, second) = next(updates)
        at = sorted(rng.sample(range(len(plan) + 1), 2))
        plan.insert(at[0], ("before", (one, first)))
        plan.insert(at[1] + 1, ("after", (one, second)))
    said: list[str] = []
    found: list[Fact] = []
    distractors: dict[int, str] = {}
    shared: dict[str, str] = {}
    used: set[str] = set()
    for turn, (what, (one, text)) in enumerate(plan):
        values = shared if what in ("before", "after") else {}
        said.append(_filled(rng, data, text, one, values, used))
        match what:
            case "fact":
                words = tuple(values[slot] for slot in one["key"])
                found.append(Fact(one["name"], one["kind"], words, turn))
            case "after":
                gone = tuple(values[slot] for slot in one["gone"])
                words = tuple(values[slot] for slot in one["key"])
                found.append(Fact("update", "", words, turn, gone))
            case "before":
                _draw(rng, data, one, (*one["key"], *one["gone"]), values, used)
            case _:
                distractors[turn] = one["name"]
    replies = tuple(rng.choice(data["replies"]["texts"]) for _ in said)
    return Dialogue(tuple(said), replies, tuple(found), distractors)


def _filled(
    rng: random.Random,
    data: dict[str, Any],
    text: str,
    one: Mapping[str, Any],
    values: dict[str, str],
    used: set[str],
) -> str:
    _draw(rng, data, one, _SLOT.findall(text), values, used)
    filled = _SLOT.sub(lambda match: values[match[1]], text)
    return filled[0].upper() + filled[1:]


def _draw(
    rng: random.Random,
    data: dict[str, Any],
    one: Mapping[str, Any],
    slots: Any,
    values: dict[str, str],
    used: set[str],
) -> None:
    """Draws values for slots that have none.

    Within a dialogue, a value is used again only if no other is free.
    """
    for slot in slots:
        if slot in values:
            continue
        own = one.get(slot)
        choices = own if isinstance(own, list) else data["values"][slot]
        free = [value for value in choices if value not in used] or choices
        values[slot] = rng.choice(free)
        used.add(values[slot])
