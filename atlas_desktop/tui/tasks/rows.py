"""What the board shows of tasks and steps, as text."""

import json
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from atlas_desktop.locale import _, formats, ngettext
from atlas_desktop.phrases.tasks import question_text, returned_text, state_text, team_text
from atlas_desktop.services.cleaning import clean, clean_line
from memory.tasks.entities import Evidence, Step, StepState, Task, TaskEvent, TaskState, Team

_MARKS = {
    TaskState.RUNNING: "▸",
    TaskState.PLANNED: "▸",
    TaskState.WAITING: "?",
    TaskState.DONE: "✓",
    TaskState.PAUSED: "‖",
    TaskState.FAILED: "!",
    TaskState.CANCELLED: "–",
}


def task_row(task: Task, width: int) -> Content:
    """Returns a task on two lines: its brief, and where it stands."""
    state = state_text(task.state)
    steps = ngettext("{count} step", "{count} steps", len(task.steps))
    return Content.assemble(
        (_cut(f"{_MARKS[task.state]} {clean_line(task.brief)}", width), ""),
        "\n",
        (_cut(f"  {state} · {steps}", width), "$quiet"),
    )


def step_row(step: Step, said: str, width: int) -> Content:
    """Returns a step on a line: number, team, what came out, and its tokens."""
    running = step.state is StepState.RUNNING
    outcome = _("in progress …") if running else said
    tokens = "" if running else ngettext("{count} token", "{count} tokens", step.context_tokens)
    left = f"{step.number:>2}  {team_text(step.team):<11} {outcome}"
    room = max(width - cell_len(tokens) - 1, 10)
    return Content.assemble(
        (set_cell_size(_cut(left, room), room), "bold" if running else ""), (f" {tokens}", "$quiet")
    )


def outcomes(events: Sequence[TaskEvent]) -> dict[str, str]:
    """Returns what each step came to, in words, by its id."""
    return {
        one.step: returned_text(one.code, one.count) for one in events if one.step and one.code != "assigned"
    }


def about_text(task: Task) -> Content:
    """Returns a task's brief, what the user added, what it asks, and what it took."""
    parts: list[str | tuple[str, str]] = [(clean(task.brief), "bold")]
    parts += [(f"\n→ {clean_line(one.text)}", "") for one in task.guidance]
    if asked := question_text(task):
        parts.append((f"\n{asked}", "$warning"))
    spent = _(
        "{tokens} tokens, {seconds} s, revision {round}",
        tokens=formats().number(task.tokens),
        seconds=formats().decimal(task.seconds),
        round=task.round,
    )
    parts.append((f"\n{state_text(task.state)} · {spent}", "$quiet"))
    return Content.assemble(*parts)


def report_text(task: Task) -> Content:
    """Returns the report so far, with the parts marked that no source supports."""
    report = task.report
    if report is None:
        return Content("")
    text = Content(clean(report.text))
    for begin, end in report.unsupported:
        text = text.stylize("$warning", begin, end)
    if task.baseline is not None:
        text = text.append(
            f"\n\n{_('In a single context, the model answered:')}\n{clean(task.baseline.text)}"
        )
    return text


def step_text(step: Step, evidence: Sequence[Evidence]) -> Content:
    """Returns everything of a step: its brief, its exact context, its return, and its evidence."""
    parts: list[str | tuple[str, str]] = []
    for title, text in (
        (_("Brief"), _pretty(step.brief)),
        (
            ngettext("Context, {count} token", "Context, {count} tokens", step.context_tokens),
            step.context
            or (_("nothing yet") if step.state is StepState.RUNNING else _("nothing is left of it")),
        ),
        (_("Return"), _pretty(step.returned)),
    ):
        parts += [(f"{title}\n", "bold"), f"{clean(text)}\n\n"]
    found = [one for one in evidence if one.step == step.id]
    if found:
        parts.append((f"{_('Evidence')}\n", "bold"))
        parts += [f"[{one.marker}] {clean_line(one.title)}: {clean_line(one.text)}\n" for one in found]
    return Content.assemble(*parts)


def teams_of(text: str) -> tuple[Team, ...]:
    """Returns the teams that a text names, in any language's words; all if it names none."""
    words = {word.strip().casefold() for word in text.split(",")}
    found = tuple(team for team in Team if {team.value, team_text(team).casefold()} & words)
    return found or tuple(Team)


def _pretty(text: str) -> str:
    return json.dumps(json.loads(text), indent=1, ensure_ascii=False) if text else "–"


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"
