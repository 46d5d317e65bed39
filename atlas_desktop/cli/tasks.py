"""`atlas task`: the commands for delegated work."""

import argparse
import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.ask import on_interrupt
from atlas_desktop.cli.context import Context, command_group, dumps, given_text
from atlas_desktop.cli.output import at
from atlas_desktop.error_table import task_state_text
from atlas_desktop.errors import Exit, UsageError
from atlas_desktop.locale import _
from atlas_desktop.phrases import question_text, step_line
from memory.tasks.entities import Evidence, Task, TaskCitation

if TYPE_CHECKING:
    from atlas_desktop.services.room import RoomServices
    from memory.tasks.entities import TaskEvent, Team


_STATES = ("planned", "running", "paused", "waiting", "done", "failed", "cancelled")


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    add = command_group(subparsers, common, "task", _("delegate work that takes more than a turn"))

    def task(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("task", metavar="ID", help=_("a task: its id, or `last`"))

    parser = add(
        "run",
        run,
        _("give a task, and carry it on until it ends or asks you something"),
        _("Ctrl-C pauses it; `atlas task resume` goes on."),
    )
    parser.add_argument("text", metavar="TEXT", help=_("the brief; `-` reads it from standard input"))
    parser.add_argument("--project", metavar="P", help=_("the project that it belongs to"))
    parser.add_argument(
        "--doc",
        metavar="ID",
        action="append",
        help=_("read only this document, and other documents given so"),
    )
    parser.add_argument(
        "--teams", metavar="NAMES", help=_("only these teams: research,analysis,writing,rating")
    )
    parser.add_argument(
        "--rounds",
        metavar="N",
        type=_number_from(0),
        help=_("rounds of revision without asking (default: 1)"),
    )
    parser.add_argument(
        "--max-tokens",
        metavar="N",
        type=_number_from(1),
        help=_("the most tokens that the model writes at a time"),
    )
    parser.add_argument(
        "--baseline", action="store_true", help=_("also answer in a single context, for comparison")
    )
    _add_events(parser)

    parser = add("list", list_tasks, _("list tasks, newest first"))
    parser.add_argument("--project", metavar="P", help=_("only of this project"))
    parser.add_argument("--state", choices=_STATES, help=_("only in this state"))

    parser = add("show", show, _("print a task with its steps and its report"))
    task(parser)
    parser.add_argument(
        "--contexts", action="store_true", help=_("also the exact text that each step worked on")
    )

    task(add("pause", pause, _("pause a task that is carried on in the background")))
    parser = add("resume", resume, _("go on with a task that was paused or interrupted"))
    task(parser)
    _add_events(parser)
    task(add("cancel", cancel, _("end a task; what it found stays")))
    parser = add("revise", revise, _("tell the supervisor something, and go on with the task"))
    task(parser)
    parser.add_argument("text", metavar="TEXT", help=_("what to do differently; `-` reads standard input"))
    _add_events(parser)
    task(add("approve", approve, _("take the report of a task that waits as it is")))


def _add_events(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jsonl", action="store_true", help=_("print one JSON object for every event"))


def _number_from(least: int) -> Any:
    def read(text: str) -> int:
        value = int(text)
        if not least <= value <= 100_000:
            raise argparse.ArgumentTypeError(
                _("{text} is not a number of {least} or more", text=text, least=least)
            )
        return value

    read.__name__ = "int"
    return read


async def _find(ctx: Context, ref: str) -> "tuple[RoomServices, Task]":
    """Returns the task in any of the opened rooms. Raises `TaskNotFound`, `AmbiguousId`."""
    from memory.errors import TaskNotFound

    await ctx.unlock()
    for room in ctx.opened:
        try:
            return room, await room.tasks.get(ref)
        except TaskNotFound:
            continue
    raise TaskNotFound(ref)


# --- carrying on ------------------------------------------------------------------------------------


async def run(ctx: Context, args: argparse.Namespace) -> int:
    from memory.tasks.entities import ROUNDS, NewTask

    new = NewTask(
        brief=given_text(args.text),
        project=args.project,
        documents=tuple(args.doc) if args.doc else None,
        teams=_teams(args.teams),
        rounds=ROUNDS if args.rounds is None else args.rounds,
        max_tokens=args.max_tokens,
        baseline=args.baseline,
    )
    room = await ctx.unlock()
    ctx.tell_damage(room)
    return await _carry_on(ctx, room, await room.tasks.create(new))


def _teams(given: str | None) -> "tuple[Team, ...]":
    from memory.tasks.entities import Team

    if given is None:
        return tuple(Team)
    names = [name.strip() for name in given.split(",") if name.strip()]
    known = {team.value: team for team in Team}
    unknown = [name for name in names if name not in known]
    if unknown or not names:
        raise UsageError(
            _("There is no team “{name}”.", name=unknown[0] if unknown else given),
            _("The teams are: {names}.", names=", ".join(known)),
        )
    return tuple(known[name] for name in names)


async def _carry_on(ctx: Context, room: "RoomServices", task: "Task") -> int:
    """Runs a task in the foreground, and prints its events, or the task once it has stopped."""
    from memory.tasks.entities import TaskState

    ending = room.tasks.listen(lambda event: _print_event(ctx, event))
    work = asyncio.ensure_future(room.tasks.run(task.id))
    interrupted = False

    def stop(_number: int) -> None:
        nonlocal interrupted
        interrupted = True
        work.cancel()

    try:
        with on_interrupt(stop):
            done = await work
    except asyncio.CancelledError:
        if not interrupted:
            raise
        done = await room.tasks.pause(task.id)
    finally:
        ending()
    if not ctx.jsonl:
        ctx.emit(
            task_shape(done, room.store.room, await room.tasks.evidence(done.id)),
            lambda: task_ended(done),
        )
    if interrupted:
        ctx.note(_("Paused. `atlas task resume {id}` goes on.", id=done.id[:13]))
        return Exit.INTERRUPTED
    return Exit.FAILED if done.state is TaskState.FAILED else Exit.DONE


def _print_event(ctx: Context, event: "TaskEvent") -> None:
    from atlas_desktop.phrases import event_text

    text = event_text(event)
    if ctx.jsonl:
        value = {
            "type": event.kind,
            "task": event.task,
            "step": event.step,
            "team": event.team,
            "detail": text,
        }
        print(dumps(value), flush=True)
    else:
        ctx.note(text)


async def resume(ctx: Context, args: argparse.Namespace) -> int:
    room, task = await _find(ctx, args.task)
    ctx.tell_damage(room)
    return await _carry_on(ctx, room, await room.tasks.resume(task.id))


async def revise(ctx: Context, args: argparse.Namespace) -> int:
    room, task = await _find(ctx, args.task)
    task = await room.tasks.steer(task.id, given_text(args.text))
    return await _carry_on(ctx, room, await room.tasks.resume(task.id))


# --- looking ----------------------------------------------------------------------------------------


async def list_tasks(ctx: Context, args: argparse.Namespace) -> int:

    await ctx.unlock()
    found = [
        (room, one)
        for room in ctx.opened
        for one in await room.tasks.list(args.project)
        if args.state in (None, one.state)
    ]
    ctx.emit(
        [task_shape(one, room.store.room, await room.tasks.evidence(one.id)) for room, one in found],
        "\n".join(task_line(one) for _room, one in found) or _("No tasks. `atlas task run TEXT` gives one."),
    )
    return Exit.DONE


async def show(ctx: Context, args: argparse.Namespace) -> int:

    room, found = await _find(ctx, args.task)
    value = task_shape(found, room.store.room, await room.tasks.evidence(found.id))
    if args.contexts:
        for shown, step in zip(value["steps"], found.steps, strict=True):
            shown["context"] = step.context
    ctx.emit(value, lambda: task_described(found, contexts=args.contexts))
    return Exit.DONE


# --- changing ---------------------------------------------------------------------------------------


async def pause(ctx: Context, args: argparse.Namespace) -> int:

    room, found = await _find(ctx, args.task)
    done = await room.tasks.pause(found.id)
    ctx.emit(task_shape(done, room.store.room, ()), _("Paused."))
    return Exit.DONE


async def cancel(ctx: Context, args: argparse.Namespace) -> int:

    room, found = await _find(ctx, args.task)
    ctx.confirm(_("End this task for good?"))
    done = await room.tasks.cancel(found.id)
    ctx.emit(task_shape(done, room.store.room, ()), _("Cancelled."))
    return Exit.DONE


async def approve(ctx: Context, args: argparse.Namespace) -> int:

    room, found = await _find(ctx, args.task)
    done = await room.tasks.approve(found.id)
    ctx.emit(
        task_shape(done, room.store.room, await room.tasks.evidence(done.id)),
        _("Approved. The report is in the library."),
    )
    return Exit.DONE


def task_shape(value: Task, room: str, evidence: Sequence[Evidence]) -> dict[str, Any]:
    """A task with its steps and its report; `asked` is why it waits, `missing` the parts without findings."""
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
    return "  ".join([value.id[:13], f"{task_state_text(value.state):<14}", brief[:80]])


def task_ended(value: Task) -> str:
    """A task that has stopped: its report, or its question."""
    lines = [] if value.report is None else [value.report.text]
    asked = question_text(value)
    if asked:
        ways = _("`atlas task revise {id} TEXT` answers.", id=value.id[:13])
        if value.report is not None:
            ways += " " + _("`atlas task approve {id}` takes the report as it is.", id=value.id[:13])
        lines += [asked, ways]
    if value.baseline is not None:
        lines += ["", _("In a single context, the model answered:"), value.baseline.text]
    return "\n".join(lines) or task_state_text(value.state)


def task_described(value: Task, *, contexts: bool) -> str:
    """A task in full, for reading."""
    lines = [f"{value.id[:13]}  ({task_state_text(value.state)})", value.brief, ""]
    lines += [f"> {one.text}" for one in value.guidance]
    for step in value.steps:
        lines.append(step_line(step))
        if contexts:
            lines += ["", step.context, ""]
    return "\n".join([*lines, "", task_ended(value)])
