"""Texts about tasks that both interfaces share."""

from typing import TYPE_CHECKING

from atlas_desktop.locale import N_, _, ngettext, plural
from memory.tasks.entities import Asked, EventKind, TaskState, Team

if TYPE_CHECKING:
    from memory.tasks.entities import Step, Task, TaskEvent

_STATES = {
    TaskState.PLANNED: N_("planned"),
    TaskState.RUNNING: N_("running"),
    TaskState.PAUSED: N_("paused"),
    TaskState.WAITING: N_("waits for you"),
    TaskState.DONE: N_("done"),
    TaskState.FAILED: N_("failed"),
    TaskState.CANCELLED: N_("cancelled"),
}
_TEAMS = {
    Team.RESEARCH: N_("research"),
    Team.ANALYSIS: N_("analysis"),
    Team.WRITING: N_("writing"),
    Team.RATING: N_("rating"),
}
_RETURNS = {
    "found": plural("{count} passage found", "{count} passages found"),
    "stated": plural("{count} statement read", "{count} statements read"),
    "written": plural("report with {count} citation", "report with {count} citations"),
    "rated": plural("{count} citation is true", "{count} citations are true"),
}


def state_text(state: TaskState) -> str:
    return _(_STATES[state])


def team_text(team: Team) -> str:
    return _(_TEAMS[team])


def question_text(task: "Task") -> str:
    """Returns what a task that waits asks; "" for others."""
    if task.asked is Asked.NOTHING_FOUND:
        return _("Nothing was found for this. Say where to look, or in other words what you want.")
    if task.asked is Asked.PARTS_MISSING:
        return _(
            "Nothing was found for: {parts}. Say more, or take the report as it is.",
            parts="; ".join(task.missing),
        )
    return ""


def event_text(event: "TaskEvent") -> str:
    """Returns what happened, in a line."""
    if event.kind is EventKind.PLAN:
        return ngettext("Planned for {count} team.", "Planned for {count} teams.", event.count)
    if event.kind is EventKind.ASSIGNED and event.team is not None:
        return _("The supervisor's rules chose {team}.", team=team_text(event.team))
    if event.kind is EventKind.RETURNED:
        return returned_text(event.code, event.count)
    if event.kind is EventKind.REVISION:
        return _("Revision {number}: parts are missing, or you asked for it.", number=event.count)
    if event.kind is EventKind.ESCALATED:
        return _("It asks you, and waits.")
    if event.kind is EventKind.APPROVED:
        return _("You approved the report.") if event.code == "user" else _("The checks passed.")
    return _("Done. The report is in the library.")


def returned_text(code: str, count: int) -> str:
    return ngettext(*_RETURNS[code], count) if code in _RETURNS else ""


def step_line(step: "Step") -> str:
    """Returns a step in a line: number, team, what it used."""
    tokens = ngettext("{count} token read", "{count} tokens read", step.context_tokens)
    found = ngettext("{count} passage", "{count} passages", len(step.evidence)) if step.evidence else ""
    return "  ".join(filter(None, [f"{step.number}.", team_text(step.team), tokens, found]))
