"""The input and output of steps: exact texts within the limit of a worker's context, and their JSON."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import msgspec

from memory.tasks.entities import MOST_CONTEXT, Evidence, EvidenceKind, Task, Team

Count = Callable[[Sequence[str]], Awaitable[list[int]]]
"""Counts the tokens of texts."""
MOST_MEMORIES = 5
_TOOLS = {
    Team.RESEARCH: "search documents and notes by words and meaning; recall messages and memories",
    Team.ANALYSIS: "extract amounts, dates, money and names; compare; add up; find contradictions",
    Team.WRITING: "put stated values into tables; quote; write linking sentences",
    Team.RATING: "compare quotations with their sources letter by letter; look for parts without an answer",
}
_MARGIN = 200
"""Tokens kept free for parts that are counted separately."""


def estimated(texts: Sequence[str]) -> list[int]:
    """Returns more tokens than texts usually have, where no model can count them."""
    return [len(text) // 3 + 1 for text in texts]


def passage_text(one: Evidence) -> str:
    """Returns a passage as a step reads it: its number, its place, and its text on one line."""
    where = f", page {one.page}" if one.page is not None else ""
    text = " ".join(f"{one.header} {one.text}".split())
    return f"[{one.marker}] {one.kind.value} {one.title}{where}: {text}".replace("  ", " ")


async def worker_context(
    task: Task, team: Team, brief: str, evidence: Sequence[Evidence], count: Count, *, output: str
) -> tuple[str, int, list[Evidence]]:
    """Returns a step's context, its tokens, and the passages in it: those that fit into `MOST_CONTEXT`.

    It has the task, the user's later instructions, at most five memories, the tools at hand, the brief of the
    step, and the format of its return.
    """
    head = [f"Task: {task.brief}"]
    head += [f"Guidance: {one.text}" for one in task.guidance]
    head += [f"Tools: {_TOOLS[team]}", f"Step: {brief}", f"Return: {output}"]
    used = sum(await count(head)) + _MARGIN
    memories = [one for one in evidence if one.kind is EvidenceKind.MEMORY][:MOST_MEMORIES]
    others = [one for one in evidence if one.kind is not EvidenceKind.MEMORY]
    lines = [passage_text(one) for one in (*memories, *others)]
    sizes = await count(lines) if lines else []
    kept: list[Evidence] = []
    shown: list[str] = []
    for one, line, size in zip((*memories, *others), lines, sizes, strict=True):
        if used + size + 1 > MOST_CONTEXT:
            continue
        used += size + 1
        kept.append(one)
        shown.append(line)
    text = "\n".join([*head, *(["Passages:"] if shown else []), *shown])
    return text, (await count([text]))[0], kept


def supervisor_context(task: Task, summary: str, prior: Sequence[str], actions: Sequence[str]) -> str:
    """Returns the context for a model that decides for the supervisor."""
    status = [f"{step.number}. {step.team.value}: {step.returned or step.state.value}" for step in task.steps]
    return "\n".join(
        [
            f"Task: {task.brief}",
            *(f"The user added: {one.text}" for one in task.guidance),
            f"Conversation so far: {summary or 'none'}",
            "Team status:",
            *status,
            "Prior experience:",
            *(prior or ["none"]),
            f"Available actions: {', '.join(actions)}",
        ]
    )


T = TypeVar("T", bound=msgspec.Struct)


class Query(msgspec.Struct, frozen=True, omit_defaults=True):
    """What to look for; `subject` is whom it is about, if known. `own`: also in the user's own messages."""

    text: str
    subject: str = ""
    own: bool = False


class ResearchBrief(msgspec.Struct, frozen=True):
    """The queries of a research step; in `documents` only, if given. `whole`: read documents that were found
    in full, unless they are long.
    """

    queries: tuple[Query, ...]
    documents: tuple[str, ...] | None = None
    whole: bool = False


class ResearchReturn(msgspec.Struct, frozen=True):
    """How many passages were found, in how many sources, and what they are about by name. `foreign` is how
    many documents in another language than the task were near it, but had none of its words."""

    passages: int
    sources: int
    subjects: tuple[str, ...] = ()
    prior: tuple[str, ...] = ()
    foreign: int = 0


class AnalysisBrief(msgspec.Struct, frozen=True):
    """What an analysis step has to find out from the passages with these numbers."""

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
    """What the passages state: values, who keeps to the limits, totals, the number of contradictions; and
    what is missing.
    """

    facts: tuple[StatedFact, ...] = ()
    chosen: tuple[str, ...] = ()
    totals: tuple[str, ...] = ()
    contradictions: int = 0
    missing: tuple[str, ...] = ()


class WritingBrief(msgspec.Struct, frozen=True):
    """The sections for a writing step; a model may write at most `most_tokens` of the opening."""

    sections: tuple[str, ...]
    most_tokens: int


class WritingReturn(msgspec.Struct, frozen=True):
    """How long the report is, how many sentences of a model it has, how many were left out because they state
    figures or names that no source has; `model` is the reason if there are none.
    """

    characters: int
    by_model: int = 0
    left_out: int = 0
    model: str = "used"


class RatingBrief(msgspec.Struct, frozen=True):
    """The checks that a rating step has to make."""

    checks: tuple[str, ...] = ("citations", "coverage", "sentences", "format")


class RatingReturn(msgspec.Struct, frozen=True):
    """How many of all citations are true letter by letter; for which parts of the brief nothing was found;
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
