"""What is asked of a model for a summary (the words themselves: `prompts.toml`)."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from memory.lifecycle.gates import Refused

Kind = Literal["summary", "merge"]

_WORDS_A_TOKEN = 0.75
_USED = 0.7
"""Of the tokens that a summary may have it is asked to use so many: small models do not count well."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """Templates with `{input}`, `{words}`, `{reasons}`, and a sentence for each flaw with `{details}`."""

    ask: Mapping[str, str]
    again: str
    flaws: Mapping[str, str]

    def first(self, kind: Kind, source: str, most: int) -> str:
        # The source may hold braces: it is put in, never formatted.
        return self.ask[kind].replace("{words}", str(_words(most))).replace("{input}", source)

    def second(self, refused: Sequence[Refused], most: int) -> str:
        reasons = " ".join(
            self.flaws[one.flaw].replace("{details}", ", ".join(one.details)) for one in refused
        )
        return self.again.replace("{words}", str(_words(most) * 3 // 4)).replace("{reasons}", reasons)

    def around(self, kind: Kind) -> str:
        """Everything but the source."""
        return self.ask[kind].replace("{input}", "") + self.again


def _words(tokens: int) -> int:
    return max(12, int(tokens * _WORDS_A_TOKEN * _USED))


@cache
def prompts() -> Prompts:
    found = tomllib.loads((files(__package__) / "prompts.toml").read_text("utf-8"))
    ask = {kind: found[kind]["text"].strip() for kind in ("summary", "merge")}
    return Prompts(ask, found["again"]["text"].strip(), found["flaws"])
