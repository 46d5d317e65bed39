"""Measures which skill is chosen for a message: `python -m benchmarks.skills`.

Fifty-one skills are approved. Some messages need one of them, others need none; which one is known, because
each was written for it. `right` is the share of requests that get their skill, `needless` the share of
messages that need none and get one, `wrong` the share of all messages that get one that they do not need.

The thresholds are fitted on four fifths of the skills and of the other messages and measured on the last
fifth, five times; then, as they are set in the program, on all of these and on messages that were written
after they were set (`held out`).
"""

import asyncio
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atlas_desktop.bootstrap import build_host, model_library
from atlas_desktop.paths import Paths, find_home
from atlas_desktop.services.recall import QueryEmbedder
from atlas_desktop.settings.schema import Settings
from memory.clock import SystemClock
from memory.context.skills import SkillContext
from memory.skills.choosing import BY_WORDS, WITH_VECTORS, Fit, Thresholds, asks_for_work
from memory.skills.entities import NewSkill, SkillText
from memory.storage.room import open_off_record
from models.ports import Embedder

DATA = Path(__file__).with_name("skills.toml")
FOLDS = 5
_GRID = [step / 50 for step in range(5, 55)]


@dataclass(frozen=True)
class Asked:
    """A message, the skill that it needs ("": none), the fifth that it belongs to, and what was found."""

    text: str
    skill: str
    fold: int
    request: bool
    best: Fit | None = None
    name: str = ""

    def used(self, limits: Thresholds) -> str:
        """Returns the name of the skill that is used; "" for none."""
        least = limits.requests if self.request else limits.others
        return self.name if self.best is not None and self.best.score >= least else ""


def messages(data: dict[str, Any], *, held_out: bool) -> list[Asked]:
    """Returns the messages of one half of the data."""
    found = []
    for at, skill in enumerate(data["skill"]):
        texts = [skill["held_out"]] if held_out else skill["requests"]
        found += [Asked(text, skill["name"], at % FOLDS, asks_for_work(text)) for text in texts]
    others = data["held_out_none" if held_out else "none"]
    return found + [Asked(text, "", at % FOLDS, asks_for_work(text)) for at, text in enumerate(others)]


async def matched(data: dict[str, Any], asked: Sequence[Asked], embedder: Embedder | None) -> list[Asked]:
    """Returns the messages with the skill that fits each best."""
    store = await open_off_record(SystemClock())
    try:
        for one in data["skill"]:
            text = SkillText(one["description"], one["body"])
            await store.skills.add(NewSkill(one["name"], text), approved=True)
        context = SkillContext(store, _NoCounter(), QueryEmbedder(lambda: embedder))
        names = {one.id: one.name for one in await store.skills.list()}
        found = []
        for one in asked:
            fits = await context.fits(one.text, await context.approved())
            best = fits[0] if fits else None
            name = "" if best is None else names[best.id]
            found.append(Asked(one.text, one.skill, one.fold, one.request, best, name))
        return found
    finally:
        await store.close()


class _NoCounter:
    """Counts nothing: choosing a skill needs no tokens."""

    async def count(self, texts: Sequence[str]) -> list[int]:
        return [0 for _ in texts]


def shares(asked: Sequence[Asked], used: Sequence[str]) -> tuple[float, float, float]:
    """Returns the shares of requests with their skill, of other messages with a skill, and of all messages
    with one that they do not need."""
    pairs = list(zip(asked, used, strict=True))
    wanted = [(one, name) for one, name in pairs if one.skill]
    others = [name for one, name in pairs if not one.skill]
    right = sum(one.skill == name for one, name in wanted) / len(wanted)
    wrong = sum(bool(name) and name != one.skill for one, name in pairs) / len(pairs)
    return right, sum(map(bool, others)) / len(others), wrong


def fitted(asked: Sequence[Asked]) -> Thresholds:
    """Returns the thresholds that are best for these messages: a wrong skill costs as much as three right
    ones gain."""

    def worth(limits: Thresholds) -> float:
        right, needless, wrong = shares(asked, [one.used(limits) for one in asked])
        return right - 3 * max(0.0, needless - 0.01) - wrong

    return max((Thresholds(least, more) for least in _GRID for more in _GRID if more >= least), key=worth)


def cross_validated(asked: Sequence[Asked]) -> tuple[float, float, float]:
    """Returns the shares when each fifth is measured with the thresholds of the others."""
    limits = {fold: fitted([one for one in asked if one.fold != fold]) for fold in range(FOLDS)}
    return shares(asked, [one.used(limits[one.fold]) for one in asked])


def show(name: str, found: tuple[float, float, float]) -> None:
    print(f"{name:<34}" + "".join(f"{share:>10.3f}" for share in found))


async def main() -> None:
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    paths = Paths(find_home())
    host = build_host(paths, model_library(paths), Settings())
    print(f"{'':<34}" + "".join(f"{name:>10}" for name in ("right", "needless", "wrong")))
    try:
        for way, embedder, limits in (
            ("words and meaning", host, WITH_VECTORS),
            ("words alone", None, BY_WORDS),
        ):
            asked = await matched(data, messages(data, held_out=False), embedder)
            held_out = await matched(data, messages(data, held_out=True), embedder)
            show(f"{way}, cross-validated", cross_validated(asked))
            show(f"{way}, as set", shares(asked, [one.used(limits) for one in asked]))
            show(f"{way}, held out", shares(held_out, [one.used(limits) for one in held_out]))
            print(f"{'':<4}fitted on all: {fitted(asked)}")
            for one in [*asked, *held_out]:
                if one.used(limits) != one.skill:
                    score = 0.0 if one.best is None else one.best.score
                    print(
                        f"{'':<4}{score:.2f} {one.text!r}: {one.used(limits) or '-'}, not {one.skill or '-'}"
                    )
    finally:
        await host.close()


if __name__ == "__main__":
    asyncio.run(main())
