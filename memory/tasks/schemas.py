"""The JSON of steps: what each team is asked for, and what it returns."""

from typing import TypeVar

import msgspec

from memory.tasks.entities import Team

T = TypeVar("T", bound=msgspec.Struct)


class Query(msgspec.Struct, frozen=True, omit_defaults=True):
    """What to look for; `subject` is whom it is about, if known. `own`: also in what the user said."""

    text: str
    subject: str = ""
    own: bool = False


class ResearchBrief(msgspec.Struct, frozen=True):
    """Look for these; in `documents` only, if it is given. `whole`: read documents that
    were found in full, unless they are long."""

    queries: tuple[Query, ...]
    documents: tuple[str, ...] | None = None
    whole: bool = False


class ResearchReturn(msgspec.Struct, frozen=True):
    """How many passages were found, in how many sources, and what they are about by name."""

    passages: int
    sources: int
    subjects: tuple[str, ...] = ()
    prior: tuple[str, ...] = ()


class AnalysisBrief(msgspec.Struct, frozen=True):
    """Find out what the passages with these numbers state."""

    goal: str
    subjects: tuple[str, ...]
    attributes: tuple[str, ...]
    passages: tuple[int, ...]


class StatedFact(msgspec.Struct, frozen=True):
    """A value with the number of the passage that states it."""

    subject: str
    attribute: str
    value: str
    passage: int


class AnalysisReturn(msgspec.Struct, frozen=True):
    """What the passages state: values, who keeps to the limits, totals, how many contradictions; and what
    they do not."""

    facts: tuple[StatedFact, ...] = ()
    chosen: tuple[str, ...] = ()
    totals: tuple[str, ...] = ()
    contradictions: int = 0
    missing: tuple[str, ...] = ()


class WritingBrief(msgspec.Struct, frozen=True):
    """Write a report with these sections; the model may write at most so many tokens of its opening."""

    sections: tuple[str, ...]
    most_tokens: int


class WritingReturn(msgspec.Struct, frozen=True):
    """How long the report is, how many sentences of a model it has, how many were left out because they state
    figures or names that no source has; `model` is why there are none."""

    characters: int
    by_model: int = 0
    left_out: int = 0
    model: str = "used"


class RatingBrief(msgspec.Struct, frozen=True):
    """Check these."""

    checks: tuple[str, ...] = ("citations", "coverage", "sentences", "format")


class RatingReturn(msgspec.Struct, frozen=True):
    """How many citations are true letter by letter, of all; which parts of the brief nothing was found for;
    how many sentences have no support; whether the format is kept. `judgement` is a model's, if it was asked.
    """

    citations: int
    verified: int
    missing: tuple[str, ...] = ()
    unsupported: int = 0
    format: bool = True
    judgement: str = ""

    @property
    def passes(self) -> bool:
        return self.citations == self.verified and not self.missing and self.format


BRIEFS: dict[Team, type[msgspec.Struct]] = {
    Team.RESEARCH: ResearchBrief,
    Team.ANALYSIS: AnalysisBrief,
    Team.WRITING: WritingBrief,
    Team.RATING: RatingBrief,
}
RETURNS: dict[Team, type[msgspec.Struct]] = {
    Team.RESEARCH: ResearchReturn,
    Team.ANALYSIS: AnalysisReturn,
    Team.WRITING: WritingReturn,
    Team.RATING: RatingReturn,
}


def encode(value: msgspec.Struct) -> str:
    return msgspec.json.encode(value).decode()


def decode(text: str, kind: type[T]) -> T:
    """Returns a brief or return. Raises `msgspec.ValidationError` if it is not of that kind."""
    return msgspec.json.decode(text, type=kind)
