"""`atlas jobs`: the background queue: see it, work it, pause it."""

import argparse
from typing import TYPE_CHECKING, Any

from atlas_desktop.cli.context import Context
from atlas_desktop.errors import Exit

if TYPE_CHECKING:
    from datetime import datetime

    from atlas_desktop.services.background import Overview
    from memory.jobs.runner import RunReport

_STAGES = {
    "started": "begun",
    "done": "done",
    "back": "put back",
    "retry": "failed, and is tried again later",
    "failed": "failed, and is given up",
}

_HELD = {
    "paused": "Background work is paused; `atlas jobs resume` lets it go on.",
    "battery": "The computer runs on its battery, and the work rests;"
    " `atlas config set jobs.on_battery true` lets it go on.",
}


def register(subparsers: Any, common: argparse.ArgumentParser) -> None:
    group = subparsers.add_parser("jobs", parents=[common], help="work in the background")
    commands = group.add_subparsers(dest="jobs_command", required=True, metavar="COMMAND")

    def add(name: str, handler: Any, text: str, more: str = "") -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = commands.add_parser(
            name, parents=[common], help=text, description=f"{text[0].upper()}{text[1:]}.{more}"
        )
        parser.set_defaults(handler=handler, exclusive=True)
        return parser

    add("list", list_jobs, "list what waits, runs or has failed, and the duties that come round")
    run = add(
        "run",
        run_jobs,
        "do everything that is due, then end",
        " Ends with status 1 if a job failed; it stays in the list and is tried again later.",
    )
    run.add_argument("--failed", action="store_true", help="also what was given up earlier")
    add("pause", pause, "begin no job until `resume`, also after a restart")
    add("resume", resume, "let the work go on")


async def list_jobs(ctx: Context, _args: argparse.Namespace) -> int:
    from atlas_desktop.cli import output

    room = await ctx.unlock()
    found = await room.background.overview()
    ctx.emit(
        {
            "paused": found.paused,
            "held": found.held,
            "jobs": [output.job(job) for job in found.jobs],
            "duties": [output.duty(state) for state in found.duties],
        },
        lambda: _table(found),
    )
    return Exit.DONE


def _table(found: "Overview") -> str:
    lines = [_HELD[found.held]] if found.held else []
    for job in found.jobs:
        told = f"  {job.error}" if job.error else ""
        lines.append(
            f"{job.id}  {job.kind:<10}  {job.state:<7}  {job.attempts}  {_local(job.not_before)}{told}"
        )
    if not found.jobs:
        lines.append("Nothing waits.")
    for state in found.duties:
        hours = state.duty.every.total_seconds() / 3600
        done = f"done {_local(state.done_at)}" if state.done_at else "never done"
        due = ", due" if state.due else ""
        lines.append(f"{state.duty.name}  every {hours:g} h, {done}{due}")
    return "\n".join(lines)


def _local(moment: "datetime") -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


async def run_jobs(ctx: Context, args: argparse.Namespace) -> int:
    from atlas_desktop.cli import output

    room = await ctx.unlock()
    if args.failed:
        await room.background.queue_failed()
    room.background.listen(lambda job, stage: ctx.note(f"{job.kind} {job.id}: {_STAGES[stage]}"))
    await room.learning.everything()
    # Another model may have been chosen since.
    await room.recall.catch_up()
    await room.summaries.catch_up()
    report = await room.background.run()
    ctx.emit(output.run(report), _sentence(report))
    return Exit.FAILED if report.failed else Exit.DONE


def _sentence(report: "RunReport") -> str:
    counts = f"{report.done} done, {report.failed} failed, {report.remaining} remaining."
    return f"{counts} {_HELD[report.held]}" if report.held else counts


async def pause(ctx: Context, _args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    await room.background.pause()
    ctx.emit({"paused": True}, "Paused. `atlas jobs resume` lets the work go on.")
    return Exit.DONE


async def resume(ctx: Context, _args: argparse.Namespace) -> int:
    room = await ctx.unlock()
    await room.background.resume()
    ctx.emit({"paused": False}, "The work goes on.")
    return Exit.DONE
