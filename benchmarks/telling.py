"""Sessions in which users state facts and ask for them 200 turns later; made from `continuity.toml`."""

import random
import re
import tomllib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

GAP = 200
"""Turns between stating and asking."""

_MARKED_EVERY = 5
_LONG_EVERY = 4


class Kind(StrEnum):
    """Kind of a case, or of a turn without one."""

    MARKED = "marked"
    DECISION = "decision"
    NUMBER = "number"
    PLAIN = "plain"
    SMALL_TALK = "small talk"
    REQUEST = "request"


WEIGHTY = (Kind.MARKED, Kind.DECISION, Kind.NUMBER)


@dataclass(frozen=True, slots=True)
class Case:
    """What is stated, how it is asked for, and what must then be in sight."""

    kind: Kind
    told: str
    asked: str
    answer: str


@dataclass(frozen=True, slots=True)
class Said:
    """One turn of the user: with `asks`, the question of `case`; otherwise `case` is stated in it."""

    text: str
    kind: Kind
    case: Case | None = None
    asks: bool = False


@dataclass(frozen=True, slots=True)
class Talk:
    turns: tuple[Said, ...]
    replies: tuple[str, ...]


def talk(name: str, *, at_most: int | None = None, seed: int = 7) -> Talk:
    """Returns the session of the cases called `name`; the same seed gives the same session.

    Facts are spread over as many turns as needed, at most `GAP`; each is asked for `GAP` turns later.
    Everything in between is small talk, and requests that need no fact.
    """
    draw = random.Random(f"{name} {seed}")
    data = tomllib.loads(Path(__file__).with_name("continuity.toml").read_text("utf-8"))
    cases = _cases(data, name, draw)[:at_most]
    _require_unlike(cases)
    span = min(GAP, len(cases) + len(cases) // 3)
    places = sorted(draw.sample(range(span), len(cases)))
    turns: list[Said] = [_filler(data, draw) for _ in range(GAP + places[-1] + 1)]
    for place, case in zip(places, cases, strict=True):
        turns[place] = Said(case.told, case.kind, case)
        turns[place + GAP] = Said(case.asked, case.kind, case, asks=True)
    return Talk(tuple(turns), tuple(draw.choice(data["replies"]) for _ in turns))


def _cases(data: dict[str, Any], name: str, draw: random.Random) -> list[Case]:
    found: list[Case] = []
    for kind, told, asked, fills in data[name]:
        for subject, answer in fills:
            words = _capital(told.format(a=subject, v=answer))
            text = draw.choice(data["opening"]) + words + draw.choice(data["ending"])
            if len(found) % _LONG_EVERY == 0:
                text = _amid(text, draw.sample(data["rambling"], draw.randint(3, 8)), draw)
            found.append(Case(Kind(kind), text, _capital(asked.format(a=subject)), answer))
    draw.shuffle(found)
    marked = {id(case) for case in found[::_MARKED_EVERY]}
    return [
        Case(Kind.MARKED, case.told, case.asked, case.answer) if id(case) in marked else case
        for case in found
    ]


def _amid(text: str, others: list[str], draw: random.Random) -> str:
    place = draw.randint(0, len(others))
    return " ".join([*others[:place], text, *others[place:]])


def _filler(data: dict[str, Any], draw: random.Random) -> Said:
    if draw.random() < 0.5:
        return Said(draw.choice(data["small_talk"]), Kind.SMALL_TALK)
    return Said(draw.choice(data["requests"]), Kind.REQUEST)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _require_unlike(cases: list[Case]) -> None:
    """Raises `ValueError` if an answer is in text that is not its own: finding it would mean nothing."""
    for case in cases:
        for other in cases:
            texts = [other.asked] if other is case else [other.told, other.asked]
            if any(holds(text, case.answer) for text in texts):
                raise ValueError(f"{case.answer!r} is not the answer of one case alone")


def holds(text: str, answer: str) -> bool:
    """Returns whether the text contains the answer, ignoring case, spaces and thousands separators."""
    return re.search(rf"(?<!\w){re.escape(_plain(answer))}(?!\w)", _plain(text)) is not None


def _plain(text: str) -> str:
    return " ".join(re.sub(r"(?<=\d),(?=\d{3})", "", text.casefold()).split())
