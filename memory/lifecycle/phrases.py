"""What people say when something matters, and when nothing does (the phrases themselves: `phrases.toml`)."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files


class Phrases:
    """Patterns for whole words. Each is made when it is first needed: all of them take longer than an
    interface may stand still."""

    def __init__(self, found: Mapping[str, Sequence[str]]) -> None:
        self._found = found

    @cached_property
    def asked(self) -> re.Pattern[str]:
        """Asked to be remembered."""
        return self._any("asked")

    @cached_property
    def decision(self) -> re.Pattern[str]:
        return self._any("decision")

    @cached_property
    def fact(self) -> re.Pattern[str]:
        """About the person."""
        return self._any("fact")

    @cached_property
    def filler(self) -> re.Pattern[str]:
        """Small talk."""
        return self._any("filler")

    @cached_property
    def refusal(self) -> re.Pattern[str]:
        """What a model says instead of a summary."""
        return self._any("refusal")

    @cached_property
    def leaning(self) -> re.Pattern[str]:
        """Words that lean on what was said before."""
        return self._any("leaning")

    @cached_property
    def joining(self) -> re.Pattern[str]:
        """Words at the beginning that join what follows to what was said before."""
        return self._any("joining")

    @cached_property
    def chatter(self) -> re.Pattern[str]:
        """What a model says to the person instead of a summary."""
        return self._any("chatter")

    @cached_property
    def preamble(self) -> re.Pattern[str]:
        """What a model says before a summary."""
        return self._any("preamble")

    def _any(self, name: str) -> re.Pattern[str]:
        return re.compile(rf"(?<!\w)(?:{'|'.join(self._found[name])})(?!\w)", re.IGNORECASE)


@cache
def phrases() -> Phrases:
    return Phrases(tomllib.loads((files(__package__) / "phrases.toml").read_text("utf-8")))
