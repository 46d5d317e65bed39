"""How well messages fit the words that are looked for. Pure.

BM25 (Robertson and Zaragoza, 2009) with how often each word stands in a text counted on its surface, by the
beginning that its stem has left of it, and a bonus for words that stand together as they were typed.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

K1, B = 1.2, 0.75
_TOGETHER = 0.3
_LETTERS_A_WORD = 6.0
_SHORT = 3
_HALF_SHORT = 4


@dataclass(frozen=True, slots=True)
class Sought:
    """One thing that is looked for: a pattern of its surface, and how rare it is (the higher the rarer)."""

    pattern: re.Pattern[str]
    rarity: float = 1.0


def plain(text: str) -> str:
    """Text as patterns see it: lower case and without marks on letters."""
    if text.isascii():
        return text.lower()
    spread = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in spread if not unicodedata.combining(char))


def surface(stems: Sequence[str], *, prefix: bool, unspaced: bool = False) -> re.Pattern[str]:
    """What every text looks like that holds these stems one after the other; other texts may, too."""
    if unspaced:
        return re.compile("".join(re.escape(plain(one)) for one in stems))
    parts = []
    for at, stem in enumerate(stems):
        folded = plain(stem)
        last = at == len(stems) - 1
        kept = folded if prefix and last else _root(folded)
        parts.append(rf"(?<!\w){re.escape(kept)}\w*")
    return re.compile(r"\W+".join(parts))


def _root(stem: str) -> str:
    """What of a stem is in every word that it is made of: pony and ponies are poni, hoping is hope."""
    if any(char.isdigit() for char in stem):
        return stem
    if len(stem) <= _SHORT:
        return stem[:-1] if stem.endswith("i") and len(stem) > 1 else stem
    return stem[: -1 if len(stem) == _HALF_SHORT else -2]


def rarity(documents: int, holders: int) -> float:
    return math.log(1 + (documents - holders + 0.5) / (holders + 0.5))


def scores(texts: Sequence[str], sought: Sequence[Sought], whole: re.Pattern[str] | None) -> list[float]:
    """One for each text, higher for better. `whole` is the surface of all the words one after the other."""
    if not texts or not sought:
        return [0.0] * len(texts)
    folded = [plain(text) for text in texts]
    lengths = [len(text) / _LETTERS_A_WORD for text in folded]
    mean = max(sum(lengths) / len(lengths), 1.0)
    found = []
    for text, length in zip(folded, lengths, strict=True):
        norm = K1 * (1 - B + B * length / mean)
        # The index has found each word that must be there, though its surface may be another one.
        counts = [len(one.pattern.findall(text)) for one in sought]
        total = sum(
            one.rarity * count * (K1 + 1) / (count + norm) for one, count in zip(sought, counts, strict=True)
        )
        if whole is not None and whole.search(text):
            total *= 1 + _TOGETHER
        found.append(max(total, 1e-6))
    return found
