"""What `atlas task` prints: the JSON shapes of tasks, and their texts for reading."""

import json
from collections.abc import Sequence
from typing import Any

from atlas_desktop.cli.output import at
from atlas_desktop.locale import _
from atlas_desktop.phrases.tasks import question_text, state_text, step_line
from memory.tasks.entities import Evidence, Task, TaskCitation


def task(value: Task, room: str, evidence: Sequence[Evidence]) -> dict[str, Any]:
    """A task with its steps and its report; `asked` is why it waits, `missing` what nothing was found for."""
    found: dict[str, list[Evidence]] = {}
    for one in evidence:
        found.setdefault(one.step, []).append(one)
    report, baseline = value.report, value.baseline
    return {
        "id": value.id,
        "state": value.state,
        "brief": value.brief,
        "project": value.project,
        "room": room,
        "steps": [
            {
                "id": step.id,
                "team": step.team,
                "round": step.round,
                "brief": json.loads(step.brief),
                "state": step.state,
                "returned": json.loads(step.returned) if step.returned else None,
                "context_tokens": step.context_tokens,
                "tokens": step.tokens,
                "model_ms": round(step.model_ms, 1),
                "own_ms": round(step.own_ms, 1),
                "evidence": [one.id for one in found.get(step.id, ())] or list(step.evidence),
            }
            for step in value.steps
        ],
        "evidence": [
            {
                "id": one.id,
                "marker": one.marker,
                one.kind.value: one.source,
                "title": one.title,
                "page": one.page,
                "lines": None if one.lines is None or one.page is not None else list(one.lines),
                "chars": [one.begin, one.end],
                "quote": one.text,
            }
            for one in evidence
        ],
        "guidance": [one.text for one in value.guidance],
        "result": None
        if report is None
        else {
            "text": report.text,
            "citations": [task_citation(one) for one in report.citations],
            "unsupported": [list(one) for one in report.unsupported],
            "document": report.document,
        },
        "asked": value.asked,
        "missing": list(value.missing),
        "rounds": value.round,
        "tokens": value.tokens,
        "seconds": round(value.seconds, 3),
        "baseline": None
        if baseline is None
        else {
            "text": baseline.text,
            "context_tokens": baseline.context_tokens,
            "tokens": baseline.tokens,
            "seconds": round(baseline.seconds, 3),
        },
        "created_at": at(value.created_at),
        "updated_at": at(value.updated_at),
        "ended_at": at(value.ended_at),
    }


def task_citation(value: TaskCitation) -> dict[str, Any]:
    """A citation of a report; its source is a document, note, memory or message."""
    return {
        "marker": value.marker,
        value.kind.value: value.source,
        "title": value.title,
        "page": value.page,
        "lines": None if value.lines is None or value.page is not None else list(value.lines),
        "chars": [value.begin, value.end],
        "quote": value.quote,
        "verified": value.verified,
    }


def task_line(value: Task) -> str:
    """A task as a line of a list."""
    brief = " ".join(value.brief.split())
    return "  ".join([value.id[:13], f"{state_text(value.state):<14}", brief[:80]])


def task_ended(value: Task) -> str:
    """A task when it has stopped: its report, or what it asks."""
    lines = [] if value.report is None else [value.report.text]
    asked = question_text(value)
    if asked:
        ways = _("`atlas task revise {id} TEXT` answers.", id=value.id[:13])
        if value.report is not None:
            ways += " " + _("`atlas task approve {id}` takes the report as it is.", id=value.id[:13])
        lines += [asked, ways]
    if value.baseline is not None:
        lines += ["", _("In a single context, the model answered:"), value.baseline.text]
    return "\n".join(lines) or state_text(value.state)


def task_described(value: Task, *, contexts: bool) -> str:
    """A task in full, for reading."""
    lines = [f"{value.id[:13]}  ({state_text(value.state)})", value.brief, ""]
    lines += [f"> {one.text}" for one in value.guidance]
    for step in value.steps:
        lines.append(step_line(step))
        if contexts:
            lines += ["", step.context, ""]
    return "\n".join([*lines, "", task_ended(value)])
