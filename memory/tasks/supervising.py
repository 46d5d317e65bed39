"""Decides what the supervisor does next: assign a step, have the report revised, ask the user, or approve.

Rules decide from what is stored, so that a task continues where it was after any interruption.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from memory.tasks.analysis import analyse
from memory.tasks.briefs import Brief, Goal, is_german, read_brief
from memory.tasks.contexts import (
    AnalysisBrief,
    Query,
    RatingBrief,
    RatingReturn,
    ResearchBrief,
    WritingBrief,
    decode,
)
from memory.tasks.entities import Asked, Evidence, Guidance, Step, StepState, Task, Team
from memory.tasks.facts import subjects_of
from memory.tasks.lexicon import months_elsewhere, other_forms

EMPTIED = "{}"
MOST_WRITTEN = 110
"""Tokens of a report that a model writes, unless the user says otherwise."""
_MOST_QUERIES = 6
_LOOKED_UP = frozenset({Goal.ANSWER})
"""Goals for which single passages will do; for others, documents that are not long are read in full."""
_SECTIONS = {
    Goal.COMPARE: ("summary", "table", "choice", "details"),
    Goal.LIST: ("summary", "table", "details"),
    Goal.SUM: ("summary", "total"),
    Goal.CONTRADICTION: ("summary", "contradictions"),
    Goal.PLAN: ("summary", "dates", "duties", "costs", "details"),
    Goal.SUMMARY: ("summary", "details"),
    Goal.ANSWER: ("summary", "details"),
}


@dataclass(frozen=True, slots=True)
class Assign:
    """Gives a team a step, in a round. `revises`: it begins another round."""

    team: Team
    brief: msgspec.Struct
    round: int
    revises: bool = False


@dataclass(frozen=True, slots=True)
class Continue:
    """Repeats a step that was interrupted."""

    step: Step


@dataclass(frozen=True, slots=True)
class Escalate:
    """Asks the user, and waits."""

    asked: Asked
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Approve:
    """Approves the report, which becomes a document."""


Decision = Assign | Continue | Escalate | Approve


def understood(task: Task) -> Brief:
    """Returns the brief as it is read together with the user's later instructions."""
    return read_brief("\n".join([task.brief, *(one.text for one in task.guidance)]))


def planned(task: Task) -> tuple[Team, ...]:
    """Returns the teams of a round, in their order."""
    return tuple(team for team in Team if team in task.teams)


def decide(task: Task, evidence: Sequence[Evidence]) -> Decision:
    """Returns what to do next. The same rows always lead to the same decision."""
    brief = understood(task)
    # A step whose words have been forgotten is assigned again.
    if task.steps and task.steps[-1].state is StepState.RUNNING and task.steps[-1].brief != EMPTIED:
        return Continue(task.steps[-1])
    own = [step for step in task.steps if step.round == task.round and step.state is StepState.DONE]
    fresh = _unheard(task)
    if fresh and own and own[-1].team in (Team.WRITING, Team.RATING):
        return _research(task, brief, fresh, task.round + 1, revises=True)
    done = {step.team for step in own}
    if Team.RESEARCH not in done:
        return _research(task, brief, fresh, task.round)
    if fresh:
        # It steers what has not been written yet.
        return _research(task, brief, fresh, task.round)
    if _survey_only(own) and (named := _by_subject(task, brief, evidence)) is not None:
        return Assign(Team.RESEARCH, named, task.round)
    if not evidence:
        return Escalate(Asked.NOTHING_FOUND)
    for team in planned(task):
        if team not in done:
            return Assign(team, _brief_for(team, task, brief, evidence), task.round)
    return _after_rating(task, brief, own)


def _unheard(task: Task) -> list[Guidance]:
    """Returns the user's instructions since the last step began."""
    last = task.steps[-1].number if task.steps else 0
    return [one for one in task.guidance if one.after >= last and task.steps]


def _research(
    task: Task, brief: Brief, said: Sequence[Guidance], round_: int, *, revises: bool = False
) -> Assign:
    queries = [Query(task.brief, own=True), *(Query(one.text, own=True) for one in said)]
    if brief.goal is not Goal.SUM and (months := months_elsewhere(task.brief)):
        queries.append(Query(months))
    if is_german(task.brief) and (forms := other_forms(task.brief)):
        queries.append(Query(forms))
    missing = _missing(task)
    queries += [Query(part.replace(":", ""), subject=part.partition(":")[0]) for part in missing]
    if not revises and not missing:
        queries += [Query(f"{name} {_wanted(brief)}".strip(), subject=name) for name in brief.subjects]
    whole = brief.goal not in _LOOKED_UP
    return Assign(
        Team.RESEARCH,
        ResearchBrief(tuple(queries[:_MOST_QUERIES]), task.documents, whole=whole),
        round_,
        revises=revises,
    )


def _survey_only(own: Sequence[Step]) -> bool:
    return len(own) == 1 and own[0].round == 0


def _by_subject(task: Task, brief: Brief, evidence: Sequence[Evidence]) -> ResearchBrief | None:
    """Returns the second look, at each subject that the first one found by name; None if there is none."""
    if brief.goal not in (Goal.COMPARE, Goal.LIST):
        return None
    found = [name for name in subjects_of(brief, evidence) if name not in brief.subjects]
    lacking = analyse(brief, evidence).missing
    wanted = [name for name in found if any(part.startswith(f"{name}:") for part in lacking)]
    if not wanted:
        return None
    queries = [Query(f"{name} {_wanted(brief)}".strip(), subject=name) for name in wanted[:_MOST_QUERIES]]
    return ResearchBrief(tuple(queries), task.documents)


def _wanted(brief: Brief) -> str:
    return " ".join(one.name for one in brief.attributes)


def _missing(task: Task) -> tuple[str, ...]:
    """Returns the parts that the last rating missed."""
    for step in reversed(task.steps):
        if step.team is Team.RATING and step.state is StepState.DONE and step.returned:
            return decode(step.returned, RatingReturn).missing
    return ()


def _brief_for(team: Team, task: Task, brief: Brief, evidence: Sequence[Evidence]) -> msgspec.Struct:
    if team is Team.ANALYSIS:
        return AnalysisBrief(
            brief.goal.value,
            tuple(subjects_of(brief, evidence)),
            tuple(one.name for one in brief.attributes),
            tuple(one.marker for one in evidence),
        )
    if team is Team.WRITING:
        return WritingBrief(_SECTIONS[brief.goal], task.max_tokens or MOST_WRITTEN)
    return RatingBrief()


def _after_rating(task: Task, brief: Brief, own: Sequence[Step]) -> Decision:
    if Team.RATING not in task.teams or not own or own[-1].team is not Team.RATING or not own[-1].returned:
        return Approve()
    rated = decode(own[-1].returned, RatingReturn)
    if rated.passes and rated.judgement != "revise":
        return Approve()
    if task.round < task.rounds:
        return _research(task, brief, (), task.round + 1, revises=True)
    if rated.missing:
        return Escalate(Asked.PARTS_MISSING, rated.missing)
    return Approve()
