"""Which everyday category a conversation belongs to, by its meaning: a pure function of vectors."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST = 0.17
"""Below this likeness (a cosine) to every category a conversation has none."""
AHEAD = 0.02
"""By so much the nearest category must lead."""


@cache
def examples() -> Mapping[str, tuple[str, ...]]:
    """By the name of each category, what people talk about in it."""
    text = (files("memory.organising") / "categories.toml").read_text(encoding="utf-8")
    return {one["name"]: tuple(one["examples"]) for one in tomllib.loads(text)["category"]}


def nearest(
    vector: "NDArray[np.float32]",
    categories: Mapping[str, Sequence[Sequence[float]]],
    *,
    least: float = LEAST,
    ahead: float = AHEAD,
) -> str:
    """The category whose two nearest examples are most like `vector` (`float32[dim]`, length 1), or "".

    `categories` holds vectors of length 1 of the examples by name.
    """
    import numpy as np

    scores = []
    for name, held in categories.items():
        found = np.sort(np.asarray(held, dtype=np.float32) @ vector)[::-1]
        scores.append((float(found[:2].mean()), name))
    scores.sort(reverse=True)
    if not scores or scores[0][0] < least:
        return ""
    if len(scores) > 1 and scores[0][0] - scores[1][0] < ahead:
        return ""
    return scores[0][1]
